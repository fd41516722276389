package halves

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// A half read back from a page's JSON gives, in every pair of formats, what measure packs.
func TestHalvesGiveWhatIsPacked(t *testing.T) {
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	weights, kv := roofline.WeightDtypes(), roofline.KVDtypes()
	compare := func(name string, h Half, pack func(w, k string) []float64) {
		t.Helper()
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var read Half
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		for _, w := range weights {
			for _, k := range kv {
				if got, want := read.In(w, k), pack(w, k); !slices.EqualFunc(got, want, same) {
					t.Errorf("%s, %s weights, %s KV:\n%v\nwant\n%v", name, w, k, got, want)
				}
			}
		}
	}
	for id, m := range c.Models {
		compare(id, OfModel(m, weights, kv), func(w, k string) []float64 {
			return roofline.Pack(roofline.Query{Model: m, WeightDtype: w, KVDtype: k})
		})
	}
	for id, d := range c.Targets {
		compare(id, OfTarget(d, weights, kv), func(w, k string) []float64 {
			return roofline.Pack(roofline.Query{Target: d, WeightDtype: w, KVDtype: k, TP: 1})
		})
	}
	if len(c.Models) == 0 || len(c.Targets) == 0 {
		t.Error("the catalogue is empty")
	}
}
