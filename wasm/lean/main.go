//go:build wasip1

// Lean is the browser module that loads by itself after first paint: the roofline
// arithmetic that measure and gen use, compiled as it is into a wasip1 reactor. A page
// writes a packed query into a buffer, calls ceiling or formula, and reads numbers or
// text out of the module's memory; lean.d.ts states that contract. It imports neither
// fmt nor encoding/json, which would each add a third to its size.
package main

import (
	"unsafe"

	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
)

// buffers keeps alive, by address, what the page holds a pointer to.
var buffers = map[unsafe.Pointer][]float64{}

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
func slots(p unsafe.Pointer, n uint32) []float64 {
	b := buffers[p]
	if uint64(n) > uint64(len(b)) {
		return nil
	}
	return b[:n]
}

// queryAt is the packed query in the first n slots of a buffer, or nil when it is none.
func queryAt(p unsafe.Pointer, n uint32) []float64 {
	if n != roofline.PackedSlots {
		return nil
	}
	return slots(p, n)
}

// ceiling answers the packed query in the first n slots of in, writes the packed answer
// to out and returns its length; 0 means that a buffer was too short or unknown, or that
// a query does not have n slots.
//
//go:wasmexport ceiling
func ceiling(in unsafe.Pointer, n uint32, out unsafe.Pointer) uint32 {
	query := queryAt(in, n)
	to := slots(out, roofline.OutSlots)
	if query == nil || to == nil {
		return 0
	}
	return uint32(copy(to, roofline.CeilingPacked(query)))
}

// formula writes the binding roof of a packed query with its numbers filled in, and
// returns the text's length in bytes of UTF-8; it lies at text().
//
//go:wasmexport formula
func formula(in unsafe.Pointer, n uint32) uint32 {
	said = nil
	if query := queryAt(in, n); query != nil {
		said = []byte(roofline.Formula(query))
	}
	return uint32(len(said))
}

// plot draws the roofline of a packed query as an SVG element width px wide, and returns
// the text's length in bytes of UTF-8; it lies at text(). The page names the drawing.
//
//go:wasmexport plot
func plot(in unsafe.Pointer, n, width uint32) uint32 {
	said = nil
	if query := queryAt(in, n); query != nil {
		said = []byte(roofplot.Draw(query, int(width), ""))
	}
	return uint32(len(said))
}

// text is where the last text begins.
//
//go:wasmexport text
func text() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(said)) }

func main() {}
