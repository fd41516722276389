package render

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"rowproof/internal/render/halves"
	"rowproof/internal/roofline"
)

// calculatorData is what the calculator's script composes questions from, and all that it
// knows of rows; it loads after first paint. site/roofline/data.ts says the same in
// TypeScript.
type calculatorData struct {
	Slots    map[string]int                   `json:"slots"`  // the reader's: form field → slot of the question
	Out      map[string]int                   `json:"out"`    // the answer's slots that tables are made of
	Inputs   []string                         `json:"inputs"` // name of each slot at the head of a question
	Needed   neededSlots                      `json:"needed"` // those of them that an answer cannot do without
	Bindings []string                         `json:"bindings"`
	Weights  []string                         `json:"weights"` // every format that is known
	KV       []string                         `json:"kv"`
	Kinds    layerKinds                       `json:"kinds"`
	Own      ownDevice                        `json:"own"`
	Models   map[string]halves.Model          `json:"models"`
	Targets  map[string]calculatorTarget      `json:"targets"`
	Rows     map[string]map[string][]rowPoint `json:"rows"` // by model, then device
}

// neededSlots are the slots of a device that a step, a prompt, and either between devices
// need.
type neededSlots struct {
	Step   []int `json:"step"`
	Prompt []int `json:"prompt"`
	Link   int   `json:"link"`
}

// calculatorTarget is one device.
type calculatorTarget struct {
	Name        string                      `json:"name"`
	Peaks       map[string]roofline.Decimal `json:"peaks"` // dense TFLOP/s by type, as published
	Half        halves.Half                 `json:"half"`
	Conventions []string                    `json:"conventions"` // of one
	Shared      []string                    `json:"shared"`      // of several besides
	Sources     []string                    `json:"sources"`
	Linked      []string                    `json:"linked"` // of several besides
}

// peakTypes are the types for which a device may have a dense peak, the smallest first.
var peakTypes = []string{"fp4", "fp8", "int8", "bf16", "fp16", "fp32"}

// ownDevice says which slots a reader's own device fills with which field of the form,
// and which of a device's peaks count in a format: the greatest of a list.
type ownDevice struct {
	Base  halves.Values  `json:"base"`
	Slots map[string]int `json:"slots"`
	Peaks []peakSlot     `json:"peaks"`
}

// peakSlot is a slot that holds a peak, and the types that may fill it by format.
type peakSlot struct {
	Slot    int                 `json:"slot"`
	Weights map[string][]string `json:"weights,omitempty"`
	KV      map[string][]string `json:"kv,omitempty"`
}

// layerKinds says where kinds of layers begin in a question, and two of their slots.
type layerKinds struct {
	At      int `json:"at"`
	Slots   int `json:"slots"`
	Experts int `json:"experts"`
	TopK    int `json:"topk"`
}

// newCalculatorData gathers it.
func (s *site) newCalculatorData(w *world) calculatorData {
	weights, kv := roofline.WeightDtypes(), roofline.KVDtypes()
	d := calculatorData{
		Slots: map[string]int{
			"batch": roofline.SlotBatch, "context": roofline.SlotContext, "isl": roofline.SlotISL, "osl": roofline.SlotOSL,
			"concurrency": roofline.SlotConcurrency, "cached": roofline.SlotCached, "chunk": roofline.SlotChunk,
			"tp": roofline.SlotTP, "pp": roofline.SlotPP, "dp": roofline.SlotDP, "ep": roofline.SlotEP,
			"gamma": roofline.SlotGamma, "acceptance": roofline.SlotAcceptance, "accepted": roofline.SlotAccepted, "mtp": roofline.SlotMTPDrafts,
		},
		Out: map[string]int{
			"hard": roofline.OutDecodeTokPerSecHard, "expected": roofline.OutDecodeTokPerSecExpected, "step": roofline.OutDecodeStepHardMS,
			"expected_step": roofline.OutDecodeStepExpectedMS, "binding": roofline.OutBinding, "fits": roofline.OutFits, "computing": roofline.OutComputeMS, "most": roofline.OutMaxConcurrency,
			"prefill": roofline.OutPrefillHardMS, "expected_prefill": roofline.OutPrefillExpectedMS, "prefill_binding": roofline.OutPrefillBinding,
			"serving": roofline.OutServingTokPerSec, "expected_serving": roofline.OutServingTokPerSecExpected, "serving_each": roofline.OutServingTokPerSecPerGPU, "tpot": roofline.OutServingTPOTMS,
			"distinct": roofline.OutDistinctExpected, "resident": roofline.OutResidentBytes, "apart": roofline.OutExpertBytesExpected,
		},
		Bindings: []string{
			roofline.BindingNone: "", roofline.BindingMemory: roofline.BindingName(roofline.BindingMemory),
			roofline.BindingCompute:       roofline.BindingName(roofline.BindingCompute),
			roofline.BindingCommunication: roofline.BindingName(roofline.BindingCommunication),
		},
		Inputs:  inputNames[:],
		Needed:  neededSlots{neededByStep, neededByPrompt, roofline.SlotLink},
		Weights: weights, KV: kv,
		Kinds:   layerKinds{roofline.HeadSlots, roofline.KindSlots, roofline.KindExperts, roofline.KindTopK},
		Own:     newOwnDevice(weights, kv),
		Models:  map[string]halves.Model{},
		Targets: map[string]calculatorTarget{},
		Rows:    map[string]map[string][]rowPoint{},
	}
	for id, m := range s.today.Models {
		d.Models[id] = halves.NewModel(m)
	}
	var any *roofline.Model // conventions of a device are told with a model's
	for _, id := range slices.Sorted(maps.Keys(s.today.Models)) {
		any = s.today.Models[id]
	}
	for id, t := range singles(s.today.Targets) {
		two := *t
		two.Count = 2
		of := func(t *roofline.Target) roofline.Answer {
			return roofline.Ceiling(roofline.Query{Model: any, Target: t})
		}
		alone, none := of(t), of(nil)
		v := calculatorTarget{
			Name: t.Name, Peaks: t.PeakTFLOPs, Half: halves.OfTarget(t, weights, kv),
			Conventions: without(alone.Conventions, none.Conventions), Shared: without(of(&two).Conventions, alone.Conventions),
			Sources: without(alone.Sources, none.Sources), Linked: without(of(&two).Sources, alone.Sources),
		}
		d.Targets[id] = v
	}
	for _, m := range w.rows {
		device := deviceOf(m.Key.Target)
		p, ok := s.point(m)
		if !ok {
			continue
		}
		if d.Rows[m.Key.Model] == nil {
			d.Rows[m.Key.Model] = map[string][]rowPoint{}
		}
		d.Rows[m.Key.Model][device] = append(d.Rows[m.Key.Model][device], p)
	}
	for _, devices := range d.Rows {
		for _, points := range devices {
			sortPoints(points)
		}
	}
	return d
}

// without is a list without what stands in another.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// newOwnDevice finds out which peaks count in which format by asking of a device that has
// one alone.
func newOwnDevice(weights, kv []string) ownDevice {
	pack := func(has, w, k string) []float64 {
		t := &roofline.Target{Count: 1, PeakTFLOPs: map[string]roofline.Decimal{has: "1"}}
		return roofline.Pack(roofline.Query{Target: t, WeightDtype: w, KVDtype: k, TP: 1})
	}
	order := func(slot int, w, k string) []string {
		found := []string{}
		for _, name := range peakTypes {
			if !math.IsNaN(pack(name, w, k)[slot]) {
				found = append(found, name)
			}
		}
		return found
	}
	o := ownDevice{
		Base:  pack("", weights[0], kv[0]),
		Slots: map[string]int{"gbs": roofline.SlotBandwidth, "gb": roofline.SlotMemory, "link": roofline.SlotLink},
	}
	for _, slot := range []int{roofline.SlotPeakLayers, roofline.SlotPeakPlain, roofline.SlotPeakAttention, roofline.SlotPeakIndex} {
		byWeights, byKV := map[string][]string{}, map[string][]string{}
		for _, w := range weights {
			byWeights[w] = order(slot, w, kv[0])
		}
		for _, k := range kv {
			byKV[k] = order(slot, weights[0], k)
		}
		p := peakSlot{Slot: slot}
		if slot == roofline.SlotPeakLayers || slot == roofline.SlotPeakPlain {
			p.Weights = byWeights
		} else {
			p.KV = byKV
		}
		o.Peaks = append(o.Peaks, p)
	}
	return o
}

// writeCalculatorData puts it into the site and returns its address.
func (s *site) writeCalculatorData(w *world) (string, error) {
	text, err := json.Marshal(s.newCalculatorData(w))
	if err != nil {
		return "", err
	}
	name := hashed("ceilings.json", text)
	return name, s.out.write(name, text)
}
