package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// tableFigure is one figure in a table: written, with its interval, or a dash.
type tableFigure struct {
	Figure   string
	Interval string
	Exact    string // as recorded, for the scripts that sort
	Over     bool   // above the hard roof
	Dash     *dash
}

// dash is a missing figure.
type dash struct {
	Letter string
	Reason string
}

// letters gives each reason of a table its letter: a too few samples, c not
// computable, d undefined for one output token.
type letters struct{ used []dash }

func (l *letters) dash(reason string) *dash {
	letter := "c"
	switch {
	case strings.Contains(reason, "sample") || strings.Contains(reason, "fewer than"):
		letter = "a"
	case strings.Contains(reason, "one output token") || strings.Contains(reason, "OSL"):
		letter = "d"
	}
	d := dash{letter, reason}
	if !slices.Contains(l.used, d) {
		l.used = append(l.used, d)
	}
	return &d
}

// Reasons are the notes under the table, one a letter.
func (l *letters) Reasons() []dash {
	said := map[string][]string{}
	for _, d := range l.used {
		said[d.Letter] = append(said[d.Letter], strings.TrimSuffix(d.Reason, "."))
	}
	var out []dash
	for _, letter := range slices.Sorted(maps.Keys(said)) {
		reason := strings.Join(said[letter], "; ")
		if letter == "a" {
			reason = "fewer than 100 samples a repeat (no p99)"
			if slices.ContainsFunc(said[letter], func(r string) bool { return !strings.Contains(r, "p99") }) {
				reason = "fewer samples a repeat than the percentile needs: p90 10, p95 20, p99 100"
			}
		}
		out = append(out, dash{letter, capital(reason)})
	}
	return out
}

// column of figures: its head and how it writes them.
type column struct {
	Name string
	Unit string
	form format.Column
	pick func(*measured) estimate
}

// newColumn chooses unit and decimals from all rows of the table.
func newColumn(name, unit string, rows []*measured, pick func(*measured) estimate) column {
	var values []float64
	for _, m := range rows {
		if e := pick(m); e.Value != nil {
			values = append(values, *e.Value)
		}
	}
	c := column{Name: name, Unit: unit, pick: pick}
	if unit == "ms" {
		c.form = format.Milliseconds(values)
		c.Unit = c.form.Unit
	} else {
		c.form = format.NewColumn(unit, values)
	}
	return c
}

// figure writes the column's figure of one row.
func (c *column) figure(m *measured, l *letters) tableFigure {
	e := c.pick(m)
	if e.Value == nil {
		return tableFigure{Dash: l.dash(e.Reason)}
	}
	f := tableFigure{Figure: c.form.Figure(*e.Value), Exact: format.Exact(*e.Value)}
	if e.Interval != nil {
		f.Interval = c.form.Interval(e.Interval[0], e.Interval[1])
	}
	return f
}

// latencyColumn is a percentile of one latency.
func latencyColumn(name, field string, q quantile, rows []*measured, dist func(*row.Figures) *row.Dist) column {
	return newColumn(name, "ms", rows, func(m *measured) estimate {
		return latency(dist(&m.Figures), q, m.Missing, field)
	})
}

func ttft(f *row.Figures) *row.Dist { return f.TTFT }
func itl(f *row.Figures) *row.Dist  { return f.ITL }

// ranked orders rows by output tok/s/GPU, best first, and gives each its rank: rows
// share the rank of their group's first while their intervals overlap it ("2="). A row
// of one repeat has no interval and so no rank.
func ranked(rows []*measured) (order []*measured, ranks []string) {
	order = slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b *measured) int {
		return cmp.Or(
			cmp.Compare(*b.Figures.OutputTokPerSecPerGPU, *a.Figures.OutputTokPerSecPerGPU),
			strings.Compare(a.ID, b.ID))
	})
	ranks = make([]string, len(order))
	place := 0
	group := []int{} // indexes into order
	var first *row.Interval
	close := func() {
		for _, i := range group {
			ranks[i] = format.Count(int64(place - len(group) + 1))
			if len(group) > 1 {
				ranks[i] += "="
			}
		}
		group = group[:0]
	}
	for i, m := range order {
		iv := m.perGPU().Interval
		if iv == nil {
			continue
		}
		if len(group) > 0 && iv[1] < first[0] {
			close()
		}
		if len(group) == 0 {
			first = iv
		}
		place++
		group = append(group, i)
	}
	close()
	return order, ranks
}
