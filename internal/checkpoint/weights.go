package checkpoint

import (
	"slices"
	"strings"

	"rowproof/internal/roofline"
)

// plainDtypes are the formats of weights that nothing quantizes.
var plainDtypes = map[string]string{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}

// readWeights says in which format the weights are stored and what the cache may be.
func (d *decoder) readWeights(top *object, m *roofline.Model, beside [][]byte) {
	m.Weights, m.Sources["weights"] = []string{"bf16"}, "config.json names no dtype: bf16, as engines load such a checkpoint"
	o, k := d.dtypeKey(top)
	if o == nil && !d.quantized(top, beside) {
		if ofBothWidths[d.family] {
			d.inBytes("torch_dtype", "is missing, and checkpoints of a "+d.family+" are published in 16 bits and in 32; bfloat16, float16 or float32 is needed")
		}
		d.note("torch_dtype is missing: bf16 is assumed, since the type's own checkpoints are in 16 bits")
	}
	if o != nil {
		stated := strings.TrimPrefix(o.text(k), "torch.")
		format, ok := plainDtypes[stated]
		if !ok {
			o.inBytes(k, "is "+o.get(k).kindName()+", whose bytes are not known; known: bfloat16, float16, float32")
		}
		m.Weights, m.Sources["weights"] = []string{format}, o.key(k)+" of config.json"
	}
	m.KV, m.Sources["kv"] = []string{"bf16", d.fp8KV()}, "cache formats that engines offer; config.json asks for none"
	q := d.under("quantization_config")
	if d.object != top {
		if outer := top.under("quantization_config"); outer != nil {
			if q != nil {
				top.wrong("quantization_config", "stands beside text_config.quantization_config; one is accepted")
			}
			q = outer
		}
	}
	if q == nil {
		q = d.under("compression_config") // as compressed-tensors called it at first
	}
	if q == nil {
		q = d.quantizationBeside(beside)
	}
	if q != nil {
		if inner := q.under("quantization"); inner != nil { // as a hf_quant_config.json nests it
			q = inner
		}
		d.readQuantization(q, m)
	}
}

// quantizationBeside is what a hf_quant_config.json states.
func (d *decoder) quantizationBeside(files [][]byte) *object {
	for _, data := range files {
		root, ok := readTree(data, d.p)
		if !ok {
			continue
		}
		const file = "hf_quant_config.json"
		if root.kind != '{' {
			d.p.add(file, "is "+root.kindName()+"; an object with a quantization is accepted")
			continue
		}
		return d.p.object(file, root).under("quantization")
	}
	return nil
}

// fp8KV is the 8-bit cache that engines offer: sparse attention over latents reads a
// layout of its own.
func (d *decoder) fp8KV() string {
	for i := range d.a.Layers {
		if t := &d.a.Layers[i].Attention; t.Kind == roofline.MLA && t.Selected > 0 {
			return roofline.MLAFP8
		}
	}
	return "fp8"
}

// ofBothWidths are the types whose own publishers released weights in 32 bits too.
var ofBothWidths = set("gemma2", "mamba2")

// quantized says whether a format of quantized weights is stated anywhere.
func (d *decoder) quantized(top *object, beside [][]byte) bool {
	for _, o := range []*object{d.object, top} {
		if o.has("quantization_config") || o.has("compression_config") {
			return true
		}
	}
	return len(beside) > 0
}

// dtypeKey finds what names the format of unquantized weights: of the language model
// before the whole, and by the newer name before the older.
func (d *decoder) dtypeKey(top *object) (*object, string) {
	var in *object
	key := ""
	for _, o := range []*object{d.object, top} {
		for _, k := range []string{"dtype", "torch_dtype"} {
			if !o.has(k) {
				continue
			}
			if in == nil {
				in, key = o, k
				continue
			}
			if a, b := plainDtypes[strings.TrimPrefix(in.text(key), "torch.")], plainDtypes[strings.TrimPrefix(o.text(k), "torch.")]; a != b {
				o.inBytes(k, "is "+o.get(k).kindName()+" where "+in.key(key)+" is "+in.get(key).kindName()+"; the same is accepted")
			}
		}
		if d.object == top {
			break
		}
	}
	return in, key
}

// firstKV puts a format before the others on offer.
func firstKV(m *roofline.Model, format, source string) {
	m.KV = append([]string{format}, slices.DeleteFunc(m.KV, func(s string) bool { return s == format })...)
	m.Sources["kv"] = source
}
