package checkpoint

import "rowproof/internal/roofline"

// heads reads grouped-query attention: as many key-value heads as heads where the file
// does not say, and an explicit head_dim before hidden_size ÷ heads. headDim is the
// type's own default; 0 where it has none.
func (d *decoder) heads(headDim int64) roofline.Attention {
	return d.headsOr(d.count("num_attention_heads", mostCount), 0, headDim)
}

func (d *decoder) headsOr(heads, kvHeads, headDim int64) roofline.Attention {
	if kvHeads == 0 {
		kvHeads = heads
	}
	a := roofline.Attention{Kind: roofline.GQA, Heads: heads, KVHeads: d.countOr("num_key_value_heads", mostCount, kvHeads)}
	if a.Heads > 0 && a.KVHeads > 0 && a.Heads%a.KVHeads != 0 {
		d.wrong("num_key_value_heads", "is "+itoa(a.KVHeads)+", among which "+itoa(a.Heads)+" heads do not divide evenly; a divisor is accepted")
	}
	switch {
	case d.has("head_dim"):
		a.HeadDim = d.number("head_dim", 1, mostCount)
	case headDim != 0:
		a.HeadDim = headDim
	case a.Heads > 0 && d.a.Hidden%a.Heads != 0:
		d.wrong("head_dim", "is missing, and hidden_size "+itoa(d.a.Hidden)+" does not divide by "+itoa(a.Heads)+" heads; a whole number is needed")
	case a.Heads > 0:
		a.HeadDim = d.a.Hidden / a.Heads
	}
	return a
}

func (d *decoder) dense(bias bool) roofline.FFN {
	return roofline.FFN{Kind: roofline.Dense, Width: d.count("intermediate_size", mostWidth), Bias: bias}
}

// all adds as many equal layers as the model has.
func (d *decoder) all(a roofline.Attention, f roofline.FFN, norms int64) {
	for range d.depth {
		d.layer(roofline.Layer{Attention: a, FFN: f, Norms: norms})
	}
}

// Words of layer_types.
const (
	full    = "full_attention"
	sliding = "sliding_attention"
	chunked = "chunked_attention"
	linear  = "linear_attention"
)

// types says of each layer what it is: by layer_types where the file has them, which wins
// over every other key, else by the type's own rule.
func (d *decoder) types(rule func(i int64) string, accepted ...string) []string {
	if d.has("layer_types") {
		if words := d.words("layer_types", d.depth, accepted...); words != nil {
			d.note("layer_types says which layers are which")
			return words
		}
	}
	words := make([]string, d.depth)
	for i := range words {
		words[i] = rule(int64(i))
	}
	return words
}

// slide adds layers of which those called sliding see a window.
func (d *decoder) slide(words []string, window int64, a roofline.Attention, f roofline.FFN, norms int64) {
	for _, word := range words {
		one := a
		if word == sliding {
			one.Window = window
		}
		d.layer(roofline.Layer{Attention: one, FFN: f, Norms: norms})
	}
}

// window is sliding_window, or the default of the type; 0 where it is null.
func (d *decoder) window(otherwise int64) int64 {
	if d.stated("sliding_window") {
		return d.countOr("sliding_window", mostContext, 0)
	}
	return otherwise
}

func llama(d *decoder) {
	a := d.heads(0)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.all(a, d.dense(d.flagOr("mlp_bias", false)), 2)
}

// mistral slides on every layer unless sliding_window is null; a file without the key has
// the 4,096 of its class.
func mistral(d *decoder) {
	window := d.window(4096)
	rule := func(int64) string { return sliding }
	if window == 0 {
		rule = func(int64) string { return full }
	} else {
		d.note("sliding_window " + itoa(window) + " slides on all layers")
	}
	d.slide(d.types(rule, full, sliding), window, d.heads(0), d.dense(false), 2)
}

// upperWindow is Qwen's rule: nothing slides unless use_sliding_window is true, and then
// the layers whose index is at least max_window_layers do, which is what runs, whatever
// the documentation says.
func (d *decoder) upperWindow() (words []string, window int64) {
	from := d.numberOr("max_window_layers", mostLayers, 28)
	window = d.window(4096)
	on := d.flagOr("use_sliding_window", false)
	rule := func(i int64) string {
		if on && window > 0 && i >= from {
			return sliding
		}
		return full
	}
	explicit := d.has("layer_types")
	words = d.types(rule, full, sliding)
	switch {
	case explicit:
	case on && window > 0:
		d.note("use_sliding_window: layers with index >= max_window_layers (" + itoa(from) + ") slide over " + itoa(window))
	case window > 0 && d.has("sliding_window"):
		d.note("sliding_window is off: use_sliding_window is not true")
	}
	return words, window
}

func qwen2(d *decoder) {
	words, window := d.upperWindow()
	a := d.heads(0)
	a.QKVBias = true
	d.slide(words, window, a, d.dense(false), 2)
}

func qwen3(d *decoder) {
	words, window := d.upperWindow()
	a := d.heads(128)
	a.QKNorm = true
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.slide(words, window, a, d.dense(false), 2)
}

// every slides all layers but each n-th.
func every(n int64) func(int64) string {
	return func(i int64) string {
		if (i+1)%n == 0 {
			return full
		}
		return sliding
	}
}

func gemma2(d *decoder) {
	a := d.heads(256)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.must("use_bidirectional_attention", "false")
	window := d.window(4096)
	d.must("sliding_window_size", itoa(window))
	d.slide(d.types(every(2), full, sliding), window, a, d.dense(false), 4)
}

func gemma3(d *decoder) {
	a := d.headsOr(d.countOr("num_attention_heads", mostCount, 8), 4, 256)
	a.QKNorm = true
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.must("use_bidirectional_attention", "false")
	pattern := d.countOr("sliding_window_pattern", mostLayers, d.countOr("_sliding_window_pattern", mostLayers, 6))
	if pattern == 0 {
		return
	}
	d.slide(d.types(every(pattern), full, sliding), d.window(4096), a, d.dense(false), 4)
}

func phi3(d *decoder) {
	window := d.window(0)
	rule := func(int64) string { return full }
	if window > 0 {
		rule = func(int64) string { return sliding }
		d.note("sliding_window " + itoa(window) + " slides on all layers")
	}
	d.must("full_attn_mod", "1")
	d.slide(d.types(rule, full, sliding), window, d.heads(0), d.dense(false), 2)
}

func olmo2(d *decoder) {
	a := d.heads(0)
	a.QKNormWide = true
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	d.all(a, d.dense(false), 2)
}

func glm4(d *decoder) {
	a := d.heads(128)
	a.QKVBias = d.flagOr("attention_bias", true)
	d.all(a, d.dense(false), 4)
}

func smollm3(d *decoder) {
	a := d.headsOr(d.countOr("num_attention_heads", mostCount, 16), 4, 0)
	a.QKVBias = d.flagOr("attention_bias", false)
	a.OutputBias = a.QKVBias
	f := d.dense(d.flagOr("mlp_bias", false))
	d.numberOr("max_window_layers", mostLayers, 0)
	if d.flagOr("use_sliding_window", false) && !d.has("layer_types") {
		d.wrong("use_sliding_window", "is true without layer_types, whose cost is not known; accepted: false, or layer_types")
	}
	d.slide(d.types(func(int64) string { return full }, full, sliding), d.window(0), a, f, 2)
}
