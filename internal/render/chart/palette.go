package chart

import (
	"math"
	"strconv"
	"strings"
)

// Slots is how many series can be told apart; more are drawn as context.
const Slots = 8

// Colour is the token of a slot's colour; slot 0 is context.
func Colour(slot int) string {
	if slot < 1 || slot > Slots {
		return "var(--rest)"
	}
	return "var(--c" + strconv.Itoa(slot) + ")"
}

// dashes go with the colours: each series differs in both, and in its shape.
var dashes = [Slots + 1][]float64{
	nil, nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 2}, {12, 3}, {6, 2, 1, 2, 1, 2}, {1, 3},
}

// Dash is a slot's stroke-dasharray; "" is solid.
func Dash(slot int) string {
	if slot < 0 || slot > Slots {
		slot = 0
	}
	var out []string
	for _, d := range dashes[slot] {
		out = append(out, px(d))
	}
	return strings.Join(out, " ")
}

// Radii of marks, in px.
const (
	radius      = 3.2
	radiusFront = 4.2
	radiusRest  = 2
)

// arm is half the thickness of a plus, in radii.
const arm = .42

// polygons are the slots' shapes in radii, y downwards, centred on their boxes. Slots
// 0 and 1 are circles and have none.
var polygons = [Slots + 1][][2]float64{
	2: {{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}},
	3: {{0, -1.05}, {1.15, .95}, {-1.15, .95}},
	4: {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}},
	5: {{0, 1.05}, {-1.15, -.95}, {1.15, -.95}},
	6: plus(0),
	7: plus(math.Pi / 4),
	8: star(),
}

func plus(turn float64) [][2]float64 {
	const l = 1.3
	sin, cos := math.Sincos(turn)
	var out [][2]float64
	for _, p := range [][2]float64{
		{-arm, -l}, {arm, -l}, {arm, -arm}, {l, -arm}, {l, arm}, {arm, arm},
		{arm, l}, {-arm, l}, {-arm, arm}, {-l, arm}, {-l, -arm}, {-arm, -arm},
	} {
		out = append(out, [2]float64{p[0]*cos - p[1]*sin, p[0]*sin + p[1]*cos})
	}
	return out
}

func star() [][2]float64 {
	var out [][2]float64
	for i := range 10 {
		r := 1.45
		if i%2 == 1 {
			r = .62
		}
		sin, cos := math.Sincos(float64(i) * math.Pi / 5)
		out = append(out, [2]float64{r * sin, -r * cos})
	}
	return out
}

// Shape is the path of a slot's mark around 0,0 with radius r px. A hollow one has a
// hole, to be filled by the rule evenodd.
func Shape(slot int, r float64, hollow bool) string {
	if slot < 0 || slot > Slots {
		slot = 0
	}
	d := outline(slot, r)
	if hollow {
		d += outline(slot, r*.55)
	}
	return d
}

func outline(slot int, r float64) string {
	points := polygons[slot]
	if points == nil {
		return "M" + px2(-r) + " 0a" + px2(r) + " " + px2(r) + " 0 1 0 " + px2(2*r) + " 0a" + px2(r) + " " + px2(r) + " 0 1 0 " + px2(-2*r) + " 0z"
	}
	var b strings.Builder
	for i, p := range points {
		if i == 0 {
			b.WriteString("M")
		} else {
			b.WriteString("L")
		}
		b.WriteString(px2(p[0]*r) + " " + px2(p[1]*r))
	}
	return b.String() + "z"
}

// px2 writes a length with at most two decimals.
func px2(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Swatch is a slot's key: a line with its dash and its mark, 24 px wide, for legends
// and table rows. It is decoration: the name beside it is the content.
func Swatch(slot int) string {
	var s svg
	s.open("svg", "class", "swatch", "width", "24", "height", "12", "viewBox", "0 0 24 12", "aria-hidden", "true")
	s.el("path", "d", "M0 6H24", "stroke", Colour(slot), "stroke-width", "2", "stroke-dasharray", Dash(slot), "fill", "none")
	s.el("path", "class", "mark", "d", Shape(slot, radius, false), "transform", "translate(12 6)", "fill", Colour(slot), "stroke", "var(--bg)", "stroke-width", "1.2")
	s.close("svg")
	return s.String()
}
