package checkpoint

import (
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
