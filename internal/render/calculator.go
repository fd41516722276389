package render

import (
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
)

// calculator is what site/roofline shows: a worked example, a table of built results,
// and the packed halves of every query that the form can ask.
type calculator struct {
	Models, Targets, Weights, KV, Devices []choice
	Batch, Context                        int64

	Plot    template.HTML
	Answer  string // the example's result as a sentence
	Formula string
	Figures []calculated
	Built   []builtCeiling
	Reasons []dash
	Listed  *deviceTable
	Data    calculatorData
}

// choice is one option of a select.
type choice struct {
	Value, Text string
	Selected    bool
}

// calculated is one line of the bytes table: a slot of the query or of the answer, in a
// unit of Scale recorded ones.
type calculated struct {
	Name, Unit    string
	From          string // in or out
	Slot          int
	Scale         float64
	Figure, Exact string // of the example
}

// builtCeiling is one line of the table of built results: first-format weights on the
// target, one sequence with an empty cache, then 32 of 2,048 tokens.
type builtCeiling struct {
	Model, Target, Dtype string
	Alone, Step, Batched tableFigure
	Binding              string
	Fits                 string
}

// calculatorData is what the script composes queries from: a model's half and a
// target's half, each packed with the other left out, so that a slot is known in one.
type calculatorData struct {
	Slots    map[string]int              `json:"slots"`    // form field → slot of the query
	Out      map[string]int              `json:"out"`      // answer's slots that the sentence needs
	Bindings []string                    `json:"bindings"` // word for each value of the binding slot
	Inputs   []string                    `json:"inputs"`   // name of each slot of the query
	Models   map[string]calculatorModel  `json:"models"`
	Targets  map[string]calculatorTarget `json:"targets"`
}

type calculatorModel struct {
	calculatorHalf
	Weights    []string `json:"weights"`
	KV         []string `json:"kv"`
	MaxContext int64    `json:"max_context"`
	Heads      []int64  `json:"heads"` // attention heads by kind of layer: tp must divide each
}

type calculatorTarget struct {
	calculatorHalf
	Compute map[string]string `json:"compute"` // the type that weights of a dtype compute in
}

// calculatorHalf is one side of a query: packed by "WEIGHT DTYPE/KV DTYPE".
type calculatorHalf struct {
	Name   string            `json:"name"`
	Packed map[string]packed `json:"packed"`
}

// Devices on offer: powers of two up to one node.
var deviceCounts = []int64{1, 2, 4, 8}

const (
	exampleBatch   = 32
	exampleContext = 2048
)

// newCalculator builds the view from the catalogue. Only targets of one device are
// offered: how many share the matrices is the form's own question.
func newCalculator(models map[string]*roofline.Model, targets map[string]*roofline.Target) *calculator {
	v := &calculator{Batch: exampleBatch, Context: exampleContext, Data: calculatorData{
		Slots: map[string]int{"batch": roofline.SlotBatch, "context": roofline.SlotContext, "tp": roofline.SlotTP},
		Out: map[string]int{
			"step": roofline.OutDecodeStepHardMS, "rate": roofline.OutDecodeTokPerSecHard, "binding": roofline.OutBinding,
			"fits": roofline.OutFits, "most": roofline.OutMaxConcurrency,
		},
		Bindings: []string{
			roofline.BindingNone: "", roofline.BindingMemory: roofline.BindingName(roofline.BindingMemory),
			roofline.BindingCompute:       roofline.BindingName(roofline.BindingCompute),
			roofline.BindingCommunication: roofline.BindingName(roofline.BindingCommunication),
		},
		Inputs:  inputNames[:],
		Models:  map[string]calculatorModel{},
		Targets: map[string]calculatorTarget{},
	}}
	var single []string
	for id, t := range targets {
		if t.Count == 1 {
			single = append(single, id)
		}
	}
	slices.Sort(single)
	ids := slices.Sorted(maps.Keys(models))
	pairs := map[[2]string]bool{} // dtypes that any model offers
	for _, id := range ids {
		m := models[id]
		half := calculatorHalf{m.Name, map[string]packed{}}
		for _, w := range m.Weights {
			for _, kv := range m.KV {
				pairs[[2]string{w, kv}] = true
				half.Packed[w+"/"+kv] = roofline.Pack(roofline.Query{Model: m, WeightDtype: w, KVDtype: kv})
			}
		}
		var heads []int64
		for _, l := range m.Architecture.Layers {
			heads = append(heads, l.Attention.Heads)
		}
		v.Data.Models[id] = calculatorModel{half, m.Weights, m.KV, m.Architecture.MaxContext, heads}
	}
	for _, id := range single {
		half := calculatorHalf{targets[id].Name, map[string]packed{}}
		for p := range pairs {
			half.Packed[p[0]+"/"+p[1]] = roofline.Pack(roofline.Query{Target: targets[id], WeightDtype: p[0], KVDtype: p[1]})
		}
		compute := map[string]string{}
		for p := range pairs {
			compute[p[0]] = targets[id].ComputeType(p[0])
		}
		v.Data.Targets[id] = calculatorTarget{half, compute}
	}
	v.Listed = newDeviceTable(targets)
	if len(ids) > 0 && len(single) > 0 {
		v.example(models, targets, ids, single)
		v.results(models, targets, ids, single)
	}
	return v
}

// example works out the question that the page opens with.
func (v *calculator) example(models map[string]*roofline.Model, targets map[string]*roofline.Target, ids, single []string) {
	m, t := models[ids[0]], targets[single[0]]
	q := roofline.Query{Model: m, Target: t, WeightDtype: m.Weights[0], KVDtype: m.KV[0], Batch: exampleBatch, Context: exampleContext, TP: 1}
	in := roofline.Pack(q)
	out := roofline.CeilingPacked(in)
	for _, id := range ids {
		v.Models = append(v.Models, choice{id, models[id].Name, id == ids[0]})
	}
	for _, id := range single {
		v.Targets = append(v.Targets, choice{id, targets[id].Name, id == single[0]})
	}
	for i, w := range m.Weights {
		v.Weights = append(v.Weights, choice{w, w, i == 0})
	}
	for i, kv := range m.KV {
		v.KV = append(v.KV, choice{kv, kv, i == 0})
	}
	for i, n := range deviceCounts {
		v.Devices = append(v.Devices, choice{format.Count(n), format.Count(n), i == 0})
	}
	v.Answer = ceilingSentence(q, out)
	v.Formula = roofline.Formula(in)
	compute := t.ComputeType(m.Weights[0])
	v.Plot = template.HTML(roofplot.Draw(in, roofplot.Narrow, v.Answer, compute) + roofplot.Draw(in, roofplot.Wide, v.Answer, compute))
	for _, f := range figuresOfACeiling {
		value := in[f.Slot]
		if f.From == "out" {
			value = out[f.Slot]
		}
		f.Figure, f.Exact = "—", "not known"
		if !math.IsNaN(value) {
			f.Figure, f.Exact = format.Prose(value/f.Scale), exactJSON(value)
		}
		v.Figures = append(v.Figures, f)
	}
}

// figuresOfACeiling are the lines of the bytes table.
var figuresOfACeiling = []calculated{
	{Name: "Weights in memory, all devices", Unit: "GB", From: "out", Slot: roofline.OutResidentBytes, Scale: 1e9},
	{Name: "Weights read in a step", Unit: "GB", From: "out", Slot: roofline.OutWeightBytesRead, Scale: 1e9},
	{Name: "Keys and values that one token adds", Unit: "kB", From: "out", Slot: roofline.OutKVBytesPerToken, Scale: 1e3},
	{Name: "Keys and values read in a step", Unit: "GB", From: "out", Slot: roofline.OutKVBytesRead, Scale: 1e9},
	{Name: "Read in a step", Unit: "GB", From: "out", Slot: roofline.OutReadBytesPerStep, Scale: 1e9},
	{Name: "Time to read it", Unit: "ms", From: "out", Slot: roofline.OutMemoryMS, Scale: 1},
	{Name: "Time to compute it", Unit: "ms", From: "out", Slot: roofline.OutComputeMS, Scale: 1},
	{Name: "Time to add up across devices", Unit: "ms", From: "out", Slot: roofline.OutCommunicationMS, Scale: 1},
	{Name: "Step, hard: the longest of the three", Unit: "ms", From: "out", Slot: roofline.OutDecodeStepHardMS, Scale: 1},
	{Name: "Step, serial: expected where nothing overlaps", Unit: "ms", From: "out", Slot: roofline.OutDecodeStepSerialMS, Scale: 1},
	{Name: "Ceiling, all sequences together", Unit: "tok/s", From: "out", Slot: roofline.OutDecodeTokPerSecHard, Scale: 1},
}

// exactJSON writes a number as JSON and JavaScript do, which is what the script writes.
func exactJSON(v float64) string {
	b, _ := packed{v}.MarshalJSON()
	return strings.Trim(string(b), "[]")
}

// ceilingSentence says a ceiling in words. roofline.ts says the same of other queries.
func ceilingSentence(q roofline.Query, out []float64) string {
	rate, step := out[roofline.OutDecodeTokPerSecHard], out[roofline.OutDecodeStepHardMS]
	each := ""
	over := "one sequence"
	if q.Batch > 1 {
		over = format.Count(q.Batch) + " sequences"
		each = ", " + format.Quantity(format.Prose(rate/float64(q.Batch)), "tok/s") + " each"
	}
	s := capital(roofline.BindingName(out[roofline.OutBinding])) + " binds: " + q.Model.Name + " on " +
		format.Devices(q.TP, q.Target.Name) + sharing(q.TP) + " decodes at most " + format.Quantity(format.Prose(rate), "tok/s") +
		" over " + over + " of " + format.Plural(int(q.Context), "token", "tokens") + each +
		"; a step takes at least " + format.Quantity(format.Prose(step), "ms") + "."
	if out[roofline.OutFits] == 0 {
		s += " It does not fit in memory"
		if most := out[roofline.OutMaxConcurrency]; most > 0 {
			s += ": at most " + format.Count(int64(most)) + " such sequences do"
		}
		s += "."
	}
	return s
}

// sharing says how many devices share each matrix, where there are several.
func sharing(tp int64) string {
	if tp <= 1 {
		return ""
	}
	return " sharing each matrix (tp" + format.NBSP + format.Count(tp) + ")"
}

// results fills the table of built results.
func (v *calculator) results(models map[string]*roofline.Model, targets map[string]*roofline.Target, ids, single []string) {
	type line struct{ alone, batched roofline.Answer }
	var lines []line
	var alone, step, batched []float64
	for _, id := range ids {
		for _, on := range single {
			q := roofline.Query{Model: models[id], Target: targets[on], Batch: 1, TP: 1}
			l := line{alone: roofline.Ceiling(q)}
			q.Batch, q.Context = exampleBatch, exampleContext
			l.batched = roofline.Ceiling(q)
			if a := l.alone; a.DecodeTokPerSec != nil {
				alone, step = append(alone, a.DecodeTokPerSec.Hard), append(step, a.DecodeStepMS.Hard)
			}
			if a := l.batched; a.DecodeTokPerSec != nil {
				batched = append(batched, a.DecodeTokPerSec.Hard)
			}
			lines = append(lines, l)
			v.Built = append(v.Built, builtCeiling{Model: models[id].Name, Target: targets[on].Name, Dtype: models[id].Weights[0]})
		}
	}
	var why letters
	write := func(c format.Column, value float64) tableFigure {
		return tableFigure{Figure: c.Figure(value), Exact: format.Exact(value)}
	}
	for i, l := range lines {
		b := &v.Built[i]
		b.Binding, b.Fits = l.batched.Binding, "—"
		if l.batched.Fits != nil {
			b.Fits = map[bool]string{true: "fits", false: "does not fit"}[*l.batched.Fits]
		}
		if a := l.alone; a.DecodeTokPerSec != nil {
			b.Alone = write(format.NewColumn("tok/s", alone), a.DecodeTokPerSec.Hard)
			b.Step = write(format.Milliseconds(step), a.DecodeStepMS.Hard)
		} else {
			b.Alone.Dash = why.dash(a.Missing["decode_tok_s"])
			b.Step.Dash = why.dash(a.Missing["decode_step_ms"])
		}
		if a := l.batched; a.DecodeTokPerSec != nil {
			b.Batched = write(format.NewColumn("tok/s", batched), a.DecodeTokPerSec.Hard)
		} else {
			b.Batched.Dash = why.dash(a.Missing["decode_tok_s"])
		}
	}
	v.Reasons = why.Reasons()
}

// inputNames says what each slot of a packed query is, for a reader who is told that
// one of them is not known.
var inputNames = [roofline.HeadSlots]string{
	roofline.SlotBatch: "batch", roofline.SlotContext: "context", roofline.SlotISL: "prompt length",
	roofline.SlotCached: "cached prompt tokens", roofline.SlotChunk: "chunk", roofline.SlotOSL: "output length",
	roofline.SlotConcurrency: "concurrency", roofline.SlotTP: "devices", roofline.SlotPP: "stages",
	roofline.SlotDP: "copies", roofline.SlotEP: "devices with experts of their own", roofline.SlotGamma: "drafted tokens",
	roofline.SlotAcceptance: "acceptance", roofline.SlotAccepted: "tokens a step", roofline.SlotMTPDrafts: "drafts of the model's own",
	roofline.SlotReadParams: "read parameters", roofline.SlotTotalParams: "parameters", roofline.SlotHidden: "hidden size",
	roofline.SlotHeadParams: "parameters of the head", roofline.SlotHeadBytes: "size of the head",
	roofline.SlotRestParams: "parameters of the final norm", roofline.SlotRestBytes: "size of the final norm",
	roofline.SlotResident: "size of the weights", roofline.SlotResidentExperts: "size of the experts",
	roofline.SlotDraftBytes: "size of the drafting module", roofline.SlotDraftParams: "parameters of the drafting module",
	roofline.SlotDraftResident: "size of the drafting module", roofline.SlotMaxContext: "longest context",
	roofline.SlotPeakLayers: "dense peak for the weights", roofline.SlotPeakPlain: "dense peak for the head",
	roofline.SlotPeakAttention: "dense peak for attention", roofline.SlotPeakIndex: "dense peak for the indexer",
	roofline.SlotBandwidth: "memory bandwidth", roofline.SlotLink: "link bandwidth", roofline.SlotLinkPeer: "link bandwidth to one peer",
	roofline.SlotLinkReduces: "reduction in the network", roofline.SlotMemory: "memory size", roofline.SlotKinds: "kinds of layers",
}
