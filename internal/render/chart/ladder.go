package chart

import (
	"cmp"
	"math"
	"slices"
)

// ladderLog is the span from which on a ladder's metric is drawn on a logarithmic axis.
const ladderLog = 20

// Heights in a ladder, in px.
const (
	ladderTop   = 26 // above the upper panel: its name
	ladderMid   = 48 // between the panels: the lower one's name and the crossovers' labels
	ladderRatio = 110
	ladderFoot  = 44 // below: tick labels, and the name of x
)

// Ladder draws one metric over a load, and below it each series as a multiple of
// the reference, where a crossing shows. A crossover is a band over its interval with a
// line at its estimate.
func (e *Engine) Ladder(s LadderSpec) (narrow, wide string, err error) {
	if narrow, err = s.at(Narrow, 170).draw(e); err != nil {
		return "", "", err
	}
	wide, err = s.at(Wide, 230).draw(e)
	return narrow, wide, err
}

// at lays the ladder out at one width, with an upper panel of the given height.
func (s LadderSpec) at(w, upper int) *plot {
	most := map[int]int{Narrow: 3, Wide: 6}[w]
	p := newPlot(s.ID, s.Label, w, ladderTop+upper+ladderMid+ladderRatio+ladderFoot)
	x, y, ratio := s.x(w), s.y(most), s.ratio()
	if w == Narrow {
		ratio.ticks = slices.DeleteFunc(ratio.ticks, func(v float64) bool { return v != 1 && v != ratio.max })
	}

	left := max(margin(y, ""), margin(ratio, "×"))
	right := float64(w) - 14
	ends := s.ends()
	if w == Wide {
		for _, l := range ends {
			right = min(right, float64(w)-width(l.text, bold)-10)
		}
	}
	x.from, x.to = left, right
	y.to, y.from = ladderTop, float64(ladderTop+upper)
	ratio.to = y.from + ladderMid
	ratio.from = ratio.to + ladderRatio
	p.panels = []panel{{x: x, y: y, bare: true}, {x: x, y: ratio, unit: "×"}}

	name := s.YName
	if y.log {
		name += ", log"
	}
	p.over.name(name, 0, 12, "start")
	p.over.name(s.RatioName, 0, y.from+20, "start")
	p.over.name(s.XName, right+10, float64(p.h)-6, "end")

	p.line(1, 3, [][2]float64{{x.min, 1}, {x.max, 1}}, "class", "unit", "stroke", "var(--ink)", "stroke-width", "1.3")
	for i, c := range s.Series {
		z := 4 + len(s.Series) - i
		var over, under Series
		for _, q := range c.Points {
			over.Points = append(over.Points, q)
			if q.Ratio != nil && i != s.Reference {
				q.Y = *q.Ratio
				under.Points = append(under.Points, q)
			}
		}
		for k, part := range []Series{over, under} {
			s.series(p, k, z, c, part.Points)
		}
	}
	if w == Wide {
		for i, at := range spread(ends, y, ladderTop, y.from) {
			p.over.label(ends[i].text, "x", px(right+10), "y", px(at+4))
		}
	}
	s.crossovers(p, x, ratio)
	return p
}

// series draws points into a panel in the manner of c.
func (s LadderSpec) series(p *plot, panel, z int, c Series, points []Point) {
	if len(points) == 0 {
		return
	}
	var line, whiskers [][2]float64
	var marks []mark
	for _, q := range points {
		v := [2]float64{q.X.At, q.Y.At}
		line = append(line, v)
		q.X.Interval = nil // a load is set, not measured
		whiskers = append(whiskers, cross(q, p.panels[panel].x, p.panels[panel].y)...)
		marks = append(marks, mark{slot: c.Slot, r: radius, hollow: q.Imported, ring: q.QueueBound, data: []string{"data-row", q.Row, "data-cell", c.Cell, "data-c", q.C}})
	}
	width := "2"
	if c.Slot == 0 {
		width = "1"
	}
	p.line(panel, z, line, "class", "series", "stroke", Colour(c.Slot), "stroke-width", width, "stroke-dasharray", Dash(c.Slot), "data-cell", c.Cell)
	if len(whiskers) > 0 {
		p.line(panel, z, whiskers, "class", "ci", "stroke", Colour(c.Slot), "stroke-width", "1.6", "opacity", ".75")
	}
	p.points(panel, z+len(s.Series)+1, line, marks)
}

// x has its ticks at the measured concurrencies; at 296 px at the first, the last and
// one between.
func (s LadderSpec) x(w int) scale {
	var at []float64
	for _, c := range s.Series {
		for _, q := range c.Points {
			at = append(at, q.X.At)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) == 0 {
		return scale{min: 1, max: 2, log: true, ticks: []float64{1, 2}}
	}
	x := scale{min: at[0] / 1.1, max: at[len(at)-1] * 1.1, log: true, ticks: at}
	if w == Narrow && len(at) > 3 {
		x.ticks = []float64{at[0], at[(len(at)-1)/2], at[len(at)-1]}
	}
	return x
}

func (s LadderSpec) y(most int) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range s.Series {
		for _, q := range c.Points {
			a, b := q.Y.ends()
			lo, hi = min(lo, a), max(hi, b)
		}
	}
	if lo > 0 && hi > ladderLog*lo {
		return logarithmic(lo, hi, most)
	}
	return linear(hi, most)
}

// ratio always has a tick at 1.
func (s LadderSpec) ratio() scale {
	lo, hi := .9, 1.1
	for i, c := range s.Series {
		for _, q := range c.Points {
			if q.Ratio != nil && i != s.Reference {
				a, b := q.Ratio.ends()
				lo, hi = min(lo, a), max(hi, b)
			}
		}
	}
	r := between(lo, hi, 6)
	for i, v := range r.ticks {
		if math.Abs(v-1) < 1e-9 {
			r.ticks[i] = 1
			return r
		}
	}
	r.ticks = []float64{1, r.max}
	if r.min > 0 {
		r.ticks = []float64{r.min, 1, r.max}
	}
	return r
}

// end is a label at the end of a line.
type end struct {
	text string
	y    float64 // in data units
}

// ends are the names of up to four series with their last figures, best first.
func (s LadderSpec) ends() []end {
	var out []end
	for _, c := range s.Series {
		if n := len(c.Points); n > 0 && c.Name != "" && len(out) < 4 {
			v := c.Points[n-1].Y.At
			out = append(out, end{c.Name + " " + three(v), v})
		}
	}
	slices.SortStableFunc(out, func(a, b end) int { return cmp.Compare(b.y, a.y) })
	return out
}

// spread gives the px of labels which lie as near their values as they can while they
// keep apart, from the top down, between top and bottom.
func spread(ends []end, y scale, top, bottom float64) []float64 {
	out := make([]float64, len(ends))
	last := top - apart
	for i, l := range ends {
		out[i] = max(y.at(l.y), last+apart)
		last = out[i]
	}
	for i, limit := len(ends)-1, bottom; i >= 0; i, limit = i-1, out[i]-apart {
		out[i] = min(out[i], limit)
	}
	return out
}

// crossovers draws the bands in the lower panel. Labels stand above them, in two rows;
// one that fits neither is left out, since the title has it.
func (s LadderSpec) crossovers(p *plot, x, ratio scale) {
	taken := []box{{0, ratio.to - 40, width(s.RatioName, bold) + 6, ratio.to - 24}}
	for _, c := range s.Crossovers {
		lo, at, hi := x.at(max(c.Lo, x.min)), x.at(c.At), x.at(min(c.Hi, x.max))
		p.under.el("rect", "class", "band", "x", px(lo), "y", px(ratio.to), "width", px(hi-lo), "height", px(ladderRatio), "fill", Colour(c.Slot), "fill-opacity", ".16")
		p.under.el("line", "class", "crossover", "x1", px(at), "x2", px(at), "y1", px(ratio.to), "y2", px(ratio.from), "stroke", Colour(c.Slot), "stroke-width", "1.6")
		load, prefix := whole, "c = "
		if s.Rate {
			load, prefix = tenth, ""
		}
		label := load(c.At)
		if p.w == Wide {
			label = prefix + label + " (" + load(c.Lo) + "–" + load(c.Hi) + ")"
		}
		half := width(label, bold) / 2
		mid := min(max(at, half), float64(p.w)-half)
		for _, base := range []float64{ratio.to - 6, ratio.to - 6 - apart} {
			b := box{mid - half - 4, base - apart + 3, mid + half + 4, base + 3}
			if !slices.ContainsFunc(taken, b.overlaps) {
				taken = append(taken, b)
				p.over.label(label, "x", px(mid), "y", px(base), "text-anchor", "middle")
				break
			}
		}
	}
}

// whole is a concurrency between two measured ones, tenth a rate.
func whole(c float64) string { return number(c, 0) }
func tenth(c float64) string { return number(c, 1) }
