package render

import (
	"math"
	"path"
	"slices"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// mark is what a chart tells of one row, what limits are held against, and the row's
// line of the table for when a limit chooses it; marks.ts and limits.ts read it as JSON.
type mark struct {
	Name    string `json:"name"`
	Load    string `json:"load"`
	Verdict string `json:"verdict"`
	Address string `json:"address"`
	Row     packed `json:"row"` // as lean.d.ts's choose takes it
	GPUs    int64  `json:"gpus"`
	Dtype   string `json:"dtype"` // of the weights
	Total   packed `json:"total"` // input and output tok/s of one GPU; null where not known
	Joules  string `json:"joules,omitempty"`
	Report  string `json:"report"` // the row's files, and its place in the report
	Samples string `json:"samples"`
	Index   int    `json:"index"`
	Line    line   `json:"line"`
}

// line is a row in the columns of the home page's table. A latency has all four
// percentiles, since limits may ask for any.
type line struct {
	Recipe  string  `json:"recipe"`
	C       string  `json:"c"`
	PerGPU  cell    `json:"per_gpu"`
	Span    packed  `json:"span"` // interval of output tok/s/GPU, which ranks share; empty without one
	PerUser cell    `json:"per_user"`
	TTFT    [4]cell `json:"ttft"` // p50 p90 p95 p99
	ITL     [4]cell `json:"itl"`
	Roof    cell    `json:"roof"`
	Over    bool    `json:"over,omitempty"` // above the hard roof
	Date    string  `json:"date"`
	Old     bool    `json:"old,omitempty"` // see staleDays
}

// cell is a figure and its interval as written, both empty where it is missing.
type cell [2]string

func cellOf(f tableFigure) cell { return cell{f.Figure, f.Interval} }

// marks tells the rows of a scatter, each by its id: per GPU and heads are the table's
// columns, and rows of before old are marked.
func (s *site) marks(rows []*measured, perGPU column, heads []column, old string) map[string]mark {
	heads = slices.Clone(heads)
	for i := range heads { // the built table's units, and decimals for rows of every load
		var values []float64
		for _, m := range rows {
			if e := heads[i].pick(m); e.Value != nil {
				values = append(values, *e.Value*heads[i].form.Scale)
			}
		}
		heads[i].form.Decimals = format.Decimals(values)
	}
	out := make(map[string]mark, len(rows))
	for _, m := range rows {
		t := mark{Name: s.seriesName(m), Load: m.load(), Verdict: m.sign(), Address: s.opts.Base + m.address(), Row: m.limited()}
		t.GPUs, t.Dtype, t.Total = m.gpus(), m.dtype(), packed{math.NaN()}
		if e := m.totalPerGPU(); e.Value != nil {
			t.Total[0] = rounded(*e.Value, 3)
		}
		if e := m.joules(); e.Value != nil {
			t.Joules = format.Prose(*e.Value)
		}
		t.Report, t.Index = s.opts.Base+m.File, m.Index
		t.Samples = path.Join(path.Dir(t.Report), m.Row.Samples.File)
		t.Line = m.line(perGPU, heads)
		t.Line.Old = t.Line.Date < old
		out[m.ID] = t
	}
	return out
}

// line writes a row in the table's columns: per GPU, and heads, which are per user, TTFT
// p50 and p99, ITL p50 and p99. p90 and p95 are written as the p99 in whose place they
// stand.
func (m *measured) line(perGPU column, heads []column) line {
	var missing letters // the page's script says why a figure is missing
	roof := m.roofFigure(&missing)
	l := line{
		Recipe: m.Key.String(), C: format.Count(m.concurrency()), PerGPU: cellOf(perGPU.figure(m, &missing)), PerUser: cellOf(heads[0].figure(m, &missing)),
		Roof: cellOf(roof), Over: roof.Over, Date: format.Date(m.Report.MeasuredAt),
	}
	if e := m.perGPU(); e.Interval != nil {
		l.Span = packed{rounded(e.Interval[0], 3), rounded(e.Interval[1], 3)}
	}
	for i, q := range []quantile{p50, p90, p95, p99} {
		at := min(i, 1) // the column of p50, else of p99
		ttftAt, itlAt := heads[1+at], heads[3+at]
		ttftAt.pick = func(m *measured) estimate { return latency(ttft(&m.Figures), q, m.Missing, "ttft_ms") }
		itlAt.pick = func(m *measured) estimate { return latency(itl(&m.Figures), q, m.Missing, "itl_ms") }
		l.TTFT[i], l.ITL[i] = cellOf(ttftAt.figure(m, &missing)), cellOf(itlAt.figure(m, &missing))
	}
	return l
}

// rounded to so many decimals: what a sum of floats adds beyond is noise, which a page
// of a hundred cells would carry thousands of times.
func rounded(v float64, decimals int) float64 {
	unit := math.Pow10(decimals)
	return math.Round(v*unit) / unit
}

// hope is an unmeasured load as the home page holds it.
type hope struct {
	Name    string `json:"name"`
	Gap     string `json:"gap"`
	Address string `json:"address"`
	GPUs    int64  `json:"gpus"`
	Dtype   string `json:"dtype"`
	Load    string `json:"load"`
	Cost    string `json:"cost"`  // of the whole gap
	Roofs   packed `json:"roofs"` // as lean.d.ts's promising takes it
}

// hopes are the unmeasured loads of a model at a shape.
func (s *site) hopes(w *world, drawn scope) []hope {
	out := []hope{}
	for _, h := range tradeoff.Hopes(tradeoff.Catalog(*w.catalog), w.gaps, drawn.Model, drawn.Shape.String()) {
		g := w.gaps[h.Gap]
		k, _ := parseKey(g.Recipe)
		target, _ := w.catalog.Target(k.Target)
		v := hope{
			Name: nameOfTarget(target, k.Target) + " · " + s.strategyName(k.Strategy) + " · " + engineName(k.Engine), Gap: gapName(g), Address: s.opts.Base + "gaps/#" + gapID(g.Rank),
			GPUs: g.GPUs, Load: format.Concurrency(h.Concurrency), Cost: format.Plural(int(*g.GPUMinutes), "GPU-minute", "GPU-minutes"),
			Roofs: packed{rounded(h.TTFT.Hard, 4), rounded(h.TTFT.Likely, 4), rounded(h.TPOT.Hard, 4), rounded(h.TPOT.Likely, 4), rounded(h.E2E.Hard, 4), rounded(h.E2E.Likely, 4), h.GPUMinutes},
		}
		if r := w.catalog.Recipes[g.Recipe]; r != nil {
			v.Dtype = r.Weights.Dtype
		}
		out = append(out, v)
	}
	return out
}

// limited packs what a reader's limits are held against, and what ranks.
func (m *measured) limited() packed {
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return rounded(*v, 6) // samples are whole microseconds
	}
	var out packed
	for _, d := range []*row.Dist{m.Figures.TTFT, m.Figures.ITL, m.Figures.TPOT, m.Figures.E2E} {
		if d == nil {
			d = &row.Dist{}
		}
		out = append(out, known(d.P50), known(d.P90), known(d.P95), known(d.P99))
	}
	return append(out, known(m.perGPU().Value))
}
