package render

import (
	"cmp"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/render/halves"
	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
)

// calculator is what site/roofline shows before its script runs: one question worked
// out, on one device and on every other. The script asks all other questions with what
// calculatorData holds.
type calculator struct {
	Models, Targets []choiceGroup
	Weights, KV     []choiceGroup
	TP, PP, DP, EP  []choice
	Asked           question

	Answer, Load, Experts string
	Rate                  string // beside the sliders
	Plot                  template.HTML
	Figures               []figureGroup
	Bytes, FLOPs, Memory  []part
	Formulas              []formulaLine
	Rows                  measuredHere
	Everywhere            everywhere
	Conventions, Sources  []string
	Listed                *deviceTable
	Command               string

	Data, Full, FullIntegrity string // addresses: of calculatorData, and of the full module
}

// question is what the page opens with. Addresses leave out what equals it, so it stays
// as it is.
type question struct {
	Model, Target                               string
	Batch, Context, ISL, OSL, Concurrency       int64
	Cached, Chunk, Gamma                        int64
	Acceptance                                  string
	ModelName, TargetName, WeightDtype, KVDtype string
}

var opening = question{
	Model: "llama-3.1-8b", Target: "h200-sxm", Batch: 32, Context: 2048, ISL: 2048, OSL: 256, Concurrency: 32, Acceptance: "0.8",
}

// choiceGroup is a group of options of a select, "" for those outside any.
type choiceGroup struct {
	Label   string
	Options []choice
}

// choice is one option of a select.
type choice struct {
	Value, Text string
	Selected    bool
}

// figureGroup is a part of the table of figures.
type figureGroup struct {
	Name    string
	Figures []calculated
}

// calculated is one line of that table: a slot of the question or of the answer, in a
// unit of Scale recorded ones. An expected figure that equals the hard one is not shown.
type calculated struct {
	Name, Unit    string
	From          string // in or out
	Slot          int
	Scale         float64
	Hard          int    // slot of the answer; 0: the figure is no expected one
	Figure, Exact string // of the example
	Hidden        bool
}

// part is one line of what a step reads or computes.
type part struct {
	Name   string
	Apart  string // what the name goes on with where there are experts
	MoE    bool   // there are
	Slot   int
	Figure string
	Share  string // of the whole; "" where it is none of its parts
	Bar    string // in percent of the longest
	Hidden bool   // nothing of it
}

// formulaLine is a roof with its numbers filled in.
type formulaLine struct{ ID, Name, Text string }

// newCalculator builds the view from the catalogue and the rows; nil where there is no
// model or no device. Only targets of one device are offered: how many share the model is
// the form's own question.
func (s *site) newCalculator(w *world) *calculator {
	models, targets := s.today.Models, singles(s.today.Targets)
	if len(models) == 0 || len(targets) == 0 {
		return nil
	}
	v := &calculator{Asked: opening}
	q := &v.Asked
	if models[q.Model] == nil {
		q.Model = slices.Sorted(maps.Keys(models))[0]
	}
	if targets[q.Target] == nil {
		q.Target = slices.Sorted(maps.Keys(targets))[0]
	}
	m, t := models[q.Model], targets[q.Target]
	half := halves.NewModel(m)
	q.ModelName, q.TargetName, q.WeightDtype, q.KVDtype = m.Name, t.Name, half.Weights[0], half.KV[0]
	v.Models = grouped(models, q.Model, func(m *roofline.Model) (string, string) { return m.Publisher, m.Name })
	v.Targets = grouped(targets, q.Target, func(t *roofline.Target) (string, string) { return t.Vendor, t.Name })
	v.Weights, v.KV = dtypes(half.Weights, roofline.WeightDtypes()), dtypes(half.KV, roofline.KVDtypes())
	v.TP, v.PP, v.DP, v.EP = layoutChoices(half.Layouts)
	v.answer(m, t)
	v.Rows = s.measuredOn(w, q.Model, q.Target)
	v.plot(m, t)
	v.Listed = newDeviceTable(s.today.Targets)
	v.Everywhere = newEverywhere(m, half, targets, *q)
	return v
}

// singles are the targets of one device.
func singles(targets map[string]*roofline.Target) map[string]*roofline.Target {
	out := map[string]*roofline.Target{}
	for id, t := range targets {
		if t.Count == 1 {
			out[id] = t
		}
	}
	return out
}

// grouped lists what may be chosen by group and name.
func grouped[T any](all map[string]T, chosen string, of func(T) (group, name string)) []choiceGroup {
	var groups []choiceGroup
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		groupA, nameA := of(all[a])
		groupB, nameB := of(all[b])
		return cmp.Or(strings.Compare(groupA, groupB), natural(nameA, nameB))
	}) {
		group, name := of(all[id])
		if len(groups) == 0 || groups[len(groups)-1].Label != group {
			groups = append(groups, choiceGroup{Label: group})
		}
		last := &groups[len(groups)-1]
		last.Options = append(last.Options, choice{id, name, id == chosen})
	}
	return groups
}

// natural compares names so that 8B stands before 70B.
func natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, _ := strconv.ParseFloat(a[:na], 64)
			y, _ := strconv.ParseFloat(b[:nb], 64)
			if x != y {
				return cmp.Compare(x, y)
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// dtypes lists a model's own formats, then every other that is known.
func dtypes(own, known []string) []choiceGroup {
	groups := []choiceGroup{{Label: "On offer"}, {Label: "Also computable"}}
	for i, name := range own {
		groups[0].Options = append(groups[0].Options, choice{name, name, i == 0})
	}
	for _, name := range known {
		if !slices.Contains(own, name) {
			groups[1].Options = append(groups[1].Options, choice{name, name, false})
		}
	}
	if len(groups[1].Options) == 0 {
		groups = groups[:1]
	}
	return groups
}

// layoutChoices are the options of tp, pp, dp and ep at one device.
func layoutChoices(layouts []halves.Layout) (tp, pp, dp, ep []choice) {
	var out [4][]choice
	first := halves.Layout{1, 1, 1, 0}
	for i := range out {
		var seen []int64
		for _, l := range layouts {
			fits := true
			for j := range i {
				fits = fits && l[j] == first[j]
			}
			if fits && !slices.Contains(seen, l[i]) {
				seen = append(seen, l[i])
			}
		}
		slices.Sort(seen)
		for _, n := range seen {
			text := format.Count(n)
			if n == 0 {
				text = "none"
			}
			out[i] = append(out[i], choice{strconv.FormatInt(n, 10), text, n == first[i]})
		}
	}
	return out[0], out[1], out[2], out[3]
}

// query is the question as roofline takes it.
func (q *question) query(m *roofline.Model, t *roofline.Target) roofline.Query {
	return roofline.Query{
		Model: m, Target: t, WeightDtype: q.WeightDtype, KVDtype: q.KVDtype, Batch: q.Batch, Context: q.Context,
		ISL: q.ISL, OSL: q.OSL, Concurrency: q.Concurrency, Cached: q.Cached, Chunk: q.Chunk, TP: 1,
	}
}

// answer works out the question that the page opens with.
func (v *calculator) answer(m *roofline.Model, t *roofline.Target) {
	q := v.Asked.query(m, t)
	in := roofline.Pack(q)
	out := roofline.CeilingPacked(in)
	v.Answer, v.Load, v.Experts = CeilingSentences(q)
	v.Rate = (&askedCeiling{in: in, out: out}).rate()
	v.Formulas = []formulaLine{
		{"decode", "Decode", roofline.Formula(in)},
		{"prefill", "Prefill", roofline.PrefillFormula(in)},
		{"links", "Links, a step", roofline.LinkFormula(in, in[roofline.SlotBatch])},
	}
	for _, g := range figuresOfACeiling {
		group := figureGroup{Name: g.Name}
		for _, f := range g.Figures {
			value := in[f.Slot]
			if f.From == "out" {
				value = out[f.Slot]
			}
			f.Figure, f.Exact = "—", "not known"
			if !math.IsNaN(value) {
				f.Figure, f.Exact = format.Prose(value/f.Scale), exactJSON(value)
			}
			f.Hidden = f.Hard > 0 && value == out[f.Hard]
			group.Figures = append(group.Figures, f)
		}
		v.Figures = append(v.Figures, group)
	}
	v.Bytes, v.FLOPs = parts(bytesOfAStep, out, 1e9), parts(flopsOfAStep, out, 1e12)
	v.Memory = memoryParts(in, out)
	a := roofline.Ceiling(q)
	v.Conventions, v.Sources = a.Conventions, a.Sources
	v.Command = v.Asked.command()
}

// command gives the same answer in a shell.
func (q *question) command() string {
	words := []string{"measure ceiling", "--model " + q.Model, "--target " + q.Target, "--weights-dtype " + q.WeightDtype, "--kv-dtype " + q.KVDtype}
	for _, f := range []struct {
		flag string
		n    int64
	}{{"batch", q.Batch}, {"context", q.Context}, {"isl", q.ISL}, {"osl", q.OSL}, {"concurrency", q.Concurrency}} {
		if f.n > 0 {
			words = append(words, "--"+f.flag+" "+strconv.FormatInt(f.n, 10))
		}
	}
	return strings.Join(words, " ")
}

// plot draws the example with the rows measured on its device.
func (v *calculator) plot(m *roofline.Model, t *roofline.Target) {
	in := roofline.Pack(v.Asked.query(m, t))
	rows := make([]roofplot.Row, len(v.Rows.Points))
	for i, p := range v.Rows.Points {
		rows[i] = roofplot.Row{Place: roofplot.Place{Intensity: p.At[0], Rate: p.At[1]}, Kind: p.kind(v.Asked.types(), "1.1.1.0")}
	}
	compute := t.ComputeType(v.Asked.WeightDtype)
	name := template.HTMLEscapeString(v.Answer)
	v.Plot = template.HTML(roofplot.Draw(in, roofplot.Narrow, name, compute, rows) + roofplot.Draw(in, roofplot.Wide, name, compute, rows))
}

func (q *question) types() string { return q.WeightDtype + "/" + q.KVDtype }

// parts writes the parts of a step in a unit of scale recorded ones. A slot beyond the
// sum of the others, such as the experts expected, is no part of the whole.
func parts(of []part, out []float64, scale float64) []part {
	whole, longest := 0.0, 0.0
	for _, p := range of {
		longest = max(longest, out[p.Slot])
		if !p.apart() {
			whole += out[p.Slot]
		}
	}
	var written []part
	for _, p := range of {
		v := out[p.Slot]
		p.Figure, p.Hidden, p.MoE = format.Prose(v/scale), !(v > 0), out[roofline.OutExpertBytesRead] > 0
		p.Bar = strconv.FormatFloat(math.Round(v/longest*1000)/10, 'f', -1, 64)
		if !p.apart() {
			p.Share = format.Percent(v / whole)
		}
		written = append(written, p)
	}
	return written
}

// memoryParts are what lies in the memory of all devices, and that memory.
func memoryParts(in, out []float64) []part {
	all := in[roofline.SlotMemory] * roofplot.Devices(in)
	weights, kept := out[roofline.OutResidentBytes], in[roofline.SlotBatch]*roofline.Kept(in, in[roofline.SlotContext])
	longest := max(all, weights, kept)
	write := func(name string, v float64) part {
		if math.IsNaN(longest) {
			return part{Name: name, Figure: "—", Bar: "0"}
		}
		return part{Name: name, Figure: format.Prose(v / 1e9), Bar: strconv.FormatFloat(math.Round(v/longest*1000)/10, 'f', -1, 64), Share: format.Percent(v / all)}
	}
	whole := write("Memory of the devices", all)
	whole.Share = ""
	return []part{write("Weights", weights), write("Caches and states of the batch", kept), whole}
}

func (p part) apart() bool { return p.Slot == roofline.OutExpertBytesExpected }

// bytesOfAStep and flopsOfAStep are what a step reads and computes, by part.
var (
	bytesOfAStep = []part{
		{Name: "Weights", Apart: "; routed experts are counted below", Slot: roofline.OutWeightBytesRead},
		{Name: "Routed experts, hard: k of each layer", Slot: roofline.OutExpertBytesRead},
		{Name: "Routed experts, expected in their place", Slot: roofline.OutExpertBytesExpected},
		{Name: "Keys and values", Slot: roofline.OutKVBytesRead},
		{Name: "State, read and written", Slot: roofline.OutStateBytesRead},
	}
	flopsOfAStep = []part{
		{Name: "Matrices", Apart: "; routed experts are counted below", Slot: roofline.OutMatrixFLOPs},
		{Name: "Routed experts", Slot: roofline.OutExpertFLOPs},
		{Name: "Head", Slot: roofline.OutHeadFLOPs},
		{Name: "Attention", Slot: roofline.OutAttentionFLOPs},
		{Name: "State", Slot: roofline.OutStateFLOPs},
	}
)

// figuresOfACeiling are the lines of the table of figures.
var figuresOfACeiling = []figureGroup{
	{"A decode step", []calculated{
		{Name: "Hard, the ceiling: the longest of reading, computing, links", Unit: "ms", From: "out", Slot: roofline.OutDecodeStepHardMS, Scale: 1},
		{Name: "Expected", Unit: "ms", From: "out", Slot: roofline.OutDecodeStepExpectedMS, Scale: 1, Hard: roofline.OutDecodeStepHardMS},
		{Name: "Op-wise: where no two operations overlap", Unit: "ms", From: "out", Slot: roofline.OutDecodeStepOpWiseMS, Scale: 1},
		{Name: "Serial: where attention waits for the matrices", Unit: "ms", From: "out", Slot: roofline.OutDecodeStepSerialMS, Scale: 1},
		{Name: "Ceiling, all sequences together", Unit: "tok/s", From: "out", Slot: roofline.OutDecodeTokPerSecHard, Scale: 1},
		{Name: "Expected, all sequences together", Unit: "tok/s", From: "out", Slot: roofline.OutDecodeTokPerSecExpected, Scale: 1, Hard: roofline.OutDecodeTokPerSecHard},
		{Name: "Tokens that a step yields a sequence", Unit: "", From: "out", Slot: roofline.OutTokensPerStep, Scale: 1},
		{Name: "Reading alone", Unit: "ms", From: "out", Slot: roofline.OutMemoryMS, Scale: 1},
		{Name: "Computing alone", Unit: "ms", From: "out", Slot: roofline.OutComputeMS, Scale: 1},
		{Name: "Links alone", Unit: "ms", From: "out", Slot: roofline.OutCommunicationMS, Scale: 1},
		{Name: "Read in all", Unit: "GB", From: "out", Slot: roofline.OutReadBytesPerStep, Scale: 1e9},
	}},
	{"A prompt", []calculated{
		{Name: "Hard: no first token comes sooner", Unit: "ms", From: "out", Slot: roofline.OutPrefillHardMS, Scale: 1},
		{Name: "Expected", Unit: "ms", From: "out", Slot: roofline.OutPrefillExpectedMS, Scale: 1, Hard: roofline.OutPrefillHardMS},
		{Name: "Arithmetic", Unit: "TFLOP", From: "out", Slot: roofline.OutPrefillFLOPs, Scale: 1e12},
	}},
	{"A load of requests", []calculated{
		{Name: "Hard: output of all devices", Unit: "tok/s", From: "out", Slot: roofline.OutServingTokPerSec, Scale: 1},
		{Name: "Expected: output of all devices", Unit: "tok/s", From: "out", Slot: roofline.OutServingTokPerSecExpected, Scale: 1, Hard: roofline.OutServingTokPerSec},
		{Name: "Hard: output of each device", Unit: "tok/s", From: "out", Slot: roofline.OutServingTokPerSecPerGPU, Scale: 1},
		{Name: "Hard: TPOT, what one request alone would have", Unit: "ms", From: "out", Slot: roofline.OutServingTPOTMS, Scale: 1},
	}},
	{"In memory", []calculated{
		{Name: "Weights, all devices together", Unit: "GB", From: "out", Slot: roofline.OutResidentBytes, Scale: 1e9},
		{Name: "Keys and values that a token adds", Unit: "kB", From: "out", Slot: roofline.OutKVBytesPerToken, Scale: 1e3},
		{Name: "Most such sequences that fit", Unit: "", From: "out", Slot: roofline.OutMaxConcurrency, Scale: 1},
	}},
	{"The model", []calculated{
		{Name: "Parameters", Unit: "B", From: "in", Slot: roofline.SlotTotalParams, Scale: 1e9},
		{Name: "Parameters that a token reads", Unit: "B", From: "in", Slot: roofline.SlotReadParams, Scale: 1e9},
	}},
}

// exactJSON writes a number as JSON and JavaScript do, which is what the script writes.
func exactJSON(v float64) string {
	b, _ := halves.Values{v}.MarshalJSON()
	return strings.Trim(string(b), "[]")
}
