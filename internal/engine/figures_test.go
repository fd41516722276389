package engine

import (
	"math"
	"testing"
	"time"

	"rowproof/internal/row"
)

// The figures of a request, computed as any row's are, equal those of the server's own
// clock: TTFT at the first non-empty thinking part, E2E at the last content, TPOT over
// the usage's tokens.
func TestFiguresAreThoseOfTheServersClock(t *testing.T) {
	p := &player{parts: frames(fixture(t, "field/parts.sse")), gap: 20 * time.Millisecond}
	sp := spec(p.serve(t))
	sp.Stamps = ""
	s, c := run(t, sp)
	one, iters := int64(1), int64(1)
	w := row.Workload{Protocol: row.Passes, ISL: 6, OSL: 4, Repeats: 1, Iters: &iters, Load: row.Load{Concurrency: &one}}
	got := row.Compute(&w, 0, []row.Sample{s}, &row.Evidence{Capture: []row.CaptureStats{c.Stats}})

	p.mu.Lock()
	defer p.mu.Unlock()
	since := func(part int) float64 { return float64(p.wrote[part][0]-c.Outcomes[0].Enqueued) / 1e6 }
	f := got.Figures
	for name, v := range map[string]struct {
		got  *row.Dist
		want float64
	}{
		"ttft_ms": {f.TTFT, since(2)},
		"ttfa_ms": {f.TTFA, since(5)},
		"e2e_ms":  {f.E2E, since(6)},
		"tpot_ms": {f.TPOT, (since(6) - since(2)) / 3},
	} {
		// Writes take time: the arrival lies behind the write's beginning by that.
		if v.got == nil || v.got.P50 == nil || math.Abs(*v.got.P50-v.want) > 3 {
			t.Errorf("%s: %+v, the server says %.3f; missing %v", name, v.got, v.want, got.Missing)
		}
	}
	if f.ChunkGap == nil || f.ChunkGap.N != 3 || got.Counts.Completed != 1 || got.Counts.OSL.Max != 4 {
		t.Errorf("%+v, %+v", f.ChunkGap, got.Counts)
	}
}
