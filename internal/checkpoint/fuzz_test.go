package checkpoint

import (
	"math"
	"os"
	"testing"
)

func seeds(f *testing.F, folder string, suffix string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		f.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		name := e.Name()
		if len(name) < len(suffix) || name[len(name)-len(suffix):] != suffix {
			continue
		}
		data, err := os.ReadFile(folder + "/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		n++
	}
	if n == 0 {
		f.Fatalf("no seed in %s", folder)
	}
}

// FuzzConfig: whatever the bytes, there are problems or a model whose counts are counts.
func FuzzConfig(f *testing.F) {
	seeds(f, "testdata/models", ".json")
	seeds(f, "testdata/field", ".json")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := Config(data, "")
		if len(problems) > 0 {
			return
		}
		p := m.Params()
		if p.Total <= 0 || p.Read <= 0 || p.Total > 2*mostParams || p.MTP < 0 {
			t.Errorf("%+v", p)
		}
		if len(m.Weights) != 1 || len(m.KV) == 0 || m.Name == "" {
			t.Errorf("weights %v, cache %v, name %q", m.Weights, m.KV, m.Name)
		}
		layers := int64(0)
		for _, l := range m.Architecture.Layers {
			layers += l.Count
			if a := l.Attention; a.Heads < 0 || a.Window < 0 || a.Kind == "" || l.FFN.Kind == "" {
				t.Errorf("%+v", l)
			}
		}
		if layers < 1 || layers > mostLayers {
			t.Errorf("%d layers", layers)
		}
	})
}

func FuzzGGUF(f *testing.F) {
	seeds(f, "testdata/field", ".gguf")
	seeds(f, "testdata/gguf", ".gguf")
	f.Fuzz(func(t *testing.T, data []byte) {
		h, problems := GGUF("", file("fuzz.gguf", data))
		if len(problems) > 0 {
			return
		}
		sane(t, h, int64(len(data)))
		if (h.Model == nil) != (len(h.Doubts) > 0) || h.Model != nil && h.Model.Params().Total < 0 {
			t.Errorf("%+v with doubts %v", h.Model, h.Doubts)
		}
	})
}

func FuzzSafetensors(f *testing.F) {
	seeds(f, "testdata/field", ".safetensors")
	seeds(f, "testdata/safetensors", ".safetensors")
	f.Fuzz(func(t *testing.T, data []byte) {
		h, problems := Safetensors(file("fuzz.safetensors", data))
		if len(problems) == 0 {
			sane(t, h, int64(len(data)))
		}
	})
}

func FuzzShards(f *testing.F) {
	f.Add([]byte(`{"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, problems := ReadIndex(data)
		if len(problems) == 0 && len(index.Files) == 0 {
			t.Error("neither files nor problems")
		}
	})
}

// sane says that the parts are within the file.
func sane(t *testing.T, h *Header, size int64) {
	sum := int64(0)
	for _, n := range []int64{h.Stored.Embedding, h.Stored.Head, h.Stored.Experts, h.Stored.Rest, h.MTP, h.Towers, h.Shapes} {
		if n < 0 || n > math.MaxInt64/8 {
			t.Errorf("%+v", h)
		}
		sum += n
	}
	if sum > size || h.Params < 0 {
		t.Errorf("%d bytes by part in a file of %d, %d weights", sum, size, h.Params)
	}
}
