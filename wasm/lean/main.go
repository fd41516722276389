//go:build wasip1

// Lean is the browser module that loads by itself after first paint: the arithmetic of
// rooflines and limits that measure and gen use, compiled as it is into a wasip1
// reactor. A page writes numbers into a buffer, calls a function, and reads numbers or
// text out of the module's memory; lean.d.ts states that contract. It imports neither
// fmt nor encoding/json, which would each add a third to its size.
package main

import (
	"math"
	"unsafe"

	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// buffers keeps alive, by address, what the page holds a pointer to.
var buffers = map[unsafe.Pointer][]float64{}

// answer is the buffer that ceiling last wrote to: a page asks for many into the same one.
var answer []float64

// said keeps the last text alive until the next one.
var said []byte

// buffer allocates n float64 slots, zeroed, for good: a page allocates one for queries
// and one for answers and uses them again.
//
//go:wasmexport buffer
func buffer(n uint32) unsafe.Pointer {
	b := make([]float64, max(n, 1))
	p := unsafe.Pointer(unsafe.SliceData(b))
	buffers[p] = b
	return p
}

// slots is the first n slots of a buffer, or nil when p is no buffer of ours or is
// shorter than that.
func slots(p unsafe.Pointer, n uint64) []float64 {
	b := buffers[p]
	if n > uint64(len(b)) {
		return nil
	}
	return b[:n]
}

// queryAt is the packed query in the first n slots of a buffer, or nil when it is none.
func queryAt(p unsafe.Pointer, n uint32) []float64 {
	if query := slots(p, uint64(n)); roofline.Packed(query) {
		return query
	}
	return nil
}

// ceiling answers the packed query in the first n slots of in, writes the packed answer
// to out and returns its length; 0 means that a buffer was too short or unknown, or that
// a query does not have n slots.
//
//go:wasmexport ceiling
func ceiling(in unsafe.Pointer, n uint32, out unsafe.Pointer) uint32 {
	query := queryAt(in, n)
	if len(answer) < roofline.OutSlots || unsafe.Pointer(unsafe.SliceData(answer)) != out {
		answer = slots(out, roofline.OutSlots)
	}
	to := answer
	if query == nil || to == nil {
		return 0
	}
	roofline.CeilingInto(query, to)
	return roofline.OutSlots
}

// kept is what the sequences of a packed query keep in memory beside the weights, in
// bytes over all devices; NaN where it is not known or n slots are no packed query.
//
//go:wasmexport kept
func kept(in unsafe.Pointer, n uint32) float64 {
	query := queryAt(in, n)
	if query == nil {
		return math.NaN()
	}
	return query[roofline.SlotBatch] * roofline.Kept(query, query[roofline.SlotContext])
}

// Slots of one row and of one limit that choose takes, and of its answer.
const (
	rowSlots    = 17 // p50 p90 p95 p99 of each of limited, what ranks; NaN: not measured
	choiceSlots = 5  // of an answer, before its places
	limitSlots  = 3  // place in limited, percentile in permille, the most in ms
)

// limited are the latencies that a limit may be of, in the order of a row's slots.
var limited = [...]string{"ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"}

// choose holds limits against rows, both packed one after the other, and writes how many
// rows are known to meet all limits, how many meet them only as far as their percentiles
// go, how many have the percentiles asked for, the nearest row and the limit that most
// rows miss when nothing answers (−1: none), then the places of the first, best first,
// and of the second. It returns how many slots that took; 0 means that a buffer was too
// short or unknown.
//
//go:wasmexport choose
func choose(rows unsafe.Pointer, n uint32, limits unsafe.Pointer, k uint32, out unsafe.Pointer) uint32 {
	in, most, to := slots(rows, uint64(n)*rowSlots), slots(limits, uint64(k)*limitSlots), slots(out, uint64(n)+choiceSlots)
	if in == nil || most == nil || to == nil {
		return 0
	}
	candidates := make([]tradeoff.Candidate, n)
	for i := range candidates {
		candidates[i] = candidate(in[i*rowSlots:][:rowSlots])
	}
	c := tradeoff.Choose(candidates, limitsOf(most))
	to[0], to[1], to[2] = float64(len(c.Met)), float64(len(c.Lower)), float64(c.Known)
	to[3], to[4] = float64(c.Nearest), float64(c.Worst)
	used := uint32(choiceSlots)
	for _, places := range [][]int{c.Met, c.Lower} {
		for _, m := range places {
			to[used] = float64(m)
			used++
		}
	}
	return used
}

// hold holds limits against one row and writes for each what was found, at which
// percentile in permille (a row with few samples has no p99), and 1 if it is met. It
// returns how many slots that took, 0 as above.
//
//go:wasmexport hold
func hold(row unsafe.Pointer, limits unsafe.Pointer, k uint32, out unsafe.Pointer) uint32 {
	in, most, to := slots(row, rowSlots), slots(limits, uint64(k)*limitSlots), slots(out, 3*uint64(k))
	if in == nil || most == nil || to == nil {
		return 0
	}
	for i, h := range tradeoff.Hold(candidate(in).Figures, limitsOf(most)) {
		to[3*i], to[3*i+1], to[3*i+2] = math.NaN(), float64(h.Permille), 0
		if h.Found != nil {
			to[3*i] = *h.Found
		}
		if h.Met {
			to[3*i+2] = 1
		}
	}
	return 3 * k
}

func candidate(in []float64) tradeoff.Candidate {
	known := func(i int) *float64 {
		if math.IsNaN(in[i]) {
			return nil
		}
		return &in[i]
	}
	dist := func(i int) *row.Dist {
		return &row.Dist{P50: known(i), P90: known(i + 1), P95: known(i + 2), P99: known(i + 3)}
	}
	return tradeoff.Candidate{Figures: &row.Figures{TTFT: dist(0), ITL: dist(4), TPOT: dist(8), E2E: dist(12)}, Rank: known(16)}
}

func limitsOf(in []float64) []tradeoff.Limit {
	limits := make([]tradeoff.Limit, len(in)/limitSlots)
	for i := range limits {
		l := in[i*limitSlots:]
		limits[i] = tradeoff.Limit{Permille: int(l[1]), Max: l[2]}
		if of := int(l[0]); of >= 0 && of < len(limited) {
			limits[i].Figure = limited[of] // else no row has it, and none meets it
		}
	}
	return limits
}

// hopeSlots of a hope: hard and likely TTFT, TPOT and E2E in ms, and GPU-minutes.
const hopeSlots = 7

// promising writes which of n hopes would most likely meet the limits (−1: none could),
// and 1 if it does so where it comes as near its roofs as measured runs did. It returns 2,
// 0 as above.
//
//go:wasmexport promising
func promising(hopes unsafe.Pointer, n uint32, limits unsafe.Pointer, k uint32, out unsafe.Pointer) uint32 {
	in, most, to := slots(hopes, uint64(n)*hopeSlots), slots(limits, uint64(k)*limitSlots), slots(out, 2)
	if in == nil || most == nil || to == nil {
		return 0
	}
	of := make([]tradeoff.Hope, n)
	for i := range of {
		h := in[i*hopeSlots:]
		of[i] = tradeoff.Hope{
			TTFT: tradeoff.Outlook{Hard: h[0], Likely: h[1]}, TPOT: tradeoff.Outlook{Hard: h[2], Likely: h[3]},
			E2E: tradeoff.Outlook{Hard: h[4], Likely: h[5]}, GPUMinutes: h[6],
		}
	}
	best, likely := tradeoff.Promising(of, limitsOf(most))
	to[0], to[1] = float64(best), truth(likely)
	return 2
}

// Slots of what two ladders have to say of each other.
const (
	rungSlots  = 4 // load, figure, its interval's ends
	pairSlots  = 5 // load, ratio, its ends, 1 where the two are shown to differ
	crossSlots = 4 // estimate, its ends, 1 where the first ladder is greater below it
)

// against holds k rungs of a ladder against n of a reference, by internal/tradeoff, and
// writes how many loads both have and how many times they cross, then so many pairs and
// so many crossings. It returns how many slots that took, 0 as above.
//
//go:wasmexport against
func against(reference unsafe.Pointer, n uint32, other unsafe.Pointer, k uint32, out unsafe.Pointer) uint32 {
	a, b := slots(reference, uint64(n)*rungSlots), slots(other, uint64(k)*rungSlots)
	to := slots(out, 2+uint64(n)*(pairSlots+crossSlots))
	if a == nil || b == nil || to == nil {
		return 0
	}
	first, second := rungs(a), rungs(b)
	pairs, crossings := tradeoff.Against(first, second), tradeoff.Crossings(first, second)
	answer := append(to[:0], float64(len(pairs)), float64(len(crossings)))
	for _, p := range pairs {
		answer = append(answer, p.Load, p.Ratio, p.Lo, p.Hi, truth(p.Apart()))
	}
	for _, c := range crossings {
		answer = append(answer, c.At, c.Lo, c.Hi, truth(c.Before))
	}
	return uint32(len(answer))
}

func rungs(in []float64) []tradeoff.Rung {
	out := make([]tradeoff.Rung, len(in)/rungSlots)
	for i := range out {
		r := in[i*rungSlots:]
		out[i] = tradeoff.Rung{Load: r[0], Value: r[1], Lo: r[2], Hi: r[3]}
	}
	return out
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// front writes for each of n points, two slots each, 1 where nothing beats it on both
// axes, else 0. It returns n, 0 as above.
//
//go:wasmexport front
func front(points unsafe.Pointer, n uint32, out unsafe.Pointer) uint32 {
	in, to := slots(points, 2*uint64(n)), slots(out, uint64(n))
	if in == nil || to == nil {
		return 0
	}
	at := make([]tradeoff.Point, n)
	for i := range at {
		at[i] = tradeoff.Point{X: in[2*i], Y: in[2*i+1]}
	}
	for i, on := range tradeoff.Front(at) {
		to[i] = truth(on)
	}
	return n
}

// cost writes what a million tokens of input, of output and of both cost at a price an
// hour of one GPU and at its rates: of the output, and of input and output together. It
// returns 3, 0 as above.
//
//go:wasmexport cost
func cost(price, output, total float64, out unsafe.Pointer) uint32 {
	to := slots(out, 3)
	if to == nil {
		return 0
	}
	c := tradeoff.CostOf(price, output, total)
	to[0], to[1], to[2] = c.Input, c.Output, c.Blended
	return 3
}

// Roofs that formula writes.
const (
	ofDecode  = 0
	ofPrefill = 1
	ofLinks   = 2
)

// formula writes a roof of a packed query with its numbers filled in, and returns the
// text's length in bytes of UTF-8; it lies at text().
//
//go:wasmexport formula
func formula(in unsafe.Pointer, n, of uint32) uint32 {
	said = nil
	query := queryAt(in, n)
	if query == nil {
		return 0
	}
	switch of {
	case ofDecode:
		said = []byte(roofline.Formula(query))
	case ofPrefill:
		said = []byte(roofline.PrefillFormula(query))
	case ofLinks:
		said = []byte(roofline.LinkFormula(query, query[roofline.SlotBatch]*(query[roofline.SlotGamma]+1)))
	}
	return uint32(len(said))
}

// plot draws the roofline of a packed query and k measured rows as an SVG element width
// px wide, and returns the text's length in bytes of UTF-8; it lies at text(). The page
// names the drawing, and the type that its arithmetic roof stands for.
//
//go:wasmexport plot
func plot(in unsafe.Pointer, n, width uint32, rows unsafe.Pointer, k uint32) uint32 {
	said = nil
	if query := queryAt(in, n); query != nil {
		said = []byte(roofplot.Draw(query, int(width), "", "", roofplot.Rows(slots(rows, uint64(k)*roofplot.RowSlots))))
	}
	return uint32(len(said))
}

// text is where the last text begins.
//
//go:wasmexport text
func text() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(said)) }

func main() {}
