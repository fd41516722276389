package stats_test

import (
	"math"
	"testing"

	"rowproof/internal/stats"
)

// Worked by hand: the logarithms of 1, 2, 4 have variance ln²2, so both means have a
// standard error of ln 2 ÷ √3 and Welch gives 4 degrees of freedom; t(4) is 2.7764.
func TestChange(t *testing.T) {
	ratio, lo, hi, ok := stats.Change([]float64{1, 2, 4}, []float64{2, 4, 8})
	half := math.Exp(2.776445105 * math.Ln2 * math.Sqrt(2.0/3))
	if !ok || math.Abs(ratio-2) > 1e-12 || math.Abs(lo-2/half) > 1e-6 || math.Abs(hi-2*half) > 1e-5 {
		t.Errorf("%v from %v to %v, want 2 from %v to %v", ratio, lo, hi, 2/half, 2*half)
	}
	// Unlike spreads: variances 0.0001 and 0.04 on the logarithm, by hand df = 2.01.
	a := []float64{math.Exp(-.01), 1, math.Exp(.01)}
	b := []float64{math.Exp(-.2), 1, math.Exp(.2)}
	half = math.Exp(4.30265273 * math.Sqrt((.0001+.04)/3))
	if _, lo, hi, ok := stats.Change(a, b); !ok || math.Abs(lo-1/half) > 1e-6 || math.Abs(hi-half) > 1e-6 {
		t.Errorf("from %v to %v, want from %v to %v", lo, hi, 1/half, half)
	}
	for _, bad := range [][2][]float64{{{1}, {1, 2}}, {{1, 2}, {1}}, {{0, 1}, {1, 2}}, {{1, 2}, {1, math.Inf(1)}}, {{1, math.NaN()}, {1, 2}}} {
		if _, _, _, ok := stats.Change(bad[0], bad[1]); ok {
			t.Errorf("%v gives a change", bad)
		}
	}
	if ratio, lo, hi, ok := stats.Change([]float64{3, 3}, []float64{6, 6}); !ok || lo != ratio || hi != ratio || math.Abs(ratio-2) > 1e-12 {
		t.Errorf("without any spread: %v %v %v %v", ratio, lo, hi, ok)
	}
}
