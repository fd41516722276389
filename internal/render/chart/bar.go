package chart

// Bar is the in-row bar of a ranked column: from zero, on the column's one scale, with
// a whisker where the figure has an interval. It fills its cell at any width and is
// hidden from screen readers, since the figure stands beside it.
func Bar(b BarSpec) string {
	share := func(v float64) float64 { return min(max(v/b.Max, 0), 1) }
	var s svg
	s.open("svg", "class", "bar", "width", "100%", "height", "12", "aria-hidden", "true")
	s.el("rect", "width", pct(share(b.Value.At)), "y", "8%", "height", "84%", "fill", "var(--bar)")
	if b.Value.Interval != nil {
		lo, hi := b.Value.ends()
		l, h := pct(share(lo)), pct(share(hi))
		s.el("line", "x1", l, "x2", h, "y1", "50%", "y2", "50%", "stroke", "var(--ink)", "stroke-width", "1.6")
		for _, x := range []string{l, h} {
			s.el("line", "x1", x, "x2", x, "y1", "25%", "y2", "75%", "stroke", "var(--ink)", "stroke-width", "1.6")
		}
	}
	s.close("svg")
	return s.String()
}
