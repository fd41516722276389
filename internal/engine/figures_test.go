package engine

import (
	"testing"
	"time"

	"rowproof/internal/row"
)

// The figures of a request, computed as any row's are, equal those of the server's own
// clock: TTFT at the first non-empty thinking part, E2E at the last content, TPOT over
// the usage's tokens.
func TestFiguresAreThoseOfTheServersClock(t *testing.T) {
	s, c, p := timed(t, "field/parts.sse", 20*time.Millisecond)
	one, iters := int64(1), int64(1)
	w := row.Workload{Protocol: row.Passes, ISL: 6, OSL: 4, Repeats: 1, Iters: &iters, Load: row.Load{Concurrency: &one}}
	got := row.Compute(&w, 0, []row.Sample{s}, &row.Evidence{Capture: []row.CaptureStats{c.Stats}})

	// A part was written between two times of the server's clock, and is handed over
	// within 5 ms of the second.
	early := func(part int) float64 { return float64(p.wrote[part][0]-c.Outcomes[0].Enqueued)/1e6 - 0.01 }
	late := func(part int) float64 { return float64(p.wrote[part][1]-c.Outcomes[0].Enqueued)/1e6 + 5 }
	f := got.Figures
	for name, v := range map[string]struct {
		got      *row.Dist
		min, max float64
	}{
		"ttft_ms": {f.TTFT, early(2), late(2)},
		"ttfa_ms": {f.TTFA, early(5), late(5)},
		"e2e_ms":  {f.E2E, early(6), late(6)},
		"tpot_ms": {f.TPOT, (early(6) - late(2)) / 3, (late(6) - early(2)) / 3},
	} {
		if v.got == nil || v.got.P50 == nil || *v.got.P50 < v.min || *v.got.P50 > v.max {
			t.Errorf("%s: %+v, the server says %.3f to %.3f; missing %v", name, v.got, v.min, v.max, got.Missing)
		}
	}
	if f.ChunkGap == nil || f.ChunkGap.N != 3 || got.Counts.Completed != 1 || got.Counts.OSL.Max != 4 {
		t.Errorf("%+v, %+v", f.ChunkGap, got.Counts)
	}
}
