package render

import (
	"encoding/json"
	"math"
	"slices"
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
		{64, 131_072, 1, " It does not fit in memory: at most 4 such sequences do."},
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
