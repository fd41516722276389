package checkpoint

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

// published are the counts that each architecture must come to, in billions: of all
// weights of the language model, and of those that a token reads.
var published = map[string]struct {
	total, read float64
	weights     string
	scope       string
}{
	"llama-3.2-1b":     {1.2358, 1.2358, "bf16", ""},
	"llama-3.1-8b":     {8.0303, 7.5049, "bf16", ""},
	"llama-3.3-70b":    {70.5537, 69.503, "bf16", ""},
	"qwen3-0.6b":       {0.5960, 0.5960, "bf16", ""},
	"qwen3-8b":         {8.1907, 7.5684, "bf16", ""},
	"qwen3-32b":        {32.762, 31.984, "bf16", ""},
	"qwen3-30b-a3b":    {30.532, 3.042, "bf16", ""},
	"qwen3-235b-a22b":  {235.09, 21.568, "bf16", ""},
	"mixtral-8x7b":     {46.703, 12.749, "bf16", ""},
	"gpt-oss-20b":      {20.915, 3.608, "mxfp4", roofline.ScopeExperts},
	"gpt-oss-120b":     {116.829, 5.133, "mxfp4", roofline.ScopeExperts},
	"deepseek-v3":      {671.026, 36.626, "fp8", ""},
	"deepseek-v3.2":    {671.878, 37.477, "fp8", ""},
	"kimi-k2":          {1026.41, 31.687, "fp8", ""},
	"glm-4.5":          {352.798, 32.856, "bf16", ""},
	"glm-5":            {743.911, 40.833, "bf16", ""},
	"glm-5.2":          {743.377, 40.299, "bf16", ""},
	"llama-4-maverick": {400.712, 16.150, "bf16", ""},
	"minimax-m2":       {228.690, 10.416, "fp8", ""},
	"gemma-3-27b":      {27.009, 27.009, "bf16", ""},

	// Beyond the table: what the publishers say of them.
	"qwen3.5-27b":             {26.9, 25.6, "bf16", ""},
	"qwen3.5-397b-a17b":       {396.3, 16.3, "bf16", ""}, // the card: 397 and 17
	"nemotron-3-nano-30b-a3b": {31.6, 3.2, "bf16", ""},
	"nemotron-h-56b":          {56.3, 55.3, "bf16", ""},
	"qwen3-next-80b-a3b":      {80, 3, "bf16", ""},
	"lfm2-1.2b":               {1.170340608, 1.170340608, "bf16", ""},
	"granite-4.0-h-small":     {32, 9, "bf16", ""},
	"mamba-codestral-7b":      {7.285403648, 7.151185920, "bf16", ""},
	"llama-3.1-405b":          {405.9, 403.8, "bf16", ""},
	"llama-4-scout":           {108, 16.1, "bf16", ""}, // the card: 109 with the towers
	"qwen3-coder-480b-a35b":   {480, 34.5, "bf16", ""},
	"qwen3.5-35b-a3b":         {34.7, 2.9, "bf16", ""},
	"mimo-v2-flash":           {309, 15, "fp8", ""},
	"nemotron-super-49b":      {49.9, 48.8, "bf16", ""},

	// The same architectures in other formats.
	"glm-5.2-fp8":          {743.377, 40.299, "fp8", ""},
	"glm-5.2-nvfp4":        {743.377, 40.299, "nvfp4", roofline.ScopeExperts},
	"kimi-k2.5-nvfp4":      {1026.41, 31.687, "nvfp4", roofline.ScopeFFN},
	"qwen3-32b-fp8-tensor": {32.762, 31.984, "fp8-tensor", ""},
	"qwen3-30b-a3b-fp8":    {30.532, 3.042, "fp8", ""},
	"kimi-k2.5":            {1026.41, 31.687, "int4-g32", roofline.ScopeExperts},
}

// near says whether a count equals what was published, to the last digit given.
func near(count int64, want float64) bool {
	unit := 1.0
	for range strings.IndexByte(reverse(roofline.Number(want)), '.') {
		unit /= 10
	}
	diff := float64(count)/1e9 - want
	return diff < unit && diff > -unit
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func TestPublishedModels(t *testing.T) {
	for _, id := range slices.Sorted(maps.Keys(published)) {
		t.Run(id, func(t *testing.T) {
			want := published[id]
			m := model(t, "models/"+id+".json")
			if p := m.Params(); !near(p.Total, want.total) || !near(p.Read, want.read) {
				t.Errorf("%d weights of which %d are read, want %g and %g billion", p.Total, p.Read, want.total, want.read)
			}
			if !slices.Equal(m.Weights, []string{want.weights}) || m.WeightScope[want.weights] != want.scope {
				t.Errorf("weights %v of %v, want %s of %q", m.Weights, m.WeightScope, want.weights, want.scope)
			}
		})
	}
	files, err := os.ReadDir("testdata/models")
	if err != nil || len(files) < len(published) {
		t.Fatalf("%d files of %d models (%v)", len(files), len(published), err)
	}
}

// A checkpoint whose experts are in 4 bits may leave those of its MTP module in 16.
func TestMTPLeftAlone(t *testing.T) {
	for name, want := range map[string]bool{"glm-5.2-nvfp4": true, "glm-5.2-fp8": false} {
		if got := strings.Contains(model(t, "models/"+name+".json").Sources["weights"], "stay in 16 bits"); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// The catalogue was written by hand from the same files, and comes to the same.
func TestCatalogueAgrees(t *testing.T) {
	known, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	compared := 0
	for _, id := range slices.Sorted(maps.Keys(known.Models)) {
		if _, ok := published[id]; !ok {
			continue
		}
		compared++
		t.Run(id, func(t *testing.T) {
			m, byHand := model(t, "models/"+id+".json"), known.Models[id]
			got, want := m.Architecture, byHand.Architecture
			sortLayers(got.Layers)
			want.Layers = slices.Clone(want.Layers)
			sortLayers(want.Layers)
			if id == "glm-4.5" || id == "kimi-k2" {
				got.MaxContext = want.MaxContext // the catalogue has a later version, of a longer context
			}
			if id == "qwen3-next-80b-a3b" {
				got.MTP = want.MTP // its config.json does not state the module that its checkpoint has
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("config.json: %+v\ncatalogue:   %+v", got, want)
				for i := range min(len(got.Layers), len(want.Layers)) {
					if !reflect.DeepEqual(got.Layers[i], want.Layers[i]) {
						t.Errorf("layer %d: %+v\ncatalogue: %+v", i, got.Layers[i], want.Layers[i])
					}
				}
				t.Errorf("MTP %+v\ncatalogue %+v", got.MTP, want.MTP)
			}
			if !slices.Contains(byHand.Weights, m.Weights[0]) || byHand.WeightScope[m.Weights[0]] != m.WeightScope[m.Weights[0]] {
				t.Errorf("weights %v of %v, in the catalogue %v of %v", m.Weights, m.WeightScope, byHand.Weights, byHand.WeightScope)
			}
		})
	}
	if compared < 28 {
		t.Errorf("only %d models compared", compared)
	}
}

func sortLayers(layers []roofline.Layer) {
	slices.SortFunc(layers, func(a, b roofline.Layer) int {
		key := func(l roofline.Layer) string {
			k := l.FFN.Kind + itoa(l.Attention.Window) + "/" + itoa(l.Attention.Chunk) + l.Attention.Kind
			if l.Attention.Indexer != nil {
				k += "indexer"
			}
			return k
		}
		return strings.Compare(key(a), key(b))
	})
}
