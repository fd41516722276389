package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// writeTokenizer writes a tokenizer that the peers can load without a hub: a token is a
// word, as the embedded engine counts them, and an unknown word is a token too.
func writeTokenizer(dir string) (string, error) {
	vocab := map[string]int{"<s>": 0, "</s>": 1}
	for i := range 1000 {
		vocab[fmt.Sprintf("t%d", i)] = len(vocab)
	}
	special := func(id int, text string) map[string]any {
		return map[string]any{"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
	}
	for name, v := range map[string]any{
		"tokenizer.json": map[string]any{
			"version": "1.0", "truncation": nil, "padding": nil,
			"added_tokens": []any{special(0, "<s>"), special(1, "</s>")},
			"normalizer":   nil, "pre_tokenizer": map[string]any{"type": "WhitespaceSplit"},
			"post_processor": nil, "decoder": nil,
			"model": map[string]any{"type": "WordLevel", "vocab": vocab, "unk_token": "t0"},
		},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": contextSize,
		},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		if err := write(filepath.Join(dir, name), b); err != nil {
			return "", err
		}
	}
	return dir, nil
}
