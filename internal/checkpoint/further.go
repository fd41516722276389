package checkpoint

import (
	"strconv"

	"rowproof/internal/roofline"
)

func gemma(d *decoder) {
	a := d.heads(256)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.all(a, d.dense(false), 2)
}

func seedOSS(d *decoder) {
	a := d.heads(128)
	a.QKVBias = d.flagOr("attention_bias", true)
	a.OutputBias = d.flagOr("attention_out_bias", false)
	d.all(a, d.dense(d.flagOr("mlp_bias", false)), 2)
}

func ernie(d *decoder) {
	bias := d.flagOr("use_bias", false)
	a := d.heads(0)
	a.QKVBias, a.OutputBias = bias, bias
	d.all(a, d.dense(bias), 2)
}

func olmo3(d *decoder) {
	a := d.heads(0)
	a.QKNormWide = true
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.slide(d.types(every(4), full, sliding), d.window(4096), a, d.dense(false), 2)
}

// exaone4 slides all but each n-th layer where it has a window at all.
func exaone4(d *decoder) {
	a := d.heads(0)
	a.QKNorm = true
	window := d.window(4096)
	rule := func(int64) string { return full }
	if v := d.get("sliding_window_pattern"); v != nil && v.kind == '"' {
		if v.text != "LLLG" && v.text != "" {
			d.wrong("sliding_window_pattern", "is "+v.kindName()+"; LLLG or a whole number is accepted")
		}
		rule = every(4)
	} else if n := d.countOr("sliding_window_pattern", mostLayers, 4); n > 0 {
		rule = every(n)
	}
	if window == 0 {
		rule = func(int64) string { return full }
	}
	d.slide(d.types(rule, full, sliding), window, a, d.dense(false), 2)
}

// cohere2 runs attention and network side by side behind one norm.
func cohere2(d *decoder) {
	a := d.heads(0)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	pattern := d.countOr("sliding_window_pattern", mostLayers, d.countOr("_sliding_window_pattern", mostLayers, 4))
	if pattern == 0 {
		return
	}
	d.must("use_qk_norm", "false")
	for _, k := range []string{"use_gated_activation", "use_parallel_block", "use_embedding_sharing"} {
		d.must(k, "true")
	}
	d.must("layer_switch", itoa(pattern))
	d.get("order_of_interleaved_layers") // local before global, as ever
	d.slide(d.types(every(pattern), full, sliding), d.window(4096), a, d.dense(false), 1)
}

func graniteMoE(d *decoder) {
	a := d.heads(0)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	f := d.routed(d.count("num_local_experts", mostCount), d.count("num_experts_per_tok", mostCount), d.count("intermediate_size", mostWidth))
	if d.family == "granitemoeshared" {
		f.SharedWidth = d.numberOr("shared_intermediate_size", mostWidth, 0)
	}
	d.all(a, f, 2)
}

func dots1(d *decoder) {
	a := d.heads(0)
	a.QKNorm = true
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	f := d.sharedExperts()
	f.RouterBias = true
	if d.has("sliding_window") && !d.has("layer_types") && d.numberOr("max_window_layers", mostLayers, 62) < d.depth {
		d.wrong("max_window_layers", "is less than num_hidden_layers, and engines differ about which layers slide; accepted: layer_types")
	}
	d.numberOr("max_window_layers", mostLayers, 0)
	d.mixed(a, f, d.firstDense(0), 2)
}

func ernieMoE(d *decoder) {
	a := d.heads(0)
	d.must("use_bias", "false")
	f := d.routed(d.count("moe_num_experts", mostCount), d.count("moe_k", mostCount), d.count("moe_intermediate_size", mostWidth))
	f.SharedWidth = d.numberOr("moe_num_shared_experts", mostCount, 2) * f.Width
	f.RouterBias = d.flagOr("moe_use_aux_free", true)
	first, interval := d.numberOr("moe_layer_start_index", mostLayers, 1), d.countOr("moe_layer_interval", mostLayers, 1)
	last := d.depth - 1
	if v := d.get("moe_layer_end_index"); v != nil && v.text != "-1" {
		last = d.number("moe_layer_end_index", 0, mostLayers)
	}
	d.mixed(a, f, func(i int64) bool { return interval > 0 && (i+1)%interval == 0 && i >= first && i <= last }, 2)
}

// miMoV2 has layers of two kinds of heads: those that slide have their own counts, and
// sinks.
func miMoV2(d *decoder) {
	a := d.heads(192)
	a.ValueDim = d.countOr("v_head_dim", mostCount, 128)
	a.Sinks = d.flagOr("add_full_attention_sink_bias", false)
	d.must("attention_bias", "false")
	slides := a
	slides.Heads = d.countOr("swa_num_attention_heads", mostCount, a.Heads)
	slides.KVHeads = d.countOr("swa_num_key_value_heads", mostCount, a.KVHeads)
	slides.HeadDim = d.countOr("swa_head_dim", mostCount, a.HeadDim)
	slides.ValueDim = d.countOr("swa_v_head_dim", mostCount, a.ValueDim)
	slides.Sinks = d.flagOr("add_swa_attention_sink_bias", true)
	slides.Window = d.window(128)
	d.numberOr("sliding_window_size", mostContext, 0)
	d.numberOr("attention_chunk_size", mostContext, 0)
	f := d.sharedExperts()
	f.RouterBias = d.correctsRouting()
	pattern := d.numbers("hybrid_layer_pattern", d.depth, 1, "layers")
	words := d.types(func(i int64) string {
		if pattern != nil && pattern[i] == 1 || pattern == nil && i != 0 && (i+1)%6 != 0 {
			return sliding
		}
		return full
	}, full, sliding)
	sparse := func(i int64) bool { return i > 0 }
	if v := d.get("moe_layer_freq"); v != nil && v.kind == '[' {
		if freq := d.numbers("moe_layer_freq", d.depth, 1, "layers"); freq != nil {
			sparse = func(i int64) bool { return freq[i] == 1 }
		}
	}
	for i, word := range words {
		one, network := a, f
		if word == sliding {
			one = slides
		}
		if !sparse(int64(i)) {
			network = d.denseOnce()
		}
		d.layer(roofline.Layer{Attention: one, FFN: network, Norms: 2})
	}
	d.note("modules that predict further tokens are not stated, and left out")
}

// nemotronNAS has blocks that a search made each of its own: fewer key-value heads, other
// widths, or no part at all.
func nemotronNAS(d *decoder) {
	heads := d.count("num_attention_heads", mostCount)
	d.must("attention_bias", "false")
	d.must("mlp_bias", "false")
	dim := d.countOr("head_dim", mostCount, 0)
	if dim == 0 && heads > 0 {
		dim = d.a.Hidden / heads
	}
	blocks := d.list("block_configs", d.depth, "layers")
	if blocks == nil {
		d.wrong("block_configs", "is missing; one for each layer is needed")
		return
	}
	for i := range blocks {
		at := "block_configs[" + strconv.Itoa(i) + "]"
		if blocks[i].kind != '{' {
			d.wrong(at, "is "+blocks[i].kindName()+"; an object is accepted")
			return
		}
		b := d.p.object(d.key(at), &blocks[i])
		l := roofline.Layer{Attention: none, FFN: roofline.FFN{Kind: roofline.None}}
		if t := b.under("attention"); t != nil && !t.flagOr("no_op", false) {
			t.must("replace_with_linear", "false")
			for _, k := range []string{"window_length", "sparsify", "num_sink_tokens"} {
				t.must(k, "null")
			}
			group := t.count("n_heads_in_group", mostCount)
			if group == 0 || heads == 0 || heads%group != 0 {
				t.wrong("n_heads_in_group", "does not divide "+itoa(heads)+" heads")
				return
			}
			l.Attention = roofline.Attention{Kind: roofline.GQA, Heads: heads, KVHeads: heads / group, HeadDim: dim}
			l.Norms++
		}
		if f := b.under("ffn"); f != nil && !f.flagOr("no_op", false) {
			f.must("replace_with_linear", "false")
			l.FFN = roofline.FFN{Kind: roofline.Dense, Width: f.multiplied("ffn_mult", d.a.Hidden)}
			l.Norms++
		}
		d.layer(l)
	}
	for _, k := range []string{"intermediate_size", "num_key_value_heads"} {
		d.get(k)
	}
}

// multiplied is two thirds of a multiple of hidden_size, rounded up to 256.
func (o *object) multiplied(k string, hidden int64) int64 {
	v := o.get(k)
	if v == nil {
		o.wrong(k, "is missing; a number above 0 is needed")
		return 0
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if v.kind != '0' || err != nil || !(f > 0 && f <= 1024) {
		o.wrong(k, "is "+v.kindName()+"; a number above 0 and up to 1024 is accepted")
		return 0
	}
	return (int64(2*f*float64(hidden)/3) + 255) / 256 * 256
}
