package roofline_test

import (
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// Mistakes that public calculators make, each against a number worked by hand.

func known(t *testing.T, id string) *roofline.Model {
	t.Helper()
	m := rooftest.Catalogue(t).Models[id]
	if m == nil {
		t.Fatalf("the catalogue has no %s", id)
	}
	return m
}

// plain is a device of round numbers: 1,000 GB/s, 1,000 TFLOP/s, 100 GB/s a direction.
func plain(count int64) *roofline.Target {
	return &roofline.Target{Name: "plain", Count: count, MemoryGB: "80", BandwidthGBs: "1000",
		PeakTFLOPs: map[string]roofline.Decimal{"bf16": "1000"}, LinkGBs: "100"}
}

func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is not answered; want %v", what, want)
	} else if *got != want {
		t.Errorf("%s = %v; want %v", what, *got, want)
	}
}

// Llama 3.1 8B keeps 8 heads, not 32: 32 layers × 2 × 8 × 128 × 2 bytes = 131,072 a
// token, where 32 heads would make 524,288.
func TestQueryHeadsAreNotChargedForKV(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.1-8b"), Target: plain(1), Context: 1000})
	is(t, "KV a token", a.KVBytesPerToken, 131072)
	is(t, "KV read", &a.Parts.KVBytes, 131072*1000)
}

// Mistral Small 24B has heads of 128, not of 5,120 ÷ 32 = 160: attention is
// 5,120 × 128 × (32 + 2×8) + 32 × 128 × 5,120 = 52,428,800, the network 3 × 5,120 ×
// 32,768 = 503,316,480, norms 10,240: × 40, + 5,120, + 2 × 131,072 × 5,120, is
// 23,572,403,200, which its files hold. gpt-oss has heads of 64, not of 2,880 ÷ 64 = 45.
func TestHeadDimOfTheConfigCounts(t *testing.T) {
	mistral := &roofline.Model{Weights: []string{"bf16"}, Architecture: roofline.Architecture{Hidden: 5120, Vocabulary: 131072, MaxContext: 32768,
		Layers: []roofline.Layer{{Count: 40, Norms: 2, Attention: roofline.Attention{Kind: roofline.GQA, Heads: 32, KVHeads: 8, HeadDim: 128},
			FFN: roofline.FFN{Kind: roofline.Dense, Width: 32768}}}}}
	if got := mistral.Params().Total; got != 23572403200 {
		t.Errorf("Mistral Small 24B has %d parameters; want 23,572,403,200", got)
	}
	a := roofline.Ceiling(roofline.Query{Model: known(t, "gpt-oss-20b"), KVDtype: "bf16"})
	is(t, "KV a token of gpt-oss 20B", a.KVBytesPerToken, 24*2*8*64*2)
}

// DeepSeek-V3 keeps 512 + 64 elements a token and layer, once: 576 × 2 × 61 = 70,272.
// Twice would be 140,544; without the rotary part, 62,464; as 128 heads of keys (192)
// and values (128), 4,997,120.
func TestMLAHasNoFactorTwo(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "deepseek-v3"), Target: plain(1), KVDtype: "bf16", Context: 1})
	is(t, "KV a token", a.KVBytesPerToken, 70272)
	is(t, "KV read", &a.Parts.KVBytes, 70272)
}

// In 8 bits a token of an MLA layer takes 656 bytes: 512 in fp8, four scales of 4 bytes,
// and the rotary 64 in 16 bits. 576 would lose the scales and halve the rotary part.
func TestMLAKeepsItsRopePart(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "deepseek-v3"), KVDtype: "fp8_ds_mla"})
	is(t, "KV a token", a.KVBytesPerToken, 61*(512+4*4+64*2))
}

// A decoded token of DeepSeek-V3 attends in the latent: 2 × 128 × (2 × 512 + 64) FLOP a
// cached token and layer, not the 2 × 128 × (192 + 128) of its prefill.
func TestMLADecodesInItsLatent(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "deepseek-v3"), Target: plain(1), KVDtype: "bf16", Context: 1000})
	is(t, "attention FLOPs", &a.Parts.AttentionFLOPs, 61*2*128*(2*512+64)*1000)
}

// gpt-oss 120B at 131,072 tokens: 18 layers read 2,048 bytes of each token, 18 of the
// last 128 alone: 4,836,556,800 bytes, where all layers would read 9,663,676,416.
// Gemma 3 27B at 32,768: 10 × 8,192 × 32,768 + 52 × 8,192 × 1,024 = 3,120,562,176, not
// 16,642,998,272.
func TestSlidingWindowsAreSeen(t *testing.T) {
	for id, c := range map[string]struct{ context, want int64 }{
		"gpt-oss-120b": {131072, 4836556800},
		"gemma-3-27b":  {32768, 3120562176},
	} {
		a := roofline.Ceiling(roofline.Query{Model: known(t, id), Target: plain(1), KVDtype: "bf16", Context: c.context})
		is(t, id, &a.Parts.KVBytes, float64(c.want))
	}
}

// 8 tokens that each choose 8 of 256 experts name 256 × (1 − (31/32)^8) = 57.4 of them,
// not min(64, 256) = 64; 64 tokens name 222.4, not 256.
func TestDistinctExpertsAreNotTheirProduct(t *testing.T) {
	for tokens, want := range map[int64]float64{8: 57.4208, 64: 222.4425} {
		d := roofline.Ceiling(roofline.Query{Model: known(t, "deepseek-v3"), Target: plain(1), Batch: tokens}).Parts.Distinct
		if diff := d.Expected - want; diff > 5e-5 || diff < -5e-5 {
			t.Errorf("%d tokens: %v experts expected; want %v", tokens, d.Expected, want)
		}
		if d.Hard != 8 {
			t.Errorf("%d tokens: %v experts at least; want 8", tokens, d.Hard)
		}
	}
}

// One token of Mixtral passes 2 of 8 experts: 2 × 12,748,853,248 bytes are read, where
// all experts would be 93,143,441,408.
func TestOneTokenReadsItsExpertsAlone(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "mixtral-8x7b"), Target: plain(1), WeightDtype: "bf16"})
	is(t, "bytes read", a.ReadBytesPerStep, 2*12748853248)
	is(t, "of experts", &a.Parts.ExpertBytes, 32*2*3*4096*14336*2)
	is(t, "expected of experts", &a.Parts.ExpertBytesExpected, 32*2*3*4096*14336*2)
}

// Qwen3 30B-A3B: memory has to hold 30,532,122,624 weights, a token passes
// 3,041,867,776, and neither is taken for the other.
func TestTotalIsNotActive(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "qwen3-30b-a3b"), Target: plain(1), WeightDtype: "bf16", Context: 1})
	is(t, "resident", a.WeightBytes, 2*30532122624)
	is(t, "read", a.ReadBytesPerStep, 2*3041867776+98304)
	is(t, "matrix FLOPs", ref(a.Parts.MatrixFLOPs+a.Parts.ExpertFLOPs+a.Parts.HeadFLOPs), 2*3041867776)
}

func ref(v float64) *float64 { return &v }

// int4 in groups of 128: 8 weights are one int32 and not one weight, and each 128 have 2
// bytes of scale. One layer of 128 × (128 + 64 + 64 + 128) + 3 × 128 × 256 = 147,456
// such weights is 73,728 + 2,304 bytes.
func TestPackedWeightsAndScalesCount(t *testing.T) {
	m := &roofline.Model{Weights: []string{"int4"}, Architecture: roofline.Architecture{Hidden: 128, Vocabulary: 64, TiedHead: true, MaxContext: 10,
		Layers: []roofline.Layer{{Count: 1, Attention: roofline.Attention{Kind: roofline.GQA, Heads: 2, KVHeads: 1, HeadDim: 64},
			FFN: roofline.FFN{Kind: roofline.Dense, Width: 256}}}}}
	is(t, "resident", roofline.Ceiling(roofline.Query{Model: m}).WeightBytes, 73728+2304+2*(64*128+128))
}

// Peaks with structured sparsity are twice the dense ones: none of those stands in the
// catalogue.
func TestSparsePeaksAreNotDense(t *testing.T) {
	targets := rooftest.Catalogue(t).Targets
	for id, dense := range map[string]map[string]float64{
		"h100-sxm": {"bf16": 989, "fp8": 1979},
		"h200-sxm": {"bf16": 989, "fp8": 1979},
		"mi300x":   {"bf16": 1307.4, "fp8": 2614.9},
		"mi355x":   {"bf16": 2516.6, "fp8": 5033},
	} {
		if targets[id] == nil {
			t.Errorf("the catalogue has no %s", id)
			continue
		}
		for dtype, most := range dense {
			if got, ok := targets[id].PeakTFLOPs[dtype].Float(); !ok || got > most*1.002 {
				t.Errorf("%s: %v TFLOP/s of %s; dense are %v", id, got, dtype, most)
			}
		}
	}
}

// Llama 3.2 1B has one matrix for embedding and head: 1,235,814,400 weights, each stored
// once and read once. Dropped, 973,146,112 would be read; twice, 1,498,482,688.
func TestTiedHeadCountsOnce(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.2-1b"), Target: plain(1), WeightDtype: "bf16"})
	is(t, "resident", a.WeightBytes, 2*1235814400)
	is(t, "read", a.ReadBytesPerStep, 2*1235814400)
}

// 80 GB on a label are 80·10⁹ bytes: a model of 82·10⁹ does not fit, though it would into
// 80 GiB = 85.9·10⁹. Mixtral in fp8 with 46.7·10⁹ weights twice over is cut to size here:
// 20,000 × 20,480 × 100 weights of 2 bytes are 81.92·10⁹.
func TestGigabytesAreNotGibibytes(t *testing.T) {
	m := &roofline.Model{Weights: []string{"bf16"}, Architecture: roofline.Architecture{Hidden: 20000, Vocabulary: 1, TiedHead: true, MaxContext: 10,
		Layers: []roofline.Layer{{Count: 50, Attention: roofline.Attention{Kind: roofline.None},
			FFN: roofline.FFN{Kind: roofline.Dense, Width: 20480, Ungated: true}}}}}
	a := roofline.Ceiling(roofline.Query{Model: m, Target: plain(1), Context: 1})
	if *a.WeightBytes < 81e9 || *a.WeightBytes > 83e9 {
		t.Fatalf("%v bytes", *a.WeightBytes)
	}
	if a.Fits == nil || *a.Fits {
		t.Error("81.92 GB fit into 80 GB")
	}
}

// A switch that adds up lets each of 8 devices send its 8,192 bytes once: at 100 GB/s a
// direction 2 × 32 × 8,192 ÷ 10^11 s. A ring sends 2 × 7/8 of them; reckoned as a ring,
// the switch would seem to carry 175 GB/s over links of 100.
func TestReductionInTheSwitchKeepsToTheLinkRate(t *testing.T) {
	target := plain(8)
	ring := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.1-8b"), Target: target}).Parts.CommunicationMS
	target.LinkReduces = true
	inSwitch := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.1-8b"), Target: target}).Parts.CommunicationMS
	equal(t, "in the switch", inSwitch, 2*32*8192/1e11*1e3)
	equal(t, "around a ring", ring, 1.75*2*32*8192/1e11*1e3)
}

// gpt-oss 120B in mxfp4 keeps 65,248,815,744 bytes and reads, for one token, 4 of 128
// experts and neither the other 124 nor the embedding: of experts 1,906,053,120 (a
// 32nd of 60,993,699,840), and of 4,255,115,904 others all but 1,158,266,880.
func TestResidentBytesAreNotReadBytes(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "gpt-oss-120b"), Target: plain(1), WeightDtype: "mxfp4"})
	is(t, "resident", a.WeightBytes, 65248815744)
	is(t, "read", a.ReadBytesPerStep, 60993699840/32+4255115904-1158266880)
}

// 15,009,849,344 bytes over 1,000 GB/s are 15.009849344 ms: nothing is taken off.
func TestNoEfficiencyHidesInTheCeiling(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.1-8b"), Target: plain(1)})
	equal(t, "step", a.DecodeStepMS.Hard, 15.009849344)
	equal(t, "rate", a.DecodeTokPerSec.Hard, 1000/15.009849344)
}

// Roofs that overlap are not added: 4,096 sequences read 15.01 GB in 15.01 ms and
// compute 2 × 4,096 × 7,504,924,672 FLOP in 61.48 ms, in which the reading is done.
func TestRoofsThatOverlapAreNotAdded(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "llama-3.1-8b"), Target: plain(1), Batch: 4096})
	equal(t, "step", a.DecodeStepMS.Hard, 2*4096*7504924672/1e15*1e3)
	if a.Binding != "compute" {
		t.Errorf("%s binds", a.Binding)
	}
}

// Llama 4 reads its own chunk: at 8,193 tokens the 36 layers with chunks of 8,192 begin
// anew and read one token, 4,096 × (12 × 8,193 + 36 × 1).
func TestChunksBeginAnew(t *testing.T) {
	a := roofline.Ceiling(roofline.Query{Model: known(t, "llama-4-maverick"), Target: plain(1), KVDtype: "bf16", Context: 8193})
	is(t, "KV read", &a.Parts.KVBytes, 4096*(12*8193+36))
}

// W4A16: weights in 4 bits are computed in bf16, so that 4,096 sequences take as long as
// with bf16 weights on a device with fp4 units.
func TestFourBitWeightsComputeInSixteen(t *testing.T) {
	target := plain(1)
	target.PeakTFLOPs["fp4"] = "4000"
	m := known(t, "llama-3.1-8b")
	four := roofline.Ceiling(roofline.Query{Model: m, Target: target, WeightDtype: "int4", Batch: 4096})
	sixteen := roofline.Ceiling(roofline.Query{Model: m, Target: target, WeightDtype: "bf16", Batch: 4096})
	equal(t, "compute", *four.Parts.ComputeMS, *sixteen.Parts.ComputeMS)
}
