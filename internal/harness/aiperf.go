package harness

import (
	"math"
	"slices"
	"strings"
	"time"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

func isAIPerf(v *value) bool {
	return v.has("aiperf_version", "request_count") || v.has("input_config", "request_latency", "time_to_first_token")
}

const aiperfClock = "Python's perf_counter_ns, read when aiohttp hands over a part of the body"

// aiperfMetrics are those that stand for figures of ours, or could be taken for them.
var aiperfMetrics = []metric{
	{"time_to_first_token", "ms", "ttft_ms", row.RuleTTFT, ""},
	{"inter_token_latency", "ms", "tpot_ms", row.RuleTPOT, "each request's mean, which we call TPOT"},
	{"inter_chunk_latency", "ms", "chunk_gap_ms", row.RuleChunkGap, ""},
	{"request_latency", "ms", "e2e_ms", row.RuleE2E, ""},
	{"output_token_throughput", "tok/s", "output_tok_s", "", "over a duration of the tool's own, which its file does not give"},
	{"total_token_throughput", "tok/s", "total_tok_s", "", "over a duration of the tool's own, which its file does not give"},
	{"request_throughput", "requests/s", "request_s", "", ""},
	{"output_token_throughput_per_user", "tok/s", "", row.RuleUserRate, "1 / TPOT of each request"},
}

// aiperf takes aiperf's aggregate; unit is authoritative.
func aiperf(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "aiperf", aiperfClock
	t.result.Version = t.words(v.get("aiperf_version"), "aiperf_version")
	run := Run{Workload: closed(), NoSamples: aiperfAlone}
	if m := v.get("input_config", "models", "items").elements(); len(m) == 1 {
		run.Model = t.words(m[0].get("name"), "input_config.models.items.name")
	}
	w := &run.Workload
	w.Endpoint = map[string]string{"chat": "/v1/chat/completions", "completions": "/v1/completions"}[v.get("input_config", "endpoint", "type").reason()]
	for _, p := range v.get("input_config", "phases").elements() {
		if p.get("kind").reason() != "profiling" {
			continue
		}
		if k := t.count(p.get("concurrency"), "concurrency"); k > 0 {
			w.Load.Concurrency = &k
		}
		for _, key := range []string{"rate", "request_rate"} {
			if r := p.get(key); positive(r) {
				w.Load.RequestRate = &r.text
			}
		}
	}
	if d := v.get("input_config", "datasets").elements(); len(d) == 1 && d[0].get("type").reason() == "synthetic" {
		w.ISL, w.OSL = length(d[0].get("prompts", "isl", "mean")), length(d[0].get("prompts", "osl", "mean"))
	}
	if e := v.get("was_cancelled"); e != nil && e.kind == 't' {
		t.left("what the run would have measured after it was cancelled")
	}
	if v.has("start_time") {
		t.left("start_time: the tool's local time, without a zone")
	}
	t.aiperfFigures(&run, v, true)
	t.result.Runs = append(t.result.Runs, run)
}

const aiperfAlone = "the aggregate holds no requests; give profile_export.jsonl beside it"

// aiperfFigures takes what both of the tool's aggregates hold. exact says whether figures
// stand there as they were computed, and can be made again.
func (t *taker) aiperfFigures(run *Run, v *value, exact bool) {
	w := &run.Workload
	run.unsaidLoad()
	n := t.count(v.get("request_count", "avg"), "request_count.avg")
	all := max(n, t.count(v.get("completed_request_count", "avg"), "completed_request_count.avg"), n+t.count(v.get("error_request_count", "avg"), "error_request_count.avg"))
	w.Requests = &all
	for _, of := range []struct {
		to          *int64
		field, name string
	}{{&w.ISL, "isl", "input_sequence_length"}, {&w.OSL, "osl", "output_sequence_length"}} {
		if *of.to == 0 {
			run.Unsaid = append(run.Unsaid, of.field)
			*of.to = length(v.get(of.name, "p50"))
		}
	}
	run.Unsaid = append(run.Unsaid, "prompts.state", "sampling", "warmup")
	t.state(run, v.get("request_count", "avg"), "request_count.avg", &metric{rule: row.RuleCompleted}, "")
	if d := v.get("benchmark_duration", "avg"); positive(d) && v.get("benchmark_duration", "unit").reason() == "sec" {
		run.DurationS = decimal(d)
	}
	for _, m := range aiperfMetrics {
		of := v.get(m.name)
		if of == nil {
			continue
		}
		unit, ok := ourUnit(of.get("unit").reason())
		if !ok || (unit == "s") != (m.unit == "ms") && unit != m.unit {
			t.wrong(of.get("unit"), m.name+".unit", `"`+m.unit+`" or the tool's word for it`)
			continue
		}
		m.unit = unit
		if !exact {
			m.rule = ""
			m.means = strings.TrimPrefix(m.means+"; rounded by the tool to two decimals", "; ")
		}
		if !strings.HasSuffix(m.figure, "_ms") && m.rule != row.RuleUserRate {
			t.state(run, of.get("avg"), m.name+".avg", &m, "")
			continue
		}
		for _, s := range []statistic{{"avg", row.StatMean}, {"p1", "p1"}, {"p5", "p5"}, {"p10", "p10"}, {"p25", "p25"}, {"p50", row.StatMedian}, {"p75", "p75"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"std", row.StatStd}, {"min", row.StatMin}, {"max", row.StatMax}} {
			t.state(run, of.get(s.theirs), m.name+"."+s.theirs, &m, s.ours)
		}
	}
}

// ourUnit is ours for a unit as the tool writes it.
func ourUnit(theirs string) (string, bool) {
	switch theirs {
	case "ms":
		return "ms", true
	case "s", "sec":
		return "s", true
	case "tokens/sec", "tokens/sec/user":
		return "tok/s", true
	case "requests/sec":
		return "requests/s", true
	}
	return "", false
}

func isAIPerfRequest(v *value) bool {
	return v.has("metadata", "metrics") && v.get("metadata", "request_start_ns") != nil
}

// aiperfRequests makes one run of the lines of profile_export.jsonl. Its times in ns pass
// what a float64 holds, so differences are taken of the texts.
func aiperfRequests(t *taker, lines []*value) {
	t.result.Tool, t.result.Clock = "aiperf", aiperfClock
	run := Run{Place: 1, Workload: closed(), Unsaid: []string{"isl", "osl", "load.concurrency", "prompts.state", "sampling", "warmup"}}
	lines = slices.DeleteFunc(lines, func(l *value) bool { return l.get("metadata", "benchmark_phase").reason() == "warmup" })
	zero := int64(math.MaxInt64)
	for _, l := range lines {
		if at, ok := whole(l.get("metadata", "request_start_ns")); ok {
			zero = min(zero, at)
		}
	}
	for _, l := range lines {
		s := begun(len(run.Samples))
		if at, ok := whole(l.get("metadata", "request_start_ns")); ok {
			s.Sent = (at - zero + 500) / 1000
			s.Enqueued = s.Sent
		} else {
			s.Unplaced = true
		}
		m := l.get("metrics")
		isl, osl := t.count(m.get("input_sequence_length", "value"), "input_sequence_length"), t.count(m.get("output_sequence_length", "value"), "output_sequence_length")
		if isl > 0 {
			s.ISL = &isl
		}
		ttft := m.get("time_to_first_token", "value")
		gaps := slices.Clone(t.numbers(m.get("inter_chunk_latency", "value"), "inter_chunk_latency"))
		scale := t.seconds(m.get("inter_chunk_latency", "unit"), "inter_chunk_latency.unit")
		for i := range gaps {
			gaps[i] *= scale
		}
		var times row.Gaps
		ok := positive(ttft)
		if ok {
			times, ok = chunks(ttft.num*t.seconds(m.get("time_to_first_token", "unit"), "time_to_first_token.unit"), gaps)
		}
		switch cancelled := l.get("metadata", "was_cancelled"); {
		case !l.get("error").null():
			fails(&s, failure(l.get("error")))
		case cancelled != nil && cancelled.kind == 't':
			fails(&s, "the tool cancelled it")
		case osl == 0 || !ok:
			fails(&s, untimed)
		default:
			s.OSL = &osl
			keep(&s, times, osl)
		}
		run.Samples = append(run.Samples, s)
	}
	n := int64(len(run.Samples))
	run.Workload.Requests = &n
	if zero < math.MaxInt64 {
		run.At = time.Unix(0, zero).UTC().Format(time.RFC3339)
	}
	lengths(&run)
	run.timed()
	t.result.Runs = append(t.result.Runs, run)
}

// seconds is what a unit of time is in seconds.
func (t *taker) seconds(unit *value, name string) float64 {
	switch unit.reason() {
	case "ms":
		return 1e-3
	case "s", "sec":
		return 1
	case "us":
		return 1e-6
	case "ns":
		return 1e-9
	}
	if unit != nil {
		t.wrong(unit, name, `"ms", "sec", "us" or "ns"`)
	}
	return 1e-3
}

// whole is a whole number of any length, by its text.
func whole(v *value) (int64, bool) {
	if v == nil || v.kind != '0' {
		return 0, false
	}
	var n int64
	for _, c := range v.text {
		if c < '0' || c > '9' || n > math.MaxInt64/10-10 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, v.text != ""
}

// lengths takes the medians of what was observed where nothing else is known.
func lengths(run *Run) {
	var isl, osl []int64
	for i := range run.Samples {
		if s := &run.Samples[i]; s.OK() {
			if s.ISL != nil {
				isl = append(isl, *s.ISL)
			}
			if s.OSL != nil {
				osl = append(osl, *s.OSL)
			}
		}
	}
	run.Workload.ISL, run.Workload.OSL = middle(isl), middle(osl)
}

// decimal is a number as it is written.
func decimal(v *value) roofline.Decimal { return roofline.Decimal(v.text) }
