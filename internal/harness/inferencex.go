package harness

import (
	"strings"

	"rowproof/internal/row"
)

func isInferenceX(v *value) bool { return v.has("hw", "conc", "framework", "tput_per_gpu") }

// inferenceX takes a processed result of InferenceX, whose times are in seconds.
func inferenceX(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "InferenceX", "of the serving benchmark that it ran; the file does not name it"
	run := Run{Engine: engineOf(t.words(v.get("framework"), "framework")), Model: t.words(v.get("model"), "model"),
		Workload: closed(), NoSamples: "the file holds figures over the requests, not the requests"}
	run.Labels = labels(v, "hw", "image", "precision", "spec_decoding", "tp", "pp", "ep", "dp_attention", "framework", "disagg", "prefill_tp", "prefill_ep", "prefill_hw", "decode_tp", "decode_ep", "decode_hw")
	w := &run.Workload
	c := t.count(v.get("conc"), "conc")
	w.Load.Concurrency = &c
	w.ISL, w.OSL = t.count(v.get("isl"), "isl"), t.count(v.get("osl"), "osl")
	output := metric{"output_tput_per_gpu", "tok/s", "output_tok_s_per_gpu", "", ""}
	prefill, decode := t.count(v.get("num_prefill_gpu"), "num_prefill_gpu"), t.count(v.get("num_decode_gpu"), "num_decode_gpu")
	if run.Devices = prefill + decode; run.Devices == 0 {
		run.Devices = max(1, t.count(v.get("tp"), "tp")) * max(1, t.count(v.get("pp"), "pp"))
	} else if prefill > 0 && decode > 0 {
		// Over fewer GPUs than ours, so that it stands for none of our figures.
		output.figure, output.means = "", "over the GPUs that decode alone, not over all"
	}
	run.Unsaid = []string{"prompts.state", "sampling", "warmup", "requests"}
	for _, m := range []metric{
		{"tput_per_gpu", "tok/s", "total_tok_s_per_gpu", "", "input and output tokens"},
		output,
		{"input_tput_per_gpu", "tok/s", "", "", "of the GPUs that prefill"},
	} {
		t.state(&run, v.get(m.name), m.name, &m, "")
	}
	for _, m := range []metric{
		{"ttft", "s", "ttft_ms", "", ""}, {"tpot", "s", "tpot_ms", "", ""}, {"itl", "s", "chunk_gap_ms", "", "between chunks"}, {"e2el", "s", "e2e_ms", "", ""},
	} {
		for _, stat := range []string{row.StatMean, row.StatMedian, "p90", "p95", "p99", row.StatStd} {
			t.state(&run, v.get(stat+"_"+m.name), stat+"_"+m.name, &m, stat)
		}
	}
	for i, key := range v.keys {
		stat, is := strings.CutSuffix(key, "intvty")
		switch {
		case !is:
		case stat == "std_":
			t.left("std_intvty: the spread of 1 / TPOT is not 1 / the spread of TPOT, which is what stands there")
		case stat == "":
			t.state(&run, v.vals[i], key, &metric{unit: "tok/s", means: "1 / TPOT: tokens a second for each user"}, "")
		default:
			t.state(&run, v.vals[i], key, &metric{unit: "tok/s", means: "1 / the " + cut(strings.TrimSuffix(stat, "_"), 20) + " of TPOT: a high percentile of it is a slow user's"}, "")
		}
	}
	t.result.Runs = append(t.result.Runs, run)
}
