package checkpoint

import (
	"slices"

	"rowproof/internal/roofline"
)

// routed reads a mixture of experts whose keys are given; widths of 0 are none.
func (d *decoder) routed(experts, topK, width int64) roofline.FFN {
	f := roofline.FFN{Kind: roofline.MoE, Experts: experts, TopK: topK, Width: width}
	if f.Experts > 0 && f.TopK > f.Experts {
		d.wrong("num_experts_per_tok", "is "+itoa(f.TopK)+" of "+itoa(f.Experts)+" experts; at most as many are accepted")
	}
	return f
}

// renamed reads a count that stands under one of two names, or under both alike.
func (d *decoder) renamed(k, other string, most int64) int64 {
	a, b := d.has(k), d.has(other)
	if !a && b {
		return d.number(other, 1, most)
	}
	n := d.count(k, most)
	if a && b && n > 0 {
		if second := d.number(other, 1, most); second > 0 && second != n {
			d.wrong(other, "is "+itoa(second)+" where "+k+" is "+itoa(n)+"; the same is accepted")
		}
	}
	return n
}

func mixtral(d *decoder) {
	f := d.routed(d.renamed("num_local_experts", "num_experts", mostCount), d.count("num_experts_per_tok", mostCount),
		d.count("intermediate_size", mostWidth))
	window := d.window(0)
	rule := func(int64) string { return full }
	if window > 0 {
		rule = func(int64) string { return sliding }
		d.note("sliding_window " + itoa(window) + " slides on all layers")
	}
	d.slide(d.types(rule, full, sliding), window, d.heads(0), f, 2)
}

// sparseSteps says which layers are mixtures: those that mlp_only_layers does not list,
// on every decoder_sparse_step-th layer.
func (d *decoder) sparseSteps() func(i int64) bool {
	step := d.countOr("decoder_sparse_step", mostLayers, 1)
	only := d.numbers("mlp_only_layers", -1, mostLayers, "")
	return func(i int64) bool { return step > 0 && (i+1)%step == 0 && !slices.Contains(only, i) }
}

// noWindow refuses a window on types whose engines disagree about which layers slide.
func (d *decoder) noWindow() {
	if d.flagOr("use_sliding_window", false) && !d.has("layer_types") {
		d.wrong("use_sliding_window", "is true, and engines differ about which layers of a "+d.family+" slide; accepted: false, or layer_types")
	}
	d.numberOr("max_window_layers", mostLayers, 0)
}

// mixed adds layers that are mixtures where sparse says so, and dense elsewhere.
func (d *decoder) mixed(a roofline.Attention, moe roofline.FFN, sparse func(int64) bool, norms int64) {
	window := d.window(0)
	for i, word := range d.types(func(int64) string { return full }, full, sliding) {
		one, f := a, moe
		if word == sliding {
			one.Window = window
		}
		if !sparse(int64(i)) {
			f = d.denseOnce()
		}
		d.layer(roofline.Layer{Attention: one, FFN: f, Norms: norms})
	}
	d.get("intermediate_size")
}

// denseOnce reads the dense network, telling what is wrong with it once.
func (d *decoder) denseOnce() roofline.FFN {
	if d.denseFFN == nil {
		f := d.dense(false)
		d.denseFFN = &f
	}
	return *d.denseFFN
}

func qwen2MoE(d *decoder) {
	a := d.heads(0)
	a.QKVBias = d.flagOr("qkv_bias", true)
	f := d.routed(d.renamed("num_experts", "num_local_experts", mostCount), d.count("num_experts_per_tok", mostCount),
		d.count("moe_intermediate_size", mostWidth))
	f.SharedWidth = d.count("shared_expert_intermediate_size", mostWidth)
	f.SharedGate = true
	d.noWindow()
	d.mixed(a, f, d.sparseSteps(), 2)
}

func qwen3MoE(d *decoder) {
	a := d.heads(0)
	a.QKNorm = true
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	f := d.routed(d.renamed("num_experts", "num_local_experts", mostCount), d.count("num_experts_per_tok", mostCount),
		d.count("moe_intermediate_size", mostWidth))
	d.must("qkv_bias", "false")
	d.must("use_qk_norm", "true")
	d.must("shared_expert_intermediate_size", "0")
	d.noWindow()
	d.mixed(a, f, d.sparseSteps(), 2)
}

func gptOSS(d *decoder) {
	a := d.heads(64)
	a.QKVBias = d.flagOr("attention_bias", true)
	a.OutputBias = a.QKVBias
	a.Sinks = true
	f := d.routed(d.renamed("num_local_experts", "num_experts", mostCount),
		d.renamed("num_experts_per_tok", "experts_per_token", mostCount), d.count("intermediate_size", mostWidth))
	f.Bias, f.RouterBias = true, true
	d.slide(d.types(every(2), full, sliding), d.window(128), a, f, 2)
}

// firstDense says which layers are mixtures: by mlp_layer_types where the file has them,
// else those after the first few, on every moe_layer_freq-th.
func (d *decoder) firstDense(otherwise int64) func(i int64) bool {
	first := d.numberOr("first_k_dense_replace", mostLayers, otherwise)
	if first > d.depth && d.depth > 0 {
		d.wrong("first_k_dense_replace", "is "+itoa(first)+" of "+itoa(d.depth)+" layers; at most as many are accepted")
	}
	every := d.countOr("moe_layer_freq", mostLayers, 1)
	if words := d.words("mlp_layer_types", d.depth, "dense", "sparse"); words != nil {
		return func(i int64) bool { return words[i] == "sparse" }
	}
	return func(i int64) bool { return i >= first && every > 0 && i%every == 0 }
}

// sharedExperts reads the routed and shared experts as DeepSeek names them.
func (d *decoder) sharedExperts() roofline.FFN {
	f := d.routed(d.renamed("n_routed_experts", "num_experts", mostCount), d.count("num_experts_per_tok", mostCount),
		d.count("moe_intermediate_size", mostWidth))
	f.SharedWidth = d.numberOr("n_shared_experts", mostCount, 0) * f.Width
	return f
}

// nextN adds the modules that predict further tokens: each a layer as the last one is.
func (d *decoder) nextN(last roofline.Layer) {
	n := d.numberOr("num_nextn_predict_layers", mostLayers, 0)
	if n == 0 {
		n = d.numberOr("num_mtp_layers", mostLayers, 0)
	}
	if n > 0 {
		last.Count = 1
		d.a.MTP = &roofline.MTP{Modules: n, Layer: last}
	}
}

func glm4MoE(d *decoder) {
	a := d.heads(0)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.QKNorm = d.flagOr("use_qk_norm", false)
	f := d.sharedExperts()
	f.RouterBias = true
	d.mixed(a, f, d.firstDense(1), 2)
	d.nextN(roofline.Layer{Attention: a, FFN: f, Norms: 2})
}

// llama4 has chunks on the layers that rotate positions, which no_rope_layers marks with
// a 1 (so the key reads the other way round than it is named), and mixtures on every
// interleave_moe_layer_step-th layer, each beside one shared expert. Its norm of queries
// and keys has no weights.
func llama4(d *decoder) {
	a := d.headsOr(d.count("num_attention_heads", mostCount), 0, 128)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.flagOr("use_qk_norm", true)
	width := d.count("intermediate_size", mostWidth)
	moe := d.routed(d.renamed("num_local_experts", "num_experts", mostCount), d.count("num_experts_per_tok", mostCount), width)
	moe.SharedWidth = width
	dense := roofline.FFN{Kind: roofline.Dense, Width: d.count("intermediate_size_mlp", mostWidth)}

	step := d.countOr("interleave_moe_layer_step", mostLayers, 1)
	sparse := func(i int64) bool { return step > 0 && (i+1)%step == 0 }
	if d.has("moe_layers") {
		which := d.numbers("moe_layers", -1, mostLayers, "")
		sparse = func(i int64) bool { return slices.Contains(which, i) }
	}
	chunk := int64(8192)
	if d.stated("attention_chunk_size") {
		chunk = d.countOr("attention_chunk_size", mostContext, 0)
	}
	interval := d.countOr("no_rope_layer_interval", mostLayers, 4)
	rotates := func(i int64) bool { return interval > 0 && (i+1)%interval != 0 }
	if v := d.get("no_rope_layers"); v != nil && !(v.kind == '[' && len(v.values) == 0) {
		if marks := d.numbers("no_rope_layers", d.depth, 1, "layers"); marks != nil {
			rotates = func(i int64) bool { return marks[i] == 1 }
		}
	}
	rule := func(i int64) string {
		if rotates(i) && chunk > 0 {
			return chunked
		}
		return full
	}
	for i, word := range d.types(rule, full, chunked) {
		one, f := a, dense
		if word == chunked {
			one.Chunk = chunk
		}
		if sparse(int64(i)) {
			f = moe
		}
		d.layer(roofline.Layer{Attention: one, FFN: f, Norms: 2})
	}
}

// miniMaxM2 states modules that predict further tokens; no published checkpoint has their
// weights, and the reference implementation builds none.
func miniMaxM2(d *decoder) {
	a := d.heads(128)
	if d.flagOr("use_qk_norm", true) {
		a.QKNormWide = d.oneOf("qk_norm_type", "per_layer") == "per_layer"
	}
	f := d.routed(d.renamed("num_local_experts", "num_experts", mostCount), d.count("num_experts_per_tok", mostCount),
		d.count("intermediate_size", mostWidth))
	f.RouterBias = d.flagOr("use_routing_bias", true)
	d.must("shared_intermediate_size", "0")
	for i, v := range d.list("attn_type_list", d.depth, "layers") {
		if v.kind != '0' || v.text != "1" {
			d.wrong("attn_type_list["+itoa(int64(i))+"]", "is "+v.kindName()+", whose cost is not known; accepted: 1 (full attention)")
			break
		}
	}
	d.must("sliding_window", "null")
	if d.flagOr("use_mtp", false) {
		d.note("the modules that use_mtp speaks of are in no published checkpoint, and left out")
	}
	d.numberOr("mlp_intermediate_size", mostWidth, 0) // of dense layers, which it has none of
	d.numberOr("num_mtp_modules", mostLayers, 0)
	d.numberOr("mtp_transformer_layers", mostLayers, 0)
	d.all(a, f, 2)
}
