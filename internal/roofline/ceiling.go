package roofline

import "math"

var nan = math.NaN()

// activationBytes is the size of one activation that an all-reduce carries: engines add
// up in 16 bits. An all-to-all may send 8 bits and brings back 16.
const (
	activationBytes = 2
	dispatchBytes   = 1
)

// CeilingPacked computes every figure of an answer from a packed query. It is the only
// place where they are computed: Ceiling and the browser both come here.
func CeilingPacked(in []float64) []float64 {
	out := make([]float64, OutSlots)
	CeilingInto(in, out)
	return out
}

// unanswered is an answer without figures.
var unanswered = func() (out [OutSlots]float64) {
	for i := range out {
		out[i] = nan
	}
	out[OutBinding], out[OutPrefillBinding] = BindingNone, BindingNone
	return out
}()

// CeilingInto is CeilingPacked into the first OutSlots of out.
func CeilingInto(in, out []float64) {
	copy(out[:OutSlots], unanswered[:])
	if !Packed(in) || !counts(in) {
		return
	}
	decode(in, out)
	room(in, out)
	if in[SlotISL] > in[SlotCached] {
		prefill(in, out)
		if in[SlotOSL] >= 1 && in[SlotConcurrency] >= 1 {
			serving(in, out)
		}
	}
}

// counts says whether the reader's slots are counts that a ceiling can have.
func counts(in []float64) bool {
	for _, v := range in[SlotContext : SlotGamma+1] {
		if !(v >= 0 && v <= most) {
			return false
		}
	}
	return in[SlotTP] >= 1 && in[SlotPP] >= 1 && in[SlotDP] >= 1 && in[SlotDCP] >= 1 && in[SlotBatch] > 0 && in[SlotBatch] <= most
}

// most bounds every count of a query: beyond it products leave the integers that a
// float64 holds.
const most = 1e12

// step is the work of one pass: bytes over all devices of a stage, FLOPs by part, and
// what the links carry. Experts and links are those of the hard roof, where all tokens
// choose alike.
type step struct {
	weights, experts, kv, state                          float64 // bytes
	matrix, plain, expertFLOPs, head, attention, updates float64 // FLOPs; plain computes in 16 bits
	index                                                float64
	links                                                float64 // seconds
	turns                                                float64 // a copy's share of cache and states is at least one sequence's: so many times an even share; 0 means 1

	likelyExperts, likelyLinks float64 // where each token chooses for itself
	reached, routed            float64 // experts that it then reaches, over the layers with some
}

// choose makes it the pass in which each token chooses its experts for itself.
func (w *step) choose() { w.experts, w.links = w.likelyExperts, w.likelyLinks }

// seen is how many of S cached tokens a query of the layer reads.
func seen(k *packedKind, s float64) float64 {
	switch {
	case k[KindChunk] > 0 && s > k[KindChunk]:
		return s - float64(k[KindChunk]*math.Floor((s-1)/k[KindChunk]))
	case k[KindWindow] > 0 && s > k[KindWindow]:
		return k[KindWindow]
	case k[KindSelected] > 0 && s > k[KindSelected]:
		return k[KindSelected]
	}
	return s
}

// seenOver sums seen over the contexts from+1 … from+n.
func seenOver(k *packedKind, from, n float64) float64 {
	return seenUpTo(k, from+n) - seenUpTo(k, from)
}

// seenUpTo sums seen over the contexts 1 … s.
func seenUpTo(k *packedKind, s float64) float64 {
	limit := k[KindWindow]
	if k[KindSelected] > 0 {
		limit = k[KindSelected]
	}
	switch c := k[KindChunk]; {
	case c > 0 && s > c:
		whole := math.Floor(s / c)
		return float64(whole*triangle(c)) + triangle(s-float64(whole*c))
	case limit > 0 && s > limit:
		return triangle(limit) + float64((s-limit)*limit)
	}
	return triangle(s)
}

func triangle(n float64) float64 { return float64(float64(n*(n+1)) / 2) }

// copies is how many times the layer's cache is kept: one of k heads splits at most k
// ways, times the devices over which its tokens are dealt out.
func copies(in []float64, k *packedKind) float64 {
	if ways := float64(k[KindShards] * in[SlotDCP]); in[SlotTP] > ways {
		return in[SlotTP] / ways
	}
	return 1
}

// Distinct is how many of E experts tokens that choose k each reach on average, each
// choosing evenly and for itself: E(1−(1−k/E)^T). Between whole numbers of tokens it is
// drawn straight.
func Distinct(experts, topK, tokens float64) float64 {
	if !(tokens > 1) {
		return topK
	}
	whole := math.Floor(tokens)
	miss := 1 - topK/experts
	left := power(miss, whole)
	here := float64(experts * (1 - left))
	if tokens > whole {
		here += float64((tokens - whole) * float64(experts*float64(left*(1-miss))))
	}
	if here < topK {
		return topK
	}
	if here > experts {
		return experts
	}
	return here
}

// power is x to a whole power, by squaring: math.Pow differs between machines.
func power(x, n float64) float64 {
	p := 1.0
	if !(n >= 1) {
		return p
	}
	if n > 1<<62 {
		n = 1 << 62
	}
	for k := uint64(n); k > 0; k >>= 1 {
		if k&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// stepOf is one decode step of b sequences, each with so many tokens to check and its own
// cache of s tokens; likely asks for what is expected of it too.
func stepOf(in []float64, b, s float64, likely bool) (w step) {
	_ = in[HeadSlots-1] // one check for all slots
	tokens := float64(b * (in[SlotGamma] + 1))
	w.pass(in, tokens, tokens, likely)
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		n, read := k[KindLayers], seen(k, s)
		cached := float64(k[KindKV]*read) + float64(k[KindIndexKV]*s)
		w.kv += float64(float64(float64(n*b)*cached) * copies(in, k))
		w.state += float64(float64(2*float64(n*b)) * k[KindState])
		w.attention += float64(float64(n*tokens) * float64(k[KindAttention]*read))
		w.index += float64(float64(n*tokens) * float64(k[KindIndex]*s))
	}
	w.head = float64(float64(2*tokens) * in[SlotHeadParams])
	if dp := in[SlotDP]; b < dp {
		w.turns = dp / b
	}
	return w
}

// pass fills in what so many tokens cost that go through the layers together, attention apart;
// routed is how many of them choose experts.
func (w *step) pass(in []float64, tokens, routed float64, likely bool) {
	_ = in[HeadSlots-1] // one check for all slots
	dp := in[SlotDP]
	sum := allReduce(in, in[SlotTP], tokens/dp)
	layers := in[SlotRestBytes] + in[SlotHeadBytes]
	w.matrix = in[SlotRestParams]
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		n := k[KindLayers]
		layers += float64(n * k[KindBytes])
		w.matrix += float64(n * k[KindParams])
		w.plain += float64(n * k[KindPlainParams])
		w.updates += float64(float64(n*tokens) * k[KindStateFLOPs])
		routes := k[KindExperts] > 0
		if !routes || dp == 1 { // each part of a layer ends in one sum
			sums := float64(n * float64(k[KindReduces]*sum))
			w.links += sums
			w.likelyLinks += sums
		}
		if !routes {
			continue
		}
		w.experts += float64(float64(n*k[KindTopK]) * k[KindExpertBytes])
		w.expertFLOPs += float64(float64(n*k[KindTopK]) * k[KindExpertParams])
		if dp != 1 {
			w.links += float64(n * reaching(in, k, sum, tokens, false))
		}
		if likely {
			d := Distinct(k[KindExperts], k[KindTopK], routed)
			w.likelyExperts += float64(float64(n*d) * k[KindExpertBytes])
			w.reached += float64(n * d)
			w.routed += n
			if dp != 1 {
				w.likelyLinks += float64(n * reaching(in, k, sum, tokens, true))
			}
		}
	}
	w.weights = float64(dp * layers)
	w.matrix *= float64(2 * tokens)
	w.plain *= float64(2 * tokens)
	w.expertFLOPs *= float64(2 * tokens)
}

func (w *step) bytes() float64 { return w.weights + w.experts + w.kv + w.state }

// own is the time factor of what sequences have each for themselves: with fewer sequences
// than copies some copy still has a whole one.
func (w *step) own() float64 {
	if w.turns > 1 {
		return w.turns
	}
	return 1
}

// memory is the time to move a step's bytes, over so many devices, in seconds.
func (w *step) memory(in []float64, devices float64) float64 {
	return (w.weights + w.experts + float64((w.kv+w.state)*w.own())) / float64(in[SlotBandwidth]*devices)
}

// matrices is the time of all arithmetic but attention, in seconds.
func (w *step) matrices(in []float64, devices float64) float64 {
	t := (w.matrix + w.expertFLOPs) / float64(in[SlotPeakLayers]*devices)
	return t + (w.plain+w.head+w.updates)/float64(in[SlotPeakPlain]*devices)
}

// attending is the time of attention's arithmetic, in seconds.
func (w *step) attending(in []float64, devices float64) float64 {
	t := 0.0
	if w.attention > 0 {
		t = w.attention / float64(in[SlotPeakAttention]*devices)
	}
	if w.index > 0 {
		t += w.index / float64(in[SlotPeakIndex]*devices)
	}
	return float64(t * w.own())
}

func (w *step) compute(in []float64, devices float64) float64 {
	return w.matrices(in, devices) + w.attending(in, devices)
}

// reaching is the least time that the links take for one layer whose experts copies
// share, over so many tokens of the whole group, in seconds, where sum is what one sum over
// the devices takes that share a matrix: each token is sent to its experts and back in
// place of the second sum.
func reaching(in []float64, k *packedKind, sum, tokens float64, expected bool) float64 {
	sums := float64((k[KindReduces] - 1) * sum)
	group := float64(in[SlotTP] * in[SlotDP])
	if in[SlotEP] == 0 { // each expert is split over all
		return sums + allReduce(in, group, tokens)
	}
	return sums + allToAll(in, k, tokens/group, expected)
}

// allReduce is the least time to add up tokens' activations over t devices. In a ring,
// or over a full mesh, a device sends and receives 2(t−1)/t of the message; a switch that
// adds up lets it send and receive it once. Of a mesh only the links to the t−1 partners
// count.
func allReduce(in []float64, t, tokens float64) float64 {
	if t == 1 {
		return 0
	}
	share := float64(2*(t-1)) / t
	if in[SlotLinkReduces] == 1 {
		share = 1
	}
	message := float64(float64(tokens*in[SlotHidden]) * activationBytes)
	return float64(share*message) / linkOf(in, t)
}

// allToAll is the least time for one device to send its tokens to their experts and to
// take the results back. At best the experts of a token lie together and on the device
// where it is; expected, they are spread evenly.
func allToAll(in []float64, k *packedKind, tokens float64, expected bool) float64 {
	ep := in[SlotEP]
	each := k[KindExperts] / ep // experts on a device
	others := max(math.Ceil(k[KindTopK]/each)-1, 0)
	if expected {
		others = max(others, float64((ep-1)*(1-power(1-1/ep, k[KindTopK]))))
	}
	if others == 0 {
		return 0
	}
	message := float64(float64(tokens*in[SlotHidden]) * (dispatchBytes + activationBytes))
	return float64(others*message) / linkOf(in, ep)
}

// linkOf is what one of t devices sends to its partners together, in bytes a second.
func linkOf(in []float64, t float64) float64 {
	if in[SlotLinkPeer] > 0 {
		return float64(in[SlotLinkPeer] * (t - 1))
	}
	return in[SlotLink]
}

// tokensPerStep is how many tokens a step yields a sequence: one, or the accepted drafts
// and the one that follows them, (1−α^(γ+1))/(1−α). NaN where acceptance is not known.
func tokensPerStep(in []float64) float64 {
	gamma, alpha := in[SlotGamma], in[SlotAcceptance]
	switch {
	case gamma == 0:
		return 1
	case in[SlotAccepted] > 0:
		return in[SlotAccepted]
	case !(alpha >= 0 && alpha <= 1):
		return nan
	case alpha == 1:
		return gamma + 1
	}
	return (1 - power(alpha, gamma+1)) / (1 - alpha)
}

// decode bounds one step: the bytes of all weights, of each sequence's cache and state
// over the memory, the arithmetic over the peaks, the activations over the links. What
// can overlap is not added: the hard roof is the greatest of the three. Op-wise adds
// attention over the cache to the matrices, each at its own greatest; serial is what a
// step costs when attention waits for the matrices and nothing overlaps its bytes.
//
// In a pipeline a token passes all stages in turn, so a step takes what one sequence alone
// takes on the devices of a stage, however many stages there are; nor can it take less
// than all the step's work spread over all devices. The greater is hard. Expected is with
// the sequences in as many groups as stages, each group reading every stage's weights.
//
// With speculation a step checks the drafts of each sequence in one pass, after each was
// drafted in turn.
func decode(in, out []float64) {
	_, _ = in[HeadSlots-1], out[OutSlots-1] // one check for all slots
	b, s, pp := in[SlotBatch], in[SlotContext], in[SlotPP]
	stage := float64(in[SlotTP] * in[SlotDP])
	w := stepOf(in, b, s, true)
	token := 0.0
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		token += float64(k[KindLayers] * (k[KindKV] + k[KindIndexKV]))
	}
	out[OutKVBytesPerToken] = token
	out[OutWeightBytesRead], out[OutExpertBytesRead] = w.weights, w.experts
	out[OutKVBytesRead], out[OutStateBytesRead] = w.kv, w.state
	out[OutReadBytesPerStep] = w.bytes()
	out[OutMatrixFLOPs], out[OutExpertFLOPs], out[OutHeadFLOPs] = w.matrix+w.plain, w.expertFLOPs, w.head
	out[OutAttentionFLOPs], out[OutStateFLOPs] = w.attention+w.index, w.updates
	out[OutExpertBytesExpected] = w.likelyExperts
	if w.routed > 0 {
		out[OutDistinctExpected] = w.reached / w.routed
	}

	memory, compute, links := stepTimes(in, &w, stage, pp)
	likely := &w
	if pp > 1 {
		alone := stepOf(in, 1, s, false)
		memory = larger(memory, alone.memory(in, stage))
		compute = larger(compute, alone.compute(in, stage))
		links = larger(links, alone.links)
		group := stepOf(in, larger(b/pp, 1), s, true)
		likely = &group
	}
	likely.choose()
	out[OutMemoryMS], out[OutComputeMS], out[OutCommunicationMS] = memory*1e3, compute*1e3, links*1e3
	drafts := draftTime(in, b, float64(stage*pp))
	yield := tokensPerStep(in)
	hard, binding := greatest(memory, compute, links)
	expected, _ := greatest(likely.memory(in, stage), likely.compute(in, stage), likely.links)
	out[OutBinding] = binding
	out[OutTokensPerStep] = yield
	out[OutDecodeStepHardMS] = (hard + drafts) * 1e3
	out[OutDecodeStepExpectedMS] = (expected + drafts) * 1e3
	cache := float64(likely.kv*likely.own()) / float64(in[SlotBandwidth]*stage)
	if attending := likely.attending(in, stage); attending > cache {
		cache = attending
	}
	others := (likely.weights + likely.experts + float64(likely.state*likely.own())) / float64(in[SlotBandwidth]*stage)
	out[OutDecodeStepOpWiseMS] = (larger(cache+known0(others, likely.matrices(in, stage)), likely.links) + drafts) * 1e3
	out[OutDecodeStepSerialMS] = (larger(cache+known0(others, likely.compute(in, stage)), likely.links) + drafts) * 1e3
	out[OutDecodeTokPerSecHard] = float64(b*yield) / (hard + drafts)
	out[OutDecodeTokPerSecExpected] = float64(b*yield) / (expected + drafts)
}

// stepTimes are those of a step spread over all devices of all stages.
func stepTimes(in []float64, w *step, stage, pp float64) (memory, compute, links float64) {
	devices := float64(stage * pp)
	return w.memory(in, devices), w.compute(in, devices), w.links / pp
}

// draftTime is the least time in which b sequences draft their tokens one after another,
// in seconds: nothing but where the model's own module drafts, whose bytes are known.
func draftTime(in []float64, b, devices float64) float64 {
	gamma := in[SlotGamma]
	if gamma == 0 || in[SlotMTPDrafts] != 1 {
		return 0
	}
	memory := in[SlotDraftBytes] / float64(in[SlotBandwidth]*devices)
	compute := float64(float64(2*b)*in[SlotDraftParams]) / float64(in[SlotPeakLayers]*devices)
	return float64(gamma * known0(memory, compute))
}

// prefill bounds one prompt of which Cached tokens come from the prefix cache, where they
// are read once: only the last token goes through the head. It is expected to be read in
// passes of one chunk, which take the stages of a pipeline in turn; at best chunks that
// follow each other keep all stages busy. A prompt is one copy's, but experts are all
// devices'.
func prefill(in, out []float64) {
	fresh := in[SlotISL] - in[SlotCached]
	chunk := fresh
	if in[SlotChunk] > 0 {
		chunk = lesser(in[SlotChunk], fresh)
	}
	passes := math.Ceil(fresh / chunk)
	w := prompt(in, fresh, chunk, true)
	out[OutPrefillFLOPs] = w.matrix + w.plain + w.expertFLOPs + w.head + w.attention + w.index + w.updates
	hard, binding := greatest(promptMemory(in, &w, passes), promptCompute(in, &w, in[SlotPP]), w.links/in[SlotPP])
	inTurn := promptCompute(in, &w, 1)
	if math.IsNaN(inTurn) {
		return // what a prompt costs is its arithmetic
	}
	w.choose()
	reading := promptMemory(in, &w, passes)
	if last := fresh - float64((passes-1)*chunk); last < chunk { // fewer tokens reach fewer experts
		var rest step
		rest.pass(in, last, last, true)
		rest.choose()
		w.kv = 0
		reading += promptMemory(in, &rest, 1) - promptMemory(in, &w, 1)
	}
	expected, _ := greatest(reading, inTurn, w.links)
	out[OutPrefillBinding] = binding
	out[OutPrefillHardMS] = hard * 1e3
	out[OutPrefillExpectedMS] = expected * 1e3
}

// prompt is the work of a prompt's new tokens, the bytes those of one pass of a chunk.
// Each new token attends to the cached prefix, to those before it and to itself.
func prompt(in []float64, fresh, chunk float64, likely bool) (w step) {
	w.pass(in, fresh, chunk, likely)
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		n := k[KindLayers]
		w.attention += float64(n * float64(k[KindPrefillAttention]*seenOver(k, in[SlotCached], fresh)))
		pairs := float64(fresh*in[SlotCached]) + triangle(fresh)
		w.index += float64(n * float64(k[KindIndex]*pairs))
		prefix := float64(k[KindKV]*seen(k, in[SlotCached])) + float64(k[KindIndexKV]*in[SlotCached])
		w.kv += float64(float64(float64(n*in[SlotDP])*prefix) * copies(in, k)) // one copy reads it
	}
	w.head = float64(2 * in[SlotHeadParams])
	return w
}

// promptMemory is the time to read what a prompt asks for, in seconds: the weights of all
// layers in each pass, the head and the cached prefix once. Each pass reads every stage's.
func promptMemory(in []float64, w *step, passes float64) float64 {
	head := float64(in[SlotDP] * in[SlotHeadBytes])
	bytes := float64(passes*(w.weights-head+w.experts)) + head + w.kv
	return bytes / float64(float64(in[SlotBandwidth]*in[SlotTP])*in[SlotDP])
}

// promptCompute is the time of a prompt's arithmetic on so many stages, in seconds: its
// own copy of everything but the experts does its share, and all devices together do all.
func promptCompute(in []float64, w *step, stages float64) float64 {
	own := float64(in[SlotTP] * stages)
	all := float64(own * in[SlotDP])
	together := w.compute(in, all)
	if in[SlotDP] == 1 {
		return together
	}
	alone := *w
	alone.expertFLOPs = 0
	return larger(alone.compute(in, own), together)
}

// serving bounds the output rate of requests of one shape, C in flight. A request costs
// its prefill and OSL−1 further tokens (prefill yields the first), each step sharing the
// weights with the others that fit; neither arithmetic nor memory nor links can be
// over-booked. Nor do C requests end more often than C in the time that one takes which
// has the devices to itself.
func serving(in, out []float64) {
	devices := float64(float64(in[SlotTP]*in[SlotPP]) * in[SlotDP])
	first := out[OutPrefillHardMS] / 1e3
	if math.IsNaN(first) {
		return
	}
	r := requestOf(in, devices)
	most := in[SlotConcurrency] / (first + float64(r.steps*r.alone))
	hard := min(1/r.hard, most)
	out[OutServingTokPerSec] = float64(in[SlotOSL] * hard)
	out[OutServingTokPerSecExpected] = float64(in[SlotOSL] * min(1/r.expected, hard))
	out[OutServingTokPerSecPerGPU] = out[OutServingTokPerSec] / devices
	if further := in[SlotOSL] - 1; further > 0 {
		out[OutServingTPOTMS] = float64(r.steps*r.alone) / further * 1e3
	}
}

// request is what serving asks of the devices, in seconds.
type request struct {
	hard, expected float64 // of all devices, where others share what can be shared
	alone          float64 // a step of one sequence that has them to itself
	steps          float64 // after the prefill
}

// requestOf works out one request. Its further steps are at least as many as the tokens
// that steps yield on average ask for, and as those that no step can pass.
func requestOf(in []float64, devices float64) (r request) {
	c, tokens := in[SlotConcurrency], in[SlotGamma]+1
	fresh, further := in[SlotISL]-in[SlotCached], in[SlotOSL]-1
	first := prompt(in, fresh, fresh, false)
	r.steps = larger(further/tokensPerStep(in), math.Ceil(further/tokens))
	if fit := seats(in, held(in, in[SlotISL])); in[SlotCached] == 0 && fit >= 1 {
		c = lesser(c, fit)
	}
	var w step // of all in flight, whose caches are looked at below
	w.pass(in, float64(c*tokens), float64(c*tokens), true)
	share := w.over(c)
	share.head = float64(float64(2*tokens) * in[SlotHeadParams])
	lone := stepOf(in, 1, 0, false)
	lone.kv, lone.state = 0, 0
	each := share // with a cache of its own throughout
	if further > 0 {
		for i := range int(in[SlotKinds]) {
			k := kind(in, i)
			n := k[KindLayers]
			mean := seenOver(k, in[SlotISL], further) / further
			context := in[SlotISL] + float64(in[SlotOSL]/2)
			attention := float64(float64(n*tokens) * float64(k[KindAttention]*mean))
			index := float64(float64(n*tokens) * float64(k[KindIndex]*context))
			read := float64(float64(n*(float64(k[KindKV]*mean)+float64(k[KindIndexKV]*context))) * copies(in, k))
			state := float64(float64(2*n) * k[KindState])
			for _, to := range []*step{&share, &each, &lone} {
				to.attention += attention
				to.index += index
				to.kv += read
				to.state += state
			}
			// At best all that a prefix cache holds is one prefix, which is read for all at once.
			own := ownOf(k, in[SlotISL], in[SlotCached], further, mean)
			common := float64(k[KindKV]*(mean-own)) + float64(k[KindIndexKV]*in[SlotCached])
			share.kv -= float64(float64(float64(n*common)*copies(in, k)) * (1 - 1/c))
		}
	}
	links := (first.links + float64(r.steps*share.links)) / in[SlotPP]
	compute := first.compute(in, devices) + float64(r.steps*share.compute(in, devices))
	r.hard, _ = greatest(float64(r.steps*share.memory(in, devices)), compute, links)
	each.choose()
	r.expected, _ = greatest(float64(r.steps*each.memory(in, devices)), compute, links)
	stage := float64(in[SlotTP] * in[SlotDP])
	r.alone, _ = greatest(lone.memory(in, stage), lone.compute(in, stage), lone.links)
	r.alone += draftTime(in, 1, float64(stage*in[SlotPP]))
	return r
}

// over is what one of c sequences has of a step that they share.
func (w *step) over(c float64) step {
	return step{
		weights: w.weights / c, experts: w.experts / c, likelyExperts: w.likelyExperts / c,
		matrix: w.matrix / c, plain: w.plain / c, expertFLOPs: w.expertFLOPs / c, updates: w.updates / c,
		links: w.links / c, likelyLinks: w.likelyLinks / c,
	}
}

// ownOf is how many of the tokens that a layer reads, on average over so many further
// tokens, are the sequence's own at the least, where the first cached ones are also others'.
func ownOf(k *packedKind, isl, cached, further, mean float64) float64 {
	if k[KindWindow] > 0 {
		return seenOver(k, isl-cached, further) / further
	}
	return max(mean-cached, 0)
}

// room says what fits: the weights, and beside them the cache and state of each sequence
// at its full length, with nothing else resident.
func room(in, out []float64) {
	_ = in[HeadSlots-1] // one check for all slots
	memory, weights := roomOf(in)
	out[OutResidentBytes] = weights
	each := held(in, in[SlotContext])
	need := weights + float64(inCopies(in, in[SlotBatch], math.Ceil)*each)
	if math.IsNaN(memory) || math.IsNaN(need) {
		return
	}
	out[OutFits] = 0
	if need <= memory {
		out[OutFits] = 1
	}
	if in[SlotContext] == 0 { // it grows to prompt and output together
		if in[SlotISL]+in[SlotOSL] == 0 {
			return
		}
		each = held(in, in[SlotISL]+in[SlotOSL])
	}
	if !(each > 0) {
		return
	}
	out[OutMaxConcurrency] = seats(in, each)
}

// seats is how many sequences fit that keep so many bytes each; NaN where the memory or
// the weights are not known or a sequence keeps nothing.
func seats(in []float64, each float64) float64 {
	memory, weights := roomOf(in)
	if !(each > 0) || math.IsNaN(memory) || math.IsNaN(weights) {
		return nan
	}
	n := lesser(known0(0, inCopies(in, math.Floor((memory-weights)/each), math.Floor)), most)
	for n > 0 && weights+float64(n*each) > memory { // rounded up on the way
		n -= in[SlotDP]
	}
	return known0(0, n)
}

// roomOf is the memory of all devices, and what the weights take of it.
func roomOf(in []float64) (memory, weights float64) {
	memory = float64(float64(float64(in[SlotMemory]*in[SlotTP])*in[SlotPP]) * in[SlotDP])
	weights = float64(in[SlotDP]*in[SlotResident]) + in[SlotResidentExperts]
	if in[SlotMTPDrafts] == 1 {
		weights += in[SlotDraftResident]
	}
	return memory, weights
}

// inCopies is so many sequences, rounded to as many in each copy: a copy's memory holds
// whole sequences, and each copy has as much of it.
func inCopies(in []float64, sequences float64, round func(float64) float64) float64 {
	dp := in[SlotDP]
	if dp == 1 {
		return sequences
	}
	return float64(dp * round(sequences/dp))
}

// held is what a sequence of so many tokens keeps in memory: windows and chunks bound
// what is kept, selection only what is read.
func held(in []float64, length float64) float64 {
	_ = in[HeadSlots-1] // one check for all slots
	sum := 0.0
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		tokens := length
		if k[KindWindow] > 0 {
			tokens = lesser(tokens, k[KindWindow])
		}
		if k[KindChunk] > 0 {
			tokens = lesser(tokens, k[KindChunk])
		}
		cached := float64((float64(k[KindKV]*tokens) + float64(k[KindIndexKV]*length)) * copies(in, k))
		sum += float64(k[KindLayers] * (cached + k[KindState]))
	}
	return sum
}

// greatest is the greatest of three times and which it is. Where the peak of a device is
// not published the arithmetic bounds nothing; without the others there is no roof.
func greatest(memory, compute, communication float64) (float64, float64) {
	compute = known0(0, compute)
	switch {
	case math.IsNaN(memory) || math.IsNaN(communication):
		return nan, BindingNone
	case memory >= compute && memory >= communication:
		return memory, BindingMemory
	case compute >= communication:
		return compute, BindingCompute
	default:
		return communication, BindingCommunication
	}
}

// known0 is the larger of a time and one that need not be known.
func known0(a, b float64) float64 {
	if b > a {
		return b
	}
	return a
}

// lesser is the smaller of two that are known.
func lesser(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
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
