package checkpoint

import (
	"slices"
	"strings"
	"testing"
)

// small is a whole config.json, to be spoiled.
const small = `{
 "vocab_size": 64,
 "model_type": "llama",
 "hidden_size": 128,
 "num_hidden_layers": 2,
 "intermediate_size": 256,
 "num_attention_heads": 4,
 "num_key_value_heads": 2,
 "torch_dtype": "bfloat16",
 "rms_norm_eps": 1e-5
}`

// with puts keys before the others, in place of those of the same name.
func with(config, keys string) string {
	for _, line := range strings.Split(keys, ",\n") {
		key, _, _ := strings.Cut(line, ":")
		var kept []string
		for _, l := range strings.Split(config, "\n") {
			if !strings.HasPrefix(strings.TrimSpace(l), key+":") {
				kept = append(kept, l)
			}
		}
		config = strings.Join(kept, "\n")
	}
	return strings.Replace(config, "{\n", "{\n "+keys+",\n", 1)
}

func TestBadConfigs(t *testing.T) {
	const quantized = `"quantization_config": `
	for _, c := range []struct {
		name, config string
		want         []string // the start of each problem, in any order
	}{
		{"not JSON", `{"model_type": "llama",`, []string{"is no JSON: line 1: the text ends within a value"}},
		{"not an object", `[1]`, []string{"is an array; a config.json is an object"}},
		{"two texts", small + "{}", []string{"is no JSON: line 11: data after the end of the JSON text"}},
		{"nested", strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101), []string{"is no JSON: line 1: nested deeper than 100"}},
		{"no type", `{"hidden_size": 1}`, []string{"model_type: is missing; accepted: cohere2, deepseek_v2, "}},
		{"unknown type", `{"model_type": "hyena"}`, []string{`model_type: is "hyena", which is not known; accepted: cohere2, deepseek_v2, `}},
		{"unknown type within", `{"model_type": "gemma3", "text_config": {"model_type": "hyena"}}`, []string{`text_config.model_type: is "hyena", which is not known; accepted: `}},
		{"no text_config", `{"model_type": "gemma3"}`, []string{"text_config: is missing; a gemma3 has its language model there"}},
		{"a key twice", strings.Replace(small, "{", `{"vocab_size": 64,`, 1), []string{"vocab_size: stands twice"}},
		{"an unknown key", with(small, `"num_experts": 8`), []string{"num_experts: is not known: it may change the cost"}},
		{"all at once", with(with(with(small, `"hidden_size": "128"`), `"num_attention_heads": 0`), `"vocab_size": -1`), []string{
			`hidden_size: is a string, "128"; a whole number of 1 to `, "num_attention_heads: is 0; a whole number of 1 to ", "vocab_size: is -1; a whole number of 1 to "}},
		{"a fraction", with(small, `"hidden_size": 128.5`), []string{"hidden_size: is 128.5; a whole number"}},
		{"no number", with(small, `"hidden_size": NaN`), []string{"hidden_size: is NaN; a whole number"}},
		{"endless", with(small, `"hidden_size": -Infinity`), []string{"hidden_size: is -Infinity; a whole number"}},
		{"huge", with(small, `"hidden_size": 1e99`), []string{"hidden_size: is 1e99; a whole number"}},
		{"absurd", with(with(small, `"hidden_size": 16777216`), `"num_hidden_layers": 4096`), []string{"describes about "}},
		{"missing", strings.Replace(small, `"hidden_size": 128,`, "", 1), []string{"hidden_size: is missing; a whole number of at least 1 is needed"}},
		{"no head size", with(small, `"hidden_size": 130`), []string{"head_dim: is missing, and hidden_size 130 does not divide by 4 heads"}},
		{"uneven heads", with(small, `"num_key_value_heads": 3`), []string{"num_key_value_heads: is 3, among which 4 heads do not divide evenly"}},
		{"no flag", with(small, `"attention_bias": "yes"`), []string{`attention_bias: is a string, "yes"; true or false is accepted`}},
		{"layers of another number", with(strings.Replace(small, "llama", "mistral", 1), `"layer_types": ["full_attention"]`),
			[]string{"layer_types: has 1 entries; one for each of the 2 layers is accepted"}},
		{"layers of another kind", with(strings.Replace(small, "llama", "mistral", 1), `"layer_types": ["full_attention", "hyena"]`),
			[]string{`layer_types[1]: is a string, "hyena"; accepted: full_attention, sliding_attention`}},
		{"more chosen than there are", with(with(with(strings.Replace(small, "llama", "mixtral", 1), `"num_local_experts": 2`), `"num_experts_per_tok": 3`), `"sliding_window": null`),
			[]string{"num_experts_per_tok: is 3 of 2 experts"}},
		{"a window nobody agrees on", with(with(with(with(strings.Replace(small, "llama", "qwen3_moe", 1), `"num_experts": 2`), `"num_experts_per_tok": 1`), `"moe_intermediate_size": 64`), `"use_sliding_window": true`),
			[]string{"use_sliding_window: is true, and engines differ"}},
		{"an encoder", with(small, `"is_encoder_decoder": true`), []string{"is_encoder_decoder: is true, whose cost is not known; accepted: false"}},

		{"a dtype", with(small, `"torch_dtype": "int7"`), []string{`torch_dtype: is a string, "int7", whose bytes are not known`}},
		{"bitsandbytes", with(small, quantized+`{"quant_method": "bitsandbytes", "load_in_4bit": true}`),
			[]string{`quantization_config.bnb_4bit_quant_type: is "" with bnb_4bit_use_double_quant false, whose bytes are not known; known: nf4 with true`}},
		{"bits of two kinds", with(small, quantized+`{"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": true}`),
			[]string{`quantization_config.load_in_4bit: and load_in_8bit are both true`}},
		{"no method", with(small, `"quantization": {"group_size": 64, "bits": 4},
"quantization_config": {"group_size": 64, "bits": 4}`),
			[]string{`quantization_config.quant_method: is missing, as in files of MLX`}},
		{"an unknown method", with(small, quantized+`{"quant_method": "hqq"}`), []string{`quantization_config.quant_method: is "hqq", whose bytes are not known; known: auto-round, awq, `}},
		{"8 bits called 4", with(small, quantized+`{"quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}}`),
			[]string{"quantization_config.config_groups.group_0.weights.num_bits: is 8 where quant_algo is NVFP4; 4 is accepted"}},
		{"integers called floats", with(small, quantized+`{"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}}}}`),
			[]string{`quantization_config.config_groups.group_0.weights.num_bits: and type say 4 bits of "int" where format is float-quantized, which packs 8 bits of float`}},
		{"no scheme", with(small, quantized+`{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {}}`),
			[]string{"quantization_config.config_groups: is empty; the scheme of the weights is needed"}},
		{"two dtypes", with(small, `"dtype": "float32"`), []string{`torch_dtype: is a string, "bfloat16" where dtype is a string, "float32"; the same is accepted`}},
		{"no dtype", strings.Replace(strings.Replace(small, "llama", "gemma2", 1), ` "torch_dtype": "bfloat16",`, "", 1),
			[]string{"torch_dtype: is missing, and checkpoints of a gemma2 are published in 16 bits and in 32"}},
		{"dense layers beyond the last", with(with(with(with(with(strings.Replace(small, "llama", "glm4_moe", 1), `"n_routed_experts": 4`), `"num_experts_per_tok": 2`), `"moe_intermediate_size": 64`), `"n_shared_experts": 1`), `"first_k_dense_replace": 3`),
			[]string{"first_k_dense_replace: is 3 of 2 layers; at most as many are accepted"}},
		{"a byte order mark", "\ufeff" + small, []string{"is no JSON: it begins with the byte order mark of UTF-8"}},
		{"a whole fraction", with(small, `"hidden_size": 128.0`), []string{"hidden_size: is 128.0, with a fraction or an exponent, where JSON has 128; a whole number of 1 to "}},
		{"a whole power", with(small, `"hidden_size": 1.28e2`), []string{"hidden_size: is 1.28e2, with a fraction or an exponent, where JSON has 128; a whole number of 1 to "}},
		{"blocks", with(small, quantized+`{"quant_method": "fp8", "weight_block_size": [64, 64]}`),
			[]string{"quantization_config.weight_block_size: is 64 × 64, whose bytes are not known"}},
		{"three bits", with(small, quantized+`{"quant_method": "gptq", "bits": 3, "group_size": 128}`),
			[]string{"quantization_config.group_size: says 3 bits in groups of 128, whose bytes are not known"}},
		{"an unknown key of a format", with(small, quantized+`{"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"mlp": {"bits": 8}}}`),
			[]string{"quantization_config.dynamic: is not known: it may change the bytes"}},
		{"one layer left alone", with(small, quantized+`{"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["model.layers.1.mlp"]}`),
			[]string{"quantization_config.modules_to_not_convert: leaves in 16 bits all or some of the dense feed-forward networks (layers.1.mlp.down_proj)"}},
		{"the head as well", with(small, quantized+`{"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}}}`),
			[]string{"quantization_config.ignore: does not name lm_head"}},
		{"two schemes", with(small, quantized+`{"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {
			"a": {"targets": ["re:.*mlp.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}},
			"b": {"targets": ["re:.*attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}}`),
			[]string{"quantization_config.config_groups: mixes fp8-tensor and fp8-channel"}},
		{"a cache nobody knows", with(small, quantized+`{"quant_method": "fp8", "kv_cache_scheme": {"type": "int", "num_bits": 4}}`),
			[]string{"quantization_config.kv_cache_scheme: is an object, whose size is not known"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Config([]byte(c.config), "")
			var left []string
			for _, p := range problems {
				left = append(left, p.String())
			}
			for _, want := range c.want {
				i := slices.IndexFunc(left, func(s string) bool { return strings.HasPrefix(s, want) })
				if i < 0 {
					t.Errorf("no problem begins with %q", want)
					continue
				}
				left = slices.Delete(left, i, i+1)
			}
			if len(left) > 0 {
				t.Errorf("problems besides: %q", left)
			}
		})
	}
}

// A text of any size ends in bounded memory and time.
func TestHugeConfigs(t *testing.T) {
	for name, config := range map[string]string{
		"long":   strings.Repeat(" ", mostConfigBytes+1),
		"wide":   `{"model_type": "llama", "a": [` + strings.Repeat("1,", mostValues) + "1]}",
		"deep":   strings.Repeat("[", 1<<20),
		"keys":   "{" + strings.Repeat(`"a":1,`, 100_000) + `"model_type":"llama"}`,
		"quotes": `{"model_type": "` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		_, problems := Config([]byte(config), "")
		if len(problems) == 0 || len(problems) > mostProblems+1 {
			t.Errorf("%s: %d problems", name, len(problems))
		}
		for _, p := range problems {
			if len(p.String()) > 2000 {
				t.Errorf("%s: a message of %d bytes", name, len(p.String()))
			}
		}
	}
}

// Problems of bytes alone are those that the tensors' own headers answer.
func TestProblemsOfBytes(t *testing.T) {
	config := with(small, `"quantization_config": {"quant_method": "bitsandbytes"}`)
	m, problems := Config([]byte(config), "")
	if len(problems) != 1 || !problems[0].Bytes || m == nil || m.Params().Total == 0 {
		t.Fatalf("%v of %v", problems, m)
	}
	params := m.Params()
	h := &Header{Dtype: "int8", Params: params.Total}
	h.held[inEmbedding], h.held[inHead], h.held[inRest] = params.Embedding, params.Head, params.Total-params.Embedding-params.Head
	if left := h.Settle(m, problems); len(left) > 0 || m.Weights[0] != "int8" {
		t.Errorf("left %v, weights %v", left, m.Weights)
	}
	h.Params, h.held[inRest] = 2*h.Params, 2*h.held[inRest]
	if left := h.Settle(m, problems); len(left) != 1 || !strings.Contains(left[0].String(), "holds tensors of ") {
		t.Errorf("tensors of another model: %v", left)
	}
}

// An explicit head_dim wins over hidden_size ÷ heads, and a file that does not say has as
// many key-value heads as heads.
func TestHeads(t *testing.T) {
	m, problems := Config([]byte(with(small, `"head_dim": 48`)), "named")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if a := m.Architecture.Layers[0].Attention; a.HeadDim != 48 || a.KVHeads != 2 || m.Name != "named" {
		t.Errorf("%+v of %q", a, m.Name)
	}
	m, problems = Config([]byte(strings.Replace(small, ` "num_key_value_heads": 2,`, "", 1)), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if a := m.Architecture.Layers[0].Attention; a.HeadDim != 32 || a.KVHeads != 4 {
		t.Errorf("%+v", a)
	}
}

// The names of models in files end in the messages of pages.
func TestNames(t *testing.T) {
	for config, want := range map[string]string{
		with(small, `"_name_or_path": "org/some-model"`): "some-model",
		small: "llama",
	} {
		if m, _ := Config([]byte(config), ""); m == nil || m.Name != want {
			t.Errorf("called %v, want %q", m, want)
		}
	}
}
