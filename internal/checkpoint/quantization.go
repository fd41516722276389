package checkpoint

import (
	"maps"
	"slices"
	"strings"

	"rowproof/internal/roofline"
)

// inBytes tells a problem that the tensors' own headers would answer.
func (o *object) inBytes(k, text string) {
	o.p.tell(Problem{o.key(k), text + "; the tensors' own headers say what they weigh", true})
}

// readQuantization reads a quantization_config. What it cannot be sure of is a problem:
// a format of nearly the same size would be a guess.
func (d *decoder) readQuantization(q *object, m *roofline.Model) {
	method := q.text("quant_method")
	if method == "" && (q.has("quant_algo") || q.has("config_groups")) {
		method = "compressed-tensors"
		if q.has("quant_algo") {
			method = "modelopt"
		}
	}
	read, known := map[string]func(*decoder, *object) string{
		"fp8": (*decoder).fp8, "compressed-tensors": (*decoder).compressed, "modelopt": (*decoder).modelopt,
		"awq": (*decoder).awq, "gptq": (*decoder).gptq, "mxfp4": (*decoder).mxfp4,
	}[method]
	m.Sources["weights"] = "" // not stated until it is understood
	if !known {
		q.inBytes("quant_method", "is "+shown(method)+", whose bytes are not known; known: awq, compressed-tensors, fp8, gptq, modelopt, mxfp4")
		return
	}
	before := len(q.p.list)
	format := read(d, q)
	d.readKVScheme(q, m)
	q.unread()
	if len(q.p.list) > before || format == "" {
		return
	}
	m.Weights, m.Sources["weights"] = []string{format}, q.path+" ("+method+")"
	d.readScope(q, format, m)
}

// fp8 is the form that DeepSeek, Qwen and others publish: blocks, or one scale a matrix.
func (d *decoder) fp8(q *object) string {
	q.text("activation_scheme")
	q.oneOf("fmt", "e4m3", "float8_e4m3fn")
	q.oneOf("scale_fmt", "float", "ue8m0") // stored as 4 bytes either way
	if q.has("quant_algo") || q.has("config_groups") {
		q.inBytes("quant_algo", "mixes formats")
	}
	if !q.has("weight_block_size") {
		return "fp8-tensor"
	}
	if size := q.numbers("weight_block_size", 2, mostWidth, "dimensions"); size != nil && (size[0] != 128 || size[1] != 128) {
		q.inBytes("weight_block_size", "is "+itoa(size[0])+" × "+itoa(size[1])+", whose bytes are not known; known: 128 × 128")
	}
	return "fp8"
}

func (d *decoder) mxfp4(q *object) string { return "mxfp4" }

func (d *decoder) awq(q *object) string {
	q.oneOf("version", "gemm", "GEMM", "gemv", "GEMV", "marlin")
	return d.grouped4(q, "w_bit", "q_group_size", q.flagOr("zero_point", true))
}

func (d *decoder) gptq(q *object) string {
	return d.grouped4(q, "", "", !q.flagOr("sym", true))
}

// grouped4 reads 4-bit integers in groups, as AWQ and GPTQ state them at the top.
func (d *decoder) grouped4(q *object, otherBits, otherGroup string, zeroPoints bool) string {
	bitsKey, groupKey := "bits", "group_size"
	if !q.has(bitsKey) && otherBits != "" {
		bitsKey, groupKey = otherBits, otherGroup
	}
	bits, group := q.count(bitsKey, 64), int64(0)
	if v := q.get(groupKey); v != nil && v.text == "-1" {
		group = -1
	} else {
		group = q.count(groupKey, mostWidth)
	}
	if v := q.get("lm_head"); v != nil && v.kind != 'f' {
		q.inBytes("lm_head", "is "+v.kindName()+": the head is quantized too, whose bytes are not known; accepted: false")
	}
	return d.integer(q, groupKey, bits, group, zeroPoints)
}

// integer names the format of whole numbers; a group of -1 is a scale on each output.
func (d *decoder) integer(q *object, k string, bits, group int64, zeroPoints bool) string {
	switch {
	case bits == 0 || group == 0:
		return ""
	case bits == 8 && group == -1 && !zeroPoints:
		return "int8"
	case bits == 4 && group == 128 && zeroPoints:
		return "int4-zp"
	case bits == 4 && group == 128:
		return "int4"
	case bits == 4 && group == 32 && !zeroPoints:
		return "int4-g32"
	}
	groups := "groups of " + itoa(group)
	if group == -1 {
		groups = "one scale an output"
	}
	if zeroPoints {
		groups += " with zero points"
	}
	q.inBytes(k, "says "+itoa(bits)+" bits in "+groups+", whose bytes are not known; known: 4 bits in groups of 128, or of 32 without zero points; 8 bits with one scale an output")
	return ""
}

// modelopt is NVIDIA's form.
func (d *decoder) modelopt(q *object) string {
	switch algo := q.text("quant_algo"); algo {
	case "FP8":
		return "fp8-tensor"
	case "NVFP4", "W4A16_NVFP4":
		if size := q.countOr("group_size", mostWidth, 16); size != 16 {
			q.inBytes("group_size", "is "+itoa(size)+", whose bytes are not known; known: 16")
		}
		return "nvfp4"
	default:
		q.inBytes("quant_algo", "is "+shown(algo)+", whose bytes are not known; known: FP8, NVFP4")
	}
	return ""
}

// packings are the formats of compressed-tensors that store each weight in as many bits as
// its scheme says.
var packings = set("dense", "naive-quantized", "float-quantized", "int-quantized", "pack-quantized",
	"nvfp4-pack-quantized", "mxfp4-pack-quantized", "mixed-precision")

// compressed is the form of llm-compressor: groups of modules, each with its own scheme.
func (d *decoder) compressed(q *object) string {
	format := q.text("format")
	if format != "" && !packings[format] {
		q.inBytes("format", "is "+shown(format)+", whose bytes are not known; known: "+strings.Join(slices.Sorted(maps.Keys(packings)), ", "))
		return ""
	}
	if s := q.under("sparsity_config"); s != nil {
		if f := s.text("format"); f != "" && f != "dense" {
			q.inBytes("sparsity_config.format", "is "+shown(f)+", whose bytes are not known; known: dense")
		}
	}
	if s := q.under("transform_config"); s != nil && len(s.v.keys) > 0 {
		q.inBytes("transform_config", "adds matrices whose bytes are not known; accepted: {}")
	}
	if !q.has("config_groups") {
		q.wrong("config_groups", "is missing; the scheme of the weights is needed")
	}
	var found string
	for _, g := range d.groups(q) {
		w := g.under("weights")
		if w == nil {
			g.wrong("weights", "is missing; the scheme of the weights is needed")
			continue
		}
		own := g.text("format")
		if own == "" {
			own = format
		}
		one := d.scheme(w, own)
		if found != "" && one != "" && one != found {
			q.inBytes("config_groups", "mixes "+found+" and "+one)
		}
		if one != "" {
			found = one
		}
	}
	return found
}

// groups lists the config_groups.
func (d *decoder) groups(q *object) []*object {
	all := q.under("config_groups")
	if all == nil {
		return nil
	}
	var list []*object
	for _, k := range all.v.keys {
		if g := all.under(k); g != nil {
			list = append(list, g)
		}
	}
	return list
}

// scheme names the format of one group's weights.
func (d *decoder) scheme(w *object, format string) string {
	bits, kind := w.count("num_bits", 64), w.text("type")
	strategy, group := w.text("strategy"), int64(0)
	if v := w.get("group_size"); v != nil && v.text != "-1" && v.text != "0" {
		group = w.number("group_size", 1, mostWidth)
	}
	symmetric := w.flagOr("symmetric", true)
	switch {
	case format == "mxfp4-pack-quantized" || kind == "float" && bits == 4 && group == 32:
		return "mxfp4"
	case format == "nvfp4-pack-quantized" || kind == "float" && bits == 4 && group == 16:
		return "nvfp4"
	case kind == "float" && bits == 8 && strategy == "tensor":
		return "fp8-tensor"
	case kind == "float" && bits == 8 && strategy == "channel":
		return "fp8-channel"
	case kind == "float" && bits == 8 && strategy == "block":
		if size := w.numbers("block_structure", 2, mostWidth, "dimensions"); size != nil && size[0] == 128 && size[1] == 128 {
			return "fp8"
		}
	case kind == "int" && strategy == "group":
		return d.integer(w, "group_size", bits, group, !symmetric)
	case kind == "int" && strategy == "channel":
		return d.integer(w, "strategy", bits, -1, !symmetric)
	}
	w.inBytes("strategy", "says "+itoa(bits)+" bits of "+shown(kind)+" by "+shown(strategy)+", whose bytes are not known")
	return ""
}

// readKVScheme puts the cache format that the checkpoint was calibrated for first.
func (d *decoder) readKVScheme(q *object, m *roofline.Model) {
	for _, k := range []string{"kv_cache_scheme", "kv_cache_quant_algo"} {
		v := q.get(k)
		if v == nil {
			continue
		}
		fp8 := v.kind == '"' && (v.text == "FP8" || v.text == "static" && k == "kv_cache_scheme") // as AutoFP8 wrote it
		if v.kind == '{' {
			s := q.under(k)
			fp8 = s.text("type") == "float" && s.countOr("num_bits", 64, 0) == 8
		}
		if !fp8 {
			q.wrong(k, "is "+v.kindName()+", whose size is not known; known: 8-bit floats")
			continue
		}
		firstKV(m, d.fp8KV(), q.key(k)+": the checkpoint was calibrated for fp8")
		d.note(q.key(k) + " asks for an 8-bit cache, so " + m.KV[0] + " is the KV format where none is asked for")
	}
}

// quantizationNeutral are keys of a quantization_config that no size depends on, or that
// are read elsewhere.
var quantizationNeutral = set(
	"quant_method", "quantization_status", "global_compression_ratio", "producer", "version", "quant_type",
	"activation_scheme", "is_checkpoint_fp8_serialized", "format", "config_groups", "ignore", "modules_to_not_convert",
	"ignored_layers", "exclude_modules", "desc_act", "static_groups", "true_sequential", "damp_percent", "damp_auto_increment",
	"model_name_or_path", "model_file_base_name", "model_seqlen", "checkpoint_format", "meta", "sym", "backend", "do_fuse",
	"exllama_config", "fuse_max_seq_len", "modules_to_fuse", "group_size", "pack_dtype", "dequantize", "swizzle_mode",
	"is_marlin_format", "dataset", "tokenizer", "batch_size", "use_cuda_fp16", "max_input_length", "module_name_preceding_first_block",
	"block_name_to_quantize", "pad_token_id", "cache_block_outputs", "use_exllama", "disable_exllama", "hyb_act", "quantizer",
)

func (o *object) unread() {
	for i, k := range o.v.keys {
		if !o.used[k] && o.v.values[i].kind != 'n' && !quantizationNeutral[k] {
			o.inBytes(k, "is not known: it may change the bytes")
		}
	}
}
