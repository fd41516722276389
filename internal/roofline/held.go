package roofline

import "math"

// Figures that stand against a hard roof.
const (
	HeldTPOT = "tpot_ms"      // against the decode step
	HeldTTFT = "ttft_ms"      // against the prompt's prefill
	HeldE2E  = "e2e_ms"       // of one request, against its prefill and its steps
	HeldRate = "output_tok_s" // against what the devices can serve
)

// Held is a measured figure and the question whose hard roof it stands against.
type Held struct {
	Figure   string
	Value    float64 // ms, or tok/s over all replicas
	Decode   Query   // of a replica that decodes, at the load that it had
	Prefill  Query   // of one that takes prompts in; the same where one does both
	Apart    bool    // the two run on devices of their own
	Decoding int64   // replicas that decode
	Filling  int64   // replicas that take prompts in

	Drafted float64 // tokens drafted a step on average; 0: as the question has it
	Yielded float64 // tokens that a step brings, as counted; 0: no draft was counted
	Cached  *int64  // prompt tokens of a request that a cache served, as counted; nil: not counted
	Asked   int64   // output tokens of a request, as asked for
	Output  int64   // as the server counted; 0: not counted
	Offered int64   // requests in flight, as offered; 0 unknown
	E2EMS   float64 // mean time of a request; 0 unknown

	expected bool // the line of tokens that choose their experts evenly, in place of the roof

	// Set where a cause is tried.
	bandwidth float64 // bytes a second of one device; 0: as published
	headless  bool    // the head is not read
}

// Roof is the figure's hard roof in the figure's own unit: the least time, or the highest
// rate; NaN where it cannot be computed, which Ceiling of the questions explains.
func (h *Held) Roof() float64 {
	switch h.Figure {
	case HeldTPOT:
		return h.step()
	case HeldTTFT:
		return h.fill()
	case HeldE2E:
		roof := h.fill()
		if n := h.Decode.OSL - 1; n > 0 {
			roof += float64(float64(n) * h.step())
		}
		return roof
	}
	return h.rate()
}

// Expected is where the figure is to be expected at best where every token chooses its
// experts evenly, and stages of a pipeline are passed in turn; elsewhere it is the roof.
func (h *Held) Expected() float64 {
	e := *h
	e.expected = true
	return e.Roof()
}

// Share is how much of its roof the figure reaches: above 1 it passes it.
func (h *Held) Share() float64 {
	if h.Figure == HeldRate {
		return h.Value / h.Roof()
	}
	return h.Roof() / h.Value
}

// step is the least time of one token of a sequence, in ms.
func (h *Held) step() float64 {
	in := h.pack(h.Decode)
	return 1e3 * in[SlotBatch] / h.of(in, OutDecodeTokPerSecHard, OutDecodeTokPerSecExpected)
}

// of is the figure of a packed question in its hard slot, or in its expected one.
func (h *Held) of(in []float64, hard, expected int) float64 {
	if h.expected {
		hard = expected
	}
	return CeilingPacked(in)[hard]
}

// fill is the least time of the prompt, in ms.
func (h *Held) fill() float64 {
	return h.of(h.pack(h.Prefill), OutPrefillHardMS, OutPrefillExpectedMS)
}

// rate is the most output tokens a second over all replicas. Where prompts have devices
// of their own, neither side can bring more than it would by itself: a prompt is a request
// of one token, and a step brings every further one.
func (h *Held) rate() float64 {
	if !h.Apart {
		return float64(h.Decoding) * h.of(h.pack(h.Decode), OutServingTokPerSec, OutServingTokPerSecExpected)
	}
	osl := float64(h.Decode.OSL)
	prompts := h.Prefill
	prompts.OSL, prompts.Concurrency = 1, max(1, h.Prefill.Concurrency)
	roof := float64(h.Filling) * osl * h.of(h.pack(prompts), OutServingTokPerSec, OutServingTokPerSecExpected)
	if osl > 1 {
		steps := h.Decode
		steps.Batch = max(1, h.Decode.Concurrency)
		in := h.pack(steps)
		if decode := float64(h.Decoding) * osl / (osl - 1) * h.of(in, OutDecodeTokPerSecHard, OutDecodeTokPerSecExpected); !(decode >= roof) {
			roof = decode
		}
	}
	return roof
}

func (h *Held) pack(q Query) []float64 {
	in := Pack(q.sound())
	if h.Drafted > 0 && q.Gamma > 0 {
		in[SlotGamma], in[SlotAccepted] = h.Drafted, h.Yielded
	}
	if h.headless {
		in[SlotHeadBytes], in[SlotHeadParams] = 0, 0
	}
	if h.bandwidth > 0 {
		in[SlotBandwidth] = h.bandwidth
	}
	return in
}

// sound is the question without a model that nothing could be computed of.
func (q Query) sound() Query {
	if q.Model != nil && len(architectureFaults(&q.Model.Architecture)) > 0 {
		q.Model = nil
	}
	return q
}

// passes says whether the figure is beyond a roof.
func (h *Held) passes(roof float64) bool {
	if h.Figure == HeldRate {
		return h.Value > roof
	}
	return h.Value < roof
}

// mostDigits is how many digits a figure is shown with at most.
const mostDigits = 15

// NumbersApart writes two figures as Number does, and where they differ with as many digits
// more as it takes to see it.
func NumbersApart(a, b float64) (x, y string) {
	for digits := 4; ; digits++ {
		x, y = significant(a, digits), significant(b, digits)
		if x != y || a == b || digits == mostDigits {
			return x, y
		}
	}
}

// finite says whether a roof is a figure.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
