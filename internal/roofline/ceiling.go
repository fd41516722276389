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
	tp := in[SlotTP]
	if !(tp >= 1) || !(in[SlotBatch] > 0) || !(in[SlotContext] >= 0) {
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
func decode(in, out []float64) {
	b, tp := in[SlotBatch], in[SlotTP]
	bandwidth := in[SlotBandwidth] * tp
	kv := float64(float64(b*in[SlotContext]) * in[SlotKVPerToken] * copies(in))
	weights := in[SlotWeightRead]
	out[OutKVBytesRead] = kv
	out[OutWeightBytesRead] = weights
	out[OutReadBytesPerStep] = weights + kv

	weightTime := weights / bandwidth
	kvTime := kv / bandwidth
	memory := (weights + kv) / bandwidth
	compute := float64(float64(2*b)*in[SlotLayerParams])/(in[SlotPeakLayers]*tp) +
		float64(float64(2*b)*in[SlotHeadParams])/(in[SlotPeakHead]*tp)
	compute += float64(float64(b*in[SlotContext])*in[SlotAttentionFLOPs]) / (in[SlotPeakAttention] * tp)
	communication := allReduces(in, b)

	out[OutMemoryMS] = memory * 1e3
	out[OutComputeMS] = compute * 1e3
	out[OutCommunicationMS] = communication * 1e3
	hard, binding := greatest(memory, compute, communication)
	out[OutBinding] = binding
	out[OutDecodeStepHardMS] = hard * 1e3
	out[OutDecodeStepExpectedMS] = hard * 1e3
	out[OutDecodeStepSerialMS] = larger(kvTime+larger(compute, weightTime), communication) * 1e3
	out[OutDecodeTokPerSecHard] = b / hard
	out[OutDecodeTokPerSecExpected] = b / hard
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

// prefill bounds one prompt read in a single pass, of which Cached tokens come from the
// prefix cache: only the last token goes through the head.
func prefill(in, out []float64) {
	tp := in[SlotTP]
	fresh := in[SlotISL] - in[SlotCached]
	compute := prefillCompute(in)
	memory := in[SlotWeightRead] / (in[SlotBandwidth] * tp)
	hard, binding := greatest(memory, compute, allReduces(in, fresh))
	out[OutPrefillBinding] = binding
	out[OutPrefillHardMS] = hard * 1e3
	out[OutPrefillExpectedMS] = hard * 1e3
}

// prefillCompute is the time of a prompt's arithmetic over the peaks, in seconds. Each
// new token attends to the cached prefix, to those before it and to itself.
func prefillCompute(in []float64) float64 {
	tp := in[SlotTP]
	fresh := in[SlotISL] - in[SlotCached]
	t := float64(2*in[SlotLayerParams]*fresh) / (in[SlotPeakLayers] * tp)
	t += float64(2*in[SlotHeadParams]) / (in[SlotPeakHead] * tp)
	pairs := float64(fresh*in[SlotCached]) + float64(fresh*(fresh+1))/2
	t += float64(in[SlotAttentionFLOPs]*pairs) / (in[SlotPeakAttention] * tp)
	return t
}

// serving bounds the output rate of requests of one shape, C in flight. A request costs
// its prefill and OSL−1 decode steps (prefill yields the first token), each sharing the
// weights with at most C−1 others; neither arithmetic nor memory can be over-booked.
func serving(in, out []float64) {
	tp, c, osl := in[SlotTP], in[SlotConcurrency], in[SlotOSL]
	steps := osl - 1
	context := in[SlotISL] + osl/2 // the mean over the steps: ISL+1 … ISL+OSL−1
	step := float64(2*in[SlotLayerParams])/(in[SlotPeakLayers]*tp) +
		float64(2*in[SlotHeadParams])/(in[SlotPeakHead]*tp)
	step += float64(context*in[SlotAttentionFLOPs]) / (in[SlotPeakAttention] * tp)
	compute := prefillCompute(in) + float64(steps*step)
	bytes := in[SlotWeightRead]/c + float64(context*in[SlotKVPerToken]*copies(in))
	memory := steps * bytes / (in[SlotBandwidth] * tp)
	request, _ := greatest(memory, compute, 0)
	out[OutServingTokPerSec] = osl / request
	out[OutServingTokPerSecPerGPU] = osl / request / tp
}

// room says what fits: the weights, and beside them the cache of each sequence at its
// full length, with nothing else resident.
func room(in, out []float64) {
	tp := in[SlotTP]
	memory := float64(in[SlotMemory] * tp)
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
