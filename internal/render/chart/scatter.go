package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// logSpan is the ratio of greatest to least from which on the axes are logarithmic.
const logSpan = 50

// Scatter draws rows of many cells at both widths.
func (e *Engine) Scatter(s ScatterSpec) (narrow, wide string, err error) {
	if narrow, err = s.at(Narrow, 320).draw(e); err != nil {
		return "", "", err
	}
	wide, err = s.at(Wide, 440).draw(e)
	return narrow, wide, err
}

// at lays the chart out at one width.
func (s ScatterSpec) at(w, h int) *plot {
	ticks, labels := 6, 4
	if w == Narrow {
		ticks, labels = 3, 2
	}
	p := newPlot(s.ID, s.Label, w, h)
	x, y := s.scales(ticks)
	y.from, y.to = float64(h)-44, 26
	x.from = margin(y, "")
	x.to = float64(w) - math.Ceil(width(x.tick(x.max), regular)/2) - 2
	p.panels = []panel{{x: x, y: y}}
	p.over.name(logged(s.YName, y, w), 0, 12, "start")
	p.over.name(logged(s.XName, x, w), float64(w), float64(h)-6, "end")

	var steps [][2]float64
	for i, c := range s.Series {
		var line, whiskers [][2]float64
		var at [][2]float64
		var marks []mark
		for _, q := range c.Points {
			v := [2]float64{q.X.At, q.Y.At}
			line = append(line, v)
			m := mark{slot: c.Slot, r: radius, hollow: q.Imported, ring: q.QueueBound, data: []string{"data-row", q.Row, "data-cell", c.Cell, "data-c", q.C}}
			if c.Slot == 0 {
				m.r = radiusRest
			}
			if q.Front {
				m.r = radiusFront
				steps = append(steps, v)
				whiskers = append(whiskers, cross(q, x, y)...)
			}
			at, marks = append(at, v), append(marks, m)
		}
		z := 3 + len(s.Series) - i // the first lies on top
		if c.Slot == 0 {
			z = 2
			p.line(0, z, line, "class", "rest", "stroke", Colour(0), "stroke-width", "1", "data-cell", c.Cell)
		} else {
			p.line(0, z, line, "class", "series", "stroke", Colour(c.Slot), "stroke-width", "2", "stroke-dasharray", Dash(c.Slot), "data-cell", c.Cell)
		}
		if len(whiskers) > 0 {
			p.line(0, len(s.Series)+5, whiskers, "class", "ci", "stroke", Colour(c.Slot), "stroke-width", "1.6", "opacity", ".75")
		}
		p.points(0, z+len(s.Series)+4, at, marks)
	}
	if len(steps) > 0 {
		p.line(0, len(s.Series)+4, staircase(steps, x, y), "class", "front", "stroke", "var(--ink)", "stroke-width", "1.3")
	}
	s.direct(p, x, y, labels)
	return p
}

// logged says in an axis' name that its scale is logarithmic: after what is measured,
// before the direction. Where that leaves no room the arrow alone gives the direction.
func logged(name string, s scale, w int) string {
	if !s.log {
		return name
	}
	for _, joint := range []string{" →", " ·"} {
		what, direction, ok := strings.Cut(name, joint)
		if !ok {
			continue
		}
		if full := what + ", log" + joint + direction; width(full, bold) <= float64(w) {
			return full
		}
		return strings.TrimSuffix(what+", log"+joint, " ·")
	}
	return name + ", log"
}

// scales are linear from 0, or logarithmic where either axis spans more than logSpan
// and nothing is 0 or less, which no logarithm can show.
func (s ScatterSpec) scales(ticks int) (x, y scale) {
	var lo, hi [2]float64
	lo = [2]float64{math.Inf(1), math.Inf(1)}
	for _, c := range s.Series {
		for _, q := range c.Points {
			for k, v := range []Value{q.X, q.Y} {
				a, b := v.At, v.At
				if q.Front {
					a, b = v.ends()
				}
				lo[k], hi[k] = min(lo[k], a), max(hi[k], b)
			}
		}
	}
	if lo[0] > 0 && lo[1] > 0 && (hi[0] > logSpan*lo[0] || hi[1] > logSpan*lo[1]) && !math.IsInf(lo[0], 1) {
		return logarithmic(lo[0], hi[0], ticks), logarithmic(lo[1], hi[1], ticks)
	}
	return linear(hi[0], ticks), linear(hi[1], ticks)
}

// cross is a point's whiskers, kept within the axes.
func cross(q Point, x, y scale) [][2]float64 {
	var out [][2]float64
	if q.X.Interval != nil {
		lo, hi := q.X.ends()
		out = append(out, gap, [2]float64{max(lo, x.min), q.Y.At}, [2]float64{min(hi, x.max), q.Y.At})
	}
	if q.Y.Interval != nil {
		lo, hi := q.Y.ends()
		out = append(out, gap, [2]float64{q.X.At, max(lo, y.min)}, [2]float64{q.X.At, min(hi, y.max)})
	}
	return out
}

// staircase runs through points of the front from the upper axis end to the right one:
// under and left of it lies what some measured row beats. Nothing is joined aslant.
func staircase(points [][2]float64, x, y scale) [][2]float64 {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b [2]float64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(b[1], a[1]))
	})
	out := [][2]float64{{x.min, points[0][1]}}
	for i, q := range points {
		if i > 0 {
			out = append(out, [2]float64{points[i-1][0], q[1]})
		}
		out = append(out, q)
	}
	last := points[len(points)-1]
	return append(out, [2]float64{last[0], y.min})
}

// direct places labels beside their marks where they cover least, in the order of the
// series; a label that cannot keep clear of the others is dropped, since the page's
// key has it.
func (s ScatterSpec) direct(p *plot, x, y scale, most int) {
	room := box{x.from, y.to - 4, float64(p.w), y.from - 1}
	var lines [][2][2]float64
	var marks []box
	var steps [][2]float64
	at := func(q Point) [2]float64 { return [2]float64{x.at(q.X.At), y.at(q.Y.At)} }
	for _, c := range s.Series {
		for i, q := range c.Points {
			v := at(q)
			marks = append(marks, box{v[0] - 5, v[1] - 5, v[0] + 5, v[1] + 5})
			if i > 0 {
				lines = append(lines, [2][2]float64{at(c.Points[i-1]), v})
			}
			if q.Front {
				steps = append(steps, [2]float64{q.X.At, q.Y.At})
			}
		}
	}
	if len(steps) > 0 {
		stairs := staircase(steps, x, y)
		for i := 1; i < len(stairs); i++ {
			a, b := stairs[i-1], stairs[i]
			lines = append(lines, [2][2]float64{{x.at(a[0]), y.at(a[1])}, {x.at(b[0]), y.at(b[1])}})
		}
	}
	var placed []box
	for _, c := range s.Series {
		for _, q := range c.Points {
			label := q.Label
			if p.w == Narrow && q.Short != "" {
				label = q.Short
			}
			if label == "" || len(placed) == most {
				continue
			}
			b, ok := beside(at(q), width(label, bold), room, placed, marks, lines)
			if !ok {
				continue
			}
			placed = append(placed, b)
			p.over.label(label, "x", px(b.x0), "y", px(b.y1-4))
		}
	}
}

// apart is the least distance of two labels' base lines.
const apart = 15

// covered is the cost from which on a label hides more than it says: two marks.
const covered = 8

// beside finds the place for a label of a width next to a mark: inside room, clear of
// the placed labels, over the fewest marks and lines.
func beside(at [2]float64, wide float64, room box, placed, marks []box, lines [][2][2]float64) (box, bool) {
	var best box
	least := math.Inf(1)
	for _, down := range []float64{0, -.6, .6, -1.1, 1.1, -1.7, 1.7} {
		for _, along := range []float64{1, -1, .5, -.5, 0} {
			cx := at[0] + along*(wide/2+9)
			cx = min(max(cx, room.x0+wide/2), room.x1-wide/2)
			cy := at[1] + down*apart
			b := box{cx - wide/2, cy - apart/2., cx + wide/2, cy + apart/2.}
			if !room.holds(b) || slices.ContainsFunc(placed, b.overlaps) {
				continue
			}
			// Far is worse than near, but anything is better than to cover a mark.
			cost := math.Abs(down)/4 + max(b.x0-at[0]-9, at[0]-b.x1-9, 0)/40
			for _, m := range marks {
				if b.overlaps(m) {
					cost += 4
				}
			}
			for _, l := range lines {
				if crosses(b, l[0], l[1]) {
					cost++
				}
			}
			if cost < least {
				best, least = b, cost
			}
		}
	}
	return best, least < covered
}

// crosses tells whether the segment from u to v enters b.
func crosses(b box, u, v [2]float64) bool {
	from, to := 0., 1.
	for k, side := range [2][2]float64{{b.x0, b.x1}, {b.y0, b.y1}} {
		d := v[k] - u[k]
		if d == 0 {
			if u[k] < side[0] || u[k] > side[1] {
				return false
			}
			continue
		}
		a, z := (side[0]-u[k])/d, (side[1]-u[k])/d
		from, to = max(from, min(a, z)), min(to, max(a, z))
	}
	return from < to
}
