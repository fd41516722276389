// Package roofplot draws the roofline of one packed query: what a step computes for
// each byte that it reads, against what the devices could compute of it. gen draws it
// for the worked example and the browser module for every other question, with the same
// code; so it is pure, and imports neither fmt nor the replacer of strings, whose size
// a reader would pay.
package roofplot

import (
	"math"
	"strconv"

	"rowproof/internal/roofline"
)

// Widths of the two drawings, in px; neither is ever scaled.
const (
	Narrow = 296
	Wide   = 720
)

const (
	left, right, top, bottom = 54, 16, 26, 38 // left holds 10,000
	decadePx                 = 130            // at most, so that the wide drawing stays low
	spareDecades             = 1              // at most, to the right of what is drawn
	tickPx                   = 7.7            // of one digit of 12 px, at most
	labelPx                  = 7.5            // of one character of 12 px, bold, at most
)

// batches stand as marks on the roof: what a larger batch would gain.
var batches = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

// place is one step on the plot: FLOP per byte, and FLOP/s at its ceiling.
type place struct{ intensity, rate float64 }

// at is where a step of so many sequences stands; ok is false where its ceiling is not
// known.
func at(query []float64, batch float64) (p place, ok bool) {
	in := append([]float64(nil), query...)
	in[roofline.SlotBatch] = batch
	out := roofline.CeilingPacked(in)
	flops := out[roofline.OutMatrixFLOPs] + out[roofline.OutExpertFLOPs] + out[roofline.OutHeadFLOPs] +
		out[roofline.OutAttentionFLOPs] + out[roofline.OutStateFLOPs]
	p = place{flops / out[roofline.OutReadBytesPerStep], flops / (out[roofline.OutDecodeStepHardMS] / 1e3)}
	return p, drawable(p.intensity) && drawable(p.rate)
}

// drawable says whether a figure has a place on a logarithmic axis of some decades.
func drawable(v float64) bool { return v > 1e-30 && v < 1e30 } // false for NaN too

// Draw is the plot as one SVG element of the given width, with the class narrow or
// wide; "" where the query has no ceiling. label is its accessible name,
// compute the type that the arithmetic roof stands for, "" to leave it unnamed.
func Draw(query []float64, width int, label, compute string) string {
	if !roofline.Packed(query) {
		return ""
	}
	here, ok := at(query, query[roofline.SlotBatch])
	if !ok {
		return ""
	}
	devices := query[roofline.SlotTP] * query[roofline.SlotPP] * query[roofline.SlotDP]
	bandwidth := query[roofline.SlotBandwidth] * devices
	peak := query[roofline.SlotPeakLayers] * devices
	ridge := peak / bandwidth
	if !drawable(peak) || !drawable(bandwidth) || !drawable(ridge) {
		return ""
	}
	marks := make([]place, 0, len(batches))
	lowest, leftmost, rightmost := here.rate, here.intensity, max(here.intensity, ridge)
	for _, b := range batches {
		if p, ok := at(query, b); ok {
			marks = append(marks, p)
			lowest, leftmost, rightmost = min(lowest, p.rate), min(leftmost, p.intensity), max(rightmost, p.intensity)
		}
	}
	f := newFrame(width, leftmost*0.8, rightmost*2, lowest*0.8, peak*1.6)
	d := new(drawing)
	d.open(f, width, label)
	d.axes(f)

	ends := []place{{f.x0, bandwidth * f.x0}, {ridge, peak}, {f.x1, peak}}
	if ends[0].rate < f.y0 { // the slope enters through the floor
		ends[0] = place{f.y0 / bandwidth, f.y0}
	}
	path := ""
	for i, e := range ends {
		step := "L"
		if i == 0 {
			step = "M"
		}
		path += step + px(f.x(e.intensity)) + " " + px(f.y(e.rate))
	}
	d.el("path", "d", path, "fill", "none", "stroke", "var(--ink)", "stroke-width", "2.5")
	for _, m := range marks {
		d.el("circle", "cx", px(f.x(m.intensity)), "cy", px(f.y(m.rate)), "r", "3.2", "fill", "var(--rest)", "stroke", "var(--bg)", "stroke-width", "1.2")
	}
	d.el("circle", "cx", px(f.x(here.intensity)), "cy", px(f.y(here.rate)), "r", "5.5", "fill", "var(--c1)", "stroke", "var(--bg)", "stroke-width", "1.2")
	d.labels(f, here, query[roofline.SlotBatch], place{ridge, peak}, bandwidth, compute)
	d.write("</svg>")
	return string(*d)
}

// frame maps both axes to px; a decade is equally long on both, so that the memory roof
// rises at 45°.
type frame struct {
	x0, x1, y0, y1 float64
	decade         float64 // px
	height         float64
}

func newFrame(width int, x0, x1, y0, y1 float64) frame {
	decades := math.Log10(x1 / x0)
	f := frame{x0: x0, x1: x1, y0: y0, y1: y1, decade: min((float64(width)-left-right)/decades, decadePx)}
	if room := (float64(width) - left - right) / f.decade; room > decades { // fill the width
		f.x1 = x0 * math.Pow(10, min(room, decades+spareDecades))
	}
	f.height = top + bottom + math.Log10(y1/y0)*f.decade
	return f
}

func (f frame) x(v float64) float64 { return left + math.Log10(v/f.x0)*f.decade }
func (f frame) y(v float64) float64 { return f.height - bottom - math.Log10(v/f.y0)*f.decade }

// decades are the first and the last whole power of ten from a figure to another. One that
// an end falls on is in it, though natively and in a browser logarithms may differ in their
// last digit.
func decades(from, to float64) (first, last float64) {
	const slack = 1e-9
	return math.Ceil(math.Log10(from) - slack), math.Floor(math.Log10(to) + slack)
}

// drawing builds the element's text.
type drawing []byte

func (d *drawing) write(s string) { *d = append(*d, s...) }

func (d *drawing) open(f frame, width int, label string) {
	class := "narrow"
	if width > Narrow {
		class = "wide"
	}
	w, h := strconv.Itoa(width), px(f.height)
	d.tag("svg", "xmlns", "http://www.w3.org/2000/svg", "class", class, "width", w, "height", h,
		"viewBox", "0 0 "+w+" "+h, "role", "img", "aria-label", label)
	d.write(">")
}

// axes draws grid lines and numbers at whole decades, and the axes' names at their ends.
func (d *drawing) axes(f frame) {
	floor, end := f.height-bottom, left+math.Log10(f.x1/f.x0)*f.decade
	for e, last := decades(f.y0, f.y1); e <= last; e++ {
		y := px(f.y(math.Pow(10, e)))
		d.el("path", "d", "M"+px(left)+" "+y+"H"+px(end), "stroke", "var(--grid)")
		d.text(roofline.Number(math.Pow(10, e)/1e12), "x", px(left-6), "y", y, "dy", "4", "text-anchor", "end")
	}
	taken := math.Inf(-1) // by the last number
	for e, last := decades(f.x0, f.x1); e <= last; e++ {
		number := roofline.Number(math.Pow(10, e))
		half := tickPx * float64(len(number)) / 2
		x := min(f.x(math.Pow(10, e)), end+right-half)
		if x-half < taken {
			continue
		}
		taken = x + half + 8
		d.text(number, "x", px(x), "y", px(floor+16), "text-anchor", "middle")
	}
	d.el("path", "d", "M"+px(left)+" "+px(floor)+"H"+px(end), "stroke", "var(--edge)")
	d.text("↑ TFLOP/s, log", "x", "0", "y", "12", "fill", "var(--ink)", "font-weight", "600")
	d.text("FLOP per byte read, log →", "x", px(end), "y", px(f.height-4), "text-anchor", "end", "fill", "var(--ink)", "font-weight", "600")
}

// labels name the step asked for, the ridge and both roofs, each where it is clear of
// the others: the arithmetic roof's above its right end, the ridge's and the memory
// roof's left of the slope, the step's right of it.
func (d *drawing) labels(f frame, here place, batch float64, ridge place, bandwidth float64, compute string) {
	x, y := f.x(here.intensity), f.y(here.rate)
	name := "batch " + roofline.Number(batch)
	d.label(name, x+10, y+18, f)
	knee := roofline.Number(math.Round(ridge.intensity)) + " FLOP/B"
	kx, ky := f.x(ridge.intensity), f.y(ridge.rate)
	if kneeX := kx - labelPx*float64(len(knee)) - 10; kneeX >= left { // above the slope nothing else stands
		d.label(knee, kneeX, ky+6, f)
	}
	if compute != "" {
		compute += " "
	}
	d.text(compute+roofline.Number(math.Round(ridge.rate/1e12))+" TFLOP/s", "class", "peak", "x", px(left+math.Log10(f.x1/f.x0)*f.decade), "y", px(ky-8),
		"text-anchor", "end", "fill", "var(--ink)", "font-weight", "600")
	if slope := roofline.Number(bandwidth/1e9) + " GB/s"; kx-left > labelPx*float64(len(slope))+60 {
		mid := math.Sqrt(max(f.x0, f.y0/bandwidth) * ridge.intensity)
		lx, ly := f.x(mid)-labelPx*float64(len(slope))-8, f.y(mid*bandwidth)-6
		if lx >= left {
			d.label(slope, lx, ly, f)
		}
	}
}

// label writes a direct label in ink with a halo, kept inside the plot.
func (d *drawing) label(s string, x, y float64, f frame) {
	x = max(left, min(x, left+math.Log10(f.x1/f.x0)*f.decade-labelPx*float64(len(s))))
	d.text(s, "x", px(x), "y", px(min(y, f.height-bottom-4)), "fill", "var(--ink)", "font-weight", "600",
		"paint-order", "stroke", "stroke", "var(--bg)", "stroke-width", "4", "stroke-linejoin", "round")
}

func (d *drawing) text(body string, attrs ...string) {
	d.tag("text", append(attrs, "font-size", "12")...)
	d.write(">" + escape(body) + "</text>")
}

func (d *drawing) el(name string, attrs ...string) {
	d.tag(name, attrs...)
	d.write("/>")
}

// tag opens an element; attrs are name, value pairs.
func (d *drawing) tag(name string, attrs ...string) {
	d.write("<" + name)
	for i := 0; i < len(attrs); i += 2 {
		d.write(" " + attrs[i] + `="` + escape(attrs[i+1]) + `"`)
	}
}

// escape makes text safe in an element's content and in a quoted attribute.
func escape(s string) string {
	safe := ""
	for _, r := range s {
		switch r {
		case '&':
			safe += "&amp;"
		case '<':
			safe += "&lt;"
		case '>':
			safe += "&gt;"
		case '"':
			safe += "&quot;"
		default:
			safe += string(r)
		}
	}
	return safe
}

// px writes a coordinate with at most one decimal.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
