package harness

import (
	"regexp"
	"strconv"

	"rowproof/internal/row"
)

func isGenAIBench(v *value) bool {
	return v.has("aggregated_metrics") && v.get("aggregated_metrics", "scenario") != nil
}

// fixed is a scenario of one length: D(ISL,OSL).
var fixed = regexp.MustCompile(`^D\((\d{1,9}), ?(\d{1,9})\)$`)

// genAIBench takes genai-bench's file of one scenario and concurrency.
func genAIBench(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "genai-bench", "Python's monotonic clock, read when requests hands over a line of the body"
	a := v.get("aggregated_metrics")
	run := Run{Workload: closed()}
	w := &run.Workload
	c, n := t.count(a.get("num_concurrency"), "num_concurrency"), t.count(a.get("num_requests"), "num_requests")
	w.Load.Concurrency, w.Requests = &c, &n
	if m := fixed.FindStringSubmatch(a.get("scenario").text); m != nil {
		w.ISL, _ = strconv.ParseInt(m[1], 10, 64)
		w.OSL, _ = strconv.ParseInt(m[2], 10, 64)
	} else {
		run.Unsaid = append(run.Unsaid, "isl", "osl")
	}
	run.Unsaid = append(run.Unsaid, "prompts.state", "sampling", "warmup")
	unit := t.words(v.get("_time_unit"), "_time_unit")
	switch unit {
	case "s", "ms":
	case "":
		unit = "s"
		t.left("_time_unit is not there: s, as the tool writes without being told")
	default:
		t.wrong(v.get("_time_unit"), "_time_unit", `"s" or "ms"`)
		return
	}
	if d := a.get("run_duration"); positive(d) {
		run.DurationS = decimal(d) // in seconds whatever the unit of the rest
	}
	t.state(&run, a.get("num_completed_requests"), "num_completed_requests", &metric{rule: row.RuleCompleted}, "")
	for _, m := range []metric{
		{"mean_output_throughput_tokens_per_s", "tok/s", "output_tok_s", row.RuleOutputRate, "over the tool's whole duration, ramp and drain included"},
		{"mean_input_throughput_tokens_per_s", "tok/s", "", row.RuleInputRate, ""},
		{"mean_total_tokens_throughput_tokens_per_s", "tok/s", "total_tok_s", row.RuleTotalRate, "over the tool's whole duration, ramp and drain included"},
		{"requests_per_second", "requests/s", "request_s", row.RuleRequests, ""},
	} {
		t.state(&run, a.get(m.name), m.name, &m, "")
	}
	for _, m := range []metric{
		{"ttft", unit, "ttft_ms", row.RuleTTFT, "to the first chunk with content"},
		{"tpot", unit, "tpot_ms", row.RuleTPOT, "to the end of the body, not to the last token"},
		{"e2e_latency", unit, "e2e_ms", row.RuleE2E, "to the end of the body, not to the last token"},
	} {
		of := a.get("stats", m.name)
		for _, s := range []statistic{{"mean", row.StatMean}, {"p25", "p25"}, {"p50", row.StatMedian}, {"p75", "p75"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"stddev", row.StatStd}, {"min", row.StatMin}, {"max", row.StatMax}} {
			t.state(&run, of.get(s.theirs), m.name+"."+s.theirs, &m, s.ours)
		}
	}
	t.left("error_rate: the tool writes 0 whatever failed; failures are counted from the requests")
	scale := map[string]float64{"s": 1, "ms": 1e-3}[unit]
	for i, q := range v.get("individual_request_metrics").elements() {
		s := begun(i)
		s.Unplaced = true
		isl, osl := t.count(q.get("num_input_tokens"), "num_input_tokens"), t.count(q.get("num_output_tokens"), "num_output_tokens")
		if isl > 0 {
			s.ISL = &isl
		}
		if q.get("error_code").null() {
			even(&s, q.get("ttft"), q.get("tpot"), scale, osl, osl)
		} else {
			fails(&s, cut("error "+q.get("error_code").text+": "+q.get("error_message").reason(), 500))
		}
		run.Samples = append(run.Samples, s)
	}
	run.timed()
	t.result.Runs = append(t.result.Runs, run)
}

// reason is a text, or nothing.
func (v *value) reason() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

func isGenAIExperiment(v *value) bool {
	return v.has("benchmark_version", "traffic_scenario", "server_engine")
}

// genAIExperiment takes genai-bench's experiment_metadata.json: what its user says of the
// server. Its cmd, which may hold a key, is left.
func genAIExperiment(t *taker, v *value) {
	t.result.Tool, t.result.Version = "genai-bench", t.words(v.get("benchmark_version"), "benchmark_version")
	engine := t.words(v.get("server_engine"), "server_engine")
	run := Run{Engine: engineOf(engine), Model: t.words(v.get("api_model_name"), "api_model_name"), Workload: closed(), Status: row.StatusError,
		Reason:    "experiment_metadata.json holds no figure; give the JSON of a scenario beside it",
		NoSamples: "experiment_metadata.json holds no requests",
		Labels:    labels(v, "server_engine", "server_version", "server_gpu_type", "server_gpu_count", "model", "task")}
	if text := v.get("server_gpu_count").reason(); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			t.wrong(v.get("server_gpu_count"), "server_gpu_count", "a count from 1")
		}
		run.Devices = max(0, n)
	}
	run.Unsaid = []string{"isl", "osl", "load.concurrency", "prompts.state", "sampling", "warmup"}
	t.result.Runs = append(t.result.Runs, run)
}
