package roofline

import (
	"math"
	"strings"
	"testing"
)

// h200 has the clock and the cache that its maker's tool tells.
func h200() *Target {
	t := h100()
	t.Name, t.BandwidthGBs = "H200 SXM", "4800"
	t.MaxMemoryClockMHz, t.MemoryBusBits, t.CacheBytes = 3201, 6144, 50e6
	return t
}

// heldStep is Llama 3.1 8B in bf16 on one H200, one sequence without a cache: 15.0098 GB a
// step, 3.127 ms at least.
func heldStep(tpot float64) Held {
	q := Query{Model: llama8b(), Target: h200(), ISL: 1024, OSL: 256}
	return Held{Figure: HeldTPOT, Value: tpot, Decode: q.Filled(), Prefill: q.Filled(), Decoding: 1, Filling: 1, Asked: 256, Output: 256}
}

// causeOf is the cause of a name, or the first of those whose names begin and end so.
func causeOf(t *testing.T, h Held, name string) Cause {
	t.Helper()
	var all []string
	begin, end, _ := strings.Cut(name, " … ")
	for _, c := range h.Causes() {
		if strings.HasPrefix(c.Name, begin) && strings.HasSuffix(c.Name, end) {
			return c
		}
		all = append(all, c.Name)
	}
	t.Fatalf("no cause %q among %q", name, all)
	return Cause{}
}

// Each cause of a step that is too fast, by its ceiling on paper, just out of its reach
// and just within.
func TestCausesOfAStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		floor float64 // ms
		says  string
	}{
		// 6.979 B quantized weights, 0.266 M others, and a head of 1.0507 GB.
		{"int4 … weights", 0.96873, "4.65 GB a step, ceiling 1,032 tok/s (0.9687 ms a token)"},
		{"fp8 … weights", 1.67338, "8.032 GB a step"},
		{"mxfp4 … weights", 0.99145, "4.759 GB a step"},
		{"int4-g32 or nvfp4 weights", 1.03690, "4.977 GB a step"},
		// 15,009,849,344 bytes less 50 MB.
		{"weights in cache", 3.11663, "50 MB on each device, of 15.01 GB that it reads a step"},
		{"head not counted", 2.90816, "13.96 GB a step"},
		// 3,201 MHz × 6,144 bits ÷ 8 × 2.
		{"boost clock", 3.05281, "3,201 MHz × 6,144 bits ÷ 8 × 2 = 4,916.74 GB/s"},
	} {
		for _, side := range []struct {
			factor float64
			closes bool
			says   string
		}{{1.001, true, ": would explain it"}, {0.999, false, ": does not explain it"}} {
			got := causeOf(t, heldStep(c.floor*side.factor), c.name)
			if got.Closes != side.closes || !strings.Contains(got.Text, c.says) || !strings.HasSuffix(got.Text, side.says) {
				t.Errorf("at %v × %v ms: closes %v, %q; want %q", c.floor, side.factor, got.Closes, got.Text, c.says)
			}
			if math.Abs(got.Roof/c.floor-1) > 1e-5 {
				t.Errorf("%s: at least %v ms, on paper %v", c.name, got.Roof, c.floor)
			}
		}
	}
}

// n tokens a step take an nth of the time where memory binds, and never more come than
// were drafted and one.
func TestSpeculationAsACause(t *testing.T) {
	for _, c := range []struct {
		tpot  float64
		says  string
		roof  float64
		close bool
	}{
		{2.0, "with 1 token drafted a step and all accepted", 3.12705 / 2, true},
		{0.4, "with 7 tokens drafted a step and all accepted", 3.12705 / 8, true},
		{0.1, "with 16 tokens drafted a step and all accepted", 3.12705 / 17, false},
	} {
		got := causeOf(t, heldStep(c.tpot), "speculation")
		if got.Closes != c.close || !strings.Contains(got.Text, c.says) || math.Abs(got.Roof/c.roof-1) > 1e-5 {
			t.Errorf("%v ms: closes %v at %v, %q; want %v", c.tpot, got.Closes, got.Roof, got.Text, c.roof)
		}
	}
	h := heldStep(1.0)
	h.Decode.Gamma, h.Decode.Accepted, h.Drafted, h.Yielded = 3, 2, 3, 2
	near(t, "two tokens a step as counted", h.Roof(), 3.12705/2, 1e-5)
	if got := causeOf(t, h, "speculation"); !got.Closes || !strings.Contains(got.Text, "2 tokens a step as counted are in the roof already; with all 3 drafted tokens accepted") {
		t.Errorf("%q", got.Text)
	}
	h.Value = 0.7 // 4.47 tokens a step
	if got := causeOf(t, h, "speculation"); got.Closes {
		t.Errorf("more than drafted and one: %q", got.Text)
	}
}

// A batch that more replicas share has less of a cache to read, each.
func TestReplicasAsACause(t *testing.T) {
	h := heldStep(3.3)
	h.Decode.Batch, h.Decode.Context = 16, 1024
	// 16 × 1,024 × 131,072 B are 2.147 GB beside the weights, of 8 sequences half.
	near(t, "stated", h.Roof(), 3.57444, 1e-5)
	got := causeOf(t, h, "more replicas")
	if !got.Closes || !strings.Contains(got.Text, "4 in place of 1") {
		t.Errorf("%q", got.Text)
	}
	near(t, "four", got.Roof, 3.12705+0.4474/4, 1e-4)
	if got := causeOf(t, heldStep(3.0), "more replicas"); got.Closes || !strings.Contains(got.Text, "a batch of 1 cannot be spread") {
		t.Errorf("%q", got.Text)
	}
	if got := causeOf(t, h, "fp8 … KV"); got.Closes || math.Abs(got.Roof-3.35076) > 1e-4 {
		t.Errorf("half the cache: %v, %q", got.Roof, got.Text)
	}
}

// Tokens that were asked for and not counted may never have come.
func TestAnEarlyEndAsACause(t *testing.T) {
	h := heldStep(1.5)
	if got := causeOf(t, h, "early end"); got.Closes || !strings.Contains(got.Text, "the server itself counted 256 of 256 tokens") {
		t.Errorf("%q", got.Text)
	}
	h.Output = 0
	// 255 steps in the time of 255 × 1.5 ÷ 3.127.
	if got := causeOf(t, h, "early end"); !got.Closes || !strings.Contains(got.Text, "123 of 256 tokens a request") {
		t.Errorf("%q", got.Text)
	}
}

func TestCausesOfAPrompt(t *testing.T) {
	h := heldStep(0)
	h.Figure, h.Value = HeldTTFT, 10
	roof := h.Roof()
	if roof < 14 || roof > 15 {
		t.Fatalf("1,024 tokens take %v ms", roof) // 14.3 TFLOP and attention at 989
	}
	zero := int64(0)
	h.Cached = &zero
	got := causeOf(t, h, "prefix cache")
	least := h
	for least.Prefill.Cached = 1; least.Roof() > 10; least.Prefill.Cached++ {
	}
	if !got.Closes || !strings.Contains(got.Text, "0 cached tokens counted, left out of the roof already; with "+itoa(least.Prefill.Cached)+" of 1024 prompt tokens cached") {
		t.Errorf("%q, by trying each: %d", got.Text, least.Prefill.Cached)
	}
	if got := causeOf(t, h, "fp8 … weights"); !got.Closes {
		t.Errorf("twice the peak: %q", got.Text)
	}
	if got := causeOf(t, h, "int4"); got.Closes {
		t.Errorf("int4 computes at the same peak: %q", got.Text)
	}
	for _, c := range h.Causes() {
		switch c.Name {
		case "speculation", "weights in cache", "head not counted", "more replicas", "early end":
			t.Errorf("a prompt has no %s", c.Name)
		}
	}
}

func TestCausesOfARate(t *testing.T) {
	h := heldStep(0)
	h.Figure = HeldRate
	h.Decode.Concurrency, h.Prefill.Concurrency, h.Offered = 64, 64, 64
	roof := h.Roof()
	h.Value = roof * 3
	if got := causeOf(t, h, "more replicas"); !got.Closes || !strings.Contains(got.Text, "4 in place of 1") || math.Abs(got.Roof-4*roof) > 1e-6*roof {
		t.Errorf("%q", got.Text)
	}
	// 256 of 1,280 tokens are output.
	h.E2EMS = 1e3 * 64 * 256 / (h.Value / 5)
	if got := causeOf(t, h, "prompt tokens counted"); !got.Closes || !strings.Contains(got.Text, "has 320 requests under way where 64 were offered") {
		t.Errorf("five times the requests that were offered: %q", got.Text)
	}
	h.E2EMS /= 5
	if got := causeOf(t, h, "prompt tokens counted"); got.Closes {
		t.Errorf("as many requests as were offered: %q", got.Text)
	}
}

// What explains comes first, and what was not known was not tried.
func TestCausesInOrder(t *testing.T) {
	h := heldStep(3.06)
	h.Decode.Target.CacheBytes, h.Decode.Target.MemoryBusBits = 0, 0
	closed := true
	for _, c := range h.Causes() {
		if c.Closes && !closed {
			t.Errorf("%q comes late", c.Text)
		}
		closed = c.Closes
		if (c.Name == "boost clock" || c.Name == "weights in cache") != strings.Contains(c.Text, "not tried") {
			t.Errorf("%q", c.Text)
		}
	}
	h.Decode.Target.MaxMemoryClockMHz, h.Decode.Target.MemoryBusBits = 1300, 8192
	if got := causeOf(t, h, "boost clock"); got.Closes || !strings.Contains(got.Text, "no more than the published 4,800") {
		t.Errorf("a clock of fewer transfers than the memory makes: %q", got.Text)
	}
	// A GGUF's formats are tried among themselves.
	h.Decode.WeightDtype, h.Prefill.WeightDtype = "q8_0", "q8_0"
	causeOf(t, h, "q4_0 or q4_k weights")
	for _, c := range h.Causes() {
		if strings.HasPrefix(c.Name, "int4") {
			t.Errorf("%q for a GGUF", c.Text)
		}
	}
}

// The hard roof of experts is that of one token: no overlap gets below it, and the
// expected one, which rows may well beat, bounds nothing.
func TestOverlapIsNoCause(t *testing.T) {
	h := heldStep(0.1)
	m := *h.Decode.Model
	m.Architecture.Layers = []Layer{{Count: 32, Norms: 2, Attention: m.Architecture.Layers[0].Attention,
		FFN: FFN{Kind: MoE, Width: 1024, Experts: 64, TopK: 4}}}
	h.Decode.Model, h.Prefill.Model, h.Decode.Batch = &m, &m, 16
	a := Ceiling(h.Decode)
	if !(a.DecodeStepMS.Expected > 2*a.DecodeStepMS.Hard) || h.Roof() != 1e3*16/a.DecodeTokPerSec.Hard {
		t.Fatalf("hard %v, expected %v, held against %v", a.DecodeStepMS.Hard, a.DecodeStepMS.Expected, h.Roof())
	}
	if got := causeOf(t, h, "expert overlap"); got.Closes || !strings.Contains(got.Text, "no more than 4 experts a layer") {
		t.Errorf("%q", got.Text)
	}
}

// A small model that lies in the cache whole reads nothing from memory.
func TestASmallModelInCache(t *testing.T) {
	h := heldStep(0.001)
	small := dense(4, 256, 4, 2, 64, 512, 4096, true, false)
	h.Decode.Model, h.Prefill.Model = small, small
	got := causeOf(t, h, "weights in cache")
	in := Pack(h.Decode)
	if out := CeilingPacked(in); !(out[OutMemoryMS] > 0.001) || !got.Closes || math.Abs(got.Roof-out[OutComputeMS]) > 1e-12 {
		t.Errorf("%q; arithmetic alone takes %v ms", got.Text, out[OutComputeMS])
	}
}
