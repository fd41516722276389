package checkpoint

import (
	"slices"
	"strconv"

	"rowproof/internal/roofline"
)

// lfm2 mixes tokens by short convolutions, and by attention on the layers that
// full_attn_idxs or layer_types name.
func lfm2(d *decoder) {
	f := roofline.FFN{Kind: roofline.Dense, Width: d.adjustedWidth()}
	d.convolutions(func(int64) roofline.FFN { return f })
}

func lfm2MoE(d *decoder) {
	moe := d.routed(d.count("num_experts", mostCount), d.count("num_experts_per_tok", mostCount), d.count("moe_intermediate_size", mostWidth))
	moe.RouterBias = d.flagOr("use_expert_bias", true)
	dense := d.dense(false)
	first := d.numberOr("num_dense_layers", mostLayers, 2)
	if first > d.depth && d.depth > 0 {
		d.wrong("num_dense_layers", "is "+itoa(first)+" of "+itoa(d.depth)+" layers; at most as many are accepted")
	}
	d.convolutions(func(i int64) roofline.FFN {
		if i < first {
			return dense
		}
		return moe
	})
}

func (d *decoder) convolutions(network func(i int64) roofline.FFN) {
	a := d.heads(0)
	a.QKNorm = true
	for _, k := range []string{"block_dim", "conv_dim", "conv_dim_out"} {
		d.must(k, itoa(d.a.Hidden))
	}
	d.must("num_heads", itoa(a.Heads))
	d.must("block_use_swiglu", "true")
	d.must("conv_bias", "false")
	conv := roofline.Attention{Kind: roofline.Conv, State: &roofline.State{
		ValueHeads: 1, ValueDim: d.a.Hidden, Conv: d.countOr("conv_L_cache", mostCount, 3),
	}}
	which := d.numbers("full_attn_idxs", -1, mostLayers, "")
	stated := d.has("full_attn_idxs")
	if d.has("tie_embedding") {
		d.a.TiedHead = d.flagOr("tie_embedding", true)
	}
	for i, word := range d.types(func(i int64) string {
		if !stated || slices.Contains(which, i) {
			return full
		}
		return "conv"
	}, full, "conv") {
		one := a
		if word == "conv" {
			one = conv
		}
		d.layer(roofline.Layer{Attention: one, FFN: network(int64(i)), Norms: 2})
	}
}

// adjustedWidth is LFM2's rule for the width of its network: two thirds of what is
// stated, times a factor, rounded up to a multiple.
func (d *decoder) adjustedWidth() int64 {
	k := "intermediate_size"
	if d.has("block_ff_dim") {
		d.get(k)
		k = "block_ff_dim"
	}
	width := d.count(k, mostWidth)
	multiple := d.countOr("block_multiple_of", mostWidth, 256)
	factor := 1.0
	if v := d.get("block_ffn_dim_multiplier"); v != nil {
		f, err := strconv.ParseFloat(v.text, 64)
		if v.kind != '0' || err != nil || !(f > 0 && f <= 1024) {
			d.wrong("block_ffn_dim_multiplier", "is "+v.kindName()+"; a number above 0 and up to 1024 is accepted")
			return width
		}
		factor = f
	}
	if !d.flagOr("block_auto_adjust_ff_dim", true) || multiple == 0 {
		return width
	}
	width = int64(factor * float64(2*width/3))
	return (width + multiple - 1) / multiple * multiple
}

// gatedDelta reads layers of which most keep a state by the gated delta rule, and every
// n-th has attention whose output is gated.
func (d *decoder) gatedDelta() (delta, attention roofline.Attention, words []string) {
	attention = d.heads(256)
	attention.QKNorm = true
	attention.OutputGate = d.flagOr("attn_output_gate", true)
	attention.QKVBias = d.flagOr("attention_bias", false)
	attention.OutputBias = attention.QKVBias
	delta = roofline.Attention{Kind: roofline.Linear, State: &roofline.State{
		KeyHeads:   d.countOr("linear_num_key_heads", mostCount, 16),
		KeyDim:     d.countOr("linear_key_head_dim", mostCount, 128),
		ValueHeads: d.countOr("linear_num_value_heads", mostCount, 32),
		ValueDim:   d.countOr("linear_value_head_dim", mostCount, 128),
		Conv:       d.countOr("linear_conv_kernel_dim", mostCount, 4),
		Bytes:      d.stateBytes("mamba_ssm_dtype"),
	}}
	every := d.countOr("full_attention_interval", mostLayers, 4)
	words = d.types(func(i int64) string {
		if every > 0 && (i+1)%every == 0 {
			return full
		}
		return linear
	}, full, linear)
	return delta, attention, words
}

// stateBytes is the size of an element of a state, 0 for the usual 4.
func (d *decoder) stateBytes(k string) int64 {
	switch d.oneOf(k, "float32", "bfloat16", "float16") {
	case "bfloat16", "float16":
		return 2
	}
	return 0
}

func (d *decoder) deltaLayers(network func(i int64) roofline.FFN) {
	delta, attention, words := d.gatedDelta()
	for i, word := range words {
		one := attention
		if word == linear {
			one = delta
		}
		d.layer(roofline.Layer{Attention: one, FFN: network(int64(i)), Norms: 2})
	}
	d.must("mtp_use_dedicated_embeddings", "false")
	n := d.numberOr("mtp_num_hidden_layers", mostLayers, 0)
	if d.family == "qwen3_next" {
		d.note("modules that predict further tokens are not stated, and left out")
	}
	if n > 0 && d.depth > 0 {
		d.a.MTP = &roofline.MTP{Modules: n, Layer: roofline.Layer{Count: 1, Attention: attention, FFN: network(d.depth - 1), Norms: 2}}
	}
}

func qwen3Next(d *decoder) {
	f := d.routed(d.renamed("num_experts", "num_local_experts", mostCount), d.count("num_experts_per_tok", mostCount),
		d.count("moe_intermediate_size", mostWidth))
	f.SharedWidth = d.count("shared_expert_intermediate_size", mostWidth)
	f.SharedGate = true
	sparse := d.sparseSteps()
	d.deltaLayers(func(i int64) roofline.FFN {
		if sparse(i) {
			return f
		}
		return d.denseOnce()
	})
	d.get("intermediate_size")
}

func qwen35(d *decoder) {
	f := d.dense(false)
	d.list("mlp_only_layers", 0, "layers")
	d.deltaLayers(func(int64) roofline.FFN { return f })
}

// mamba reads a Mamba 2 mixer, whose keys are named by each family in its own way.
func (d *decoder) mamba(heads, headDim, groups, state, conv, convBias string) roofline.Attention {
	return roofline.Attention{Kind: roofline.Mamba, State: &roofline.State{
		KeyHeads:   d.countOr(groups, mostCount, 8),
		KeyDim:     d.count(state, mostCount),
		ValueHeads: d.count(heads, mostCount),
		ValueDim:   d.count(headDim, mostCount),
		Conv:       d.countOr(conv, mostCount, 4),
		ConvBias:   d.flagOr(convBias, true),
		Bytes:      d.stateBytes("mamba_ssm_cache_dtype"),
	}}
}

// none is what stands in place of a part that a layer has not.
var none = roofline.Attention{Kind: roofline.None}

func mamba2(d *decoder) {
	a := d.mamba("num_heads", "head_dim", "n_groups", "state_size", "conv_kernel", "use_conv_bias")
	d.expands(a)
	d.must("use_bias", "false")
	d.must("intermediate_size", itoa(a.State.ValueHeads*a.State.ValueDim))
	d.all(a, roofline.FFN{Kind: roofline.None}, 1)
}

// expands holds the inner width of a Mamba layer against expand × hidden_size.
func (d *decoder) expands(a roofline.Attention) {
	if k := "expand"; d.has(k) {
		if n := d.number(k, 1, mostCount); n > 0 && a.State.ValueHeads > 0 && a.State.ValueDim > 0 && n*d.a.Hidden != a.State.ValueHeads*a.State.ValueDim {
			d.note("the inner width is " + itoa(a.State.ValueHeads) + " heads of " + itoa(a.State.ValueDim) + ", not expand × hidden_size")
		}
	}
}

// nemotronH has one part a layer: a mixer or a network, each behind one norm.
func nemotronH(d *decoder) {
	attention := d.heads(d.countOr("attention_head_dim", mostCount, 128))
	mamba := d.mamba("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel", "use_conv_bias")
	d.expands(mamba)
	for _, k := range []string{"attention_bias", "mlp_bias", "use_bias", "mamba_proj_bias"} {
		d.must(k, "false")
	}
	d.must("mlp_hidden_act", "relu2")
	d.must("sliding_window", "null")
	network := roofline.FFN{Kind: roofline.None}
	var moe, dense roofline.FFN
	for _, word := range d.nemotronTypes() {
		switch word {
		case "M":
			d.layer(roofline.Layer{Attention: mamba, FFN: network, Norms: 1})
		case "*":
			d.layer(roofline.Layer{Attention: attention, FFN: network, Norms: 1})
		case "-":
			if dense.Kind == "" {
				dense = d.dense(false)
				dense.Ungated = true
			}
			d.layer(roofline.Layer{Attention: none, FFN: dense, Norms: 1})
		case "E":
			if moe.Kind == "" {
				moe = d.routed(d.count("n_routed_experts", mostCount), d.count("num_experts_per_tok", mostCount), d.count("moe_intermediate_size", mostWidth))
				moe.SharedWidth = d.numberOr("moe_shared_expert_intermediate_size", mostWidth, 0)
				moe.Ungated, moe.RouterBias = true, true
				if d.has("moe_latent_size") {
					d.wrong("moe_latent_size", "is "+d.get("moe_latent_size").kindName()+": experts of another width than hidden_size, whose cost is not known; accepted: null")
				}
			}
			d.layer(roofline.Layer{Attention: none, FFN: moe, Norms: 1})
		}
	}
	for _, k := range []string{"intermediate_size", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts",
		"moe_shared_expert_intermediate_size", "moe_latent_size", "mtp_hybrid_override_pattern", "mtp_layers_block_type"} {
		d.get(k)
	}
	if d.numberOr("num_nextn_predict_layers", mostLayers, 0) > 0 {
		d.note("modules that predict further tokens are left out")
	}
}

// nemotronTypes says what each layer is: by layers_block_type, or by a pattern of M for
// Mamba, * for attention, - for a network and E for experts.
func (d *decoder) nemotronTypes() []string {
	letters := map[string]string{"mamba": "M", "linear_attention": "M", "attention": "*", full: "*", "mlp": "-", "moe": "E"}
	words := d.words("layers_block_type", d.depth, "mamba", "linear_attention", "attention", full, "mlp", "moe")
	for i := range words {
		words[i] = letters[words[i]]
	}
	pattern := d.text("hybrid_override_pattern")
	if words != nil || d.has("layers_block_type") {
		return words
	}
	if int64(len(pattern)) != d.depth {
		d.wrong("hybrid_override_pattern", "has "+strconv.Itoa(len(pattern))+" letters; one for each of the "+itoa(d.depth)+" layers is accepted")
		return nil
	}
	for i := range pattern {
		if letter := pattern[i : i+1]; letter == "M" || letter == "*" || letter == "-" || letter == "E" {
			words = append(words, letter)
		} else {
			d.wrong("hybrid_override_pattern", "has "+shown(letter)+" at place "+strconv.Itoa(i)+"; M, *, - and E are accepted")
			return nil
		}
	}
	return words
}

// graniteHybrid puts Mamba or attention before experts, or before its shared network
// alone where it has none.
func graniteHybrid(d *decoder) {
	attention := d.heads(0)
	attention.QKVBias = d.flagOr("attention_bias", false)
	attention.OutputBias = attention.QKVBias
	shared := d.count("shared_intermediate_size", mostWidth)
	f := roofline.FFN{Kind: roofline.Dense, Width: shared}
	if d.numberOr("num_local_experts", mostCount, 0) > 0 {
		f = d.routed(d.count("num_local_experts", mostCount), d.count("num_experts_per_tok", mostCount), d.count("intermediate_size", mostWidth))
		f.SharedWidth = shared
	}
	d.get("intermediate_size")
	d.get("num_experts_per_tok")
	for _, k := range []string{"mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv", "mamba_conv_bias", "mamba_expand"} {
		d.get(k)
	}
	words := d.words("layer_types", d.depth, "mamba", linear, "attention", full)
	if other := d.words("layers_block_type", d.depth, "mamba", linear, "attention", full); words == nil {
		words = other
	}
	if words == nil {
		d.wrong("layer_types", "is missing; mamba or attention for each layer is needed")
		return
	}
	var mamba roofline.Attention
	if slices.Contains(words, "mamba") || slices.Contains(words, linear) {
		if v := d.get("mamba_d_head"); v != nil && v.text == "auto" {
			d.wrong("mamba_d_head", "is auto; a whole number is needed")
			return
		}
		mamba = d.mamba("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv", "mamba_conv_bias")
	}
	d.must("mamba_proj_bias", "false")
	for _, word := range words {
		one := attention
		if word == "mamba" || word == linear {
			one = mamba
		}
		d.layer(roofline.Layer{Attention: one, FFN: f, Norms: 2})
	}
}
