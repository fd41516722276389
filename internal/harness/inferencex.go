package harness

import "rowproof/internal/row"

func isInferenceX(v *value) bool { return v.has("hw", "conc", "framework", "tput_per_gpu") }

// inferenceX takes a processed result of InferenceX, whose times are in seconds.
func inferenceX(t *taker, v *value) {
	t.result.Tool, t.result.Clock = "InferenceX", "of the serving benchmark that it ran; the file does not name it"
	run := Run{Engine: engineOf(t.words(v.get("framework"), "framework")), Model: t.words(v.get("model"), "model"),
		Workload: closed(), NoSamples: "the file holds figures over the requests, not the requests"}
	run.Labels = labels(v, "hw", "image", "precision", "spec_decoding", "tp", "pp", "ep", "dp_attention", "framework")
	w := &run.Workload
	c := t.count(v.get("conc"), "conc")
	w.Load.Concurrency = &c
	w.ISL, w.OSL = t.count(v.get("isl"), "isl"), t.count(v.get("osl"), "osl")
	run.Devices = max(1, t.count(v.get("tp"), "tp")) * max(1, t.count(v.get("pp"), "pp"))
	run.Unsaid = []string{"prompts.state", "sampling", "warmup", "requests"}
	for _, m := range []metric{
		{"tput_per_gpu", "tok/s", "total_tok_s_per_gpu", "", "input and output tokens"},
		{"output_tput_per_gpu", "tok/s", "output_tok_s_per_gpu", "", ""},
		{"intvty", "tok/s", "", "", "1 / TPOT: tokens a second for each user"},
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
	if v.has("std_intvty") {
		t.left("std_intvty: the spread of 1 / TPOT is not 1 / the spread of TPOT, which is what stands there")
	}
	t.result.Runs = append(t.result.Runs, run)
}
