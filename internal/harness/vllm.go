package harness

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

func isVLLMServe(v *value) bool {
	return v.has("model_id", "num_prompts", "request_throughput", "total_token_throughput")
}

const vllmTTFT = "to the first chunk with any choice, which may hold no text"

// vllmServe takes the file of vllm bench serve.
func vllmServe(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "vllm bench serve", "Python's perf_counter, read when aiohttp hands over a part of the body"
	run := Run{Engine: engineOf(t.words(v.get("backend"), "backend")), Model: t.words(v.get("model_id"), "model_id")}
	if date := t.words(v.get("date"), "date"); date != "" {
		t.left("date " + cut(date, 30) + ": the tool's local time, without a zone")
	}
	run.Workload = t.serving(v, &run, "max_concurrency")
	run.Unsaid = append(run.Unsaid, "prompts.kind")
	run.Workload.Endpoint = endpointOf(t.words(v.get("backend"), "backend"))
	t.rates(&run, v, "request_throughput", "output_throughput", "total_token_throughput", "")
	for _, m := range []metric{
		{"ttft", "ms", "ttft_ms", row.RuleTTFT, vllmTTFT},
		{"tpot", "ms", "tpot_ms", row.RuleTPOT, ""},
		{"itl", "ms", "chunk_gap_ms", row.RuleChunkGap, "between chunks, whatever they hold"},
		{"e2el", "ms", "e2e_ms", row.RuleE2E, ""},
	} {
		t.percentiles(&run, v, &m)
	}
	t.detailed(&run, v, "start_times")
	t.result.Runs = append(t.result.Runs, run)
}

// percentiles states STAT_METRIC_ms for every statistic that a file has of a metric, as
// vLLM and SGLang name them.
func (t *taker) percentiles(run *Run, v *value, m *metric) {
	for i, key := range v.keys {
		stat, ok := strings.CutSuffix(key, "_"+m.name+"_ms")
		if !ok {
			continue
		}
		switch _, err := strconv.ParseFloat(strings.TrimPrefix(stat, "p"), 64); {
		case stat == row.StatMean, stat == row.StatMedian, stat == row.StatStd, err == nil && stat[0] == 'p':
			t.state(run, v.vals[i], key, m, stat)
		}
	}
}

// serving is the workload that vLLM's and SGLang's clients drive: so many requests at a
// rate, of which so many at once.
func (t *taker) serving(v *value, run *Run, streams string) row.Workload {
	w := closed()
	n := t.count(v.get("num_prompts"), "num_prompts")
	if n == 0 {
		n = t.count(v.get("completed"), "completed") + t.count(v.get("failed"), "failed")
	}
	w.Requests = &n
	rate, infinite, trace := v.get("request_rate"), false, false
	if rate != nil {
		text := rate.text
		infinite = rate.kind == '0' && math.IsInf(rate.num, 1) || strings.EqualFold(text, "inf")
		switch {
		case infinite || rate.kind == 'n':
		case rate.kind == '"' && text == "trace":
			trace = true
			t.left("request_rate trace: requests came at times of the dataset, which the file does not hold")
		default:
			if x, err := strconv.ParseFloat(text, 64); err != nil || !(x > 0) || math.IsInf(x, 0) {
				t.wrong(rate, "request_rate", "a rate above 0, or inf")
			} else {
				w.Load.RequestRate = &text
				if b := v.get("burstiness"); b != nil && b.kind == '0' {
					w.Load.Burstiness = &b.text
				}
			}
		}
	}
	t.state(run, v.get("completed"), "completed", &metric{rule: row.RuleCompleted}, "")
	if done := v.get("completed"); done != nil && done.kind == '0' && done.num == 0 {
		run.Status, run.Reason = row.StatusError, "no request completed"
	}
	if c := t.count(v.get(streams), streams); c > 0 {
		w.Load.Concurrency = &c
	} else if w.Load.RequestRate == nil && !trace {
		inf := "inf"
		w.Load.RequestRate = &inf
	}
	if w.Load.RequestRate == nil && w.Load.Concurrency == nil {
		run.Unsaid = append(run.Unsaid, "load.concurrency")
	}
	for _, m := range []metric{
		{"total_input_tokens", "tokens", "", row.RuleInput, "of the requests that completed"},
		{"total_output_tokens", "tokens", "", row.RuleOutput, "of the requests that completed"},
	} {
		t.state(run, v.get(m.name), m.name, &m, row.StatSum)
	}
	for _, m := range []metric{
		{"concurrency", "requests", "", "", "the sum of all latencies over the duration"},
		{"accept_length", "tokens", "", "", "of each step of speculative decoding, as the server says"},
	} {
		if e := v.get(m.name); !e.null() {
			t.state(run, e, m.name, &m, "")
		}
	}
	switch d := v.get("duration"); {
	case d.null():
	case d.kind == '0' && d.num > 0 && !math.IsInf(d.num, 0):
		run.DurationS = roofline.Decimal(d.text)
	case t.count(v.get("completed"), "completed") > 0:
		t.wrong(d, "duration", "a time above 0, in seconds") // its rates would be held against nothing
	}
	run.Unsaid = append(run.Unsaid, "prompts.state", "sampling", "warmup")
	return w
}

// closed is a workload of a tool whose every request is timed.
func closed() row.Workload {
	return row.Workload{
		Kind: "text", Protocol: row.Sustained, Repeats: 1,
		Prompts:  row.Prompts{Kind: row.PromptsRandom, State: row.Cold},
		Sampling: row.Sampling{Temperature: "0", IgnoreEOS: true},
		Seed:     "",
	}
}

// rates states the rates over a tool's whole duration.
func (t *taker) rates(run *Run, v *value, requests, output, total, input string) {
	for _, m := range []metric{
		{requests, "requests/s", "request_s", row.RuleRequests, ""},
		{output, "tok/s", "output_tok_s", row.RuleOutputRate, "over the tool's whole duration, ramp and drain included"},
		{total, "tok/s", "total_tok_s", row.RuleTotalRate, "over the tool's whole duration, ramp and drain included"},
		{input, "tok/s", "", row.RuleInputRate, ""},
	} {
		if m.name != "" {
			t.state(run, v.get(m.name), m.name, &m, "")
		}
	}
}

// detailed takes the requests of vLLM's and SGLang's clients: parallel lists, times in
// seconds. starts names the list of when each was sent; "" of a tool that keeps none.
func (t *taker) detailed(run *Run, v *value, starts string) {
	ttfts := t.numbers(v.get("ttfts"), "ttfts")
	inputs, outputs := t.numbers(v.get("input_lens"), "input_lens"), t.numbers(v.get("output_lens"), "output_lens")
	if ttfts == nil {
		run.NoSamples = "the file holds no requests: the tool was not asked for details"
		observed(run, v)
		return
	}
	gaps := v.get("itls").elements()
	errs := v.get("errors").elements()
	var began, waited []float64
	if starts != "" {
		began = t.numbers(v.get(starts), starts)
	}
	if began != nil && run.Workload.Load.RequestRate != nil && *run.Workload.Load.RequestRate != "inf" {
		// At a rate a request that waits for a slot is late; of streams kept full it is the
		// next one.
		if waited = t.numbers(v.get("queue_times"), "queue_times"); waited == nil && run.Workload.Load.Concurrency != nil {
			t.left("how long each request waited for a slot: the file does not say, and TTFT counts from its sending")
		}
	}
	for _, list := range []struct {
		name string
		n    int
		must bool
	}{{"input_lens", len(inputs), true}, {"output_lens", len(outputs), true}, {"itls", len(gaps), true}, {"errors", len(errs), errs != nil}, {starts, len(began), began != nil}, {"queue_times", len(waited), waited != nil}} {
		if list.must && list.n != len(ttfts) {
			t.problems = append(t.problems, "line "+strconv.Itoa(v.get("ttfts").line)+": ttfts has "+strconv.Itoa(len(ttfts))+" elements and "+list.name+" "+strconv.Itoa(list.n)+"; as many are accepted")
			return
		}
	}
	zero := math.Inf(1)
	due := slices.Clone(began)
	for i, s := range began {
		if waited != nil && waited[i] >= 0 && waited[i] <= s {
			due[i] = s - waited[i]
		}
		if s >= 0 {
			zero = min(zero, due[i])
		}
	}
	for i, ttft := range ttfts {
		s := begun(i)
		s.Unplaced = began == nil
		if began != nil {
			from, okDue := micros(due[i] - zero)
			at, ok := micros(began[i] - zero)
			if !ok || !okDue {
				s.Unplaced = true
			} else {
				s.Enqueued, s.Sent = from, at
			}
		}
		if n := inputs[i]; n >= 0 && n == math.Trunc(n) && n < 1e9 {
			v := int64(n)
			s.ISL = &v
		}
		reason := ""
		if errs != nil && errs[i].kind == '"' {
			reason = errs[i].text
		}
		osl := outputs[i]
		of := t.numbers(gaps[i], "itls")
		times, ok := chunks(ttft, of)
		switch {
		case reason != "":
			s.Status, s.Reason = row.StatusError, cut(reason, 500)
		case !(osl > 0) || osl != math.Trunc(osl) || osl > 1e9:
			s.Status, s.Reason = row.StatusError, "the tool counts no output token"
		case !ok || ttft == 0:
			s.Status, s.Reason = row.StatusError, "the tool's times of it are no times"
		}
		if s.OK() {
			n := int64(osl)
			s.OSL = &n
			keep(&s, times, n)
		}
		run.Samples = append(run.Samples, s)
	}
	observed(run, v)
}

// keep puts the chunks into a request, each a token; of more chunks than tokens the first
// and the last alone, since some held none and which is not in the file.
func keep(s *row.Sample, t row.Gaps, osl int64) {
	if int64(len(t)) <= osl {
		s.T = t
		return
	}
	first, last, n := t[0], int64(0), int64(len(t))
	for _, g := range t {
		last += g
	}
	s.First, s.Last, s.Chunks, s.Tokens = &first, &last, &n, &osl
}

// observed takes the lengths from the requests where the file does not say what was asked
// for.
func observed(run *Run, v *value) {
	w := &run.Workload
	if w.ISL > 0 && w.OSL > 0 {
		return
	}
	lens := func(name string) []float64 {
		l := v.get(name)
		if l == nil || l.kind != 'N' {
			return nil
		}
		return l.nums
	}
	for _, of := range []struct {
		name, field, total string
		to                 *int64
	}{{"input_lens", "isl", "total_input_tokens", &w.ISL}, {"output_lens", "osl", "total_output_tokens", &w.OSL}} {
		if *of.to > 0 {
			continue
		}
		run.Unsaid = append(run.Unsaid, of.field)
		if l := slices.Clone(lens(of.name)); len(l) > 0 {
			slices.Sort(l)
			*of.to = int64(l[len(l)/2])
		} else if total, n := v.get(of.total), v.get("completed"); total != nil && n != nil && n.num > 0 {
			*of.to = int64(math.Round(total.num / n.num))
		}
	}
}

// engineOf is the engine that a tool's backend names; "" where it names only a protocol.
func engineOf(backend string) string {
	for _, e := range [][2]string{{"vllm", "vllm"}, {"sglang", "sglang"}, {"trt", "trtllm"}, {"tensorrt", "trtllm"}, {"tgi", "tgi"}, {"lmdeploy", "lmdeploy"}} {
		if strings.HasPrefix(strings.ToLower(backend), e[0]) {
			return e[1]
		}
	}
	return ""
}

// endpointOf is the route that a backend asks; "" unknown.
func endpointOf(backend string) string {
	switch {
	case strings.Contains(backend, "chat"):
		return "/v1/chat/completions"
	case backend == "sglang" || backend == "sglang-native":
		return "/generate"
	case strings.Contains(backend, "openai") || backend == "vllm" || strings.HasSuffix(backend, "-oai"):
		return "/v1/completions"
	}
	return ""
}

func (t *taker) left(text string) {
	if !slices.Contains(t.result.Left, text) && len(t.result.Left) < 20 {
		t.result.Left = append(t.result.Left, text)
	}
}

func isVLLMLatency(v *value) bool { return v.has("avg_latency", "latencies", "percentiles") }

// vllmLatency takes the file of vllm bench latency: whole batches, no tokens apart.
func vllmLatency(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "vllm bench latency", "Python's perf_counter around a whole batch"
	run := Run{Engine: "vllm", Workload: closed()}
	m := metric{"avg_latency", "s", "", "", "a whole batch, prompt and all tokens"}
	t.state(&run, v.get("avg_latency"), "avg_latency", &m, "")
	if p := v.get("percentiles"); p != nil && p.kind == '{' {
		for i, key := range p.keys {
			m.name = "percentiles." + key
			t.state(&run, p.vals[i], m.name, &m, "")
		}
	}
	n := int64(len(t.numbers(v.get("latencies"), "latencies")))
	run.Workload.Requests = &n
	run.Unsaid = []string{"isl", "osl", "load.concurrency"}
	run.NoSamples = "the tool times whole batches, not requests"
	t.result.Runs = append(t.result.Runs, run)
}
