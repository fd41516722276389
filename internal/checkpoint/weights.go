package checkpoint

import (
	"slices"
	"strings"

	"rowproof/internal/roofline"
)

// plainDtypes are the formats of weights that nothing quantizes.
var plainDtypes = map[string]string{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}

// readWeights says in which format the weights are stored and what the cache may be.
func (d *decoder) readWeights(top *object, m *roofline.Model) {
	m.Weights, m.Sources["weights"] = []string{"bf16"}, "config.json names no dtype: bf16, as engines load such a checkpoint"
	if o, k := d.dtypeKey(top); o != nil {
		stated := strings.TrimPrefix(o.text(k), "torch.")
		format, ok := plainDtypes[stated]
		if !ok {
			o.wrong(k, "is "+o.get(k).kindName()+"; accepted: bfloat16, float16, float32")
		}
		m.Weights, m.Sources["weights"] = []string{format}, o.key(k)+" of config.json"
	}
	m.KV, m.Sources["kv"] = []string{"bf16", "fp8"}, "cache formats that engines offer; config.json asks for none"
	q := d.under("quantization_config")
	if d.object != top {
		if outer := top.under("quantization_config"); outer != nil {
			if q != nil {
				top.wrong("quantization_config", "stands beside text_config.quantization_config; one is accepted")
			}
			q = outer
		}
	}
	if q != nil {
		d.readQuantization(q, m)
	}
}

// dtypeKey finds what names the format of unquantized weights: of the language model
// before the whole, and by the newer name before the older.
func (d *decoder) dtypeKey(top *object) (*object, string) {
	for _, o := range []*object{d.object, top} {
		for _, k := range []string{"dtype", "torch_dtype"} {
			if o.has(k) {
				return o, k
			}
		}
	}
	return nil, ""
}

// firstKV puts a format before the others on offer.
func firstKV(m *roofline.Model, format, source string) {
	m.KV = append([]string{format}, slices.DeleteFunc(m.KV, func(s string) bool { return s == format })...)
	m.Sources["kv"] = source
}
