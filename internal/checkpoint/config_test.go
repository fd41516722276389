package checkpoint

import (
	"os"
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
