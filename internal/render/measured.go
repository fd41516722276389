package render

import (
	"cmp"
	"slices"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// recipeKey names a recipe: a cell on one engine.
type recipeKey struct{ Model, Target, Strategy, Engine string }

func parseKey(recipe string) (recipeKey, bool) {
	p := strings.Split(recipe, "/")
	if len(p) != 4 || slices.Contains(p, "") {
		return recipeKey{}, false
	}
	return recipeKey{p[0], p[1], p[2], p[3]}, true
}

func (k recipeKey) String() string {
	return strings.Join([]string{k.Model, k.Target, k.Strategy, k.Engine}, "/")
}

// cell leaves the engine out.
func (k recipeKey) cell() recipeKey { k.Engine = ""; return k }

// anchor is the id of the recipe's section on its model's page.
func (k recipeKey) anchor() string { return k.Target + "-" + k.Strategy + "-" + k.Engine }

// shape of a workload.
type shape struct{ ISL, OSL int64 }

func (s shape) String() string { return format.Shape(s.ISL, s.OSL) }

// slug is the shape in an address.
func (s shape) slug() string { return strings.ReplaceAll(s.String(), ":", "-") }

// measured is one published row with all that the pages say of it. Its samples are
// held only while its own page is drawn.
type measured struct {
	*row.Row
	Report    *row.Report
	Key       recipeKey
	File      string // the report, a path below the root
	Index     int    // its place in the report
	Gates     []gate.Result
	Verdict   string
	Listed    bool // verified, or simulated in a demo
	Withdrawn *withdrawal
	Model     *roofline.Model  // as it was
	Target    *roofline.Target // as it was
}

// withdrawal takes a row out of every ranking; the row itself stays.
type withdrawal struct{ Date, Reason string }

func (m *measured) shape() shape { return shape{m.Workload.ISL, m.Workload.OSL} }

func (m *measured) address() string { return "r/" + m.ID + "/" }

// ranks says whether the row may stand in a front or a ranking.
func (m *measured) ranks() bool {
	return m.Listed && m.Withdrawn == nil && m.Status == row.StatusOK &&
		m.Workload.Ranked() && m.Figures.OutputTokPerSecPerGPU != nil && !m.queueBound()
}

// randomWeights says whether the server ran without trained weights.
func (m *measured) randomWeights() bool { return m.Report.Receipt.Weights.Source == "random" }

// queueBound says whether fewer streams were served at once than were offered.
func (m *measured) queueBound() bool { return gate.QueueBound(m.Gates) }

// perUser is 1000 ÷ TPOT p50: what one user's stream gives, with its interval.
func (m *measured) perUser() estimate {
	e := latency(m.Figures.TPOT, p50, m.Missing, "tpot_ms")
	if e.Value == nil || *e.Value == 0 {
		return estimate{Reason: cmp.Or(e.Reason, "TPOT is zero")}
	}
	v := 1000 / *e.Value
	out := estimate{Value: &v}
	if i := e.Interval; i != nil && i[0] > 0 {
		out.Interval = &row.Interval{1000 / i[1], 1000 / i[0]}
	}
	return out
}

// estimate is one figure with its interval, or nil with the reason.
type estimate struct {
	Value    *float64
	Interval *row.Interval
	Reason   string
}

// quantile picks one figure of a distribution.
type quantile struct {
	name  string
	value func(*row.Dist) *float64
	ival  func(*row.Dist) *row.Interval
}

var (
	mean = quantile{"mean", func(d *row.Dist) *float64 { return d.Mean }, func(d *row.Dist) *row.Interval { return d.IntervalMean }}
	p50  = quantile{"p50", func(d *row.Dist) *float64 { return d.P50 }, func(d *row.Dist) *row.Interval { return d.IntervalP50 }}
	p90  = quantile{"p90", func(d *row.Dist) *float64 { return d.P90 }, func(d *row.Dist) *row.Interval { return d.IntervalP90 }}
	p95  = quantile{"p95", func(d *row.Dist) *float64 { return d.P95 }, func(d *row.Dist) *row.Interval { return d.IntervalP95 }}
	p99  = quantile{"p99", func(d *row.Dist) *float64 { return d.P99 }, func(d *row.Dist) *row.Interval { return d.IntervalP99 }}
)

// latency takes one figure out of a distribution; name is its JSON name.
func latency(d *row.Dist, q quantile, missing map[string]string, name string) estimate {
	if d == nil {
		return estimate{Reason: cmp.Or(missing[name], "not computable")}
	}
	v := q.value(d)
	if v == nil {
		return estimate{Reason: cmp.Or(missing[name+"."+q.name], missing[name], "not enough samples")}
	}
	return estimate{Value: v, Interval: q.ival(d)}
}

// rate takes a rate with its interval.
func (m *measured) rate(v *float64, name string) estimate {
	if v == nil {
		return estimate{Reason: cmp.Or(m.Missing[name], "not computable")}
	}
	e := estimate{Value: v}
	if i, ok := m.Figures.Intervals[name]; ok {
		e.Interval = &i
	}
	return e
}

func (m *measured) perGPU() estimate {
	return m.rate(m.Figures.OutputTokPerSecPerGPU, "output_tok_s_per_gpu")
}

// recipe is as it was; nil where the run named none.
func (m *measured) recipe() *row.Recipe {
	if m.Report.AsItWas == nil {
		return nil
	}
	return &m.Report.AsItWas.Recipe
}

// targetName is the device and its count as the row knew them.
func (m *measured) targetName() string { return nameOfTarget(m.Target, m.Key.Target) }

func nameOfTarget(t *roofline.Target, id string) string {
	if t == nil || t.Name == "" {
		return id
	}
	return strings.ReplaceAll(t.Name, " ", format.NBSP)
}
