package gate_test

import (
	"maps"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// A receipt that was watched beside the right server, on a host whose clock is off.
func TestClocksOfTwoHosts(t *testing.T) {
	for _, c := range []struct {
		off    int64 // µs
		want   gate.Answer
		reason string
	}{
		{0, gate.Pass, ""},
		{900_000, gate.Pass, ""},
		{4_000_000, gate.Unjudged, "missing clocks of the two hosts that agree to 1 s: by the server's counters, which both read, the one beside the server is "},
		{-4_000_000, gate.Unjudged, " s behind, so that the receipt's readings have no place in the row"},
	} {
		m := make1(1, rowtest.Options{Slowness: 20, Cells: []rowtest.Cell{{ISL: 1024, OSL: 128, Concurrency: 4}}})
		m.report.Receipt.Taken = &row.Taken{At: m.report.MeasuredAt, Until: m.report.MeasuredAt, Host: "gpu-7", SHA256: strings.Repeat("0", 64)}
		ev := &m.evidence[1]
		for _, r := range ev.Metrics {
			r.Values = maps.Clone(r.Values)
			switch r.When {
			case row.Before:
				r.At -= 8_000_000
			case row.After:
				r.At += 8_000_000
			}
			r.At += c.off
			ev.Watched = append(ev.Watched, r)
		}
		m.seal()
		results := judge(t, m.files(t), nil)[0]
		for _, name := range []string{"label", "host"} {
			if r := answer(results, name); r.Answer != c.want || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("%d µs apart: gate %s: %v: %s", c.off, name, r.Answer, r.Reason)
			}
		}
	}
}
