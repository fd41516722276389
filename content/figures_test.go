package content

import (
	"rowproof/internal/roofline"
)

// ask is what a row of an example's table asks for.
var ask = map[string]func(x *example, v int64){
	"B": func(x *example, v int64) { x.q.Batch = v }, "S": func(x *example, v int64) { x.q.Context = v },
	"I": func(x *example, v int64) { x.q.ISL = v }, "cached": func(x *example, v int64) { x.q.Cached = v },
	"chunk": func(x *example, v int64) { x.q.Chunk = v }, "O": func(x *example, v int64) { x.q.OSL = v },
	"C": func(x *example, v int64) { x.q.Concurrency = v }, "tp": func(x *example, v int64) { x.q.TP = v },
	"pp": func(x *example, v int64) { x.q.PP = v }, "γ": func(x *example, v int64) { x.gamma = v },
	"dcp": func(x *example, v int64) { x.dealt = v },
}

// published is where a row's figure stands in the catalogue.
var published = map[string]func(x *example) float64{
	"L":   func(x *example) float64 { return x.layers(func(*roofline.Layer) bool { return true }) },
	"h":   func(x *example) float64 { return float64(x.model().Hidden) },
	"V":   func(x *example) float64 { return float64(x.model().Vocabulary) },
	"q":   func(x *example) float64 { return float64(x.attention().Heads) },
	"kv":  func(x *example) float64 { return float64(x.attention().KVHeads) },
	"d":   func(x *example) float64 { return float64(x.attention().HeadDim) },
	"w":   func(x *example) float64 { return float64(x.attention().Window) },
	"rq":  func(x *example) float64 { return float64(x.attention().QRank) },
	"rkv": func(x *example) float64 { return float64(x.attention().KVRank) },
	"dn":  func(x *example) float64 { return float64(x.attention().NopeDim) },
	"dr":  func(x *example) float64 { return float64(x.attention().RopeDim) },
	"qI":  func(x *example) float64 { return float64(x.attention().Indexer.Heads) },
	"dI":  func(x *example) float64 { return float64(x.attention().Indexer.HeadDim) },
	"top": func(x *example) float64 { return float64(x.attention().Selected) },
	"dv": func(x *example) float64 {
		if s := x.attention().State; s != nil {
			return float64(s.ValueDim)
		}
		return float64(x.attention().ValueDim)
	},
	"nk":   func(x *example) float64 { return float64(x.attention().State.KeyHeads) },
	"dk":   func(x *example) float64 { return float64(x.attention().State.KeyDim) },
	"nv":   func(x *example) float64 { return float64(x.attention().State.ValueHeads) },
	"conv": func(x *example) float64 { return float64(x.attention().State.Conv) },
	"E":    func(x *example) float64 { return float64(x.last().FFN.Experts) },
	"k":    func(x *example) float64 { return float64(x.last().FFN.TopK) },
	"f":    func(x *example) float64 { return float64(x.last().FFN.Width) },
	"g":    func(x *example) float64 { return float64(x.first().FFN.Width) },
	"ch":   func(x *example) float64 { return float64(x.attention().Chunk) },
	"l": func(x *example) float64 {
		return x.layers(func(l *roofline.Layer) bool {
			a := x.attention()
			switch {
			case a.State != nil:
				return l.Attention.State != nil
			case a.Chunk > 0:
				return l.Attention.Chunk > 0
			case a.Window > 0:
				return l.Attention.Window > 0
			}
			return l.FFN.Experts == 0
		})
	},
	"Nr": func(x *example) float64 { return float64(x.q.Model.Params().Read) },
	"n":  func(x *example) float64 { return float64(x.q.Target.Count) },
	"BW": func(x *example) float64 { return decimal(x.q.Target.BandwidthGBs) * 1e9 },
	"P":  func(x *example) float64 { return decimal(x.q.Target.PeakTFLOPs["bf16"]) * 1e12 },
	"Px": func(x *example) float64 { return decimal(x.q.Target.PeakTFLOPs["fp8"]) * 1e12 },
	"M":  func(x *example) float64 { return float64(x.q.Target.MemoryBytes) },
	"β": func(x *example) float64 {
		if one := x.q.Target.LinkPeerGBs; one != "" {
			return decimal(one) * 1e9
		}
		return decimal(x.q.Target.LinkGBs) * 1e9
	},
}

func decimal(d roofline.Decimal) float64 {
	v, _ := d.Float()
	return v
}

func (x *example) model() *roofline.Architecture  { return &x.q.Model.Architecture }
func (x *example) first() *roofline.Layer         { return &x.model().Layers[0] }
func (x *example) last() *roofline.Layer          { return &x.model().Layers[len(x.model().Layers)-1] }
func (x *example) attention() *roofline.Attention { return &x.first().Attention }

func (x *example) layers(which func(*roofline.Layer) bool) float64 {
	n := int64(0)
	for i := range x.model().Layers {
		if l := &x.model().Layers[i]; which(l) {
			n += l.Count
		}
	}
	return float64(n)
}

// weights of one layer, changed.
func (x *example) weights(l *roofline.Layer, change func(l *roofline.Layer)) float64 {
	one := *l
	one.Count = 1
	change(&one)
	m := roofline.Model{Architecture: roofline.Architecture{Hidden: x.model().Hidden, Vocabulary: 1, TiedHead: true, Layers: []roofline.Layer{one}}}
	return float64(m.Params().Total - 2*x.model().Hidden) // without a table of one row and the final norm
}

func mixingOnly(l *roofline.Layer) {
	l.Norms, l.FFN = 0, roofline.FFN{Kind: roofline.None}
}

func matricesOnly(l *roofline.Layer) {
	mixingOnly(l)
	l.Attention.QKVBias, l.Attention.OutputBias, l.Attention.Sinks = false, false, false
}

func networkOnly(l *roofline.Layer) {
	l.Norms, l.Attention = 0, roofline.Attention{Kind: roofline.None}
}

func (x *example) answer() roofline.Answer { return roofline.Ceiling(x.q) }

// with is the answer to a question that differs.
func (x *example) with(change func(q *roofline.Query)) roofline.Answer {
	q := x.q
	change(&q)
	return roofline.Ceiling(q)
}

// kind is a slot of the last kind of layer.
func (x *example) kind(slot int) float64 {
	in := roofline.Pack(x.q)
	return in[len(in)-roofline.KindSlots+slot]
}

// Resources of a device, to be had without end.
var (
	computing = []int{roofline.SlotPeakLayers, roofline.SlotPeakPlain, roofline.SlotPeakAttention, roofline.SlotPeakIndex}
	inSixteen = []int{roofline.SlotPeakPlain, roofline.SlotPeakAttention, roofline.SlotPeakIndex}
	reading   = []int{roofline.SlotBandwidth}
	sending   = []int{roofline.SlotLink, roofline.SlotLinkPeer}
)

// bound is a slot of the answer when some resources never bind.
func (x *example) bound(slot int, change func(q *roofline.Query), free ...[]int) float64 {
	q := x.q
	change(&q)
	return x.packed(roofline.Pack(q), slot, func([]float64) {}, free...)
}

// packed is a slot of the answer to a packed question, changed, when some resources never
// bind.
func (x *example) packed(in []float64, slot int, change func(in []float64), free ...[]int) float64 {
	change(in)
	for _, resource := range free {
		for _, s := range resource {
			if in[s] > 0 {
				in[s] = 1e60
			}
		}
	}
	return roofline.CeilingPacked(in)[slot]
}

func asIs(*roofline.Query) {}

// bandwidth and peak of all devices together.
func (x *example) bandwidth() float64 {
	return published["BW"](x) * float64(x.q.Target.Count)
}

func (x *example) peak() float64 {
	return published["P"](x) * float64(x.q.Target.Count)
}

// fast is the peak of all devices in the type in which experts compute.
func (x *example) fast() float64 {
	return published["Px"](x) * float64(x.q.Target.Count)
}

// figures are what the package answers for each worked line, by example and symbol.
var figures = map[string]map[string]func(x *example) float64{
	"gpt-oss-120b": {
		"A": func(x *example) float64 { return x.weights(x.first(), matricesOnly) },
		"a": func(x *example) float64 { return x.weights(x.first(), mixingOnly) - x.weights(x.first(), matricesOnly) },
		"X": func(x *example) float64 { return x.kind(roofline.KindExpertParams) },
		"R": func(x *example) float64 {
			return x.weights(x.first(), networkOnly) - x.kind(roofline.KindExperts)*x.kind(roofline.KindExpertParams)
		},
		"T": func(x *example) float64 {
			return x.weights(x.first(), func(*roofline.Layer) {}) - x.kind(roofline.KindExperts)*x.kind(roofline.KindExpertParams)
		},
		"N":  func(x *example) float64 { return float64(x.answer().TotalParams) },
		"Nr": func(x *example) float64 { return float64(x.answer().ReadParams) },

		"x": func(x *example) float64 { return x.kind(roofline.KindExpertBytes) },
		"W": func(x *example) float64 { return x.answer().Parts.WeightBytes },
		"Q": func(x *example) float64 { return *x.answer().WeightBytes },

		"t": func(x *example) float64 { return x.kind(roofline.KindKV) },
		"y": func(x *example) float64 { return *x.answer().KVBytesPerToken },
		"K": func(x *example) float64 { return x.answer().Parts.KVBytes / float64(x.q.Batch) },
		"D": func(x *example) float64 { return x.answer().Parts.Distinct.Expected },

		"Y":  func(x *example) float64 { return *x.answer().ReadBytesPerStep },
		"Tm": func(x *example) float64 { return x.answer().Parts.MemoryMS / 1e3 },
		"Fa": func(x *example) float64 { return x.answer().Parts.AttentionFLOPs },
		"F":  func(x *example) float64 { return flops(x.answer().Parts) },
		"v": func(x *example) float64 {
			return x.packed(roofline.Pack(x.q), roofline.OutComputeMS, unrouted, inSixteen) / 1e3 * x.fast() / 2 / float64(x.q.Batch)
		},
		"Fx":   func(x *example) float64 { return x.bound(roofline.OutComputeMS, asIs, inSixteen) / 1e3 * x.fast() },
		"Tc":   func(x *example) float64 { return *x.answer().Parts.ComputeMS / 1e3 },
		"Tl":   func(x *example) float64 { return x.answer().Parts.CommunicationMS / 1e3 },
		"H":    func(x *example) float64 { return x.answer().DecodeStepMS.Hard / 1e3 },
		"rate": func(x *example) float64 { return x.answer().DecodeTokPerSec.Hard },
		"rate₁": func(x *example) float64 {
			return x.with(func(q *roofline.Query) { q.Batch, q.Context = 1, 0 }).DecodeTokPerSec.Hard
		},
		"Ye": func(x *example) float64 {
			p := x.answer().Parts
			return p.WeightBytes + p.ExpertBytesExpected + p.KVBytes
		},
		"He": func(x *example) float64 { return x.answer().DecodeStepMS.Expected / 1e3 },
		"Ta": func(x *example) float64 {
			p := x.answer().Parts
			return max(p.KVBytes/x.bandwidth(), p.AttentionFLOPs/x.peak())
		},
		"Ho": func(x *example) float64 { return x.answer().DecodeStepMS.OpWise / 1e3 },
		"Hs": func(x *example) float64 { return x.answer().DecodeStepMS.Serial / 1e3 },

		"U": func(x *example) float64 { return float64(x.q.ISL - x.q.Cached) },
		"G": func(x *example) float64 {
			in := roofline.Pack(x.q) // without windows, and then without attention
			var with [2]float64
			for i := range with {
				for at := roofline.HeadSlots; at < len(in); at += roofline.KindSlots {
					in[at+roofline.KindWindow] = 0
					if i == 1 {
						in[at+roofline.KindPrefillAttention] = 0
					}
				}
				with[i] = roofline.CeilingPacked(in)[roofline.OutPrefillFLOPs]
			}
			return (with[0] - with[1]) / 36 / x.kind(roofline.KindPrefillAttention)
		},
		"Fp": func(x *example) float64 { return x.bound(roofline.OutPrefillFLOPs, asIs) },
		"Fe": func(x *example) float64 {
			return x.bound(roofline.OutPrefillHardMS, asIs, inSixteen, reading, sending) / 1e3 * x.fast()
		},
		"Pc": func(x *example) float64 { return x.bound(roofline.OutPrefillHardMS, asIs, reading, sending) / 1e3 },
		"Kc": func(x *example) float64 {
			memory := x.bound(roofline.OutPrefillHardMS, asIs, computing, sending)
			in := roofline.Pack(x.q)
			none := func(in []float64) { in[roofline.SlotCached], in[roofline.SlotISL] = 0, float64(x.q.ISL-x.q.Cached) }
			return (memory - x.packed(in, roofline.OutPrefillHardMS, none, computing, sending)) / 1e3 * x.bandwidth()
		},
		"Pm": func(x *example) float64 { return x.bound(roofline.OutPrefillHardMS, asIs, computing, sending) / 1e3 },
		"Pl": func(x *example) float64 { return x.bound(roofline.OutPrefillHardMS, asIs, computing, reading) / 1e3 },
		"Ph": func(x *example) float64 { return x.answer().PrefillMS.Hard / 1e3 },
		"Pe": func(x *example) float64 { return x.answer().PrefillMS.Expected / 1e3 },

		"Tr": func(x *example) float64 {
			return x.with(func(q *roofline.Query) { q.NoMulticast = true }).Parts.CommunicationMS / 1e3
		},

		"i": func(x *example) float64 {
			pairs := (furtherFLOPs(x) - 2*float64(x.answer().ReadParams)) / x.kind(roofline.KindAttention)
			return pairs/18 - float64(x.attention().Window)
		},
		"m": func(x *example) float64 {
			return float64(x.q.OSL) / x.bound(roofline.OutServingTokPerSec, asIs, computing, sending) * x.bandwidth() / float64(x.q.OSL-1)
		},
		"Fd": furtherFLOPs,
		"Tf": func(x *example) float64 {
			all := float64(x.q.OSL) / x.bound(roofline.OutServingTokPerSec, asIs, reading, sending)
			return (all - x.bound(roofline.OutPrefillHardMS, asIs, reading, sending)/1e3) / float64(x.q.OSL-1)
		},
		"Ld": func(x *example) float64 {
			all := float64(x.q.OSL) / x.bound(roofline.OutServingTokPerSec, asIs, reading, computing)
			return (all - x.bound(roofline.OutPrefillHardMS, asIs, reading, computing)/1e3) / float64(x.q.OSL-1)
		},
		"r":    func(x *example) float64 { return float64(x.q.OSL) / x.answer().Serving.OutputTokPerSec },
		"tpot": func(x *example) float64 { return *x.answer().Serving.TPOTMS / 1e3 },
		"out":  func(x *example) float64 { return x.answer().Serving.OutputTokPerSec },
		"each": func(x *example) float64 { return x.answer().Serving.PerGPU },
		"out₁": func(x *example) float64 {
			return x.with(func(q *roofline.Query) { q.Concurrency = 1 }).Serving.OutputTokPerSec
		},
		"Z": func(x *example) float64 { return float64(*x.answer().MaxConcurrency) },
	},

	"gemma-3-27b": {
		"t": func(x *example) float64 { return x.kind(roofline.KindKV) },
		"s": func(x *example) float64 {
			return float64(*x.with(func(q *roofline.Query) { q.Context = q.ISL }).MaxConcurrency)
		},
		"u": func(x *example) float64 {
			return (x.seenAlone(false) - 10*x.seenAlone(true)/62) / x.kind(roofline.KindKV) / 52
		},
		"i": func(x *example) float64 { return x.seenAlone(true) / x.kind(roofline.KindKV) / 62 },
		"y": func(x *example) float64 { return x.seenAlone(false) },
		"m": func(x *example) float64 {
			return float64(x.q.OSL) / x.answer().Serving.OutputTokPerSec * x.bandwidth() / float64(x.q.OSL-1)
		},
		"r":    func(x *example) float64 { return float64(x.q.OSL) / x.answer().Serving.OutputTokPerSec },
		"out":  func(x *example) float64 { return x.answer().Serving.OutputTokPerSec },
		"tpot": func(x *example) float64 { return *x.answer().Serving.TPOTMS / 1e3 },
	},

	"deepseek-v3": {
		"A": func(x *example) float64 {
			return x.weights(x.first(), mixingOnly) - 1536 - 512
		},
		"a": func(x *example) float64 {
			// What is left of a layer that computes in 16 bits: two norms, and here no router.
			in := roofline.Pack(x.q)
			first := in[roofline.HeadSlots : roofline.HeadSlots+roofline.KindSlots]
			packed := first[roofline.KindBytes] - (1+4.0/16384)*first[roofline.KindParams]
			return packed/(1-4.0/16384) - 2*7168
		},
		"J": func(x *example) float64 { return x.weights(x.first(), networkOnly) },
		"X": func(x *example) float64 { return x.kind(roofline.KindExpertParams) },
		"R": func(x *example) float64 {
			return x.weights(x.last(), networkOnly) - 257*x.kind(roofline.KindExpertParams)
		},
		"N":  func(x *example) float64 { return float64(x.answer().TotalParams) },
		"Nr": func(x *example) float64 { return float64(x.answer().ReadParams) },
		"e":  func(x *example) float64 { return x.kind(roofline.KindExpertBytes) / x.kind(roofline.KindExpertParams) },
		"W":  func(x *example) float64 { return x.answer().Parts.WeightBytes },
		"t":  func(x *example) float64 { return *x.answer().KVBytesPerToken / 61 },
		"K":  func(x *example) float64 { return x.answer().Parts.KVBytes / float64(x.q.Batch) },
		"u":  func(x *example) float64 { return x.kind(roofline.KindAttention) },
		"v":  func(x *example) float64 { return x.kind(roofline.KindPrefillAttention) },

		"Kp": func(x *example) float64 {
			return x.with(func(q *roofline.Query) { q.DCP = x.dealt }).Parts.KVBytes / float64(x.q.Batch)
		},

		"Wd": func(x *example) float64 { return x.with(apart).Parts.WeightBytes },
		"Kd": func(x *example) float64 { return x.with(apart).Parts.KVBytes / float64(x.q.Batch) },
		"o": func(x *example) float64 {
			links := x.bound(roofline.OutDecodeStepExpectedMS, apart, computing, reading) / 1e3
			return links * 450e9 / (58 * 64 / 8 * 7168 * 3)
		},
		"Td": func(x *example) float64 {
			return x.bound(roofline.OutDecodeStepExpectedMS, apart, computing, reading) / 1e3
		},

		"Ts": func(x *example) float64 {
			return x.with(func(q *roofline.Query) { apart(q); q.Batch = 1 }).Parts.MemoryMS / 1e3
		},

		"AL":   func(x *example) float64 { return x.with(x.drafting).TokensPerStep },
		"p":    func(x *example) float64 { return roofline.Pack(x.q)[roofline.SlotDraftBytes] },
		"Hγ":   func(x *example) float64 { return x.with(x.drafting).DecodeStepMS.Hard / 1e3 },
		"rate": func(x *example) float64 { return x.with(x.drafting).DecodeTokPerSec.Hard },
		"N′": func(x *example) float64 {
			load := x.with(func(q *roofline.Query) { x.drafting(q); q.Concurrency = 1 })
			step := x.with(func(q *roofline.Query) { x.drafting(q); q.Batch, q.Context = 1, q.ISL+q.OSL/2 })
			return *load.Serving.TPOTMS * float64(x.q.OSL-1) / step.DecodeStepMS.Hard
		},
	},

	"deepseek-v3.2": {
		"A": func(x *example) float64 {
			return x.weights(x.first(), mixingOnly) - x.weights(x.first(), func(l *roofline.Layer) {
				mixingOnly(l)
				l.Attention.Indexer = nil
			})
		},
		"t":  func(x *example) float64 { return x.kind(roofline.KindKV) },
		"K":  func(x *example) float64 { return x.answer().Parts.KVBytes },
		"Fa": func(x *example) float64 { return x.answer().Parts.AttentionFLOPs },
	},

	"qwen3.5-27b": {
		"A": func(x *example) float64 { return x.weights(x.first(), mixingOnly) },
		"s": func(x *example) float64 { return x.answer().Parts.StateBytes / 2 / 48 },
		"s′": func(x *example) float64 {
			return x.with(func(q *roofline.Query) { q.StateDtype = "bf16" }).Parts.StateBytes / 2 / 48
		},
		"K": func(x *example) float64 { return x.answer().Parts.StateBytes },
	},

	"nemotron-3-nano-30b-a3b": {
		"A": func(x *example) float64 { return x.weights(x.first(), mixingOnly) },
		"s": func(x *example) float64 { return x.answer().Parts.StateBytes / 2 / 23 },
		"K": func(x *example) float64 { return x.answer().Parts.StateBytes },
	},

	"llama-4-maverick": {
		"c": func(x *example) float64 {
			chunked := x.answer().Parts.KVBytes - 12*float64(x.q.Context)*x.kind(roofline.KindKV)
			return chunked / 36 / x.kind(roofline.KindKV)
		},
		"K": func(x *example) float64 { return x.answer().Parts.KVBytes },
	},

	"llama-3.3-70b": {
		"K":  func(x *example) float64 { return x.answer().Parts.KVBytes / float64(x.q.Batch) },
		"Ta": func(x *example) float64 { return x.with(func(q *roofline.Query) { q.Batch = 1 }).Parts.MemoryMS / 1e3 },
		"Tb": func(x *example) float64 { return *x.answer().ReadBytesPerStep / x.bandwidth() },
		"H":  func(x *example) float64 { return x.answer().DecodeStepMS.Hard / 1e3 },
		"He": func(x *example) float64 { return x.answer().DecodeStepMS.Expected / 1e3 },
		"Tl": func(x *example) float64 { return x.answer().Parts.CommunicationMS / 1e3 },
		"Fp": func(x *example) float64 { return x.bound(roofline.OutPrefillFLOPs, asIs) },
		"Ph": func(x *example) float64 { return x.answer().PrefillMS.Hard / 1e3 },
		"Pe": func(x *example) float64 { return x.answer().PrefillMS.Expected / 1e3 },
	},
}

// furtherFLOPs is the arithmetic of one further token, from what serving is bound by where
// arithmetic alone binds, all at one peak.
func furtherFLOPs(x *example) float64 {
	alike := func(in []float64) { in[roofline.SlotPeakLayers] = in[roofline.SlotPeakPlain] }
	all := float64(x.q.OSL) / x.packed(roofline.Pack(x.q), roofline.OutServingTokPerSec, alike, reading, sending) * x.peak()
	return (all - x.bound(roofline.OutPrefillFLOPs, asIs)) / float64(x.q.OSL-1)
}

// seenAlone is how many bytes of its cache a request alone reads a step, on average, with
// windows or without, from the time that its further tokens take.
func (x *example) seenAlone(unbounded bool) float64 {
	tpot := x.packed(roofline.Pack(x.q), roofline.OutServingTPOTMS, func(in []float64) {
		for at := roofline.HeadSlots; unbounded && at < len(in); at += roofline.KindSlots {
			in[at+roofline.KindWindow] = 0
		}
	})
	return tpot/1e3*x.bandwidth() - x.answer().Parts.WeightBytes
}

// unrouted is that no token passes an expert.
func unrouted(in []float64) {
	for at := roofline.HeadSlots; at < len(in); at += roofline.KindSlots {
		in[at+roofline.KindExperts] = 0
	}
}

func flops(p *roofline.Parts) float64 {
	return p.MatrixFLOPs + p.ExpertFLOPs + p.HeadFLOPs + p.AttentionFLOPs + p.StateFLOPs
}

// apart is attention in as many copies as devices, each with experts of its own.
func apart(q *roofline.Query) { q.TP, q.DP, q.EP = 1, 8, 8 }

// drafting is with the model's own module.
func (x *example) drafting(q *roofline.Query) {
	q.Gamma, q.Acceptance, q.MTPDrafts = x.gamma, x.symbols["α"], true
}
