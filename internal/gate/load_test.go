package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// plant judges one row after a change, and tells what one gate answers. Where want blocks
// nothing, the row must be verified.
func plant(t *testing.T, o rowtest.Options, name string, want gate.Answer, reason string, change func(m *made)) {
	t.Helper()
	m := make1(1, o)
	change(m)
	m.seal()
	results := judge(t, m.files(t), nil)[0]
	for _, r := range results {
		if r.Gate == name && (r.Answer != want || !strings.Contains(r.Reason, reason)) {
			t.Errorf("%s: %v (%s), want %v (%s)", name, r.Answer, r.Reason, want, reason)
		}
	}
	if !want.Blocks() && gate.Verdict(results) != gate.Verified {
		t.Errorf("%s", blocking(results))
	}
}

var (
	openLoop = rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Rate: "8"}}, Requests: 60, Calibrated: true}
	capped   = rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 64, Rate: "20", Concurrency: 4}}, Requests: 60, Calibrated: true}
	trace    = rowtest.Options{Cells: []rowtest.Cell{{ISL: 512, OSL: 32, Rate: row.OwnTimes, Prompts: row.PromptsTrace}}, Requests: 60, Calibrated: true}
	dataset  = rowtest.Options{Cells: []rowtest.Cell{{ISL: 256, OSL: 32, Concurrency: 4, Prompts: row.PromptsDataset}}, Calibrated: true}
)

// Healthy rows of every load that is not the usual one.
func TestOtherLoadsAreVerified(t *testing.T) {
	for name, o := range map[string]rowtest.Options{"open loop": openLoop, "capped": capped, "trace": trace, "dataset": dataset,
		"several tokens a chunk": {Chunk: 4}, "ring": {Stamps: "ring", Calibrated: true}} {
		for seed := range uint64(3) {
			for _, results := range judge(t, make1(seed, o).files(t), gate.NewCorpus()) {
				if gate.Verdict(results) != gate.Verified {
					t.Errorf("%s, seed %d: %s", name, seed, blocking(results))
				}
			}
		}
	}
}

func timed(m *made) []*row.Sample {
	var out []*row.Sample
	for i := range m.samples[0] {
		if m.samples[0][i].Phase == row.PhaseTimed {
			out = append(out, &m.samples[0][i])
		}
	}
	return out
}

func num(v int64) *int64    { return &v }
func word(v string) *string { return &v }

// What is said of an open loop: no concurrency to hold it to, but the rate of its
// arrivals, and each request in the phase of its place.
func TestOpenLoop(t *testing.T) {
	plant(t, openLoop, "little", gate.NotApplicable, "open loop", func(*made) {})
	plant(t, openLoop, "queue", gate.NotApplicable, "open loop", func(*made) {})
	plant(t, openLoop, "client", gate.Pass, "small beside what it measured", func(*made) {})
	plant(t, openLoop, "client", gate.Fail, "requests a second were offered where 16 are stated", func(m *made) {
		m.report.Rows[0].Workload.Load.RequestRate = word("16")
	})
	plant(t, openLoop, "warm", gate.Fail, "is in phase drain where timed follows", func(m *made) {
		timed(m)[7].Phase = row.PhaseDrain // a slow one, say
	})
	plant(t, openLoop, "warm", gate.Fail, "is in phase ramp where timed follows: 60 follow the warm-up as timed", func(m *made) {
		for i := range m.samples[0] {
			if s := &m.samples[0][i]; s.Repeat == 1 && s.Phase == row.PhaseTimed {
				s.Phase = row.PhaseRamp // the first timed one
				break
			}
		}
	})
	plant(t, openLoop, "warm", gate.Fail, "is not among the samples", func(m *made) {
		at := len(m.samples[0]) / 2
		m.samples[0] = append(m.samples[0][:at:at], m.samples[0][at+1:]...)
	})
	plant(t, openLoop, "warm", gate.Fail, "the last request came", func(m *made) {
		w := &m.report.Rows[0].Workload
		w.Requests, w.DurationS = nil, num(60)
		for i := range m.samples[0] {
			if s := &m.samples[0][i]; s.Phase == row.PhaseDrain {
				s.Phase = row.PhaseTimed
			}
		}
	})
}

// A closed loop posed as an open one has its arrivals just as others end; an open loop
// posed as a closed one does not fill its streams.
func TestOneLoopPosedAsTheOther(t *testing.T) {
	closed := rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}, Calibrated: true}
	plant(t, closed, "client", gate.Fail, "came just as another ended: a closed loop under the name of a rate", func(m *made) {
		m.report.Rows[0].Workload.Load = row.Load{Concurrency: num(4), RequestRate: word(closedRate(m)), Burstiness: word("1")}
	})
	plant(t, openLoop, "little", gate.Fail, "in flight on average where 4 were stated", func(m *made) {
		w := &m.report.Rows[0].Workload
		w.Load, w.Warmup = row.Load{Concurrency: num(4)}, 4
	})
}

func closedRate(m *made) string {
	v := *m.report.Rows[0].Figures.RequestPerSec
	return strings.TrimRight(strings.TrimRight(formatted(v), "0"), ".")
}

// A request that waited for a slot waited by rights; one that the client sent late did not.
func TestDispatch(t *testing.T) {
	plant(t, capped, "client", gate.Pass, "small beside what it measured", func(*made) {})
	plant(t, openLoop, "client", gate.Fail, "requests were sent 3", func(m *made) {
		for _, s := range timed(m) {
			s.Enqueued -= 3000 // hidden from the evidence, and seen in the samples
		}
	})
	plant(t, openLoop, "client", gate.Fail, "after their time (p50)", func(m *made) {
		for i := range m.evidence[1].Capture {
			m.evidence[1].Capture[i].DispatchP50 = 2000
		}
	})
	plant(t, openLoop, "client", gate.Fail, "after their time (p99)", func(m *made) {
		for i := range m.evidence[1].Capture {
			m.evidence[1].Capture[i].DispatchP99 = 50_000
		}
	})
}

// Lengths are each by its own request.
func TestLengthsOfTheirOwn(t *testing.T) {
	plant(t, dataset, "lengths", gate.Pass, "as long as its own request asked", func(*made) {})
	plant(t, dataset, "lengths", gate.Pass, "as long as its own request asked", func(m *made) { *timed(m)[3].ISL++ }) // nobody asked for a text of so many
	plant(t, trace, "lengths", gate.Fail, "1 of 180 requests had prompts of", func(m *made) { *timed(m)[3].WantISL++ })
	plant(t, dataset, "lengths", gate.Fail, "1 of 120 requests brought", func(m *made) { *timed(m)[3].WantOSL++ })
	plant(t, dataset, "lengths", gate.Fail, "states a isl of p50 2048", func(m *made) {
		m.report.Rows[0].Workload.ISL, m.report.Rows[0].Workload.Lengths.ISLP50, m.report.Rows[0].Workload.Lengths.ISLP99 = 2048, 2048, 4096
	})
}

// A trace is held to what its prompts have in common: no more may come from a cache.
func TestColdOfATrace(t *testing.T) {
	plant(t, trace, "cold", gate.Pass, "came before in their repeat", func(*made) {})
	plant(t, trace, "cold", gate.Pass, "came before in their repeat", func(m *made) {
		var late, early *row.Sample // under way together, and served in the other order
		for _, s := range timed(m) {
			switch {
			case *s.WantCached == 0:
				late = s
			case *s.Cached >= 64:
				early = s
			}
		}
		*late.Cached, *early.Cached = *late.Cached+64, *early.Cached-64
	})
	plant(t, trace, "cold", gate.Fail, "were cached beyond what its prompts have in common", func(m *made) {
		for _, s := range timed(m) {
			*s.Cached = *s.WantCached + 16
		}
	})
	plant(t, trace, "cold", gate.Unjudged, "the trace's theoretical share", func(m *made) {
		for i := range m.samples[0] {
			m.samples[0][i].WantCached = nil
		}
	})
	again := func(m *made) (s, first *row.Sample) {
		of := timed(m)
		for i, s := range of[1:] {
			if *s.ISL < 300 && s.Repeat == of[i].Repeat {
				s.Prompt = of[i].Prompt
				return s, of[i]
			}
		}
		return nil, nil
	}
	plant(t, trace, "cold", gate.Fail, "a prompt was sent twice", func(m *made) { again(m) })
	plant(t, trace, "cold", gate.Pass, "came before in their repeat", func(m *made) {
		s, _ := again(m)
		*s.WantCached = *s.ISL - 8 // the trace has it so: all its whole blocks came before
	})
	plant(t, trace, "cold", gate.Fail, "a prompt was sent twice", func(m *made) {
		of := timed(m)
		s := of[len(of)-1] // of another repeat, which must have prompts of its own
		s.Prompt, s.WantCached = of[0].Prompt, num(*s.ISL)
	})
}

// A gap before a chunk of several tokens is spread over them, and the gate says so.
func TestSeveralTokensAChunk(t *testing.T) {
	plant(t, rowtest.Options{Chunk: 4}, "client", gate.Pass, "chunks carry several tokens, and the gap before one is spread over them in ITL", func(*made) {})
	plant(t, rowtest.Options{Chunk: 4}, "counted", gate.Pass, "chunks carry several tokens", func(*made) {})
}

// Usage with a hole, of two requests from the field: 405 tokens that neither part has, and
// 0 tokens beside 60 of reasoning.
func TestUsageWithAHole(t *testing.T) {
	plant(t, rowtest.Options{}, "counted", gate.Fail, "prompt 20 + completion 198 = 218, total 623: 405 in neither", func(m *made) {
		s := timed(m)[0]
		s.ISL, s.OSL, s.UsageTotal = num(20), num(198), num(623)
	})
	plant(t, rowtest.Options{}, "counted", gate.Fail, "prompt 21 + completion 0 = 21, total 81: 60 in neither", func(m *made) {
		s := timed(m)[0]
		s.ISL, s.OSL, s.UsageTotal = num(21), num(0), num(81)
	})
	plant(t, rowtest.Options{}, "counted", gate.Fail, "usage disagrees with the chunks", func(m *made) {
		timed(m)[0].OSL = num(0)
	})
}

// A dataset's prompts are those of every run of it; what was cached tells whether they
// were warm. Random prompts recur nowhere.
func TestADatasetOfAnotherRow(t *testing.T) {
	for want, o := range map[gate.Answer]rowtest.Options{gate.Pass: dataset, gate.Fail: {}} {
		m := make1(1, o)
		corpus := &gate.Corpus{Prompts: map[string]string{m.samples[0][9].Prompt: "0123456789ab"}}
		for _, r := range judge(t, m.files(t), corpus)[0] {
			if r.Gate == "cold" && r.Answer != want {
				t.Errorf("%s: %v %s", m.report.Rows[0].Workload.Prompts.Kind, r.Answer, r.Reason)
			}
		}
	}
}

// A simulated row says of its client too what its evidence tells.
func TestASimulatedRowsClient(t *testing.T) {
	simulated := func(m *made) {
		m.report.Receipt.Engine.Name, m.report.Client.Selftest = row.EmbeddedEngine, nil
	}
	plant(t, capped, "client", gate.Fail, "measure nothing; by its evidence: the client's own error is small", simulated)
	plant(t, capped, "client", gate.Fail, "measure nothing"+gate.Spoilt+"requests were sent 50,000 µs after their time (p99)", func(m *made) {
		simulated(m)
		for i := range m.evidence[1].Capture {
			m.evidence[1].Capture[i].DispatchP99 = 50_000
		}
	})
}

func TestWhatFailedComesBeforeWhatCannotBeJudged(t *testing.T) {
	results := []gate.Result{
		{Gate: "a", Answer: gate.Pass}, {Gate: "b", Answer: gate.Unjudged}, {Gate: "c", Answer: gate.Fail},
		{Gate: "d", Answer: gate.Warn}, {Gate: "e", Answer: gate.Fail}, {Gate: "f", Answer: gate.NotApplicable},
	}
	order := ""
	for _, r := range gate.Blocking(results) {
		order += r.Gate
	}
	if order != "ceb" {
		t.Errorf("told in the order %s, want ceb", order)
	}
}
