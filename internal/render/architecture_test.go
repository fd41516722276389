package render

import (
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
)

// A reader finds on a model's page what its config.json says, each kind of layer once.
func TestArchitectureFacts(t *testing.T) {
	c, problems := catalog.Load(data.FS)
	for _, p := range problems {
		t.Fatal(p)
	}
	hybrid := &roofline.Model{Architecture: roofline.Architecture{Hidden: 2048, Vocabulary: 1000, MaxContext: 4096, Layers: []roofline.Layer{
		{Count: 3, Attention: roofline.Attention{Kind: roofline.Linear, State: &roofline.State{KeyHeads: 16, KeyDim: 128, ValueHeads: 32, ValueDim: 64, Conv: 4}}},
		{Count: 1, Attention: roofline.Attention{Kind: roofline.Conv, State: &roofline.State{ValueHeads: 1, ValueDim: 2048, Conv: 3}}, FFN: roofline.FFN{Kind: roofline.Dense, Width: 8192}},
		{Count: 1, Attention: roofline.Attention{Kind: roofline.None}, FFN: roofline.FFN{Kind: roofline.Dense, Width: 8192}},
	}}}
	for _, at := range []struct {
		name  string
		model *roofline.Model
		want  map[string]string
	}{
		{"llama-3.1-8b", c.Models["llama-3.1-8b"], map[string]string{
			"Layers": "32, hidden 4,096", "Attention": "GQA, 32 query and 8 KV heads of 128", "Feed-forward": "dense, 14,336",
			"Read a token": "7.50 B parameters", "KV a token": "131 kB at bf16"}},
		{"gpt-oss-20b", c.Models["gpt-oss-20b"], map[string]string{
			"Attention":    "12 layers: GQA, 64 query and 8 KV heads of 64, the last 128 tokens; 12 layers: GQA, 64 query and 8 KV heads of 64",
			"Feed-forward": "32 experts of 2,880, 4 a token", "KV a token": "49.2 kB at bf16 until a window or chunk is full"}},
		{"deepseek-v3", c.Models["deepseek-v3"], map[string]string{
			"Attention":    "MLA, 128 heads over a latent of 512 + 64",
			"Feed-forward": "3 layers: dense, 18,432; 58 layers: 256 experts of 2,048, 8 a token, and a shared one of 2,048",
			"KV a token":   "70.3 kB at bf16", "Drafts": "1 MTP module, 11.6 B parameters, read only to draft"}},
		{"glm-5.2", c.Models["glm-5.2"], map[string]string{
			"Attention": "21 layers: MLA, 64 heads over a latent of 512 + 64, 2,048 tokens selected by an indexer of 32 heads of 128; " +
				"57 layers: MLA, 64 heads over a latent of 512 + 64, 2,048 tokens selected by another layer's indexer"}},
		{"llama-4-maverick", c.Models["llama-4-maverick"], map[string]string{
			"Attention":    "36 layers: GQA, 40 query and 8 KV heads of 128, in chunks of 8,192 tokens; 12 layers: GQA, 40 query and 8 KV heads of 128",
			"Feed-forward": "24 layers: dense, 16,384; 24 layers: 128 experts of 8,192, 1 a token, and a shared one of 8,192"}},
		{"a hybrid", hybrid, map[string]string{
			"Attention":    "3 layers: linear, a state of 128 × 64 on each of 32 heads; 1 layer: a convolution over 3 tokens; 1 layer: none",
			"Feed-forward": "3 layers: none; 2 layers: dense, 8,192"}},
	} {
		t.Run(at.name, func(t *testing.T) {
			got := map[string]string{}
			for _, f := range architectureFacts(at.model) {
				got[f.Name] = strings.ReplaceAll(f.Text, format.NBSP, " ")
			}
			for name, want := range at.want {
				if got[name] != want {
					t.Errorf("%s: %q, want %q", name, got[name], want)
				}
			}
		})
	}
}
