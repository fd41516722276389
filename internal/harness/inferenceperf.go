package harness

import (
	"math"
	"slices"

	"rowproof/internal/row"
)

func isInferencePerf(v *value) bool { return v.has("load_summary", "successes", "failures") }

const inferencePerfClock = "Python's perf_counter, read when aiohttp hands over a chunk of the body"

// inferencePerf takes a summary of inference-perf, whose times are in seconds.
func inferencePerf(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "inference-perf", inferencePerfClock
	run := Run{Workload: closed(), NoSamples: "the summary holds no requests; give per_request_lifecycle_metrics.json beside it"}
	w := &run.Workload
	n := t.count(v.get("load_summary", "count"), "load_summary.count")
	w.Requests = &n
	if r := v.get("load_summary", "requested_rate"); r != nil && r.kind == '0' && r.num > 0 {
		w.Load.RequestRate = &r.text
	} else {
		run.Unsaid = append(run.Unsaid, "load.concurrency")
	}
	s := v.get("successes")
	for _, of := range []struct {
		to          *int64
		field, name string
	}{{&w.ISL, "isl", "prompt_tokens"}, {&w.OSL, "osl", "output_tokens"}} {
		run.Unsaid = append(run.Unsaid, of.field)
		if m := s.get(of.name, "median"); m != nil && m.num > 0 {
			*of.to = int64(math.Round(m.num))
		}
	}
	run.Unsaid = append(run.Unsaid, "prompts.state", "sampling", "warmup")
	if d := v.get("benchmark_time_seconds"); d != nil && d.kind == '0' && d.num > 0 {
		run.DurationS = decimal(d)
	}
	for _, m := range []metric{
		{"time_to_first_token", "s", "ttft_ms", row.RuleTTFT, ""},
		{"time_per_output_token", "s", "tpot_ms", row.RuleTPOT, ""},
		{"inter_token_latency", "s", "chunk_gap_ms", row.RuleChunkGap, "of several tokens in a chunk each further one counts 0"},
		{"normalized_time_per_output_token", "s", "", "", "the whole time over all tokens: the first token's time is in it"},
		{"request_latency", "s", "e2e_ms", "", "to the end of the body, not to the last token"},
	} {
		of := s.get("latency", m.name)
		for _, st := range []statistic{{"mean", row.StatMean}, {"median", row.StatMedian}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"min", row.StatMin}, {"max", row.StatMax}} {
			t.state(&run, of.get(st.theirs), m.name+"."+st.theirs, &m, st.ours)
		}
	}
	for _, m := range []metric{
		{"output_tokens_per_sec", "tok/s", "output_tok_s", row.RuleOutputRate, "over the tool's whole duration, ramp and drain included"},
		{"total_tokens_per_sec", "tok/s", "total_tok_s", row.RuleTotalRate, "over the tool's whole duration, ramp and drain included"},
		{"requests_per_sec", "requests/s", "request_s", row.RuleRequests, ""},
	} {
		t.state(&run, s.get("throughput", m.name), m.name, &m, "")
	}
	t.result.Runs = append(t.result.Runs, run)
}

func isInferencePerfRequest(v *value) bool { return v.has("start_time", "end_time", "request", "info") }

// inferencePerfRequests makes one run of the requests' file, which holds their bodies too.
func inferencePerfRequests(t *taker, list []*value) {
	t.result.Tool, t.result.Clock = "inference-perf", inferencePerfClock
	run := Run{Place: 1, Workload: closed(), Unsaid: []string{"isl", "osl", "load.concurrency", "prompts.state", "sampling", "warmup"}}
	zero := math.Inf(1)
	for _, q := range list {
		if s := q.get("start_time"); s != nil && s.kind == '0' {
			zero = min(zero, s.num)
		}
	}
	for i, q := range list {
		s := row.Sample{Phase: row.PhaseTimed, I: int64(i), Status: row.StatusOK, TokensFrom: row.TokensTool}
		start := q.get("start_time")
		began := math.NaN()
		if start.kind == '0' {
			began = start.num
		}
		at, ok := micros(began - zero)
		s.Enqueued, s.Sent, s.Unplaced = at, at, !ok
		m := q.get("info", "response_metrics")
		isl, osl := t.count(q.get("info", "request_metrics", "text", "input_tokens"), "input_tokens"), t.count(m.get("output_tokens"), "output_tokens")
		if u := m.get("server_usage"); u != nil && u.kind == '{' {
			isl, osl = t.count(u.get("prompt_tokens"), "prompt_tokens"), t.count(u.get("completion_tokens"), "completion_tokens")
			s.TokensFrom = "" // the server's own usage
		}
		if isl > 0 {
			s.ISL = &isl
		}
		arrivals := t.numbers(m.get("output_token_times"), "output_token_times")
		var times row.Gaps
		ok = ok && len(arrivals) > 0
		before := at
		for _, a := range arrivals {
			now, good := micros(a - zero)
			ok = ok && good && now >= before
			times = append(times, now-before)
			before = now
		}
		switch {
		case !q.get("error").null():
			s.Status, s.Reason = row.StatusError, cut("failed: "+q.get("error").reason()+q.get("error", "error_msg").reason(), 500)
		case osl == 0 || !ok:
			s.Status, s.Reason = row.StatusError, "the tool has no times of it"
		default:
			s.OSL = &osl
			keep(&s, times, osl)
		}
		run.Samples = append(run.Samples, s)
	}
	n := int64(len(run.Samples))
	run.Workload.Requests = &n
	lengths(&run)
	t.result.Runs = append(t.result.Runs, run)
}

// middle is the median of whole numbers; 0 of none.
func middle(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
