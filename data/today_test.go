package data

import (
	"strings"
	"testing"

	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

func today(t *testing.T, c *catalog.Catalog, r *row.Report) *gate.Today {
	t.Helper()
	recipe, model, target := c.Today(r.Recipe)
	if recipe == nil || model == nil || target == nil {
		t.Fatalf("the catalogue lacks part of %s", r.Recipe)
	}
	return rowfile.Today(r.AsItWas, recipe, model, target)
}

// A report can write any roof into its own copies; the catalogue's stand beside them.
func TestCopiesThatRaiseTheRoof(t *testing.T) {
	c, _ := catalog.Load(FS)
	for _, spoil := range []struct {
		name, field string
		change      func(*row.AsItWas)
	}{
		{"as it is", "", func(*row.AsItWas) {}},
		{"a bandwidth", "target.bandwidth_gb_s is 9600 in the row's copy and 4800 in the catalogue", func(w *row.AsItWas) { w.Target.BandwidthGBs = "9600" }},
		{"a layer", "model.architecture.layers[0].count is 12 in the row's copy and 32 in the catalogue", func(w *row.AsItWas) {
			w.Model.Architecture.Layers = append([]roofline.Layer{}, w.Model.Architecture.Layers...)
			w.Model.Architecture.Layers[0].Count = 12
		}},
		{"a format", "recipe.weights.dtype is int4 in the row's copy and bf16 in the catalogue", func(w *row.AsItWas) { w.Recipe.Weights.Dtype = "int4" }},
	} {
		t.Run(spoil.name, func(t *testing.T) {
			was := rowtest.Llama8B()
			spoil.change(was)
			// The made-up engine answers as fast as the copies allow.
			r, samples, evidence := rowtest.Report(1, rowtest.Options{Recipe: "llama-3.1-8b/h200-sxm/latency/vllm", AsItWas: was, Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
			file, err := rowtest.Write(t.TempDir(), r, samples, evidence)
			if err != nil {
				t.Fatal(err)
			}
			of, err := rowfile.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			answer := func() gate.Result {
				for _, g := range of.Judge(nil)[0] {
					if g.Gate == "ceiling" {
						return g
					}
				}
				return gate.Result{}
			}
			if got := answer(); got.Answer != gate.Pass {
				t.Fatalf("by its own copies: %v %s", got.Answer, got.Reason)
			}
			of.Today = today(t, c, r)
			got := answer()
			if spoil.field == "" {
				if got.Answer != gate.Pass || of.Today.Words() != "" {
					t.Errorf("%v %s; %s", got.Answer, got.Reason, of.Today.Words())
				}
				return
			}
			if got.Answer != gate.Fail || !strings.HasPrefix(got.Reason, spoil.field) || !strings.Contains(got.Reason, "% of the roof") || len(got.Causes) == 0 {
				t.Errorf("%v %s", got.Answer, got.Reason)
			}
		})
	}
}
