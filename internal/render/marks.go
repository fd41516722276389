package render

import "rowproof/internal/render/format"

// mark is what a chart's tooltip says of one row; marks.ts reads it as JSON.
type mark struct {
	Name    string   `json:"name"`
	Load    string   `json:"load"`
	Figures []string `json:"figures"`
	Verdict string   `json:"verdict"`
	Address string   `json:"address"`
}

// marks tells the rows of a scatter, each by its id.
func (s *site) marks(w *world, rows []*measured, withModel bool) map[string]mark {
	user := newColumn("", "tok/s per user, median", rows, (*measured).perUser)
	gpu := newColumn("", "output tok/s/GPU", rows, (*measured).perGPU)
	out := make(map[string]mark, len(rows))
	for _, m := range rows {
		t := mark{Name: s.seriesName(w, m, withModel), Load: m.load(), Verdict: m.sign(), Address: s.opts.Base + m.address()}
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
