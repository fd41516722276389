package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// condition is what a run can see of its server and of that server's host.
type condition struct {
	engine                                      string
	seen                                        string
	recipe, usage, cached, counters, test, spec bool
}

func (c *condition) String() string {
	text := c.engine + ", " + c.seen
	for _, f := range []struct {
		name string
		is   bool
	}{{"recipe", c.recipe}, {"usage", c.usage}, {"cached tokens", c.cached}, {"counters", c.counters}, {"selftest", c.test}, {"speculation", c.spec}} {
		if !f.is {
			f.name = "no " + f.name
		}
		text += ", " + f.name
	}
	return text
}

// Ways in which a run comes by what is known of the server's host.
const (
	seenHere     = "on the server's own host"
	seenHidden   = "where a container hides the processes on the devices"
	seenLaunched = "where they are hidden, having launched the server"
	seenAfar     = "from elsewhere"
	seenWatched  = "from elsewhere with a receipt that was watched"
	seenOnce     = "from elsewhere with a receipt that was read once"
	seenNoClock  = "where the driver tells no memory clock"
	seenNoNUMA   = "where the kernel tells nothing of NUMA balancing"
)

// run makes the row that such a run would write, and what foretells its gates.
func (c *condition) run(t *testing.T) (*sweep, *rowfile.Bundle) {
	was := rowtest.Llama8B()
	was.Recipe.Engine.Name = c.engine
	if c.spec {
		was.Recipe.Speculation = &row.Speculation{Method: "ngram", DraftTokens: 3}
	}
	if c.engine != "vllm" {
		was.Recipe.Engine.Version = "0.5.16"
		was.Recipe.Runtime.Packages = map[string]string{c.engine: "0.5.16"}
	}
	r, samples, evidence := rowtest.Report(3, rowtest.Options{
		Recipe: "llama-3.1-8b/h200-sxm/latency/" + c.engine, AsItWas: was, Requests: 8, Repeats: 1, Warmup: 1,
		Cells: []rowtest.Cell{{ISL: 64, OSL: 40, Concurrency: 2}},
	})
	s := &sweep{o: &benchOptions{}, srv: &server{engine: c.engine, metrics: "/metrics"}, answer: &row.Sample{}}
	ev := &evidence[1]
	ev.Unread = map[string]string{}
	for _, m := range ev.Metrics {
		for name := range m.Values {
			if !row.CountsHits(c.engine) && strings.Contains(name, "cache_hits") {
				delete(m.Values, name)
			}
		}
	}
	if c.spec {
		for i := range ev.Metrics {
			v := ev.Metrics[i].Values
			v["vllm:spec_decode_num_drafts_total"] = float64(100 * i)
			v["vllm:spec_decode_num_draft_tokens_total"] = float64(300 * i)
			v["vllm:spec_decode_num_accepted_tokens_total"] = float64(100 * i)
		}
	}
	n := int64(1)
	if c.usage {
		s.answer.ISL, s.answer.OSL = &n, &n
	}
	if c.usage && c.cached {
		s.answer.Cached = &n
	}
	for i := range samples[0] {
		one := &samples[0][i]
		if !c.usage {
			one.ISL, one.OSL, one.TokensFrom = nil, nil, row.TokensClient
		}
		if s.answer.Cached == nil {
			one.Cached = nil
		}
	}
	receipt := &r.Receipt
	afar := func() {
		receipt.Taken = &row.Taken{At: r.MeasuredAt, Until: r.MeasuredAt, Host: "gpu-7", SHA256: strings.Repeat("0", 64)}
	}
	file := &row.ReceiptFile{At: r.MeasuredAt, Until: r.MeasuredAt}
	file.Evidence.Metrics = slices.Clone(ev.Metrics)
	switch c.seen {
	case seenHidden, seenLaunched:
		ev.Apps, ev.Unread["apps"] = nil, "a container hides the processes of others"
		maps.Copy(receipt.Unread, ev.Unread)
		for i := range receipt.Devices {
			receipt.Devices[i].Processes = nil
		}
		if c.seen == seenLaunched {
			free := int64(4 << 20)
			receipt.BeforeLaunch = &row.BeforeLaunch{At: r.MeasuredAt, Devices: []row.DeviceMemory{{Index: 0, MemoryUsed: &free}}}
		}
	case seenAfar:
		r.Receipt = row.Receipt{
			Engine:  row.EngineReceipt{Name: c.engine, Version: was.Recipe.Engine.Version, Model: receipt.Engine.Model, Arguments: map[string]string{}},
			Weights: row.WeightsReceipt{Source: "unknown"}, Devices: []row.Device{}, Host: receipt.Host,
			Runtime: row.RuntimeReceipt{Kind: "unknown", Packages: map[string]string{}},
			Unread:  map[string]string{"devices": "the server is not on this host", "engine.arguments": "the server does not report them"},
		}
		receipt = &r.Receipt
		ev.Devices, ev.Apps = nil, nil
		evidence[0].Process = nil
	case seenWatched:
		afar()
		file.Watch = true
		for _, m := range ev.Metrics {
			m.Values = maps.Clone(m.Values)
			switch m.When {
			case row.Before:
				m.At -= 2 * row.ClocksApart
			case row.After:
				m.At += 2 * row.ClocksApart
			}
			ev.Watched = append(ev.Watched, m)
		}
	case seenOnce:
		afar()
	case seenNoClock:
		for i := range ev.Devices {
			ev.Devices[i].MemoryClock = nil
		}
		receipt.Unread["devices[0].memory_clock_mhz"] = "the driver does not report it"
	case seenNoNUMA:
		receipt.Host.NUMABalancing = nil
	}
	if !c.counters {
		s.srv.metrics = ""
		ev.Metrics, ev.Watched, file.Evidence.Metrics = nil, nil, nil
		ev.Unread["metrics"] = "HTTP 404"
	}
	if receipt.Taken != nil {
		s.untied = untiedBy(file)
	}
	if !c.test {
		r.Client.Selftest = nil
	}
	if !c.recipe {
		r.Recipe, r.AsItWas = "", nil
	}
	rowtest.Seal(r, samples, evidence)
	_, sums, err := rowfile.EncodeEvidence(evidence)
	if err != nil {
		t.Fatal(err)
	}
	one := &r.Rows[0]
	return s, &rowfile.Bundle{
		Path: "run.json", Report: r, Evidence: evidence, EvidenceSums: sums, Now: "2026-12-01T00:00:00Z",
		Rows: []rowfile.RowData{{Row: one, ComputedID: one.ID, SamplesSHA256: *one.Proof.Samples, EvidenceSHA256: *one.Proof.Evidence, Samples: samples[0], Evidence: ev}},
	}
}

// What is foretold before a run is what the gates then say of its row, whatever of the
// server and its host can be seen.
func TestForetoldAsTheGatesAnswer(t *testing.T) {
	cases := 0
	flip := []bool{true, false}
	for _, engine := range []string{"vllm", "sglang", "llamacpp", "ollama"} {
		for _, seen := range []string{seenHere, seenHidden, seenLaunched, seenAfar, seenWatched, seenOnce, seenNoClock, seenNoNUMA} {
			for _, recipe := range flip {
				for _, counters := range flip {
					for _, usage := range flip {
						for _, cached := range flip {
							for _, spec := range flip {
								if spec && engine != "vllm" || cached && !usage {
									continue
								}
								c := condition{engine, seen, recipe, usage, cached, counters, cases%3 > 0, spec}
								cases++
								s, b := c.run(t)
								foretold := map[string]bool{}
								for _, one := range s.closedGates(b.Report) {
									if one.Why == "" || one.Open == "" {
										t.Errorf("%v: %v is foretold without a reason or what opens it: %+v", &c, one.Gates, one)
									}
									for _, name := range one.Gates {
										foretold[name] = true
									}
								}
								for _, r := range b.Judge(nil)[0] {
									if closed := r.Answer == gate.Unjudged; closed != foretold[r.Gate] {
										t.Errorf("%v: gate %s foretold as closed: %t; it answers %v: %s", &c, r.Gate, foretold[r.Gate], r.Answer, r.Reason)
									}
								}
							}
						}
					}
				}
			}
		}
	}
	if cases < 400 {
		t.Error(fmt.Sprint("only ", cases, " cases"))
	}
}
