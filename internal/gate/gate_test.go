package gate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// made is a report with its files, before they are written.
type made struct {
	report   *row.Report
	samples  [][]row.Sample
	evidence []row.Evidence
}

func (m *made) seal() { rowtest.Seal(m.report, m.samples, m.evidence) }

// files writes a report into memory.
func (m *made) files(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	put := func(name string, data []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		fsys[name] = &fstest.MapFile{Data: data}
	}
	for i := range m.samples {
		data, err := rowfile.EncodeSamples(m.samples[i])
		put(m.report.Rows[i].Samples.File, data, err)
	}
	data, _, err := rowfile.EncodeEvidence(m.evidence)
	put("r.evidence.jsonl.gz", data, err)
	data, err = rowfile.Encode(m.report)
	put("r.json", data, err)
	return fsys
}

const now = "2026-12-01T00:00:00Z"

func judge(t *testing.T, fsys fstest.MapFS, corpus *gate.Corpus) [][]gate.Result {
	t.Helper()
	b, err := rowfile.LoadFS(fsys, "r.json")
	if err != nil {
		t.Fatal(err)
	}
	b.Now = now
	return b.Judge(corpus)
}

func make1(seed uint64, o rowtest.Options) *made {
	if o.Cells == nil {
		o.Cells = []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}
	}
	r, s, e := rowtest.Report(seed, o)
	return &made{r, s, e}
}

func answers(results []gate.Result) map[string]gate.Answer {
	out := map[string]gate.Answer{}
	for _, r := range results {
		out[r.Gate] = r.Answer
	}
	return out
}

func late(d *row.ErrorDist, p99 int64) { d.P99, d.Max = p99, p99 }

// Each defect is planted in a healthy row and must be answered by the gate it was made
// for, with every other answer as the healthy twin's.
func TestPlantedDefects(t *testing.T) {
	timedAt := func(m *made) int {
		for i, s := range m.samples[0] {
			if s.Phase == row.PhaseTimed {
				return i
			}
		}
		t.Fatal("no timed request")
		return 0
	}
	sealed := func(change func(m *made)) func(*made, *testing.T) fstest.MapFS {
		return func(m *made, t *testing.T) fstest.MapFS {
			change(m)
			m.seal()
			return m.files(t)
		}
	}
	unsealed := func(change func(m *made)) func(*made, *testing.T) fstest.MapFS {
		return func(m *made, t *testing.T) fstest.MapFS {
			change(m)
			return m.files(t)
		}
	}
	edited := func(old, new string) func(*made, *testing.T) fstest.MapFS {
		return func(m *made, t *testing.T) fstest.MapFS {
			fsys := m.files(t)
			text := string(fsys["r.json"].Data)
			if !strings.Contains(text, old) {
				t.Fatalf("nothing to edit: %s", old)
			}
			fsys["r.json"].Data = []byte(strings.Replace(text, old, new, 1))
			return fsys
		}
	}
	p := func(v int64) *int64 { return &v }
	twin := answers(judge(t, make1(1, rowtest.Options{}).files(t), nil)[0])
	for _, c := range []struct {
		name   string
		plant  func(*made, *testing.T) fstest.MapFS
		gate   string
		answer gate.Answer
		reason string
		also   map[string]gate.Answer // what the same defect takes from other gates
	}{
		{"the hashed part was edited", edited(`"cores": 16`, `"cores": 17`), "schema", gate.Fail, "the id does not follow", nil},
		{"an unknown field", edited(`"status": "ok",`, `"status": "ok", "verdict": "verified",`), "schema", gate.Fail, `unknown field "verdict"`, nil},
		{"a duplicate key", edited(`"status": "ok",`, `"status": "ok", "status": "ok",`), "schema", gate.Fail, `key "status" stands twice`, nil},
		{"a figure was edited", unsealed(func(m *made) { *m.report.Rows[0].Figures.TTFT.P50 *= 1 + 1e-7 }),
			"recompute", gate.Fail, "ttft_ms.p50", nil},
		{"the inverse of a spread for the spread of an inverse", unsealed(func(m *made) {
			f := &m.report.Rows[0].Figures
			i := f.Intervals["output_tok_s"]
			f.Intervals["output_tok_s"] = row.Interval{1 / i[1], 1 / i[0]}
		}), "recompute", gate.Fail, "intervals.output_tok_s", nil},
		{"a null without a reason", unsealed(func(m *made) { delete(m.report.Rows[0].Missing, "peak_memory_bytes") }),
			"recompute", gate.Fail, "missing.peak_memory_bytes", nil},
		{"a count was edited", unsealed(func(m *made) { m.report.Rows[0].Counts.Chunks++ }), "recompute", gate.Fail, "counts.chunks", nil},
		{"a server figure was edited", unsealed(func(m *made) { m.report.Rows[0].Server.RunningMax = p(3) }),
			"recompute", gate.Fail, "server.running_max", nil},
		{"another reason of a null", unsealed(func(m *made) { m.report.Rows[0].Missing["peak_memory_bytes"] = "42 GB, by the maker's word" }),
			"recompute", gate.Fail, "missing.peak_memory_bytes", nil},
		{"a reason for nothing that is missing", unsealed(func(m *made) { m.report.Rows[0].Missing["speed"] = "the best there is" }),
			"recompute", gate.Fail, `missing.speed is "the best there is", the samples give no reason`, nil},
		{"a reason on a row that is ok", unsealed(func(m *made) { m.report.Rows[0].Reason = "none faster" }),
			"recompute", gate.Fail, "reason is none faster", nil},
		{"a note of another number of repeats", unsealed(func(m *made) { m.report.Rows[0].Notes = []string{"protocol=sustained", "repeats=9"} }),
			"recompute", gate.Fail, `notes is "repeats=9"`, nil},
		{"an invented note", unsealed(func(m *made) { m.report.Rows[0].Notes = []string{"audited by the maker"} }),
			"recompute", gate.Fail, `notes is "audited by the maker"`, nil},
		{"a share of shared stamps that was not", unsealed(func(m *made) {
			m.report.Rows[0].Notes = []string{"shared_stamps=1.0% of the chunks (one read brought several)"}
		}), "recompute", gate.Fail, "notes is", nil},
		{"another samples file", unsealed(func(m *made) { m.samples[0][timedAt(m)].T[1]++ }),
			"recompute", gate.Fail, "wrong checksum", nil},
		{"another evidence file", unsealed(func(m *made) { m.evidence[1].Zero = "2026-11-30T12:00:01Z" }),
			"recompute", gate.Fail, "wrong checksum", nil},
		{"a request failed", sealed(func(m *made) {
			s := &m.samples[0][timedAt(m)]
			s.Status, s.Reason = row.StatusError, "error event: out of memory"
		}), "complete", gate.Fail, "1 of 120 requests failed; the first: error event: out of memory", nil},
		{"a request was left out", sealed(func(m *made) {
			i := timedAt(m)
			m.samples[0] = append(m.samples[0][:i:i], m.samples[0][i+1:]...)
		}), "complete", gate.Fail, "119 of 120 planned requests completed", map[string]gate.Answer{"warm": gate.Fail, "client": gate.Warn}},
		{"an output was short", sealed(func(m *made) {
			s := &m.samples[0][timedAt(m)]
			s.T, s.OSL = s.T[:31], p(31)
		}), "lengths", gate.Fail, "1 of 120 requests brought 31 to 32 tokens where 32 were asked", nil},
		{"a prompt was long", sealed(func(m *made) { m.samples[0][timedAt(m)].ISL = p(129) }),
			"lengths", gate.Fail, "had prompts of 128 to 129 tokens", nil},
		{"usage has a hole", sealed(func(m *made) { m.samples[0][timedAt(m)].UsageTotal = p(565) }),
			"counted", gate.Fail, "405 in neither", map[string]gate.Answer{"ceiling": gate.Unjudged}},
		{"a chunk is counted twice", sealed(func(m *made) {
			s := &m.samples[0][timedAt(m)]
			s.N = make([]int64, len(s.T))
			for i := range s.N {
				s.N[i] = 1
			}
			s.N[3] = 2
		}), "counted", gate.Fail, "has 32 tokens by usage and 33 in its chunks", map[string]gate.Answer{"ceiling": gate.Unjudged}},
		{"tokens counted by us", sealed(func(m *made) {
			for i := range m.samples[0] {
				m.samples[0][i].OSL, m.samples[0][i].TokensFrom = nil, row.TokensClient
			}
		}), "counted", gate.Unjudged, "missing usage", map[string]gate.Answer{"lengths": gate.Unjudged}},
		{"a cached prompt", sealed(func(m *made) { m.samples[0][timedAt(m)].Cached = p(112) }),
			"cold", gate.Fail, "112 tokens cached", nil},
		{"every prompt a little cached", sealed(func(m *made) {
			for i := range m.samples[0] {
				m.samples[0][i].Cached = p(2)
			}
		}), "cold", gate.Fail, "1.562% of the prompt tokens", nil},
		{"a prompt sent twice", sealed(func(m *made) {
			i := timedAt(m)
			m.samples[0][i].Prompt = m.samples[0][0].Prompt
		}), "cold", gate.Fail, "sent twice", nil},
		{"cached tokens unknown, and the counter rose", sealed(func(m *made) {
			for i := range m.samples[0] {
				m.samples[0][i].Cached = nil
			}
			last := m.evidence[1].Metrics[len(m.evidence[1].Metrics)-1].Values
			for k := range last {
				if strings.HasPrefix(k, "vllm:prefix_cache_hits_total") {
					last[k] = 4096
				}
			}
		}), "cold", gate.Fail, "the hit counter rose by 4096", nil},
		{"no source for cached tokens", sealed(func(m *made) {
			for i := range m.samples[0] {
				m.samples[0][i].Cached = nil
			}
			m.evidence[1].Metrics = nil
		}), "cold", gate.Unjudged, "missing cached tokens", map[string]gate.Answer{"ceiling": gate.Unjudged, "counted": gate.Unjudged}},
		{"no warm-up", sealed(func(m *made) {
			w := &m.report.Rows[0].Workload
			w.Warmup = 0
			for i := range m.samples[0] {
				s := &m.samples[0][i]
				if s.Phase = row.PhaseTimed; s.I >= *w.Requests {
					s.Phase = row.PhaseDrain
				}
			}
		}), "warm", gate.Warn, "cold start", nil},
		{"a slow request moved into the drain", sealed(func(m *made) {
			last := 0
			for i, s := range m.samples[0] {
				if s.Repeat == 0 && s.Phase == row.PhaseTimed {
					last = i
				}
			}
			m.samples[0][last].Phase = row.PhaseDrain
		}), "warm", gate.Fail, "is in phase drain where timed follows: 40 follow the warm-up as timed", map[string]gate.Answer{"complete": gate.Fail}},
		{"a slow request called a ramp", sealed(func(m *made) { m.samples[0][timedAt(m)+3].Phase = row.PhaseRamp }), "warm", gate.Fail,
			"timed requests began before the warm-up was over", map[string]gate.Answer{"complete": gate.Fail}},
		{"a slow request left out of a duration", sealed(func(m *made) {
			w := &m.report.Rows[0].Workload
			w.Requests, w.DurationS = nil, p(3600)
			i := timedAt(m)
			m.samples[0] = append(m.samples[0][:i:i], m.samples[0][i+1:]...)
		}), "warm", gate.Fail, "request 8 is not among the samples", map[string]gate.Answer{"client": gate.Warn}},
		{"a duration that did not end there", sealed(func(m *made) {
			w := &m.report.Rows[0].Workload
			w.Requests, w.DurationS = nil, p(3600)
		}), "warm", gate.Fail, "is in phase drain where timed follows: it was enqueued", nil},
		{"enqueued out of order", sealed(func(m *made) {
			i := timedAt(m) + 20
			m.samples[0][i].I, m.samples[0][i+9].I = m.samples[0][i+9].I, m.samples[0][i].I
		}), "warm", gate.Fail, "was enqueued before requests of a lower number", nil},
		{"a failure in the warm-up", sealed(func(m *made) {
			s := &m.samples[0][timedAt(m)-2]
			s.Status, s.Reason = row.StatusError, "status 500"
		}), "complete", gate.Warn, "1 request failed before the timed ones", nil},
		{"no hash of a prompt", sealed(func(m *made) { m.samples[0][timedAt(m)].Prompt = "" }), "cold", gate.Unjudged,
			"missing the prompt's hash of 1 of", nil},
		{"a repeat copied", sealed(func(m *made) {
			var of [3][]*row.Sample
			for i := range m.samples[0] {
				s := &m.samples[0][i]
				of[s.Repeat] = append(of[s.Repeat], s)
			}
			shift := of[2][0].Enqueued - of[1][0].Enqueued
			for i, s := range of[2] {
				if i < len(of[1]) {
					s.Enqueued, s.Sent, s.T, s.Worker = of[1][i].Enqueued+shift, of[1][i].Sent+shift, of[1][i].T, of[1][i].Worker
				}
			}
		}), "repeats", gate.Fail, "a request of repeat 2 has the gaps of one of repeat 1, one by one", nil},
		{"repeats at one time", sealed(func(m *made) {
			var begin [3]int64
			for i := len(m.samples[0]) - 1; i >= 0; i-- {
				begin[m.samples[0][i].Repeat] = m.samples[0][i].Enqueued
			}
			for i := range m.samples[0] {
				if s := &m.samples[0][i]; s.Repeat == 2 {
					s.Enqueued, s.Sent = s.Enqueued-begin[2]+begin[1], s.Sent-begin[2]+begin[1]
				}
			}
		}), "repeats", gate.Fail, "repeat 2 began before repeat 1 had ended", nil},
		{"fewer repeats than stated", sealed(func(m *made) {
			m.report.Rows[0].Workload.Repeats = 4
		}), "repeats", gate.Fail, "the workload states 4 repeats, and 3 are among the samples", map[string]gate.Answer{"complete": gate.Fail}},
		{"a stream with two requests at one time", sealed(func(m *made) {
			i := timedAt(m)
			m.samples[0][i].Worker = m.samples[0][i+1].Worker
		}), "repeats", gate.Fail, "at one time", map[string]gate.Answer{"client": gate.Warn}},
		{"a timed request amid the warm-up", sealed(func(m *made) {
			i := timedAt(m)
			m.samples[0][i].Phase, m.samples[0][i-4].Phase = m.samples[0][i-4].Phase, row.PhaseTimed
		}), "warm", gate.Fail, "began before the warm-up was over", nil},
		{"the first call is not apart", sealed(func(m *made) { m.samples[0][0].Phase = row.PhaseWarm }),
			"warm", gate.Fail, "0 requests in phase first", nil},
		{"a concurrency that was not offered", sealed(func(m *made) { m.report.Rows[0].Workload.Load.Concurrency = p(8) }),
			"little", gate.Fail, "were in flight on average where 8 were stated",
			map[string]gate.Answer{"queue": gate.Warn, "warm": gate.Fail}},
		{"no recipe", sealed(func(m *made) { m.report.AsItWas = nil }), "ceiling", gate.Unjudged, "missing a recipe",
			map[string]gate.Answer{"denominator": gate.NotApplicable, "label": gate.NotApplicable, "host": gate.Unjudged}},
		{"an unknown dtype", sealed(func(m *made) { m.report.AsItWas.Recipe.Weights.Dtype = "int3" }),
			"ceiling", gate.Unjudged, "int3", map[string]gate.Answer{"label": gate.Fail}},
		{"a client that was late", sealed(func(m *made) { late(&m.report.Client.Selftest.ITLErrorNS, 300_000) }),
			"client", gate.Fail, "the client's own ITL error p99 is 300 µs", nil},
		{"a client late with first tokens", sealed(func(m *made) { late(&m.report.Client.Selftest.TTFTErrorNS, 300_000) }),
			"client", gate.Fail, "the client's own TTFT error p99 is 300 µs", nil},
		{"a simulated run", sealed(func(m *made) { m.report.Receipt.Engine.Name, m.report.Client.Selftest = row.EmbeddedEngine, nil }), "client", gate.Fail,
			"simulated rows are not publishable", map[string]gate.Answer{"label": gate.Fail}},
		{"no selftest", sealed(func(m *made) { m.report.Client.Selftest = nil }), "client", gate.Unjudged, "missing a selftest", nil},
		{"a selftest of fewer streams", sealed(func(m *made) { m.report.Client.Selftest.Streams = 2 }),
			"client", gate.Unjudged, "missing a selftest with 4 streams: it ran with 2", nil},
		{"chunks without a stamp", sealed(func(m *made) {
			for i := range m.samples[0] {
				m.samples[0][i].T[5] = row.NoStamp
			}
		}), "client", gate.Fail, "120 of 3840 chunks have no stamp", nil},
		{"a queue of requests", func(m *made, t *testing.T) fstest.MapFS {
			return make1(1, rowtest.Options{Slots: 2}).files(t)
		}, "queue", gate.Warn, "queue-bound: at most 2 of 4 streams", nil},
		{"two GPU counts", sealed(func(m *made) {
			m.report.Receipt.Devices = append(m.report.Receipt.Devices, m.report.Receipt.Devices[0])
		}), "denominator", gate.Fail, "two counts: the server holds 2 GPUs, and the per-GPU figures are over 1", nil},
		{"another engine version", sealed(func(m *made) { m.report.Receipt.Engine.Version = "0.27.0" }),
			"label", gate.Fail, "engine version is 0.27.0, the recipe states 0.26.0", nil},
		{"a flag with another value", sealed(func(m *made) { m.report.Receipt.Engine.Arguments["max-model-len"] = "8192" }),
			"label", gate.Fail, "--max-model-len is 8192, the recipe states 16384", nil},
		{"a flag left out", sealed(func(m *made) { delete(m.report.Receipt.Engine.Arguments, "enable-prompt-tokens-details") }),
			"label", gate.Fail, "--enable-prompt-tokens-details is not given", nil},
		{"another package", sealed(func(m *made) {
			m.report.Receipt.Runtime.Packages = map[string]string{"vllm": "0.26.0", "torch": "2.10.0"}
		}), "label", gate.Fail, "package torch is 2.10.0, the recipe states 2.11.0", nil},
		{"quantized weights under a bf16 label", sealed(func(m *made) { m.report.Receipt.Engine.Arguments["quantization"] = "fp8" }),
			"label", gate.Fail, "weights dtype is quantization fp8, the recipe states bf16", nil},
		{"an fp8 cache under a bf16 label", sealed(func(m *made) { m.report.Receipt.Engine.Arguments["kv-cache-dtype"] = "fp8" }),
			"label", gate.Fail, "KV dtype is kv-cache-dtype fp8, the recipe states bf16", nil},
		{"two GPUs under a label of one", sealed(func(m *made) { m.report.Receipt.Engine.Arguments["tensor_parallel_size"] = "2" }),
			"label", gate.Fail, "tensor parallel size is 2, the recipe states 1", nil},
		{"real weights under a random label", sealed(func(m *made) { m.report.Receipt.Weights.Source = "repository" }),
			"label", gate.Fail, "weights is repository, the recipe states random", nil},
		{"another device", sealed(func(m *made) { m.report.Receipt.Devices[0].Name = "NVIDIA H100" }),
			"label", gate.Fail, "device 0 is NVIDIA H100, the recipe states NVIDIA H200", nil},
		{"a server that could not be read", sealed(func(m *made) {
			m.report.Receipt.Engine.Arguments, m.report.Receipt.Runtime.Packages = map[string]string{}, map[string]string{}
		}), "label", gate.Unjudged, "missing what the server reports of: flags, package torch, package vllm", nil},
		{"another model served", sealed(func(m *made) { m.report.Receipt.Engine.Model = "meta-llama/Llama-3.2-1B" }),
			"label", gate.Fail, "served model is meta-llama/Llama-3.2-1B, the recipe states llama-3.1-8b", nil},
		{"another model under a name of the right one", sealed(func(m *made) {
			m.report.Receipt.Engine.Arguments["model"] = "/models/tiny-llama-3.1-8b"
			m.report.Receipt.Engine.Arguments["served-model-name"] = "llama-3.1-8b"
		}), "label", gate.Fail, "model argument is /models/tiny-llama-3.1-8b, the recipe states llama-3.1-8b", nil},
		{"the right model under another name", sealed(func(m *made) {
			m.report.Receipt.Engine.Arguments["model"] = "/cache/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0e9e39f"
			m.report.Receipt.Engine.Arguments["served_model_name"] = "chat"
			m.report.Receipt.Engine.Model = "chat"
		}), "label", gate.Pass, "of the recipe hold", nil},
		{"a path to the right model", sealed(func(m *made) { m.report.Receipt.Engine.Model = "/models/Llama-3.1-8B-Instruct/" }),
			"label", gate.Fail, "served model is /models/Llama-3.1-8B-Instruct/", nil},
		{"a path that ends in its repository", sealed(func(m *made) { m.report.Receipt.Engine.Model = "/models/meta-llama/Llama-3.1-8B-Instruct/" }),
			"label", gate.Pass, "of the recipe hold", nil},
		{"no model", sealed(func(m *made) { m.report.Receipt.Engine.Model = "" }), "label", gate.Unjudged, "missing what the server reports of: served model", nil},
		{"a server that started after the run", sealed(func(m *made) { m.report.Receipt.Engine.StartedAt = "2026-11-30T12:00:06Z" }),
			"dates", gate.Fail, "the server started after the run had begun", nil},
		{"a row from before its run", sealed(func(m *made) { m.evidence[1].Zero = "2026-11-30T11:58:59.99Z" }),
			"dates", gate.Fail, "the row's zero is not within the run", nil},
		{"a row from long after its run", sealed(func(m *made) {
			m.report.MeasuredAt, m.report.Receipt.Engine.StartedAt = "2026-11-23T11:59:59Z", "2026-11-23T11:40:00Z"
		}), "dates", gate.Fail, "the row's zero is not within the run", nil},
		{"a row from the future", sealed(func(m *made) { m.evidence[1].Zero = "2026-12-01T00:00:01Z" }),
			"dates", gate.Fail, "measured in the future", nil},
		{"from before any engine", sealed(func(m *made) {
			m.report.MeasuredAt, m.report.Receipt.Engine.StartedAt = "2022-12-31T23:59:59Z", "2022-12-31T23:00:00Z"
			m.evidence[1].Zero = "2023-01-01T00:00:00Z"
		}), "dates", gate.Fail, "before any engine that is measured here", nil},
		{"from before its engine was released", sealed(func(m *made) {
			m.report.MeasuredAt, m.report.Receipt.Engine.StartedAt = "2026-07-17T23:00:00Z", "2026-07-17T22:00:00Z"
			m.evidence[1].Zero = "2026-07-17T23:00:01Z"
			for i := range m.evidence[1].Capture {
				m.evidence[1].Capture[i].ServerStartedAt = "2026-07-17T22:00:00Z"
			}
		}), "dates", gate.Fail, "measured before vllm 0.26.0 was released", nil},
		{"a version that was never released", sealed(func(m *made) {
			m.report.Receipt.Engine.Version, m.report.AsItWas.Recipe.Engine.Version = "0.27.0rc1", "0.27.0rc1"
		}), "dates", gate.Pass, "when vllm 0.27.0rc1 was released is not known here", nil},
		{"NUMA balancing on", sealed(func(m *made) { m.report.Receipt.Host.NUMABalancing = p(2) }),
			"host", gate.Fail, "NUMA balancing is on (2)", nil},
		{"a hot device", sealed(func(m *made) { m.evidence[1].Devices[7].Throttle = "0x0000000000000060" }),
			"host", gate.Fail, "device 0: software thermal slowdown; device 0: hardware thermal slowdown", nil},
		{"a power cap by software", sealed(func(m *made) { m.evidence[1].Devices[7].Throttle = "0x5" }),
			"host", gate.Warn, "device 0: software power cap", nil},
		{"idle and application clocks", sealed(func(m *made) { m.evidence[1].Devices[7].Throttle = "0x3" }),
			"host", gate.Pass, "nothing slowed the host down", nil},
		{"hot memory of an AMD device", sealed(func(m *made) {
			m.evidence[1].Devices[7].Throttle, m.evidence[1].Devices[7].Violations = "", []string{"hbm_thermal", "ppt"}
		}), "host", gate.Fail, "device 0: thermal slowdown of the memory", nil},
		{"an AMD device at its power cap", sealed(func(m *made) {
			m.evidence[1].Devices[7].Throttle, m.evidence[1].Devices[7].Violations = "", []string{"low_utilization", "ppt"}
		}), "host", gate.Warn, "device 0: power cap (PPT)", nil},
		{"an AMD device that nothing slows down", sealed(func(m *made) {
			m.evidence[1].Devices[7].Throttle, m.evidence[1].Devices[7].Violations = "", []string{}
		}), "host", gate.Pass, "nothing slowed the host down", nil},
		{"a memory clock that is rounded", sealed(func(m *made) { m.evidence[1].Devices[7].MemoryClock = p(3200) }),
			"host", gate.Pass, "nothing slowed the host down", nil},
		{"a slow memory clock", sealed(func(m *made) { m.evidence[1].Devices[7].MemoryClock = p(2619) }),
			"host", gate.Fail, "device 0: memory clock below its maximum", nil},
		{"another power limit", sealed(func(m *made) {
			limit := 500.0
			for i := range m.evidence[1].Devices {
				m.evidence[1].Devices[i].PowerLimitW = &limit
			}
		}), "host", gate.Fail, "power limit 500 W, the target's is 700 W", nil},
		{"a stranger on the device", sealed(func(m *made) {
			m.evidence[1].Apps = append(m.evidence[1].Apps, row.DeviceApp{When: row.After, PID: 99, Name: "python3"})
		}), "host", gate.Fail, "device 0 was shared with process 99 (python3)", nil},
		{"a stranger on another device", sealed(func(m *made) {
			m.evidence[1].Apps = append(m.evidence[1].Apps, row.DeviceApp{When: row.After, PID: 99, Name: "python3", Index: 1})
		}), "host", gate.Warn, "process 99 (python3) on device 1, which the server does not use", nil},
		{"processes that a container hides", sealed(func(m *made) {
			m.evidence[1].Apps, m.evidence[1].Unread = nil, map[string]string{"apps": "a container hides them"}
		}), "host", gate.Unjudged, "missing the devices' processes (a container hides them)", nil},
		{"hidden processes, and memory that was free before the launch", sealed(func(m *made) {
			hidden(m, 450<<20)
		}), "host", gate.Pass, "nobody shared its devices", nil},
		{"hidden processes, and memory in use before the launch", sealed(func(m *made) {
			hidden(m, 9<<30)
		}), "host", gate.Fail, "device 0 was shared with a process that is hidden: 9 GiB of its memory were in use before the server was launched", nil},
		{"hidden processes, and no reading before the launch", sealed(func(m *made) {
			hidden(m, 0)
			m.report.Receipt.BeforeLaunch.Devices, m.report.Receipt.BeforeLaunch.Unread = []row.DeviceMemory{}, "nvidia-smi failed"
		}), "host", gate.Unjudged, "the memory in use on it before the launch (a container hides them; before the launch: nvidia-smi failed)", nil},
		{"processes that are seen, and memory in use before the launch", sealed(func(m *made) {
			apps := m.evidence[1].Apps
			hidden(m, 9<<30)
			m.evidence[1].Apps, m.evidence[1].Unread = apps, nil
		}), "host", gate.Pass, "nobody shared its devices", nil},
		{"no device readings", sealed(func(m *made) { m.evidence[1].Devices = nil }), "host", gate.Unjudged, "missing device readings", nil},
		{"throttle reasons not reported", sealed(func(m *made) { m.evidence[1].Devices[7].Throttle = "" }),
			"host", gate.Unjudged, "missing throttle reasons of device 0", nil},
		{"no reading during the row", sealed(func(m *made) {
			d := m.evidence[1].Devices
			m.evidence[1].Devices = []row.DeviceSample{d[0], d[len(d)-1]}
		}), "host", gate.Unjudged, "missing a reading of device 0 during the row", nil},
		{"devices unknown", sealed(func(m *made) { m.report.Receipt.Devices = nil }), "denominator", gate.Unjudged, "missing the devices", nil},
		{"speculation that the recipe does not state", sealed(func(m *made) { drafts(m, 100, 300, 100) }),
			"speculation", gate.Fail, "states no speculation, and the server counted", nil},
		{"one repeat", func(m *made, t *testing.T) fstest.MapFS {
			return make1(1, rowtest.Options{Repeats: 1}).files(t)
		}, "repeats", gate.Warn, "1 repeat: shown, and not ranked", nil},
		{"from the future", sealed(func(m *made) { m.report.MeasuredAt = "2027-01-01T00:00:00Z" }),
			"dates", gate.Fail, "measured in the future", nil},
		{"faster than its bytes", func(m *made, t *testing.T) fstest.MapFS {
			return make1(1, rowtest.Options{Slowness: 0.6}).files(t)
		}, "ceiling", gate.Fail, "is below the hard roof", nil},
		{"one request faster than its prefill", sealed(func(m *made) { m.samples[0][timedAt(m)].T[0] = 300 }),
			"ceiling", gate.Fail, "1 of 120 timed requests took less time than its own bytes and arithmetic", nil},
		{"one request faster than its steps", sealed(func(m *made) {
			s := &m.samples[0][timedAt(m)+2]
			for i := range s.T[1:] {
				s.T[i+1] = 400
			}
		}), "ceiling", gate.Fail, "the worst: e2e since sent of request", map[string]gate.Answer{"client": gate.Warn}},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := judge(t, c.plant(make1(1, rowtest.Options{}), t), nil)[0]
			for _, r := range results {
				want := twin[r.Gate]
				if a, ok := c.also[r.Gate]; ok {
					want = a
				}
				if r.Gate == c.gate {
					want = c.answer
					if !strings.Contains(r.Reason, c.reason) {
						t.Errorf("%s says %q, want %q", r.Gate, r.Reason, c.reason)
					}
				}
				if r.Answer != want {
					t.Errorf("%s: %v (%s), want %v", r.Gate, r.Answer, r.Reason, want)
				}
			}
			want := gate.Verified
			if c.answer.Blocks() {
				want = gate.Unverified
			}
			if got := gate.Verdict(results); got != want {
				t.Errorf("verdict %s, want %s", got, want)
			}
		})
	}
}

func TestAPromptOfAnotherRow(t *testing.T) {
	m := make1(1, rowtest.Options{})
	corpus := &gate.Corpus{Prompts: map[string]string{m.samples[0][5].Prompt: "0123456789ab"}}
	for _, r := range judge(t, m.files(t), corpus)[0] {
		if r.Gate == "cold" && (r.Answer != gate.Fail || !strings.Contains(r.Reason, "0123456789ab")) {
			t.Errorf("cold: %v %s", r.Answer, r.Reason)
		}
	}
}

// More tokens a second than the devices can serve, though no request and no step is too
// fast by itself: what each stream does is possible alone, and not together.
func TestServingRoof(t *testing.T) {
	const c = 64
	m := make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 8192, OSL: 2, Concurrency: c}}, Protocol: row.Passes, Repeats: 1, Warmup: 1})
	at := int64(1000)
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		s.Enqueued, s.Sent = at, at+10
		s.T = row.Gaps{400_000, 20_000} // 64 prompts at once in the time of one
		if i%c == c-1 {
			at += 500_000
		}
	}
	m.seal()
	for _, r := range judge(t, m.files(t), nil)[0] {
		if r.Gate == "ceiling" && (r.Answer != gate.Fail || !strings.HasPrefix(r.Reason, "the output rate") || !strings.Contains(r.Reason, "at 8192:2 and a concurrency of 64")) {
			t.Errorf("%v %s", r.Answer, r.Reason)
		}
	}
}

func TestSpeculationRaisesTheRoof(t *testing.T) {
	m := make1(1, rowtest.Options{Slowness: 0.6})
	m.report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "eagle3", DraftTokens: 3}
	answer := func(name string) gate.Result {
		m.seal()
		for _, r := range judge(t, m.files(t), nil)[0] {
			if r.Gate == name {
				return r
			}
		}
		return gate.Result{}
	}
	ceiling := func() gate.Result { return answer("ceiling") }
	if r := answer("speculation"); r.Answer != gate.Unjudged {
		t.Errorf("without draft counters: %v %s", r.Answer, r.Reason)
	}
	if r := ceiling(); r.Answer != gate.Unjudged {
		t.Errorf("without draft counters: %v %s", r.Answer, r.Reason)
	}
	drafts(m, 100, 300, 100)
	if r := ceiling(); r.Answer != gate.Pass {
		t.Errorf("two tokens a step: %v %s", r.Answer, r.Reason)
	}
	if r := answer("speculation"); r.Answer != gate.Pass {
		t.Errorf("two tokens a step: %v %s", r.Answer, r.Reason)
	}
	drafts(m, 100, 300, 200)
	if r := answer("speculation"); r.Answer != gate.Fail || !strings.Contains(r.Reason, "3 tokens a step on random prompts") {
		t.Errorf("a loop: %v %s", r.Answer, r.Reason)
	}
	drafts(m, 100, 300, 400)
	if r := answer("speculation"); r.Answer != gate.Fail || !strings.Contains(r.Reason, "at most 4 can come") {
		t.Errorf("more than drafted: %v %s", r.Answer, r.Reason)
	}
}

// drafts lets the draft counters rise with each reading.
// hidden has a container hide the processes on the devices, of which so much memory was in
// use before the launch.
func hidden(m *made, before int64) {
	m.evidence[1].Apps, m.evidence[1].Unread = nil, map[string]string{"apps": "a container hides them"}
	b := &row.BeforeLaunch{At: "2026-11-30T11:00:00Z"}
	for _, d := range m.report.Receipt.Devices {
		b.Devices = append(b.Devices, row.DeviceMemory{Index: d.Index, MemoryUsed: &before})
	}
	m.report.Receipt.BeforeLaunch = b
}

func drafts(m *made, drafts, tokens, accepted float64) {
	for i := range m.evidence[1].Metrics {
		n := float64(i)
		v := m.evidence[1].Metrics[i].Values
		v["vllm:spec_decode_num_drafts_total"] = n * drafts
		v["vllm:spec_decode_num_draft_tokens_total"] = n * tokens
		v["vllm:spec_decode_num_accepted_tokens_total"] = n * accepted
	}
}

// Healthy rows: 200 synthetic ones of every protocol and load.
func TestSyntheticRowsAreVerified(t *testing.T) {
	for seed := range uint64(50) {
		c := []int64{1, 2, 4, 8, 16}[seed%5]
		o := rowtest.Options{Repeats: 3, Requests: 3 * c, Warmup: 1 + int64(seed%2), Slowness: 1.1 + float64(seed%7)/5}
		if seed%2 == 1 {
			o.Protocol, o.Iters = row.Passes, 2
		}
		for _, shape := range [][2]int64{{128, 12}, {1024, 8}, {33, 16}, {512, 2}} {
			o.Cells = append(o.Cells, rowtest.Cell{ISL: shape[0], OSL: shape[1], Concurrency: c})
		}
		for i, results := range judge(t, make1(seed, o).files(t), &gate.Corpus{}) {
			if gate.Verdict(results) != gate.Verified {
				t.Errorf("seed %d row %d (%s, c=%d): %s", seed, i, o.Protocol, c, blocking(results))
			}
		}
	}
}

func blocking(results []gate.Result) string {
	var out []string
	for _, r := range results {
		if r.Answer.Blocks() {
			out = append(out, r.Gate+": "+r.Reason)
		}
	}
	return strings.Join(out, "; ")
}

// Two rows of one recipe: TPOT falls from c=64 to c=128 by more than both intervals can
// explain, while the batch grew.
func TestNeighbours(t *testing.T) {
	results := func(low, high, slowLow, slowHigh float64, repeats int64) gate.Result {
		make2 := func(seed uint64, c int64, slow float64) *made {
			return make1(seed, rowtest.Options{Cells: []rowtest.Cell{{ISL: 16, OSL: 8, Concurrency: c}}, Slowness: slow,
				Protocol: row.Passes, Repeats: repeats, Warmup: 1})
		}
		corpus := gate.NewCorpus()
		m := make2(1, int64(low), slowLow)
		corpus.Add(m.report, &m.report.Rows[0], m.samples[0])
		lower := m
		m = make2(2, int64(high), slowHigh)
		corpus.Add(m.report, &m.report.Rows[0], m.samples[0])
		// Whichever is published last is refused: the lower one too.
		for _, r := range judge(t, lower.files(t), corpus)[0] {
			if failed := low >= 64 && slowLow > 2*slowHigh && repeats == 3; r.Gate == "neighbours" && (r.Answer == gate.Fail) != failed {
				t.Errorf("c=%v: %v %s", low, r.Answer, r.Reason)
			}
		}
		for _, r := range judge(t, m.files(t), corpus)[0] {
			if r.Gate == "neighbours" {
				return r
			}
		}
		return gate.Result{}
	}
	for _, c := range []struct {
		name                         string
		low, high, slowLow, slowHigh float64
		repeats                      int64
		want                         gate.Answer
		reason                       string
	}{
		{"rises", 64, 128, 1.3, 1.3, 3, gate.Pass, "TPOT does not fall"},
		{"falls far", 64, 128, 40, 1.3, 3, gate.Fail, "TPOT p50 falls from"},
		{"falls at a small concurrency", 4, 8, 3, 1.3, 3, gate.Warn, "TPOT p50 falls from"},
		{"falls without intervals", 64, 128, 40, 1.3, 1, gate.Warn, "TPOT p50 falls from"},
	} {
		if r := results(c.low, c.high, c.slowLow, c.slowHigh, c.repeats); r.Answer != c.want || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: %v %s", c.name, r.Answer, r.Reason)
		}
	}
	m := make1(1, rowtest.Options{})
	for _, r := range judge(t, m.files(t), gate.NewCorpus())[0] {
		if r.Gate == "neighbours" && r.Answer != gate.NotApplicable {
			t.Errorf("alone: %v %s", r.Answer, r.Reason)
		}
	}
}

// A copy under another id has the same samples, or where they were changed the same
// figures.
func TestCopied(t *testing.T) {
	m := make1(1, rowtest.Options{})
	corpus := gate.NewCorpus()
	corpus.Add(m.report, &m.report.Rows[0], m.samples[0])
	ask := func() gate.Result {
		for _, r := range judge(t, m.files(t), corpus)[0] {
			if r.Gate == "copied" {
				return r
			}
		}
		return gate.Result{}
	}
	if r := ask(); r.Answer != gate.Pass {
		t.Errorf("the row itself: %v %s", r.Answer, r.Reason)
	}
	m.report.Receipt.Host.CPU = "another"
	m.seal()
	if r := ask(); r.Answer != gate.Fail || !strings.Contains(r.Reason, "the same samples file proves row") {
		t.Errorf("a copy: %v %s", r.Answer, r.Reason)
	}
	for i := range m.samples[0] {
		m.samples[0][i].Prompt = "f" + m.samples[0][i].Prompt[1:]
	}
	m.seal()
	if r := ask(); r.Answer != gate.Fail || !strings.Contains(r.Reason, "the same run of figures stands in row") {
		t.Errorf("a copy with other prompts: %v %s", r.Answer, r.Reason)
	}
}

// A run played again under other prompts and later is a copy still, if one gap of the
// whole differs.
func TestCopiedGaps(t *testing.T) {
	m := make1(1, rowtest.Options{})
	corpus := gate.NewCorpus()
	corpus.Add(m.report, &m.report.Rows[0], m.samples[0])
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		s.Prompt = "f" + s.Prompt[1:]
		s.Enqueued, s.Sent = s.Enqueued+777, s.Sent+777
		s.T[0] += s.I % 7
	}
	m.samples[0][20].T[5]++
	m.seal()
	for _, r := range judge(t, m.files(t), corpus)[0] {
		if r.Gate == "copied" && (r.Answer != gate.Fail || !strings.Contains(r.Reason, "119 of 120 timed requests came with the very gaps of row")) {
			t.Errorf("%v %s", r.Answer, r.Reason)
		}
	}
}

// Of a run by duration, requests cannot be left out at its end either.
func TestADurationIsFilled(t *testing.T) {
	m := make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 256, Concurrency: 1}}})
	var begin, last int64
	for _, s := range m.samples[0] {
		if s.Repeat == 0 && s.Phase == row.PhaseTimed {
			if begin == 0 {
				begin = s.Enqueued
			}
			last = s.Enqueued
		}
	}
	w := &m.report.Rows[0].Workload
	warm := func(seconds int64) gate.Result {
		w.Requests, w.DurationS = nil, &seconds
		m.seal()
		for _, r := range judge(t, m.files(t), nil)[0] {
			if r.Gate == "warm" {
				return r
			}
		}
		return gate.Result{}
	}
	length := (last - begin) / 1_000_000 // the last request begins in this second and ends in the next
	if r := warm(length + 1); r.Answer != gate.Pass {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
	if r := warm(length + 5); r.Answer != gate.Fail || !strings.Contains(r.Reason, "stream 0 ended ") {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
}

// A pinned version holds for a build of it with a local label.
func TestLabelOfALocalBuild(t *testing.T) {
	m := make1(1, rowtest.Options{})
	m.report.Receipt.Runtime.Packages = map[string]string{"vllm": "0.26.0", "torch": "2.11.0+cu130"}
	m.seal()
	for _, r := range judge(t, m.files(t), nil)[0] {
		if r.Gate == "label" && r.Answer != gate.Pass {
			t.Errorf("%v %s", r.Answer, r.Reason)
		}
	}
}

func TestNamesInOrder(t *testing.T) {
	const want = "schema recompute complete lengths counted cold warm client little ceiling label copied speculation queue neighbours repeats host denominator dates"
	if got := strings.Join(gate.Names, " "); got != want {
		t.Errorf("names: %s", got)
	}
	results := judge(t, make1(1, rowtest.Options{}).files(t), nil)[0]
	for i, r := range results {
		if r.Gate != gate.Names[i] || r.Reason == "" {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

// The report that a browser gets through JSON has the same answers.
func TestResultsAreWords(t *testing.T) {
	for _, r := range judge(t, make1(2, rowtest.Options{}).files(t), nil)[0] {
		if _, err := json.Marshal(r); err != nil || strings.ContainsAny(r.Reason, "\n\t") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
