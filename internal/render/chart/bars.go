package chart

// barsRow is the height of a bar with its name above it, in px.
const barsRow = 36

// Bars draws one metric of a few cells as bars from zero, each with its name above, its
// whisker, and its figure at the end: 296 px wide, to stand in a row of its like, each
// with its own scale.
func Bars(b BarsSpec) string {
	greatest, words := 0.0, 0.0
	for _, r := range b.Bars {
		if r.Value != nil {
			_, hi := r.Value.ends()
			greatest = max(greatest, hi)
			words = max(words, width(r.Text, bold))
		}
	}
	x := linear(greatest, 3)
	x.to = Narrow - max(words+8, width(x.tick(x.max), regular)/2+1)
	top := 20.0
	floor := top + barsRow*float64(len(b.Bars)) + 2

	var s svg
	s.open("svg", "class", "bars", "id", b.ID, "width", px(Narrow), "height", px(floor+20), "viewBox", "0 0 "+px(Narrow)+" "+px(floor+20), "role", "img", "aria-label", b.Label)
	s.name(b.Name, 0, 12, "start")
	for i, r := range b.Bars {
		y := top + barsRow*float64(i)
		s.el("path", "class", "mark", "d", Shape(r.Slot, radiusFront, false), "transform", "translate(6 "+px(y+8)+")", "fill", Colour(r.Slot))
		s.text(r.Name, "x", "16", "y", px(y+12), "fill", "var(--ink)")
		if r.Value == nil {
			s.text(r.Text, "x", "0", "y", px(y+29), "fill", "var(--ink-3)")
			continue
		}
		lo, hi := r.Value.ends()
		s.el("rect", "class", "level", "data-row", r.Row, "y", px(y+18), "width", px2(x.at(r.Value.At)), "height", "14", "fill", Colour(r.Slot))
		if r.Value.Interval != nil {
			l, h, mid := px2(x.at(max(lo, 0))), px2(x.at(hi)), px(y+25)
			d := "M" + l + " " + mid + "H" + h + "M" + l + " " + px(y+21) + "V" + px(y+29) + "M" + h + " " + px(y+21) + "V" + px(y+29)
			s.el("path", "d", d, "fill", "none", "stroke", "var(--bg)", "stroke-width", "4")
			s.el("path", "class", "ci", "d", d, "fill", "none", "stroke", "var(--ink)", "stroke-width", "1.6")
		}
		s.text(r.Text, "x", px(x.at(hi)+6), "y", px(y+29), "fill", "var(--ink)", "font-weight", "600")
	}
	s.el("line", "class", "axis", "x1", "0.5", "x2", "0.5", "y1", px(top+14), "y2", px(floor), "stroke", "var(--edge)")
	for i, v := range x.ticks {
		anchor := "middle"
		if i == 0 {
			anchor = "start"
		}
		s.text(x.tick(v), "x", px(x.at(v)), "y", px(floor+14), "text-anchor", anchor, "fill", "var(--ink-3)")
	}
	s.close("svg")
	return s.String()
}
