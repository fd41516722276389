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
	// Told to keep so many under way, it still sends by times that it drew at a rate, and
	// holds back what would be more.
	if c := t.count(v.get("load_summary", "concurrency"), "load_summary.concurrency"); c > 0 {
		w.Load.Concurrency = &c
	}
	if r := v.get("load_summary", "requested_rate"); positive(r) {
		w.Load.RequestRate = &r.text
	}
	run.unsaidLoad()
	s := v.get("successes")
	for _, of := range []struct {
		to          *int64
		field, name string
	}{{&w.ISL, "isl", "prompt_tokens"}, {&w.OSL, "osl", "output_tokens"}} {
		run.Unsaid = append(run.Unsaid, of.field)
		*of.to = length(s.get(of.name, "median"))
	}
	run.Unsaid = append(run.Unsaid, "prompts.state", "sampling", "warmup")
	if d := v.get("benchmark_time_seconds"); positive(d) {
		run.DurationS = decimal(d)
	}
	t.state(&run, s.get("count"), "successes.count", &metric{rule: row.RuleCompleted}, "")
	for _, m := range []metric{
		{"time_to_first_token", "s", "ttft_ms", row.RuleTTFT, ""},
		{"time_per_output_token", "s", "tpot_ms", row.RuleTPOT, ""},
		{"inter_token_latency", "s", "chunk_gap_ms", row.RuleChunkGap, "of several tokens in a chunk each further one counts 0"},
		{"normalized_time_per_output_token", "s", "", "", "the whole time over all tokens: the first token's time is in it"},
		{"request_latency", "s", "e2e_ms", "", "to the end of the body, not to the last token"},
	} {
		of := s.get("latency", m.name)
		for _, st := range []statistic{{"mean", row.StatMean}, {"p0.1", "p0.1"}, {"p1", "p1"}, {"p5", "p5"}, {"p10", "p10"}, {"p25", "p25"}, {"median", row.StatMedian}, {"p75", "p75"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"p99.9", "p99.9"}, {"min", row.StatMin}, {"max", row.StatMax}} {
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
		s := begun(i)
		began := math.NaN()
		if start := q.get("start_time"); start.kind == '0' {
			began = start.num
		}
		at, ok := micros(began - zero)
		s.Enqueued, s.Sent, s.Unplaced = at, at, !ok
		m := q.get("info", "response_metrics")
		isl, osl := t.count(q.get("info", "request_metrics", "text", "input_tokens"), "input_tokens"), t.count(m.get("output_tokens"), "output_tokens")
		if u := m.get("server_usage"); u.has("prompt_tokens", "completion_tokens") {
			isl, osl = t.count(u.get("prompt_tokens"), "prompt_tokens"), t.count(u.get("completion_tokens"), "completion_tokens")
			s.TokensFrom = "" // the server's own usage
		}
		if isl > 0 {
			s.ISL = &isl
		}
		arrivals := t.numbers(m.get("output_token_times"), "output_token_times")
		times, tokens, good := inferencePerfChunks(arrivals, began, at, zero)
		switch {
		case !q.get("error").null():
			fails(&s, failure(q.get("error")))
		case osl == 0 || !ok || !good:
			fails(&s, untimed)
		default:
			s.OSL = &osl
			if keep(&s, times, osl); s.T != nil {
				s.N = tokens
			}
		}
		run.Samples = append(run.Samples, s)
	}
	n := int64(len(run.Samples))
	run.Workload.Requests = &n
	lengths(&run)
	run.timed()
	t.result.Runs = append(t.result.Runs, run)
}

// inferencePerfChunks are the chunks of a request, from the arrivals of its tokens in
// seconds: tokens of one arrival came in one chunk. tokens is nil where each came alone.
func inferencePerfChunks(arrivals []float64, began float64, sent int64, zero float64) (times row.Gaps, tokens []int64, ok bool) {
	before, several := began, false
	for i, a := range arrivals {
		now, good := micros(a - zero)
		if !good || !(a >= before) || now < sent {
			return nil, nil, false
		}
		if i > 0 && a == before {
			tokens[len(tokens)-1]++
			several = true
			continue
		}
		times, tokens = append(times, now-sent), append(tokens, 1)
		before, sent = a, now
	}
	if !several {
		tokens = nil
	}
	return times, tokens, len(times) > 0
}

// middle is the median of whole numbers; 0 of none.
func middle(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
