package engine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// Each engine is asked in its own words, and what it does not count is not made up.
func TestCounter(t *testing.T) {
	for _, c := range []struct {
		name, engine, path string
		answers, asked     map[string]string
		want               int64
		ok                 bool
	}{
		{"vLLM, text", VLLM, PathCompletions, map[string]string{"/tokenize": string(fixture(t, "vllm/tokenize.json"))},
			map[string]string{"/tokenize": `{"model":"m","prompt":"a b","add_special_tokens":true}`}, 3, true},
		{"vLLM, a chat with its template", VLLM, PathChat, map[string]string{"/tokenize": string(fixture(t, "vllm/tokenize.json"))},
			map[string]string{"/tokenize": `{"model":"m","messages":[{"role":"user","content":"a b"}],"add_generation_prompt":true}`}, 3, true},
		{"SGLang", SGLang, PathGenerate, map[string]string{"/tokenize": `{"tokens":[1,2],"count":2,"max_model_len":8}`},
			map[string]string{"/tokenize": `{"model":"m","prompt":"a b","add_special_tokens":true}`}, 2, true},
		{"llama.cpp", LlamaCPP, PathCompletion, map[string]string{"/tokenize": `{"tokens":[1,2,3,4]}`},
			map[string]string{"/tokenize": `{"content":"a b","add_special":true,"parse_special":true}`}, 4, true},
		{"llama.cpp, a chat with its template", LlamaCPP, PathChat, map[string]string{"/apply-template": `{"prompt":"<s>a b</s>"}`, "/tokenize": `{"tokens":[1,2,3,4,5]}`},
			map[string]string{"/apply-template": `{"messages":[{"role":"user","content":"a b"}]}`, "/tokenize": `{"content":"\u003cs\u003ea b\u003c/s\u003e","add_special":true,"parse_special":true}`}, 5, true},
		{"no such route", VLLM, PathChat, nil, map[string]string{"/tokenize": `{"model":"m","messages":[{"role":"user","content":"a b"}],"add_generation_prompt":true}`}, 0, false},
		{"another answer", VLLM, PathCompletions, map[string]string{"/tokenize": `{"count":-4}`},
			map[string]string{"/tokenize": `{"model":"m","prompt":"a b","add_special_tokens":true}`}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := map[string]string{}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				asked[r.URL.Path] = string(b)
				answer, ok := c.answers[r.URL.Path]
				if !ok || r.Method != http.MethodPost {
					http.NotFound(w, r)
					return
				}
				io.WriteString(w, answer)
			}))
			defer s.Close()
			base, _ := url.Parse(s.URL)
			k := NewCounter(base, nil, false, time.Minute, c.engine, "m")
			defer k.Close()
			n, ok := k.Count(t.Context(), c.path, Prompt{Text: "a b"})
			if n != c.want || ok != c.ok {
				t.Errorf("%d, %v", n, ok)
			}
			for path, want := range c.asked {
				if asked[path] != want {
					t.Errorf("%s was asked %s, want %s", path, asked[path], want)
				}
			}
			if len(asked) != len(c.asked) {
				t.Errorf("asked %v", asked)
			}
		})
	}
	if NewCounter(nil, nil, false, time.Minute, Ollama, "m") != nil {
		t.Error("Ollama counts no tokens")
	}
}
