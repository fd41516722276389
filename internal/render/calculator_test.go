package render

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/render/halves"
	"rowproof/internal/roofline"
)

// calculatorSite is a site that has read the checkout's catalogue and nothing else.
func calculatorSite(t *testing.T) (*site, *world) {
	t.Helper()
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &site{today: c}, &world{catalog: c}
}

// The script joins a model's half of a question and a device's: what it gets must be the
// question that measure packs, slot by slot, in every format that is known.
func TestCalculatorHalvesMakeTheQuestion(t *testing.T) {
	s, w := calculatorSite(t)
	text, err := json.Marshal(s.newCalculatorData(w))
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Slots   map[string]int
		Weights []string
		Models  map[string]struct {
			KV     []string
			KVAlso []string `json:"kv_also"`
			Half   halves.Half
		}
		Targets map[string]struct{ Half halves.Half }
	}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for model, m := range page.Models {
		for target, on := range page.Targets {
			for _, weights := range page.Weights {
				for _, kv := range append(m.KV, m.KVAlso...) {
					got, b := m.Half.In(weights, kv), on.Half.In(weights, kv)
					for i := range got {
						if math.IsNaN(got[i]) && i < len(b) {
							got[i] = b[i]
						}
					}
					got[page.Slots["batch"]], got[page.Slots["context"]], got[page.Slots["tp"]] = 7, 1234, 4
					want := roofline.Pack(roofline.Query{Model: s.today.Models[model], Target: s.today.Targets[target],
						WeightDtype: weights, KVDtype: kv, Batch: 7, Context: 1234, TP: 4})
					if !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
						t.Errorf("%s on %s, %s, %s: in the page\n%v\nnatively\n%v", model, target, weights, kv, got, want)
					}
					tried++
				}
			}
		}
	}
	if tried == 0 {
		t.Error("the form offers nothing")
	}
}

// What a reader says of a device of their own is what a device of the catalogue with the
// same figures would be.
func TestOwnDeviceIsWhatTheCatalogueWouldHold(t *testing.T) {
	weights, kv := roofline.WeightDtypes(), roofline.KVDtypes()
	own := newOwnDevice(weights, kv)
	for _, peaks := range []map[string]roofline.Decimal{
		{}, {"bf16": "1"}, {"fp8": "2"}, {"bf16": "1", "fp8": "2", "fp4": "4", "int8": "3"}, {"int8": "3", "bf16": "1"}, {"int8": "1", "bf16": "7"},
	} {
		target := &roofline.Target{Count: 1, MemoryGB: "1", BandwidthGBs: "1", LinkGBs: "1", PeakTFLOPs: peaks}
		greatest := func(types []string) float64 {
			most := math.NaN()
			for _, name := range types {
				if v, ok := peaks[name].Float(); ok && !(v*1e12 <= most) {
					most = v * 1e12
				}
			}
			return most
		}
		for _, w := range weights {
			for _, k := range kv {
				got := slices.Clone(own.Base)
				for _, slot := range own.Slots {
					got[slot] = 1e9
				}
				for _, p := range own.Peaks {
					types := p.Weights[w]
					if p.KV != nil {
						types = p.KV[k]
					}
					got[p.Slot] = greatest(types)
				}
				want := roofline.Pack(roofline.Query{Target: target, WeightDtype: w, KVDtype: k, TP: 1})
				if !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
					t.Fatalf("%v, %s weights, %s KV: the form makes\n%v\nthe catalogue\n%v", peaks, w, k, got, want)
				}
			}
		}
	}
}

// Every slot has a name that the page can say.
func TestSlotsAreNamed(t *testing.T) {
	for i, name := range inputNames {
		if name == "" {
			t.Errorf("slot %d of a query has no name", i)
		}
	}
	for i, name := range answerNames {
		if name == "" {
			t.Errorf("slot %d of an answer has no name", i)
		}
	}
}

func TestCeilingSentences(t *testing.T) {
	c, _ := catalog.Load(data.FS)
	ask := func(q roofline.Query) askedCeiling {
		q.Model, q.Target = c.Models["llama-3.1-8b"], c.Targets["h100-sxm"]
		in := roofline.Pack(q)
		return askedCeiling{in, roofline.CeilingPacked(in), q.Model.Name, q.Target.Name}
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }
	for _, c := range []struct {
		batch, context, tp int64
		want               string
	}{
		// 3350 GB/s ÷ 15.0098 GB, as published for this model and device
		{1, 0, 1, "Memory binds: Llama 3.1 8B on H100 SXM decodes at most 223 tok/s over one sequence of 0 tokens; a step takes at least 4.48 ms."},
		{1, 1, 1, " over one sequence of 1 token; a step takes at least 4.48 ms."},
		{2, 0, 4, "Llama 3.1 8B on 4× H100 SXM sharing each matrix (tp 4) decodes at most 1,785 tok/s over 2 sequences of 0 tokens, 893 tok/s each; a step takes at least 1.12 ms."},
		{64, 131_072, 1, "Does not fit in memory: at most 4 such sequences do. With room enough, memory would bind: Llama 3.1 8B on H100 SXM would decode at most 192 tok/s over 64 sequences of 131,072 tokens, 3.01 tok/s each; a step would take at least 333 ms."},
	} {
		a := ask(roofline.Query{Batch: c.batch, Context: c.context, TP: c.tp})
		if got := plain(a.decode()); !strings.HasSuffix(got, c.want) {
			t.Errorf("batch %d, context %d, tp %d:\n%s\nwant: …%s", c.batch, c.context, c.tp, got, c.want)
		}
		if a.load() != "" || a.experts() != "" {
			t.Errorf("a prompt that is not asked and a dense model's experts: %q, %q", a.load(), a.experts())
		}
	}
	// 29.69 TFLOP of a causal prompt of 2,048 tokens at 989 TFLOP/s
	a := ask(roofline.Query{ISL: 2048, OSL: 1, Concurrency: 1})
	if got, want := plain(a.load()), "A prompt of 2,048 tokens takes at least 30.0 ms: compute binds."; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant: %s", got, want)
	}
}

// The sentences lead with what a reader must know before believing a figure, name what
// is lacking and nothing else, and give hard and expected in one unit.
func TestCeilingSentencesLeadWithDoubts(t *testing.T) {
	c, _ := catalog.Load(data.FS)
	for name, k := range map[string]struct {
		model, target, weights string
		q                      roofline.Query
		decode, load, never    string
	}{
		"no peak": {"llama-3.1-8b", "m2-ultra", "", roofline.Query{Batch: 4096, Context: 16, ISL: 16, OSL: 2, Concurrency: 1},
			"No dense peak of M2 Ultra is published for these types: memory alone bounds this. Llama 3.1 8B on M2 Ultra decodes at most 138,849 tok/s ",
			"What a prompt takes needs what is not published: dense peak.", "Memory binds"},
		"no link": {"mixtral-8x7b", "m2-ultra", "fp8", roofline.Query{Batch: 32, Context: 2048, TP: 8},
			"Not computable: Mixtral 8x7B on 8× M2 Ultra sharing each matrix (tp 8) needs what is not published: link bandwidth.", "", "dense peak"},
		"no room": {"llama-3.3-70b", "h100-sxm", "", roofline.Query{Batch: 32, Context: 2048, ISL: 2048, OSL: 256, Concurrency: 32},
			"Does not fit in memory. With room enough, memory would bind: ", "With room enough, a prompt of 2,048 tokens would take at least ", "A prompt of"},
		"no room for the load": {"llama-3.1-8b", "h100-sxm", "", roofline.Query{Batch: 1, Context: 2048, ISL: 2048, OSL: 256, Concurrency: 4096},
			"Memory binds: ", " With 4,096 in flight at 2048:256, more than memory holds, it would be at most ", "With room enough"},
		"experts": {"mixtral-8x7b", "h200-sxm", "fp8", roofline.Query{Batch: 32, Context: 2048, ISL: 2048, OSL: 256, Concurrency: 32, TP: 2, EP: 2},
			" (tp 2), whole experts spread over 2 devices (ep 2) decodes at most ", " from each device. No request’s TPOT is below ", "/GPU"},
	} {
		k.q.Model, k.q.Target, k.q.WeightDtype = c.Models[k.model], c.Targets[k.target], k.weights
		if k.q.TP > 1 {
			k.q.Target, _ = c.Target(k.target + "-x" + strconv.FormatInt(k.q.TP, 10))
		}
		decode, load, _ := CeilingSentences(k.q)
		decode, load = strings.ReplaceAll(decode, "\u00a0", " "), strings.ReplaceAll(load, "\u00a0", " ")
		if !strings.Contains(decode, k.decode) || !strings.Contains(load, k.load) || strings.Contains(decode+load, k.never) {
			t.Errorf("%s: the page says\n%s\n%s", name, decode, load)
		}
		if name == "experts" && (strings.Count(decode, " expected)") != 3 || !strings.Contains(load, " output tok/s (")) {
			t.Errorf("of experts chosen by chance the page says\n%s\n%s", decode, load)
		}
	}
}
