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
			r := make([]float64, 17)
			for i := range r {
				r[i] = value([]float64{200, 20, 20, 5000, 1000}[i/4])
			}
			rows = append(rows, r...)
			candidates = append(candidates, tradeoff.Candidate{
				Figures: &row.Figures{
					TTFT: &row.Dist{P50: known(r[0]), P90: known(r[1]), P95: known(r[2]), P99: known(r[3])},
					ITL:  &row.Dist{P50: known(r[4]), P90: known(r[5]), P95: known(r[6]), P99: known(r[7])},
					TPOT: &row.Dist{P50: known(r[8]), P90: known(r[9]), P95: known(r[10]), P99: known(r[11])},
					E2E:  &row.Dist{P50: known(r[12]), P90: known(r[13]), P95: known(r[14]), P99: known(r[15])},
				},
				Rank: known(r[16]),
			})
		}
		for i, name := range []string{"ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"} {
			if random.IntN(2) == 0 {
				continue
			}
			l := tradeoff.Limit{Figure: name, Permille: []int{500, 900, 950, 990}[random.IntN(4)], Max: []float64{200, 20, 20, 5000}[i] * random.Float64()}
			limits = append(limits, float64(i), float64(l.Permille), l.Max)
			asked = append(asked, l)
		}
		var hopes []tradeoff.Hope
		var hoped []float64
		for range random.IntN(6) {
			o := func(of float64) tradeoff.Outlook {
				v := of * random.Float64()
				return tradeoff.Outlook{Hard: v, Likely: v * 2}
			}
			h := tradeoff.Hope{TTFT: o(100), TPOT: o(10), E2E: o(2000), GPUMinutes: float64(random.IntN(9))}
			hopes = append(hopes, h)
			hoped = append(hoped, h.TTFT.Hard, h.TTFT.Likely, h.TPOT.Hard, h.TPOT.Likely, h.E2E.Hard, h.E2E.Likely, h.GPUMinutes)
		}
		best, likely := tradeoff.Promising(hopes, asked)
		if got, want := m.answered(m.call("promising", m.put(hoped), uint64(len(hopes)), m.put(limits), uint64(len(asked)), m.answer)), []float64{float64(best), map[bool]float64{true: 1}[likely]}; !slices.Equal(got, want) {
			t.Fatalf("hopes %v, limits %v: lean %v, native %v", hoped, limits, got, want)
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
				t.Fatalf("row %v, limit %v: lean %v, native %v", rows[:17], asked[i], got[3*i:3*i+3], want)
			}
		}
	}
}

// Ladders, fronts and costs are in the page what they are natively, bit for bit.
func TestLeanComparesAsNative(t *testing.T) {
	m := start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	crossed := 0
	for range 300 {
		ladder := func() (packed []float64, rungs []tradeoff.Rung) {
			for _, load := range []float64{1, 2, 4, 8, 16, 32} {
				if random.IntN(6) == 0 {
					continue
				}
				v, spread := 1+random.Float64(), random.Float64()/5
				if random.IntN(20) == 0 {
					v = 0
				}
				r := tradeoff.Rung{Load: load, Value: v, Lo: v * (1 - spread), Hi: v * (1 + spread)}
				rungs = append(rungs, r)
				packed = append(packed, r.Load, r.Value, r.Lo, r.Hi)
			}
			return packed, rungs
		}
		a, first := ladder()
		b, second := ladder()
		pairs, crossings := tradeoff.Against(first, second), tradeoff.Crossings(first, second)
		crossed += len(crossings)
		truth := map[bool]float64{true: 1}
		want := []float64{float64(len(pairs)), float64(len(crossings))}
		for _, p := range pairs {
			want = append(want, p.Load, p.Ratio, p.Lo, p.Hi, truth[p.Apart()])
		}
		for _, c := range crossings {
			want = append(want, c.At, c.Lo, c.Hi, truth[c.Before])
		}
		got := m.answered(m.call("against", m.put(a), uint64(len(first)), m.put(b), uint64(len(second)), m.answer))
		if !slices.EqualFunc(got, want, sameBits) {
			t.Fatalf("%v against %v: lean %v, native %v", second, first, got, want)
		}

		var points []tradeoff.Point
		var at []float64
		for range 1 + random.IntN(20) {
			p := tradeoff.Point{X: float64(random.IntN(6)), Y: float64(random.IntN(6))}
			points = append(points, p)
			at = append(at, p.X, p.Y)
		}
		want = want[:0]
		for _, on := range tradeoff.Front(points) {
			want = append(want, truth[on])
		}
		if got := m.answered(m.call("front", m.put(at), uint64(len(points)), m.answer)); !slices.Equal(got, want) {
			t.Fatalf("front of %v: lean %v, native %v", points, got, want)
		}

		price, output := random.Float64()*10, random.Float64()*1000
		total := output * (1 + random.Float64())
		c := tradeoff.CostOf(price, output, total)
		// The stack slot that a call with floats returns in has more bits than the uint32.
		got = m.answered(uint64(uint32(m.call("cost", math.Float64bits(price), math.Float64bits(output), math.Float64bits(total), m.answer))))
		if !slices.EqualFunc(got, []float64{c.Input, c.Output, c.Blended}, sameBits) {
			t.Fatalf("%v an hour at %v of %v tok/s: lean %v, native %v", price, output, total, got, c)
		}
	}
	if crossed == 0 {
		t.Error("no two ladders crossed: nothing was compared")
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
