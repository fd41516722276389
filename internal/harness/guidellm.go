package harness

import (
	"math"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

func isGuideLLM(v *value) bool { return v.has("benchmarks") && v.get("metadata") != nil }

// guideLLM takes guidellm's report: one benchmark a strategy.
func guideLLM(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "guidellm", "Python's time.time, read when httpx hands over a part of the body"
	t.result.Version = t.words(v.get("metadata", "guidellm_version"), "metadata.guidellm_version")
	list := v.get("benchmarks").elements()
	if len(list) == 0 {
		t.wrong(v.get("benchmarks"), "benchmarks", "a list of at least one benchmark")
	}
	for i, b := range list {
		run := guideBenchmark(t, v, b)
		run.Place = int64(i) + 1
		t.result.Runs = append(t.result.Runs, run)
	}
}

func guideBenchmark(t *taker, v, b *value) Run {
	run := Run{Model: t.words(b.get("config", "backend", "model"), "config.backend.model"), Workload: closed()}
	run.At = clock(b.get("start_time"))
	w := &run.Workload
	totals := b.get("metrics", "request_totals")
	incomplete := t.count(totals.get("incomplete"), "metrics.request_totals.incomplete")
	n := max(0, t.count(totals.get("total"), "metrics.request_totals.total")-incomplete)
	w.Requests = &n
	if incomplete > 0 {
		t.left(strconv.FormatInt(incomplete, 10) + " requests that the tool itself cut off at the end of a benchmark")
	}
	w.Endpoint = t.words(b.get("config", "backend", "request_format"), "config.backend.request_format")
	if !strings.HasPrefix(w.Endpoint, "/") {
		w.Endpoint = ""
	}
	if s := b.get("config", "strategy"); s != nil {
		for _, key := range []string{"streams", "max_concurrency"} {
			if k := t.count(s.get(key), "config.strategy."+key); k > 0 && w.Load.Concurrency == nil {
				w.Load.Concurrency = &k
			}
		}
		switch r := s.get("rate"); {
		case positive(r):
			w.Load.RequestRate = &r.text
		case s.get("type_").reason() == "synchronous":
			one := int64(1)
			w.Load.Concurrency = &one
		case s.get("type_").reason() == "throughput" && w.Load.Concurrency == nil:
			all := "inf"
			w.Load.RequestRate = &all
		}
	}
	run.unsaidLoad()
	if l := v.get("config", "spec", "data").elements(); len(l) == 1 && l[0].get("output_tokens_stdev").null() && l[0].get("prompt_tokens_stdev").null() {
		w.ISL, w.OSL = t.count(l[0].get("prompt_tokens"), "config.spec.data.prompt_tokens"), t.count(l[0].get("output_tokens"), "config.spec.data.output_tokens")
	}
	for _, of := range []struct {
		to          *int64
		field, name string
	}{{&w.ISL, "isl", "prompt_token_count"}, {&w.OSL, "osl", "output_token_count"}} {
		if *of.to == 0 {
			run.Unsaid = append(run.Unsaid, of.field)
			*of.to = length(b.get("metrics", of.name, "successful", "median"))
		}
	}
	run.Unsaid = append(run.Unsaid, "prompts.state", "sampling", "warmup")
	if d := b.get("duration"); positive(d) {
		run.DurationS = decimal(d)
	}
	t.state(&run, totals.get("successful"), "request_totals.successful", &metric{rule: row.RuleCompleted}, "")
	for _, m := range []metric{
		{"time_to_first_token_ms", "ms", "ttft_ms", row.RuleTTFT, "from the request's start to the first part with tokens; one that never came counts as 0"},
		{"time_per_output_token_ms", "ms", "", row.RuleTPOTWhole, "the whole time over all tokens: the first token's time is in it"},
		{"inter_token_latency_ms", "ms", "tpot_ms", row.RuleTPOT, "each request's mean, which we call TPOT"},
		{"request_latency", "s", "e2e_ms", "", "to the end of the body, not to the last token"},
		{"output_tokens_per_second", "tok/s", "", "", "weighted by the time that each rate lasted"},
		{"requests_per_second", "requests/s", "request_s", "", "completed over the time from the first start to the last end"},
	} {
		of := b.get("metrics", m.name, "successful")
		if of == nil {
			continue
		}
		if m.figure == "request_s" {
			t.state(&run, of.get("mean"), m.name+".mean", &m, "")
			continue
		}
		for _, s := range []statistic{{"mean", row.StatMean}, {"median", row.StatMedian}, {"std_dev", row.StatStd}, {"min", row.StatMin}, {"max", row.StatMax}} {
			m := m
			if s.ours == row.StatMedian {
				m.rule = "" // it takes a measured value, without interpolating
			}
			t.state(&run, of.get(s.theirs), m.name+"."+s.theirs, &m, s.ours)
		}
		p := of.get("percentiles")
		// Its p001 is the 0.1th percentile, its p999 the 99.9th.
		for _, s := range []statistic{{"p001", "p0.1"}, {"p01", "p1"}, {"p05", "p5"}, {"p10", "p10"}, {"p25", "p25"}, {"p75", "p75"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"p999", "p99.9"}} {
			m := m
			m.rule = ""
			t.state(&run, p.get(s.theirs), m.name+"."+s.theirs, &m, s.ours)
		}
	}
	guideRequests(t, &run, b)
	return run
}

// guideRequests takes the requests, of which the file keeps the first token, the end, and
// the mean gap.
func guideRequests(t *taker, run *Run, b *value) {
	requests := b.get("requests")
	if requests == nil {
		run.NoSamples = "the file holds no requests"
		return
	}
	zero := math.Inf(1)
	all := append(append([]*value{}, requests.get("successful").elements()...), requests.get("errored").elements()...)
	for _, q := range all {
		if s := q.get("request_start_time"); positive(s) {
			zero = min(zero, s.num)
		}
	}
	good := len(requests.get("successful").elements())
	for i, q := range all {
		s := begun(i)
		s.Unplaced = true
		if at := q.get("request_start_time"); positive(at) {
			if sent, ok := micros(at.num - zero); ok {
				s.Enqueued, s.Sent, s.Unplaced = sent, sent, false
			}
		}
		isl, osl := t.count(q.get("prompt_tokens"), "prompt_tokens"), t.count(q.get("output_tokens"), "output_tokens")
		if isl > 0 {
			s.ISL = &isl
		}
		if i >= good {
			fails(&s, failure(q.get("info", "error")))
		} else {
			// A part of the body may hold several tokens.
			n := t.count(q.get("info", "timings", "token_iterations"), "token_iterations")
			if n == 0 || n > osl {
				n = osl
			}
			even(&s, q.get("time_to_first_token_ms"), q.get("inter_token_latency_ms"), 1e-3, n, osl)
		}
		run.Samples = append(run.Samples, s)
	}
	run.timed()
}

// clock is a time in seconds since 1970 as RFC 3339; "" of anything else.
func clock(v *value) string {
	if v == nil || v.kind != '0' || !(v.num > 1e9 && v.num < 1e10) {
		return ""
	}
	return time.Unix(0, int64(v.num*1e9)).UTC().Format(time.RFC3339)
}
