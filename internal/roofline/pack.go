package roofline

// Slots of a packed query. The first eight are the reader's to change; the others come
// from the model, the target and the formats. Units: bytes, bytes/s, FLOP, FLOP/s. NaN
// stands for what is not known.
const (
	SlotBatch       = iota // sequences decoding together; a measured mean need not be whole
	SlotContext            // tokens in each sequence's cache
	SlotISL                // 0: no prefill asked
	SlotCached             // prompt tokens from a prefix cache
	SlotOSL                // 0: no serving bound asked
	SlotConcurrency        // 0: no serving bound asked
	SlotTP                 // devices that share each matrix
	SlotPP                 // stages in turn, each of so many devices

	SlotReadParams
	SlotTotalParams
	SlotLayerParams // read params without the head
	SlotHeadParams
	SlotLayers
	SlotHidden
	SlotKVShards       // ways in which the cache can be split
	SlotWeightResident // bytes, all devices together
	SlotWeightRead     // bytes a decode step reads
	SlotKVPerToken     // bytes a token writes over all layers
	SlotAttentionFLOPs // of one query token on one cached token
	SlotPeakLayers     // of one device, in the layers' matrices
	SlotPeakHead       // of one device, in the head
	SlotPeakAttention  // of one device, in attention
	SlotBandwidth      // of one device
	SlotLink           // of one device, one direction, all peers
	SlotLinkPeer       // of one device, one direction, to one peer of a mesh; 0 behind a switch
	SlotLinkReduces    // 1: the switch adds up in the network
	SlotMemory         // of one device
	PackedSlots        // length of a packed query
)

// Slots of a packed answer. Times in ms, rates in tokens/s. NaN: not computed.
const (
	OutReadBytesPerStep = iota
	OutWeightBytesRead
	OutKVBytesRead
	OutMemoryMS
	OutComputeMS
	OutCommunicationMS
	OutDecodeStepHardMS
	OutDecodeStepExpectedMS
	OutDecodeStepSerialMS
	OutDecodeTokPerSecHard
	OutDecodeTokPerSecExpected
	OutPrefillHardMS
	OutPrefillExpectedMS
	OutBinding        // one of the Binding constants
	OutPrefillBinding // one of the Binding constants
	OutFits           // 1 or 0
	OutMaxConcurrency // whole
	OutServingTokPerSec
	OutServingTokPerSecPerGPU
	OutSlots // length of a packed answer
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

// Pack reduces a query, filled, to numbers.
func Pack(q Query) []float64 {
	in := make([]float64, PackedSlots)
	for i := SlotReadParams; i < PackedSlots; i++ {
		in[i] = nan
	}
	q = q.Filled()
	in[SlotBatch] = float64(q.Batch)
	in[SlotContext] = float64(q.Context)
	in[SlotISL] = float64(q.ISL)
	in[SlotCached] = float64(q.Cached)
	in[SlotOSL] = float64(q.OSL)
	in[SlotConcurrency] = float64(q.Concurrency)
	in[SlotTP] = float64(q.TP)
	in[SlotPP] = float64(q.PP)
	if q.Model != nil {
		packModel(in, q)
	}
	if q.Target != nil {
		packTarget(in, q)
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
	if q.TP == 0 && q.Target != nil {
		q.TP = max(1, q.Target.Count/q.PP)
	}
	return q
}

func packModel(in []float64, q Query) {
	a := &q.Model.Architecture
	t := a.tally()
	in[SlotReadParams] = float64(t.read())
	in[SlotTotalParams] = float64(t.total())
	in[SlotLayerParams] = float64(t.layers())
	in[SlotHeadParams] = float64(t.head)
	in[SlotLayers] = float64(a.count())
	in[SlotHidden] = float64(a.Hidden)
	in[SlotKVShards] = float64(a.shards())
	in[SlotAttentionFLOPs] = float64(a.attentionFLOPs())
	if f, ok := formatOf(q.WeightDtype); ok {
		in[SlotWeightResident] = f.resident(t)
		in[SlotWeightRead] = f.read(t)
	}
	if f, ok := kvFormatOf(q.KVDtype); ok {
		in[SlotKVPerToken] = float64(a.kvElements()) * f.bytes
	}
}

func packTarget(in []float64, q Query) {
	t := q.Target
	scaled := func(d Decimal, unit float64) float64 {
		if v, ok := d.Float(); ok {
			return v * unit
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
		in[SlotPeakHead] = peak
		if !f.whole {
			_, in[SlotPeakHead] = t.peak([]string{headPeak(q.WeightDtype)})
		}
	}
	if f, ok := kvFormatOf(q.KVDtype); ok {
		_, in[SlotPeakAttention] = t.peak(f.peaks)
	}
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

// headPeak is the type in which an unquantized head computes.
func headPeak(dtype string) string {
	if dtype == "fp16" {
		return "fp16"
	}
	return "bf16"
}

// peak is the first of the types for which the device has a dense peak, in FLOP/s.
func (t *Target) peak(types []string) (string, float64) {
	for _, name := range types {
		if v, ok := t.PeakTFLOPs[name].Float(); ok {
			return name, v * 1e12
		}
	}
	return "", nan
}
