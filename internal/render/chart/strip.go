package chart

// StripSpec is one run's repeats on a scale of their own, which need not begin at 0: it
// compares runs of one load, and lengths mean nothing in it.
type StripSpec struct {
	Repeats  []float64
	Value    Value // the run's figure over them
	Min, Max float64
}

// Strip draws a mark for each repeat and a bar over the figure's interval. It fills its
// cell at any width and is hidden from screen readers, since the figure stands beside it.
func Strip(c StripSpec) string {
	share := func(v float64) float64 {
		if c.Max <= c.Min {
			return .5
		}
		// Marks at the ends keep within the cell.
		return .04 + .92*min(max((v-c.Min)/(c.Max-c.Min), 0), 1)
	}
	var s svg
	s.open("svg", "class", "strip", "width", "100%", "height", "16", "aria-hidden", "true")
	if c.Value.Interval != nil {
		lo, hi := c.Value.ends()
		s.el("rect", "x", pct(share(lo)), "width", pct(share(hi)-share(lo)), "y", "20%", "height", "60%", "fill", "var(--bar)")
	}
	at := pct(share(c.Value.At))
	s.el("line", "x1", at, "x2", at, "y1", "10%", "y2", "90%", "stroke", "var(--ink)", "stroke-width", "1.6")
	for _, v := range c.Repeats {
		s.el("circle", "cx", pct(share(v)), "cy", "50%", "r", "2.5", "fill", "none", "stroke", "var(--ink)", "stroke-width", "1.2")
	}
	s.close("svg")
	return s.String()
}
