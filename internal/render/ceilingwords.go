package render

import (
	"math"
	"slices"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
)

// The calculator's sentences. site/roofline/words.ts says the same of other questions: in
// the lean module they would cost what all of its arithmetic does.

// asked is a packed question with its answer, and the names that it does not hold.
type askedCeiling struct {
	in, out       []float64
	model, device string
}

// CeilingSentences says what the answer to a question means: of its decode step, of its
// prompt and load, and of the experts that it reads; "" where there is nothing to say.
func CeilingSentences(q roofline.Query) (decode, load, experts string) {
	in := roofline.Pack(q)
	a := askedCeiling{in, roofline.CeilingPacked(in), q.Model.Name, deviceName(q.Target)}
	return a.decode(), a.load(), a.experts()
}

// deviceName is the name of one of a target's devices.
func deviceName(t *roofline.Target) string {
	if _, name, ok := strings.Cut(t.Name, "× "); ok {
		return name
	}
	return t.Name
}

// decode says what a step cannot beat, which roof that is, and what is expected where
// that is slower. What stands in the way of believing it comes first: that it does not
// fit, or that a peak is unknown and computing therefore unbounded.
func (a *askedCeiling) decode() string {
	where := a.model + " on " + a.devices() + a.sharing()
	binding := roofline.BindingName(a.out[roofline.OutBinding])
	if binding == "" {
		return "Not computable: " + where + " needs what is not published: " + a.lacking(neededByStep) + "."
	}
	s, decodes, takes := "", "decodes", "takes"
	fits := a.out[roofline.OutFits] != 0
	if !fits {
		s = "Does not fit in memory"
		if most := a.out[roofline.OutMaxConcurrency]; most > 0 {
			s += ": at most " + format.Plural(int(most), "such sequence does", "such sequences do")
		}
		s += ". "
		decodes, takes = "would decode", "would take"
	}
	peakless := math.IsNaN(a.out[roofline.OutComputeMS])
	if peakless {
		s += "No dense peak of " + nonBreaking(a.device) + " is published for these types: " + a.boundWithoutPeak() + " this. "
	}
	switch {
	case !fits && peakless:
		s += "With room enough, "
	case !fits:
		s += "With room enough, " + binding + " would bind: "
	case !peakless:
		s += capital(binding) + " binds: "
	}
	batch := a.in[roofline.SlotBatch]
	rate, likely := a.out[roofline.OutDecodeTokPerSecHard], a.out[roofline.OutDecodeTokPerSecExpected]
	over, each := "one sequence", ""
	if batch != 1 {
		over, each = countOf(batch)+" sequences", ", "+besideExpected(rate/batch, likely/batch, "tok/s")+" each"
	}
	return s + where + " " + decodes + " at most " + besideExpected(rate, likely, "tok/s") + " over " + over + " of " + tokensOf(a.in[roofline.SlotContext]) +
		each + "; a step " + takes + " at least " + besideExpected(a.out[roofline.OutDecodeStepHardMS], a.out[roofline.OutDecodeStepExpectedMS], "ms") + "."
}

// boundWithoutPeak is what is left to bound a step whose arithmetic nothing does.
func (a *askedCeiling) boundWithoutPeak() string {
	if a.alone() {
		return "memory alone bounds"
	}
	return "memory and links alone bound"
}

// rate is the rate of a step alone, for beside what it depends on.
func (a *askedCeiling) rate() string {
	hard, likely, batch := a.out[roofline.OutDecodeTokPerSecHard], a.out[roofline.OutDecodeTokPerSecExpected], a.in[roofline.SlotBatch]
	if math.IsNaN(hard) {
		return "Not computable: see the answer."
	}
	s := "At most "
	if a.out[roofline.OutFits] == 0 {
		s = "Does not fit; with room enough at most "
	}
	s += besideExpected(hard, likely, "tok/s")
	if batch != 1 {
		s += ", " + besideExpected(hard/batch, likely/batch, "tok/s") + " each"
	}
	return s + "."
}

// besideExpected writes a hard figure, and the expected one where the two part.
func besideExpected(hard, expected float64, unit string) string {
	s := format.Quantity(format.Prose(hard), unit)
	if max(hard, expected) > min(hard, expected)*parted {
		s += " (" + format.Prose(expected) + " expected)"
	}
	return s
}

// parted is by how much an expected figure must differ from the hard one to be told.
const parted = 1.005

// load says what a prompt and a load of requests cannot beat; "" where neither is asked.
func (a *askedCeiling) load() string {
	isl, osl, cached, concurrency := a.in[roofline.SlotISL], a.in[roofline.SlotOSL], a.in[roofline.SlotCached], a.in[roofline.SlotConcurrency]
	if isl == 0 {
		return ""
	}
	hard := a.out[roofline.OutPrefillHardMS]
	if math.IsNaN(hard) {
		return "What a prompt takes needs what is not published: " + a.lacking(neededByPrompt) + "."
	}
	s, takes := "A prompt of ", " takes"
	if !a.holds(1, isl) {
		s, takes = "With room enough, a prompt of ", " would take"
	}
	s += tokensOf(isl)
	if cached > 0 {
		s += ", " + countOf(cached) + " of them cached,"
	}
	s += takes + " at least " + besideExpected(hard, a.out[roofline.OutPrefillExpectedMS], "ms") + ": " + roofline.BindingName(a.out[roofline.OutPrefillBinding]) + " binds."
	rate := a.out[roofline.OutServingTokPerSec]
	if math.IsNaN(rate) {
		return s
	}
	s += " With " + countOf(concurrency) + " in flight at " + format.Shape(int64(isl), int64(osl)) + ", "
	if !a.holds(concurrency, isl+osl) {
		s += "more than memory holds, it would be "
	}
	s += "at most " + besideExpected(rate, a.out[roofline.OutServingTokPerSecExpected], "output tok/s")
	if a.count() > 1 {
		s += ", " + format.Prose(a.out[roofline.OutServingTokPerSecPerGPU]) + " from each device"
	}
	s += "."
	if tpot := a.out[roofline.OutServingTPOTMS]; !math.IsNaN(tpot) {
		s += " No request’s TPOT is below " + milli(tpot) + ", what one alone would have."
	}
	return s
}

// holds says whether so many sequences of so many tokens fit, as far as memory is known.
func (a *askedCeiling) holds(sequences, tokens float64) bool {
	in := slices.Clone(a.in)
	in[roofline.SlotBatch], in[roofline.SlotContext] = sequences, tokens
	return roofline.CeilingPacked(in)[roofline.OutFits] != 0
}

// experts says how many distinct experts of a layer a step reads; "" in a dense model.
func (a *askedCeiling) experts() string {
	for k := range int(a.in[roofline.SlotKinds]) {
		kind := a.in[roofline.HeadSlots+k*roofline.KindSlots:]
		if kind[roofline.KindExperts] == 0 {
			continue
		}
		of, topK, t := countOf(kind[roofline.KindExperts]), countOf(kind[roofline.KindTopK]), a.in[roofline.SlotBatch]*(a.in[roofline.SlotGamma]+1)
		return "Distinct experts that a step reads of the " + of + " in a layer. Hard: D = k = " + topK + ", all tokens choosing alike. Expected: E[D] = " +
			of + " × (1 − (1 − " + topK + " ÷ " + of + ")^" + countOf(t) + ") = " + format.Prose(a.out[roofline.OutDistinctExpected]) + ", each token choosing by chance."
	}
	return ""
}

func countOf(v float64) string { return format.Count(int64(v)) }

func tokensOf(v float64) string { return format.Plural(int(v), "token", "tokens") }

// devices are the devices of the question, on one line.
func (a *askedCeiling) devices() string {
	return format.Devices(int64(a.count()), a.device)
}

func (a *askedCeiling) count() float64 {
	return a.in[roofline.SlotTP] * a.in[roofline.SlotPP] * a.in[roofline.SlotDP]
}

// alone says whether nothing of a step crosses a link.
func (a *askedCeiling) alone() bool { return a.in[roofline.SlotTP]*a.in[roofline.SlotDP] == 1 }

func nonBreaking(name string) string { return strings.ReplaceAll(name, " ", format.NBSP) }

// sharing says how several devices share the model.
func (a *askedCeiling) sharing() string {
	var said []string
	for _, part := range []struct {
		slot        int
		what, short string
	}{
		{roofline.SlotTP, "sharing each matrix", "tp"}, {roofline.SlotPP, "in stages", "pp"},
		{roofline.SlotDP, "in copies that share experts", "dp"}, {roofline.SlotEP, "whole experts spread over", "ep"},
	} {
		if n := a.in[part.slot]; n > 1 {
			if part.slot == roofline.SlotEP {
				part.what += " " + format.Plural(int(n), "device", "devices")
			}
			said = append(said, " "+part.what+" ("+part.short+format.NBSP+countOf(n)+")")
		}
	}
	return strings.Join(said, ",")
}

// What a step and a prompt cannot do without of a device, links apart.
var (
	neededByStep   = []int{roofline.SlotBandwidth}
	neededByPrompt = []int{roofline.SlotPeakLayers, roofline.SlotPeakPlain, roofline.SlotPeakAttention, roofline.SlotPeakIndex, roofline.SlotBandwidth}
)

// lacking names what is not known of what is needed, and of links where there are any.
func (a *askedCeiling) lacking(needed []int) string {
	if !a.alone() {
		needed = append(slices.Clone(needed), roofline.SlotLink)
	}
	var names []string
	for _, slot := range needed {
		if name := inputNames[slot]; math.IsNaN(a.in[slot]) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// inputNames says what each slot at the head of a packed question is.
var inputNames = [roofline.HeadSlots]string{
	roofline.SlotBatch: "batch", roofline.SlotContext: "context", roofline.SlotISL: "prompt length",
	roofline.SlotCached: "cached prompt tokens", roofline.SlotChunk: "chunk", roofline.SlotOSL: "output length",
	roofline.SlotConcurrency: "concurrency", roofline.SlotTP: "devices", roofline.SlotPP: "stages",
	roofline.SlotDP: "copies", roofline.SlotEP: "devices with experts of their own", roofline.SlotDCP: "devices that share a cache", roofline.SlotGamma: "drafted tokens",
	roofline.SlotAcceptance: "acceptance", roofline.SlotAccepted: "tokens a step", roofline.SlotMTPDrafts: "drafts of the model's own",
	roofline.SlotReadParams: "read parameters", roofline.SlotTotalParams: "parameters", roofline.SlotHidden: "hidden size",
	roofline.SlotHeadParams: "parameters of the head", roofline.SlotHeadBytes: "size of the head",
	roofline.SlotRestParams: "parameters of the final norm", roofline.SlotRestBytes: "size of the final norm",
	roofline.SlotResident: "size of the weights", roofline.SlotResidentExperts: "size of the experts",
	roofline.SlotDraftBytes: "size of the drafting module", roofline.SlotDraftParams: "parameters of the drafting module",
	roofline.SlotDraftResident: "size of the drafting module", roofline.SlotMaxContext: "longest context",
	roofline.SlotPeakLayers: "dense peak", roofline.SlotPeakPlain: "dense peak",
	roofline.SlotPeakAttention: "dense peak", roofline.SlotPeakIndex: "dense peak",
	roofline.SlotBandwidth: "memory bandwidth", roofline.SlotLink: "link bandwidth", roofline.SlotLinkPeer: "link bandwidth to one peer",
	roofline.SlotLinkReduces: "reduction in the network", roofline.SlotMemory: "memory size", roofline.SlotKinds: "kinds of layers",
}
