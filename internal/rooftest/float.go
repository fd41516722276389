package rooftest

import "math"

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
