package checkpoint

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

func file(name string, data []byte) File {
	return File{Name: name, Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

// A GGUF whose key-value heads are an array that begins with 0: sixteen blocks, of which
// six have attention, and no tensors at all.
func TestKVHeadsALayer(t *testing.T) {
	h, problems := GGUF("", file("lfm2.gguf", read(t, "field/lfm2.gguf")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m := h.Model
	if kv := kvBytes(m, 1); kv != 12_288 {
		t.Errorf("%d bytes of cache a token, want 12,288", kv)
	}
	if kv := kvBytes(m, 32_768); kv != 384<<20 {
		t.Errorf("%d bytes of cache at 32,768, want 384 MiB", kv)
	}
	var state int64
	for _, l := range m.Architecture.Layers {
		if s := l.Attention.State; s != nil {
			if s.ConvBytes != 4 {
				t.Errorf("the convolution keeps %d bytes an element, want 4", s.ConvBytes)
			}
			state += l.Count * (s.Conv - 1) * s.ValueDim
		}
		if l.Attention.Kind == roofline.GQA && (l.Attention.HeadDim != 64 || l.Attention.KVHeads != 8) {
			t.Errorf("attention of %d heads of %d", l.Attention.KVHeads, l.Attention.HeadDim)
		}
	}
	if state != 40_960 {
		t.Errorf("the convolutions keep %d elements, want 40,960", state)
	}
	if h.Stored != (roofline.Stored{From: "lfm2.gguf"}) || h.Dtype != "" || len(m.Weights) != 0 || m.Sources["weights"] != "not in this file" {
		t.Errorf("weights of a file without tensors: %+v, %q, %v, %q", h.Stored, h.Dtype, m.Weights, m.Sources["weights"])
	}
}

// headerOf is a file of which only the header lies here: its data, which nobody reads,
// would follow.
func headerOf(t *testing.T, name string) *Header {
	t.Helper()
	f := file(name, read(t, "gguf/"+name))
	f.Size = 1 << 41
	h, problems := GGUF("", f)
	if len(problems) > 0 || len(h.Doubts) > 0 {
		t.Fatal(problems, h)
	}
	return h
}

func TestGGUFHeaders(t *testing.T) {
	for _, c := range []struct {
		name   string
		params int64
		dtype  string
		bits   float64 // a weight, over the whole file; 0 is not published
	}{
		{"llama-2-7b-q4_k_m.gguf", 6_738_415_616, "q4_k", 4.84}, // llama.cpp's table of quantizations
		{"gpt-oss-20b-mxfp4.gguf", 20_914_757_184, "mxfp4", 0},
		{"qwen3-30b-a3b-q8_0.gguf", 30_532_122_624, "q8_0", 0},
		{"deepseek-v2-lite-bf16.gguf", 15_706_484_224, "bf16", 16},
		{"gemma-3-4b-f16.gguf", 3_880_263_168, "fp16", 16},
		{"qwen3-next-80b-a3b-bf16.gguf", 79_674_391_296, "bf16", 16.01},
		{"lfm2-1.2b-f16.gguf", 1_170_340_608, "fp16", 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := headerOf(t, c.name)
			if h.Params != c.params || h.Model.Params().Total != c.params {
				t.Errorf("%d weights in the tensors, %d by the metadata, want %d", h.Params, h.Model.Params().Total, c.params)
			}
			if h.Dtype != c.dtype || h.Model.Weights[0] != c.dtype {
				t.Errorf("most are %s (%v), want %s", h.Dtype, h.Types, c.dtype)
			}
			s := h.Stored
			bits := 8 * float64(s.Embedding+s.Head+s.Experts+s.Rest) / float64(h.Params)
			if diff := bits - c.bits; c.bits > 0 && (diff > 0.01 || diff < -0.01) {
				t.Errorf("%.4f bits a weight, want %g", bits, c.bits)
			}
			if a := roofline.Ceiling(roofline.Query{Model: h.Model, Stored: &s, Batch: 1}); a.WeightBytes == nil ||
				*a.WeightBytes != float64(s.Embedding+s.Head+s.Experts+s.Rest) {
				t.Errorf("%v bytes of weights, the file has %+v", a.WeightBytes, s)
			}
		})
	}
}

// What a GGUF's metadata describe is what the config.json describes that they were made
// from.
func TestGGUFAgreesWithConfig(t *testing.T) {
	for gguf, config := range map[string]string{
		"gpt-oss-20b-mxfp4.gguf": "gpt-oss-20b", "qwen3-30b-a3b-q8_0.gguf": "qwen3-30b-a3b",
		"qwen3-next-80b-a3b-bf16.gguf": "qwen3-next-80b-a3b", "lfm2-1.2b-f16.gguf": "lfm2-1.2b",
	} {
		got, want := headerOf(t, gguf).Model.Architecture, model(t, "models/"+config+".json").Architecture
		sortLayers(got.Layers)
		sortLayers(want.Layers)
		for _, l := range want.Layers {
			if l.Attention.State != nil {
				l.Attention.State.ConvBytes = 4 // llama.cpp keeps the inputs of a convolution in f32
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nconfig.json: %+v", gguf, got, want)
		}
	}
	known, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got, want := headerOf(t, "deepseek-v2-lite-bf16.gguf").Model.Architecture, known.Models["deepseek-v2-lite"].Architecture
	if !reflect.DeepEqual(got, want) {
		t.Errorf("deepseek-v2-lite: %+v\ncatalogue: %+v", got, want)
	}
	windows := map[int64]int64{}
	for _, l := range headerOf(t, "gemma-3-4b-f16.gguf").Model.Architecture.Layers {
		windows[l.Attention.Window] += l.Count
	}
	if windows[1024] != 29 || windows[0] != 5 {
		t.Errorf("layers by window: %v, want 29 of 1,024 and 5 of all", windows)
	}
}

// The sizes of llama.cpp's types, as gguf-py 0.19.0 lists them (GGML_QUANT_SIZES), and of
// the newest as the block structs of ggml-common.h are asserted to be: number, weights of a
// block, bytes of a block.
func TestGGMLTypes(t *testing.T) {
	for _, want := range [][3]int64{
		{0, 1, 4}, {1, 1, 2}, {2, 32, 18}, {3, 32, 20}, {6, 32, 22}, {7, 32, 24}, {8, 32, 34}, {9, 32, 40}, {10, 256, 84},
		{11, 256, 110}, {12, 256, 144}, {13, 256, 176}, {14, 256, 210}, {15, 256, 292}, {16, 256, 66}, {17, 256, 74},
		{18, 256, 98}, {19, 256, 50}, {20, 32, 18}, {21, 256, 110}, {22, 256, 82}, {23, 256, 136}, {24, 1, 1}, {25, 1, 2},
		{26, 1, 4}, {27, 1, 8}, {28, 1, 8}, {29, 256, 56}, {30, 1, 2}, {34, 256, 54}, {35, 256, 66}, {39, 32, 17},
		{40, 64, 36}, {41, 128, 18}, {42, 64, 18},
	} {
		if k, ok := ggmlTypes[uint32(want[0])]; !ok || k.block != want[1] || k.bytes != want[2] {
			t.Errorf("type %d: %+v, want %d weights in %d bytes", want[0], k, want[1], want[2])
		}
		if f := ggmlTypes[uint32(want[0])].format; f != "" && !slices.Contains(roofline.WeightDtypes(), f) {
			t.Errorf("type %d computes as %q, which has no peak", want[0], f)
		}
	}
	if len(ggmlTypes) != 35 {
		t.Errorf("%d types", len(ggmlTypes))
	}
}
