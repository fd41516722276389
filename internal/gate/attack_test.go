package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// asAnother gives a request the gaps of another one; it ends when it did.
func asAnother(s, other *row.Sample) {
	var total int64
	for _, d := range s.T {
		total += d
	}
	s.T = append(row.Gaps{}, other.T...)
	for _, d := range s.T[1:] {
		total -= d
	}
	s.T[0] = total
}

// Rows that were spoiled, and then written so that no single figure is off.
func TestSpoiledRowsAreNotVerified(t *testing.T) {
	plain := rowtest.Options{}
	of := func(m *made, repeat int64) (out []*row.Sample) {
		for _, s := range timed(m) {
			if s.Repeat == repeat {
				out = append(out, s)
			}
		}
		return out
	}
	plant(t, plain, "repeats", gate.Fail, "within 2 µs of those of repeat 1: one is a copy of the other", func(m *made) {
		for i, s := range of(m, 2) {
			asAnother(s, of(m, 1)[i])
			for j := 2; j < len(s.T); j += 2 {
				s.T[j], s.T[j-1] = s.T[j]+1, s.T[j-1]-1 // touched up
			}
		}
	})
	plant(t, plain, "repeats", gate.Fail, "has the gaps of one of repeat 0, one by one", func(m *made) {
		asAnother(of(m, 2)[7], of(m, 0)[3])
	})
	plant(t, plain, "cold", gate.Fail, "a prompt was sent twice", func(m *made) {
		for i, s := range of(m, 2) {
			s.Prompt = of(m, 1)[i].Prompt
		}
	})
	plant(t, plain, "cold", gate.Fail, "112 tokens cached beyond the declared prefix", func(m *made) {
		of(m, 1)[0].Cached, of(m, 1)[0].WantCached = num(112), num(112) // random prompts have nothing in common
	})
	plant(t, plain, "lengths", gate.Fail, "brought 16 to 32 tokens where 32 were asked", func(m *made) {
		s := of(m, 1)[0]
		s.T, s.OSL, s.WantOSL = s.T[:16], num(16), num(16)
	})
	plant(t, plain, "lengths", gate.Fail, "had prompts of 64 to 128 tokens where 128 were asked", func(m *made) {
		s := of(m, 1)[0]
		s.ISL, s.WantISL = num(64), num(64)
	})
	plant(t, plain, "warm", gate.Fail, "repeat 1 has timed requests and no warm-up", func(m *made) {
		for i := range m.samples[0] {
			if s := &m.samples[0][i]; s.Phase == row.PhaseWarm {
				s.Phase = row.PhaseTimed
			}
		}
	})
	plant(t, plain, "warm", gate.Fail, "is in phase timed where drain follows", func(m *made) {
		for i := range m.samples[0] {
			if s := &m.samples[0][i]; s.Phase == row.PhaseDrain {
				s.Phase = row.PhaseTimed
			}
		}
	})
	// Nothing that follows the timed requests keeps the streams full: the last ones met
	// less load than the others.
	long := rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 1024, Concurrency: 4}}}
	plant(t, long, "warm", gate.Fail, "stood idle for the last", func(m *made) {
		var kept []row.Sample
		for _, s := range m.samples[0] {
			if s.Phase != row.PhaseDrain {
				kept = append(kept, s)
			}
		}
		m.samples[0] = kept
	})
	plant(t, plain, "client", gate.Unjudged, "before enqueued", func(m *made) {
		for _, s := range timed(m) {
			s.Enqueued = s.Sent + 5000 // 5 ms off each TTFT
		}
	})
	plant(t, plain, "repeats", gate.Pass, "3 repeats of one start of the server", func(*made) {})
	plant(t, plain, "repeats", gate.Pass, "3 repeats over 2 starts of the server", func(m *made) {
		m.evidence[1].Capture[2].ServerStartedAt = "2026-11-30T11:59:00Z"
	})
	plant(t, long, "warm", gate.Pass, "every timed request came after", func(*made) {})
}

// A row whose evidence is under no hash could be given another, its id unchanged.
func TestARowIsBoundToItsEvidence(t *testing.T) {
	m := make1(1, rowtest.Options{})
	m.report.Receipt.EvidenceSHA256 = ""
	m.report.Rows[0].Proof.Evidence = nil
	var err error
	if m.report.Rows[0].ID, err = rowfile.ID(m.report, 0); err != nil {
		t.Fatal(err)
	}
	m.evidence[1].Devices[0].Throttle = "0x8"
	results := judge(t, m.files(t), nil)[0]
	if got := answers(results)["recompute"]; got != gate.Unjudged {
		t.Errorf("recompute: %v", got)
	}
	for _, r := range results {
		if r.Gate == "recompute" && !strings.Contains(r.Reason, "missing proof.evidence") {
			t.Errorf("recompute: %s", r.Reason)
		}
	}
}

// What the server counted must be what the requests hold.
func TestTheServersOwnCounters(t *testing.T) {
	after := func(m *made, name string, by float64) {
		metrics := m.evidence[1].Metrics
		first := map[string]float64{}
		for i := range metrics {
			for key, v := range metrics[i].Values {
				if !strings.HasPrefix(key, name) {
					continue
				}
				if i == 0 {
					first[key] = v
				}
				metrics[i].Values[key] = first[key] + (v-first[key])*by
			}
		}
	}
	o := rowtest.Options{}
	plant(t, o, "counted", gate.Fail, "generated tokens during the row, and its requests hold at most 4896: it served others too", func(m *made) {
		after(m, "vllm:generation_tokens_total", 3)
	})
	plant(t, o, "counted", gate.Fail, "prompt tokens during the row, and its requests hold at most", func(m *made) {
		after(m, "vllm:prompt_tokens_total", 3)
	})
	plant(t, o, "counted", gate.Fail, "they are not of this server, or not of this row", func(m *made) {
		after(m, "vllm:generation_tokens_total", 0.5)
	})
	plant(t, o, "counted", gate.Unjudged, "missing the server's own count of generated tokens", func(m *made) { m.evidence[1].Metrics = nil })
	plant(t, o, "counted", gate.Unjudged, "missing the server's own count of generated tokens", func(m *made) {
		for _, metrics := range m.evidence[1].Metrics {
			for key := range metrics.Values {
				if strings.HasPrefix(key, "vllm:generation_tokens_total") {
					delete(metrics.Values, key)
				}
			}
		}
	})
	plant(t, o, "counted", gate.Pass, "usage adds up", func(m *made) { after(m, "vllm:generation_tokens_total", 1.005) })
}

// A client that was stopped sends late what was to follow: the times of each request
// hold, and the rates do not.
func TestAStoppedClientIsSeen(t *testing.T) {
	o := rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 1024, Concurrency: 4}}}
	stop := func(us int64) func(m *made) {
		return func(m *made) {
			var from int64
			for i := range m.samples[0] {
				s := &m.samples[0][i]
				if s.Phase == row.PhaseTimed && s.Repeat == 1 && from == 0 {
					from = s.Sent + 1
				}
				if from > 0 && s.Sent >= from {
					s.Sent, s.Enqueued = s.Sent+us, s.Enqueued+us
				}
			}
		}
	}
	window := func(m *made) int64 {
		var first, last int64
		for _, s := range timed(m) {
			if end, _ := s.LastContent(); s.Repeat == 1 {
				if first == 0 {
					first = s.Sent
				}
				last = max(last, end)
			}
		}
		return last - first
	}
	plant(t, o, "client", gate.Pass, "small", func(*made) {})
	plant(t, o, "client", gate.Pass, "small", func(m *made) { stop(window(m) / 200)(m) })
	plant(t, o, "client", gate.Warn, "the streams stood empty for", func(m *made) { stop(window(m) * 3 / 100)(m) })
	plant(t, o, "client", gate.Fail, "the streams stood empty for", func(m *made) { stop(window(m) * 8 / 100)(m) })
}

// Evidence that no run leaves behind.
func TestImpossibleEvidence(t *testing.T) {
	o := rowtest.Options{}
	for reason, change := range map[string]func(m *made){
		"device 7 was read, and the receipt lists none of that index": func(m *made) { m.evidence[1].Devices[3].Index = 7 },
		"device 0 was read 9,000 s after the row's zero":              func(m *made) { m.evidence[1].Devices[3].At = 9_000_000_000 },
		"the server's metrics was read −900 s after":                  func(m *made) { m.evidence[1].Metrics[0].At = -900_000_000 },
		"capture.drops of repeat 1 is -4":                             func(m *made) { m.evidence[1].Capture[1].Drops = -4 },
		"µs of CPU in 1000000 µs on 16 cores":                         func(m *made) { k := &m.evidence[1].Capture[1]; k.Wall, k.CPU = 1_000_000, 17_100_000 },
		"tool.command is empty":                                       func(m *made) { m.report.Tool.Command = nil },
		"--cells 1024:8, and the row is of 128:32":                    func(m *made) { m.report.Tool.Command = []string{"measure", "bench", "--cells", "1024:8"} },
		"--concurrency 1,16, and the row is of 4":                     func(m *made) { m.report.Tool.Command = []string{"measure", "bench", "--concurrency=1,16"} },
	} {
		plant(t, o, "schema", gate.Fail, reason, change)
	}
	plant(t, o, "schema", gate.Pass, "the id follows", func(m *made) {
		m.report.Tool.Command = []string{"measure", "bench", "--cells=1:1,128:32", "--concurrency", "1, 4", "--repeats", "3"}
	})
	plant(t, o, "client", gate.Warn, "the clock was set 1000 times in repeat 1", func(m *made) { m.evidence[1].Capture[1].ClockSteps = 1000 })
	plant(t, o, "client", gate.Warn, "nobody can build it again", func(m *made) { m.report.Tool.Revision += "-dirty" })
	plant(t, o, "client", gate.Unjudged, "it found no error at all", func(m *made) { m.report.Client.Selftest.ITLErrorNS = row.ErrorDist{} })
	plant(t, o, "dates", gate.Fail, "the server of repeat 2 started after the row had ended", func(m *made) {
		m.evidence[1].Capture[2].ServerStartedAt = "2026-11-30T12:30:00Z"
	})
}
