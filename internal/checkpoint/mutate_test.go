package checkpoint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Whatever one value is replaced by, there are problems or a model that makes sense; and a
// key that nobody knows is told by its path, wherever it stands.
func TestEveryKeySpoiled(t *testing.T) {
	spoils := []json.RawMessage{}
	for _, s := range []string{"null", "-1", "0", "3", "1e99", `"x"`, "[0]", "{}", "true"} {
		spoils = append(spoils, json.RawMessage(s))
	}
	for _, name := range []string{"llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b", "deepseek-v3.2", "llama-4-maverick", "minimax-m2", "gemma-3-27b",
		"lfm2-1.2b", "nemotron-3-nano-30b-a3b", "qwen3-32b-fp8-tensor"} {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(read(t, "models/"+name+".json"), &all); err != nil {
			t.Fatal(err)
		}
		inner, path := all, ""
		if text, ok := all["text_config"]; ok {
			path, inner = "text_config.", nil
			if err := json.Unmarshal(text, &inner); err != nil {
				t.Fatal(err)
			}
		}
		again := func() []Problem {
			if path != "" {
				all["text_config"], _ = json.Marshal(inner)
			}
			data, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			m, problems := Config(data, "")
			if len(problems) == 0 {
				if p := m.Params(); p.Total <= 0 || p.Read <= 0 || p.MTP < 0 || len(m.Weights) != 1 {
					t.Errorf("%s: %+v of %s", name, p, data)
				}
			}
			return problems
		}
		for _, k := range slices.Sorted(maps.Keys(inner)) {
			was := inner[k]
			for _, s := range spoils {
				inner[k] = s
				again()
			}
			inner[k] = was
			inner["x_"+k] = json.RawMessage("1")
			if problems := again(); len(problems) != 1 || problems[0].Where != path+"x_"+k || !strings.Contains(problems[0].Text, "is not known") {
				t.Errorf("%s: x_%s: %v", name, k, problems)
			}
			delete(inner, "x_"+k)
		}
	}
}
