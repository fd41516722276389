package harness

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

func isLlamaBench(v *value) bool { return v.has("build_commit", "n_prompt", "n_gen", "avg_ts") }

// llamaBench takes a test of llama-bench: a forward pass without tokenising, sampling or a
// server.
func llamaBench(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "llama-bench", "ggml's clock around a forward pass, without tokenising and sampling"
	if v.get("build_commit").kind == '"' {
		t.result.Version = t.words(v.get("build_commit"), "build_commit")
	}
	run := Run{Engine: "llamacpp", Model: t.words(v.get("model_filename"), "model_filename"), Workload: closed(),
		NoSamples: "the tool times forward passes, not requests"}
	if at, err := time.Parse(time.RFC3339, v.get("test_time").reason()); err == nil {
		run.At = at.UTC().Format(time.RFC3339)
	}
	run.Labels = labels(v, "build_number", "cpu_info", "gpu_info", "backends", "model_type", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers", "flash_attn", "n_depth")
	prompt, gen := t.count(v.get("n_prompt"), "n_prompt"), t.count(v.get("n_gen"), "n_gen")
	run.Workload.ISL, run.Workload.OSL = prompt, gen
	one := int64(1)
	run.Workload.Load.Concurrency = &one
	n := int64(len(t.numbers(v.get("samples_ts"), "samples_ts")))
	run.Workload.Requests, run.Workload.Repeats = &one, max(1, n)
	run.Unsaid = []string{"prompts.state", "sampling", "warmup"}
	m := metric{"avg_ts", "tok/s", "", "", ""}
	switch {
	case gen == 0:
		m.figure, m.means = "prefill_tok_s", "of a forward pass over the prompt"
	case prompt == 0:
		m.figure, m.means = "decode_tok_s", "of decoding alone, one sequence"
	default:
		m.means = "prompt and output in one: neither prefill nor decode"
	}
	if depth := t.count(v.get("n_depth"), "n_depth"); depth > 0 {
		m.means += ", after " + strconv.FormatInt(depth, 10) + " tokens of context"
	}
	t.state(&run, v.get("avg_ts"), "avg_ts", &m, row.StatMean)
	m.figure = ""
	t.state(&run, v.get("stddev_ts"), "stddev_ts", &m, row.StatStd1)
	if s := v.get("samples_ts"); s != nil && s.kind == 'N' {
		for i, x := range s.nums {
			e := &value{kind: '0', num: x, text: strconv.FormatFloat(x, 'g', -1, 64), line: s.line}
			t.state(&run, e, "samples_ts["+strconv.Itoa(i)+"]", &m, "")
		}
	}
	t.result.Runs = append(t.result.Runs, run)
}

// Repeats are the values of one of our figures in each repeat that a tool's own figures
// tell: llama-bench states each of its samples beside their mean. Nil where none are.
func Repeats(i *row.Import, figure string) (values []float64) {
	if !slices.ContainsFunc(i.Stated, func(s row.Stated) bool { return s.Name == "avg_ts" && s.Figure == figure }) {
		return nil
	}
	for _, s := range i.Stated {
		if !strings.HasPrefix(s.Name, "samples_ts[") {
			continue
		}
		v, err := strconv.ParseFloat(s.Text, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return nil // one that is no rate leaves the others without their place
		}
		values = append(values, v)
	}
	return values
}
