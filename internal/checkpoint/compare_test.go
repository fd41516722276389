package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// tensor is one tensor of a file to be written.
type tensor struct {
	dtype string
	shape []int64
}

// written is a safetensors file of such tensors, in order of name.
func written(t *testing.T, tensors map[string]tensor) []byte {
	t.Helper()
	header := map[string]any{}
	end := int64(0)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		one := tensors[name]
		size := safeWidths[one.dtype].bits / 8
		for _, n := range one.shape {
			size *= n
		}
		header[name] = map[string]any{"dtype": one.dtype, "shape": one.shape, "data_offsets": []int64{end, end + size}}
		end += size
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return spoiled(string(text), int(end))
}

// ofSmall are the tensors of the configuration that is called small.
func ofSmall() map[string]tensor {
	all := map[string]tensor{
		"model.embed_tokens.weight": {"BF16", []int64{64, 128}}, "lm_head.weight": {"BF16", []int64{64, 128}}, "model.norm.weight": {"BF16", []int64{128}},
	}
	for _, layer := range []string{"model.layers.0.", "model.layers.1."} {
		for name, shape := range map[string][]int64{
			"self_attn.q_proj": {128, 128}, "self_attn.k_proj": {64, 128}, "self_attn.v_proj": {64, 128}, "self_attn.o_proj": {128, 128},
			"mlp.gate_proj": {256, 128}, "mlp.up_proj": {256, 128}, "mlp.down_proj": {128, 256}, "input_layernorm": {128}, "post_attention_layernorm": {128},
		} {
			all[layer+name+".weight"] = tensor{"BF16", shape}
		}
	}
	return all
}

// settled reads a file of the tensors and holds it against small; what is said stands in
// the source of the architecture.
func settled(t *testing.T, config string, tensors map[string]tensor) (left []string, says string) {
	t.Helper()
	h, problems := Safetensors(file("x.safetensors", written(t, tensors)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m, problems := Config([]byte(config), "small")
	for _, p := range h.Settle(m, problems) {
		left = append(left, p.String())
	}
	return left, m.Sources["architecture"]
}

// Files of another model are told by the parts that differ and by the first tensors that
// do, however well their sum agrees.
func TestTensorsOfAnotherModel(t *testing.T) {
	const q0, up0 = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.up_proj.weight"
	for _, c := range []struct {
		name  string
		spoil func(all map[string]tensor)
		want  []string // the start of each problem
	}{
		{"the model's own", func(map[string]tensor) {}, nil},
		{"one tensor for all", func(all map[string]tensor) {
			n := int64(0)
			for _, one := range all {
				size := int64(1)
				for _, d := range one.shape {
					size *= d
				}
				n += size
			}
			clear(all)
			all["x"] = tensor{"BF16", []int64{n}}
		}, []string{"holds tensors of 311936 weights, and small would have 311936; all files of one model are accepted (held: embedding 0 of 8192, head 0 of 8192, all else 311936 of 295552)"}},
		{"another name", func(all map[string]tensor) { all["foo"] = all[up0]; delete(all, up0) },
			[]string{up0 + ": is missing; small has it", "foo: is a tensor that small has not"}},
		{"two shapes that make up for each other", func(all map[string]tensor) {
			all[q0] = tensor{"BF16", []int64{64, 128}}
			all["model.layers.0.self_attn.k_proj.weight"] = tensor{"BF16", []int64{128, 128}}
		}, []string{"model.layers.0.self_attn.k_proj.weight: is 128 × 128, and small has 64 × 128 there", q0 + ": is 64 × 128, and small has 128 × 128 there"}},
		{"turned about", func(all map[string]tensor) { all[up0] = tensor{"BF16", []int64{128, 256}} },
			[]string{up0 + ": is 128 × 256, and small has 256 × 128 there"}},
		{"a layer too many", func(all map[string]tensor) {
			all["model.layers.2.mlp.up_proj.weight"] = all[up0]
		}, []string{"holds tensors of 344704 weights, and small would have 311936; all files of one model are accepted (held: all else ", "model.layers.2.mlp.up_proj.weight: is a tensor that small has not"}},
		{"a head of another vocabulary", func(all map[string]tensor) { all["lm_head.weight"] = tensor{"BF16", []int64{65, 128}} },
			[]string{"holds tensors of 312064 weights, and small would have 311936; all files of one model are accepted (held: head 8320 of 8192)", "lm_head.weight: is 65 × 128, and small has 64 × 128 there"}},
		{"a layer too few", func(all map[string]tensor) {
			maps.DeleteFunc(all, func(name string, _ tensor) bool { return strings.Contains(name, "layers.1.") })
		}, []string{"holds tensors of ", "model.layers.1.mlp.down_proj.weight: is missing", "model.layers.1.mlp.gate_proj.weight: is missing",
			"model.layers.1.mlp.up_proj.weight: is missing", "4 more tensors are missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := ofSmall()
			c.spoil(all)
			left, _ := settled(t, small, all)
			if len(left) != len(c.want) {
				t.Fatalf("%q", left)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(left[i], want) {
					t.Errorf("%q; want %q", left[i], want)
				}
			}
		})
	}
}

// What experts hold is compared expert by expert.
func TestExpertsOfAnotherModel(t *testing.T) {
	config := with(with(with(strings.Replace(small, "llama", "mixtral", 1), `"num_local_experts": 2`), `"num_experts_per_tok": 1`), `"sliding_window": null`)
	all := ofSmall()
	for _, layer := range []string{"model.layers.0.", "model.layers.1."} {
		for _, name := range []string{"gate_proj", "up_proj", "down_proj"} {
			delete(all, layer+"mlp."+name+".weight")
		}
		all[layer+"block_sparse_moe.gate.weight"] = tensor{"BF16", []int64{2, 128}}
		for _, expert := range []string{"0", "1"} {
			at := layer + "block_sparse_moe.experts." + expert
			all[at+".w1.weight"], all[at+".w2.weight"], all[at+".w3.weight"] = tensor{"BF16", []int64{256, 128}}, tensor{"BF16", []int64{128, 256}}, tensor{"BF16", []int64{256, 128}}
		}
	}
	if left, _ := settled(t, config, all); len(left) > 0 {
		t.Fatal(left)
	}
	one := "model.layers.1.block_sparse_moe.experts.1.w3.weight"
	all["model.layers.1.block_sparse_moe.experts.2.w3.weight"] = all[one]
	delete(all, one)
	left, _ := settled(t, config, all)
	if len(left) != 2 || !strings.HasPrefix(left[0], "model.layers.1.mlp.experts.*.up_proj.weight: is missing") ||
		!strings.HasPrefix(left[1], "model.layers.1.block_sparse_moe.experts.2.w3.weight: is a tensor that small has not") {
		t.Errorf("%q", left)
	}
}

// Tensors win over what config.json says of their format, which is then said; a format of
// another width is that of another checkpoint.
func TestFormatsThatDisagree(t *testing.T) {
	quantized := func(scales bool) map[string]tensor {
		all := ofSmall()
		for name, one := range all {
			if strings.Contains(name, "_proj") {
				all[name] = tensor{"F8_E4M3", one.shape}
				if scales {
					all[name+"_scale"] = tensor{"F32", []int64{one.shape[0], 1}}
				}
			}
		}
		return all
	}
	awq := func() map[string]tensor {
		all := ofSmall()
		for name, one := range all {
			if stem, ok := strings.CutSuffix(name, "_proj.weight"); ok {
				out, in := one.shape[0], one.shape[1]
				delete(all, name)
				all[stem+"_proj.qweight"] = tensor{"I32", []int64{in, out / 8}}
				all[stem+"_proj.qzeros"] = tensor{"I32", []int64{in / 128, out / 8}}
				all[stem+"_proj.scales"] = tensor{"F16", []int64{in / 128, out}}
			}
		}
		return all
	}
	fp8 := with(small, `"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}`)
	for _, c := range []struct {
		name, config string
		tensors      map[string]tensor
		problem      string
		says         string
	}{
		{"agreed", fp8, quantized(false), "", ""},
		{"other scales", fp8, quantized(true), "", "config.json says fp8-tensor weights, and most of the tensors are fp8-channel: theirs count"},
		{"config says 8 bits", fp8, ofSmall(), "holds weights most of which are bf16, and config.json says fp8-tensor", ""},
		{"config says nothing of 8 bits", small, quantized(true), "holds weights most of which are fp8-channel, and config.json says bf16", ""},
		{"other groups", with(small, `"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true}`), awq(),
			"", "config.json says int4-zp-g64 weights, and most of the tensors are int4-zp: theirs count"},
		{"other bits", with(small, `"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": 128}`), awq(),
			"holds weights most of which are int4-zp, and config.json says int8-g128", ""},
		{"not understood, so not contradicted", with(small, `"quantization_config": {"quant_method": "hqq"}`), quantized(true), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			left, says := settled(t, c.config, c.tensors)
			if got := strings.Join(left, "\n"); !strings.HasPrefix(got, c.problem) || c.problem == "" && got != "" {
				t.Errorf("%q; want %q", got, c.problem)
			}
			if got := strings.Contains(says, "theirs count"); got != (c.says != "") || !strings.Contains(says, c.says) {
				t.Errorf("said: %q; want %q", says, c.says)
			}
		})
	}
}

// An index is held against the files that it names.
func TestIndexThatDisagrees(t *testing.T) {
	all := ofSmall()
	data := written(t, all)
	weightMap := map[string]string{}
	for name := range all {
		weightMap[name] = "model-1.safetensors"
	}
	m, _ := Config([]byte(small), "small")
	for _, c := range []struct {
		name   string
		index  map[string]any
		spoil  map[string]string
		want   string
		saying string
	}{
		{"agreed", map[string]any{"total_size": 311936 * 2}, nil, "", ""},
		{"without a size", nil, nil, "", ""},
		{"another size", map[string]any{"total_size": 1}, nil, "", "the index says a total_size of 1 and the tensors are 623872 bytes: theirs count"},
		{"a ghost", nil, map[string]string{"ghost": "model-1.safetensors"}, `ghost: is in none of the files, and the index says "model-1.safetensors"`, ""},
		{"another file", nil, map[string]string{"lm_head.weight": "model-2.safetensors"}, `lm_head.weight: stands in model-1.safetensors, and the index says "model-2.safetensors"`, ""},
		{"unnamed", nil, map[string]string{"lm_head.weight": ""}, "", "the index leaves out 1 of the tensors that its files hold: all count"},
	} {
		t.Run(c.name, func(t *testing.T) {
			named := maps.Clone(weightMap)
			for k, v := range c.spoil {
				if named[k] = v; v == "" {
					delete(named, k)
				}
			}
			text, err := json.Marshal(map[string]any{"metadata": c.index, "weight_map": named})
			if err != nil {
				t.Fatal(err)
			}
			index, problems := ReadIndex(text)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			h, problems := index.Safetensors(file("model-1.safetensors", data))
			if c.want != "" {
				if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), c.want) {
					t.Errorf("%v; want %q", problems, c.want)
				}
				return
			}
			one := *m
			one.Sources = maps.Clone(m.Sources)
			if len(problems) > 0 || len(h.Settle(&one, nil)) > 0 {
				t.Fatal(problems)
			}
			if says := one.Sources["architecture"]; !strings.HasSuffix(says, c.saying) || (c.saying == "") != (says == m.Sources["architecture"]) {
				t.Errorf("%q; want %q", says, c.saying)
			}
		})
	}
}

// What a file calls its tensors and keys reaches no terminal as it stands.
func TestControlCharacters(t *testing.T) {
	_, config := Config([]byte(with(small, `"\u001b[2J\u202e\n": 1`)), "")
	_, header := Safetensors(file("x.safetensors", spoiled(`{"\u001b[2J": {"dtype": "\u001b[31m", "shape": [1], "data_offsets": [0, 8]}}`, 8)))
	_, index := ReadIndex([]byte(`{"weight_map": {"\u001b[2J": "\u0007"}}`))
	for _, list := range [][]Problem{config, header, index} {
		if len(list) == 0 {
			t.Error("nothing is wrong")
		}
		for _, p := range list {
			if said := p.String(); strings.ContainsFunc(said, func(r rune) bool { return r < ' ' || r == '\u202e' }) || !strings.Contains(said, `\x1b[2J`) {
				t.Errorf("%q", said)
			}
		}
	}
	m, problems := Config([]byte(small), "a\x1b[2J")
	if len(problems) > 0 || m.Name != `a\x1b[2J` {
		t.Errorf("called %q (%v)", m.Name, problems)
	}
}

// The keys of a tensor are those three, each once, in that spelling.
func TestTensorsThatAreNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		`{"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 9]}`:                "data_offsets has more than 2 entries",
		`{"dtype": "F32", "shape": [2], "data_offsets": [0]}`:                      "data_offsets has 1 entries; a beginning and an end are accepted",
		`{"dtype": "F16", "dtype": "F32", "shape": [2], "data_offsets": [0, 8]}`:   "dtype stands twice; once is accepted",
		`{"DTYPE": "F32", "shape": [2], "data_offsets": [0, 8]}`:                   `has the key "DTYPE"; dtype, shape and data_offsets are accepted`,
		`{"shape": [2], "data_offsets": [0, 8]}`:                                   "dtype is missing",
		`{"dtype": "F32", "shape": [1.5], "data_offsets": [0, 8]}`:                 `shape holds "1.5"; whole numbers are accepted`,
		`{"dtype": "F32", "shape": ["2"], "data_offsets": [0, 8]}`:                 `shape holds "\"2\""; whole numbers are accepted`,
		`{"dtype": "F32", "shape": [2], "data_offsets": [0, 9223372036854775808]}`: `data_offsets holds "9223372036854775808"`,
		`{"dtype": "F32", "shape": null, "data_offsets": [0, 8]}`:                  "shape: found 'n' where a list of whole numbers is accepted",
		`{"dtype": 32, "shape": [2], "data_offsets": [0, 8]}`:                      "dtype: found '3' where a text in quotes is accepted",
		`{"dtype": "F32", "shape": [1,1,1,1,1,1,1,1,2], "data_offsets": [0, 8]}`:   "shape has more than 8 entries",
		`{"dtype": "F32", "shape": [2], "data_offsets": [0, 8]`:                    "the text ends within a value",
		`{"dtype" "F32"}`: "found '\"' where a colon is accepted",
	} {
		_, problems := Safetensors(file("x.safetensors", spoiled(`{"a": `+text+"}", 8)))
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) || strings.Contains(problems[0].String(), "json") {
			t.Errorf("%s: %v; want %q", text, problems, want)
		}
	}
	// Every escape and space of JSON is read as JSON has it.
	h, problems := Safetensors(file("x.safetensors", spoiled("{ \"__metadata__\" : {\"a\\n\" : \"\\u00e4\"} ,\r\n\t\"lm_head\\u002eweight\" : { \"shape\" : [ 2 , 1 ] , \"data_offsets\":[0,8], \"dtype\":\"F32\" } }  ", 8)))
	if len(problems) > 0 || h.Stored.Head != 8 || h.Params != 2 {
		t.Errorf("%+v %v", h, problems)
	}
}

// BenchmarkHeader reads a header of 100,000 tensors, as many as the largest checkpoints'.
func BenchmarkHeader(b *testing.B) {
	var text bytes.Buffer
	text.WriteString("{")
	for i := range int64(100_000) {
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString(`"model.layers.` + itoa(i/1000) + ".mlp.experts." + itoa(i%1000) + `.up_proj.weight":{"dtype":"BF16","shape":[1,1],"data_offsets":[` + itoa(2*i) + "," + itoa(2*i+2) + "]}")
	}
	text.WriteString("}")
	data := spoiled(text.String(), 200_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if h, problems := Safetensors(file("x.safetensors", data)); len(problems) > 0 || h.Params != 100_000 {
			b.Fatal(problems)
		}
	}
}
