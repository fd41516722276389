package stats

import "math"

// Change is how new estimates stand to old ones, one a repeat: the ratio of their
// geometric means and its 95% interval, by Welch's t on the logarithms, which does not ask
// that both spread alike. ok is false below two of either, or where one is not above 0.
func Change(old, new []float64) (ratio, lo, hi float64, ok bool) {
	a, va, okA := logMoments(old)
	b, vb, okB := logMoments(new)
	if !okA || !okB {
		return 0, 0, 0, false
	}
	na, nb := float64(len(old)), float64(len(new))
	ea, eb := va/na, vb/nb
	d := b - a
	ratio = Exp(d)
	if ea+eb == 0 {
		return ratio, ratio, ratio, true
	}
	// Welch and Satterthwaite's degrees of freedom, rounded down: the wider interval.
	df := float64((ea+eb)*(ea+eb)) / (float64(ea*ea/(na-1)) + float64(eb*eb/(nb-1)))
	half := float64(StudentT975(max(1, int(df))) * math.Sqrt(ea+eb))
	return ratio, Exp(d - half), Exp(d + half), true
}

// logMoments are the mean and the variance of the logarithms.
func logMoments(values []float64) (mean, variance float64, ok bool) {
	if len(values) < 2 {
		return 0, 0, false
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 1) {
			return 0, 0, false
		}
		logs[i] = Log(v)
	}
	mean, _ = Mean(logs)
	squares := 0.0
	for _, l := range logs {
		squares += float64((l - mean) * (l - mean))
	}
	return mean, squares / float64(len(logs)-1), true
}
