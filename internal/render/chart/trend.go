package chart

import (
	"math"
	"strconv"
)

// TrendSpec is one figure of one cell over the days on which it was measured.
type TrendSpec struct {
	ID    string
	Label string // the finding as a sentence: the drawing's accessible name
	YName string // such as "↓ TPOT p50, ms"
	Runs  []TrendRun
}

// TrendRun is one run.
type TrendRun struct {
	Row     string // row id: data-row on the mark
	Seconds float64
	Day     string // as the axis shows it
	Value   Value
	Version string // where it is another than the run's before; else ""
	Breaks  bool   // something else than the engine changed: no line leads here
	Stale   bool   // hollow
}

// Heights of a trend, in px.
const (
	trendTop   = 44 // above the panel: its name, and the versions
	trendPanel = 150
	trendFoot  = 26
)

// Trend draws it at both widths: a true time axis, a mark with its whisker a run,
// straight lines between, and the engine's version where it changes.
func Trend(t TrendSpec) string { return t.draw(Narrow, 3) + t.draw(Wide, 6) }

func (t TrendSpec) draw(w, ticks int) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, r := range t.Runs {
		a, b := r.Value.ends()
		lo, hi = min(lo, a), max(hi, b)
	}
	if !(hi > lo) {
		lo, hi = lo*.95, hi*1.05
	}
	y := between(lo, hi, ticks)
	y.to, y.from = trendTop, trendTop+trendPanel
	first, last := t.Runs[0].Seconds, t.Runs[len(t.Runs)-1].Seconds
	x := scale{min: first, max: max(last, first+1), from: margin(y, "") + 8, to: float64(w) - 36}
	name := t.YName
	if y.min > 0 {
		name += ", from " + y.tick(y.min)
	}
	var s svg
	class := "wide"
	if w == Narrow {
		class = "narrow"
	}
	h := trendTop + trendPanel + trendFoot
	s.open("svg", "class", class, "id", t.ID+"-"+class, "width", strconv.Itoa(w), "height", strconv.Itoa(h), "viewBox", "0 0 "+strconv.Itoa(w)+" "+strconv.Itoa(h), "role", "img", "aria-label", t.Label)
	s.name(name, 0, 12, "start")
	for _, v := range y.ticks {
		at := px(y.at(v))
		s.el("path", "d", "M"+px(x.from-8)+" "+at+"H"+px(x.to+22), "stroke", "var(--grid)")
		s.text(y.tick(v), "x", px(x.from-14), "y", px(y.at(v)+4), "text-anchor", "end")
	}
	s.el("path", "d", "M"+px(x.from-8)+" "+px(y.from)+"H"+px(x.to+22), "stroke", "var(--edge)")
	var path string
	taken, named := math.Inf(-1), math.Inf(-1)
	for i, r := range t.Runs {
		here := px(x.at(r.Seconds)) + " " + px(y.at(r.Value.At))
		if i == 0 || r.Breaks {
			path += "M" + here
		} else {
			path += "L" + here
		}
		half := width(r.Day, regular) / 2
		if at := min(max(x.at(r.Seconds), half), float64(w)-half); (i == 0 || r.Day != t.Runs[i-1].Day) && at-half > taken+8 {
			s.text(r.Day, "x", px(at), "y", px(y.from+18), "text-anchor", "middle")
			taken = at + half
		}
		wide := width(r.Version, bold)
		if at := min(x.at(r.Seconds)-4, float64(w)-wide); r.Version != "" && at > named+8 {
			s.name(r.Version, at, 32, "start")
			s.el("path", "d", "M"+px(x.at(r.Seconds))+" 37V"+px(y.from), "stroke", "var(--grid)")
			named = at + wide
		}
	}
	s.el("path", "class", "series", "d", path, "fill", "none", "stroke", "var(--c1)", "stroke-width", "2")
	s.open("g", "stroke", "var(--bg)", "stroke-width", "1.2")
	for _, r := range t.Runs {
		at := px(x.at(r.Seconds))
		if r.Value.Interval != nil {
			a, b := r.Value.ends()
			s.el("path", "class", "ci", "d", "M"+at+" "+px(y.at(a))+"V"+px(y.at(b)), "stroke", "var(--c1)", "stroke-width", "1.6")
		}
		rule := ""
		if r.Stale {
			rule = "evenodd"
		}
		s.el("path", "d", Shape(1, radiusFront, r.Stale), "fill-rule", rule, "transform", "translate("+at+" "+px(y.at(r.Value.At))+")", "fill", "var(--c1)", "data-row", r.Row)
	}
	s.close("g")
	s.close("svg")
	return s.String()
}
