package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const smallConfig = `{
 "model_type": "llama", "vocab_size": 64, "hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 256,
 "num_attention_heads": 4, "num_key_value_heads": 2, "torch_dtype": "bfloat16", "max_position_embeddings": 4096`

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// refused runs the verb on what it must refuse, and returns each line of why.
func refused(t *testing.T, args ...string) []string {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(context.Background(), append([]string{"ceiling"}, args...), nil, &out, &said); code == exitOK {
		t.Fatalf("%s: answered with\n%s", strings.Join(args, " "), out.String())
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return lines[:len(lines)-1] // the last one points to --help
}

// A checkpoint that was calibrated for an 8-bit cache is asked with one; a flag wins, and
// so does a catalogue's model, whose formats are all on offer.
func TestCacheThatAConfigStates(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		quantization string
		flags        []string
		want         string
	}{
		"nothing stated": {"", nil, "bf16"},
		"compressed-tensors": {`{"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"], "kv_cache_scheme": {"num_bits": 8, "type": "float"},
			"config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}}}`, nil, "fp8"},
		"modelopt":        {`{"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}`, nil, "fp8"},
		"modelopt nested": {`{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}`, nil, "fp8"},
		"a flag":          {`{"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}`, []string{"--kv-dtype", "bf16"}, "bf16"},
	} {
		t.Run(name, func(t *testing.T) {
			config := smallConfig + "}"
			if c.quantization != "" {
				config = smallConfig + `, "quantization_config": ` + c.quantization + "}"
			}
			answer := askCeiling(t, append([]string{"--config", writeFile(t, filepath.Join(folder, "config.json"), config)}, c.flags...)...)
			if got := answer["query"].(map[string]any)["kv_dtype"]; got != c.want {
				t.Errorf("a cache in %v, want %s", got, c.want)
			}
			said := false
			for _, s := range answer["sources"].([]any) {
				said = said || strings.Contains(s.(string), "asks for an 8-bit cache")
			}
			if stated := strings.Contains(config, "kv_cache"); said != stated {
				t.Errorf("said to be the config's: %v, want %v", said, stated)
			}
		})
	}
	if got := askCeiling(t, "--model", "deepseek-v3")["query"].(map[string]any)["kv_dtype"]; got != "bf16" {
		t.Errorf("a catalogue's model in %v, want bf16", got)
	}
}

// Of a checkpoint of which a file is missing or no file, that one is told of and no other.
func TestOneShardThatIsNotThere(t *testing.T) {
	folder := t.TempDir()
	index := `{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-3.safetensors"}}`
	writeFile(t, filepath.Join(folder, "model.safetensors.index.json"), index)
	writeFile(t, filepath.Join(folder, "config.json"), smallConfig+"}")
	for _, name := range []string{"model-1.safetensors", "model-3.safetensors"} {
		header := `{"` + name + `": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}`
		writeFile(t, filepath.Join(folder, name), string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0})+header+"1234")
	}
	second := filepath.Join(folder, "model-2.safetensors")
	check := func(want string) {
		t.Helper()
		if lines := refused(t, "--weights", folder); len(lines) != 1 || !strings.Contains(lines[0], second+": "+want) {
			t.Errorf("%q; want only %s of %s", lines, want, second)
		}
	}
	check("there is no such file")
	if err := os.Mkdir(second, 0o700); err != nil {
		t.Fatal(err)
	}
	check("cannot be read: it is no regular file")
}

// What is wrong with a config.json is said once, with one range.
func TestOneFieldThatIsWrong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.json")
	for _, c := range []struct{ from, to, want string }{
		{`"hidden_size": 128`, `"hidden_size": 1e400`, "hidden_size: is 1e400; a whole number of 1 to 16777216 is accepted"},
		{`"num_hidden_layers": 2`, `"num_hidden_layers": 0`, "num_hidden_layers: is 0; a whole number of 1 to 4096 is accepted"},
		{`"intermediate_size": 256`, `"x": null`, "intermediate_size: is missing"},
	} {
		lines := refused(t, "--config", writeFile(t, name, strings.Replace(smallConfig, c.from, c.to, 1)+"}"), "--target", "h200-sxm")
		if len(lines) != 1 || !strings.Contains(lines[0], c.want) {
			t.Errorf("%q; want only %q", lines, c.want)
		}
	}
}
