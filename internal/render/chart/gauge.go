package chart

import (
	"math"
	"strings"
)

// Places in a gauge, in px from the top.
const (
	gaugeLine  = 16 // height of a line of text
	gaugeBar   = 14 // height of the bar
	gaugeScale = 18 // room for the scale under the bar
)

// Gauge shows a figure as a share of its hard roof: a bar from 0 to 125%, or to the
// next 25 above the figure. It is one drawing for any width from 296 px on. What
// exceeds the roof is hatched and called unexplained; a figure that cannot be computed
// has no bar, only the sentence that says what is missing.
func Gauge(g GaugeSpec) string {
	if g.Percent == nil {
		said := "Not computable"
		if g.Missing != "" {
			said += ": " + g.Missing
		}
		return gaugeText(g, said)
	}
	share := percent(*g.Percent)
	over := *g.Percent > 100
	expected := ""
	if g.Expected != nil && !over {
		expected = percent(100**g.Percent / *g.Expected) + " of expected"
	}
	rest := "of the hard roof"
	if g.Of != "" {
		rest = "of " + g.Of
	}
	if over {
		rest = "↑ " + rest + ": unexplained"
	}
	end := 125.0
	if *g.Percent > end {
		end = math.Ceil(*g.Percent/25) * 25
		if end == *g.Percent {
			end += 25
		}
	}
	at := func(p float64) string { return pct(p / end) }

	var s svg
	said := g.Figure + " · " + share + " " + rest
	spoken := said
	if g.Roof != "" {
		spoken += ", which is " + g.Roof
	}
	if g.Expected != nil {
		spoken += "; expected " + percent(*g.Expected)
	}
	if expected != "" {
		spoken += ", of which it is " + percent(100**g.Percent / *g.Expected)
	}
	s.openGauge(g, spoken)
	y := 0.0
	var lines []string
	if g.Name != "" {
		lines = append(lines, wrap(g.Name, Narrow, regular)...)
	}
	for _, l := range lines {
		y += gaugeLine
		s.text(l, "y", px(y-4), "fill", "var(--ink)")
	}
	figure := []string{said}
	if width(said, bold) > Narrow {
		figure = []string{g.Figure, share + " " + rest}
	}
	if expected != "" { // on the last line, or one of its own
		if last := figure[len(figure)-1] + ", " + expected; width(last, bold) > Narrow {
			figure = append(figure, expected)
		} else {
			figure[len(figure)-1] = last
		}
	}
	for i, l := range figure {
		y += gaugeLine
		s.open("text", "y", px(y-4), "font-size", "12", "font-weight", "600", "fill", "var(--ink)")
		if over && i == len(figure)-1 {
			before, _ := strings.CutSuffix(l, share+" "+rest)
			s.WriteString(escape(before))
			s.open("tspan", "fill", "var(--bad)")
			s.WriteString(escape(share + " " + rest))
			s.close("tspan")
		} else {
			s.WriteString(escape(l))
		}
		s.close("text")
	}

	// The roof's label ends at its line, or begins there where the line is too far left.
	roof := "hard roof"
	if g.Roof != "" {
		roof += " " + g.Roof
	}
	y += gaugeLine
	anchor, nudge := "end", "2"
	if 100/end*Narrow < width(roof, regular) {
		anchor, nudge = "start", "-1"
	}
	s.text(roof, "x", at(100), "dx", nudge, "y", px(y-4), "text-anchor", anchor, "fill", "var(--ink-2)")

	top, bottom := px(y+2), px(y+2+gaugeBar)
	s.el("rect", "class", "track", "width", "100%", "y", top, "height", px(gaugeBar), "fill", "var(--grid)")
	s.el("rect", "class", "level", "width", at(min(*g.Percent, 100)), "y", top, "height", px(gaugeBar), "fill", "var(--ink-2)")
	if over {
		s.open("defs")
		s.open("pattern", "id", g.ID+"-hatch", "width", "5", "height", "5", "patternUnits", "userSpaceOnUse", "patternTransform", "rotate(45)")
		s.el("rect", "width", "2", "height", "5", "fill", "var(--bad)")
		s.close("pattern")
		s.close("defs")
		s.el("rect", "class", "over", "x", at(100), "width", at(*g.Percent-100), "y", top, "height", px(gaugeBar), "fill", "url(#"+g.ID+"-hatch)", "stroke", "var(--bad)")
	}
	if g.Expected != nil {
		x := at(*g.Expected)
		// Twice, so that it shows on the bar's ground and on the bar itself.
		s.el("line", "x1", x, "x2", x, "y1", top, "y2", bottom, "stroke", "var(--bg)", "stroke-width", "2.5")
		s.el("line", "class", "expected", "x1", x, "x2", x, "y1", top, "y2", bottom, "stroke", "var(--ink)", "stroke-width", "1.6", "stroke-dasharray", "3 2")
	}
	s.el("line", "class", "roof", "x1", at(100), "x2", at(100), "y1", px(y-1), "y2", px(y+5+gaugeBar), "stroke", "var(--ink)", "stroke-width", "2.5")

	y += 2 + gaugeBar + gaugeScale - 4
	s.text("0%", "y", px(y), "fill", "var(--ink-3)")
	s.text(number(end, 0)+"%", "x", "100%", "y", px(y), "text-anchor", "end", "fill", "var(--ink-3)")
	if g.Expected != nil {
		label := "expected " + percent(*g.Expected)
		half, place := width(label, regular)/2, *g.Expected/end*Narrow
		x, anchor := at(*g.Expected), "middle"
		if place-half < width("0%", regular)+6 { // beside it, right of 0%
			anchor = "start"
			if place < width("0%", regular)+6 {
				x = pct((width("0%", regular) + 6) / Narrow)
			}
		} else if place+half > Narrow-width("125%", regular)-6 {
			anchor = "end"
		}
		s.text(label, "x", x, "y", px(y), "text-anchor", anchor, "fill", "var(--ink-2)")
	}
	s.close("svg")
	return s.finish(y + 4)
}

// gaugeText is a gauge without a bar.
func gaugeText(g GaugeSpec, said string) string {
	var s svg
	s.openGauge(g, said)
	y := 0.0
	if g.Name != "" {
		for _, l := range wrap(g.Name, Narrow, regular) {
			y += gaugeLine
			s.text(l, "y", px(y-4), "fill", "var(--ink)")
		}
	}
	for _, l := range wrap(said, Narrow, regular) {
		y += gaugeLine
		s.text(l, "y", px(y-4), "fill", "var(--ink-2)")
	}
	s.close("svg")
	return s.finish(y)
}

// height stands in an opening tag until the height is known.
const height = "\x00"

func (s *svg) openGauge(g GaugeSpec, said string) {
	if g.Name != "" {
		said = g.Name + ": " + said
	}
	s.open("svg", "class", "gauge", "id", g.ID, "width", "100%", "role", "img", "aria-label", said)
	open := strings.TrimSuffix(s.String(), ">")
	s.Reset()
	s.WriteString(open + ` height="` + height + `">`)
}

func (s *svg) finish(h float64) string {
	return strings.Replace(s.String(), height, px(h), 1)
}

// percent is whole, with one decimal from 95 to 105, so that 99.6 is not 100.
func percent(p float64) string {
	if p < 95 || p > 105 {
		return number(p, 0) + "%"
	}
	t := number(p, 1)
	if whole, ok := strings.CutSuffix(t, ".0"); ok && (whole != "100" || p == 100) {
		t = whole
	}
	return t + "%"
}
