package chart

import (
	"math"
	"slices"
	"strconv"
)

// leastForP99 is the fewest gaps that a p99 may be told of.
const leastForP99 = 100

// Histogram draws the gaps between tokens, at both widths: equal bins of 1, 2 or 5 × 10ⁿ
// up to about their p99.5, then a break and one bin of all that lie over, so that one
// long gap neither hides nor flattens the rest. Where p99 lies far out, as when some
// tokens wait for another prompt's prefill, the bins end at about p95. Counts begin at
// zero.
func Histogram(h HistogramSpec) string {
	b := binned(h.Gaps)
	return h.draw(b, Narrow, 200, 3) + h.draw(b, Wide, 260, 6)
}

// bins are counts of gaps: bin i holds those from start + i·width up to the next, in µs.
type bins struct {
	start, width int64
	counts       []int
	over         int
	total        int
}

func (b bins) end() int64 { return b.start + int64(len(b.counts))*b.width }

const leastBins, mostBins = 20, 40

// farOut is how many times the median p99 may be before it is left to the bin beyond the
// break: the bins of the rest would be too wide to show their shape.
const farOut = 5

// OnAxis says whether a value of ms lies within the bins that Histogram draws of gaps.
func OnAxis(gaps []int64, ms float64) bool {
	b := binned(gaps)
	return ms*1000 >= float64(b.start) && ms*1000 <= float64(b.end())
}

// binned sorts gaps into at least leastBins and at most mostBins bins.
func binned(gaps []int64) bins {
	sorted := make([]int64, 0, len(gaps))
	for _, g := range gaps {
		if g >= 0 {
			sorted = append(sorted, g)
		}
	}
	slices.Sort(sorted)
	b := bins{width: 1, total: len(sorted)}
	if b.total == 0 {
		return b
	}
	low, high := sorted[0], sorted[(b.total-1)*995/1000]
	if sorted[(b.total-1)*99/100] > farOut*sorted[(b.total-1)/2] {
		high = sorted[(b.total-1)*95/100]
	}
	if low < high/3 {
		low = 0
	}
	// The narrowest width whose bins suffice; widths go 1, 2, 5, 10 …
	for i := 0; ; i++ {
		b.width = []int64{1, 2, 5}[i%3] * int64(math.Pow10(i/3))
		b.start = low / b.width * b.width
		if high < b.start+mostBins*b.width {
			break
		}
	}
	n := max(leastBins, (high-b.start)/b.width+1)
	b.counts = make([]int, n)
	for _, g := range sorted {
		if i := (g - b.start) / b.width; i < n {
			b.counts[i]++
		} else {
			b.over++
		}
	}
	return b
}

func (h HistogramSpec) draw(b bins, w, tall float64, ticks int) string {
	var s svg
	class := "wide"
	if w == Narrow {
		class = "narrow"
	}
	s.open("svg", "class", class, "id", h.ID+"-"+class, "width", px(w), "height", px(tall), "viewBox", "0 0 "+px(w)+" "+px(tall), "role", "img", "aria-label", h.Label)
	if b.total == 0 {
		s.text("No gap was stamped.", "x", px(w/2), "y", px(tall/2), "text-anchor", "middle", "fill", "var(--ink-2)")
		s.close("svg")
		return s.String()
	}
	y := linear(float64(max(slices.Max(b.counts), b.over)), ticks)
	y.ticks = slices.DeleteFunc(y.ticks, func(v float64) bool { return v != math.Trunc(v) }) // of a count
	left := 0.0
	for _, l := range y.labels() {
		left = max(left, width(l, regular)+8)
	}
	const top, foot, gap = 56, 40, 18
	y.from, y.to = tall-foot, top
	right := w - 2
	slot := (right - left) / float64(len(b.counts))
	if b.over > 0 { // the bin beyond the break is as wide as its words
		over := width(b.overTick(), regular)
		right -= over + gap
		slot = (right - left) / float64(len(b.counts))
	}
	x := scale{min: float64(b.start), max: float64(b.end()), from: left, to: right}

	s.name("↑ gaps", 0, 12, "start")
	for i, v := range y.ticks {
		at := px(y.at(v))
		if i > 0 {
			s.el("line", "class", "grid", "x1", px(left), "x2", px(w), "y1", at, "y2", at, "stroke", "var(--grid)")
		}
		s.text(y.tick(v), "x", px(left-8), "y", at, "dy", "4", "text-anchor", "end", "fill", "var(--ink-3)")
	}
	bar := func(x, wide float64, n int) {
		if n > 0 {
			at := y.at(float64(n))
			s.el("rect", "class", "bin", "data-n", strconv.Itoa(n), "x", px2(x), "y", px2(at), "width", px2(wide), "height", px2(y.from-at), "fill", "var(--edge)")
		}
	}
	space := min(1, slot/5)
	for i, n := range b.counts {
		bar(left+float64(i)*slot+space/2, slot-space, n)
	}
	floor := px(y.from)
	s.el("line", "class", "axis", "x1", px(left), "x2", px(right), "y1", floor, "y2", floor, "stroke", "var(--edge)")
	for i, v := range binTicks(b, ticks) {
		at := x.at(float64(v))
		anchor := "middle"
		if i == 0 {
			anchor = "start"
			at = max(at, left)
		}
		s.text(b.ms(v), "x", px(at), "y", px(y.from+16), "text-anchor", anchor, "fill", "var(--ink-3)")
	}
	if b.over > 0 {
		from := right + gap
		for _, d := range []float64{-3, 3} { // the break
			mid := right + gap/2 + d
			s.el("line", "class", "break", "x1", px(mid-3), "x2", px(mid+3), "y1", px(y.from+5), "y2", px(y.from-5), "stroke", "var(--edge)")
		}
		s.el("line", "class", "axis", "x1", px(from), "x2", px(w), "y1", floor, "y2", floor, "stroke", "var(--edge)")
		bar(from+2, w-from-4, b.over)
		s.text(b.overTick(), "x", px(w), "y", px(y.from+16), "text-anchor", "end", "fill", "var(--ink-3)")
		s.label(number(float64(b.over), 0)+" over", "x", px(w), "y", px(y.at(float64(b.over))-5), "text-anchor", "end")
	}
	s.name("gap between tokens, ms", w, tall-6, "end")

	// p99 stands on the upper line of text, p50 on the lower, so that neither line
	// crosses the other's words.
	if h.P99 != nil && b.total >= leastForP99 {
		s.percentile("p99", *h.P99, x, 28, y.from, func(from, to float64) bool { return to <= w })
	}
	if h.P50 != nil {
		s.percentile("p50", *h.P50, x, 46, y.from, func(from, to float64) bool {
			crossed := h.P99 != nil && *h.P99 != *h.P50 && x.at(*h.P99*1000) > from-8 && x.at(*h.P99*1000) < to+3
			return to <= w && !crossed && from-5-(to-from) < left // on the left where there is room
		})
	}
	s.close("svg")
	return s.String()
}

// percentile draws a line at ms, and its label right of the line's upper end where
// right allows the px that it would fill, else left of it. A value beyond the bins has
// none, since the axis has no place for it.
func (s *svg) percentile(name string, ms float64, x scale, top, floor float64, right func(from, to float64) bool) {
	if us := ms * 1000; us < x.min || us > x.max {
		return
	}
	at := x.at(ms * 1000)
	label := name + " " + three(ms)
	anchor, place := "start", at+5
	if !right(place, place+width(label, bold)) {
		anchor, place = "end", at-5
	}
	s.el("line", "class", name, "x1", px2(at), "x2", px2(at), "y1", px(top-10), "y2", px(floor), "stroke", "var(--ink)", "stroke-width", "1.3")
	s.label(label, "x", px(place), "y", px(top), "text-anchor", anchor)
}

// ms writes µs as ms with the decimals that the bins need.
func (b bins) ms(us int64) string {
	return number(float64(us)/1000, decimals(float64(b.width)/1000))
}

func (b bins) overTick() string { return "> " + b.ms(b.end()) }

// binTicks are at most n edges of bins, at a multiple of 1, 2 or 5 × 10ⁿ bins.
func binTicks(b bins, n int) []int64 {
	step := b.width
	for i := 1; (b.end()-1)/step-(b.start+step-1)/step+1 > int64(n); i++ {
		step = b.width * []int64{1, 2, 5}[i%3] * int64(math.Pow10(i/3))
	}
	var out []int64
	for v := (b.start + step - 1) / step * step; v < b.end(); v += step {
		out = append(out, v)
	}
	return out
}
