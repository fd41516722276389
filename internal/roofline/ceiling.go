package roofline

import (
	"math"
	"strconv"
)

var nan = math.NaN()

// activationBytes is the size of one activation that an all-reduce carries: engines add
// up in 16 bits.
const activationBytes = 2

// CeilingPacked computes every figure of an answer from a packed query. It is the only
// place where they are computed: Ceiling and the browser both come here.
func CeilingPacked(in []float64) []float64 {
	out := make([]float64, OutSlots)
	for i := range out {
		out[i] = nan
	}
	out[OutBinding], out[OutPrefillBinding] = BindingNone, BindingNone
	if !(in[SlotTP] >= 1) || !(in[SlotPP] >= 1) || !(in[SlotBatch] > 0) || !(in[SlotContext] >= 0) {
		return out
	}
	decode(in, out)
	room(in, out)
	if in[SlotISL] > in[SlotCached] && in[SlotCached] >= 0 {
		prefill(in, out)
		if in[SlotOSL] >= 1 && in[SlotConcurrency] >= 1 {
			serving(in, out)
		}
	}
	return out
}

// decode bounds one step in which each of B sequences yields a token: the bytes of all
// weights and of each sequence's cache over the memory, the arithmetic over the peaks,
// the activations over the links. What can overlap is not added: the hard roof is the
// greatest of the three. In a dense model the expected step is the hard one. Serial is
// what a step costs when attention waits for the matrices.
//
// In a pipeline a token passes all stages in turn, so a step takes what one sequence alone
// takes on the devices of a stage, however many stages there are; nor can it take less
// than all the step's work spread over all devices. The greater is hard. Expected is with
// the sequences in as many groups as stages, each group reading every stage's weights.
func decode(in, out []float64) {
	b, pp := in[SlotBatch], in[SlotPP]
	out[OutKVBytesRead] = float64(float64(b*in[SlotContext]) * in[SlotKVPerToken] * copies(in))
	out[OutWeightBytesRead] = in[SlotWeightRead]
	out[OutReadBytesPerStep] = in[SlotWeightRead] + out[OutKVBytesRead]

	all := stepOf(in, b, in[SlotTP]*pp)
	all.communication = allReduces(in, b) / pp
	group := all
	if pp > 1 {
		alone := stepOf(in, 1, in[SlotTP])
		all.memory = larger(all.memory, alone.memory)
		all.compute = larger(all.compute, alone.compute)
		all.communication = larger(all.communication, alone.communication)
		group = stepOf(in, larger(b/pp, 1), in[SlotTP])
	}
	out[OutMemoryMS] = all.memory * 1e3
	out[OutComputeMS] = all.compute * 1e3
	out[OutCommunicationMS] = all.communication * 1e3
	hard, binding := greatest(all.memory, all.compute, all.communication)
	expected, _ := greatest(group.memory, group.compute, group.communication)
	out[OutBinding] = binding
	out[OutDecodeStepHardMS] = hard * 1e3
	out[OutDecodeStepExpectedMS] = expected * 1e3
	out[OutDecodeStepSerialMS] = larger(group.kv+larger(group.compute, group.weights), group.communication) * 1e3
	out[OutDecodeTokPerSecHard] = b / hard
	out[OutDecodeTokPerSecExpected] = b / expected
}

// times of one decode step, in seconds.
type times struct{ weights, kv, memory, compute, communication float64 }

// stepOf is what a step of b sequences takes with the work spread over so many devices.
func stepOf(in []float64, b, devices float64) times {
	bandwidth := in[SlotBandwidth] * devices
	kv := float64(float64(b*in[SlotContext]) * in[SlotKVPerToken] * copies(in))
	compute := float64(float64(2*b)*in[SlotLayerParams])/(in[SlotPeakLayers]*devices) +
		float64(float64(2*b)*in[SlotHeadParams])/(in[SlotPeakHead]*devices)
	compute += float64(float64(b*in[SlotContext])*in[SlotAttentionFLOPs]) / (in[SlotPeakAttention] * devices)
	return times{
		weights: in[SlotWeightRead] / bandwidth,
		kv:      kv / bandwidth,
		memory:  (in[SlotWeightRead] + kv) / bandwidth,
		compute: compute, communication: allReduces(in, b),
	}
}

// copies is how many times each cached key and value is kept: a cache of k heads splits
// at most k ways.
func copies(in []float64) float64 {
	if in[SlotTP] > in[SlotKVShards] {
		return in[SlotTP] / in[SlotKVShards]
	}
	return 1
}

// allReduces is the least time for the two all-reduces of each layer over tokens'
// activations, in seconds. In a ring, or over a full mesh, a device sends and receives
// 2(t−1)/t of the message; a switch that adds up lets it send and receive it once. Of a
// mesh only the links to the t−1 partners count.
func allReduces(in []float64, tokens float64) float64 {
	t := in[SlotTP]
	if t == 1 {
		return 0
	}
	message := tokens * in[SlotHidden] * activationBytes
	link := in[SlotLink]
	if in[SlotLinkPeer] > 0 {
		link = in[SlotLinkPeer] * (t - 1)
	}
	share := 2 * (t - 1) / t
	if in[SlotLinkReduces] == 1 {
		share = 1
	}
	return 2 * in[SlotLayers] * share * message / link
}

// prefill bounds one prompt of which Cached tokens come from the prefix cache: only the
// last token goes through the head. It is expected to be read in a single pass, which
// takes the stages of a pipeline in turn; cut into chunks, which follow each other through
// the stages, it can at best keep all of them busy.
func prefill(in, out []float64) {
	stage := in[SlotTP]
	all := stage * in[SlotPP]
	fresh := in[SlotISL] - in[SlotCached]
	memory := in[SlotWeightRead] / (in[SlotBandwidth] * stage) // each chunk passes every stage
	communication := allReduces(in, fresh)
	hard, binding := greatest(memory, prefillCompute(in, all), communication/in[SlotPP])
	expected, _ := greatest(memory, prefillCompute(in, stage), communication)
	out[OutPrefillBinding] = binding
	out[OutPrefillHardMS] = hard * 1e3
	out[OutPrefillExpectedMS] = expected * 1e3
}

// prefillCompute is the time of a prompt's arithmetic over the peaks of so many devices,
// in seconds. Each new token attends to the cached prefix, to those before it and to
// itself.
func prefillCompute(in []float64, devices float64) float64 {
	fresh := in[SlotISL] - in[SlotCached]
	t := float64(2*in[SlotLayerParams]*fresh) / (in[SlotPeakLayers] * devices)
	t += float64(2*in[SlotHeadParams]) / (in[SlotPeakHead] * devices)
	pairs := float64(fresh*in[SlotCached]) + float64(fresh*(fresh+1))/2
	t += float64(in[SlotAttentionFLOPs]*pairs) / (in[SlotPeakAttention] * devices)
	return t
}

// serving bounds the output rate of requests of one shape, C in flight. A request costs
// its prefill and OSL−1 decode steps (prefill yields the first token), each sharing the
// weights with at most C−1 others; neither arithmetic nor memory can be over-booked.
func serving(in, out []float64) {
	devices, c, osl := in[SlotTP]*in[SlotPP], in[SlotConcurrency], in[SlotOSL]
	steps := osl - 1
	context := in[SlotISL] + osl/2 // the mean over the steps: ISL+1 … ISL+OSL−1
	step := float64(2*in[SlotLayerParams])/(in[SlotPeakLayers]*devices) +
		float64(2*in[SlotHeadParams])/(in[SlotPeakHead]*devices)
	step += float64(context*in[SlotAttentionFLOPs]) / (in[SlotPeakAttention] * devices)
	compute := prefillCompute(in, devices) + float64(steps*step)
	bytes := in[SlotWeightRead]/c + float64(context*in[SlotKVPerToken]*copies(in))
	memory := steps * bytes / (in[SlotBandwidth] * devices)
	request, _ := greatest(memory, compute, 0)
	out[OutServingTokPerSec] = osl / request
	out[OutServingTokPerSecPerGPU] = osl / request / devices
}

// room says what fits: the weights, and beside them the cache of each sequence at its
// full length, with nothing else resident.
func room(in, out []float64) {
	memory := float64(in[SlotMemory] * in[SlotTP] * in[SlotPP])
	weights := in[SlotWeightResident]
	token := in[SlotKVPerToken] * copies(in)
	need := weights + float64(float64(in[SlotBatch]*in[SlotContext])*token)
	if math.IsNaN(memory) || math.IsNaN(need) {
		return
	}
	out[OutFits] = 0
	if need <= memory {
		out[OutFits] = 1
	}
	length := longest(in)
	if length <= 0 {
		return
	}
	n := math.Floor((memory - weights) / (length * token))
	out[OutMaxConcurrency] = larger(n, 0)
}

// longest is the length that a sequence reaches: the context asked for, else prompt and
// output together.
func longest(in []float64) float64 {
	if in[SlotContext] > 0 {
		return in[SlotContext]
	}
	return in[SlotISL] + in[SlotOSL]
}

// greatest is the greatest of three times and which it is; NaN when one is not known.
func greatest(memory, compute, communication float64) (float64, float64) {
	switch {
	case math.IsNaN(memory) || math.IsNaN(compute) || math.IsNaN(communication):
		return nan, BindingNone
	case memory >= compute && memory >= communication:
		return memory, BindingMemory
	case compute >= communication:
		return compute, BindingCompute
	default:
		return communication, BindingCommunication
	}
}

// larger is the larger of two, NaN if either is.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return nan
	}
	if a > b {
		return a
	}
	return b
}

// Ceiling answers a query, with its working and with a reason for each figure that
// cannot be computed.
func Ceiling(q Query) Answer {
	q = q.Filled()
	in := Pack(q)
	a := Answer{Missing: reasons(q)}
	blocked := a.Missing["decode_step_ms"] != ""
	out := CeilingPacked(in)
	if q.Model != nil {
		a.TotalParams = int64(in[SlotTotalParams])
		a.ReadParams = int64(in[SlotReadParams])
		a.Conventions = conventions(q)
	}
	a.WeightBytes = known(in[SlotWeightResident])
	a.KVBytesPerToken = known(in[SlotKVPerToken])
	a.Sources = sources(q)
	if a.Missing["read_bytes_per_step"] == "" {
		a.ReadBytesPerStep = known(out[OutReadBytesPerStep])
	}
	if !blocked {
		a.DecodeStepMS = &Roofs{out[OutDecodeStepHardMS], out[OutDecodeStepExpectedMS], out[OutDecodeStepSerialMS]}
		a.DecodeTokPerSec = &Pair{out[OutDecodeTokPerSecHard], out[OutDecodeTokPerSecExpected]}
		a.Parts = &Parts{out[OutWeightBytesRead], out[OutKVBytesRead],
			out[OutMemoryMS], out[OutComputeMS], out[OutCommunicationMS]}
		a.Binding = BindingName(out[OutBinding])
		a.Formula = Formula(in)
		a.LinkFormula = LinkFormula(in, in[SlotBatch])
	}
	if a.Missing["prefill_ms"] == "" {
		a.PrefillMS = &Pair{out[OutPrefillHardMS], out[OutPrefillExpectedMS]}
		a.PrefillFormula = PrefillFormula(in)
	}
	if a.Missing["serving"] == "" {
		a.Serving = &Serving{out[OutPrefillHardMS], out[OutServingTokPerSec], out[OutServingTokPerSecPerGPU]}
	}
	if a.Missing["fits"] == "" {
		fits := out[OutFits] == 1
		a.Fits = &fits
	}
	if a.Missing["max_concurrency"] == "" {
		n := int64(out[OutMaxConcurrency])
		a.MaxConcurrency = &n
	}
	return a
}

func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// Groups of figures that one missing input takes away together.
var (
	timed = []string{"decode_step_ms", "decode_tok_s", "binding", "formula", "parts", "prefill_ms", "serving"}
	sized = []string{"read_bytes_per_step", "fits", "max_concurrency"}
)

// fault is one reason why figures cannot be computed.
type fault struct {
	reason  string
	figures []string // JSON names
	asked   bool     // the question itself is wrong, not merely something unknown
}

// reasons says, by JSON name, why a figure cannot be computed. The first reason stands.
func reasons(q Query) map[string]string {
	missing := map[string]string{}
	for _, f := range faults(q) {
		for _, name := range f.figures {
			if missing[name] == "" {
				missing[name] = f.reason
			}
		}
	}
	return missing
}

// Wrong lists what is wrong with the question itself, such as a type that nobody knows
// or a layout that the target cannot hold. Nothing is wrong with asking for a figure
// whose inputs nobody has published.
func (q Query) Wrong() []string {
	var wrong []string
	for _, f := range faults(q.Filled()) {
		if f.asked {
			wrong = append(wrong, f.reason)
		}
	}
	return wrong
}

func faults(q Query) []fault {
	all := append(append([]string{}, timed...), sized...)
	var list []fault
	wrong := func(reason string, figures ...string) { list = append(list, fault{reason, figures, true}) }
	unknown := func(reason string, figures ...string) { list = append(list, fault{reason, figures, false}) }
	if q.Model == nil {
		unknown("no model", append([]string{"read_params", "total_params", "weight_bytes", "kv_bytes_per_token"}, all...)...)
	}
	if q.Target == nil {
		unknown("no target", all...)
	}
	f, weightKnown := formatOf(q.WeightDtype)
	if !weightKnown && (q.Model != nil || q.WeightDtype != "") {
		wrong(unknownDtype("weight", q.WeightDtype, WeightDtypes()), append([]string{"weight_bytes"}, all...)...)
	}
	kv, kvKnown := kvFormatOf(q.KVDtype)
	if !kvKnown {
		wrong(unknownDtype("KV", q.KVDtype, KVDtypes()), append([]string{"kv_bytes_per_token"}, all...)...)
	}
	if q.Model == nil || q.Target == nil {
		return list
	}
	if q.Batch < 1 {
		wrong("batch "+itoa(q.Batch)+": at least 1 sequence decodes", all...)
	}
	if q.Context < 0 {
		wrong("context "+itoa(q.Context)+": at least 0 tokens are cached", all...)
	}
	if r := layout(q); r != "" {
		wrong(r, all...)
	}
	limit := q.Model.Architecture.MaxContext
	if limit > 0 && q.Context > limit {
		wrong("context "+itoa(q.Context)+": the model ends at "+itoa(limit)+" tokens", all...)
	}
	if limit > 0 && q.ISL+q.OSL > limit {
		wrong("prompt and output of "+itoa(q.ISL+q.OSL)+" tokens: the model ends at "+itoa(limit), "prefill_ms", "serving", "max_concurrency")
	}
	if q.Cached != 0 && (q.Cached < 0 || q.Cached >= q.ISL) {
		wrong("cached "+itoa(q.Cached)+" of a prompt of "+itoa(q.ISL)+": at least one token is computed", "prefill_ms", "serving")
	}
	if _, ok := q.Target.BandwidthGBs.Float(); !ok {
		unknown("no memory bandwidth is known for "+q.Target.Name, timed...)
	}
	if weightKnown && kvKnown {
		needed := [][]string{f.peaks, kv.peaks}
		if !f.whole {
			needed = append(needed, []string{headPeak(q.WeightDtype)})
		}
		for _, types := range needed {
			if name, _ := q.Target.peak(types); name == "" {
				unknown("no dense peak is known for "+types[0]+" on "+q.Target.Name, timed...)
			}
		}
	}
	if _, ok := q.Target.LinkGBs.Float(); !ok && q.TP > 1 {
		unknown("no link bandwidth is known for "+q.Target.Name, timed...)
	}
	if _, ok := q.Target.MemoryGB.Float(); !ok && q.Target.MemoryBytes == 0 {
		unknown("no memory size is known for "+q.Target.Name, "fits", "max_concurrency")
	}
	if q.Context <= 0 && q.ISL+q.OSL <= 0 {
		unknown("no length was given: --context, or --isl and --osl", "max_concurrency")
	}
	if q.ISL <= 0 {
		unknown("no prompt length was given: --isl", "prefill_ms", "serving")
	}
	if q.OSL <= 0 || q.Concurrency <= 0 {
		unknown("no load was given: --isl, --osl and --concurrency", "serving")
	}
	return list
}

// layout says why the matrices cannot be shared so, "" when they can.
func layout(q Query) string {
	switch {
	case q.TP < 1:
		return "tp " + itoa(q.TP) + ": at least 1 device computes"
	case q.PP < 1:
		return "pp " + itoa(q.PP) + ": at least 1 stage computes"
	case q.PP > 1 && q.TP*q.PP > q.Target.Count:
		return "tp " + itoa(q.TP) + " × pp " + itoa(q.PP) + ": the target has " + plural(q.Target.Count, "device")
	case q.PP > q.Model.Architecture.count():
		return "pp " + itoa(q.PP) + ": the model has " + plural(q.Model.Architecture.count(), "layer")
	case q.TP > q.Target.Count:
		return "tp " + itoa(q.TP) + ": the target has " + plural(q.Target.Count, "device")
	}
	for _, l := range q.Model.Architecture.Layers {
		if l.Attention.Heads%q.TP != 0 {
			return "tp " + itoa(q.TP) + ": " + itoa(l.Attention.Heads) + " heads do not part so; tp of " + parts(&q) + " would"
		}
	}
	return ""
}

// parts lists the layouts of so many devices as the target has, or of fewer, into which
// every layer's heads part.
func parts(q *Query) string {
	s := ""
	for tp := int64(1); tp <= q.Target.Count; tp++ {
		even := true
		for _, l := range q.Model.Architecture.Layers {
			even = even && l.Attention.Heads%tp == 0
		}
		if !even {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += itoa(tp)
	}
	return s
}

func unknownDtype(what, found string, accepted []string) string {
	if found == "q4_k_m" {
		return what + " dtype q4_k_m is a mix whose size only the file's tensors tell"
	}
	s := what + " dtype " + strconv.Quote(found) + " is not known; there are: "
	for i, a := range accepted {
		if i > 0 {
			s += ", "
		}
		s += a
	}
	return s
}
