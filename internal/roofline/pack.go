package roofline

// Slots of a packed query: the head, then KindSlots for each kind of layer. The first of
// the head are the reader's to change; the others come from the model, the target and
// the formats. Units: bytes, bytes/s, FLOP, FLOP/s. NaN stands for what is not known.
const (
	SlotBatch       = iota // sequences decoding together; a measured mean need not be whole
	SlotContext            // tokens in each sequence's cache
	SlotISL                // 0: no prefill asked
	SlotCached             // prompt tokens from a prefix cache
	SlotChunk              // prompt tokens that one pass takes; 0: all
	SlotOSL                // 0: no serving bound asked
	SlotConcurrency        // 0: no serving bound asked
	SlotTP                 // devices that share each matrix
	SlotPP                 // stages in turn, each of TP × DP devices
	SlotDP                 // copies of all but the experts
	SlotDCP                // devices of a TP group over which each cache is dealt out
	SlotEP                 // devices over which whole experts are spread; 0: experts are split as all else is
	SlotGamma              // tokens drafted for each step; 0: no speculation
	SlotAcceptance         // of each drafted token, 0 to 1
	SlotAccepted           // tokens that a step yields, as measured; 0: by SlotAcceptance
	SlotMTPDrafts          // 1: the model's own module drafts

	SlotReadParams
	SlotTotalParams
	SlotHidden
	SlotHeadParams
	SlotHeadBytes
	SlotRestParams      // of the final norm
	SlotRestBytes       // read in each step outside layers and head
	SlotResident        // bytes of one copy of all but the routed experts
	SlotResidentExperts // bytes of all routed experts
	SlotDraftBytes      // that the MTP module reads for a token, with the head
	SlotDraftParams
	SlotDraftResident // bytes of the MTP module in memory
	SlotMaxContext

	SlotPeakLayers    // of one device, in matrices stored in the format
	SlotPeakPlain     // of one device, in the head and others left in 16 bits
	SlotPeakAttention // of one device, in attention
	SlotPeakIndex     // of one device, in the indexer of sparse attention
	SlotBandwidth     // of one device
	SlotLink          // of one device, one direction, all peers
	SlotLinkPeer      // of one device, one direction, to one peer of a mesh; 0 behind a switch
	SlotLinkReduces   // 1: the switch adds up in the network
	SlotMemory        // of one device

	SlotKinds // how many kinds of layers follow the head
	HeadSlots
)

// Slots of one kind of layer.
const (
	KindLayers           = iota // how many there are
	KindBytes                   // read in each step whatever the routing
	KindParams                  // that a token passes at the format's peak, routed experts apart
	KindPlainParams             // that a token passes in 16 bits
	KindExperts                 // routed; 0: none
	KindTopK                    // routed experts that a token passes
	KindExpertBytes             // of one
	KindExpertParams            // of one
	KindKV                      // bytes that a token adds to the cache
	KindIndexKV                 // bytes that a token adds to the indexer's cache
	KindWindow                  // most tokens that a query sees and that are kept; 0: all
	KindChunk                   // tokens of the chunks beyond which no query sees; 0: all
	KindSelected                // most tokens that a query reads of all that are kept; 0: all
	KindShards                  // ways in which the cache splits
	KindState                   // bytes that are kept of a sequence whatever its length
	KindAttention               // FLOPs of one query token on one cached token, decoding
	KindPrefillAttention        // the same in a prompt
	KindIndex                   // the indexer's FLOPs of one query token on one cached token
	KindStateFLOPs              // of one token on the state
	KindReduces                 // sums over the devices that share a matrix
	KindSlots
)

// Slots of a packed answer. Times in ms, rates in tokens/s. NaN: not computed.
const (
	OutReadBytesPerStep    = iota
	OutWeightBytesRead     // all but routed experts
	OutExpertBytesRead     // hard: all tokens choose the same experts
	OutExpertBytesExpected // expected: each token chooses for itself
	OutKVBytesRead
	OutStateBytesRead   // read and written
	OutDistinctExpected // experts of a layer that a step reads; the hard roof's are the top k
	OutMatrixFLOPs      // of a step
	OutExpertFLOPs
	OutHeadFLOPs
	OutAttentionFLOPs
	OutStateFLOPs
	OutMemoryMS
	OutComputeMS
	OutCommunicationMS
	OutDecodeStepHardMS
	OutDecodeStepExpectedMS
	OutDecodeStepOpWiseMS
	OutDecodeStepSerialMS
	OutDecodeTokPerSecHard
	OutDecodeTokPerSecExpected
	OutTokensPerStep
	OutPrefillFLOPs
	OutPrefillHardMS
	OutPrefillExpectedMS
	OutBinding        // one of the Binding constants
	OutPrefillBinding // one of the Binding constants
	OutFits           // 1 or 0
	OutMaxConcurrency // whole
	OutServingTokPerSec
	OutServingTokPerSecExpected
	OutServingTokPerSecPerGPU
	OutServingTPOTMS   // alone
	OutKVBytesPerToken // that one token adds over all layers
	OutResidentBytes   // of weights, all devices together
	OutSlots           // length of a packed answer
)

// Which roof binds.
const (
	BindingNone          = 0
	BindingMemory        = 1
	BindingCompute       = 2
	BindingCommunication = 3
)

// BindingName is the word for a binding slot, "" for none.
func BindingName(slot float64) string {
	switch slot {
	case BindingMemory:
		return "memory"
	case BindingCompute:
		return "compute"
	case BindingCommunication:
		return "communication"
	}
	return ""
}

// mostKinds bounds how many kinds of layers a packed query may hold.
const mostKinds = 1024

// Packed says whether numbers have the form of a packed query.
func Packed(in []float64) bool {
	if len(in) < HeadSlots {
		return false
	}
	n := in[SlotKinds]
	return n >= 0 && n <= mostKinds && len(in) == HeadSlots+int(n)*KindSlots && n == float64(int(n))
}

// packedKind is the slots of one kind of layer: an array, so that the compiler sees that no
// slot is beyond it.
type packedKind [KindSlots]float64

// kind is the i-th kind of layer of a packed query.
func kind(in []float64, i int) *packedKind { return (*packedKind)(in[HeadSlots+i*KindSlots:]) }

// Pack reduces a query, filled, to numbers. Of an architecture that no model can have, it
// knows none.
func Pack(q Query) []float64 {
	q = q.Filled()
	in := make([]float64, HeadSlots, HeadSlots+4*KindSlots)
	for i := SlotReadParams; i < HeadSlots; i++ {
		in[i] = nan
	}
	in[SlotBatch] = float64(q.Batch)
	in[SlotContext] = float64(q.Context)
	in[SlotISL] = float64(q.ISL)
	in[SlotCached] = float64(q.Cached)
	in[SlotChunk] = float64(q.Chunk)
	in[SlotOSL] = float64(q.OSL)
	in[SlotConcurrency] = float64(q.Concurrency)
	in[SlotTP] = float64(q.TP)
	in[SlotPP] = float64(q.PP)
	in[SlotDP] = float64(q.DP)
	in[SlotDCP] = float64(q.DCP)
	in[SlotEP] = float64(q.EP)
	in[SlotGamma] = float64(q.Gamma)
	in[SlotAcceptance] = q.Acceptance
	in[SlotAccepted] = q.Accepted
	in[SlotMTPDrafts] = 0
	if q.MTPDrafts {
		in[SlotMTPDrafts] = 1
	}
	in[SlotKinds] = 0
	if q.Target != nil {
		packTarget(in, q)
	}
	if q.Model != nil && len(architectureFaults(&q.Model.Architecture)) == 0 {
		in = packModel(in, q)
	}
	return in
}

// Filled is the query with its defaults in place of what it leaves open: the model's
// first weight format, bf16 for the cache, one sequence, all of the target's devices.
func (q Query) Filled() Query {
	if q.WeightDtype == "" && q.Model != nil && len(q.Model.Weights) > 0 {
		q.WeightDtype = q.Model.Weights[0]
	}
	if q.KVDtype == "" {
		q.KVDtype = "bf16"
	}
	if q.Batch == 0 {
		q.Batch = 1
	}
	if q.PP == 0 {
		q.PP = 1
	}
	if q.DP == 0 {
		q.DP = 1
	}
	if q.DCP == 0 {
		q.DCP = 1
	}
	if q.TP == 0 && q.Target != nil {
		q.TP = max(1, q.Target.Count/max(1, q.PP*q.DP))
	}
	return q
}

// packModel fills the model's slots of the head and appends its kinds of layers. Layers
// that cost the same are one kind.
func packModel(in []float64, q Query) []float64 {
	m := q.Model
	a := &m.Architecture
	p := m.Params()
	in[SlotReadParams] = float64(p.Read)
	in[SlotTotalParams] = float64(p.Total)
	in[SlotHidden] = float64(a.Hidden)
	in[SlotHeadParams] = float64(p.Head)
	in[SlotRestParams] = float64(a.Hidden)
	in[SlotMaxContext] = float64(a.MaxContext)
	f, known := m.formatFor(q.WeightDtype)
	kv, kvKnown := kvFormatOf(q.KVDtype)
	rest, experts := 0.0, 0.0
	for i := range a.Layers {
		l := &a.Layers[i]
		k := packKind(l, a.Hidden, f, known, kv, kvKnown, q.StateDtype)
		rest += float64(float64(l.Count) * k[KindBytes])
		experts += float64(float64(l.Count*l.FFN.Experts) * k[KindExpertBytes])
		if same := find(in, k); same != nil {
			same[KindLayers] += k[KindLayers]
			continue
		}
		in = append(in, k[:]...)
		in[SlotKinds]++
	}
	in[SlotDraftBytes], in[SlotDraftParams], in[SlotDraftResident] = 0, 0, 0
	if !known {
		in[SlotDraftBytes], in[SlotDraftResident] = nan, nan
		return in
	}
	in[SlotRestBytes] = float64(float64(a.Hidden) * f.vector)
	in[SlotHeadBytes] = float64(float64(p.Head) * f.table())
	in[SlotResident] = rest + in[SlotRestBytes] + in[SlotHeadBytes]
	if !a.TiedHead {
		in[SlotResident] += float64(float64(p.Embedding) * f.table())
	}
	in[SlotResidentExperts] = experts
	if a.MTP != nil {
		t := a.MTP.tally(a.Hidden)
		in[SlotDraftParams] = float64(t.all(a.MTP.Layer.FFN.TopK) + p.Head)
		in[SlotDraftBytes] = f.shared(t) + float64(float64(a.MTP.Layer.FFN.TopK)*f.expert(t)) + in[SlotHeadBytes]
		in[SlotDraftResident] = float64(float64(a.MTP.Modules) * (f.shared(t) + float64(float64(a.MTP.Layer.FFN.Experts)*f.expert(t))))
	}
	if q.Stored != nil {
		q.Stored.pack(in, experts)
	}
	return in
}

// pack puts what a file's tensors weigh in place of what the format says. What a step
// reads outside the experts stands in one sum: no roof asks which layer it belongs to.
func (s *Stored) pack(in []float64, experts float64) {
	head := s.Head
	if head == 0 {
		head = s.Embedding
	}
	in[SlotHeadBytes], in[SlotRestBytes] = float64(head), float64(s.Rest)
	in[SlotResident] = float64(s.Rest + s.Embedding + s.Head)
	in[SlotResidentExperts] = float64(s.Experts)
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		k[KindBytes] = 0
		if experts > 0 {
			k[KindExpertBytes] *= float64(s.Experts) / experts
		}
	}
}

// packKind is one kind of layer as slots.
func packKind(l *Layer, hidden int64, f scoped, known bool, kv kvFormat, kvKnown bool, state string) *packedKind {
	t := l.tally(hidden)
	a := &l.Attention
	k := new(packedKind)
	k[KindLayers] = float64(l.Count)
	k[KindExperts], k[KindTopK] = float64(l.FFN.Experts), float64(l.FFN.TopK)
	k[KindExpertParams] = float64(t.expert.weights + t.biases)
	k[KindWindow], k[KindChunk], k[KindSelected] = float64(a.Window), float64(a.Chunk), float64(a.Selected)
	k[KindShards] = float64(a.shards())
	k[KindIndexKV] = a.index()
	k[KindState] = a.kept(state)
	k[KindAttention], k[KindPrefillAttention] = a.pairFLOPs()
	k[KindIndex] = a.indexFLOPs()
	k[KindStateFLOPs] = a.stateFLOPs()
	if a.Kind != None {
		k[KindReduces]++
	}
	if l.FFN.Kind != None {
		k[KindReduces]++
	}
	k[KindBytes], k[KindExpertBytes], k[KindParams], k[KindPlainParams], k[KindKV] = nan, nan, nan, nan, nan
	if known {
		k[KindBytes], k[KindExpertBytes] = f.shared(t), f.expert(t)
		quantized, plain := f.computing(t)
		k[KindParams], k[KindPlainParams] = float64(quantized), float64(plain)
	}
	if kvKnown && (kv.name != MLAFP8 || a.Kind != GQA) {
		k[KindKV] = kv.token(a)
	}
	return k
}

// find is the kind in a packed query that costs a layer the same as k, nil if none does.
func find(in []float64, k *packedKind) *packedKind {
	for i := range int(in[SlotKinds]) {
		have := kind(in, i)
		same := true
		for s := KindBytes; s < KindSlots; s++ {
			same = same && have[s] == k[s]
		}
		if same {
			return have
		}
	}
	return nil
}

func packTarget(in []float64, q Query) {
	t := q.Target
	scaled := func(d Decimal, unit float64) float64 {
		if v, ok := d.Float(); ok {
			return float64(v * unit)
		}
		return nan
	}
	in[SlotBandwidth] = scaled(t.BandwidthGBs, 1e9)
	in[SlotLink] = scaled(t.LinkGBs, 1e9)
	in[SlotLinkPeer] = 0
	if t.LinkPeerGBs != "" {
		in[SlotLinkPeer] = scaled(t.LinkPeerGBs, 1e9)
	}
	in[SlotLinkReduces] = 0
	if t.LinkReduces && !q.NoMulticast {
		in[SlotLinkReduces] = 1
	}
	in[SlotMemory] = float64(t.MemoryBytes)
	if t.MemoryBytes == 0 {
		in[SlotMemory] = scaled(t.MemoryGB, 1e9)
	}
	if f, ok := formatOf(q.WeightDtype); ok {
		_, peak := t.peak(f.peaks)
		in[SlotPeakLayers] = peak
		in[SlotPeakPlain] = peak
		if !f.whole {
			_, in[SlotPeakPlain] = t.peak([]string{plainPeak(q.WeightDtype)})
		}
	}
	if f, ok := kvFormatOf(q.KVDtype); ok {
		_, in[SlotPeakAttention] = t.peak(f.peaks)
	}
	_, in[SlotPeakIndex] = t.peak([]string{"fp8", "bf16"})
}

// ComputeType is the type whose dense peak weights of a dtype compute at on the device;
// "" where none is published.
func (t *Target) ComputeType(weights string) string {
	f, ok := formatOf(weights)
	if !ok {
		return ""
	}
	name, _ := t.peak(f.peaks)
	return name
}

// plainPeak is the type in which an unquantized head computes.
func plainPeak(dtype string) string {
	if dtype == "fp16" {
		return "fp16"
	}
	return "bf16"
}

// peak is the greatest dense peak that the device has for one of the types, in FLOP/s, and
// the first type that has it: a B300 turns int8 into bf16 to compute it fifteen times faster.
func (t *Target) peak(types []string) (string, float64) {
	of, peak := "", nan
	for _, name := range types {
		if v, ok := t.PeakTFLOPs[name].Float(); ok && !(float64(v*1e12) <= peak) {
			of, peak = name, float64(v*1e12)
		}
	}
	return of, peak
}
