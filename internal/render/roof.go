package render

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// roof is a row's decode step held against the hard roof of its own batch and context.
type roof struct {
	row.Step
	Share   float64   // least time ÷ measured
	Hard    float64   // ms a token
	Query   []float64 // packed, for the page to compute again
	Answer  []float64
	Missing string // why there is none; the figures are then 0
}

// decodeRoof computes the row's share of its hard roof, at its own mean batch and
// context.
func (m *measured) decodeRoof() roof {
	a := m.Report.AsItWas
	if a == nil {
		return roof{Missing: "missing a recipe, which the run did not name"}
	}
	if d := m.Figures.TPOT; d == nil || d.P50 == nil || d.Mean == nil {
		return roof{Missing: latency(d, p50, m.Missing, "tpot_ms").Reason}
	}
	if m.Figures.OutputTokPerSec == nil {
		return roof{Missing: m.rate(nil, "output_tok_s").Reason}
	}
	step, why := a.Step(m.Row)
	if why != "" {
		return roof{Missing: "missing " + why}
	}
	if why := unknown(step.Query, "decode_step_ms"); why != "" {
		return roof{Missing: why}
	}
	r := roof{Step: step, Query: step.Packed()}
	r.Answer = roofline.CeilingPacked(r.Query)
	r.Hard = tokenMS(r.Query, r.Answer)
	r.Share = r.Hard / r.TPOT
	return r
}

// speculation is the method by which the recipe drafts; "" where it does not.
func (m *measured) speculation() string {
	if r := m.recipe(); r != nil && r.Speculation != nil {
		return r.Speculation.Method
	}
	return ""
}

// unknown says why the ceiling has no such figure, "" where it has.
func unknown(q roofline.Query, name string) string {
	return strings.TrimSuffix(roofline.Ceiling(q).Missing[name], ".")
}

// tokenMS is the least time of one token of a sequence, in ms.
func tokenMS(in, out []float64) float64 {
	return 1e3 * in[roofline.SlotBatch] / out[roofline.OutDecodeTokPerSecHard]
}

// roofFigure is the share as a column of a table takes it: of the hard roof, and under it
// of the expected one where that is another.
func (m *measured) roofFigure(l *letters) tableFigure {
	r := m.decodeRoof()
	if r.Missing != "" {
		return tableFigure{Dash: l.dash("not computable: " + r.Missing)}
	}
	f := tableFigure{Figure: format.Percent(r.Share), Exact: format.Exact(r.Share), Over: r.Share > 1}
	if at := stepMark(r.Answer); at != nil {
		f.Interval = format.Percent(r.Share/(*at/100)) + format.NBSP + "of" + format.NBSP + "expected"
	}
	return f
}

// expectedMark is where a gauge has its expected line, in percent of the hard roof; nil
// where the two are one.
func expectedMark(hardMS, expectedMS float64) *float64 {
	at := 100 * hardMS / expectedMS
	if !(at < 99.95) {
		return nil
	}
	return &at
}

// stepMark is that of a decode step.
func stepMark(out []float64) *float64 {
	return expectedMark(out[roofline.OutDecodeStepHardMS], out[roofline.OutDecodeStepExpectedMS])
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
	spec.Figure = format.Quantity(format.Prose(r.TPOT), "ms") + " " + r.Name
	spec.Percent, spec.Expected = &share, stepMark(r.Answer)
	spec.Roof = format.Quantity(format.Prose(r.Hard), "ms") + " a token"
	again := newRecompute(r.Query)
	note := "The shortest possible time of a token ÷ " + r.Name + ", at this row’s own mean batch of " + roofline.Number(r.Batch)
	if r.Replicas > 1 {
		note += " in each of " + format.Count(r.Replicas) + " replicas"
	}
	note += " (decoded tok/s × mean TPOT) and its mean context of " + format.Plural(int(math.Round(r.Context)), "token", "tokens") + "."
	if whole := r.Step.Query.Batch; r.Batch != float64(whole) {
		note += " Gate ceiling takes a batch of " + format.Count(whole) + ", rounded down, so that it fails no row unjustly."
	}
	return gaugeView{
		Links:     s.linkWords(m, r.Query),
		Recompute: &again,
		SVG:       template.HTML(chart.Gauge(spec)),
		Note:      note,
		Causes:    causesOf(m),
		Working:   working(r.Step.Query, r.Query),
	}
}

// causesOf are what could explain a row above its roof, as gate ceiling tried them.
func causesOf(m *measured) []string {
	var out []string
	for _, g := range m.Gates {
		if g.Gate == "ceiling" && g.Answer == gate.Fail {
			for _, c := range g.Causes {
				out = append(out, c.Text+".")
			}
		}
	}
	return out
}

// recipeGauges are those of a recipe's page, both from its row at c = 1: decode of one
// user against bandwidth ÷ active bytes, and prefill against its roof.
func (s *site) recipeGauges(rows []*measured, id string) []gaugeView {
	var one *measured
	for _, m := range rows {
		if m.concurrency() == 1 && (one == nil || prefer(m, one)) {
			one = m
		}
	}
	if len(rows) == 0 {
		return nil
	}
	decode := chart.GaugeSpec{ID: id + "-decode", Name: "Decode, one user", Of: "the empty-context roof"}
	if one == nil {
		decode.Missing = "missing a row at c = 1"
		return []gaugeView{{SVG: template.HTML(chart.Gauge(decode))}}
	}
	views := []gaugeView{one.userGauge(decode)}
	if d := one.Figures.TTFT; d != nil && d.P50 != nil && *d.P50 > 0 && one.Report.AsItWas != nil && one.Workload.Prompts.State == row.Cold {
		views = append(views, one.promptGauge(chart.GaugeSpec{ID: id + "-prefill", Name: "Prefill of " + format.Plural(int(one.Workload.ISL), "token", "tokens")}))
	}
	return views
}

// userGauge holds one user's stream against one sequence with an empty context.
func (m *measured) userGauge(spec chart.GaugeSpec) gaugeView {
	spec.Name = "Decode, " + m.load()
	r := m.decodeRoof()
	if r.Missing != "" {
		spec.Missing = r.Missing
		return gaugeView{SVG: template.HTML(chart.Gauge(spec))}
	}
	in := r.Query
	r.Step.Query.Batch, r.Step.Query.Context = 1, 0
	in[roofline.SlotBatch], in[roofline.SlotContext] = 1, 0
	out := roofline.CeilingPacked(in)
	rate, hard := 1000/r.TPOT, out[roofline.OutDecodeTokPerSecHard]
	share := rate / hard * 100
	spec.Figure = format.Quantity(format.Prose(rate), "tok/s")
	spec.Percent, spec.Expected = &share, stepMark(out)
	spec.Roof = format.Quantity(format.Prose(hard), "tok/s")
	return gaugeView{
		SVG: template.HTML(chart.Gauge(spec)),
		Note: "1 ÷ " + r.Name + " of " + m.shape().String() + " against one sequence with an empty context: " + roofline.Formula(in) +
			". The tables hold each row against the roof at its own batch and context.",
		Working: working(r.Step.Query, in),
	}
}

// promptGauge holds the TTFT against the prefill of what no cache served.
func (m *measured) promptGauge(spec chart.GaugeSpec) gaugeView {
	a := m.Report.AsItWas
	q, _, why := a.Recipe.PrefillRoof(&a.Model, &a.Target)
	q.Batch, q.ISL = 1, m.Workload.ISL
	switch c := &m.Counts; {
	case why != "":
		spec.Missing = "missing " + why
	case c.CachedTokens != nil && c.Completed > 0:
		q.Cached = min((*c.CachedTokens+c.Completed-1)/c.Completed, q.ISL-1)
	case m.Server.CachedTok == nil || *m.Server.CachedTok != 0:
		spec.Missing = "missing cached tokens: what of the prompt was computed is unknown"
	}
	if spec.Missing == "" {
		spec.Missing = unknown(q, "prefill_ms")
	}
	if spec.Missing != "" {
		return gaugeView{SVG: template.HTML(chart.Gauge(spec))}
	}
	in := roofline.Pack(q)
	out := roofline.CeilingPacked(in)
	hard, ttft := out[roofline.OutPrefillHardMS], *m.Figures.TTFT.P50
	share := hard / ttft * 100
	spec.Figure = format.Quantity(format.Prose(ttft), "ms") + " TTFT p50"
	spec.Percent, spec.Roof = &share, format.Quantity(format.Prose(hard), "ms")
	spec.Expected = expectedMark(hard, out[roofline.OutPrefillExpectedMS])
	return gaugeView{
		SVG:  template.HTML(chart.Gauge(spec)),
		Note: "The shortest possible prefill ÷ TTFT p50, which also holds the network and the queue. Hard roof: " + roofline.PrefillFormula(in) + ".",
	}
}

// working is how a decode roof came about: what binds, what a step reads by part, the
// formula with its numbers, what was counted and where the figures stand.
func working(q roofline.Query, in []float64) []fact {
	out := roofline.CeilingPacked(in)
	a := roofline.Ceiling(q)
	facts := []fact{{Name: "Binds", Text: binds(out)}, {Name: "Read a step", Text: readWords(in, out)}}
	if e := expectedWords(in, out); e != "" {
		facts = append(facts, fact{Name: "Expected line", Text: e})
	}
	facts = append(facts, fact{Name: "Hard roof", Text: roofline.Formula(in)})
	for _, c := range a.Conventions {
		if !strings.HasPrefix(c, "what fits: ") {
			facts = append(facts, fact{Name: "Counted", Text: c})
		}
	}
	for _, c := range a.Sources {
		if !strings.Contains(c, " memory: ") {
			facts = append(facts, fact{Name: "Source", Text: c})
		}
	}
	return facts
}

// binds names the roof that binds, beside what the others take at least.
func binds(out []float64) string {
	names := []string{"memory", "arithmetic", "the links"}
	slots := []int{roofline.OutMemoryMS, roofline.OutComputeMS, roofline.OutCommunicationMS}
	first := 0
	switch out[roofline.OutBinding] {
	case roofline.BindingCompute:
		first = 1
	case roofline.BindingCommunication:
		first = 2
	}
	text := capital(names[first]) + ", " + milli(out[slots[first]]) + " a step"
	for i, slot := range slots {
		switch {
		case i == first || out[slot] == 0:
		case math.IsNaN(out[slot]):
			text += "; " + names[i] + " not known"
		default:
			text += "; " + names[i] + " " + milli(out[slot])
		}
	}
	return text
}

// readWords are the bytes of a step, part by part.
func readWords(in, out []float64) string {
	var parts []string
	for _, p := range []struct {
		name string
		slot int
	}{{"weights", roofline.OutWeightBytesRead}, {"experts", roofline.OutExpertBytesRead}, {"KV", roofline.OutKVBytesRead}, {"state", roofline.OutStateBytesRead}} {
		v := out[p.slot]
		if v == 0 {
			continue
		}
		part := p.name + " " + format.Bytes(v)
		if p.name == "weights" && out[roofline.OutExpertBytesRead] > 0 {
			part += " outside the experts"
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", ")
	if len(parts) > 1 {
		text += "; together " + format.Bytes(out[roofline.OutReadBytesPerStep])
	}
	if n := in[roofline.SlotTP] * in[roofline.SlotPP] * in[roofline.SlotDP]; n > 1 {
		text += fmt.Sprintf(" over %s devices", format.Count(int64(n)))
	}
	return capital(text)
}

// expectedWords say how the expected line differs from the hard roof; "" where it does
// not.
func expectedWords(in, out []float64) string {
	if stepMark(out) == nil {
		return ""
	}
	text := ""
	if n := out[roofline.OutDistinctExpected]; !math.IsNaN(n) {
		text = "A step whose tokens choose their experts evenly reads " + format.Prose(n) + " of a layer, " +
			format.Bytes(out[roofline.OutExpertBytesExpected]) + " in all: "
	}
	if in[roofline.SlotPP] > 1 {
		text += "sequences in " + format.Count(int64(in[roofline.SlotPP])) + " groups pass the stages in turn: "
	}
	return capital(text) + format.Quantity(format.Prose(out[roofline.OutDecodeTokPerSecExpected]), "tok/s") + ", " + milli(out[roofline.OutDecodeStepExpectedMS]) + " a step"
}

// prefer says whether a tells more of one user than b: the longer prompt, then the
// newer row.
func prefer(a, b *measured) bool {
	if a.Workload.ISL != b.Workload.ISL {
		return a.Workload.ISL > b.Workload.ISL
	}
	return a.Report.MeasuredAt > b.Report.MeasuredAt
}
