package checkpoint

import (
	"os"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/roofline"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// model reads a config.json in which nothing may be wrong.
func model(t *testing.T, name string) *roofline.Model {
	t.Helper()
	m, problems := Config(read(t, name), "")
	for _, p := range problems {
		t.Errorf("%s: %s", name, p)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
	return m
}

// kvBytes are what a decode step reads of one sequence's cache in bf16.
func kvBytes(m *roofline.Model, context int64) int64 {
	var n int64
	for _, l := range m.Architecture.Layers {
		seen := context
		if w := l.Attention.Window; w > 0 {
			seen = min(seen, w)
		}
		n += l.Count * seen * 2 * l.Attention.KVHeads * l.Attention.HeadDim * 2
	}
	return n
}

// A sliding_window that is set slides on no layer unless use_sliding_window says so, and
// then on the upper ones.
func TestAWindowThatIsOff(t *testing.T) {
	for name, want := range map[string]int64{
		"field/window-off.json": 939_524_096, "field/window-absent.json": 939_524_096, "field/window-on.json": 734_003_200,
	} {
		m := model(t, name)
		if got := kvBytes(m, 32_768); got != want {
			t.Errorf("%s: %d bytes of cache at 32,768, want %d", name, got, want)
		}
		if got := kvBytes(m, 4096); got != 117_440_512 {
			t.Errorf("%s: %d bytes of cache at 4,096, want 117,440,512", name, got)
		}
	}
	if on := model(t, "field/window-on.json"); !strings.Contains(on.Sources["architecture"], "index >= max_window_layers (21) slide over 4096") {
		t.Errorf("the rule is not named: %q", on.Sources["architecture"])
	}
	explicit := strings.Replace(string(read(t, "field/window-on.json")), `"use_sliding_window"`,
		`"layer_types": [`+strings.Repeat(`"full_attention",`, 27)+`"sliding_attention"], "use_sliding_window"`, 1)
	m, problems := Config([]byte(explicit), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := kvBytes(m, 32_768), int64(27*1024*32_768+1024*4096); got != want {
		t.Errorf("layer_types does not win: %d bytes, want %d", got, want)
	}
}

// NVIDIA's checkpoints state their quantization beside the config.json: without it the
// weights would be taken for bf16.
func TestQuantizationBeside(t *testing.T) {
	m, problems := Config(read(t, "models/qwen3-235b-a22b.json"), "", read(t, "beside/qwen3-235b-a22b-nvfp4.json"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if m.Weights[0] != "nvfp4" || m.WeightScope != nil || m.KV[0] != "fp8" || m.Sources["weights"] != "hf_quant_config.json.quantization (modelopt)" {
		t.Errorf("weights %v of %v, cache %v, from %q", m.Weights, m.WeightScope, m.KV, m.Sources["weights"])
	}
	config := strings.Replace(string(read(t, "models/deepseek-v3.json")), `"quantization_config"`, `"unused"`, 1)
	config = strings.Replace(config, `"unused": {
  "activation_scheme": "dynamic",
  "fmt": "e4m3",
  "quant_method": "fp8",
  "weight_block_size": [128, 128]
 },`, "", 1)
	_, problems = Config([]byte(config), "", read(t, "beside/deepseek-v3.1-nvfp4.json"))
	if len(problems) != 1 || !problems[0].Bytes ||
		!strings.HasPrefix(problems[0].String(), "hf_quant_config.json.quantization.exclude_modules: leaves in 16 bits all or some of the attention") {
		t.Errorf("attention of which only the output is quantized: %v", problems)
	}
	if _, problems := Config(read(t, "models/qwen3-8b.json"), "", []byte("[]")); len(problems) != 1 || problems[0].Where != "hf_quant_config.json" {
		t.Errorf("%v", problems)
	}
}

// Each way in which published checkpoints state a format.
func TestFormats(t *testing.T) {
	groups := func(format, weights string) string {
		return `{"quant_method": "compressed-tensors", "format": "` + format + `", "ignore": ["lm_head"], "quantization_status": "compressed",
			"config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, "weights": ` + weights + `}}}`
	}
	for _, c := range []struct{ name, quantization, format, scope string }{
		{"AWQ", `{"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm", "modules_to_not_convert": null}`, "int4-zp", ""},
		{"AWQ without zero points", `{"quant_method": "awq", "w_bit": 4, "q_group_size": 128, "zero_point": false, "version": "GEMM"}`, "int4", ""},
		{"GPTQ", `{"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": true, "desc_act": false, "lm_head": false, "damp_percent": 0.1}`, "int4", ""},
		{"GPTQ, asymmetric", `{"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": false, "desc_act": true}`, "int4-zp", ""},
		{"GPTQ in 8 bits", `{"quant_method": "gptq", "bits": 8, "group_size": -1, "sym": true}`, "int8", ""},
		{"W8A8", groups("int-quantized", `{"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": true, "observer": "minmax"}`), "int8", ""},
		{"W4A16", groups("pack-quantized", `{"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true}`), "int4", ""},
		{"W4A16, asymmetric", groups("pack-quantized", `{"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": false}`), "int4-zp", ""},
		{"FP8 dynamic", groups("float-quantized", `{"num_bits": 8, "type": "float", "strategy": "channel"}`), "fp8-channel", ""},
		{"FP8 in blocks", groups("float-quantized", `{"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}`), "fp8", ""},
		{"NVFP4", groups("nvfp4-pack-quantized", `{"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}`), "nvfp4", ""},
		{"MXFP4", groups("mxfp4-pack-quantized", `{"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}`), "mxfp4", ""},
		{"fp8 by DeepSeek", `{"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "scale_fmt": "ue8m0", "weight_block_size": [128, 128]}`, "fp8", ""},
		{"fp8 with attention left alone", `{"quant_method": "fp8", "weight_block_size": [128, 128], "ignored_layers": ["re:.*self_attn.*"]}`, "fp8", roofline.ScopeFFN},
		{"the same by name", `{"quant_method": "fp8", "activation_scheme": "static", "modules_to_not_convert": ["model.layers.0.self_attn", "model.layers.1.self_attn", "lm_head"]}`, "fp8-tensor", roofline.ScopeFFN},
		{"the same by pattern", `{"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": ["model.layers.*.self_attn*", "lm_head"], "producer": {"name": "modelopt"}}`, "nvfp4", roofline.ScopeFFN},
		{"ModelOpt", `{"quant_algo": "FP8", "kv_cache_scheme": "FP8", "ignore": ["lm_head"]}`, "fp8-tensor", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, problems := Config([]byte(with(small, `"quantization_config": `+c.quantization)), "")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if len(m.Weights) != 1 || m.Weights[0] != c.format || m.WeightScope[c.format] != c.scope {
				t.Errorf("%v of %v, want %s of %q", m.Weights, m.WeightScope, c.format, c.scope)
			}
			if !slices.Contains(roofline.WeightDtypes(), c.format) {
				t.Errorf("%s has no size", c.format)
			}
		})
	}
	for dtype, want := range map[string]string{"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "torch.bfloat16": "bf16"} {
		m, problems := Config([]byte(with(small, `"torch_dtype": "`+dtype+`"`)), "")
		if len(problems) > 0 || m.Weights[0] != want || !slices.Contains(roofline.WeightDtypes(), want) {
			t.Errorf("%s: %v, %v", dtype, m.Weights, problems)
		}
	}
	m, problems := Config([]byte(strings.Replace(small, ` "torch_dtype": "bfloat16",`, "", 1)), "")
	if len(problems) > 0 || m.Weights[0] != "bf16" || !strings.Contains(m.Sources["weights"], "names no dtype") {
		t.Errorf("without a dtype: %v from %q, %v", m.Weights, m.Sources["weights"], problems)
	}
}
