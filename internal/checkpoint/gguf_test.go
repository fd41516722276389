package checkpoint

import (
	"bytes"
	"testing"

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
