package render

import (
	"strings"
	"testing"

	"rowproof/internal/render/chart"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// Each gauge says how its roof came about, the expected line stands beside the hard one
// where they differ, and a row above its roof tells its true share and what was tried.
func TestGauges(t *testing.T) {
	root := newRoot(t)
	moe := rowtest.Llama8B()
	moe.Model.Name = "Experts 8B"
	moe.Model.Architecture.Layers[0].FFN = roofline.FFN{Kind: roofline.MoE, Width: 1024, Experts: 64, TopK: 4}
	moe.Target.Sources = map[string]string{"bandwidth_gb_s": "the maker's page"}
	shared, _ := addReport(t, root, 1, rowtest.Options{Recipe: "experts-8b/h200-sxm/latency/vllm", AsItWas: moe, Slowness: 2,
		Cells: []rowtest.Cell{{ISL: 128, OSL: 64, Concurrency: 1}, {ISL: 128, OSL: 64, Concurrency: 16}}})
	fast, _ := addReport(t, root, 2, rowtest.Options{Slowness: 0.6, Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
	write(t, root, "data/withdrawn.yaml", "- {id: "+fast.Rows[0].ID+", date: 2026-11-30, reason: above its roof}\n")
	addReport(t, root, 3, rowtest.Options{MeasuredAt: "2026-11-29T10:00:00Z", Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	model := read(t, out, "recipes/llama-3.1-8b/index.html")
	for _, page := range []struct {
		name, text string
		want       []string
		never      []string
	}{
		{"the row of a batch that shares experts", read(t, out, "r", shared.Rows[1].ID, "index.html"), []string{
			"at this row’s own mean batch of ", "(decoded tok/s × mean TPOT) and its mean context of 160 tokens.",
			"; expected ", ", of which it is ", "% of expected", "Gate ceiling takes a batch of ", "How the roof came about Binds Memory, ",
			"Read a step Weights 3.75 GB outside the experts, experts 3.22 GB, KV ", "; together ",
			"Expected line A step whose tokens choose their experts evenly reads ", " of a layer, ",
			" weights + 3.221 GB experts, 4 of 64 a layer + ",
			"Counted read parameters: all layers, each with the experts of one token, the final norm and the head",
			"Source H200 SXM bandwidth: the maker's page",
		}, []string{"unexplained", "withheld"}},
		{"its recipe", read(t, out, "recipes/experts-8b/index.html"), []string{
			"1 ÷ TPOT p50 of 128:64 against one sequence with an empty context: 4,800 GB/s ÷ (3.752 GB weights + 3.221 GB experts, 4 of 64 a layer) = 688.3 tok/s",
			"Read a step Weights 3.75 GB outside the experts, experts 3.22 GB; together 6.97 GB",
			"The shortest possible prefill ÷ TTFT p50",
		}, nil},
		{"the row above its roof", read(t, out, "r", fast.Rows[0].ID, "index.html"), []string{
			"% ↑ of the hard roof: unexplained",
			"Above the hard roof: withheld until one of these is shown to be why. speculation: none is stated and no draft was counted; with 1 token drafted a step and all accepted, ceiling ",
			"fp8, fp8-tensor, fp8-channel or int8 weights: 8.051 GB a step, ceiling 596.2 tok/s (1.677 ms a token): would explain it.",
			"more replicas: a batch of 1 cannot be spread: does not explain it.",
		}, []string{"Causes tried"}},
		{"a recipe without a row of one user", model, []string{"Decode, one user: Not computable: missing a row at c = 1"}, nil},
	} {
		said := words(page.text) + " " + strings.Join(labelsOf(page.text), " ")
		for _, want := range page.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q", page.name, want)
			}
		}
		for _, never := range page.never {
			if strings.Contains(said, never) {
				t.Errorf("%s says %q", page.name, never)
			}
		}
	}
}

// labelsOf are what a page's drawings say to those who cannot see them.
func labelsOf(page string) []string {
	var out []string
	for _, part := range strings.Split(page, `aria-label="`)[1:] {
		said, _, _ := strings.Cut(part, `"`)
		out = append(out, strings.ReplaceAll(said, "\u00a0", " "))
	}
	return out
}

// Nothing is drawn against a roof that something unknown would move.
func TestGaugesOfTheUnknown(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*row.Report)
	}{
		{"no recipe", "Not computable: missing a recipe, which the run did not name", func(r *row.Report) { r.AsItWas = nil }},
		{"weights", "Not computable: missing the weights' dtype, which the recipe leaves open", func(r *row.Report) { r.AsItWas.Recipe.Weights.Dtype = "" }},
		{"KV", "Not computable: missing the KV dtype, which the recipe leaves open", func(r *row.Report) { r.AsItWas.Recipe.KVDtype = "" }},
		{"layout", "Not computable: missing the parallel layout, which the recipe leaves open", func(r *row.Report) { r.AsItWas.Recipe.Pools[0].TP = 0 }},
		{"speculation", "Not computable: missing the draft counters: how many tokens a step accepts is unknown",
			func(r *row.Report) {
				r.AsItWas.Recipe.Speculation = &row.Speculation{Method: "mtp", DraftTokens: 1}
			}},
		{"bandwidth", "Not computable: no memory bandwidth is known for H200 SXM", func(r *row.Report) { r.AsItWas.Target.BandwidthGBs = "" }},
	} {
		report, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
		c.change(report)
		m := &measured{Row: &report.Rows[0], Report: report}
		for _, g := range append((&site{}).recipeGauges([]*measured{m}, "a")[:1], (&site{}).decodeGauge(m, "b")) {
			if said := words(string(g.SVG)); !strings.Contains(said, c.want) && !strings.Contains(strings.Join(labelsOf(string(g.SVG)), ""), c.want) || g.Note != "" {
				t.Errorf("%s: %q %q; want %q", c.name, said, g.Note, c.want)
			}
		}
	}
	report, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
	n := &report.Rows[0]
	n.Counts.CachedTokens, n.Server.CachedTok = nil, nil
	gauges := (&site{}).recipeGauges([]*measured{{Row: n, Report: report}}, "a")
	if said := strings.Join(labelsOf(string(gauges[1].SVG)), ""); !strings.Contains(said, "Not computable: missing cached tokens") {
		t.Errorf("cache state: %q", said)
	}
}

// With speculation a step checks every draft, and its time is shared by the tokens that
// it yields, as the server counted them.
func TestGaugeOfSpeculation(t *testing.T) {
	report, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
	m := &measured{Row: &report.Rows[0], Report: report}
	plain := m.decodeRoof()
	report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "eagle3", DraftTokens: 3}
	m.Row.Server.Spec = &row.Spec{Drafts: 100, DraftTokens: 300, Accepted: 120}
	r := m.decodeRoof()
	if r.Missing != "" || r.Name != "mean TPOT" || r.TPOT != *m.Figures.TPOT.Mean {
		t.Fatalf("%+v", r)
	}
	if got := plain.Hard / r.Hard; got < 2.199 || got > 2.201 {
		t.Errorf("2.2 tokens a step raise the roof %v times", got)
	}
	if g := m.userGauge(chart.GaugeSpec{ID: "a"}); !strings.Contains(g.Note, "1 ÷ mean TPOT of 128:32 against one sequence with an empty context: 2.2 tokens a step × 4,800 GB/s") {
		t.Errorf("%q", g.Note)
	}
}
