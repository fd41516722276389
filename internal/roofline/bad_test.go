package roofline_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// figures holds that an answer's figures are numbers: JSON has no other.
func figures(t *testing.T, a roofline.Answer) {
	t.Helper()
	if _, err := json.Marshal(a); err != nil {
		t.Errorf("a figure is no number: %v", err)
	}
	for name, given := range map[string]bool{
		"weight_bytes": a.WeightBytes != nil, "kv_bytes_per_token": a.KVBytesPerToken != nil,
		"read_bytes_per_step": a.ReadBytesPerStep != nil, "decode_step_ms": a.DecodeStepMS != nil,
		"decode_tok_s": a.DecodeTokPerSec != nil, "prefill_ms": a.PrefillMS != nil, "serving": a.Serving != nil,
		"parts": a.Parts != nil, "binding": a.Binding != "", "formula": a.Formula != "",
		"fits": a.Fits != nil, "max_concurrency": a.MaxConcurrency != nil,
	} {
		if reason := a.Missing[name]; given == (reason != "") {
			t.Errorf("%s is given: %v; the reason for its lack is %q", name, given, reason)
		}
	}
}

// What is wrong with a question is said with the field, what was found and what would
// be accepted; nothing panics, and no figure is made up.
func TestWrongQuestions(t *testing.T) {
	dense, experts, latent := known(t, "llama-3.1-8b"), known(t, "mixtral-8x7b"), known(t, "deepseek-v3")
	over := func(m *roofline.Model, change func(a *roofline.Architecture)) *roofline.Model {
		n := *m
		n.Architecture.Layers = append([]roofline.Layer{}, m.Architecture.Layers...)
		change(&n.Architecture)
		return &n
	}
	device := func(change func(d *roofline.Target)) *roofline.Target {
		d := plain(1)
		change(d)
		return d
	}
	for _, c := range []struct {
		name string
		q    roofline.Query
		want []string // each in one sentence of Wrong
	}{
		{"weights", roofline.Query{Model: dense, WeightDtype: "fp6"}, []string{"weight dtype", `"fp6"`, "bf16, fp16, fp32, fp8"}},
		{"a mix", roofline.Query{Model: dense, WeightDtype: "q4_k_m"}, []string{"q4_k_m", "file"}},
		{"cache", roofline.Query{Model: dense, KVDtype: "fp3"}, []string{"KV dtype", `"fp3"`, "bf16, fp16, fp8"}},
		{"a latent's cache", roofline.Query{Model: dense, KVDtype: "fp8_ds_mla"}, []string{"fp8_ds_mla", "fp8 would do"}},
		{"batch 0 once filled is 1, below is wrong", roofline.Query{Model: dense, Batch: -1}, []string{"batch -1", "1 to"}},
		{"batch beyond reach", roofline.Query{Model: dense, Batch: 1e18}, []string{"batch 1000000000000000000", "1 to 100000000"}},
		{"context below 0", roofline.Query{Model: dense, Context: -1}, []string{"context -1", "0 to"}},
		{"context beyond reach", roofline.Query{Model: dense, Context: math.MaxInt64}, []string{"context 9223372036854775807", "0 to"}},
		{"context beyond the model", roofline.Query{Model: dense, Context: 131073}, []string{"context 131073", "131072"}},
		{"prompt and output beyond the model", roofline.Query{Model: dense, ISL: 131072, OSL: 1}, []string{"131073", "131072"}},
		{"prompt below 0", roofline.Query{Model: dense, ISL: -1}, []string{"isl -1", "0 to"}},
		{"prompt and output that overflow", roofline.Query{Model: dense, ISL: math.MaxInt64, OSL: math.MaxInt64}, []string{"isl 9223372036854775807", "0 to"}},
		{"output below 0", roofline.Query{Model: dense, OSL: -1}, []string{"osl -1", "0 to"}},
		{"all cached", roofline.Query{Model: dense, ISL: 64, Cached: 64}, []string{"cached 64", "prompt of 64", "at least one"}},
		{"cached below 0", roofline.Query{Model: dense, ISL: 64, Cached: -1}, []string{"cached -1"}},
		{"chunk below 0", roofline.Query{Model: dense, ISL: 64, Chunk: -1}, []string{"chunk -1", "0 to"}},
		{"concurrency below 0", roofline.Query{Model: dense, Concurrency: -1}, []string{"concurrency -1", "0 to"}},
		{"tp below 1", roofline.Query{Model: dense, TP: -1}, []string{"tp -1", "at least 1"}},
		{"tp of no devices", roofline.Query{Model: dense, TP: 2}, []string{"tp 2", "1 device"}},
		{"tp that does not divide", roofline.Query{Model: dense, Target: plain(8), TP: 3}, []string{"tp 3", "32 heads", "1, 2, 4, 8"}},
		{"pp of more stages than layers", roofline.Query{Model: dense, Target: plain(64), TP: 1, PP: 64}, []string{"pp 64", "32 layers"}},
		{"devices that overflow", roofline.Query{Model: experts, Target: plain(8), TP: 1 << 40, PP: 1 << 40, DP: 1 << 40}, []string{"tp 1099511627776", "8 devices"}},
		{"dp of a dense model", roofline.Query{Model: dense, Target: plain(8), TP: 1, DP: 8}, []string{"dp 8", "dp 1"}},
		{"ep of a dense model", roofline.Query{Model: dense, Target: plain(8), TP: 8, EP: 8}, []string{"ep 8", "no experts", "leave ep out"}},
		{"ep that does not divide the devices", roofline.Query{Model: experts, Target: plain(8), TP: 8, EP: 3}, []string{"ep 3", "8 devices"}},
		{"ep that does not divide the experts", roofline.Query{Model: experts, Target: plain(16), TP: 16, EP: 16}, []string{"ep 16", "8 experts"}},
		{"acceptance above 1", roofline.Query{Model: dense, Gamma: 1, Acceptance: 1.5}, []string{"acceptance 1.5", "0 to 1"}},
		{"acceptance below 0", roofline.Query{Model: dense, Gamma: 1, Acceptance: -0.5}, []string{"acceptance -0.5", "0 to 1"}},
		{"acceptance that is no number", roofline.Query{Model: dense, Gamma: 1, Acceptance: math.NaN()}, []string{"acceptance NaN", "0 to 1"}},
		{"acceptance without end", roofline.Query{Model: dense, Gamma: 1, Acceptance: math.Inf(1)}, []string{"acceptance +Inf", "0 to 1"}},
		{"accepted beyond what was drafted", roofline.Query{Model: dense, Gamma: 2, Accepted: 3.5}, []string{"accepted 3.5", "1 to 3"}},
		{"accepted that is no number", roofline.Query{Model: dense, Gamma: 2, Accepted: math.NaN()}, []string{"accepted NaN", "1 to 3"}},
		{"drafts below 0", roofline.Query{Model: dense, Gamma: -1}, []string{"gamma -1", "0 to"}},
		{"drafts beyond reason", roofline.Query{Model: dense, Gamma: 1001, Acceptance: 0.5}, []string{"gamma 1001", "0 to 1000"}},
		{"drafts beyond the model", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.MaxContext = 512 }), Gamma: 512, Acceptance: 0.5}, []string{"gamma 512", "0 to 511"}},
		{"acceptance of nothing", roofline.Query{Model: dense, Acceptance: 0.5}, []string{"gamma 0", "at least 1"}},
		{"drafts of no module", roofline.Query{Model: dense, Gamma: 1, Accepted: 1, MTPDrafts: true}, []string{"MTP", "Llama 3.1 8B"}},
		{"no layers", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.Layers = nil })}, []string{"kinds of layers 0", "1 to"}},
		{"an attention nobody knows", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.Layers[0].Attention.Kind = "flash" })}, []string{`"flash"`, "gqa, mla"}},
		{"a network nobody knows", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.Layers[0].FFN.Kind = "kan" })}, []string{`"kan"`, "dense, moe"}},
		{"a state that is not described", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.Layers[0].Attention.Kind = "linear" })}, []string{"linear", "state"}},
		{"no heads", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.Layers[0].Attention.Heads = 0 })}, []string{"heads 0", "1 to"}},
		{"more experts a token than there are", roofline.Query{Model: over(experts, func(a *roofline.Architecture) { a.Layers[0].FFN.TopK = 9 })}, []string{"top_k 9", "1 to 8"}},
		{"weights beyond reach", roofline.Query{Model: over(dense, func(a *roofline.Architecture) { a.Hidden, a.Vocabulary = 1e8, 1e8 })}, []string{"parameters", "fewer than"}},
		{"a rank below 0", roofline.Query{Model: over(latent, func(a *roofline.Architecture) { a.Layers[0].Attention.KVRank = -1 })}, []string{"kv_rank -1", "1 to"}},
		{"a bandwidth of 0", roofline.Query{Model: dense, Target: device(func(d *roofline.Target) { d.BandwidthGBs = "0" })}, []string{"bandwidth_gb_s 0", "above 0"}},
		{"a bandwidth below 0", roofline.Query{Model: dense, Target: device(func(d *roofline.Target) { d.BandwidthGBs = "-1" })}, []string{"bandwidth_gb_s -1", "above 0"}},
		{"a bandwidth that is no number", roofline.Query{Model: dense, Target: device(func(d *roofline.Target) { d.BandwidthGBs = "NaN" })}, []string{"bandwidth_gb_s NaN", "above 0"}},
		{"a peak without end", roofline.Query{Model: dense, Target: device(func(d *roofline.Target) { d.PeakTFLOPs["bf16"] = "+Inf" })}, []string{"peak_tflops.bf16 +Inf", "above 0"}},
		{"a memory below 0", roofline.Query{Model: dense, Target: device(func(d *roofline.Target) { d.MemoryGB = "-80" })}, []string{"memory_gb -80", "above 0"}},
		{"no devices", roofline.Query{Model: dense, Target: device(func(d *roofline.Target) { d.Count = 0 })}, []string{"count 0", "1 to"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.q.Target == nil {
				c.q.Target = plain(1)
			}
			said := false
			wrong := c.q.Wrong()
			for _, w := range wrong {
				all := true
				for _, part := range c.want {
					all = all && strings.Contains(w, part)
				}
				said = said || all
			}
			if !said {
				t.Errorf("Wrong() = %q; want a sentence with %q", wrong, c.want)
			}
			a := roofline.Ceiling(c.q)
			figures(t, a)
			if len(a.Missing) == 0 {
				t.Error("nothing is missing from the answer to a wrong question")
			}
			roofline.CeilingPacked(roofline.Pack(c.q))
		})
	}
}

// Without model or target there is nothing to answer, and nothing breaks.
func TestNothingAsked(t *testing.T) {
	for name, q := range map[string]roofline.Query{
		"nothing": {}, "no model": {Target: plain(1)}, "no target": {Model: known(t, "llama-3.1-8b")},
		"an empty model": {Model: &roofline.Model{}, Target: plain(1)}, "an empty target": {Model: known(t, "llama-3.1-8b"), Target: &roofline.Target{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := roofline.Ceiling(q)
			figures(t, a)
			if a.DecodeStepMS != nil {
				t.Errorf("a step of %v ms", *a.DecodeStepMS)
			}
			roofline.CeilingPacked(roofline.Pack(q))
		})
	}
}

// A device whose maker publishes no peak has its memory roof, and nothing that arithmetic
// would have to bound.
func TestNoPeakPublished(t *testing.T) {
	device := plain(1)
	device.PeakTFLOPs = nil
	a := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.1-8b"), Target: device, ISL: 100, OSL: 10, Concurrency: 1})
	figures(t, a)
	equal(t, "step", a.DecodeStepMS.Hard, 15.009849344)
	if a.Binding != "memory" || a.Parts.ComputeMS != nil || a.PrefillMS != nil || a.Serving != nil {
		t.Errorf("%s binds; compute %v, prefill %v, serving %v", a.Binding, a.Parts.ComputeMS, a.PrefillMS, a.Serving)
	}
}

// Four copies of 10 GB each beside experts of 1 GB, on devices of 16 GB, with sequences of
// 4 GB: a copy has 5.75 GB left, which holds one, so four fit and not the five that 23 GB
// would hold together.
func TestCopiesHoldWholeSequences(t *testing.T) {
	in := roofline.Pack(roofline.Query{Model: known(t, "mixtral-8x7b"), Target: plain(4), TP: 1, DP: 4, Context: 1000, Batch: 4})
	in[roofline.SlotResident], in[roofline.SlotResidentExperts], in[roofline.SlotMemory] = 10e9, 1e9, 16e9
	for i := range int(in[roofline.SlotKinds]) {
		in[roofline.HeadSlots+i*roofline.KindSlots+roofline.KindKV] = 4e6 / 32
	}
	out := roofline.CeilingPacked(in)
	if out[roofline.OutMaxConcurrency] != 4 || out[roofline.OutFits] != 1 {
		t.Errorf("%v fit; four do: %v", out[roofline.OutMaxConcurrency], out[roofline.OutFits])
	}
	in[roofline.SlotBatch] = 5
	if out := roofline.CeilingPacked(in); out[roofline.OutFits] != 0 {
		t.Error("five fit, though two of them share one copy")
	}
}

// Whatever stands in the slots, the answer comes, soon, and has its length.
func FuzzCeilingPacked(f *testing.F) {
	r := rooftest.NewRandom(1)
	for range 64 {
		f.Add(rooftest.Bytes(r.Packed()))
	}
	whole := roofline.Pack(r.Query())
	for i := range whole {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 0.5, 1e18, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64} {
			in := append([]float64{}, whole...)
			in[i] = v
			f.Add(rooftest.Bytes(in))
		}
	}
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := rooftest.Floats(b)
		out := roofline.CeilingPacked(in)
		if len(out) != roofline.OutSlots {
			t.Fatalf("%d slots", len(out))
		}
		again := make([]float64, roofline.OutSlots)
		roofline.CeilingInto(in, again)
		same(t, "again", again, out)
		if len(in) < roofline.HeadSlots {
			for i, v := range out {
				if i != roofline.OutBinding && i != roofline.OutPrefillBinding && !math.IsNaN(v) {
					t.Errorf("slot %d of no query is %v", i, v)
				}
			}
			return
		}
		roofline.Formula(in)
		roofline.PrefillFormula(in)
		roofline.LinkFormula(in, in[roofline.SlotBatch])
	})
}

// Whatever numbers a question has, it is answered in numbers or refused.
func FuzzCeiling(f *testing.F) {
	f.Add(int64(1), int64(1), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), 0.0, 0.0)
	f.Add(int64(2), int64(math.MaxInt64), int64(math.MinInt64), int64(1e18), int64(-1), int64(7), int64(3), int64(2), int64(2), int64(2), int64(9), math.NaN(), math.Inf(1))
	f.Add(int64(3), int64(32), int64(8192), int64(2048), int64(1024), int64(512), int64(8), int64(1), int64(1), int64(8), int64(4), 0.8, 3.1)
	f.Fuzz(func(t *testing.T, seed, batch, context, isl, cached, chunk, tp, pp, dp, ep, gamma int64, acceptance, accepted float64) {
		r := rooftest.NewRandom(uint64(seed))
		q := r.Query()
		q.Batch, q.Context, q.ISL, q.Cached, q.Chunk = batch, context, isl, cached, chunk
		q.TP, q.PP, q.DP, q.EP, q.Gamma, q.Acceptance, q.Accepted = tp, pp, dp, ep, gamma, acceptance, accepted
		figures(t, roofline.Ceiling(q))
		for _, w := range q.Wrong() {
			if w == "" {
				t.Error("something is wrong, and not said")
			}
		}
		roofline.CeilingPacked(roofline.Pack(q))
	})
}
