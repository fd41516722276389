package render

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"

	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// staleDays is the age from which on a row is marked. It is counted back from the newest
// row of the site: a page that is not built again must not grow old by itself.
const staleDays = 90

// trendsView is each load that was measured in more than one run, over time, and the rows
// that are old.
type trendsView struct {
	Answer sentence
	Days   int
	Newest string
	Charts []trendView
	Rest   []trendLine // measured more than once, without a drawing
	Stale  []staleLine
}

// trendView is one load of a recipe, drawn.
type trendView struct {
	ID, Title, Address string
	Change             string
	Note               string
	Drawings           template.HTML
	Unit               string
	Runs               []trendRun
}

type trendRun struct {
	Date, Engine, Sign, ID, Address string
	TPOT, PerGPU                    tableFigure
	Stale                           bool
}

type trendLine struct{ Title, Address, Change string }

// staleLine is a recipe whose newest row of a shape is old.
type staleLine struct{ Title, Address, Date, Engine string }

// mostTrends is how many loads are drawn, one a recipe: that of the most runs.
const mostTrends = 12

// staleBefore is the day before which rows are old; "" where there are none.
func staleBefore(rows []*measured) string {
	last := newest(rows)
	day, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return ""
	}
	return day.AddDate(0, 0, -staleDays).Format(time.DateOnly)
}

// writeTrends writes what changed over dates and engine versions.
func (s *site) writeTrends(w *world) error {
	v := &trendsView{Days: staleDays, Newest: newest(w.rows)}
	limit := staleBefore(w.rows)
	type load struct {
		key  recipeKey
		name string
	}
	by := map[load][]*measured{}
	var order []load
	for _, m := range w.rows {
		if !m.Listed || m.Withdrawn != nil || m.Figures.TPOT == nil || m.Figures.TPOT.P50 == nil {
			continue
		}
		l := load{m.Key, m.loadName()}
		if by[l] == nil {
			order = append(order, l)
		}
		by[l] = append(by[l], m)
	}
	order = slices.DeleteFunc(order, func(l load) bool { return len(by[l]) < 2 })
	slices.SortStableFunc(order, func(a, b load) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), strings.Compare(a.key.String(), b.key.String()), strings.Compare(a.name, b.name))
	})
	changed := 0
	drawn := map[recipeKey]bool{}
	for _, l := range order {
		t := s.trend(w, l.key, by[l], limit)
		if strings.Contains(t.Change, "the intervals part") {
			changed++
		}
		if drawn[l.key] || len(v.Charts) == mostTrends {
			v.Rest = append(v.Rest, trendLine{t.Title, t.Address, t.Change})
			continue
		}
		drawn[l.key] = true
		v.Charts = append(v.Charts, t)
	}
	newestOf := map[load]*measured{}
	for _, m := range current(w.rows) {
		l := load{m.Key, m.shape().String()}
		if old := newestOf[l]; old == nil || m.Report.MeasuredAt > old.Report.MeasuredAt {
			newestOf[l] = m
		}
	}
	for l, m := range newestOf {
		if d := format.Date(m.Report.MeasuredAt); d < limit {
			v.Stale = append(v.Stale, staleLine{s.titleOf(m) + " · " + engineName(l.key.Engine) + ", " + l.name, "recipes/" + l.key.Model + "/#" + l.key.anchor(), d, m.engine()})
		}
	}
	slices.SortFunc(v.Stale, func(a, b staleLine) int {
		return cmp.Or(strings.Compare(a.Date, b.Date), strings.Compare(a.Title, b.Title))
	})
	switch {
	case len(order) == 0:
		v.Answer = sentence{strong("Nothing was measured twice yet"), say("; a change over dates or engine versions cannot be told.")}
	default:
		v.Answer = sentence{strong(format.Plural(len(order), "load", "loads")), say(" of a recipe were measured in more than one run; of "), strong(format.Count(int64(changed))), say(" a change is shown.")}
		if len(order) == 1 {
			v.Answer[1] = say(" of a recipe was measured in more than one run; of ")
		}
	}
	return s.write(&page{
		Address: "trends/", Kind: "trends", Section: elsewhere, Title: "Trends",
		Description: "What changed between runs of the same load, over dates and engine versions, and which rows are old.", Main: v,
	})
}

// trend draws one load's runs, in the order in which they were measured.
func (s *site) trend(w *world, k recipeKey, of []*measured, limit string) trendView {
	slices.SortStableFunc(of, func(a, b *measured) int { return cmp.Compare(a.Report.MeasuredAt, b.Report.MeasuredAt) })
	first := of[0]
	c := latencyColumn("TPOT p50", "tpot_ms", p50, of, tpot)
	rate := newColumn("Per GPU", "output tok/s", of, (*measured).perGPU)
	v := trendView{
		ID:    "trend-" + anchor(k.String()+"-"+first.loadName()),
		Title: s.titleOf(first) + " · " + engineName(k.Engine) + ", " + first.loadName(), Address: "recipes/" + k.Model + "/#" + k.anchor() + "-time",
		Change: changeOver(of, &c), Unit: c.Unit,
	}
	spec := chart.TrendSpec{ID: v.ID + "-chart", YName: "↓ TPOT p50, " + c.Unit, Label: v.Title + ". " + v.Change}
	var missing letters
	broken := false
	for i, m := range of {
		e := c.pick(m)
		run := chart.TrendRun{Row: m.ID, Day: format.Date(m.Report.MeasuredAt), Value: scaled(value(e), c.form.Scale), Stale: format.Date(m.Report.MeasuredAt) < limit}
		if at, err := time.Parse(time.RFC3339, m.Report.MeasuredAt); err == nil {
			run.Seconds = float64(at.Unix())
		}
		if i == 0 || of[i-1].engine() != m.engine() {
			run.Version = m.engine()
		}
		if i > 0 && hardware(of[i-1]) != hardware(m) {
			run.Breaks, broken = true, true
		}
		spec.Runs = append(spec.Runs, run)
		v.Runs = append(v.Runs, trendRun{
			Date: run.Day, Engine: m.engine(), Sign: m.sign(), ID: m.ID, Address: m.address(), Stale: run.Stale,
			TPOT: c.figure(m, &missing), PerGPU: rate.figure(m, &missing),
		})
	}
	if broken {
		v.Note = "The line breaks where the devices, their driver or how the server was packaged changed."
	}
	v.Drawings = template.HTML(chart.Trend(spec))
	return v
}

// scaled is a value in a column's unit.
func scaled(v chart.Value, by float64) chart.Value {
	v.At *= by
	if v.Interval != nil {
		v.Interval = &row.Interval{v.Interval[0] * by, v.Interval[1] * by}
	}
	return v
}

// hardware is what a line may not lead across: the devices with their driver, and whether
// the server ran from an image or from packages.
func hardware(m *measured) string {
	r := &m.Report.Receipt
	parts := []string{r.Runtime.Kind}
	for _, d := range r.Devices {
		parts = append(parts, d.Name+" "+d.Driver+" "+d.Partition)
	}
	return strings.Join(parts, "; ")
}
