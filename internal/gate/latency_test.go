package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// served puts the server's own latency histogram among a row's evidence: what the client
// saw, less what the way to it takes.
func served(m *made, engine string) {
	const labels = `{engine="0",model_name="model"}`
	var us, n float64
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		if last, ok := s.LastContent(); ok && !s.Cut() {
			us, n = us+float64(last-s.Sent)-2, n+1
		}
	}
	metrics := m.evidence[1].Metrics
	metrics[0].Values[engine+"e2e_request_latency_seconds_sum"+labels], metrics[0].Values[engine+"e2e_request_latency_seconds_count"+labels] = 12.5, 4
	end := metrics[len(metrics)-1].Values
	end[engine+"e2e_request_latency_seconds_sum"+labels], end[engine+"e2e_request_latency_seconds_count"+labels] = 12.5+us/1e6, 4+n
}

// scaled makes everything that the client saw of a row faster.
func scaled(m *made, by float64) {
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		s.Sent, s.Enqueued = int64(by*float64(s.Sent)), int64(by*float64(s.Enqueued))
		for j, d := range s.T {
			if d != row.NoStamp {
				s.T[j] = int64(by * float64(d))
			}
		}
	}
}

// No client sees an answer before it was made: samples that were all made faster by the
// same share agree with each other, and not with the server's own sum.
func TestSamplesFasterThanTheServerSays(t *testing.T) {
	long := rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 1024, Concurrency: 4}}}
	plant(t, long, "counted", gate.Pass, "usage adds up", func(m *made) { served(m, "vllm:") })
	plant(t, long, "counted", gate.Pass, "usage adds up", func(m *made) { served(m, "vllm:"); scaled(m, 0.995) })
	plant(t, long, "counted", gate.Fail, "no answer is seen before it was made", func(m *made) { served(m, "vllm:"); scaled(m, 0.98) })
	plant(t, long, "counted", gate.Fail, "no answer is seen before it was made", func(m *made) { served(m, "vllm:"); scaled(m, 0.8) })
	plant(t, long, "counted", gate.Fail, "no answer is seen before it was made", func(m *made) { served(m, "sglang:"); scaled(m, 0.8) })
	// Some that we ended the server may count, and have gone on with.
	more := func(by float64) func(m *made) {
		return func(m *made) {
			ended := false
			for i := len(m.samples[0]) - 1; i >= 0 && !ended; i-- {
				if s := &m.samples[0][i]; s.Phase == row.PhaseDrain {
					s.OSL, ended = nil, true
				}
			}
			if !ended {
				panic("no request kept the streams full")
			}
			served(m, "vllm:")
			values := m.evidence[1].Metrics[len(m.evidence[1].Metrics)-1].Values
			for key, v := range values {
				switch {
				case strings.HasPrefix(key, "vllm:e2e_request_latency_seconds_count"):
					values[key] = v + 1
				case strings.HasPrefix(key, "vllm:e2e_request_latency_seconds_sum"):
					values[key] = v + by
				}
			}
		}
	}
	longest := func() float64 {
		m := make1(1, long)
		most := int64(0)
		for i := range m.samples[0] {
			if last, ok := m.samples[0][i].LastContent(); ok {
				most = max(most, last-m.samples[0][i].Sent)
			}
		}
		return float64(most) / 1e6
	}()
	plant(t, long, "counted", gate.Pass, "usage adds up", more(longest))
	plant(t, long, "counted", gate.Fail, "no answer is seen before it was made", more(10*longest))
}

// Readings under load end with the load.
func TestAServerWatchedLongAfterTheSamples(t *testing.T) {
	o := rowtest.Options{}
	later := func(us int64) func(m *made) {
		return func(m *made) {
			metrics := m.evidence[1].Metrics
			last := &metrics[len(metrics)-1]
			during := &metrics[len(metrics)-2]
			during.At, last.At = last.At+us, last.At+us+1000
		}
	}
	plant(t, o, "counted", gate.Pass, "usage adds up", later(1_000_000))
	plant(t, o, "counted", gate.Fail, "read as under load 7", later(7_000_000))
	plant(t, o, "counted", gate.Pass, "usage adds up", func(m *made) { // nobody knows how long it was waited for
		later(7_000_000)(m)
		for i := range m.samples[0] {
			if s := &m.samples[0][i]; s.Phase == row.PhaseWarm {
				s.Status, s.Reason = row.StatusError, "timeout"
				break
			}
		}
	})
}
