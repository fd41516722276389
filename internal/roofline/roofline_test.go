package roofline

import (
	"math"
	"testing"
)

// dense builds a model of one kind of layer, as its published config has it.
func dense(layers, hidden, heads, kv, dim, ffn, vocab int64, tied, qkNorm bool) *Model {
	return &Model{
		Name:    "test",
		Weights: []string{"bf16"},
		Architecture: Architecture{
			Hidden: hidden, Vocabulary: vocab, TiedHead: tied,
			Layers: []Layer{{
				Count: layers, Norms: 2,
				Attention: Attention{Kind: "gqa", Heads: heads, KVHeads: kv, HeadDim: dim, QKNorm: qkNorm},
				FFN:       FFN{Kind: "dense", Width: ffn},
			}},
		},
	}
}

func llama8b() *Model { return dense(32, 4096, 32, 8, 128, 14336, 128256, false, false) }

func h100() *Target {
	return &Target{Name: "H100 SXM", Count: 1, MemoryGB: "80", BandwidthGBs: "3350",
		PeakTFLOPs: map[string]Decimal{"bf16": "989", "fp8": "1979", "int8": "1979"}, LinkGBs: "450"}
}

func mi300x(count int64) *Target {
	return &Target{Name: "MI300X", Count: count, MemoryGB: "192", BandwidthGBs: "5300",
		PeakTFLOPs: map[string]Decimal{"bf16": "1307.4", "fp8": "2614.9"}, LinkGBs: "448", LinkPeerGBs: "64"}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

// Parameter counts in billions, computed by hand from the published configurations.
func TestParams(t *testing.T) {
	for _, c := range []struct {
		name        string
		model       *Model
		total, read float64
	}{
		{"llama-3.2-1b", dense(16, 2048, 32, 8, 64, 8192, 128256, true, false), 1.2358, 1.2358},
		{"llama-3.1-8b", llama8b(), 8.0303, 7.5049},
		{"llama-3.3-70b", dense(80, 8192, 64, 8, 128, 28672, 128256, false, false), 70.5537, 69.5030},
		{"qwen3-0.6b", dense(28, 1024, 16, 8, 128, 3072, 151936, true, true), 0.5960, 0.5960},
		{"qwen3-8b", dense(36, 4096, 32, 8, 128, 12288, 151936, false, true), 8.1907, 7.5684},
		{"qwen3-32b", dense(64, 5120, 64, 8, 128, 25600, 151936, false, true), 32.762, 31.984},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.model.Params()
			tolerance := 0.00005
			if c.total > 30 {
				tolerance = 0.0005
			}
			near(t, "total", float64(p.Total)/1e9, c.total, tolerance)
			near(t, "read", float64(p.Read)/1e9, c.read, tolerance)
		})
	}
}

// Biases and norms of a layer: Qwen2-style query, key and value biases.
func TestBiases(t *testing.T) {
	m := dense(1, 128, 2, 1, 64, 256, 64, false, false)
	without := m.Params().Total
	m.Architecture.Layers[0].Attention.QKVBias = true
	if got := m.Params().Total - without; got != 64*(2+2*1) {
		t.Errorf("biases add %d parameters, want 256", got)
	}
}

// A packed 4-bit checkpoint whose file was weighed: 147,456 quantized weights and
// 16,768 in bf16 are 109,568 bytes; 93,184 of them are read for a token.
func TestPackedInt4(t *testing.T) {
	m := dense(1, 128, 2, 1, 64, 256, 64, false, false)
	if p := m.Params(); p.Total != 164224 || p.Read != 156032 {
		t.Fatalf("weights: %d, %d read", p.Total, p.Read)
	}
	in := Pack(Query{Model: m, Target: h100(), WeightDtype: "int4"})
	near(t, "quantized", kind(in, 0)[KindParams]-2*128, 147456, 0)
	near(t, "resident", in[SlotResident], 73728+2304+33536, 0)
	near(t, "read", CeilingPacked(in)[OutReadBytesPerStep], 93184, 0)
}

// int8 has a 2-byte scale on each output channel: 1+2/K bytes a weight.
func TestInt8Scales(t *testing.T) {
	m := dense(1, 128, 2, 1, 64, 256, 64, false, false)
	outputs := 128 + 64 + 64 + 128 + 256 + 256 + 128
	out := CeilingPacked(Pack(Query{Model: m, Target: h100(), WeightDtype: "int8"}))
	near(t, "read", out[OutReadBytesPerStep], float64(147456+2*outputs)+2*float64(3*128+64*128), 0)
}

func TestBytesPerWeight(t *testing.T) {
	for dtype, want := range map[string]float64{
		"bf16": 2, "fp16": 2, "fp8": 1 + 4.0/16384, "fp8-tensor": 1, "int4": 0.515625,
		"int4-zp": 0.51953125, "mxfp4": 17.0 / 32, "nvfp4": 9.0 / 16, "q8_0": 34.0 / 32,
		"q4_0": 0.5625, "q4_k": 0.5625, "q6_k": 210.0 / 256, "fp32": 4, "fp8-channel": 1, "int4-g32": 0.5625,
		"int8-g128": 1.015625, "int4-zp-g64": 0.5 + 2.5/64, "nf4": 0.5 + 1.0/64 + 4.0/64/256,
	} {
		if got, ok := formatOf(dtype); !ok || got.perWeight != want {
			t.Errorf("%s: %v, %v; want %v", dtype, got, ok, want)
		}
	}
	for _, dtype := range []string{"", "q4_k_m", "fp6"} {
		if _, ok := formatOf(dtype); ok {
			t.Errorf("%q has a size", dtype)
		}
	}
}

// Decode without a cache, bf16: aggregate bandwidth over active-parameter bytes.
func TestDecodeWithoutCache(t *testing.T) {
	one := mi300x(1)
	for _, c := range []struct {
		target *Target
		want   float64
	}{{h100(), 223.2}, {one, 353.1}} {
		a := Ceiling(Query{Model: llama8b(), Target: c.target})
		if a.DecodeTokPerSec == nil {
			t.Fatalf("%s: not computed: %v", c.target.Name, a.Missing)
		}
		near(t, c.target.Name, a.DecodeTokPerSec.Hard, c.want, 0.05)
		if a.Binding != "memory" {
			t.Errorf("%s: %s binds", c.target.Name, a.Binding)
		}
	}
}

// calm on an RTX 4090: Llama-3-8B in fp8 with one scale a matrix, head included, moves
// 7.525 GB a token by its own account; the read parameters at a byte each are 7.505.
func TestOutsideFP8(t *testing.T) {
	f, _ := formatOf("fp8-tensor")
	near(t, "GB a token", float64(llama8b().Params().Read)*f.perWeight/1e9, 7.525, 0.03)
}

// A prompt of 2,048: 29.69 TFLOP with causal attention, 30.0 ms at 989 TFLOP/s.
func TestPrefill(t *testing.T) {
	q := Query{Model: llama8b(), Target: h100(), ISL: 2048}
	near(t, "TFLOP", CeilingPacked(Pack(q))[OutPrefillFLOPs]/1e12, 29.69, 0.005)
	a := Ceiling(q)
	near(t, "ms", a.PrefillMS.Hard, 30.0, 0.05)
	if a.PrefillMS.Hard != a.PrefillMS.Expected {
		t.Error("a dense model expects its hard roof")
	}
}

// A cached prefix is attended to and not computed again.
func TestPrefillCached(t *testing.T) {
	whole := Ceiling(Query{Model: llama8b(), Target: h100(), ISL: 2048}).PrefillMS.Hard
	part := Ceiling(Query{Model: llama8b(), Target: h100(), ISL: 2048, Cached: 1024}).PrefillMS.Hard
	alone := Ceiling(Query{Model: llama8b(), Target: h100(), ISL: 1024}).PrefillMS.Hard
	if !(alone < part && part < whole) {
		t.Errorf("alone %v, after a prefix %v, whole %v", alone, part, whole)
	}
}

// The step on paper: 15.01 GB of weights and 16 caches of 1,152 tokens at 131,072 bytes.
func TestStepWithCache(t *testing.T) {
	a := Ceiling(Query{Model: llama8b(), Target: h100(), Batch: 16, Context: 1152})
	near(t, "KV a token", *a.KVBytesPerToken, 131072, 0)
	near(t, "read", *a.ReadBytesPerStep, 2*7504924672+16*1152*131072, 0)
	near(t, "step", a.DecodeStepMS.Hard, (2*7504924672+16*1152*131072)/3350e9*1e3, 1e-12)
	near(t, "tok/s", a.DecodeTokPerSec.Hard, 16e3/a.DecodeStepMS.Hard, 1e-9)
}

// Each rule that holds whatever the model and device.
func TestInvariants(t *testing.T) {
	models := []*Model{llama8b(), dense(16, 2048, 32, 8, 64, 8192, 128256, true, false),
		dense(36, 4096, 32, 8, 128, 12288, 151936, false, true)}
	targets := []*Target{h100(), mi300x(1), mi300x(8)}
	batches := []int64{1, 2, 4, 8, 32, 128, 512, 4096}
	contexts := []int64{0, 1, 128, 4096, 32768}
	for _, m := range models {
		for _, target := range targets {
			for _, s := range contexts {
				user, aggregate := math.Inf(1), 0.0
				for _, b := range batches {
					a := Ceiling(Query{Model: m, Target: target, Batch: b, Context: s})
					step, rate := a.DecodeStepMS, a.DecodeTokPerSec
					if rate.Hard/float64(b) > user {
						t.Errorf("%s B=%d S=%d: tok/s per user rises with B", target.Name, b, s)
					}
					if rate.Hard < aggregate*(1-1e-12) {
						t.Errorf("%s B=%d S=%d: the aggregate falls with B", target.Name, b, s)
					}
					user, aggregate = rate.Hard/float64(b), rate.Hard
					opwise := opWise(Pack(Query{Model: m, Target: target, Batch: b, Context: s}))
					near(t, "op-wise", step.OpWise, opwise, opwise*1e-12)
					if step.Hard > opwise*(1+1e-12) || opwise > step.Serial*(1+1e-12) {
						t.Errorf("%s B=%d S=%d: hard %v, op-wise %v, serial %v", target.Name, b, s, step.Hard, opwise, step.Serial)
					}
				}
			}
			for _, b := range batches {
				last := math.Inf(1)
				for _, s := range contexts {
					rate := Ceiling(Query{Model: m, Target: target, Batch: b, Context: s}).DecodeTokPerSec.Hard
					if rate > last {
						t.Errorf("%s B=%d S=%d: tok/s rises with S", target.Name, b, s)
					}
					last = rate
				}
			}
			bandwidth, _ := target.BandwidthGBs.Float()
			seed := bandwidth * 1e9 * float64(target.Count) / float64(2*m.Params().Read)
			got := Ceiling(Query{Model: m, Target: target}).DecodeTokPerSec.Hard
			near(t, target.Name+" bandwidth ÷ active bytes", got, seed, seed*1e-12)
		}
	}
}

// opWise is the step, in ms, of an engine in which only the operations of one kind
// overlap: attention's cache reads with its arithmetic, the matrices' bytes with theirs.
func opWise(in []float64) float64 {
	b, s, bw := in[SlotBatch], in[SlotContext], in[SlotBandwidth]*in[SlotTP]
	k, out := kind(in, 0), CeilingPacked(in)
	attention := math.Max(b*s*k[KindLayers]*k[KindKV]*copies(in, k)/bw, b*s*k[KindLayers]*k[KindAttention]/(in[SlotPeakAttention]*in[SlotTP]))
	matrices := math.Max(out[OutWeightBytesRead]/bw, 2*b*in[SlotReadParams]/(in[SlotPeakLayers]*in[SlotTP]))
	return math.Max(attention+matrices, out[OutCommunicationMS]/1e3) * 1e3
}

// Eight devices: all-reduces over the ring bound a short step of a small model.
func TestCommunication(t *testing.T) {
	q := Query{Model: llama8b(), Target: mi300x(8), Batch: 1}
	// 2 × 32 layers × 2 × 7/8 × 8,192 bytes ÷ 448 GB/s
	near(t, "ms", Ceiling(q).Parts.CommunicationMS, 2*32*2*7.0/8*8192/448e9*1e3, 1e-12)
	q.TP = 2 // one link of the mesh
	near(t, "ms at tp 2", Ceiling(q).Parts.CommunicationMS, 2*32*8192/64e9*1e3, 1e-12)

	sharp := h100()
	sharp.Count, sharp.LinkReduces = 8, true
	near(t, "ms in the switch", Ceiling(Query{Model: llama8b(), Target: sharp}).Parts.CommunicationMS, 2*32*8192/450e9*1e3, 1e-12)

	long := Ceiling(Query{Model: llama8b(), Target: mi300x(8), ISL: 2048})
	if want := 2 * 32 * 2 * 7.0 / 8 * 2048 * 8192 / 448e9 * 1e3; math.Abs(long.PrefillMS.Hard-want) > 1e-9 {
		t.Errorf("prefill on eight: %v ms, the links alone take %v", long.PrefillMS.Hard, want)
	}
}

// Without multicast the switch's adding up does not count: between two devices that
// changes nothing, since each has to send all it has once; between four each sends and
// receives half as much again.
func TestNoMulticast(t *testing.T) {
	sharp := h100()
	sharp.LinkReduces = true
	for _, c := range []struct {
		devices int64
		off     bool
		sent    float64 // of each message
	}{{2, false, 1}, {2, true, 1}, {4, false, 1}, {4, true, 1.5}, {8, true, 1.75}} {
		sharp.Count = c.devices
		q := Query{Model: llama8b(), Target: sharp, Batch: 16, NoMulticast: c.off}
		a := Ceiling(q)
		near(t, "ms", a.Parts.CommunicationMS, 2*32*c.sent*16*8192/450e9*1e3, 1e-12)
		want := "communication: two all-reduces a layer in 16 bits, added up in the switch"
		if c.off {
			want = "communication: two all-reduces a layer in 16 bits, ring bound: multicast is off, so the switch that could add up does not"
		}
		if !contains(a.Conventions, want) {
			t.Errorf("%d devices, off %v: conventions %q", c.devices, c.off, a.Conventions)
		}
	}
}

// Llama 3.3 70B on two H200, by hand: 69,503,033,344 read parameters in two bytes and
// 16 caches of 1,152 tokens at 80 layers × 2 × 8 heads × 128 × 2 bytes over 9,600 GB/s.
func TestTwoDevicesByHand(t *testing.T) {
	m := dense(80, 8192, 64, 8, 128, 28672, 128256, false, false)
	h200 := h100()
	h200.Count, h200.BandwidthGBs, h200.LinkReduces = 2, "4800", true
	if p := m.Params(); p.Total != 70553706496 || p.Read != 70553706496-128256*8192 {
		t.Fatalf("parameters %+v", p)
	}
	a := Ceiling(Query{Model: m, Target: h200, Batch: 16, Context: 1152, ISL: 1024, NoMulticast: true})
	near(t, "KV a token", *a.KVBytesPerToken, 327680, 0)
	near(t, "memory", a.Parts.MemoryMS, (2*69503033344+16*1152*327680)/9600e9*1e3, 1e-12)
	near(t, "communication", a.Parts.CommunicationMS, 2*80*262144/450e9*1e3, 1e-12)
	near(t, "step", a.DecodeStepMS.Hard, a.Parts.MemoryMS, 0)
	if want := "2 × 80 layers × 2 × 1/2 × 0.2621 MB ÷ 450 GB/s (ring all-reduce) = 0.09321 ms"; a.LinkFormula != want {
		t.Errorf("links %q, want %q", a.LinkFormula, want)
	}
	// 2 × 68,452,360,192 layer weights × 1,024 tokens, the head once, and causal attention.
	flop := 2*68452360192.0*1024 + 2*128256*8192 + 80*4*64*128*(1024*1025/2)
	near(t, "prefill", a.PrefillMS.Hard, flop/(2*989e12)*1e3, 1e-9)
}

// Two stages of one device each, by hand. Alone, a token's way through both takes as long
// as on one device; many sequences keep both busy, so that a step is half of theirs; in
// two groups each group reads all weights.
func TestPipeline(t *testing.T) {
	const weights, kv = 2 * 7504924672.0, 1152 * 131072.0
	for _, c := range []struct {
		batch          int64
		hard, expected float64 // bytes over one device's bandwidth
	}{
		{1, weights + kv, weights + kv},
		{16, weights + kv, weights + 8*kv},
		{256, (weights + 256*kv) / 2, weights + 128*kv},
	} {
		q := Query{Model: llama8b(), Target: mi300x(2), PP: 2, Batch: c.batch, Context: 1152}
		a := Ceiling(q)
		if a.DecodeStepMS == nil {
			t.Fatalf("not computed: %v", a.Missing)
		}
		near(t, "hard", a.DecodeStepMS.Hard, c.hard/5300e9*1e3, 1e-12)
		near(t, "expected", a.DecodeStepMS.Expected, c.expected/5300e9*1e3, 1e-12)
		near(t, "rate", a.DecodeTokPerSec.Hard, float64(c.batch)*1e3/a.DecodeStepMS.Hard, 1e-9)
		one := Ceiling(Query{Model: llama8b(), Target: mi300x(1), Batch: c.batch, Context: 1152}).DecodeStepMS.Hard
		if a.DecodeStepMS.Hard > one {
			t.Errorf("B=%d: %v ms in two stages, %v on one device", c.batch, a.DecodeStepMS.Hard, one)
		}
	}
	long := Query{Model: llama8b(), Target: mi300x(2), PP: 2, ISL: 2048}
	whole := Ceiling(Query{Model: llama8b(), Target: mi300x(1), ISL: 2048}).PrefillMS.Hard
	near(t, "prefill in chunks", Ceiling(long).PrefillMS.Hard, whole/2, 1e-12)
	near(t, "prefill in one pass", Ceiling(long).PrefillMS.Expected, whole, 1e-12)

	// Two stages of two: only the layers of a stage are reduced at one time.
	four := Query{Model: llama8b(), Target: mi300x(4), TP: 2, PP: 2, Batch: 256}
	near(t, "communication", Ceiling(four).Parts.CommunicationMS, 2*16*256*8192/64e9*1e3, 1e-12)
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Model: llama8b(), Target: mi300x(2), PP: 2, Batch: 16, Context: 1152},
			"a token passes 2 stages in turn, alone 5,300 GB/s ÷ (15.01 GB weights + 0.151 GB KV) = 349.6 tok/s; 16 sequences at most as often = 5,593 tok/s"},
		{Query{Model: llama8b(), Target: mi300x(2), PP: 2, Batch: 256, Context: 1152},
			"256 sequences × 2× 5,300 GB/s ÷ (15.01 GB weights + 38.65 GB KV) = 50,566 tok/s"},
	} {
		if got := Ceiling(c.q).Formula; got != c.want {
			t.Errorf("formula\n%s\nwant\n%s", got, c.want)
		}
	}
	for _, c := range []struct {
		tp, pp int64
		want   string
	}{{2, 4, "tp 2 × pp 4: the target has 4 devices"}, {1, -1, "pp -1: at least 1 stage computes"}} {
		if got := Ceiling(Query{Model: llama8b(), Target: mi300x(4), TP: c.tp, PP: c.pp}).Missing["decode_step_ms"]; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Beyond the key-value heads, tensor parallelism keeps copies of the cache.
func TestCacheCopies(t *testing.T) {
	m := dense(32, 4096, 32, 4, 128, 14336, 128256, false, false)
	at := func(tp int64) float64 {
		return Ceiling(Query{Model: m, Target: mi300x(8), TP: tp, Context: 1024}).Parts.KVBytes
	}
	if at(4) != at(1) || at(8) != 2*at(4) {
		t.Errorf("KV read at tp 1, 4, 8: %v, %v, %v", at(1), at(4), at(8))
	}
}

// What fits follows the bytes a device reports, else the maker's label, and says which.
func TestFits(t *testing.T) {
	h200 := h100()
	h200.MemoryGB, h200.MemoryBytes = "141", 150754820096
	a := Ceiling(Query{Model: llama8b(), Target: h200, ISL: 1024, OSL: 256})
	want := int64((150754820096 - 2*8030261248) / (1280 * 131072))
	if a.Fits == nil || !*a.Fits || a.MaxConcurrency == nil || *a.MaxConcurrency != want {
		t.Errorf("fits %v, at most %v; want %d", a.Fits, a.MaxConcurrency, want)
	}
	if !contains(a.Conventions, "what fits: 150,754,820,096 bytes a device, as it reports itself") {
		t.Errorf("conventions do not say whose bytes: %q", a.Conventions)
	}
	big := Ceiling(Query{Model: dense(80, 8192, 64, 8, 128, 28672, 128256, false, false), Target: h100(), Context: 100})
	if *big.Fits || *big.MaxConcurrency != 0 {
		t.Error("141 GB of weights fit into 80 GB")
	}
	if !contains(big.Conventions, "what fits: the maker's label of 80 GB a device, taken as 10⁹ bytes each") {
		t.Errorf("conventions do not say whose bytes: %q", big.Conventions)
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// A figure that cannot be computed is nil and says why.
func TestMissing(t *testing.T) {
	noPeak := h100()
	noPeak.PeakTFLOPs = nil
	noMemory := h100()
	noMemory.MemoryGB = ""
	limited := llama8b()
	limited.Architecture.MaxContext = 4096
	for _, c := range []struct {
		name, field, reason string
		q                   Query
	}{
		{"no target", "decode_step_ms", "no target", Query{Model: llama8b()}},
		{"no model", "total_params", "no model", Query{Target: h100()}},
		{"no peak", "prefill_ms", "no dense peak is known for bf16 on H100 SXM", Query{Model: llama8b(), Target: noPeak, ISL: 128}},
		{"no memory", "fits", "no memory size is known for H100 SXM", Query{Model: llama8b(), Target: noMemory}},
		{"dtype", "weight_bytes", `weight dtype "fp6" is not known; there are: bf16, fp16, fp32, fp8, fp8-tensor, fp8-channel, int8, int8-g128, int4, int4-g32, int4-zp, int4-zp-g64, nf4, mxfp4, nvfp4, q8_0, q6_k, q5_k, q4_0, q4_1, q4_k`, Query{Model: llama8b(), Target: h100(), WeightDtype: "fp6"}},
		{"mix", "decode_tok_s", "weight dtype q4_k_m is a mix whose size only the file's tensors tell", Query{Model: llama8b(), Target: h100(), WeightDtype: "q4_k_m"}},
		{"kv dtype", "kv_bytes_per_token", `KV dtype "fp3" is not known; there are: bf16, fp16, fp8, fp8_e4m3, fp8_e5m2, fp8_ds_mla, q8_0`, Query{Model: llama8b(), Target: h100(), KVDtype: "fp3"}},
		{"tp", "decode_step_ms", "tp 3: the target has 1 device", Query{Model: llama8b(), Target: h100(), TP: 3}},
		{"odd tp", "decode_step_ms", "tp 3: 32 heads do not part so; tp of 1, 2, 4, 8 would", Query{Model: llama8b(), Target: mi300x(8), TP: 3}},
		{"no prompt", "prefill_ms", "no prompt length was given: --isl", Query{Model: llama8b(), Target: h100()}},
		{"all cached", "prefill_ms", "cached 64 of a prompt of 64: at least one token is computed", Query{Model: llama8b(), Target: h100(), ISL: 64, Cached: 64}},
		{"no length", "max_concurrency", "no length was given: --context, or --isl and --osl", Query{Model: llama8b(), Target: h100()}},
		{"too long", "decode_step_ms", "context 5000: the model ends at 4096 tokens", Query{Model: limited, Target: h100(), Context: 5000}},
		{"batch", "decode_step_ms", "batch -1: want 1 to 100000000 sequences that decode together", Query{Model: llama8b(), Target: h100(), Batch: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Ceiling(c.q)
			if got := a.Missing[c.field]; got != c.reason {
				t.Errorf("missing[%s] = %q, want %q", c.field, got, c.reason)
			}
			if (a.DecodeStepMS == nil) != (a.Missing["decode_step_ms"] != "") ||
				(a.PrefillMS == nil) != (a.Missing["prefill_ms"] != "") ||
				(a.Fits == nil) != (a.Missing["fits"] != "") ||
				(a.MaxConcurrency == nil) != (a.Missing["max_concurrency"] != "") ||
				(a.Serving == nil) != (a.Missing["serving"] != "") ||
				(a.ReadBytesPerStep == nil) != (a.Missing["read_bytes_per_step"] != "") {
				t.Errorf("a nil figure without a reason, or a reason beside a figure: %+v", a)
			}
		})
	}
}

// The packed form answers as the query does, digit for digit.
func TestPackedEqualsCeiling(t *testing.T) {
	q := Query{Model: llama8b(), Target: mi300x(8), KVDtype: "fp8", WeightDtype: "fp8", Batch: 48, Context: 3000, ISL: 2048, OSL: 200, Concurrency: 48, Cached: 100}
	base := q
	base.Batch, base.Context = 1, 0
	in := Pack(base)
	in[SlotBatch], in[SlotContext] = 48, 3000 // as a reader would in the page
	out, a := CeilingPacked(in), Ceiling(q)
	for name, pair := range map[string][2]float64{
		"step":    {out[OutDecodeStepHardMS], a.DecodeStepMS.Hard},
		"serial":  {out[OutDecodeStepSerialMS], a.DecodeStepMS.Serial},
		"tok/s":   {out[OutDecodeTokPerSecHard], a.DecodeTokPerSec.Hard},
		"prefill": {out[OutPrefillHardMS], a.PrefillMS.Hard},
		"read":    {out[OutReadBytesPerStep], *a.ReadBytesPerStep},
		"serving": {out[OutServingTokPerSec], a.Serving.OutputTokPerSec},
		"most":    {out[OutMaxConcurrency], float64(*a.MaxConcurrency)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: packed %v, asked %v", name, pair[0], pair[1])
		}
	}
	if f := Formula(in); f != a.Formula {
		t.Errorf("packed formula %q, asked %q", f, a.Formula)
	}
}

// Tokens/s per device never pass what the decode steps of the shape alone allow.
func TestServing(t *testing.T) {
	q := Query{Model: llama8b(), Target: h100(), Batch: 16, Context: 1152, ISL: 1024, OSL: 256, Concurrency: 16}
	a := Ceiling(q)
	if a.Serving.OutputTokPerSec > a.DecodeTokPerSec.Hard*256/255 {
		t.Errorf("serving %v tok/s, decode alone %v", a.Serving.OutputTokPerSec, a.DecodeTokPerSec.Hard)
	}
	if a.Serving.TTFTMS != a.PrefillMS.Hard {
		t.Error("the first token comes no sooner than the prompt is read")
	}
}

func TestFormula(t *testing.T) {
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Model: llama8b(), Target: h100()}, "3,350 GB/s ÷ 15.01 GB weights = 223.2 tok/s"},
		{Query{Model: llama8b(), Target: mi300x(8), Batch: 4, Context: 1024},
			"4 sequences × 8× 5,300 GB/s ÷ (15.01 GB weights + 0.5369 GB KV) = 10,909 tok/s"},
		{Query{Model: llama8b(), Target: h100(), Batch: 1024},
			"2 × 1,024 × 7.505 B parameters at 989 TFLOP/s = 15.54 ms a step; 1,024 ÷ 15.54 ms = 65,890 tok/s"},
	} {
		if got := Ceiling(c.q).Formula; got != c.want {
			t.Errorf("formula\n%s\nwant\n%s", got, c.want)
		}
	}
	got := Ceiling(Query{Model: llama8b(), Target: h100(), ISL: 2048}).PrefillFormula
	want := "(28.59 TFLOP layers + 1.051 GFLOP head + 1.1 TFLOP attention) ÷ 989 TFLOP/s = 30.02 ms"
	if got != want {
		t.Errorf("formula\n%s\nwant\n%s", got, want)
	}
	got = Ceiling(Query{Model: llama8b(), Target: mi300x(8), ISL: 2048}).PrefillFormula
	want = "2 × 32 layers × 2 × 7/8 × 16.78 MB ÷ 448 GB/s (ring all-reduce) = 4.194 ms"
	if got != want {
		t.Errorf("formula\n%s\nwant\n%s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 4800: "4,800", 989: "989", 1307.4: "1,307", 223.2: "223.2", 15.00985: "15.01",
		0.2684: "0.2684", 0.00004567: "0.00004567", 1234567: "1,234,567", 535.5: "535.5", -2.5: "−2.5",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
	if Number(math.NaN()) != "—" {
		t.Error("a missing number is a dash")
	}
}
