package chart

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
)

// Sizes of text and of the halo around a label, in px.
const (
	textPx = 12
	halo   = 4
)

// svg builds an element's text.
type svg struct{ strings.Builder }

// el writes a whole empty element; attrs are name, value pairs, and a pair with an
// empty value is left out.
func (s *svg) el(name string, attrs ...string) {
	s.open(name, attrs...)
	s.close(name)
}

// text writes a text element.
func (s *svg) text(body string, attrs ...string) {
	s.open("text", append(attrs, "font-size", "12")...)
	s.WriteString(escape(body))
	s.close("text")
}

// label writes a direct label: ink with a halo of the ground, so that it reads over
// lines.
func (s *svg) label(body string, attrs ...string) {
	s.text(body, append(attrs, "class", "label", "fill", "var(--ink)", "font-weight", "600",
		"stroke", "var(--bg)", "stroke-width", px(halo), "stroke-linejoin", "round", "paint-order", "stroke")...)
}

// name writes an axis name, upright, at the axis' end.
func (s *svg) name(body string, x, y float64, anchor string) {
	s.text(body, "class", "name", "x", px(x), "y", px(y), "text-anchor", anchor, "fill", "var(--ink)", "font-weight", "600")
}

func (s *svg) open(name string, attrs ...string) {
	s.WriteString("<" + name)
	for i := 0; i < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			s.WriteString(" " + attrs[i] + `="` + escape(attrs[i+1]) + `"`)
		}
	}
	s.WriteString(">")
}

func (s *svg) close(name string) { s.WriteString("</" + name + ">") }

// escape makes text safe in an element's content and in a quoted attribute.
func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a Builder takes everything
	}
	return b.String()
}

// px writes a coordinate with at most one decimal.
func px(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // never -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// pct writes a share of the width, 0 to 1, as a percentage.
func pct(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e5)/1e3, 'f', -1, 64) + "%"
}

// number writes a figure with the given decimals and commas from 1,000.
func number(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if v < 0 && strings.Trim(s, "0.") != "" {
		whole = "−" + whole
	}
	return whole
}

// decimals that tell two neighbours apart which lie step from each other.
func decimals(step float64) int {
	d := 0
	for ; d < 6 && math.Abs(step-math.Round(step)) > 1e-9*math.Abs(step); d++ {
		step *= 10
	}
	return d
}

// three gives a single figure: three significant digits, all whole digits.
func three(v float64) string {
	d := 0
	if v != 0 {
		d = min(max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0), 2)
	}
	return number(v, d)
}

// box is a rectangle in px.
type box struct{ x0, y0, x1, y1 float64 }

func (b box) overlaps(o box) bool {
	return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1
}
func (b box) holds(o box) bool {
	return b.x0 <= o.x0 && b.y0 <= o.y0 && o.x1 <= b.x1 && o.y1 <= b.y1
}
