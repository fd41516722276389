package wasm

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// The module loads by itself on a phone, so its size is part of its contract.
func TestLeanSize(t *testing.T) {
	const most = 620_000
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, 6)
	if _, err := w.Write(built(t, "lean")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Logf("lean.wasm: %d bytes, %d gzipped", len(built(t, "lean")), b.Len())
	if b.Len() > most {
		t.Errorf("lean.wasm is %d bytes gzipped; at most %d", b.Len(), most)
	}
}

const room = 512

// start runs the lean module, with one buffer for queries and one for answers.
func start(t *testing.T) *module {
	t.Helper()
	m := instance(t, "lean")
	m.query, m.answer = m.call("buffer", room), m.call("buffer", room)
	return m
}

// ask puts a packed query into the module's buffer.
func (m *module) ask(query []float64) {
	for i, v := range query {
		m.api.Memory().WriteFloat64Le(uint32(m.query)+uint32(8*i), v)
	}
}

func (m *module) formula(query []float64) string {
	m.t.Helper()
	m.ask(query)
	return m.text(m.call("formula", m.query, uint64(len(query)), 0))
}

func (m *module) ceiling(query []float64) []float64 {
	m.t.Helper()
	m.ask(query)
	return m.answered(m.call("ceiling", m.query, uint64(len(query)), m.answer))
}

// put writes values into a new buffer.
func (m *module) put(values []float64) uint64 {
	m.t.Helper()
	at := m.call("buffer", uint64(len(values)))
	for i, v := range values {
		m.api.Memory().WriteFloat64Le(uint32(at)+uint32(8*i), v)
	}
	return at
}

// answered is the first n slots of the answer.
func (m *module) answered(n uint64) []float64 {
	answer := make([]float64, n)
	for i := range answer {
		answer[i], _ = m.api.Memory().ReadFloat64Le(uint32(m.answer) + uint32(8*i))
	}
	return answer
}

// The browser's answer is measure's answer, bit for bit: on every case that is known from
// outside, for every model and every target of the catalogue, on architectures at random,
// and on slots that hold anything.
func TestLeanCeilingEqualsNative(t *testing.T) {
	m := start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rooftest.NewRandom(seed)
	for _, c := range rooftest.Cases(t) {
		m.equalsNative(c.ID, roofline.Pack(c.Query))
	}
	known := rooftest.Catalogue(t)
	if len(known.Models) == 0 || len(known.Targets) == 0 {
		t.Fatalf("the catalogue has %d models and %d targets; nothing to compare", len(known.Models), len(known.Targets))
	}
	targets := slices.Sorted(maps.Keys(known.Targets))
	for _, id := range slices.Sorted(maps.Keys(known.Models)) {
		for range 3 * len(targets) {
			q := r.Query()
			q.Model, q.Target = known.Models[id], known.Targets[targets[r.IntN(len(targets))]]
			m.equalsNative(id+" on "+q.Target.Name, roofline.Pack(q))
		}
	}
	for range 1000 {
		m.equalsNative("at random", roofline.Pack(r.Query()))
	}
	for range 1000 {
		if in := r.Packed(); roofline.Packed(in) {
			m.equalsNative("anything", in)
		}
	}
}

// equalsNative holds the module's ceiling, formula and drawing of a packed query against
// the same code compiled for this machine.
func (m *module) equalsNative(what string, packed []float64) {
	m.t.Helper()
	want, got := roofline.CeilingPacked(packed), m.ceiling(packed)
	if !slices.EqualFunc(got, want, sameBits) {
		m.t.Fatalf("%s, query %v:\nlean   %v\nnative %v", what, packed, got, want)
	}
	if got, want := m.formula(packed), roofline.Formula(packed); got != want {
		m.t.Fatalf("%s, query %v:\nlean   %s\nnative %s", what, packed, got, want)
	}
	m.ask(packed)
	if got, want := m.text(m.call("plot", m.query, uint64(len(packed)), roofplot.Wide, 0, 0)), roofplot.Draw(packed, roofplot.Wide, "", "", nil); got != want {
		m.t.Fatalf("%s, query %v:\nlean   %s\nnative %s", what, packed, got, want)
	}
}

// An axis may end on a whole decade, where the last digit of a logarithm decides whether a
// number stands there: both write the same.
func TestLeanPlotsWholeDecades(t *testing.T) {
	m := start(t)
	model := rooftest.Catalogue(t).Models["llama-3.1-8b"]
	for _, peak := range []roofline.Decimal{"5", "500"} {
		for batch := int64(1); batch <= 160; batch++ {
			m.equalsNative(fmt.Sprint("batch ", batch, " peak ", peak), roofline.Pack(roofline.Query{
				Model: model, Target: &roofline.Target{BandwidthGBs: "10", PeakTFLOPs: map[string]roofline.Decimal{"bf16": peak}}, Batch: batch, Context: 8 * batch,
			}))
		}
	}
}

// sameBits counts all that are no number as one: machines differ in which they make.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// Limits choose in the page as they do natively, also among rows that lack figures.
func TestLeanChoosesAsNative(t *testing.T) {
	m := start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	value := func(of float64) float64 {
		if random.IntN(5) == 0 {
			return math.NaN()
		}
		return of * random.Float64()
	}
	known := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	for range 300 {
		var rows, limits []float64
		var candidates []tradeoff.Candidate
		var asked []tradeoff.Limit
		for range 1 + random.IntN(12) {
			r := make([]float64, 9)
			for i := range r {
				r[i] = value([]float64{200, 20, 1000}[i/4])
			}
			rows = append(rows, r...)
			candidates = append(candidates, tradeoff.Candidate{
				Figures: &row.Figures{
					TTFT: &row.Dist{P50: known(r[0]), P90: known(r[1]), P95: known(r[2]), P99: known(r[3])},
					ITL:  &row.Dist{P50: known(r[4]), P90: known(r[5]), P95: known(r[6]), P99: known(r[7])},
				},
				Rank: known(r[8]),
			})
		}
		for i, name := range []string{"ttft_ms", "itl_ms"} {
			l := tradeoff.Limit{Figure: name, Permille: []int{500, 900, 950, 990}[random.IntN(4)], Max: []float64{200, 20}[i] * random.Float64()}
			limits = append(limits, float64(i), float64(l.Permille), l.Max)
			asked = append(asked, l)
		}
		n, k := uint64(len(candidates)), uint64(len(asked))
		at, most := m.put(rows), m.put(limits)
		got := m.answered(m.call("choose", at, n, most, k, m.answer))
		choice := tradeoff.Choose(candidates, asked)
		want := []float64{float64(len(choice.Met)), float64(len(choice.Lower)), float64(choice.Known), float64(choice.Nearest), float64(choice.Worst)}
		for _, i := range slices.Concat(choice.Met, choice.Lower) {
			want = append(want, float64(i))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("rows %v, limits %v: lean %v, native %v", rows, limits, got, want)
		}
		got = m.answered(m.call("hold", at, most, k, m.answer))
		for i, h := range tradeoff.Hold(candidates[0].Figures, asked) {
			found, met := math.NaN(), 0.0
			if h.Found != nil {
				found = *h.Found
			}
			if h.Met {
				met = 1
			}
			if want := []float64{found, float64(h.Permille), met}; !slices.EqualFunc(got[3*i:3*i+3], want, sameBits) {
				t.Fatalf("row %v, limit %v: lean %v, native %v", rows[:9], asked[i], got[3*i:3*i+3], want)
			}
		}
	}
}

// A page that holds a wrong pointer or length gets 0, not another's memory.
func TestLeanRefusesWrongBuffers(t *testing.T) {
	m := start(t)
	n := uint64(len(roofline.Pack(roofline.Query{Model: nil})))
	for name, args := range map[string][3]uint64{
		"a query in too short a buffer": {m.call("buffer", n-1), n, m.answer},
		"a query that is no buffer":     {m.query + 8, n, m.answer},
		"a query of too few slots":      {m.query, n - 1, m.answer},
		"a query of too many slots":     {m.query, n + 1, m.answer},
		"an answer that is no buffer":   {m.query, n, 4},
		"an answer too short":           {m.query, n, m.call("buffer", roofline.OutSlots-1)},
	} {
		if n := m.call("ceiling", args[0], args[1], args[2]); n != 0 {
			t.Errorf("%s: %d slots answered; want 0", name, n)
		}
	}
}

// lean.d.ts is what pages are written against: it names each export, and no other.
func TestLeanContract(t *testing.T) { holdContract(t, start(t)) }
