package render

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// roof is a row's decode step held against the hard roof of its own batch and context.
type roof struct {
	Share   float64 // hard step ÷ measured TPOT p50
	TPOT    float64 // ms
	Hard    float64 // ms
	Batch   float64 // mean sequences decoding together
	Context float64 // mean tokens in each one's cache
	Formula string
	Query   []float64 // packed, for the page to compute again
	Missing string    // why there is none; the figures are then 0
}

// query is the ceiling question of one replica of the row's recipe; replicas share the
// row's load.
func (m *measured) query() (q roofline.Query, replicas int64, why string) {
	a := m.Report.AsItWas
	if a == nil || m.Model == nil || m.Target == nil {
		return q, 0, "the run named no recipe"
	}
	q, replicas, why = a.Recipe.Roof(m.Model, m.Target)
	q.Batch = 1
	return q, replicas, why
}

// decodeRoof computes the row's share of its hard roof. The batch is Little's law, not
// the concurrency: output rate × TPOT; the context is the mean over the decode steps.
func (m *measured) decodeRoof() roof {
	d := m.Figures.TPOT
	if d == nil || d.P50 == nil || d.Mean == nil {
		return roof{Missing: latency(d, p50, m.Missing, "tpot_ms").Reason}
	}
	if m.Figures.OutputTokPerSec == nil {
		return roof{Missing: m.rate(nil, "output_tok_s").Reason}
	}
	q, replicas, why := m.query()
	if why != "" {
		return roof{Missing: why}
	}
	if sp := m.speculation(); sp != "" {
		return roof{Missing: "speculation by " + sp + " changes what a step yields"}
	}
	if why := roofline.Ceiling(q).Missing["decode_step_ms"]; why != "" {
		return roof{Missing: why}
	}
	r := roof{TPOT: *d.P50}
	r.Batch = math.Max(1, *m.Figures.OutputTokPerSec**d.Mean/1e3/float64(replicas))
	r.Context = float64(m.Workload.ISL) + float64(m.Workload.OSL)/2
	in := roofline.Pack(q)
	in[roofline.SlotBatch], in[roofline.SlotContext] = r.Batch, r.Context
	r.Hard = roofline.CeilingPacked(in)[roofline.OutDecodeStepHardMS]
	if math.IsNaN(r.Hard) {
		return roof{Missing: "the ceiling of this model on this target"}
	}
	r.Share = r.Hard / r.TPOT
	r.Formula = roofline.Formula(in)
	r.Query = in
	return r
}

func (m *measured) speculation() string {
	if a := m.Report.AsItWas; a != nil && a.Recipe.Speculation != nil {
		return a.Recipe.Speculation.Method
	}
	return ""
}

// roofEstimate is the share as a column of a table takes it.
func (m *measured) roofFigure(l *letters) tableFigure {
	r := m.decodeRoof()
	if r.Missing != "" {
		return tableFigure{Dash: l.dash("not computable: missing " + r.Missing)}
	}
	return tableFigure{Figure: format.Percent(r.Share), Exact: format.Exact(r.Share), Over: r.Share > 1}
}

// decodeGauge draws the row's own gauge.
func (s *site) decodeGauge(m *measured, id string) gaugeView {
	r := m.decodeRoof()
	spec := chart.GaugeSpec{ID: id, Name: "Decode step, " + m.load()}
	if r.Missing != "" {
		spec.Missing = r.Missing
		return gaugeView{SVG: template.HTML(chart.Gauge(spec))}
	}
	share := r.Share * 100
	spec.Figure = format.Quantity(format.Prose(r.TPOT), "ms") + " TPOT p50"
	spec.Percent = &share
	spec.Roof = format.Quantity(format.Prose(r.Hard), "ms") + " a step"
	again := newRecompute(r.Query)
	return gaugeView{
		Links:     s.linkWords(m, r.Query),
		Recompute: &again,
		SVG:       template.HTML(chart.Gauge(spec)),
		Note: fmt.Sprintf("The share is the shortest possible step ÷ the measured TPOT p50. Mean batch %s (output tok/s × TPOT), mean context %s. Hard roof: %s.",
			format.Prose(r.Batch), format.Plural(int(math.Round(r.Context)), "token", "tokens"), r.Formula),
	}
}

// recipeGauges are those of a recipe's page: decode of one user against bandwidth ÷
// active bytes, and prefill against its roof, both from the rows at c = 1.
func (s *site) recipeGauges(rows []*measured, id string) []gaugeView {
	var one *measured
	for _, m := range rows {
		if m.concurrency() == 1 && (one == nil || prefer(m, one)) {
			one = m
		}
	}
	if one == nil {
		return nil
	}
	q, _, why := one.query()
	if why != "" {
		return nil
	}
	in := roofline.Pack(q)
	out := roofline.CeilingPacked(in)
	var views []gaugeView
	if d := one.Figures.TPOT; d != nil && d.P50 != nil && *d.P50 > 0 && one.speculation() == "" {
		rate := 1000 / *d.P50
		spec := chart.GaugeSpec{ID: id + "-decode", Name: "Decode, " + one.load(), Of: "the empty-context roof", Figure: format.Quantity(format.Prose(rate), "tok/s")}
		note := ""
		if hard := out[roofline.OutDecodeTokPerSecHard]; math.IsNaN(hard) {
			spec.Missing = reason(q, "decode_tok_s")
		} else {
			share := rate / hard * 100
			spec.Percent, spec.Roof = &share, format.Quantity(format.Prose(hard), "tok/s")
			note = "1 ÷ TPOT p50 of " + one.shape().String() + " against one sequence with an empty context: " + roofline.Formula(in) + ". The tables hold each row against the roof at its own batch and context."
		}
		views = append(views, gaugeView{SVG: template.HTML(chart.Gauge(spec)), Note: note})
	}
	if d := one.Figures.TTFT; d != nil && d.P50 != nil && *d.P50 > 0 && one.Workload.Prompts.State == row.Cold {
		in[roofline.SlotISL] = float64(one.Workload.ISL)
		out := roofline.CeilingPacked(in)
		spec := chart.GaugeSpec{ID: id + "-prefill", Name: fmt.Sprintf("Prefill, %s tokens", format.Count(one.Workload.ISL)),
			Figure: format.Quantity(format.Prose(*d.P50), "ms") + " TTFT p50"}
		note := ""
		if hard := out[roofline.OutPrefillHardMS]; math.IsNaN(hard) {
			spec.Missing = reason(q, "prefill_ms")
		} else {
			share := hard / *d.P50 * 100
			spec.Percent, spec.Roof = &share, format.Quantity(format.Prose(hard), "ms")
			note = "The shortest possible prefill ÷ TTFT p50, which also holds the network and the queue. Hard roof: " + roofline.PrefillFormula(in) + "."
		}
		views = append(views, gaugeView{SVG: template.HTML(chart.Gauge(spec)), Note: note})
	}
	return views
}

// reason says why the ceiling has no such figure.
func reason(q roofline.Query, name string) string {
	if why := roofline.Ceiling(q).Missing[name]; why != "" {
		return strings.TrimSuffix(why, ".")
	}
	return "the ceiling of this model on this target"
}

// prefer says whether a tells more of one user than b: the longer prompt, then the
// newer row.
func prefer(a, b *measured) bool {
	if a.Workload.ISL != b.Workload.ISL {
		return a.Workload.ISL > b.Workload.ISL
	}
	return a.Report.MeasuredAt > b.Report.MeasuredAt
}
