package rooftest

import (
	"encoding/binary"
	"math"
)

// Float draws a float64 of any kind: none, infinite, negative, huge, tiny, or of bits at
// random.
func (r Random) Float() float64 {
	switch r.IntN(8) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1 - 2*r.IntN(2))
	case 2:
		return of(r, 0, math.Copysign(0, -1), 1, -1, 0.5, 1e18, 1e300, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64)
	case 3:
		return math.Float64frombits(r.Uint64())
	}
	return r.NormFloat64() * 1000
}

// Bytes are numbers as a WebAssembly memory holds them.
func Bytes(values []float64) []byte {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// Floats reads them back, and leaves out what is no whole number of them.
func Floats(b []byte) []float64 {
	values := make([]float64, len(b)/8)
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return values
}
