// Package stats summarises measured values: percentiles with numpy's default linear
// interpolation, refused where a sample is too small to hold them, and Student
// intervals over repeats. Values have no unit here. It is pure, and each digit is the
// same on every architecture: products that feed a sum are rounded on their own, sums
// run from the first element to the last, and logarithm and exponential are its own.
package stats

import (
	"math"
	"slices"
)

// Needed says how many samples a percentile asks for: 1 up to the median, else
// 1/(1−p), so p90 needs 10, p95 20, p99 100 and p999 1000.
func Needed(permille int) int {
	if permille <= 500 {
		return 1
	}
	if permille >= 1000 {
		return 1
	}
	return (1000 + 999 - permille) / (1000 - permille)
}

// Percentile interpolates linearly in values sorted in increasing order; permille 500
// is the median and 990 the 99th percentile. ok is false when there are fewer samples
// than Needed.
func Percentile(sorted []float64, permille int) (v float64, ok bool) {
	if len(sorted) == 0 || len(sorted) < Needed(permille) || permille < 0 || permille > 1000 {
		return 0, false
	}
	at := permille * (len(sorted) - 1)
	i, rest := at/1000, at%1000
	if rest == 0 {
		return sorted[i], true
	}
	low, high := sorted[i], sorted[i+1]
	return low + float64((high-low)*(float64(rest)/1000)), true
}

// Median is the 50th percentile of values in any order; ok is false when there are
// none. The values are not changed.
func Median(values []float64) (v float64, ok bool) {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return Percentile(sorted, 500)
}

// Mean is the arithmetic mean; ok is false when there are no values.
func Mean(values []float64) (v float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values)), true
}

// TInterval is the 95% interval of Student's t over independent estimates, one a
// repeat. With logScale it is taken on the logarithm, as suits times and rates, and
// asks every estimate to be above zero. ok is false below two estimates.
func TInterval(estimates []float64, logScale bool) (lo, hi float64, ok bool) {
	n := len(estimates)
	if n < 2 {
		return 0, 0, false
	}
	values := estimates
	if logScale {
		values = make([]float64, n)
		for i, x := range estimates {
			if !(x > 0) || math.IsInf(x, 1) {
				return 0, 0, false
			}
			values[i] = Log(x)
		}
	}
	mean, _ := Mean(values)
	squares := 0.0
	for _, x := range values {
		d := x - mean
		squares += float64(d * d)
	}
	half := float64(StudentT975(n-1) * math.Sqrt(squares/float64(n-1)/float64(n)))
	lo, hi = mean-half, mean+half
	if logScale {
		lo, hi = Exp(lo), Exp(hi)
	}
	return lo, hi, true
}
