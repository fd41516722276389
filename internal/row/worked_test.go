package row

import "testing"

// Three repeats of 150, 120 and 199 first tokens, drawn by a linear congruential
// generator. The figures are numpy's: percentile of each repeat by its default method,
// median over the repeats, and scipy's Student quantile on the logarithms.
func TestFiguresAgainstNumpy(t *testing.T) {
	x := int64(12345)
	draw := func() int64 {
		x = (x*1103515245 + 12345) % (1 << 31)
		return x
	}
	var samples []Sample
	for repeat, n := range []int64{150, 120, 199} {
		for i := range n {
			ttft := 20000 + draw()%15000
			if draw()%50 == 0 {
				ttft += draw() % 400000
			}
			at := i * 1_000_000
			samples = append(samples, Sample{Repeat: int64(repeat), Phase: PhaseTimed, I: i, Enqueued: at, Sent: at, T: Gaps{ttft, 5000},
				ISL: p(int64(100)), OSL: p(int64(2)), Cached: p(int64(0)), Status: StatusOK})
		}
	}
	c := int64(1)
	w := &Workload{Protocol: Sustained, ISL: 100, OSL: 2, Load: Load{Concurrency: &c}, Repeats: 3}
	d := Compute(w, 1, samples, nil).Figures.TTFT
	for _, f := range []struct {
		name         string
		value        *float64
		interval     *Interval
		want, lo, hi float64
	}{
		{"mean", d.Mean, d.IntervalMean, 27.0581733333, 26.4340866486, 27.7746975518},
		{"p50", d.P50, d.IntervalP50, 26.62, 25.3768566161, 28.6460767134},
		{"p90", d.P90, d.IntervalP90, 33.1372, 32.2819611808, 33.8182342615},
		{"p95", d.P95, d.IntervalP95, 33.8782, 32.535457178, 34.7817932123},
		{"p99", d.P99, d.IntervalP99, 34.62154, 34.3406672122, 34.8071631339},
	} {
		near(t, f.name, f.value, f.want)
		if f.interval == nil {
			t.Errorf("%s has no interval", f.name)
			continue
		}
		near(t, f.name+" from", &f.interval[0], f.lo)
		near(t, f.name+" to", &f.interval[1], f.hi)
	}
	if d.N != 469 {
		t.Errorf("n %d", d.N)
	}
}
