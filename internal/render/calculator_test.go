package render

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

// The script joins a model's half of a query and a target's half: what it gets must be
// the query that measure packs, slot by slot, for everything that the form offers.
func TestCalculatorHalvesMakeTheQuery(t *testing.T) {
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text, err := json.Marshal(newCalculator(c.Models, c.Targets).Data)
	if err != nil {
		t.Fatal(err)
	}
	type half struct{ Packed map[string][]*float64 }
	var page struct {
		Slots   map[string]int
		Models  map[string]half
		Targets map[string]half
	}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for model, m := range page.Models {
		for target, on := range page.Targets {
			for dtypes, a := range m.Packed {
				b, ok := on.Packed[dtypes]
				if !ok {
					t.Fatalf("%s has no half for %s", target, dtypes)
				}
				got := make([]float64, len(a))
				for i := range got {
					switch {
					case a[i] != nil:
						got[i] = *a[i]
					case b[i] != nil:
						got[i] = *b[i]
					default:
						got[i] = math.NaN()
					}
				}
				got[page.Slots["batch"]], got[page.Slots["context"]], got[page.Slots["tp"]] = 7, 1234, 4
				weights, kv, _ := strings.Cut(dtypes, "/")
				want := roofline.Pack(roofline.Query{Model: c.Models[model], Target: c.Targets[target],
					WeightDtype: weights, KVDtype: kv, Batch: 7, Context: 1234, TP: 4})
				for i := range want {
					if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
						t.Errorf("%s on %s, %s, %s: %v in the page, %v natively", model, target, dtypes, inputNames[i], got[i], want[i])
					}
				}
				tried++
			}
		}
	}
	if tried == 0 {
		t.Error("the form offers nothing")
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

func TestCeilingSentence(t *testing.T) {
	c, _ := catalog.Load(data.FS)
	ask := func(batch, context, tp int64) string {
		q := roofline.Query{Model: c.Models["llama-3.1-8b"], Target: c.Targets["h100-sxm"], Batch: batch, Context: context, TP: tp}
		return strings.ReplaceAll(ceilingSentence(q, roofline.CeilingPacked(roofline.Pack(q))), "\u00a0", " ")
	}
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
		if got := ask(c.batch, c.context, c.tp); !strings.HasSuffix(got, c.want) {
			t.Errorf("batch %d, context %d, tp %d:\n%s\nwant: …%s", c.batch, c.context, c.tp, got, c.want)
		}
	}
}
