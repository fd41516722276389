package harness

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"rowproof/internal/row"
)

func isSGLangServing(v *value) bool {
	return v.has("backend", "dataset_name", "total_throughput") && v.get("median_ttft_ms") != nil
}

// sglangServing takes a line of sglang.bench_serving. It does not say when a request was
// sent, nor when it ended, which is some time after the last text.
func sglangServing(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "sglang.bench_serving", "Python's perf_counter, read when aiohttp hands over a line of the body"
	if v.has("protocol") {
		t.result.Tool, t.result.Clock = "sglang.bench_serving (its Rust client)", "the Rust client's monotonic clock, read when it takes a part of the body"
	}
	backend := t.words(v.get("backend"), "backend")
	run := Run{Engine: engineOf(backend)}
	run.Server = t.settings(v.get("server_info"))
	run.Model = first(run.Server, "served_model_name", "model_path")
	if version := run.Server["version"]; version != "" && t.result.Version == "" {
		t.left("version " + cut(version, 40) + " is the server's; the tool does not say its own")
	}
	run.Workload = t.serving(v, &run, "max_concurrency")
	w := &run.Workload
	w.Endpoint = endpointOf(backend)
	if name := t.words(v.get("dataset_name"), "dataset_name"); !strings.HasPrefix(name, "random") && name != "" {
		w.Prompts.Kind = row.PromptsDataset
	}
	isl, osl := t.count(v.get("random_input_len"), "random_input_len"), t.count(v.get("random_output_len"), "random_output_len")
	if ratio := v.get("random_range_ratio"); ratio != nil && ratio.num == 1 && w.Prompts.Kind == row.PromptsRandom {
		w.ISL, w.OSL = isl, osl // else lengths are drawn up to these
	}
	t.rates(&run, v, "request_throughput", "output_throughput", "total_throughput", "input_throughput")
	for _, m := range []metric{
		{"e2e_latency", "ms", "e2e_ms", "", "to the last line of any kind, not to the last text"},
		{"ttft", "ms", "ttft_ms", row.RuleTTFT, "to the first text that is not empty, from when a slot was free"},
		{"tpot", "ms", "tpot_ms", "", "from the first text to the last line of any kind, over the tokens after the first"},
		{"itl", "ms", "chunk_gap_ms", row.RuleChunkGap, "between chunks"},
	} {
		t.percentiles(&run, v, &m)
	}
	t.detailed(&run, v, "")
	t.result.Runs = append(t.result.Runs, run)
}

// secretNames are parts of the names of settings that may hold secrets.
var secretNames = []string{"key", "token", "secret", "password", "passwd", "credential", "auth", "cookie"}

// counters are settings whose names only look like it.
var notSecret = []string{"token_num", "tokens", "tokenizer", "token_to", "token_usage", "max_total_token", "num_token", "keys_"}

const masked = "(masked)"

// settings flattens what a file repeats of the server's own; nil where it has none. Values
// that may be secrets are masked.
func (t *taker) settings(v *value) map[string]string {
	if v == nil || v.kind != '{' || len(v.keys) == 0 {
		return nil
	}
	out := map[string]string{}
	for i, key := range v.keys {
		e := v.vals[i]
		switch {
		case len(key) > 100 || len(out) >= 2000:
		case e.kind == '"', e.kind == '0', e.kind == 't', e.kind == 'f':
			name := cut(key, 100)
			out[name] = cut(e.text, 2000)
			if e.text != "" && (secretName(key) && (e.kind == '"' || len(e.text) > 6) || secretSign.MatchString(e.text)) {
				out[name] = masked
			}
		}
	}
	return out
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	part := func(p string) bool { return strings.Contains(name, p) }
	return slices.ContainsFunc(secretNames, part) && !slices.ContainsFunc(notSecret, part)
}

// secretSign is what a secret looks like whatever its name: a flag of a command line, an
// address with a password, a well-known kind of token.
var secretSign = regexp.MustCompile(`(?i)\b(api[-_]?key|password|secret|bearer |[a-z_-]*token["']?[ =:]|sk-\w|hf_\w{16}|gh[pousr]_|github_pat_|AKIA)|://[^/@]*:[^/@]*@`)

// first is the value of the first name that there is.
func first(m map[string]string, names ...string) string {
	for _, n := range names {
		if m[n] != "" {
			return m[n]
		}
	}
	return ""
}

func isSGLangOneBatch(v *value) bool { return v.has("run_name", "batch_size", "prefill_latency") }

// sglangOneBatch takes a line of sglang.bench_one_batch, which runs the model without a
// server: a floor, not a load.
func sglangOneBatch(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "sglang.bench_one_batch", "Python's perf_counter around a synchronised forward pass"
	run := Run{Engine: "sglang", Workload: closed(), NoSamples: "the tool times forward passes, not requests"}
	batch(t, &run, v)
	for _, m := range []metric{
		{"prefill_latency", "s", "", "", "a whole batch's forward pass over its prompts"},
		{"prefill_throughput", "tok/s", "prefill_tok_s", "", "of a forward pass, without a server"},
		{"median_decode_latency", "s", "tpot_ms", "", "the median step of a batch, without a server"},
		{"median_decode_throughput", "tok/s", "decode_tok_s", "", "of the median step"},
		{"total_latency", "s", "", "", ""},
		{"overall_throughput", "tok/s", "total_tok_s", "", ""},
	} {
		stat := ""
		if m.figure == "tpot_ms" {
			stat = row.StatMedian
		}
		t.state(&run, v.get(m.name), m.name, &m, stat)
	}
	t.result.Runs = append(t.result.Runs, run)
}

func isSGLangServerBatch(v *value) bool { return v.has("run_name", "batch_size", "last_ttft") }

// sglangServerBatch takes a line of sglang.bench_one_batch_server: one batch, all sent at
// once.
func sglangServerBatch(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "sglang.bench_one_batch_server", "Python's perf_counter around one batch"
	run := Run{Engine: "sglang", Workload: closed(), NoSamples: "the tool times one batch, not requests"}
	batch(t, &run, v)
	for _, m := range []metric{
		{"latency", "s", "", "", "a whole batch"},
		{"input_throughput", "tok/s", "", "", "all prompt tokens over the last first token's time"},
		{"output_throughput", "tok/s", "", "", "all output tokens, the first ones too, over the time after the last first token"},
		{"overall_throughput", "tok/s", "total_tok_s", "", ""},
		{"last_ttft", "s", "", "", "the last of the batch's first tokens"},
		{"last_gen_throughput", "tok/s", "", "", "as the server last said"},
		{"acc_length", "", "", "", ""},
		{"cache_hit_rate", "", "", "", ""},
	} {
		t.state(&run, v.get(m.name), m.name, &m, "")
	}
	t.result.Runs = append(t.result.Runs, run)
}

// batch is the workload of one batch.
func batch(t *taker, run *Run, v *value) {
	w := &run.Workload
	c := t.count(v.get("batch_size"), "batch_size")
	w.Load.Concurrency, w.Requests = &c, &c
	w.ISL, w.OSL = t.count(v.get("input_len"), "input_len"), t.count(v.get("output_len"), "output_len")
	run.Labels = map[string]string{}
	if name := t.words(v.get("run_name"), "run_name"); name != "" {
		run.Labels["run_name"] = name
	}
	run.Unsaid = []string{"prompts.state", "sampling", "warmup"}
}

// labels are texts and numbers of an object that nobody but the file's writer vouches for.
func labels(v *value, names ...string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		if e := v.get(n); e != nil && (e.kind == '"' || e.kind == '0' || e.kind == 't' || e.kind == 'f') && e.text != "" {
			out[n] = cut(e.text, 500)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return maps.Clone(out)
}
