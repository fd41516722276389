package host

import (
	"math"
	"testing"

	"rowproof/internal/row"
)

// Whatever a server exposes, what is kept of it is bounded, and figures come of it.
func FuzzParseMetrics(f *testing.F) {
	f.Add("# HELP a\na{b=\"c,}\\\"\"} 1 1700000000\nvllm:num_requests_running 3\nx NaN\ny +Inf\nz 1e400\n", "vllm:num_requests_running 1e300\nvllm:prefix_cache_hits_total -5\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		ev := row.Evidence{Pool: &row.MemoryPool{WeightBytes: 1, CacheBytes: 1 << 40, Tokens: 1}}
		for when, text := range map[string]string{row.Before: before, row.After: after} {
			values := parseMetrics(text, kept)
			if len(values) > metricsSeries {
				t.Fatalf("%d series", len(values))
			}
			for name, v := range values {
				if len(name) > metricsName || len(name) == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("series %q is %v", name, v)
				}
			}
			ev.Metrics = append(ev.Metrics, row.MetricSample{When: when, Values: values})
		}
		s := row.ServerFrom(&ev)
		if s.KVUsageMax != nil && math.IsNaN(*s.KVUsageMax) {
			t.Fatal("a share that is no number")
		}
		for _, p := range []*int64{s.Preemptions, s.CachedTok, s.AdmittedTok, s.NumAllocs, s.ParkWaits} {
			if p != nil && *p < 0 {
				t.Fatalf("a counter rose by %d", *p)
			}
		}
	})
}
