package roofline

// format is how weights are stored and at which of a device's peaks they compute.
type format struct {
	name      string
	perWeight float64 // bytes, with the scales that stand on blocks of weights
	perOutput float64 // bytes of scale on each output channel besides
	whole     bool    // embedding and head are stored in it too (GGUF)
	vector    float64 // bytes of a weight of a norm, a bias or a router
	peaks     []string
	says      string // the convention in words
}

const rest = "; embedding, head, router and norms stay bf16"

// formats in the order in which they are listed to a reader. Of a peak list the greatest
// that the device has bounds: one without fp8 units computes fp8 weights at its bf16 peak.
var formats = []format{
	{"bf16", 2, 0, false, 2, []string{"bf16"}, "2 bytes a weight"},
	{"fp16", 2, 0, false, 2, []string{"fp16"}, "2 bytes a weight"},
	{"fp32", 4, 0, true, 4, []string{"fp32", "bf16"}, "4 bytes a weight, embedding and head too"},
	{"fp8", 1 + 4.0/16384, 0, false, 2, []string{"fp8", "bf16"}, "1 byte a weight and a 4-byte scale on each block of 128 × 128" + rest},
	{"fp8-tensor", 1, 0, false, 2, []string{"fp8", "bf16"}, "1 byte a weight, one scale a matrix" + rest},
	{"fp8-channel", 1, 2, false, 2, []string{"fp8", "bf16"}, "1 byte a weight and a 2-byte scale on each output channel" + rest},
	{"int8", 1, 2, false, 2, []string{"int8", "bf16"}, "1 byte a weight and a 2-byte scale on each output channel" + rest},
	{"int8-g128", 65.0 / 64, 0, false, 2, []string{"bf16"}, "1 byte a weight and a 2-byte scale on each 128, computed in bf16" + rest},
	{"int4", 33.0 / 64, 0, false, 2, []string{"bf16"}, "4 bits a weight and a 2-byte scale on each 128, computed in bf16" + rest},
	{"int4-g32", 18.0 / 32, 0, false, 2, []string{"bf16"}, "4 bits a weight and a 2-byte scale on each 32, computed in bf16" + rest},
	{"int4-zp", 133.0 / 256, 0, false, 2, []string{"bf16"}, "4 bits a weight, a 2-byte scale and a 4-bit zero point on each 128, computed in bf16" + rest},
	{"int4-zp-g64", 69.0 / 128, 0, false, 2, []string{"bf16"}, "4 bits a weight, a 2-byte scale and a 4-bit zero point on each 64, computed in bf16" + rest},
	{"nf4", 2113.0 / 4096, 0, false, 2, []string{"bf16"}, "4 bits a weight, a 1-byte scale on each 64 and a 4-byte scale on each 256 of those, computed in bf16" + rest},
	{"mxfp4", 17.0 / 32, 0, false, 2, []string{"fp4", "fp8", "int8", "bf16"}, "4 bits a weight and a 1-byte scale on each 32" + rest},
	{"nvfp4", 9.0 / 16, 0, false, 2, []string{"fp4", "bf16"}, "4 bits a weight and a 1-byte scale on each 16" + rest},
	{"q8_0", 34.0 / 32, 0, true, 4, []string{"int8", "bf16"}, "34 bytes on each 32 weights, embedding and head too; router and norms f32"},
	{"q6_k", 210.0 / 256, 0, true, 4, []string{"int8", "bf16"}, "210 bytes on each 256 weights, embedding and head too; router and norms f32"},
	{"q5_k", 176.0 / 256, 0, true, 4, []string{"int8", "bf16"}, "176 bytes on each 256 weights, embedding and head too; router and norms f32"},
	{"q4_0", 18.0 / 32, 0, true, 4, []string{"int8", "bf16"}, "18 bytes on each 32 weights, embedding and head too; router and norms f32"},
	{"q4_1", 20.0 / 32, 0, true, 4, []string{"int8", "bf16"}, "20 bytes on each 32 weights, embedding and head too; router and norms f32"},
	{"q4_k", 144.0 / 256, 0, true, 4, []string{"int8", "bf16"}, "144 bytes on each 256 weights, embedding and head too; router and norms f32"},
}

func formatOf(dtype string) (format, bool) {
	for _, f := range formats {
		if f.name == dtype {
			return f, true
		}
	}
	return format{}, false
}

// WeightDtypes lists the weight formats whose size is known.
func WeightDtypes() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// scoped is a format as one model's checkpoints use it: which families of matrices are
// stored in it.
type scoped struct {
	format
	mixing, network bool
}

// formatFor is how the model's weights of a type are stored; ok is false for a type that
// nobody knows.
func (m *Model) formatFor(dtype string) (f scoped, ok bool) {
	f.format, ok = formatOf(dtype)
	switch scope := m.WeightScope[dtype]; scope {
	case ScopeExperts:
	case ScopeFFN:
		f.network = true
	default:
		f.mixing, f.network = true, true
	}
	return f, ok
}

// size of matrices in bytes, quantized or left alone.
func (f scoped) size(m matrices, quantized bool) float64 {
	if !quantized {
		return float64(float64(m.weights) * f.vector)
	}
	return float64(float64(m.weights)*f.perWeight) + float64(float64(m.outputs)*f.perOutput)
}

// table is the size of one weight of the embedding or the head.
func (f format) table() float64 {
	if f.whole {
		return f.perWeight
	}
	return 2
}

// shared is what a layer reads in each step whatever the routing.
func (f scoped) shared(t tally) float64 {
	b := f.size(t.mixing, f.mixing)
	b += f.size(t.network, f.network)
	b += f.size(t.plain, false)
	return b + float64(float64(t.vectors)*f.vector)
}

// expert is the size of one routed expert.
func (f scoped) expert(t tally) float64 {
	return f.size(t.expert, true) + float64(float64(t.biases)*f.vector)
}

// computing counts the weights outside routed experts that compute in the format; the
// others compute in 16 bits. Norms and biases are counted with the first: N_read is then
// the sum of all.
func (f scoped) computing(t tally) (quantized, plain int64) {
	quantized, plain = t.vectors, t.plain.weights
	for _, m := range []struct {
		n  int64
		in bool
	}{{t.mixing.weights, f.mixing}, {t.network.weights, f.network}} {
		if m.in {
			quantized += m.n
		} else {
			plain += m.n
		}
	}
	return quantized, plain
}

// kvFormat is how keys and values are cached.
type kvFormat struct {
	name  string
	bytes float64 // per element
	peaks []string
}

// MLAFP8 is the cache format of sparse MLA in 8 bits: the latent with a 4-byte scale on
// each 128 elements, the part that carries the position in 16 bits.
const MLAFP8 = "fp8_ds_mla"

var kvFormats = []kvFormat{
	{"bf16", 2, []string{"bf16"}},
	{"fp16", 2, []string{"fp16"}},
	{"fp8", 1, []string{"fp8", "bf16"}},
	{"fp8_e4m3", 1, []string{"fp8", "bf16"}},
	{"fp8_e5m2", 1, []string{"fp8", "bf16"}},
	{MLAFP8, 1, []string{"fp8", "bf16"}},
	{"q8_0", 34.0 / 32, []string{"int8", "bf16"}},
}

func kvFormatOf(dtype string) (kvFormat, bool) {
	for _, f := range kvFormats {
		if f.name == dtype {
			return f, true
		}
	}
	return kvFormat{}, false
}

// KVDtypes lists the cache formats whose size is known.
func KVDtypes() []string {
	names := make([]string, len(kvFormats))
	for i, f := range kvFormats {
		names[i] = f.name
	}
	return names
}

// token is what one token adds to the layer's cache, in bytes: a key and a value for each
// key-value head, which query heads share and are not charged for; or the one latent of
// MLA, which is key and value at once.
func (f kvFormat) token(a *Attention) float64 {
	switch a.Kind {
	case GQA:
		return float64(float64(a.KVHeads*(a.HeadDim+a.valueDim())) * f.bytes)
	case MLA:
		if f.name == MLAFP8 || f.bytes == 1 && a.Selected > 0 {
			return float64(a.KVRank) + float64(4*float64(a.KVRank)/128) + float64(2*a.RopeDim)
		}
		return float64(float64(a.KVRank+a.RopeDim) * f.bytes)
	}
	return 0
}

// index is what one token adds to the indexer's own cache: an 8-bit key and its scale.
func (a *Attention) index() float64 {
	if a.Indexer == nil {
		return 0
	}
	return float64(a.Indexer.HeadDim + 4)
}

// stateBytes is the size of one element of a state's matrix by the type that it is kept in.
var stateBytes = map[string]int64{"fp32": 4, "bf16": 2, "fp16": 2}

// kept is the size of what the layer keeps of a sequence whatever its length, its matrices
// in a type, or as the architecture says where none is given.
func (a *Attention) kept(dtype string) float64 {
	s := a.State
	if s == nil {
		return 0
	}
	matrix, inputs := s.Bytes, s.ConvBytes
	if n := stateBytes[dtype]; n > 0 {
		matrix = n
	}
	if matrix == 0 {
		matrix = 4
	}
	if inputs == 0 {
		inputs = 2
	}
	return float64(s.ValueHeads*s.KeyDim*s.ValueDim*matrix + s.channels()*max(s.Conv-1, 0)*inputs)
}

// pairFLOPs is the work of one query token on one cached token in the layer: a product
// and a sum for each element of query·key and of weight·value. MLA decodes on the latent
// itself; a prompt's keys and values are unfolded, which costs less a pair.
func (a *Attention) pairFLOPs() (decode, prefill float64) {
	switch a.Kind {
	case GQA:
		n := float64(2 * a.Heads * (a.HeadDim + a.valueDim()))
		return n, n
	case MLA:
		return float64(2 * a.Heads * (2*a.KVRank + a.RopeDim)), float64(2 * a.Heads * (a.NopeDim + a.RopeDim + a.ValueDim))
	}
	return 0, 0
}

// indexFLOPs is the indexer's work of one query token on one cached token.
func (a *Attention) indexFLOPs() float64 {
	if a.Indexer == nil {
		return 0
	}
	return float64(2 * a.Indexer.Heads * a.Indexer.HeadDim)
}

// stateFLOPs is the least work of one token on the layer's state: the delta rule reads
// the state, corrects it and reads it again; Mamba adds to it and reads it.
func (a *Attention) stateFLOPs() float64 {
	s := a.State
	if s == nil {
		return 0
	}
	passes := int64(4)
	if a.Kind == Linear {
		passes = 6
	}
	return float64(passes*s.ValueHeads*s.KeyDim*s.ValueDim + 2*s.channels()*s.Conv)
}

// shards is how many ways the layer's cache splits: beyond it, tensor parallelism keeps
// copies. The latent of MLA does not split.
func (a *Attention) shards() int64 {
	if a.Kind == GQA {
		return a.KVHeads
	}
	return 1
}

// partsOver is how many heads tensor parallelism deals out, 0 where any number will do.
func (a *Attention) partsOver() int64 {
	switch a.Kind {
	case GQA, MLA:
		return a.Heads
	case Linear, Mamba:
		return a.State.ValueHeads
	}
	return 0
}
