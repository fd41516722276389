package checkpoint

import (
	"encoding/json"
	"strings"
	"testing"

	"rowproof/internal/roofline"
)

// What fleets serve, each by what its config.json says.
func TestStatedFormats(t *testing.T) {
	for name, c := range map[string]struct {
		quantization, format, says string
	}{
		"Meta's fp8":          {`{"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"]}`, "fp8-channel", "have 2 bytes where the file has 4"},
		"GPTQ, 8 bits":        {`{"quant_method": "gptq", "bits": 8, "group_size": 128, "desc_act": false, "sym": true}`, "int8-g128", ""},
		"AWQ in groups of 64": {`{"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true, "version": "gemm"}`, "int4-zp-g64", ""},
		"AutoRound as GPTQ":   {`{"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": true, "data_type": "int", "packing_format": "auto_round:auto_gptq", "autoround_version": "0.5"}`, "int4", ""},
		"AutoRound as AWQ":    {`{"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": false, "data_type": "int", "packing_format": "auto_round:auto_awq"}`, "int4-zp", ""},
		"NF4": {`{"quant_method": "bitsandbytes", "_load_in_4bit": true, "_load_in_8bit": false, "load_in_4bit": true, "load_in_8bit": false, "bnb_4bit_compute_dtype": "bfloat16",
			"bnb_4bit_quant_storage": "uint8", "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, "llm_int8_skip_modules": null, "llm_int8_threshold": 6.0}`, "nf4", ""},
		"LLM.int8()": {`{"quant_method": "bitsandbytes", "load_in_4bit": false, "load_in_8bit": true, "llm_int8_skip_modules": ["lm_head"]}`, "int8", "have 2 bytes where the file has 4"},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := Config([]byte(with(small, `"quantization_config": `+strings.ReplaceAll(c.quantization, ",\n", ", "))), "")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if m.Weights[0] != c.format || m.WeightScope != nil || !strings.Contains(m.Sources["architecture"], c.says) {
				t.Errorf("%v of %v, said: %s", m.Weights, m.WeightScope, m.Sources["architecture"])
			}
			if a := roofline.Ceiling(roofline.Query{Model: m, Batch: 1}); a.ReadBytesPerStep == nil {
				t.Error(a.Missing)
			}
		})
	}
}

// Meta's 405B leaves attention in 16 bits, and its first and last layer altogether: the
// bytes are a floor, which is said.
func TestAFewLayersLeftAlone(t *testing.T) {
	spared := []string{`"lm_head"`}
	for i := range int64(126) {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
			spared = append(spared, `"model.layers.`+itoa(i)+".self_attn."+name+`"`)
		}
	}
	for _, i := range []string{"0", "125"} {
		for _, name := range []string{"gate_proj", "up_proj", "down_proj"} {
			spared = append(spared, `"model.layers.`+i+".mlp."+name+`"`)
		}
	}
	m := changed(t, "llama-3.1-405b", map[string]any{"quantization_config": json.RawMessage(`{"quant_method": "fbgemm_fp8", "modules_to_not_convert": [` + strings.Join(spared, ",") + "]}")})
	if m.Weights[0] != "fp8-channel" || m.WeightScope["fp8-channel"] != roofline.ScopeFFN {
		t.Errorf("%v of %v", m.Weights, m.WeightScope)
	}
	if says := m.Sources["architecture"]; !strings.Contains(says, "6 of 378 matrices of the dense feed-forward networks stay in 16 bits, of which the format gives a floor") {
		t.Error(says)
	}
}

// Keys that no cost depends on, as SmolLM2 has them; and what is assumed is said.
func TestWhatIsAssumed(t *testing.T) {
	m, problems := Config([]byte(with(strings.Replace(small, ` "torch_dtype": "bfloat16",`, "", 1), `"rope_interleaved": false,
"is_llama_config": true`)), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if says := m.Sources["architecture"]; !strings.Contains(says, "torch_dtype is missing: bf16 is assumed") || m.Weights[0] != "bf16" {
		t.Errorf("%v, said: %s", m.Weights, says)
	}
}
