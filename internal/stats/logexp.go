package stats

import "math"

// ln 2 in two parts: the first has its last 20 bits zero, so that its product with a
// small integer is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// Log is the natural logarithm, within 2 units in the last place, by the same
// operations on every architecture. math.Log is assembly on some and differs there.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		exponent--
	}
	// log m = 2 artanh s with s = (m−1)/(m+1), |s| ≤ 0.1716: twelve terms suffice.
	f := m - 1
	s := f / (2 + f)
	s2 := float64(s * s)
	sum := 0.0
	for k := 23; k >= 3; k -= 2 {
		sum = float64((sum + 1/float64(k)) * s2)
	}
	k := float64(exponent)
	// log m = f − s(f − 2·sum): f is exact, so only the small rest is rounded.
	rest := float64(s * (f - float64(2*sum)))
	return float64(k*ln2High) + (f - (rest - float64(k*ln2Low)))
}

// Exp is e to the x, within 2 units in the last place, by the same operations on every
// architecture.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -745.1332191019412:
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	high := x - float64(k*ln2High)
	low := float64(k * ln2Low)
	r := high - low
	// e^r by its Taylor series, |r| ≤ 0.3466: fourteen terms.
	sum := 0.0
	for n := 14; n >= 2; n-- {
		sum = float64((1 + sum) * (r / float64(n)))
	}
	rest := float64(r * (1 + sum))
	return math.Ldexp(1+rest, int(k))
}
