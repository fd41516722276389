package rooftest

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"rowproof/internal/roofline"
)

// Random draws architectures, devices and questions from a seed, so that a failure can
// be had again.
type Random struct{ *rand.Rand }

// NewRandom draws from the seed.
func NewRandom(seed uint64) Random { return Random{rand.New(rand.NewPCG(seed, 0x726f6f66))} }

func of[T any](r Random, values ...T) T { return values[r.IntN(len(values))] }

func (r Random) often() bool  { return r.IntN(4) > 0 }
func (r Random) seldom() bool { return r.IntN(4) == 0 }

// between draws a whole number, each order of magnitude as likely as the next.
func (r Random) between(least, most int64) int64 {
	top := least
	for top < most && r.IntN(3) > 0 {
		top = min(top*4+1, most)
	}
	return least + r.Int64N(top-least+1)
}

// Model draws an architecture: layers of one to four kinds, each of any kind of
// attention, or none, with any kind of feed-forward network, or none.
func (r Random) Model() *roofline.Model {
	a := roofline.Architecture{
		Hidden:     256 * r.between(1, 32),
		Vocabulary: 256 * r.between(1, 1024),
		TiedHead:   r.seldom(),
		MaxContext: 1 << 20,
	}
	for range 1 + r.IntN(4) {
		a.Layers = append(a.Layers, r.layer(a.Hidden, r.between(1, 64)))
	}
	if r.seldom() {
		a.MTP = &roofline.MTP{Modules: 1, Layer: r.layer(a.Hidden, 1)}
	}
	return &roofline.Model{Name: "random", Architecture: a, Weights: []string{"bf16"}, KV: []string{"bf16"}}
}

func (r Random) layer(hidden, count int64) roofline.Layer {
	l := roofline.Layer{Count: count, Norms: r.Int64N(5), Attention: r.attention(), FFN: r.ffn()}
	if l.Attention.Kind == roofline.Conv {
		l.Attention.State.ValueDim = hidden
	}
	return l
}

// attention draws heads in eights, so that up to eight devices can share them.
func (r Random) attention() roofline.Attention {
	a := roofline.Attention{Kind: of(r, roofline.GQA, roofline.GQA, roofline.GQA, roofline.MLA, roofline.MLA,
		roofline.Linear, roofline.Mamba, roofline.Conv, roofline.None)}
	switch a.Kind {
	case roofline.GQA:
		a.KVHeads = 1 << r.IntN(5)
		a.Heads = max(a.KVHeads<<r.IntN(4), 8)
		a.HeadDim = of[int64](r, 32, 64, 80, 96, 128, 256)
		a.QKVBias, a.OutputBias, a.OutputGate, a.Sinks = r.seldom(), r.seldom(), r.seldom(), r.seldom()
		a.QKNorm = r.seldom()
		a.QKNormWide = a.QKNorm && r.seldom()
		if r.seldom() {
			a.ValueDim = 64
		}
		switch r.IntN(4) {
		case 0:
			a.Window = 1 << r.IntN(14)
		case 1:
			a.Chunk = 1 << r.IntN(14)
		}
	case roofline.MLA:
		a.Heads = 8 << r.IntN(5)
		a.QRank = of[int64](r, 0, 768, 1536, 2048)
		a.KVRank = of[int64](r, 256, 512, 512, 512)
		a.NopeDim, a.RopeDim, a.ValueDim = of[int64](r, 128, 192), 64, of[int64](r, 128, 256)
		if r.seldom() {
			a.Selected = 1 << (6 + r.IntN(6))
			if r.often() && a.QRank > 0 {
				a.Indexer = &roofline.Indexer{Heads: 8 << r.IntN(4), HeadDim: 128}
			}
		}
	case roofline.Linear, roofline.Mamba:
		a.State = &roofline.State{KeyHeads: 8, KeyDim: of[int64](r, 64, 128), ValueHeads: 8 << r.IntN(5),
			ValueDim: of[int64](r, 64, 128), Conv: 4, Bytes: of[int64](r, 0, 2, 4), ConvBias: r.seldom()}
	case roofline.Conv:
		a.State = &roofline.State{ValueHeads: 1, Conv: 3}
	}
	return a
}

func (r Random) ffn() roofline.FFN {
	f := roofline.FFN{Kind: of(r, roofline.Dense, roofline.Dense, roofline.MoE, roofline.MoE, roofline.MoE, roofline.None)}
	if f.Kind == roofline.None {
		return f
	}
	f.Width = 64 * r.between(1, 256)
	f.Ungated, f.Bias = r.seldom(), r.seldom()
	if f.Kind == roofline.MoE {
		f.Experts = 8 << r.IntN(7)
		f.TopK = min(1+r.Int64N(8), f.Experts)
		f.RouterBias = r.seldom()
		if r.IntN(2) == 0 {
			f.SharedWidth = 64 * r.between(1, 64)
			f.SharedGate = r.seldom()
		}
	}
	return f
}

// Target draws eight of a device on which every format computes, if not each at its own peak.
func (r Random) Target() *roofline.Target {
	decimal := func(n int64) roofline.Decimal { return roofline.Decimal(strconv.FormatInt(n, 10)) }
	bf16 := r.between(1, 3000)
	t := &roofline.Target{Name: "random", Count: 8, MemoryGB: decimal(r.between(1, 300)), BandwidthGBs: decimal(r.between(10, 9000)),
		PeakTFLOPs: map[string]roofline.Decimal{"bf16": decimal(bf16), "fp16": decimal(bf16), "int8": decimal(2 * bf16)}, LinkGBs: decimal(r.between(1, 1000))}
	if r.often() {
		t.PeakTFLOPs["fp8"] = decimal(2 * bf16)
	}
	if r.seldom() {
		t.PeakTFLOPs["fp4"] = decimal(4 * bf16)
	}
	if r.seldom() {
		t.LinkPeerGBs = decimal(r.between(1, 200))
	} else if r.seldom() {
		t.LinkReduces = true
	}
	return t
}

// Query draws a question that nothing is wrong with.
func (r Random) Query() roofline.Query {
	for {
		q := roofline.Query{
			Model: r.Model(), Target: r.Target(),
			WeightDtype: of(r, roofline.WeightDtypes()...), KVDtype: of(r, roofline.KVDtypes()...),
			Batch: r.between(1, 4096), Context: r.between(1, 200_000) - 1,
			ISL: r.between(1, 100_000), OSL: r.between(1, 10_000), Concurrency: r.between(1, 1024),
			TP: 1 << r.IntN(4), NoMulticast: r.seldom(),
		}
		if r.seldom() {
			q.Cached = r.Int64N(q.ISL)
		}
		if r.seldom() {
			q.Chunk = r.between(1, 8192)
		}
		if r.seldom() {
			q.PP = 1 << r.IntN(2)
		}
		if r.seldom() {
			q.DP = 1 << r.IntN(3)
		}
		if r.seldom() {
			q.DCP = 1 << r.IntN(4)
		}
		if r.seldom() {
			q.EP = q.TP * max(q.DP, 1)
		}
		if r.seldom() {
			q.Gamma = r.between(1, 8)
			q.Acceptance = r.Float64()
			q.MTPDrafts = q.Model.Architecture.MTP != nil && r.IntN(2) == 0
		}
		if len(q.Wrong()) == 0 {
			return q
		}
	}
}

// Packed draws what no question packs to: any float64 in any slot, and counts that no
// memory holds.
func (r Random) Packed() []float64 {
	in := roofline.Pack(r.Query())
	for range 1 + r.IntN(4) {
		in[r.IntN(len(in))] = r.Float()
	}
	if r.seldom() {
		in = in[:r.IntN(len(in)+1)]
	}
	return slices.Clip(in)
}
