package catalog

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/data"
	"rowproof/internal/roofline"
)

// Architectures reach Go as they stand in their files.
func TestArchitectures(t *testing.T) {
	c, _ := Load(data.FS)
	oss := c.Models["gpt-oss-120b"]
	if want := []roofline.Layer{
		{
			Count: 18, Norms: 2,
			Attention: roofline.Attention{Kind: "gqa", Heads: 64, KVHeads: 8, HeadDim: 64, QKVBias: true, OutputBias: true, Sinks: true, Window: 128},
			FFN:       roofline.FFN{Kind: "moe", Width: 2880, Experts: 128, TopK: 4, RouterBias: true, Bias: true},
		},
		{
			Count: 18, Norms: 2,
			Attention: roofline.Attention{Kind: "gqa", Heads: 64, KVHeads: 8, HeadDim: 64, QKVBias: true, OutputBias: true, Sinks: true},
			FFN:       roofline.FFN{Kind: "moe", Width: 2880, Experts: 128, TopK: 4, RouterBias: true, Bias: true},
		},
	}; !reflect.DeepEqual(oss.Architecture.Layers, want) {
		t.Errorf("gpt-oss-120b has %+v", oss.Architecture.Layers)
	}
	if oss.WeightScope["mxfp4"] != roofline.ScopeExperts || len(oss.WeightScope) != 1 {
		t.Errorf("gpt-oss-120b has scopes %v", oss.WeightScope)
	}
	glm := c.Models["glm-5.2"].Architecture
	mla := roofline.Attention{Kind: "mla", Heads: 64, QRank: 2048, KVRank: 512, NopeDim: 192, RopeDim: 64, ValueDim: 256, Selected: 2048}
	if got := glm.Layers[1].Attention; got != mla {
		t.Errorf("glm-5.2 without indexer has %+v", got)
	}
	mla.Indexer = &roofline.Indexer{Heads: 32, HeadDim: 128}
	if got := glm.Layers[2].Attention; !reflect.DeepEqual(got, mla) {
		t.Errorf("glm-5.2 with an indexer has %+v", got)
	}
	if glm.MTP == nil || glm.MTP.Modules != 1 || glm.MTP.Layer.Count != 1 ||
		!reflect.DeepEqual(glm.MTP.Layer.Attention, mla) || glm.MTP.Layer.FFN != glm.Layers[1].FFN {
		t.Errorf("glm-5.2 has MTP %+v", glm.MTP)
	}
	if p := c.Models["glm-4.5"].Published; !slices.Equal(p.TotalCounts, []string{"mtp"}) || !slices.Equal(p.ActiveCounts, []string{"mtp"}) ||
		p.ActiveParams != "32" {
		t.Errorf("glm-4.5 publishes %+v", p)
	}
}

// hybrid has a layer of each kind that no shipped model has.
const hybrid = `name: Hybrid
publisher: nobody
licence: none
repositories: [nobody/hybrid]
architecture:
  hidden: 2048
  vocabulary: 1000
  tied_head: true
  max_context: 4096
  layers:
    - count: 3
      attention: {kind: linear, state: {key_heads: 16, key_dim: 128, value_heads: 32, value_dim: 128, conv: 4}}
      ffn: {kind: moe, width: 512, experts: 512, top_k: 10, shared_width: 512, shared_gate: true}
      norms: 2
    - count: 1
      attention: {kind: gqa, heads: 16, kv_heads: 2, head_dim: 256, value_dim: 128, qkv_bias: false, qk_norm: true, output_gate: true}
      ffn: {kind: none}
      norms: 1
    - count: 2
      attention: {kind: mamba, state: {key_heads: 8, key_dim: 128, value_heads: 64, value_dim: 64, conv: 4, state_bytes: 2, conv_bytes: 4, conv_bias: true}}
      ffn: {kind: none}
      norms: 1
    - count: 2
      attention: {kind: conv, state: {value_dim: 2048, conv: 3}}
      ffn: {kind: dense, width: 8192, ungated: true, bias: true}
      norms: 2
    - count: 1
      attention: {kind: none}
      ffn: {kind: dense, width: 8192}
      norms: 1
    - count: 1
      attention: {kind: mla, heads: 16, kv_rank: 512, nope_dim: 128, rope_dim: 64, value_dim: 128}
      ffn: {kind: dense, width: 8192}
      norms: 2
weights: [bf16]
kv: [bf16]
published: {}
sources: {architecture: here, weights: here, kv: here, published: nowhere}
`

func TestKindsOfLayer(t *testing.T) {
	m := own(t)
	m["models/hybrid.yaml"] = &fstest.MapFile{Data: []byte(hybrid)}
	c, problems := Load(m)
	for _, p := range problems {
		t.Error(p)
	}
	want := []roofline.Layer{
		{
			Count: 3, Norms: 2,
			Attention: roofline.Attention{Kind: "linear", State: &roofline.State{KeyHeads: 16, KeyDim: 128, ValueHeads: 32, ValueDim: 128, Conv: 4}},
			FFN:       roofline.FFN{Kind: "moe", Width: 512, Experts: 512, TopK: 10, SharedWidth: 512, SharedGate: true},
		},
		{
			Count: 1, Norms: 1,
			Attention: roofline.Attention{Kind: "gqa", Heads: 16, KVHeads: 2, HeadDim: 256, ValueDim: 128, QKNorm: true, OutputGate: true},
			FFN:       roofline.FFN{Kind: "none"},
		},
		{
			Count: 2, Norms: 1,
			Attention: roofline.Attention{Kind: "mamba", State: &roofline.State{KeyHeads: 8, KeyDim: 128, ValueHeads: 64, ValueDim: 64, Conv: 4, Bytes: 2, ConvBytes: 4, ConvBias: true}},
			FFN:       roofline.FFN{Kind: "none"},
		},
		{
			Count: 2, Norms: 2,
			Attention: roofline.Attention{Kind: "conv", State: &roofline.State{ValueHeads: 1, ValueDim: 2048, Conv: 3}},
			FFN:       roofline.FFN{Kind: "dense", Width: 8192, Ungated: true, Bias: true},
		},
		{
			Count: 1, Norms: 1,
			Attention: roofline.Attention{Kind: "none"},
			FFN:       roofline.FFN{Kind: "dense", Width: 8192},
		},
		{
			Count: 1, Norms: 2,
			Attention: roofline.Attention{Kind: "mla", Heads: 16, KVRank: 512, NopeDim: 128, RopeDim: 64, ValueDim: 128},
			FFN:       roofline.FFN{Kind: "dense", Width: 8192},
		},
	}
	if got := c.Models["hybrid"].Architecture.Layers; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// Each mistake in a model's file, with the place and words that its writer is told.
func TestModelProblems(t *testing.T) {
	const (
		layer = "architecture.layers[]."
		mla   = "accepted there: kind, heads, q_rank, kv_rank, nope_dim, rope_dim, value_dim, selected, indexer"
	)
	for _, c := range []struct {
		name, file, old, new string
		want                 []string // after "data/models/FILE.yaml:"
	}{
		{"another's checkpoint", "qwen3-8b", "[Qwen/Qwen3-8B]", "[Qwen/Qwen3-8B, qwen/qwen3-32b, Qwen/Qwen3-8B]",
			[]string{"4:31: repositories[1] qwen/qwen3-32b stands in data/models/qwen3-32b.yaml too; a checkpoint has one architecture",
				"4:47: repositories[2] Qwen/Qwen3-8B stands in data/models/qwen3-8b.yaml too; a checkpoint has one architecture"}},
		{"kind", "mixtral-8x7b", "kind: gqa", "kind: mha",
			[]string{`12:25: ` + layer + `attention.kind "mha" is not known, "mla" may be meant; there are: gqa, mla, linear, mamba, conv, none`}},
		{"another kind's fields", "mixtral-8x7b", "kind: gqa", "kind: mla", []string{
			"12:18: " + layer + "attention.kv_rank is missing",
			"12:18: " + layer + "attention.nope_dim is missing",
			"12:18: " + layer + "attention.rope_dim is missing",
			"12:18: " + layer + "attention.value_dim is missing",
			"12:51: " + layer + "attention.kv_heads does not count in kind mla; " + mla,
			"12:64: " + layer + "attention.head_dim does not count in kind mla; " + mla,
			"12:79: " + layer + "attention.qkv_bias does not count in kind mla; " + mla,
			"12:95: " + layer + "attention.qk_norm does not count in kind mla; " + mla}},
		{"experts of a dense network", "qwen3-0.6b", "{kind: dense, width: 3072}", "{kind: dense, width: 3072, experts: 8}",
			[]string{"13:48: " + layer + "ffn.experts does not count in kind dense; accepted there: kind, width, ungated, bias"}},
		{"unknown field", "mixtral-8x7b", "top_k: 2", "topk: 2", []string{
			"13:12: " + layer + "ffn.top_k is missing",
			`13:50: key "topk" is not known, "top_k" may be meant; accepted here: kind, width, ungated, bias, experts, top_k, shared_width, shared_gate, router_bias`}},
		{"no kind", "mixtral-8x7b", "kind: moe, ", "", []string{"13:12: " + layer + "ffn.kind is missing"}},
		{"nothing in a layer", "mixtral-8x7b", "ffn: {kind: moe, width: 14336, experts: 8, top_k: 2}", "ffn: {kind: none, width: 1}",
			[]string{"13:32: " + layer + "ffn.width does not count in kind none; accepted there: kind alone"}},
		{"neither attention nor network", "mixtral-8x7b",
			"{kind: gqa, heads: 32, kv_heads: 8, head_dim: 128, qkv_bias: false, qk_norm: false}\n      ffn: {kind: moe, width: 14336, experts: 8, top_k: 2}",
			"{kind: none}\n      ffn: {kind: none}",
			[]string{"11:7: architecture.layers[] has neither attention nor a feed-forward network; a layer has one of them at least"}},
		{"more experts than there are", "mixtral-8x7b", "top_k: 2", "top_k: 9",
			[]string{"13:57: " + layer + "ffn.top_k is 9, but there are 8 experts; at most as many are accepted"}},
		{"a gate for nothing", "mixtral-8x7b", "top_k: 2", "top_k: 2, shared_gate: true",
			[]string{"13:73: " + layer + "ffn.shared_gate gates a shared expert, but shared_width is missing"}},
		{"two bounds", "gpt-oss-120b", "window: 128", "window: 128, chunk: 8192",
			[]string{"12:152: " + layer + "attention.chunk and window bound the same tokens; one of them is accepted"}},
		{"a norm of two widths", "minimax-m2", "qk_norm_wide: true", "qk_norm_wide: true, qk_norm: true",
			[]string{"12:100: " + layer + "attention.qk_norm_wide is true, and so is qk_norm; a norm spans one head or all, and one of them is accepted"}},
		{"no word of a norm", "minimax-m2", "qk_norm_wide: true", "qk_norm_wide: false",
			[]string{"12:18: " + layer + "attention.qk_norm is missing"}},
		{"value_dim said twice", "mixtral-8x7b", "head_dim: 128", "head_dim: 128, value_dim: 128",
			[]string{"12:80: " + layer + "attention.value_dim equals head_dim; it is accepted where it differs"}},
		{"another selection", "glm-5.2", "selected: 2048}", "selected: 1024}",
			[]string{"15:7: architecture.layers[].attention selects 1024 tokens, but another kind of layer selects 2048; all read the same selection"}},
		{"a selection by nobody", "kimi-k2", "count: 60\n      attention: {kind: mla,", "count: 60\n      attention: {kind: mla, selected: 2048,",
			[]string{"15:7: architecture.layers[].attention selects 2048 tokens, but no layer has an indexer that selects them"}},
		{"an indexer that selects nothing", "kimi-k2", "count: 60\n      attention: {kind: mla, heads: 64,", "count: 60\n      attention: {kind: mla, heads: 64, indexer: {heads: 64, head_dim: 128},",
			[]string{"16:50: " + layer + "attention.indexer selects tokens, but selected is missing: say how many it selects at most"}},
		{"how many MTP layers", "glm-4.5", "    layer:\n", "    layer:\n      count: 1\n",
			[]string{`22:7: key "count" is not known; accepted here: attention, ffn, norms`}},
		{"a scope of no format", "gpt-oss-20b", "{mxfp4: experts}", "{mxfp4: expert, fp8: ffn}",
			[]string{`20:23: weight_scope.mxfp4 "expert" is not known, "experts" may be meant; there are: experts, ffn`,
				"20:31: weight_scope.fp8: weights has no such format; accepted here: mxfp4, bf16"}},
		{"a scope without experts", "qwen3-0.6b", "kv: [bf16, fp8]", "weight_scope: {fp8: experts}\nkv: [bf16, fp8]",
			[]string{"16:21: weight_scope.fp8 is experts, but no layer has experts; ffn is accepted",
				"22:3: sources.weight_scope is missing: say where weight_scope stands"}},
		{"what a count holds", "qwen3-30b-a3b", "active_counts: [embedding, head]", "active_counts: [embeding, head, head, mtp]",
			[]string{`21:19: published.active_counts[0] "embeding" is not known, "embedding" may be meant; there are: embedding, head, mtp`,
				`21:35: published.active_counts[2] "head" stands twice`,
				"21:41: published.active_counts[3] is mtp, but architecture.mtp is missing"}},
		{"what no count holds", "qwen3-0.6b", `total_params: "0.6"`, "total_counts: []",
			[]string{"18:17: published.total_counts is empty; leave it out where total_params counts what is usual",
				"18:17: published.total_counts says what total_params counts, but that is missing"}},
		{"active of a dense model", "qwen3-0.6b", `total_params: "0.6"`, `total_params: "0.6"` + "\n  active_params: \"0.6\"\n  mtp_params: \"0.1\"",
			[]string{"19:18: published.active_params is given, but no layer has experts: every parameter is active",
				"20:15: published.mtp_params is given, but architecture.mtp is missing"}},
		{"the total for the active count", "qwen3-30b-a3b", `active_params: "3.3"`, `active_params: "30.5"`,
			[]string{"20:18: published 30.5 billion parameters, but the architecture has 3.353; correct the one that is wrong"}},
		{"another convention", "glm-4.5", "  total_counts: [mtp]\n", "",
			[]string{"28:17: published 355 billion parameters, but the architecture has 352.8; correct the one that is wrong"}},
		{"outside its tolerance", "kimi-k2", `percent: "3"`, `percent: "2"`,
			[]string{"23:17: published 1000 billion parameters, but the architecture has 1,026, which is not within 2 %; correct the one that is wrong"}},
		{"a tolerance without need", "kimi-k2", `{percent: "3", because: "published as 1T, one digit"}`, "{percent: \"3\", because: x}\n    active_params: {percent: \"20\"}\n    mtp_params: {percent: \"1\", because: x}",
			[]string{"27:5: published.within.active_params is not needed: published 32 billion parameters, and the architecture has 31.69",
				"28:20: published.within.active_params.because is missing",
				"28:30: published.within.active_params.percent is 20; at most 10 is accepted",
				"29:17: published.within.mtp_params is a tolerance of a count that is missing"}},
		{"a dimension beyond any", "qwen3-0.6b", "hidden: 1024", "hidden: 9007199254740992",
			[]string{"6:11: architecture.hidden is 9007199254740992; at most 131072 is accepted"}},
		{"a number beyond all", "mixtral-8x7b", "experts: 8,", "experts: 99999999999999999999,",
			[]string{`13:47: ` + layer + `ffn.experts is "99999999999999999999"; a whole number such as 4096 is accepted, without quotes, separators or leading zeros`}},
		{"layers beyond any", "gpt-oss-20b", "count: 12\n      attention: {kind: gqa, heads: 64, kv_heads: 8, head_dim: 64, qkv_bias: true, qk_norm: false, output_bias: true, sinks: true, window: 128}", "count: 4096\n      attention: {kind: gqa, heads: 64, kv_heads: 8, head_dim: 64, qkv_bias: true, qk_norm: false, output_bias: true, sinks: true, window: 128}",
			[]string{"11:5: architecture.layers are 4108 together; at most 4096 are accepted"}},
		{"a layer that is none", "mixtral-8x7b", "    - count: 32\n", "    - 7\n    - count: 32\n",
			[]string{`11:7: architecture.layers[] is "7"; a mapping with the keys count, attention, ffn, norms is accepted`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := own(t)
			file := "models/" + c.file + ".yaml"
			with(t, m, file, c.old, c.new)
			_, problems := Load(m)
			var got []string
			for _, p := range problems {
				if s, ok := strings.CutPrefix(p.String(), "data/"+file+":"); ok {
					got = append(got, s)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// Every key of a state that its kind does not have, and heads that do not divide.
func TestStateProblems(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"heads", "key_heads: 16, key_dim: 128, value_heads: 32", "key_heads: 16, key_dim: 128, value_heads: 40",
			"12:52: 40 value heads cannot share 16 key heads evenly"},
		{"keys of a convolution", "{value_dim: 2048, conv: 3}", "{value_dim: 2048, conv: 3, key_dim: 1}",
			`24:65: key "key_dim" is not known; accepted here: value_dim, conv, conv_bytes, conv_bias`},
		{"no state", "{kind: conv, state: {value_dim: 2048, conv: 3}}", "{kind: conv}",
			"24:18: architecture.layers[].attention.state is missing"},
		{"a state of attention", "output_gate: true}", "output_gate: true, state: {}}",
			"16:143: architecture.layers[].attention.state does not count in kind gqa; accepted there: kind, heads, kv_heads, head_dim, value_dim, qkv_bias, qk_norm, qk_norm_wide, output_bias, output_gate, sinks, window, chunk"},
		{"state of 16 bytes", "state_bytes: 2", "state_bytes: 16", "20:122: architecture.layers[].attention.state.state_bytes is 16; at most 8 is accepted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := own(t)
			m["models/hybrid.yaml"] = &fstest.MapFile{Data: []byte(hybrid)}
			with(t, m, "models/hybrid.yaml", c.old, c.new)
			_, problems := Load(m)
			if len(problems) != 1 || problems[0].String() != "data/models/hybrid.yaml:"+c.want {
				t.Errorf("got %v\nwant %s", problems, c.want)
			}
		})
	}
}

// A file that nests or repeats without end is refused, and says where.
func TestHostileModels(t *testing.T) {
	shipped, err := fs.ReadFile(data.FS, "models/glm-5.2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	layer := "    - {count: 4096, attention: {kind: gqa, heads: 4096, kv_heads: 4096, head_dim: 4096, qkv_bias: true, qk_norm: true}, ffn: {kind: moe, width: 262144, experts: 8192, top_k: 8192}, norms: 64}\n"
	for name, text := range map[string]string{
		"nested":   strings.Repeat("[", 50000),
		"deep":     strings.Repeat("{a: ", 50000) + strings.Repeat("}", 50000),
		"many":     strings.Replace(string(shipped), "  layers:\n", "  layers:\n"+strings.Repeat(layer, 1000), 1),
		"too long": strings.Repeat("# nothing\n", 30000),
	} {
		t.Run(name, func(t *testing.T) {
			m := own(t)
			m["models/glm-5.2.yaml"] = &fstest.MapFile{Data: []byte(text)}
			_, problems := Load(m)
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			for _, p := range problems {
				if p.File != "data/models/glm-5.2.yaml" || p.Line < 1 || p.Col < 1 || len(p.Text) > 1000 {
					t.Errorf("%.200s", p)
				}
			}
		})
	}
}
