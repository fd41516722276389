// Package roofplot draws the roofline of one packed query: what a step computes for
// each byte that it reads, against what a device could compute of it. Both axes are of
// one device, so that rows of other layouts stand on the same roof. gen draws it for the
// worked example and the browser module for every other question, with the same code; so
// it is pure, and imports neither fmt nor the replacer of strings, whose size a reader
// would pay.
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
	left, right, top, bottom = 54, 16, 32, 38 // left holds 10,000
	decadePx                 = 130            // at most, so that the wide drawing stays low
	spareDecades             = 1              // at most, to the right of what is drawn
	tickPx                   = 7.7            // of one digit of 12 px, at most
	labelPx                  = 7.5            // of one character of 12 px, bold, at most
	linePx                   = 15             // between two lines of labels, at least
	apartPx                  = 11             // and, beyond the edge of one, to the next beside it
	mostDecades              = 60             // of both axes together; no device has them
)

// batches stand as marks on the roof, those that fit: what a larger batch would gain.
var batches = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

// Row is a measured row on the plot, of the same model and device as the query.
type Row struct {
	Place
	Kind float64 // one of the Row constants
}

// What a row has in common with the query.
const (
	RowOther = 0 // another layout or other types
	RowAlike = 1 // its layout and types
	RowAbove = 2 // above its own hard roof
)

// RowSlots is how many slots a packed row takes: intensity, rate, kind.
const RowSlots = 3

// Rows reads rows that are packed one after the other.
func Rows(packed []float64) []Row {
	rows := make([]Row, len(packed)/RowSlots)
	for i := range rows {
		r := packed[i*RowSlots:]
		rows[i] = Row{Place{r[0], r[1]}, r[2]}
	}
	return rows
}

// Place is where a step stands: FLOP per byte read, and FLOP/s of one device.
type Place struct{ Intensity, Rate float64 }

func (p Place) ok() bool { return p.Intensity > 0 && p.Rate > 0 } // false for NaN too

// Devices is how many devices a query asks of.
func Devices(in []float64) float64 {
	return in[roofline.SlotTP] * in[roofline.SlotPP] * in[roofline.SlotDP]
}

// Decode is where the query's step stands at its hard ceiling, or at another time, in ms.
func Decode(in, out []float64, ms float64) Place {
	flops := stepFLOPs(out)
	return Place{flops / out[roofline.OutReadBytesPerStep], flops / (ms / 1e3) / Devices(in)}
}

func stepFLOPs(out []float64) float64 {
	return out[roofline.OutMatrixFLOPs] + out[roofline.OutExpertFLOPs] + out[roofline.OutHeadFLOPs] +
		out[roofline.OutAttentionFLOPs] + out[roofline.OutStateFLOPs]
}

// expected is where the step stands with as many distinct experts as routing by chance
// reads.
func expected(in, out []float64) Place {
	p := Decode(in, out, out[roofline.OutDecodeStepExpectedMS])
	read := out[roofline.OutReadBytesPerStep]
	p.Intensity *= read / (read - out[roofline.OutExpertBytesRead] + out[roofline.OutExpertBytesExpected])
	return p
}

// prefill is where the query's prompt stands. What it reads follows from its time where
// nothing but memory bounds it.
func prefill(in, out []float64) Place {
	free := append([]float64(nil), in...)
	for _, s := range []int{roofline.SlotPeakLayers, roofline.SlotPeakPlain, roofline.SlotPeakAttention, roofline.SlotPeakIndex, roofline.SlotLink} {
		free[s] = math.Inf(1)
	}
	if free[roofline.SlotLinkPeer] > 0 {
		free[roofline.SlotLinkPeer] = math.Inf(1)
	}
	ms := roofline.CeilingPacked(free)[roofline.OutPrefillHardMS]
	bytes := ms / 1e3 * in[roofline.SlotBandwidth] * Devices(in) / in[roofline.SlotPP]
	flops := out[roofline.OutPrefillFLOPs]
	return Place{flops / bytes, flops / (out[roofline.OutPrefillHardMS] / 1e3) / Devices(in)}
}

// Draw is the plot as one SVG element of the given width, with the class narrow or
// wide; "" where the query has no ceiling. label is its accessible name and compute the
// type that the arithmetic roof stands for, "" to leave it unnamed; both are markup
// already, so that what escapes text is no weight of the module. A row's mark bears
// its place in rows as data-row.
func Draw(query []float64, width int, label, compute string, rows []Row) string {
	if !roofline.Packed(query) {
		return ""
	}
	out := roofline.CeilingPacked(query)
	here := Decode(query, out, out[roofline.OutDecodeStepHardMS])
	if !here.ok() {
		return ""
	}
	bandwidth, peak := query[roofline.SlotBandwidth], query[roofline.SlotPeakLayers]
	span := extent{here, here}
	in := append([]float64(nil), query...)
	marks := make([]Place, 0, len(batches))
	for _, b := range batches {
		in[roofline.SlotBatch] = b
		o := roofline.CeilingPacked(in)
		if p := Decode(in, o, o[roofline.OutDecodeStepHardMS]); p.ok() && o[roofline.OutFits] != 0 {
			marks = append(marks, p)
			span.take(p)
		}
	}
	later, prompt := expected(query, out), prefill(query, out)
	for _, p := range []Place{later, prompt} {
		span.take(p)
	}
	for _, r := range rows {
		span.take(r.Place)
	}
	ridge := Place{peak / bandwidth, peak}
	span.take(ridge)
	if decades := math.Log10(span.high.Intensity/span.low.Intensity) + math.Log10(span.high.Rate/span.low.Rate); !(decades < mostDecades) {
		return ""
	}
	f := newFrame(width, span.low.Intensity*0.8, span.high.Intensity*2, span.low.Rate*0.8, span.high.Rate*1.6)
	d := &drawing{frame: f, room: width / 100}
	d.open(width, label)
	d.axes()
	d.roofs(query, ridge)
	for _, m := range marks {
		d.put(`<circle cx="%" cy="%" r="3.2" fill="var(--rest)"`+edged, f.x(m.Intensity), f.y(m.Rate))
		d.keepClear(m)
	}
	d.write("<g>")
	for i, r := range rows {
		d.row(i, r)
		d.keepClear(r.Place)
	}
	d.write("</g>")
	apart := later.ok() && out[roofline.OutDecodeStepExpectedMS] > out[roofline.OutDecodeStepHardMS]*1.005
	x, y := f.x(here.Intensity), f.y(here.Rate)
	if apart {
		lx, ly := f.x(later.Intensity), f.y(later.Rate)
		d.put(`<path d="M% %L% %" fill="none" stroke="var(--c1)" stroke-dasharray="3 2"/>`, x, y, lx, ly)
		d.keep((x+lx)/2, (y+ly)/2, (x-lx)/2+2, (ly-y)/2)
		d.put(`<circle class="expected" cx="%" cy="%" r="4.5" fill="var(--bg)" stroke="var(--c1)" stroke-width="1.6"/>`, lx, ly)
	}
	if prompt.ok() {
		px, py := f.x(prompt.Intensity), f.y(prompt.Rate)
		d.put(`<path class="prefill" d="M% %L% %H%Z" fill="var(--c3)"`+edged, px, py-6, px+5.5, py+4.5, px-5.5)
	}
	d.put(`<circle class="asked" cx="%" cy="%" r="5.5" fill="var(--c1)"`+edged, x, y)

	d.keepClear(here)
	d.keepClear(later)
	d.keepClear(prompt)
	d.roofNames(query, ridge, compute)
	d.name("batch "+roofline.Number(query[roofline.SlotBatch]), here, -1)
	d.name("prefill", prompt, 1)
	if apart {
		d.name("expected", later, -1)
	}
	d.write("</svg>")
	return string(d.text)
}

// extent is the least and the greatest of all places in the plot.
type extent struct{ low, high Place }

func (e *extent) take(p Place) {
	if !p.ok() || math.IsInf(p.Intensity, 0) || math.IsInf(p.Rate, 0) {
		return
	}
	e.low = Place{min(e.low.Intensity, p.Intensity), min(e.low.Rate, p.Rate)}
	e.high = Place{max(e.high.Intensity, p.Intensity), max(e.high.Rate, p.Rate)}
}

// frame maps both axes to px; a decade is equally long on both, so that the memory roof
// rises at 45°.
type frame struct {
	x0, x1, y0, y1 float64
	decade         float64 // px
	height, end    float64 // end is the right end of the axis, in px
}

func newFrame(width int, x0, x1, y0, y1 float64) frame {
	decades := math.Log10(x1 / x0)
	f := frame{x0: x0, x1: x1, y0: y0, y1: y1, decade: min((float64(width)-left-right)/decades, decadePx)}
	if room := (float64(width) - left - right) / f.decade; room > decades { // fill the width
		f.x1 = x0 * math.Exp(min(room, decades+spareDecades)*math.Ln10)
	}
	f.height = top + bottom + math.Log10(y1/y0)*f.decade
	f.end = f.x(f.x1)
	return f
}

//go:noinline
func (f *frame) x(v float64) float64 { return left + math.Log10(v/f.x0)*f.decade }

//go:noinline
func (f *frame) y(v float64) float64 { return f.height - bottom - math.Log10(v/f.y0)*f.decade }

// What is called for each coordinate or piece of text is kept from being copied to each
// place: in the module that is a seventh of the drawing's size.

// drawing builds the element's text, and knows where labels stand.
type drawing struct {
	frame
	text  []byte
	taken []box
	room  int // for so many labels more

	level, slope float64 // of the hard roof: y of its flat part, and x + y along its slope
	plain        float64 // the lower peak, where it is drawn
}

// box is what a label, a mark or a piece of a line covers, in px.
type box struct{ x0, y0, x1, y1 float64 }

//go:noinline
func (d *drawing) write(s string) { d.text = append(d.text, s...) }

// put writes markup with each % replaced by the next coordinate.
func (d *drawing) put(markup string, at ...float64) {
	for i := 0; i < len(markup); i++ {
		if markup[i] == '%' && len(at) > 0 {
			d.text = strconv.AppendFloat(d.text, math.Round(at[0]*10)/10, 'f', -1, 64)
			at = at[1:]
			continue
		}
		d.text = append(d.text, markup[i])
	}
}

// edged ends a mark's markup.
const edged = ` stroke="var(--bg)" stroke-width="1.2"/>`

func (d *drawing) open(width int, label string) {
	class := "narrow"
	if width > Narrow {
		class = "wide"
	}
	w := float64(width)
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" class="`+class+`" width="%" height="%" viewBox="0 0 % %" role="img" aria-label="`, w, d.height, w, d.height)
	d.write(label)
	d.write(`">`)
}

// decades are the first and the last whole power of ten from a figure to another. One that
// an end falls on is in it, though natively and in a browser logarithms may differ in their
// last digit.
func decades(from, to float64) (first, last float64) {
	const slack = 1e-9
	return math.Ceil(math.Log10(from) - slack), math.Floor(math.Log10(to) + slack)
}

// axes draws grid lines and numbers at whole decades, and the axes' names at their ends.
func (d *drawing) axes() {
	floor, end := d.height-bottom, d.end
	for e, last := decades(d.y0, d.y1); e <= last; e++ {
		y := d.y(pow10(e))
		d.put(`<path d="M% %H%" stroke="var(--grid)"/>`, left, y, end)
		d.put(`<text x="%" y="%" dy="4" text-anchor="end" font-size="12">`, left-6, y)
		d.write(roofline.Number(pow10(e)/1e12) + "</text>")
	}
	taken := math.Inf(-1) // by the last number
	for e, last := decades(d.x0, d.x1); e <= last; e++ {
		number := roofline.Number(pow10(e))
		half := tickPx * float64(len(number)) / 2
		x := min(d.x(pow10(e)), end+right-half)
		if x-half < taken {
			continue
		}
		taken = x + half + 8
		d.put(`<text x="%" y="%" text-anchor="middle" font-size="12">`, x, floor+16)
		d.write(number + "</text>")
	}
	d.put(`<path d="M% %H%" stroke="var(--edge)"/>`, left, floor, end)
	d.put(`<text x="0" y="12"` + strong + `>↑ TFLOP/s per device, log</text>`)
	d.put(`<text x="%" y="%" text-anchor="end"`+strong+`>FLOP per byte read, log →</text>`, end, d.height-4)
}

// strong text is the axes' names and the direct labels.
const strong = ` fill="var(--ink)" font-weight="600" font-size="12"`

// roofs draws memory's roof up to the ridge and the arithmetic peak beyond it, and the
// lower peak of what computes in 16 bits. Where no peak is published memory's goes on.
func (d *drawing) roofs(query []float64, ridge Place) {
	bandwidth := query[roofline.SlotBandwidth]
	start := Place{d.x0, bandwidth * d.x0}
	if start.Rate < d.y0 { // the slope enters through the floor
		start = Place{d.y0 / bandwidth, d.y0}
	}
	top := ridge
	if !ridge.ok() {
		last := min(d.x1, d.y1/bandwidth)
		top = Place{last, bandwidth * last}
	}
	d.put(`<path class="hard" fill="none" stroke="var(--ink)" stroke-width="2.5" d="M% %L% %`, d.x(start.Intensity), d.y(start.Rate), d.x(top.Intensity), d.y(top.Rate))
	d.level = d.y(top.Rate)
	d.slope = d.x(top.Intensity) + d.level
	if ridge.ok() {
		d.put("H%", d.end)
	}
	d.write(`"/>`)
	if plain := query[roofline.SlotPeakPlain]; d.lower(plain, ridge) {
		d.plain = plain
		d.put(`<path d="M% %H%" fill="none" stroke="var(--edge)" stroke-width="1.3"/>`, d.x(plain/bandwidth), d.y(plain), d.end)
		d.keep(d.end, d.y(plain), d.end-d.x(plain/bandwidth), 2)
	}
}

// lower says whether a second peak stands far enough below the first to be named apart.
func (d *drawing) lower(plain float64, ridge Place) bool {
	name := lettersPx("1,000 TFLOP/s in 16 bits") + 16
	return ridge.ok() && plain < ridge.Rate && d.y(plain)-d.y(ridge.Rate) >= 2*linePx && d.end-d.x(ridge.Intensity) > name
}

// row draws a measured row as a square.
func (d *drawing) row(i int, r Row) {
	if !r.ok() {
		return
	}
	half, fill := 3.0, `var(--rest)"`
	switch r.Kind {
	case RowAlike:
		half, fill = 4, `var(--c2)"`
	case RowAbove:
		half, fill = 4, `var(--bad)"`
	}
	d.put(`<path data-row="%" data-cell="%" transform="translate(% %)" d="M% %h%v%h%Z" fill="`+fill+edged,
		float64(i), r.Kind, d.x(r.Intensity), d.y(r.Rate), -half, -half, 2*half, 2*half, -2*half)
}

// roofNames name the ridge and the roofs, each where it is clear of all else: the
// arithmetic roof's above its right end, the ridge's and the memory roof's left of the
// slope.
func (d *drawing) roofNames(query []float64, ridge Place, compute string) {
	bandwidth := query[roofline.SlotBandwidth]
	last := min(d.x1, d.y1/bandwidth)
	if ridge.ok() {
		last = ridge.Intensity
		kx, ky := d.x(ridge.Intensity), d.y(ridge.Rate)
		peak := figure(math.Round(ridge.Rate/1e12), " TFLOP/s")
		d.taken = append(d.taken, box{d.end - lettersPx(peak) - 5*labelPx - apartPx, ky - 23, d.end, ky - 9}) // with room for a type
		d.room--
		d.put(`<text class="peak" x="%" y="%" text-anchor="end"`+strong+`>`, d.end, ky-11)
		if compute != "" {
			d.write(compute)
			d.write(" ")
		}
		d.write(peak + "</text>")
		knee := figure(math.Round(ridge.Intensity), " FLOP/B")
		if !d.label(knee, -1, kx-12, ky-11) {
			d.label(knee, -1, kx-24, ky+6)
		}
		if d.plain > 0 {
			name := figure(math.Round(d.plain/1e12), " TFLOP/s in 16 bits")
			if y := d.y(d.plain); !d.label(name, -1, d.end, y-5) {
				d.label(name, -1, d.end, y+15)
			}
		}
	}
	mid := math.Sqrt(max(d.x0, d.y0/bandwidth) * last)
	d.label(figure(bandwidth/1e9, " GB/s"), -1, d.x(mid)-12, d.y(mid*bandwidth)-8)
}

// figure is a number with its unit.
//
//go:noinline
func figure(v float64, unit string) string { return roofline.Number(v) + unit }

func lettersPx(s string) float64 { return labelPx * float64(len(s)) }

// keepClear lets no name lie over a mark.
//
//go:noinline
func (d *drawing) keepClear(p Place) { d.keep(d.x(p.Intensity), d.y(p.Rate), 6, 6) }

//go:noinline
func (d *drawing) keep(x, y, w, h float64) {
	d.taken = append(d.taken, box{x - w, y - h, x + w, y + h})
}

// roof is y of the hard roof at x.
func (d *drawing) roof(x float64) float64 { return max(d.level, d.slope-x) }

// name writes a mark's name beside it, where nothing else stands; a name without such a
// place is left out, since the key and the table below have it too. Side is where it
// stands best: −1 left and above, where the slope leaves room, or 1 right and below.
func (d *drawing) name(s string, p Place, side float64) {
	for range 2 {
		for _, down := range [3]float64{6, 12, -1} {
			if d.label(s, side, d.x(p.Intensity)+10*side, d.y(p.Rate)+5+side*down) {
				return
			}
		}
		side = -side
	}
}

// label writes a direct label in ink with a halo that begins at x, or with side −1 ends
// there, unless something else stands there or enough is labelled.
func (d *drawing) label(s string, side, x, y float64) bool {
	w := lettersPx(s)
	if side < 0 {
		x -= w
	}
	b := box{x - 4, y - 12, x + w + 4, y + 3}
	if d.room == 0 || !(x >= left && x+w <= d.end && y <= d.height-bottom-4) || // NaN, too, has no place
		d.roof(b.x1)-2 < b.y1 && b.y0 < d.roof(b.x0)+2 { // the roof falls to the left
		return false
	}
	for _, t := range d.taken {
		if b.x0 < t.x1 && t.x0 < b.x1 && b.y0 < t.y1 && t.y0 < b.y1 {
			return false
		}
	}
	d.room--
	b.x0 -= apartPx
	b.x1 += apartPx
	d.taken = append(d.taken, b)
	d.put(`<text x="%" y="%" paint-order="stroke" stroke="var(--bg)" stroke-width="4" stroke-linejoin="round"`+strong+`>`, x, y)
	d.write(s + "</text>")
	return true
}

// pow10 is a whole power of ten; math.Pow would cost the module more than the loop.
//
//go:noinline
func pow10(e float64) float64 {
	v := 1.0
	for ; e > 0; e-- {
		v *= 10
	}
	for ; e < 0; e++ {
		v /= 10
	}
	return v
}
