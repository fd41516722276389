package checkpoint

import (
	"maps"
	"slices"
	"strconv"
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
		"fbgemm_fp8": (*decoder).fbgemm, "bitsandbytes": (*decoder).bitsAndBytes, "auto-round": (*decoder).autoRound,
	}[method]
	m.Sources["weights"] = "" // not stated until it is understood
	const accepted = "known: auto-round, awq, bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq, modelopt, mxfp4"
	switch {
	case known:
	case method == "" && q.get("quant_method") == nil:
		q.inBytes("quant_method", "is missing, as in files of MLX, whose formats are not known here; "+accepted)
		d.get("quantization") // where MLX says the same again
		return
	case method != "":
		q.inBytes("quant_method", "is "+shown(method)+", whose bytes are not known; "+accepted)
		return
	default:
		return // told of: it is no text
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

// fbgemm is Meta's: a scale of 4 bytes on each output, of which the format counts 2.
func (d *decoder) fbgemm(q *object) string {
	d.note("quant_method fbgemm_fp8 is read as fp8-channel, whose scales have 2 bytes where the file has 4")
	return "fp8-channel"
}

// bitsAndBytes quantizes in the file or while loading; either way all but the head.
func (d *decoder) bitsAndBytes(q *object) string {
	four := q.flagOr("load_in_4bit", q.flagOr("_load_in_4bit", false))
	eight := q.flagOr("load_in_8bit", q.flagOr("_load_in_8bit", false))
	kind, double := q.text("bnb_4bit_quant_type"), q.flagOr("bnb_4bit_use_double_quant", false)
	q.oneOf("bnb_4bit_quant_storage", "uint8", "bfloat16", "float16", "float32", "torch.uint8") // of packs of the same bytes
	switch {
	case four == eight:
		q.inBytes("load_in_4bit", "and load_in_8bit are both "+strconv.FormatBool(four)+"; one of them true is accepted")
	case eight:
		d.note("quant_method bitsandbytes in 8 bits is read as int8, whose scales have 2 bytes where the file has 4")
		return "int8"
	case kind == "nf4" && double:
		return "nf4"
	default:
		q.inBytes("bnb_4bit_quant_type", "is "+shown(kind)+" with bnb_4bit_use_double_quant "+strconv.FormatBool(double)+", whose bytes are not known; known: nf4 with true")
	}
	return ""
}

// autoRound packs as GPTQ or AWQ do.
func (d *decoder) autoRound(q *object) string {
	packing := q.oneOf("packing_format", "auto_round:auto_gptq", "auto_round:gptq", "auto_gptq", "auto_round:auto_awq", "auto_round:awq", "auto_round")
	if kind := q.oneOf("data_type", "int", "int_sym", "int_asym"); kind == "" || strings.HasSuffix(packing, "awq") {
		return d.grouped4(q, "", "", !q.flagOr("sym", false))
	}
	return d.gptq(q)
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
	case bits == 8 && group == 128 && !zeroPoints:
		return "int8-g128"
	case bits == 4 && group == 64 && zeroPoints:
		return "int4-zp-g64"
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
	q.inBytes(k, "says "+itoa(bits)+" bits in "+groups+", whose bytes are not known; known: 4 bits in groups of 128, of 64 with zero points, or of 32 without; 8 bits in groups of 128 or with one scale an output, without zero points")
	return ""
}

// modelopt is NVIDIA's form.
func (d *decoder) modelopt(q *object) string {
	algo := q.text("quant_algo")
	if bits, ok := map[string]string{"FP8": "8", "NVFP4": "4", "W4A16_NVFP4": "4"}[algo]; ok {
		for _, g := range d.groups(q) {
			if w := g.under("weights"); w != nil {
				if v := w.get("num_bits"); v != nil && v.text != bits {
					w.inBytes("num_bits", "is "+v.kindName()+" where quant_algo is "+algo+"; "+bits+" is accepted")
				}
				if v := w.get("type"); v != nil && v.text != "float" {
					w.inBytes("type", "is "+v.kindName()+" where quant_algo is "+algo+"; float is accepted")
				}
			}
		}
	}
	switch algo {
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

// packs is what the formats that name it pack.
var packs = map[string]struct {
	kind string
	bits int64
	says string
}{
	"float-quantized": {"float", 8, "8 bits of float"}, "int-quantized": {"int", 8, "8 bits of int"}, "pack-quantized": {"int", 0, "int"},
	"nvfp4-pack-quantized": {"float", 4, "4 bits of float"}, "mxfp4-pack-quantized": {"float", 4, "4 bits of float"},
}

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
	switch groups := q.under("config_groups"); {
	case groups != nil && len(groups.v.keys) == 0:
		q.wrong("config_groups", "is empty; the scheme of the weights is needed")
	case !q.has("config_groups"):
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
	if of, ok := packs[format]; ok && bits > 0 && kind != "" && (kind != of.kind || of.bits != 0 && bits != of.bits) {
		w.inBytes("num_bits", "and type say "+itoa(bits)+" bits of "+shown(kind)+" where format is "+format+", which packs "+of.says)
		return ""
	}
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
	"is_marlin_format", "activation_scale_ub", "bnb_4bit_compute_dtype", "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight",
	"llm_int8_threshold", "llm_int8_skip_modules", "autoround_version", "iters", "nsamples", "seqlen", "lr", "minmax_lr", "low_gpu_mem_usage",
	"enable_quanted_input", "enable_minmax_tuning", "gradient_accumulate_steps", "scale_dtype", "amp", "train_bs",
	"load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "dataset", "tokenizer", "batch_size", "use_cuda_fp16", "max_input_length", "module_name_preceding_first_block",
	"block_name_to_quantize", "pad_token_id", "cache_block_outputs", "use_exllama", "disable_exllama", "hyb_act", "quantizer",
)

func (o *object) unread() {
	for i, k := range o.v.keys {
		if !o.used[k] && o.v.values[i].kind != 'n' && !quantizationNeutral[k] {
			o.inBytes(k, "is not known: it may change the bytes")
		}
	}
}
