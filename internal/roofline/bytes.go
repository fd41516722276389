package roofline

// format is how weights are stored and at which of a device's peaks they compute.
type format struct {
	name      string
	perWeight float64 // bytes, with the scales that stand on blocks of weights
	perOutput float64 // bytes of scale on each output channel besides
	whole     bool    // embedding and head are stored in it too (GGUF)
	vector    float64 // bytes of a norm or bias weight
	peaks     []string
	says      string // the convention in words
}

const rest = "; embedding, head and norms stay bf16"

// formats in the order in which they are listed to a reader. A peak list is tried from
// the left: a device without fp8 units computes fp8 weights at its bf16 peak.
var formats = []format{
	{"bf16", 2, 0, false, 2, []string{"bf16"}, "2 bytes a weight"},
	{"fp16", 2, 0, false, 2, []string{"fp16"}, "2 bytes a weight"},
	{"fp8", 1 + 4.0/16384, 0, false, 2, []string{"fp8", "bf16"}, "1 byte a weight and a 4-byte scale on each block of 128 × 128" + rest},
	{"fp8-tensor", 1, 0, false, 2, []string{"fp8", "bf16"}, "1 byte a weight, one scale a matrix" + rest},
	{"int8", 1, 2, false, 2, []string{"int8"}, "1 byte a weight and a 2-byte scale on each output channel" + rest},
	{"int4", 33.0 / 64, 0, false, 2, []string{"bf16"}, "4 bits a weight and a 2-byte scale on each 128, computed in bf16" + rest},
	{"int4-zp", 133.0 / 256, 0, false, 2, []string{"bf16"}, "4 bits a weight, a 2-byte scale and a 4-bit zero point on each 128, computed in bf16" + rest},
	{"mxfp4", 17.0 / 32, 0, false, 2, []string{"fp4", "bf16"}, "4 bits a weight and a 1-byte scale on each 32" + rest},
	{"nvfp4", 9.0 / 16, 0, false, 2, []string{"fp4", "bf16"}, "4 bits a weight and a 1-byte scale on each 16" + rest},
	{"q8_0", 34.0 / 32, 0, true, 4, []string{"int8", "bf16"}, "34 bytes on each 32 weights, embedding and head too; norms f32"},
	{"q6_k", 210.0 / 256, 0, true, 4, []string{"int8", "bf16"}, "210 bytes on each 256 weights, embedding and head too; norms f32"},
	{"q4_0", 18.0 / 32, 0, true, 4, []string{"int8", "bf16"}, "18 bytes on each 32 weights, embedding and head too; norms f32"},
	{"q4_k", 144.0 / 256, 0, true, 4, []string{"int8", "bf16"}, "144 bytes on each 256 weights, embedding and head too; norms f32"},
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

// resident is the checkpoint's size in memory, in bytes.
func (f format) resident(t tally) float64 {
	return f.read(t) + float64(float64(t.lookup)*f.table())
}

// read is what one decode step reads of the weights, in bytes.
func (f format) read(t tally) float64 {
	b := float64(float64(t.linear) * f.perWeight)
	b += float64(float64(t.outputs) * f.perOutput)
	b += float64(float64(t.vectors) * f.vector)
	b += float64(float64(t.head) * f.table())
	return b
}

// table is the size of one weight of the embedding or the head.
func (f format) table() float64 {
	if f.whole {
		return f.perWeight
	}
	return 2
}

// kvFormat is how keys and values are cached.
type kvFormat struct {
	name  string
	bytes float64 // per element
	peaks []string
}

var kvFormats = []kvFormat{
	{"bf16", 2, []string{"bf16"}},
	{"fp16", 2, []string{"fp16"}},
	{"fp8", 1, []string{"fp8", "bf16"}},
	{"fp8_e4m3", 1, []string{"fp8", "bf16"}},
	{"fp8_e5m2", 1, []string{"fp8", "bf16"}},
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

// kvElements counts the cache elements that one token writes over all layers: a key and
// a value for each key-value head. Query heads share them and are not charged.
func (a *Architecture) kvElements() int64 {
	var n int64
	for i := range a.Layers {
		l := &a.Layers[i]
		n += l.Count * 2 * l.Attention.KVHeads * l.Attention.HeadDim
	}
	return n
}

// attentionFLOPs is the work of one query token on one cached token over all layers:
// a product and a sum for each element of query·key and of weight·value.
func (a *Architecture) attentionFLOPs() int64 {
	var n int64
	for i := range a.Layers {
		l := &a.Layers[i]
		n += l.Count * 4 * l.Attention.Heads * l.Attention.HeadDim
	}
	return n
}

// shards is the least number of key-value heads in a layer: beyond it, tensor
// parallelism keeps copies.
func (a *Architecture) shards() int64 {
	var n int64
	for i := range a.Layers {
		if k := a.Layers[i].Attention.KVHeads; n == 0 || k < n {
			n = k
		}
	}
	return n
}
