package harness

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// The seed's table states every column that it fills; a column over a whole batch or of
// the allocator stands for none of ours.
func TestTheSeedsTable(t *testing.T) {
	f, err := os.Open("testdata/seed.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Parse("seed.csv", f)
	if err != nil {
		t.Fatal(err)
	}
	if r.Format != "bench-csv" || len(r.Runs) != 9 {
		t.Fatalf("%d runs of %s, want the seed's 9", len(r.Runs), r.Format)
	}
	run := &r.Runs[1]
	if w := run.Workload; w.ISL != 128 || w.OSL != 128 || *w.Load.Concurrency != 4 || w.Protocol != row.Passes || w.Prompts.State != row.Cold {
		t.Errorf("the workload is %+v", w)
	}
	if f := run.Figures; *f.TTFT.Mean != 25.81384 || *f.PrefillTokPerSec != 4969.912 || *f.DecodeTokPerSec != 552.3547 || f.ITL != nil || f.TPOT != nil {
		t.Errorf("the figures are %+v", f)
	}
	for name, want := range map[string]string{"itl_p99_ms": "15.847513", "retires": "12", "num_inflight_park_waits": "6", "admitted_tok": "448", "peak_active_bytes": "3746307584", "batching_efficiency": "0.7112905"} {
		if s := stated(run, name); s.Text != want || s.Figure != "" {
			t.Errorf("%s is %+v, want %s and no figure of ours", name, s, want)
		}
	}
}

// A percentile of 1 / TPOT is of the slow side, its spread is no spread, and a rate over
// the GPUs that decode is not one over all.
func TestInferenceX(t *testing.T) {
	const head = `{"hw":"h200","conc":64,"image":"i","model":"m","framework":"sglang","precision":"fp8","spec_decoding":"mtp","isl":1024,"osl":256,"tput_per_gpu":1500,"output_tput_per_gpu":600,`
	const times = `"median_ttft":0.25,"median_tpot":0.02,"p99_tpot":0.04,"median_intvty":50,"p99_intvty":25,"std_intvty":900}`
	r := parsed(t, head+`"is_multinode":false,"tp":8,"ep":1,"dp_attention":"false",`+times)
	run := &r.Runs[0]
	f := &run.Figures
	if run.Devices != 8 || *f.TTFT.P50 != 250 || *f.TPOT.P99 != 40 || *f.OutputTokPerSecPerGPU != 600 || *f.TotalTokPerSecPerGPU != 1500 || run.Labels["spec_decoding"] != "mtp" {
		t.Errorf("%d GPUs, %+v", run.Devices, f)
	}
	if s := stated(run, "p99_intvty"); s.Text != "25" || !strings.Contains(s.Means, "slow") {
		t.Errorf("p99_intvty is %+v", s)
	}
	if stated(run, "std_intvty").Name != "" || !slices.ContainsFunc(r.Left, func(l string) bool { return strings.HasPrefix(l, "std_intvty") }) {
		t.Errorf("std_intvty is taken; left out are %q", r.Left)
	}
	run = &parsed(t, head+`"is_multinode":true,"disagg":true,"prefill_tp":4,"decode_tp":8,"num_prefill_gpu":8,"num_decode_gpu":16,`+times).Runs[0]
	if run.Devices != 24 || run.Figures.OutputTokPerSecPerGPU != nil || *run.Figures.TotalTokPerSecPerGPU != 1500 {
		t.Errorf("apart, %d GPUs, %+v", run.Devices, run.Figures)
	}
	if s := stated(run, "output_tput_per_gpu"); s.Text != "600" || s.Figure != "" || !strings.Contains(s.Means, "decode") {
		t.Errorf("output_tput_per_gpu is %+v", s)
	}
}

// Requests at the times of a trace came at no rate, and not all at once either.
func TestATraceHasNoRate(t *testing.T) {
	r := parsed(t, `{"backend":"sglang","dataset_name":"mooncake","total_throughput":1,"median_ttft_ms":1,"request_rate":"trace","max_concurrency":null,"completed":2}`)
	if load := r.Runs[0].Workload.Load; load.RequestRate != nil || load.Concurrency != nil || len(r.Left) == 0 {
		t.Errorf("%+v, left out %q", load, r.Left)
	}
}

// What SGLang says of speculative decoding and of the streams in flight is stated, and the
// tokens that it counted are held against those of its requests.
func TestSGLangStatesItsCounts(t *testing.T) {
	run := &read(t, "sglang-0.5.23/s.jsonl").Runs[0]
	for _, name := range []string{"total_input_tokens", "total_output_tokens"} {
		s := stated(run, name)
		if got, ok := row.ToolFigure(s.Rule, s.Statistic, run.Samples, 0); !ok || got != 256 || s.Text != "256" {
			t.Errorf("%s is %+v, its requests give %v", name, s, got)
		}
	}
	if s := stated(run, "concurrency"); !strings.HasPrefix(s.Text, "3.98") || s.Figure != "" {
		t.Errorf("concurrency is %+v", s)
	}
	const one = `{"backend":"sglang","dataset_name":"random","total_throughput":1,"median_ttft_ms":1,"max_concurrency":1,"completed":1,"accept_length":2.75}`
	if s := stated(&parsed(t, one).Runs[0], "accept_length"); s.Text != "2.75" {
		t.Errorf("accept_length is %+v", s)
	}
}

// Failed requests of the detailed lists are failures with their reason, in no figure.
func TestFailedRequestsOfALists(t *testing.T) {
	run := &parsed(t, `{"model_id":"m","backend":"vllm","num_prompts":3,"max_concurrency":3,"request_rate":"inf","duration":1,"completed":1,"failed":2,"request_throughput":1,"total_token_throughput":12,"output_throughput":2,`+
		`"total_input_tokens":10,"total_output_tokens":2,"input_lens":[10,10,10],"output_lens":[2,0,0],"ttfts":[0.1,0.0,0.0],"itls":[[0.02],[],[]],"start_times":[7.0,7.0,7.25],"errors":["","Bad Gateway",""]}`).Runs[0]
	s := run.Samples
	if len(s) != 3 || !s[0].OK() || s[1].OK() || s[1].Reason != "Bad Gateway" || s[2].OK() || s[2].Reason == "" || s[2].Sent != 250_000 {
		t.Fatalf("%+v", s)
	}
	if f := row.Compute(&run.Workload, 0, s, nil).Figures; math.Abs(*f.TTFT.Mean-100) > 1e-9 {
		t.Errorf("a failed request is in TTFT: %v", *f.TTFT.Mean)
	}
	for _, name := range []string{"completed", "total_input_tokens", "total_output_tokens", "output_throughput"} {
		st := stated(run, name)
		if _, ok := row.ToolFigure(st.Rule, st.Statistic, s, 1); !ok {
			t.Errorf("%s is not made again: %+v", name, st)
		}
	}
	if !slices.Contains(run.Unsaid, "prompts.kind") {
		t.Errorf("vLLM's file does not say its dataset; unsaid are %q", run.Unsaid)
	}
}

// A depth is context that the test itself does not time.
func TestLlamaBenchDepth(t *testing.T) {
	run := &parsed(t, `[{"build_commit":"a1","n_prompt":0,"n_gen":128,"n_depth":4096,"avg_ts":90.5,"stddev_ts":1}]`).Runs[0]
	if s := stated(run, "avg_ts"); *run.Figures.DecodeTokPerSec != 90.5 || !strings.Contains(s.Means, "after 4096 tokens of context") {
		t.Errorf("%+v", s)
	}
	run = &parsed(t, `[{"build_commit":"a1","n_prompt":512,"n_gen":128,"avg_ts":90.5}]`).Runs[0]
	if f := run.Figures; f.DecodeTokPerSec != nil || f.PrefillTokPerSec != nil {
		t.Errorf("prompt and output in one stand for %+v", f)
	}
}

// A request that waits for a slot at a set rate is late from when it was due; in streams
// kept full it is only the next one. The tool's own TTFT counts from its sending in both.
func TestWaitingForASlotIsInTTFTAtARate(t *testing.T) {
	file := func(rate string) string {
		return `{"model_id":"m","backend":"vllm","num_prompts":2,"max_concurrency":1,"request_rate":` + rate + `,"duration":1,"completed":2,"request_throughput":2,"total_token_throughput":24,"output_throughput":4,` +
			`"mean_ttft_ms":100,"input_lens":[10,10],"output_lens":[2,2],"ttfts":[0.1,0.1],"itls":[[0.02],[0.02]],"start_times":[7.0,7.25],"queue_times":[0.0,0.05],"errors":["",""]}`
	}
	for rate, want := range map[string]float64{`10.0`: 125, `"inf"`: 100} {
		run := &parsed(t, file(rate)).Runs[0]
		f := row.Compute(&run.Workload, 0, run.Samples, nil).Figures
		if math.Abs(*f.TTFT.Mean-want) > 1e-9 {
			t.Errorf("at %s TTFT is %v, want %v", rate, *f.TTFT.Mean, want)
		}
		s := stated(run, "mean_ttft_ms")
		if got, ok := row.ToolFigure(s.Rule, s.Statistic, run.Samples, 1); !ok || math.Abs(got-100) > 1e-9 {
			t.Errorf("at %s the tool's own comes out as %v", rate, got)
		}
	}
}

// A run of which all failed has zeros for figures: it is an error, and none of them counts.
func TestARunWithoutACompletedRequestIsAnError(t *testing.T) {
	run := &parsed(t, `{"model_id":"m","backend":"vllm","num_prompts":4,"max_concurrency":4,"request_rate":"inf","duration":1,"completed":0,"failed":4,"request_throughput":0.0,"total_token_throughput":0.0,"output_throughput":0.0,"mean_ttft_ms":0.0,"mean_tpot_ms":0.0}`).Runs[0]
	if f := run.Figures; run.Status != row.StatusError || run.Reason != "no request completed" || f.TTFT != nil || f.OutputTokPerSec != nil || f.RequestPerSec != nil {
		t.Errorf("%s %q %+v", run.Status, run.Reason, f)
	}
}
