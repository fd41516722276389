package row

import (
	"strconv"

	"rowproof/internal/stats"
)

func mean(values []float64) *float64 {
	if v, ok := stats.Mean(values); ok {
		return &v
	}
	return nil
}

func median(values []float64) *float64 {
	if v, ok := stats.Median(values); ok {
		return &v
	}
	return nil
}

// interval over one estimate a repeat, on the logarithm; nil below two repeats and
// where an estimate is 0.
func interval(estimates []float64) *Interval {
	if lo, hi, ok := stats.TInterval(estimates, true); ok {
		return &Interval{lo, hi}
	}
	return nil
}

// newDist takes percentiles in each repeat and shows the median over the repeats. It is
// nil where a repeat has no value at all; short says why a percentile is nil.
func newDist(repeats []*values) (d *Dist, short map[string]string) {
	least, total := -1, 0
	means := make([]float64, len(repeats))
	for i, v := range repeats {
		means[i] = v.mean
		total += v.len()
		if least < 0 || v.len() < least {
			least = v.len()
		}
	}
	if least <= 0 {
		return nil, nil
	}
	d = &Dist{N: int64(total), Mean: median(means), IntervalMean: interval(means)}
	short = map[string]string{}
	for _, p := range []struct {
		name     string
		permille int
		value    **float64
		interval **Interval
	}{
		{"p50", 500, &d.P50, &d.IntervalP50},
		{"p90", 900, &d.P90, &d.IntervalP90},
		{"p95", 950, &d.P95, &d.IntervalP95},
		{"p99", 990, &d.P99, &d.IntervalP99},
	} {
		if need := stats.Needed(p.permille); least < need {
			short[p.name] = plural(least, "sample") + " a repeat; " + p.name + " needs " + strconv.Itoa(need)
			continue
		}
		estimates := make([]float64, len(repeats))
		for i, v := range repeats {
			estimates[i], _ = stats.Percentile(v.list, p.permille)
		}
		*p.value, *p.interval = median(estimates), interval(estimates)
	}
	return d, short
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
