package harness

import (
	"fmt"
	"strings"
	"testing"

	"rowproof/internal/harness/hostile"
	"rowproof/internal/row"
)

func parsed(t *testing.T, text string) *Result {
	t.Helper()
	r, err := Parse("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func stated(run *Run, name string) *row.Stated {
	for i := range run.Stated {
		if run.Stated[i].Name == name {
			return &run.Stated[i]
		}
	}
	return &row.Stated{}
}

// guide is guidellm's report: a benchmark of one strategy and some requests.
func guide(strategy, requests string) string {
	return fmt.Sprintf(`{"metadata":{"guidellm_version":"0.8.1"},"benchmarks":[{"config":{"strategy":{%s}},"metrics":{"request_totals":{"successful":1,"errored":1,"incomplete":2,"total":4},`+
		`"time_to_first_token_ms":{"successful":{"mean":0.0,"percentiles":{"p001":3.5,"p999":9.5}}}},"requests":%s}]}`, strategy, requests)
}

func TestGuideLLMSaysHowItsRequestsWereSent(t *testing.T) {
	for strategy, want := range map[string]string{
		`"type_":"synchronous"`:                              "1 <nil>",
		`"type_":"concurrent","streams":8`:                   "8 <nil>",
		`"type_":"throughput","max_concurrency":512`:         "512 <nil>",
		`"type_":"throughput","max_concurrency":null`:        "<nil> inf",
		`"type_":"poisson","rate":2.5`:                       "<nil> 2.5",
		`"type_":"constant","rate":2.5,"max_concurrency":16`: "16 2.5",
	} {
		w := parsed(t, guide(strategy, `{}`)).Runs[0].Workload
		concurrency, rate := "<nil>", "<nil>"
		if c := w.Load.Concurrency; c != nil {
			concurrency = fmt.Sprint(*c)
		}
		if r := w.Load.RequestRate; r != nil {
			rate = *r
		}
		if got := concurrency + " " + rate; got != want {
			t.Errorf("%s is %s, want %s", strategy, got, want)
		}
	}
}

// A first token that never came counts 0 in guidellm, its p001 is the 0.1th percentile, and
// what it cut off itself failed nowhere.
func TestGuideLLMFailuresAndZeros(t *testing.T) {
	r := parsed(t, guide(`"type_":"concurrent","streams":1`, `{"successful":[{"request_start_time":1796059848.5,"prompt_tokens":4,"output_tokens":3,"time_to_first_token_ms":100,"inter_token_latency_ms":10,"info":{"timings":{"token_iterations":2}}}],`+
		`"errored":[{"request_start_time":1796059848.25,"prompt_tokens":4,"output_tokens":0,"info":{"error":"connection reset"}}],"incomplete":[{},{}]}`))
	run := &r.Runs[0]
	if run.Figures.TTFT != nil || run.Missing["ttft_ms.mean"] == "" {
		t.Errorf("a TTFT of 0 is taken: %+v", run.Figures.TTFT)
	}
	if s := stated(run, "time_to_first_token_ms.p001"); s.Text != "3.5" || s.Statistic != "p0.1" {
		t.Errorf("p001 is %+v", s)
	}
	if s := stated(run, "time_to_first_token_ms.p999"); s.Text != "9.5" || s.Statistic != "p99.9" {
		t.Errorf("p999 is %+v", s)
	}
	if len(run.Samples) != 2 || *run.Workload.Requests != 2 || len(r.Left) != 1 || !strings.Contains(r.Left[0], "2 requests") {
		t.Fatalf("%d requests of %d, left out %q", len(run.Samples), *run.Workload.Requests, r.Left)
	}
	good, bad := run.Samples[0], run.Samples[1]
	if good.Sent != 250_000 || *good.First != 100_000 || *good.Last != 120_000 || *good.Chunks != 2 || *good.Tokens != 3 {
		t.Errorf("%+v", good)
	}
	if bad.OK() || !strings.Contains(bad.Reason, "connection reset") || bad.Sent != 0 {
		t.Errorf("%+v", bad)
	}
}

// A tool that did not stream has requests without a first token: no sample, and no failure.
func TestARunWithoutTimesHasNoRequests(t *testing.T) {
	for name, text := range map[string]string{
		"guidellm":       guide(`"type_":"synchronous"`, `{"successful":[{"output_tokens":3,"time_to_first_token_ms":null}]}`),
		"aiperf":         `{"metadata":{"request_start_ns":5000},"metrics":{"output_sequence_length":{"value":4,"unit":"tokens"}}}`,
		"genai-bench":    `{"aggregated_metrics":{"scenario":"D(1,2)"},"_time_unit":"s","individual_request_metrics":[{"num_output_tokens":2,"ttft":null,"tpot":null}]}`,
		"inference-perf": `[{"start_time":1,"end_time":2,"request":"","info":{"response_metrics":{"output_tokens":2,"output_token_times":[]}},"error":null}]`,
	} {
		run := &parsed(t, text).Runs[0]
		if run.Samples != nil || !strings.Contains(run.NoSamples, "did not stream") {
			t.Errorf("%s: %+v, %q", name, run.Samples, run.NoSamples)
		}
	}
}

func TestAIPerfRequests(t *testing.T) {
	line := func(start, extra, metrics string) string {
		return `{"metadata":{"request_start_ns":` + start + `,"benchmark_phase":"profiling"` + extra + `},"metrics":{` + metrics + "}"
	}
	const times = `"time_to_first_token":{"value":0.1,"unit":"sec"},"inter_chunk_latency":{"value":[20.0004,20.0004],"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"}`
	r := parsed(t, line("1796059836775505833", "", times)+"}\n"+
		line("1796059836765505333", "", "")+`,"error":{"code":500,"type":"ServerError","message":"no memory"}}`+"\n"+
		strings.Replace(line("1", "", times), "profiling", "warmup", 1)+"}\n"+
		line("1796059836795505833", `,"was_cancelled":true`, times)+"}\n")
	s := r.Runs[0].Samples
	if len(s) != 3 {
		t.Fatalf("%d requests, want 3 without the warm-up", len(s))
	}
	// Each arrival is rounded from the sum, so that the last is as true as the first.
	if s[0].Sent-s[1].Sent != 10_001 || fmt.Sprint(s[0].T) != "[100000 20000 20001]" {
		t.Errorf("sent %d µs apart, chunks %v", s[0].Sent-s[1].Sent, s[0].T)
	}
	if s[1].OK() || s[1].Reason != "failed: ServerError: no memory" || s[2].OK() || s[2].Reason != "the tool cancelled it" {
		t.Errorf("%q and %q", s[1].Reason, s[2].Reason)
	}
	if r.Runs[0].At != "2026-11-30T17:30:36Z" {
		t.Errorf("at %s", r.Runs[0].At)
	}
	if _, err := Parse("x", strings.NewReader(line("1", "", strings.Replace(times, `"sec"`, `"hours"`, 1))+"}")); err == nil || !strings.Contains(err.Error(), `"hours"`) {
		t.Errorf("hours are taken: %v", err)
	}
}

// aiperf's CSV says what its JSON says, rounded, and nothing can be made again of that.
func TestAIPerfTableSaysWhatItsJSONSays(t *testing.T) {
	table, doc := read(t, "aiperf-0.13.0/profile_export_aiperf.csv"), read(t, "aiperf-0.13.0/profile_export_aiperf.json")
	exact := &doc.Runs[0]
	if n := len(table.Runs[0].Stated); n < 50 {
		t.Errorf("%d figures", n)
	}
	for _, s := range table.Runs[0].Stated {
		of := stated(exact, s.Name)
		var v float64
		if _, err := fmt.Sscan(of.Text, &v); err != nil || fmt.Sprintf("%.2f", v) != s.Text || s.Figure != of.Figure || s.Unit != of.Unit {
			t.Errorf("%s is %s %s of %q, in the JSON %s %s of %q", s.Name, s.Text, s.Unit, s.Figure, of.Text, of.Unit, of.Figure)
		}
		if s.Rule != "" && s.Rule != row.RuleCompleted {
			t.Errorf("%s has the rule %s", s.Name, s.Rule)
		}
	}
	if run := joined(t, "aiperf-0.13.0/profile_export_aiperf.csv", "aiperf-0.13.0/profile_export.jsonl").Runs[0]; len(run.Samples) != 8 || run.At != "2026-11-30T17:30:36Z" {
		t.Errorf("%d requests at %s", len(run.Samples), run.At)
	}
}

// Several tokens of one chunk arrive at one time: a chunk of as many tokens, where the tool
// counts a gap of 0 for each further one.
func TestInferencePerfTokensOfOneChunk(t *testing.T) {
	request := `[{"start_time":10,"end_time":10.5,"request":"secret prompt","error":null,"info":{"request_metrics":{"text":{"input_tokens":8}},"response_metrics":{"output_tokens":4,"output_token_times":[10.1,10.1,10.2,10.25]}}},` +
		`{"start_time":9.5,"end_time":10.5,"request":"","error":{"error_type":"TimeoutError","error_msg":"after 30 s"},"info":{"request_metrics":{}}}]`
	r := parsed(t, request)
	s := r.Runs[0].Samples
	if fmt.Sprint(s[0].T, s[0].N) != "[100000 100000 50000] [2 1 1]" || s[0].Sent != 500_000 {
		t.Errorf("%+v", s[0])
	}
	if s[1].OK() || s[1].Reason != "failed: TimeoutError: after 30 s" {
		t.Errorf("%+v", s[1])
	}
	summary := parsed(t, `{"load_summary":{"count":2,"requested_rate":8.0,"concurrency":4},"failures":{"count":1},"successes":{"count":1,"latency":{"inter_token_latency":{"median":0.05},"time_per_output_token":{"median":0.05}}}}`)
	both, err := Join(summary, r)
	if err != nil {
		t.Fatal(err)
	}
	run := &both.Runs[0]
	if w := run.Workload.Load; *w.RequestRate != "8.0" || *w.Concurrency != 4 {
		t.Errorf("at 8 a second, of which 4 at once: %+v", w)
	}
	if gap, tpot := stated(run, "inter_token_latency.median"), stated(run, "time_per_output_token.median"); gap.Rule != "" || gap.Means == "" || tpot.Rule != row.RuleTPOT {
		t.Errorf("%+v %+v", gap, tpot)
	}
	if strings.Contains(fmt.Sprintf("%+v", both), "secret prompt") {
		t.Error("a prompt was kept")
	}
}

func TestFilesOfTwoRunsAreNotJoined(t *testing.T) {
	aggregate, requests := read(t, "aiperf-0.13.0/profile_export_aiperf.json"), parsed(t, string(hostile.Seeds()["aiperf-requests.jsonl"]))
	if _, err := Join(aggregate, requests); err == nil || !strings.Contains(err.Error(), "8 requests, the requests' file holds 2") {
		t.Errorf("%v", err)
	}
	if _, err := Join(aggregate, read(t, "inference-perf-0.7.0/per_request_lifecycle_metrics.json")); err == nil {
		t.Error("files of two tools are joined")
	}
}

func TestGenAIBenchFailuresAndExperiment(t *testing.T) {
	r := parsed(t, `{"aggregated_metrics":{"scenario":"N(480,240)/(300,150)","num_concurrency":4,"num_requests":2,"num_completed_requests":1,"run_duration":2.5,"error_rate":0,"stats":{"ttft":{"mean":300.0},"tpot":{"mean":20.0}}},"_time_unit":"ms",`+
		`"individual_request_metrics":[{"ttft":300.0,"tpot":20.0,"num_input_tokens":8,"num_output_tokens":3,"error_code":null},{"ttft":null,"error_code":503,"error_message":"overloaded"}]}`)
	run := &r.Runs[0]
	if *run.Figures.TTFT.Mean != 300 || *run.Samples[0].First != 300_000 || *run.Samples[0].Last != 340_000 || run.DurationS != "2.5" {
		t.Errorf("%+v %+v", run.Figures.TTFT, run.Samples[0])
	}
	if s := run.Samples[1]; s.OK() || s.Reason != "error 503: overloaded" {
		t.Errorf("%+v", s)
	}
	if run.Workload.ISL != 0 || len(r.Left) == 0 {
		t.Errorf("lengths that are drawn are taken for one: %d; left out %q", run.Workload.ISL, r.Left)
	}
	both := joined(t, "genai-bench-0.0.5/experiment_metadata.json", "genai-bench-0.0.5/D32_32_text-to-text_num_concurrency_4_time_2s.json")
	run = &both.Runs[0]
	if both.Version != "0.0.5" || run.Engine != "vllm" || run.Model != "tiny" || run.Devices != 1 || run.Labels["server_gpu_type"] != "H100" || len(run.Samples) != 8 || run.Status != row.StatusOK {
		t.Errorf("%+v %+v", both, run)
	}
	if strings.Contains(fmt.Sprintf("%+v", both), "--api-key") {
		t.Error("the command line was taken")
	}
}

// A p99 of 8 requests is none of ours, whatever the tool gives for it.
func TestPercentilesOfFewRequestsAreNotTaken(t *testing.T) {
	run := &read(t, "aiperf-0.13.0/profile_export_aiperf.json").Runs[0]
	d := run.Figures.TTFT
	if d == nil || d.P50 == nil || d.P90 != nil || d.P99 != nil || !strings.Contains(run.Missing["ttft_ms.p99"], "8.0 requests; p99 needs 100") {
		t.Errorf("%+v, %q", d, run.Missing["ttft_ms.p99"])
	}
	if s := stated(run, "time_to_first_token.p99"); s.Text != "311.29967712" {
		t.Errorf("the tool's own is %+v", s)
	}
}
