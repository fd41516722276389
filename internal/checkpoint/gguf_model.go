package checkpoint

import (
	"maps"
	"slices"
	"strings"

	"rowproof/internal/roofline"
)

// ggufRules are what the metadata of an architecture leave unsaid, as llama.cpp builds it.
type ggufRules struct {
	norms    int64 // of a layer
	qkvBias  bool
	qkNorm   bool
	outBias  bool
	sinks    bool
	bias     bool  // on each matrix of the experts, and on the router
	tied     bool  // where no tensor says so
	swaEvery int64 // each so many-th layer sees all, the others slide; 0: none does
	window   int64 // where the metadata state none
	swaOff   bool  // a window that is stated is not applied
	conv     bool  // layers without key-value heads are short convolutions
	delta    bool  // all but each full_attention_interval-th layer keep a state; attention has an output gate
}

// ggufFamilies are the architectures whose metadata are understood.
var ggufFamilies = map[string]ggufRules{
	"llama":     {norms: 2},
	"mistral3":  {norms: 2},
	"qwen2":     {norms: 2, qkvBias: true},
	"qwen3":     {norms: 2, qkNorm: true},
	"qwen3moe":  {norms: 2, qkNorm: true},
	"smollm3":   {norms: 2, tied: true},
	"gpt-oss":   {norms: 2, qkvBias: true, outBias: true, sinks: true, bias: true, swaEvery: 2},
	"deepseek2": {norms: 2},
	"gemma2":    {norms: 4, tied: true, swaEvery: 2, window: 4096},
	"gemma3":    {norms: 4, qkNorm: true, tied: true, swaEvery: 6},
	"lfm2":      {norms: 2, qkNorm: true, tied: true, conv: true},
	"lfm2moe":   {norms: 2, qkNorm: true, tied: true, conv: true},
	"qwen3next": {norms: 2, qkNorm: true, delta: true},
	"qwen35":    {norms: 2, qkNorm: true, delta: true},
	"qwen35moe": {norms: 2, qkNorm: true, delta: true},
	"glm4moe":   {norms: 2, qkvBias: true},

	"qwen2vl":       {norms: 2, qkvBias: true},
	"qwen2moe":      {norms: 2, qkvBias: true},
	"qwen3vl":       {norms: 2, qkNorm: true},
	"qwen3vlmoe":    {norms: 2, qkNorm: true},
	"granite":       {norms: 2},
	"olmo2":         {norms: 2, qkNorm: true, swaEvery: 4},
	"exaone4":       {norms: 2, qkNorm: true, swaEvery: 4},
	"phi3":          {norms: 2, swaOff: true},
	"seed_oss":      {norms: 2, qkvBias: true},
	"minimax-m2":    {norms: 2, qkNorm: true},
	"dots1":         {norms: 2, qkNorm: true},
	"glm4":          {norms: 4, qkvBias: true},
	"hunyuan-dense": {norms: 2, qkNorm: true},
}

// ggufNeutral are ends of keys that no cost depends on.
var ggufNeutral = set(
	"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "attention.scale", "attention.causal",
	"attn_logit_softcapping", "final_logit_softcapping", "attention.output_scale", "attention.temperature_length",
	"attention.temperature_scale", "expert_weights_scale", "expert_weights_norm", "expert_gating_func",
	"expert_group_count", "expert_group_used_count", "expert_group_scale", "swiglu_clamp_exp", "swiglu_clamp_shexp",
	"residual_scale", "embedding_scale", "logit_scale", "tensor_data_layout",
	"use_parallel_residual", "pooling_type", "n_deepstack_layers",
)

// metadata reads the keys of one architecture.
type metadata struct {
	*gguf
	arch string
	p    *problems
	used map[string]bool
	has  map[string]*ggufTensor // by name
	some bool                   // the file has tensors
}

// model is what the metadata describe, held against the tensors where there are any.
func (g *gguf) model(name string, all []ggufTensor, h *Header, p *problems) *roofline.Model {
	arch := g.text("general.architecture")
	rules, ok := ggufFamilies[arch]
	if !ok {
		p.add("general.architecture", "is "+shown(arch)+", which is not known; accepted: "+strings.Join(slices.Sorted(maps.Keys(ggufFamilies)), ", "))
		return nil
	}
	d := &metadata{gguf: g, arch: arch, p: p, used: map[string]bool{}, has: map[string]*ggufTensor{}, some: len(all) > 0}
	for i := range all {
		d.has[all[i].name] = &all[i]
	}
	m := &roofline.Model{Name: name, KV: []string{"fp16", "q8_0", "bf16", "fp8"}, Sources: map[string]string{
		"architecture": "metadata of " + h.Stored.From + " (" + arch + ")",
		"kv":           "cache formats that llama.cpp offers, its default first",
		"weights":      "not in this file",
	}}
	if m.Name == "" {
		m.Name = g.text("general.name")
	}
	if m.Name == "" {
		m.Name = arch
	}
	m.Name = printable(m.Name)
	if d.some {
		m.Weights = []string{h.Dtype}
		m.Sources["weights"] = "most of the tensors in " + h.Stored.From
	}
	d.architecture(&m.Architecture, rules)
	d.rest()
	if !d.some {
		head := "a head of its own"
		if m.Architecture.TiedHead {
			head = "the embedding as its head"
		}
		m.Sources["architecture"] += "; without tensors it is taken to have " + head + ", as its type has"
	}
	if len(p.list) > 0 {
		return nil
	}
	if size := roughParams(&m.Architecture); size > mostParams {
		p.add("", "describes more than 1e+15 parameters")
		return nil
	}
	if d.some {
		if h.compare(m, "the metadata", p); len(p.list) > 0 {
			return nil
		}
	}
	return m
}

func (d *metadata) key(k string) string { return d.arch + "." + k }

// count reads a whole number of at least 1 that must be there.
func (d *metadata) count(k string, most int64) int64 {
	d.used[k] = true
	return d.within(k, d.values[d.key(k)], 1, most)
}

// countOr reads a whole number, or takes what stands in its place.
func (d *metadata) countOr(k string, most, otherwise int64) int64 {
	d.used[k] = true
	v, ok := d.values[d.key(k)]
	if !ok {
		return otherwise
	}
	return d.within(k, v, 0, most)
}

func (d *metadata) within(k string, v any, least, most int64) int64 {
	n, ok := v.(int64)
	if !ok || n < least || n > most {
		found := "is not a whole number"
		if v == nil {
			found = "is missing"
		}
		if ok {
			found = "is " + itoa(n)
		}
		d.p.add(d.key(k), found+"; a whole number of "+itoa(least)+" to "+itoa(most)+" is accepted")
		return 0
	}
	return n
}

// each reads one number a layer: an array of as many, or a number for all.
func (d *metadata) each(k string, layers, least, most, otherwise int64) []int64 {
	d.used[k] = true
	list := make([]int64, layers)
	switch v := d.values[d.key(k)].(type) {
	case []int64:
		if int64(len(v)) != layers {
			d.p.add(d.key(k), "has "+itoa(int64(len(v)))+" entries where block_count is "+itoa(layers)+"; one a block is accepted")
			return list
		}
		for i, n := range v {
			list[i] = d.within(k, n, least, most)
		}
	default:
		n := otherwise
		if _, stated := d.values[d.key(k)]; stated || otherwise < 0 {
			n = d.within(k, d.values[d.key(k)], least, most)
		}
		for i := range list {
			list[i] = n
		}
	}
	return list
}

// tensor says whether a tensor of a block exists; without any tensors, the rule of the
// architecture does.
func (d *metadata) tensor(block int64, name string, rule bool) bool {
	if !d.some {
		return rule
	}
	return d.has["blk."+itoa(block)+"."+name] != nil
}

func (d *metadata) architecture(a *roofline.Architecture, rules ggufRules) {
	a.Hidden = d.count("embedding_length", mostWidth)
	a.MaxContext = d.countOr("context_length", mostContext, 0)
	a.Vocabulary = d.vocabulary(a.Hidden)
	a.TiedHead = rules.tied
	if d.some {
		a.TiedHead = d.has["output.weight"] == nil
	}
	blocks := d.count("block_count", mostLayers)
	further := d.countOr("nextn_predict_layers", mostLayers, 0)
	heads := d.each("attention.head_count", blocks, 0, mostCount, -1)
	kv := d.each("attention.head_count_kv", blocks, 0, mostCount, 0)
	if _, stated := d.values[d.key("attention.head_count_kv")]; !stated {
		copy(kv, heads)
	}
	widths := d.each("feed_forward_length", blocks, 0, mostWidth, 0)
	slides := d.windows(blocks, rules)
	states := d.states(blocks-further, rules)
	attention := d.attention(a, rules)
	network := d.network(blocks, rules)
	if len(d.p.list) > 0 {
		return
	}
	build := decoder{}
	for i := range blocks {
		l := roofline.Layer{FFN: network(i, widths[i]), Norms: rules.norms}
		if states != nil && states(i) != nil {
			l.Attention = roofline.Attention{Kind: roofline.Linear, State: states(i)}
		} else if l.Attention = attention(i, heads[i], kv[i]); l.Attention.Kind == roofline.GQA {
			l.Attention.Window = slides[i]
		}
		if further > 0 && i >= blocks-further {
			if a.MTP == nil {
				l.Count = 1
				a.MTP = &roofline.MTP{Modules: further, Layer: l}
			}
			continue
		}
		build.layer(l)
	}
	a.Layers = build.a.Layers
}

// vocabulary is stated, or the length of the list of tokens, or that of the embedding.
func (d *metadata) vocabulary(hidden int64) int64 {
	n := d.countOr("vocab_size", mostWidth, 0)
	if t := d.has["token_embd.weight"]; t != nil && hidden > 0 {
		return t.weights / hidden
	}
	if n == 0 {
		n = min(d.lengths["tokenizer.ggml.tokens"], mostWidth)
	}
	if n == 0 {
		d.p.add(d.key("vocab_size"), "is missing, and there is no list of tokens; a whole number is needed")
	}
	return n
}

// windows says over how many tokens each layer slides; 0 sees all.
func (d *metadata) windows(blocks int64, rules ggufRules) []int64 {
	list := make([]int64, blocks)
	window := d.countOr("attention.sliding_window", mostContext, rules.window)
	every := rules.swaEvery
	if d.arch == "exaone4" && blocks != 64 {
		every, window = 0, 0 // the small one sees all
	}
	pattern, stated := d.values[d.key("attention.sliding_window_pattern")]
	marks := d.each("attention.sliding_window_pattern", blocks, 0, mostLayers, 0)
	if window == 0 || rules.swaOff {
		return list
	}
	if rules.conv {
		every, stated = 0, true // each of its attention layers slides
	}
	if every == 0 && !stated {
		d.p.add(d.key("attention.sliding_window"), "is "+itoa(window)+", and llama.cpp does not say which layers of "+d.arch+" slide; accepted: 0, or a sliding_window_pattern")
	}
	_, perLayer := pattern.([]int64)
	if n, ok := pattern.(int64); ok {
		every = n
	}
	for i := range list {
		if perLayer && marks[i] != 0 || !perLayer && (every == 0 || (int64(i)+1)%every != 0) {
			list[i] = window
		}
	}
	return list
}

// states says which layers keep a state by the gated delta rule, or is nil.
func (d *metadata) states(layers int64, rules ggufRules) func(i int64) *roofline.State {
	if !rules.delta {
		return nil
	}
	inner, heads := d.count("ssm.inner_size", mostWidth), d.count("ssm.time_step_rank", mostCount)
	s := &roofline.State{
		KeyHeads: d.count("ssm.group_count", mostCount), KeyDim: d.count("ssm.state_size", mostCount),
		ValueHeads: heads, ValueDim: inner / max(1, heads), Conv: d.count("ssm.conv_kernel", mostCount), ConvBytes: 4,
	}
	interval := d.countOr("full_attention_interval", mostLayers, 4)
	marks, listed := d.values[d.key("attention.recurrent_layers")].([]int64)
	d.used["attention.recurrent_layers"] = true
	return func(i int64) *roofline.State {
		switch {
		case listed && i < int64(len(marks)):
			if marks[i] != 0 {
				return s
			}
		case i < layers && interval > 0 && (i+1)%interval != 0:
			return s
		}
		return nil
	}
}

// attention builds the mixing part of a block.
func (d *metadata) attention(a *roofline.Architecture, rules ggufRules) func(i, heads, kv int64) roofline.Attention {
	hidden := a.Hidden
	key := d.countOr("attention.key_length", mostCount, 0)
	value := d.countOr("attention.value_length", mostCount, 0)
	rope := d.countOr("rope.dimension_count", mostCount, 0)
	rank := d.countOr("attention.kv_lora_rank", mostCount, 0)
	qRank := d.countOr("attention.q_lora_rank", mostCount, 0)
	cache := d.countOr("shortconv.l_cache", mostWidth, 0)
	mlaKey := d.countOr("attention.key_length_mla", mostCount, key)
	mlaValue := d.countOr("attention.value_length_mla", mostCount, value)
	switch {
	case rank > 0 && (rope == 0 || mlaKey <= rope || mlaValue == 0):
		d.p.add(d.key("attention.key_length"), "says keys of "+itoa(mlaKey)+" and values of "+itoa(mlaValue)+", of which "+itoa(rope)+" turn; keys longer than what turns are accepted")
	case rules.conv && cache == 0:
		d.p.add(d.key("shortconv.l_cache"), "is missing; a whole number of at least 1 is needed")
	}
	return func(i, heads, kv int64) roofline.Attention {
		switch {
		case kv == 0 && rules.conv:
			return roofline.Attention{Kind: roofline.Conv, State: &roofline.State{ValueHeads: 1, ValueDim: hidden, Conv: cache, ConvBytes: 4}}
		case heads == 0 || kv == 0:
			return roofline.Attention{Kind: roofline.None}
		case rank > 0:
			return roofline.Attention{Kind: roofline.MLA, Heads: heads, KVRank: rank, QRank: qRank, NopeDim: mlaKey - rope, RopeDim: rope, ValueDim: mlaValue}
		}
		t := roofline.Attention{Kind: roofline.GQA, Heads: heads, KVHeads: kv, HeadDim: key}
		if t.HeadDim == 0 {
			t.HeadDim = hidden / heads
		}
		if value != 0 && value != t.HeadDim {
			t.ValueDim = value
		}
		if heads%kv != 0 {
			d.p.add(d.key("attention.head_count_kv"), "is "+itoa(kv)+" in block "+itoa(i)+", among which "+itoa(heads)+" heads do not divide evenly")
		}
		t.OutputGate = rules.delta
		t.QKVBias = d.tensor(i, "attn_q.bias", rules.qkvBias) || d.tensor(i, "attn_qkv.bias", false)
		t.OutputBias = d.tensor(i, "attn_output.bias", rules.outBias)
		t.Sinks = d.tensor(i, "attn_sinks.weight", rules.sinks)
		if d.tensor(i, "attn_q_norm.weight", rules.qkNorm) {
			norm := d.has["blk."+itoa(i)+".attn_q_norm.weight"]
			t.QKNormWide = norm != nil && norm.weights != t.HeadDim
			t.QKNorm = !t.QKNormWide
		}
		return t
	}
}

// network builds the feed-forward part of a block.
func (d *metadata) network(blocks int64, rules ggufRules) func(i, width int64) roofline.FFN {
	experts := d.countOr("expert_count", mostCount, 0)
	used := d.countOr("expert_used_count", mostCount, 0)
	widths := d.each("expert_feed_forward_length", blocks, 0, mostWidth, 0)
	shared := d.countOr("expert_shared_feed_forward_length", mostWidth, 0)
	sharedCount := d.countOr("expert_shared_count", mostCount, 0)
	leading := d.countOr("leading_dense_block_count", mostLayers, 0)
	if experts > 0 && (used == 0 || used > experts) {
		d.p.add(d.key("expert_used_count"), "is "+itoa(used)+" of "+itoa(experts)+" experts; 1 to as many are accepted")
	}
	return func(i, dense int64) roofline.FFN {
		if experts == 0 || i < leading {
			if dense == 0 {
				d.p.add(d.key("feed_forward_length"), "is missing; a whole number of at least 1 is needed")
			}
			return roofline.FFN{Kind: roofline.Dense, Width: dense}
		}
		f := roofline.FFN{Kind: roofline.MoE, Experts: experts, TopK: used, Width: widths[i], SharedWidth: shared}
		if f.Width == 0 {
			f.Width = dense
		}
		if shared == 0 {
			f.SharedWidth = sharedCount * f.Width
		}
		f.Bias = d.tensor(i, "ffn_gate_exps.bias", rules.bias)
		f.RouterBias = d.tensor(i, "ffn_gate_inp.bias", rules.bias) || d.tensor(i, "exp_probs_b.bias", d.arch == "glm4moe" || d.arch == "lfm2moe")
		f.SharedGate = d.tensor(i, "ffn_gate_inp_shexp.weight", rules.delta && shared > 0)
		return f
	}
}

// rest tells each key of the architecture that was not read, unless no cost depends on it.
func (d *metadata) rest() {
	for _, full := range slices.Sorted(maps.Keys(d.values)) {
		k, ours := strings.CutPrefix(full, d.arch+".")
		if ours && !d.used[k] && !ggufNeutral[k] && !strings.HasPrefix(k, "rope.") {
			d.p.add(full, "is not known: it may change the cost, so nothing is computed without it")
		}
	}
}
