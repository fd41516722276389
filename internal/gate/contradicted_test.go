package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// lastValues are what the server's counters stood at after the row.
func lastValues(m *made) map[string]float64 {
	metrics := m.evidence[1].Metrics
	return metrics[len(metrics)-1].Values
}

// firstServed puts the server's own times to a first token among a row's evidence.
func firstServed(m *made) {
	const labels = `{engine="0",model_name="model"}`
	var us, n float64
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		if first, ok := s.FirstContent(); ok {
			us, n = us+float64(first-s.Sent)-2, n+1
		}
	}
	before, after := m.evidence[1].Metrics[0].Values, lastValues(m)
	before["vllm:time_to_first_token_seconds_sum"+labels], before["vllm:time_to_first_token_seconds_count"+labels] = 3, 4
	after["vllm:time_to_first_token_seconds_sum"+labels], after["vllm:time_to_first_token_seconds_count"+labels] = 3+us/1e6, 4+n
}

// Samples that were made better, and whose evidence still says what was measured.
func TestSamplesThatTheirEvidenceContradicts(t *testing.T) {
	plain := rowtest.Options{}
	plant(t, plain, "counted", gate.Pass, "usage adds up", firstServed)
	plant(t, plain, "counted", gate.Fail, "no token is seen before it was made", func(m *made) {
		firstServed(m)
		for i := range m.samples[0] { // of each wait three fifths go into the last gap
			if s := &m.samples[0][i]; len(s.T) > 1 {
				part := s.T[0] * 3 / 5
				s.T[0] -= part
				s.T[len(s.T)-1] += part
			}
		}
	})
	plant(t, plain, "counted", gate.Pass, "usage adds up", func(m *made) { served(m, "vllm:") })
	plant(t, plain, "counted", gate.Fail, "samples were left out", func(m *made) {
		served(m, "vllm:")
		slowest, most := -1, int64(0)
		for i := range m.samples[0] {
			s := &m.samples[0][i]
			if last, ok := s.LastContent(); ok && s.Phase == row.PhaseTimed && last-s.Sent > most {
				slowest, most = i, last-s.Sent
			}
		}
		m.samples[0] = append(m.samples[0][:slowest:slowest], m.samples[0][slowest+1:]...)
	})
	hits := func(n float64) func(m *made) {
		return func(m *made) {
			for k := range lastValues(m) {
				if strings.HasPrefix(k, "vllm:prefix_cache_hits_total") {
					lastValues(m)[k] += n
				}
			}
		}
	}
	plant(t, plain, "cold", gate.Pass, "no prompt was sent twice", hits(16))
	plant(t, plain, "cold", gate.Fail, "the hit counter rose by 8192 tokens, and the requests say that 0 were cached", hits(8192))
	plant(t, plain, "cold", gate.Fail, "the row declares sessions, and no request is of one", func(m *made) {
		m.report.Rows[0].Workload.Sessions = num(1)
		for i := range m.samples[0] {
			m.samples[0][i].Cached, m.samples[0][i].WantCached = num(112), num(112)
		}
	})
	plant(t, plain, "cold", gate.Fail, "tokens were cached, and the hit counter rose by 0", func(m *made) {
		m.report.Rows[0].Workload.Prompts.SharedPrefix = 112
		for i := range m.samples[0] {
			m.samples[0][i].Cached = num(112)
		}
	})
	plant(t, plain, "client", gate.Warn, "of no stated revision", func(m *made) { m.report.Tool.Revision = "" })
}

// A row of one device is no row of a recipe of another.
func TestARecipeOfAnotherDevice(t *testing.T) {
	was := rowtest.Llama8B()
	m := makeOf(was, rowtest.Options{})
	m.seal()
	b, err := rowfile.LoadFS(m.files(t), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	target := was.Target
	target.Device = "NVIDIA B200"
	b.Now, b.Today = now, rowfile.Today(was, nil, nil, &target)
	if r := answer(b.Judge(nil)[0], "label"); r.Answer != gate.Warn {
		t.Errorf("of a device that only goes by another name: %v %s", r.Answer, r.Reason)
	}
	target.BandwidthGBs = "8000"
	b.Today = rowfile.Today(was, nil, nil, &target)
	if r := answer(b.Judge(nil)[0], "label"); r.Answer != gate.Fail || !strings.Contains(r.Reason, "target.device is "+was.Target.Device+" in the row's copy and NVIDIA B200 in the catalogue") {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
}

// What a server was started with is what its command line says, all of it.
func TestCommandLinesAndArguments(t *testing.T) {
	plain := rowtest.Options{}
	line := func(more ...string) func(m *made) {
		return func(m *made) {
			e := &m.report.Receipt.Engine
			e.ArgumentsFrom = "process command line"
			e.CommandLine = []string{"vllm", "serve"}
			for name, value := range e.Arguments {
				e.CommandLine = append(e.CommandLine, "--"+name, value)
			}
			e.CommandLine = append(e.CommandLine, more...)
			e.Arguments = row.ArgumentsOf(e.CommandLine)
		}
	}
	plant(t, plain, "label", gate.Pass, "of the recipe hold", line())
	plant(t, plain, "label", gate.Pass, "of the recipe hold", line("--port", "8000", "--served-model-name", "model"))
	plant(t, plain, "label", gate.Warn, "the server also ran with --enforce-eager true, which it does not state", line("--enforce-eager"))
	plant(t, plain, "label", gate.Fail, `the server ran with --hf-overrides {"num_hidden_layers": 8}, which the recipe does not state`, line("--hf-overrides", `{"num_hidden_layers": 8}`))
	plant(t, plain, "label", gate.Fail, "the server ran with --speculative-config", line("--speculative-config", `{"method":"ngram"}`))
	plant(t, plain, "label", gate.Fail, "is 512 among the arguments and 64 on the command line that they were read from", func(m *made) {
		line("--max-num-seqs", "64")(m)
		m.report.Receipt.Engine.Arguments["max-num-seqs"] = "512"
	})
	plant(t, plain, "label", gate.Fail, "model on the command line is qwen3-0.6b, the recipe states llama-3.1-8b", func(m *made) {
		line()(m)
		e := &m.report.Receipt.Engine
		e.CommandLine = append([]string{"vllm", "serve", "qwen3-0.6b"}, e.CommandLine[2:]...)
	})
	plant(t, plain, "label", gate.Fail, "there is none in the receipt", func(m *made) {
		line()(m)
		m.report.Receipt.Engine.CommandLine = nil
	})
}
