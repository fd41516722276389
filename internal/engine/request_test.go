package engine

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestRequestBodies(t *testing.T) {
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"ids to vLLM", Request(PathCompletions, "m", Prompt{IDs: []int{5, 6, 7}}, 3, 4, Options{Engine: VLLM, IgnoreEOS: true}).Body,
			`{"model":"m","prompt":[5,6,7],"max_tokens":4,"temperature":0,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"ignore_eos":true,"return_token_ids":true}`},
		{"text to SGLang", Request(PathCompletions, "a/b", Prompt{Text: "say \"hi\"\n"}, 3, 4, Options{Engine: SGLang}).Body,
			`{"model":"a/b","prompt":"say \"hi\"\n","max_tokens":4,"temperature":0,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
		{"chat to a stranger", Request(PathChat, "m", Prompt{Text: "hi"}, 3, 4, Options{Engine: "unknown: x"}).Body,
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`},
		{"a chat whose limit has the other name", Request(PathChat, "m", Prompt{Messages: []Message{{"system", "be <brief>"}, {"user", "hi"}}}, 3, 4, Options{CompletionLimit: true}).Body,
			`{"model":"m","messages":[{"role":"system","content":"be \u003cbrief\u003e"},{"role":"user","content":"hi"}],"max_completion_tokens":4,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`},
		{"ids to SGLang's own route", Request(PathGenerate, "m", Prompt{IDs: []int{5, 6}}, 2, 4, Options{Engine: SGLang, IgnoreEOS: true, Temperature: "0.5",
			Extra: map[string]json.RawMessage{"sampling_params": json.RawMessage(`{"top_k":5}`), "return_logprob": json.RawMessage("true")}}).Body,
			`{"input_ids":[5,6],"sampling_params":{"max_new_tokens":4,"temperature":0.5,"ignore_eos":true,"top_k":5},"stream":true,"return_logprob":true}`},
		{"text to SGLang's own route", Request(PathGenerate, "m", Prompt{Text: "hi"}, 2, 4, Options{Engine: SGLang}).Body,
			`{"text":"hi","sampling_params":{"max_new_tokens":4,"temperature":0},"stream":true}`},
		{"ids to llama.cpp's own route", Request(PathCompletion, "m", Prompt{IDs: []int{5, 6}}, 2, 4, Options{Engine: LlamaCPP, IgnoreEOS: true}).Body,
			`{"model":"m","prompt":[5,6],"n_predict":4,"temperature":0,"stream":true,"return_tokens":true,"ignore_eos":true}`},
		{"text to Ollama", Request(PathOllamaGenerate, "m", Prompt{Text: "hi"}, 2, 4, Options{Engine: Ollama, IgnoreEOS: true,
			Extra: map[string]json.RawMessage{"options": json.RawMessage(`{"num_ctx":8192}`), "keep_alive": json.RawMessage(`"5m"`)}}).Body,
			`{"model":"m","prompt":"hi","raw":true,"options":{"num_predict":4,"temperature":0,"num_ctx":8192},"stream":true,"keep_alive":"5m"}`},
		{"a chat to Ollama", Request(PathOllamaChat, "m", Prompt{Text: "hi"}, 2, 4, Options{Engine: Ollama}).Body,
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"options":{"num_predict":4,"temperature":0},"stream":true}`},
		{"the user's own fields win", Request(PathCompletions, "m", Prompt{IDs: []int{}}, 0, 4, Options{Extra: map[string]json.RawMessage{
			"temperature": json.RawMessage("0.7"), "top_k": json.RawMessage("5"), "lora": json.RawMessage(`{"a":[1]}`)}}).Body,
			`{"model":"m","prompt":[],"max_tokens":4,"temperature":0.7,"stream":true,"stream_options":{"include_usage":true},"lora":{"a":[1]},"top_k":5}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if string(c.body) != c.want {
				t.Errorf("got  %s\nwant %s", c.body, c.want)
			}
			var got any
			if err := json.Unmarshal(c.body, &got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCallSaysWhatWasAskedFor(t *testing.T) {
	a := Request(PathCompletions, "m", Prompt{IDs: []int{5, 6, 7}}, 3, 4, Options{})
	b := Request(PathCompletions, "other", Prompt{IDs: []int{5, 6, 7}}, 3, 9, Options{Engine: VLLM})
	c := Request(PathCompletions, "m", Prompt{IDs: []int{5, 6, 8}}, 3, 4, Options{})
	if a.Path != "/v1/completions" || a.ISL != 3 || a.OSL != 4 || len(a.Prompt) != 16 {
		t.Errorf("%+v", a)
	}
	// The hash is of the prompt alone: SHA-256 of "[5,6,7]".
	if a.Prompt != b.Prompt || a.Prompt == c.Prompt || a.Prompt != "419f49e7575753b9" {
		t.Errorf("prompts %s %s %s", a.Prompt, b.Prompt, c.Prompt)
	}
	if d := Request(PathChat, "m", Prompt{Text: "x"}, 7, 2, Options{}); d.Path != "/v1/chat/completions" || d.ISL != 7 || d.OSL != 2 || reflect.DeepEqual(d.Prompt, a.Prompt) {
		t.Errorf("%+v", d)
	}
}

// An answer that repeats itself in each event may take as much as that comes to.
func TestRepeatedAnswersMayTakeMore(t *testing.T) {
	long := Request(PathGenerate, "m", Prompt{Text: "x"}, 1, 8192, Options{})
	// Each of 8192 events holds some 400 bytes and up to 8192 words of 8 bytes.
	if want := int64(8192*400 + 8192*8192/2*8); long.Bytes < want {
		t.Errorf("%d bytes for an answer of %d", long.Bytes, want)
	}
	if plain := Request(PathCompletions, "m", Prompt{Text: "x"}, 1, 8192, Options{}); plain.Bytes != 0 {
		t.Errorf("%d bytes for one that does not", plain.Bytes)
	}
}
