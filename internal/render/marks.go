package render

import (
	"math"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// mark is what a chart tells of one row, and what limits are held against; marks.ts and
// limits.ts read it as JSON.
type mark struct {
	Name    string   `json:"name"`
	Load    string   `json:"load"`
	Figures []string `json:"figures"`
	Verdict string   `json:"verdict"`
	Address string   `json:"address"`
	Row     packed   `json:"row"` // as lean.d.ts's choose takes it
}

// marks tells the rows of a scatter, each by its id.
func (s *site) marks(rows []*measured) map[string]mark {
	user := newColumn("", "tok/s per user, median", rows, (*measured).perUser)
	gpu := newColumn("", "output tok/s/GPU", rows, (*measured).perGPU)
	out := make(map[string]mark, len(rows))
	for _, m := range rows {
		t := mark{Name: s.seriesName(m), Load: m.load(), Verdict: m.sign(), Address: s.opts.Base + m.address(), Row: m.limited()}
		for _, c := range []column{user, gpu} {
			e := c.pick(m)
			if e.Value == nil {
				continue
			}
			text := format.Quantity(c.form.Figure(*e.Value), c.Unit)
			if e.Interval != nil {
				text += " (" + c.form.Interval(e.Interval[0], e.Interval[1]) + ")"
			}
			t.Figures = append(t.Figures, text)
		}
		out[m.ID] = t
	}
	return out
}

// limited packs what a reader's limits are held against, and what ranks.
func (m *measured) limited() packed {
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	var out packed
	for _, d := range []*row.Dist{m.Figures.TTFT, m.Figures.ITL} {
		if d == nil {
			d = &row.Dist{}
		}
		out = append(out, known(d.P50), known(d.P90), known(d.P95), known(d.P99))
	}
	return append(out, known(m.perGPU().Value))
}
