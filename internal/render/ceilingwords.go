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

// decode says what a step cannot beat, which roof that is, and what the step is expected
// to take where that is longer.
func (a *askedCeiling) decode() string {
	binding := roofline.BindingName(a.out[roofline.OutBinding])
	if binding == "" {
		return "Not computable: " + a.unknown() + " of " + a.model + " on " + a.devices() + " not known."
	}
	batch, rate := a.in[roofline.SlotBatch], a.out[roofline.OutDecodeTokPerSecHard]
	over, each := "one sequence", ""
	if batch != 1 {
		over, each = countOf(batch)+" sequences", ", "+format.Quantity(format.Prose(rate/batch), "tok/s")+" each"
	}
	hard, expected := a.out[roofline.OutDecodeStepHardMS], a.out[roofline.OutDecodeStepExpectedMS]
	s := capital(binding) + " binds: " + a.model + " on " + a.devices() + a.sharing() + " decodes at most " + format.Quantity(format.Prose(rate), "tok/s") +
		" over " + over + " of " + tokensOf(a.in[roofline.SlotContext]) + each + "; a step takes at least " + milli(hard)
	if expected > hard*slower {
		s += ", and is expected to take " + milli(expected)
	}
	s += "."
	if a.out[roofline.OutFits] == 0 {
		s += " It does not fit in memory"
		if most := a.out[roofline.OutMaxConcurrency]; most > 0 {
			s += ": at most " + format.Plural(int(most), "such sequence does", "such sequences do")
		}
		s += "."
	}
	return s
}

// slower is by how much an expected time must pass the hard one to be told.
const slower = 1.005

// load says what a prompt and a load of requests cannot beat; "" where neither is asked.
func (a *askedCeiling) load() string {
	isl, cached := a.in[roofline.SlotISL], a.in[roofline.SlotCached]
	if isl == 0 {
		return ""
	}
	hard, expected := a.out[roofline.OutPrefillHardMS], a.out[roofline.OutPrefillExpectedMS]
	if math.IsNaN(hard) {
		return "What a prompt takes is not computable: " + a.unknown() + " not known."
	}
	s := "A prompt of " + tokensOf(isl)
	if cached > 0 {
		s += ", " + countOf(cached) + " of them cached,"
	}
	s += " takes at least " + milli(hard) + ": " + roofline.BindingName(a.out[roofline.OutPrefillBinding]) + " binds"
	if expected > hard*slower {
		s += "; " + milli(expected) + " are expected"
	}
	s += "."
	rate := a.out[roofline.OutServingTokPerSec]
	if math.IsNaN(rate) {
		return s
	}
	s += " With " + countOf(a.in[roofline.SlotConcurrency]) + " in flight at " + format.Shape(int64(isl), int64(a.in[roofline.SlotOSL])) +
		", at most " + format.Quantity(format.Prose(rate), "output tok/s") + ", " + format.Quantity(format.Prose(a.out[roofline.OutServingTokPerSecPerGPU]), "output tok/s/GPU")
	if tpot := a.out[roofline.OutServingTPOTMS]; !math.IsNaN(tpot) {
		s += "; a TPOT of at least " + milli(tpot) + ", that of one request alone"
	}
	return s + "."
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
	return format.Devices(int64(a.in[roofline.SlotTP]*a.in[roofline.SlotPP]*a.in[roofline.SlotDP]), a.device)
}

// sharing says how several devices share the model.
func (a *askedCeiling) sharing() string {
	var said []string
	for _, part := range []struct {
		slot        int
		what, short string
	}{
		{roofline.SlotTP, "sharing each matrix", "tp"}, {roofline.SlotPP, "in stages", "pp"},
		{roofline.SlotDP, "in copies that share experts", "dp"}, {roofline.SlotEP, "whole experts apart", "ep"},
	} {
		if n := a.in[part.slot]; n > 1 {
			said = append(said, " "+part.what+" ("+part.short+format.NBSP+countOf(n)+")")
		}
	}
	return strings.Join(said, ",")
}

// unknown lists what is not known of the question.
func (a *askedCeiling) unknown() string {
	var names []string
	alone := a.in[roofline.SlotTP]*a.in[roofline.SlotDP] == 1
	for slot, name := range inputNames {
		if alone && (slot == roofline.SlotLink || slot == roofline.SlotLinkPeer) {
			continue // nothing crosses a link
		}
		if math.IsNaN(a.in[slot]) && !slices.Contains(names, name) {
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
