package checkpoint

import (
	"encoding/json"
	"strings"
	"testing"

	"rowproof/internal/roofline"
)

// changed is a published configuration with some keys set, and those that are nil taken
// out.
func changed(t *testing.T, name string, keys map[string]any) *roofline.Model {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(read(t, "models/"+name+".json"), &all); err != nil {
		t.Fatal(err)
	}
	inner := all
	if text, ok := all["text_config"].(map[string]any); ok {
		inner = text
	}
	for k, v := range keys {
		if v == nil {
			delete(inner, k)
		} else {
			inner[k] = v
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	m, problems := Config(data, "")
	for _, p := range problems {
		t.Errorf("%s: %s", name, p)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
	return m
}

// layersWhere counts the layers that something is true of.
func layersWhere(m *roofline.Model, is func(l *roofline.Layer) bool) int64 {
	var n int64
	for i := range m.Architecture.Layers {
		if l := &m.Architecture.Layers[i]; is(l) {
			n += l.Count
		}
	}
	return n
}

// Which layers have an indexer is stated a layer, by a pattern, or by a frequency; the
// three say the same of GLM-5.2.
func TestIndexers(t *testing.T) {
	indexed := func(l *roofline.Layer) bool { return l.Attention.Indexer != nil }
	pattern := "FFF" + strings.Repeat("SSSF", 18) + "SSS"
	for name, keys := range map[string]map[string]any{
		"stated":    {},
		"frequency": {"indexer_types": nil, "index_topk_freq": 4, "index_skip_topk_offset": 3},
		"pattern":   {"indexer_types": nil, "index_topk_pattern": pattern},
	} {
		m := changed(t, "glm-5.2", keys)
		if n := layersWhere(m, indexed); n != 21 {
			t.Errorf("%s: %d indexers, want 21", name, n)
		}
		if n := layersWhere(m, func(l *roofline.Layer) bool { return l.Attention.Selected == 2048 }); n != 78 {
			t.Errorf("%s: %d layers read what was selected, want 78", name, n)
		}
	}
	if n := layersWhere(model(t, "models/glm-5.json"), indexed); n != 78 {
		t.Errorf("GLM-5: %d indexers, want 78", n)
	}
}

// Each family's own rule of which layers slide, where the file has no layer_types.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		name   string
		keys   map[string]any
		slides int64
		window int64
	}{
		{"gpt-oss-20b", map[string]any{"layer_types": nil}, 12, 128},
		{"gemma-3-27b", nil, 52, 1024},
		{"gemma-3-27b", map[string]any{"sliding_window_pattern": 2}, 31, 1024},
		{"mixtral-8x7b", map[string]any{"sliding_window": 4096}, 32, 4096},
		{"mixtral-8x7b", nil, 0, 0},
		{"llama-3.1-8b", map[string]any{"model_type": "mistral", "mlp_bias": nil, "attention_bias": nil, "sliding_window": 1000}, 32, 1000},
		{"llama-3.1-8b", map[string]any{"model_type": "mistral", "mlp_bias": nil, "attention_bias": nil}, 32, 4096},
		{"llama-3.1-8b", map[string]any{"model_type": "mistral", "mlp_bias": nil, "attention_bias": nil, "sliding_window": json.RawMessage("null")}, 0, 0},
		{"mimo-v2-flash", nil, 39, 128},
	} {
		m := changed(t, c.name, c.keys)
		if n := layersWhere(m, func(l *roofline.Layer) bool { return l.Attention.Window > 0 }); n != c.slides {
			t.Errorf("%s with %v: %d layers slide, want %d", c.name, c.keys, n, c.slides)
		}
		if n := layersWhere(m, func(l *roofline.Layer) bool { return l.Attention.Window == c.window }); c.slides > 0 && n != c.slides {
			t.Errorf("%s with %v: not over %d", c.name, c.keys, c.window)
		}
	}
}

// no_rope_layers reads the other way round than it is named: a 1 rotates, and is chunked.
func TestChunks(t *testing.T) {
	chunks := func(l *roofline.Layer) bool { return l.Attention.Chunk == 8192 }
	marks := make([]int, 48)
	marks[0] = 1
	for _, c := range []struct {
		keys map[string]any
		want int64
	}{
		{nil, 36}, {map[string]any{"no_rope_layers": []int{}}, 36}, {map[string]any{"no_rope_layers": marks}, 1},
	} {
		if n := layersWhere(changed(t, "llama-4-maverick", c.keys), chunks); n != c.want {
			t.Errorf("%v: %d layers in chunks, want %d", c.keys, n, c.want)
		}
	}
}

// Mixtures stand where the file says: on every second layer, after the first three, or
// everywhere but in a list.
func TestMixtures(t *testing.T) {
	moe := func(l *roofline.Layer) bool { return l.FFN.Kind == roofline.MoE }
	for _, c := range []struct {
		name string
		keys map[string]any
		want int64
	}{
		{"llama-4-maverick", nil, 24},
		{"llama-4-maverick", map[string]any{"moe_layers": []int{0, 5, 7}}, 3},
		{"deepseek-v3", nil, 58},
		{"deepseek-v3", map[string]any{"first_k_dense_replace": 1, "moe_layer_freq": 2}, 30},
		{"qwen3-30b-a3b", map[string]any{"mlp_only_layers": []int{0, 47}}, 46},
		{"qwen3-30b-a3b", map[string]any{"decoder_sparse_step": 2}, 24},
	} {
		if n := layersWhere(changed(t, c.name, c.keys), moe); n != c.want {
			t.Errorf("%s with %v: %d layers of experts, want %d", c.name, c.keys, n, c.want)
		}
	}
}
