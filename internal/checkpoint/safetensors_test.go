package checkpoint

import (
	"encoding/binary"
	"strings"
	"testing"

	"rowproof/internal/roofline"
)

// Eight weights in one int32: neither the scales nor the shapes are weights, and the
// shapes are not read in a step.
func TestPackedWeights(t *testing.T) {
	h, problems := Safetensors(file("packed.safetensors", read(t, "field/packed.safetensors")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if h.Params != 164_224 {
		t.Errorf("%d weights, want 164,224", h.Params)
	}
	s := h.Stored
	if s.Embedding != 16_384 || s.Head != 16_384 || s.Experts != 0 || s.Rest != 73_728+2304+768 || h.Shapes != 112 {
		t.Errorf("bytes by part: %+v and %d of shapes", s, h.Shapes)
	}
	if all := s.Embedding + s.Head + s.Rest + h.Shapes; all != 109_680 {
		t.Errorf("%d bytes in all, want the 109,680 of the data part", all)
	}
	if h.Dtype != "int4" || len(h.Types) != 1 || h.Types[0] != (Type{"INT4", 147_456}) {
		t.Errorf("most are %q, types %v; want int4 and 147,456 quantized weights", h.Dtype, h.Types)
	}
	for _, name := range []string{"field/packed.json", "field/packed-nested.json"} {
		m := model(t, name)
		if got := m.Params(); got.Total != 164_224 || got.Read != 156_032 {
			t.Errorf("%s: %+v", name, got)
		}
		if m.Weights[0] != "int4" || m.WeightScope != nil {
			t.Errorf("%s: weights %v of %v", name, m.Weights, m.WeightScope)
		}
		asked := roofline.Query{Model: m, Batch: 1}
		if a := roofline.Ceiling(asked); a.ReadBytesPerStep == nil || *a.ReadBytesPerStep != 93_184 {
			t.Errorf("%s: a step reads %v bytes by its format, want 93,184 (%v)", name, a.ReadBytesPerStep, a.Missing)
		}
		if left := h.Settle(m, nil); len(left) > 0 {
			t.Errorf("%s: %v", name, left)
		}
		asked.Stored = &h.Stored
		if a := roofline.Ceiling(asked); a.ReadBytesPerStep == nil || *a.ReadBytesPerStep != 93_184 {
			t.Errorf("%s: a step reads %v bytes by its tensors, want 93,184 (%v)", name, a.ReadBytesPerStep, a.Missing)
		}
	}
}

func safetensors(t *testing.T, names ...string) (*Header, []Problem) {
	t.Helper()
	var files []File
	for _, name := range names {
		files = append(files, file(name, read(t, "safetensors/"+name)))
	}
	return Safetensors(files...)
}

// Each way to quantize a matrix of 32 outputs, as files lay it out.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		params int64
		dtype  string
		bytes  int64
	}{
		{"bf16", 32*64 + 32, "bf16", 2 * (32*64 + 32)},
		{"fp8-block", 256 * 256, "fp8", 256*256 + 16},
		{"fp8-channel", 32 * 64, "fp8-channel", 32*64 + 64},
		{"fp8-tensor", 32 * 64, "fp8-tensor", 32*64 + 8},
		{"int8-channel", 32 * 64, "int8", 32*64 + 64},
		{"awq", 32 * 128, "int4-zp", 32*128/2 + 16 + 64},
		{"gptq", 32 * 128, "int4-zp", 32*128/2 + 16 + 64 + 512},
		{"nvfp4", 32 * 128, "nvfp4", 32*128/2 + 32*8 + 8},
		{"nvfp4-packed", 32 * 128, "nvfp4", 32*128/2 + 32*8 + 4},
		{"nf4", 32 * 128, "", 32*128/2 + 256 + 64 + 80},
		{"mxfp4-blocks", 2*32*128 + 64, "mxfp4", 2*32*(64+4) + 128},
		{"zero-points", 32 * 128, "int4-zp", 32*128/2 + 64 + 16},
		{"groups-of-32", 32 * 128, "int4-g32", 32*128/2 + 256},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, problems := safetensors(t, c.name+".safetensors")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := h.Stored.Rest + h.Stored.Experts; h.Params != c.params || h.Dtype != c.dtype || got != c.bytes {
				t.Errorf("%d weights as %q in %d bytes, want %d as %q in %d", h.Params, h.Dtype, got, c.params, c.dtype, c.bytes)
			}
		})
	}
}

func TestPacksThatDisagree(t *testing.T) {
	for name, want := range map[string]string{
		"shape-disagrees": "model.layers.0.self_attn.q_proj.weight_shape: says 31 × 128, which no whole number of weights in each of the 32 × 16 numbers",
		"three-bits":      "model.layers.0.self_attn.q_proj.weight_shape: says 32 × 128, which no whole number of weights in each of the 32 × 12 numbers",
	} {
		if _, problems := safetensors(t, name+".safetensors"); len(problems) != 1 || !strings.HasPrefix(problems[0].String(), want) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// Shards are one checkpoint: towers and modules that predict further tokens stand apart.
func TestShards(t *testing.T) {
	index, problems := ReadIndex(read(t, "safetensors/model.safetensors.index.json"))
	if len(problems) > 0 || len(index.Files) != 2 {
		t.Fatal(index, problems)
	}
	var files []File
	for _, name := range index.Files {
		files = append(files, file(name, read(t, "safetensors/"+name)))
	}
	h, problems := index.Safetensors(files...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(h.notes) > 0 {
		t.Errorf("said besides: %q", h.notes)
	}
	want := roofline.Stored{Embedding: 256, Head: 256, Experts: 64, Rest: 64 + 16, From: "model-00001-of-00002.safetensors and 1 more"}
	if h.Stored != want || h.Towers != 200 || h.MTP != 256+256+64 || h.Params != 128+128+32+32+8 {
		t.Errorf("%+v", h)
	}
	for index, want := range map[string]string{
		`{"weight_map": {"a": "../../etc/passwd"}}`: `weight_map.a: is "../../etc/passwd"; the name of a .safetensors file`,
		`{"weight_map": {}}`:                        "weight_map: names no file",
		`[]`:                                        "is no index: ",
	} {
		if _, problems := ReadIndex([]byte(index)); len(problems) != 1 || !strings.HasPrefix(problems[0].String(), want) {
			t.Errorf("%s: %v", index, problems)
		}
	}
}

// spoiled is a safetensors file with another header.
func spoiled(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestBadSafetensors(t *testing.T) {
	const one = `"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}`
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"short":           {[]byte("abc"), "x.safetensors: is 3 bytes long"},
		"huge header":     {binary.LittleEndian.AppendUint64(nil, 1<<60), "x.safetensors: claims a header of 1152921504606846976 bytes"},
		"no JSON":         {spoiled("{oops", 0), "x.safetensors: has a header that is not understood"},
		"no object":       {spoiled("[]", 0), "x.safetensors: has a header that is not understood: found '[' where an object"},
		"unknown type":    {spoiled(`{"a": {"dtype": "F128", "shape": [1], "data_offsets": [0, 16]}}`, 16), `a: is of type "F128"`},
		"unknown key":     {spoiled(`{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], "x": 1}}`, 4), "x.safetensors: has a header that is not understood"},
		"wrong size":      {spoiled(`{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}`, 8), "a: has 3 numbers of F32, 12 bytes, and stands at bytes 0 to 8"},
		"backwards":       {spoiled(`{"a": {"dtype": "F32", "shape": [0], "data_offsets": [8, 0]}}`, 8), "a: stands at bytes 8 to 0"},
		"beyond the end":  {spoiled("{"+one+"}", 4), "a: ends at byte 8 of the 4"},
		"unaccounted":     {spoiled("{"+one+"}", 9), "x.safetensors: holds 9 bytes of which tensors account for 8"},
		"overlapping":     {spoiled("{"+one+`, "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}`, 12), "b: begins at byte 4 where the tensor before it ends at 8"},
		"twice":           {spoiled("{"+one+", "+one+"}", 8), "a: stands twice"},
		"overflow":        {spoiled(`{"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]}}`, 8), "a: has a dimension of 4294967296"},
		"negative":        {spoiled(`{"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}`, 8), "a: has a dimension of -2"},
		"bytes of what":   {spoiled(`{"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}}`, 8), "a: is of type U8 without a scale"},
		"after the end":   {spoiled("{"+one+"} {}", 8), "x.safetensors: has a header that is not understood: data after"},
		"a pack alone":    {spoiled(`{"a.weight_packed": {"dtype": "I32", "shape": [1, 2], "data_offsets": [0, 8]}}`, 8), "a.weight_packed: is packed without scales"},
		"a qweight alone": {spoiled(`{"a.qweight": {"dtype": "I32", "shape": [1, 2], "data_offsets": [0, 8]}}`, 8), "a.qweight: is a pack without scales"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Safetensors(file("x.safetensors", c.data))
			if len(problems) == 0 || !strings.HasPrefix(problems[0].String(), c.want) {
				t.Errorf("%v; want first %q", problems, c.want)
			}
		})
	}
}
