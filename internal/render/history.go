package render

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// historyView is a recipe's loads that were measured in more than one run, each run's
// repeats beside the others', engine versions apart.
type historyView struct {
	ID, Label string
	Loads     []historyLoad
}

// historyLoad is one load over time.
type historyLoad struct {
	Name   string
	Change string // between the oldest run and the newest of one version; "" of a single one
	Scale  string // what the strips' ends stand for
	Runs   []historyRun
}

type historyRun struct {
	Date    string
	Version string // where it is another than the run's before; else ""
	Sign    string
	ID      string
	Address string
	Strip   template.HTML
	TPOT    tableFigure
	PerGPU  tableFigure
	Starts  string
}

// history is nil where no load of the recipe was measured twice.
func history(id, title string, rows []*measured) *historyView {
	byName := map[string][]*measured{}
	var order []*measured
	for _, m := range rows {
		if m.Withdrawn != nil || m.Figures.TPOT == nil || m.Figures.TPOT.P50 == nil {
			continue
		}
		name := m.loadName()
		if byName[name] == nil {
			order = append(order, m)
		}
		byName[name] = append(byName[name], m)
	}
	slices.SortStableFunc(order, func(a, b *measured) int {
		return cmp.Or(cmp.Compare(a.Workload.ISL, b.Workload.ISL), cmp.Compare(a.Workload.OSL, b.Workload.OSL), byLoad(a, b))
	})
	v := &historyView{ID: id + "-time", Label: "Over time: " + title}
	for _, m := range order {
		if of := byName[m.loadName()]; len(of) > 1 {
			v.Loads = append(v.Loads, overTime(of))
		}
	}
	if v.Loads == nil {
		return nil
	}
	return v
}

// loadName names what a row was asked, so that rows of one name are repeats of another.
func (m *measured) loadName() string {
	name := shapeWords(&m.Workload) + ", " + m.load()
	if k := kindOf(&m.Workload); k.words != "" {
		name += ", " + k.words
	} else if !m.Workload.Ranked() {
		name += ", in passes"
	}
	return name
}

// overTime lays out one load's runs, the oldest first, versions in the order in which
// they were first measured.
func overTime(of []*measured) historyLoad {
	slices.SortStableFunc(of, func(a, b *measured) int { return cmp.Compare(a.Report.MeasuredAt, b.Report.MeasuredAt) })
	var versions []string
	for _, m := range of {
		if !slices.Contains(versions, m.engine()) {
			versions = append(versions, m.engine())
		}
	}
	slices.SortStableFunc(of, func(a, b *measured) int {
		return cmp.Compare(slices.Index(versions, a.engine()), slices.Index(versions, b.engine()))
	})
	tpot := latencyColumn("TPOT p50", "tpot_ms", p50, of, func(f *row.Figures) *row.Dist { return f.TPOT })
	rate := newColumn("Per GPU", "output tok/s", of, (*measured).perGPU)
	least, most := math.Inf(1), math.Inf(-1)
	reach := func(v float64) { least, most = min(least, v), max(most, v) }
	for _, m := range of {
		e := tpot.pick(m)
		reach(*e.Value)
		if e.Interval != nil {
			reach(e.Interval[0])
			reach(e.Interval[1])
		}
		for _, v := range m.repeatTPOTs() {
			reach(v)
		}
	}
	h := historyLoad{
		Name:   of[0].loadName(),
		Scale:  tpot.form.Interval(least, most) + format.NBSP + tpot.Unit,
		Change: changeOver(of, &tpot),
	}
	var missing letters
	for i, m := range of {
		e := tpot.pick(m)
		r := historyRun{
			Date: format.Date(m.Report.MeasuredAt), Sign: m.sign(), ID: m.ID, Address: m.address(),
			TPOT: tpot.figure(m, &missing), PerGPU: rate.figure(m, &missing),
			Strip:  template.HTML(chart.Strip(chart.StripSpec{Repeats: m.repeatTPOTs(), Value: chart.Value{At: *e.Value, Interval: e.Interval}, Min: least, Max: most})),
			Starts: "not known",
		}
		if n := m.Starts(); n > 0 {
			r.Starts = format.Count(int64(n))
		}
		if i == 0 || of[i-1].engine() != m.engine() {
			r.Version = m.engine()
		}
		h.Runs = append(h.Runs, r)
	}
	return h
}

// changeOver names the change from the oldest run to the newest, a change only where the
// intervals part: what differs between two starts of a server is in neither of them.
func changeOver(of []*measured, c *column) string {
	first, last := of[0], of[len(of)-1]
	a, b := c.pick(first), c.pick(last)
	from := "From " + format.Date(first.Report.MeasuredAt) + " to " + format.Date(last.Report.MeasuredAt)
	if first.engine() != last.engine() {
		from = "From " + first.engine() + " to " + last.engine()
	}
	switch {
	case a.Interval == nil || b.Interval == nil:
		return from + ": a run of fewer than two repeats has no interval, so no change is shown."
	case a.Interval[0] <= b.Interval[1] && b.Interval[0] <= a.Interval[1]:
		return from + ": no change is shown, since the intervals overlap."
	}
	word := "less"
	if *b.Value > *a.Value {
		word = "more"
	}
	return fmt.Sprintf("%s: %s %s a token (%s, then %s %s); the intervals part.", from, format.Percent(math.Abs(*b.Value / *a.Value - 1)), word,
		c.form.Figure(*a.Value), c.form.Figure(*b.Value), c.Unit)
}

// repeatTPOTs are the medians of the row's repeats.
func (m *measured) repeatTPOTs() []float64 {
	var out []float64
	for i := range m.PerRepeat {
		if d := m.PerRepeat[i].TPOT; d != nil && d.P50 != nil {
			out = append(out, *d.P50)
		}
	}
	return out
}
