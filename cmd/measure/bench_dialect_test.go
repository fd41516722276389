package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

// speaker is a server that speaks one engine's own dialect. A word is one token, with one
// before the first and, of a chat, seven round it; outputs are instant.
type speaker struct {
	about map[string]string                                                              // what GET answers, by path
	speak func(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool // false: no such route
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		text, ok := s.about[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
		return
	}
	var body map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !s.speak(w, r.URL.Path, body) {
		http.NotFound(w, r)
	}
}

// number is a member of an object, or of an object in it.
func number(body map[string]json.RawMessage, path ...string) (n int) {
	for _, name := range path[:len(path)-1] {
		var in map[string]json.RawMessage
		json.Unmarshal(body[name], &in)
		body = in
	}
	json.Unmarshal(body[path[len(path)-1]], &n)
	return n
}

func idsIn(raw json.RawMessage) int {
	var ids []int
	json.Unmarshal(raw, &ids)
	return len(ids)
}

func wordsIn(raw json.RawMessage) int {
	var text string
	json.Unmarshal(raw, &text)
	return len(strings.Fields(text))
}

func chatWords(raw json.RawMessage) int {
	var turns []struct{ Content string }
	json.Unmarshal(raw, &turns)
	n := 0
	for _, turn := range turns {
		n += len(strings.Fields(turn.Content))
	}
	return n + 7
}

func speakGenerate(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool {
	if path != "/generate" {
		return false
	}
	text := ""
	for n := range number(body, "sampling_params", "max_new_tokens") {
		text += " w"
		fmt.Fprintf(w, "data: {\"text\":%q,\"meta_info\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"cached_tokens\":0}}\n\n", text, idsIn(body["input_ids"]), n+1)
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	return true
}

func speakCompletion(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool {
	isl, osl := idsIn(body["prompt"]), number(body, "n_predict")
	if path != "/completion" {
		return false
	}
	for n := range osl {
		fmt.Fprintf(w, "data: {\"content\":\" w\",\"tokens\":[7],\"stop\":false,\"tokens_predicted\":%d,\"tokens_evaluated\":%d}\n\n", n+1, isl)
		w.(http.Flusher).Flush()
	}
	fmt.Fprintf(w, "data: {\"content\":\"\",\"tokens\":[],\"stop\":true,\"tokens_predicted\":%d,\"tokens_evaluated\":%d,\"timings\":{\"cache_n\":0,\"prompt_n\":%d,\"prompt_ms\":10,\"predicted_n\":%d,\"predicted_ms\":20}}\n\n", osl, isl, isl, osl)
	return true
}

func speakOllama(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool {
	isl, member := wordsIn(body["prompt"])+1, "response"
	switch path {
	case "/api/generate":
		if string(body["raw"]) != "true" {
			return false
		}
	case "/api/chat":
		isl = chatWords(body["messages"])
	default:
		return false
	}
	osl := number(body, "options", "num_predict")
	for range osl {
		if path == "/api/chat" {
			fmt.Fprint(w, `{"message":{"role":"assistant","content":" w"},"done":false}`+"\n")
		} else {
			fmt.Fprintf(w, "{%q:\" w\",\"done\":false}\n", member)
		}
		w.(http.Flusher).Flush()
	}
	fmt.Fprintf(w, "{\"done\":true,\"prompt_eval_count\":%d,\"prompt_eval_cached_count\":0,\"eval_count\":%d,\"prompt_eval_duration\":1000000,\"eval_duration\":2000000,\"load_duration\":5,\"total_duration\":4000005}\n", isl, osl)
	return true
}

// speakVLLM is a chat that counts by /tokenize.
func speakVLLM(asked map[string]int) func(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool {
	return func(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool {
		asked[path]++
		isl, osl := chatWords(body["messages"]), number(body, "max_tokens")
		switch path {
		case "/tokenize":
			fmt.Fprintf(w, `{"count":%d,"max_model_len":8192,"tokens":[]}`, isl)
		case "/v1/chat/completions":
			for n := range osl {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\" w\"},\"token_ids\":[7]}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n", isl, n+1, isl+n+1)
				w.(http.Flusher).Flush()
			}
			fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\ndata: [DONE]\n\n", isl, osl, isl+osl)
		default:
			return false
		}
		return true
	}
}

// Each engine is known by what it answers, loaded by its own route where that tells most,
// with prompts of the exact length, and counted by what it says itself.
func TestBenchSpeaksEachDialect(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	asked := map[string]int{}
	ollama := map[string]string{"/api/version": `{"version":"0.33.3"}`, "/v1/models": `{"data":[{"id":"m","owned_by":"library"}]}`}
	for _, c := range []struct {
		name             string
		server           *speaker
		args             []string
		engine, version  string
		endpoint         string
		notes            []string
		arguments        string // from where
		running          bool   // the server's gauges came
		ignoreEOS, clock bool
	}{
		{name: "SGLang", engine: "sglang", version: "0.5.16", endpoint: "/generate", args: []string{"--endpoint", "/generate"}, ignoreEOS: true,
			server: &speaker{speak: speakGenerate, about: map[string]string{
				"/v1/models":   `{"data":[{"id":"m","owned_by":"sglang"}]}`,
				"/server_info": `{"model_path":"x","tokenizer_path":"x","version":"0.5.16","page_size":1}`,
				"/metrics":     "sglang:num_running_reqs{tp_rank=\"0\"} 1.0\n",
			}}, notes: []string{"cached_tok=0"}, arguments: "GET /server_info", running: true},
		{name: "llama.cpp", engine: "llamacpp", version: "b10603-a1b2c3d", endpoint: "/completion", ignoreEOS: true, clock: true,
			server: &speaker{speak: speakCompletion, about: map[string]string{
				"/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp"}]}`,
				"/props":     `{"default_generation_settings":{"n_ctx":4096},"total_slots":4,"build_info":"b10603-a1b2c3d"}`,
				"/metrics":   "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n",
			}}, notes: []string{"cached_tok=0", "by the server's own clock: prefill_tok_s=2400.00 decode_tok_s=200.00"}, arguments: "GET /props", running: true},
		{name: "Ollama", engine: "ollama", version: "0.33.3", endpoint: "/api/generate", clock: true, server: &speaker{speak: speakOllama, about: ollama},
			notes: []string{"cached_tok=0", "this route takes no ignore_eos: outputs may end early", "by the server's own clock: prefill_tok_s=24000.00 decode_tok_s=2000.00 total_less_load_ms=4.000"}},
		{name: "a chat of Ollama", engine: "ollama", version: "0.33.3", endpoint: "/api/chat", args: []string{"--endpoint", "/api/chat"}, clock: true, server: &speaker{speak: speakOllama, about: ollama}},
		{name: "a chat of vLLM", engine: "vllm", version: "0.26.0", endpoint: "/v1/chat/completions", args: []string{"--endpoint", "/v1/chat/completions"}, ignoreEOS: true,
			server: &speaker{speak: speakVLLM(asked), about: map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`, "/version": `{"version":"0.26.0"}`}},
			notes:  []string{"prompt=text calibrated by /tokenize (1 tokens a word and 7 around them)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.server)
			defer server.Close()
			prefix := filepath.Join(t.TempDir(), "run")
			code, _, stderr := quick(t, append(c.args, "--base-url", server.URL, "--cells", "24:4", "--concurrency", "2", "--iters", "3", "--output", prefix)...)
			if code != exitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			b := loaded(t, prefix)
			r := b.Rows[0].Row
			if e := b.Report.Receipt.Engine; e.Name != c.engine || e.Version != c.version || c.arguments != "" && e.ArgumentsFrom != c.arguments {
				t.Errorf("engine %s %s, its arguments from %q", e.Name, e.Version, e.ArgumentsFrom)
			}
			if r.Workload.Endpoint != c.endpoint || r.Workload.Sampling.IgnoreEOS != c.ignoreEOS {
				t.Errorf("endpoint %s, ignore_eos %v", r.Workload.Endpoint, r.Workload.Sampling.IgnoreEOS)
			}
			if *r.Counts.ISL != (row.Range{Min: 24, Max: 24}) || *r.Counts.OSL != (row.Range{Min: 4, Max: 4}) || r.Counts.TokensFrom != row.TokensUsage {
				t.Errorf("isl %v, osl %v by %s", r.Counts.ISL, r.Counts.OSL, r.Counts.TokensFrom)
			}
			for _, want := range c.notes {
				if !slices.Contains(r.Notes, want) {
					t.Errorf("not noted: %q in %q", want, r.Notes)
				}
			}
			if (r.Server.RunningMax != nil) != c.running || (r.Server.Clock != nil) != c.clock {
				t.Errorf("running %v, clock %v", r.Server.RunningMax, r.Server.Clock)
			}
			for _, g := range b.Judge(nil)[0] {
				if slices.Contains([]string{"schema", "recompute", "complete", "lengths", "counted", "cold", "warm"}, g.Gate) && g.Answer != gate.Pass {
					t.Errorf("gate %s: %s: %s", g.Gate, g.Answer, g.Reason)
				}
			}
		})
	}
	if asked["/tokenize"] < 2 || asked["/v1/chat/completions"] != 1+2*2+3*2 {
		t.Errorf("asked %v", asked)
	}
}

// A route that the engine does not have is told before anything is sent to it.
func TestBenchRefusesARouteOfAnotherEngine(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	server := httptest.NewServer(&speaker{speak: speakOllama, about: map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`}})
	defer server.Close()
	code, _, stderr := quick(t, "--base-url", server.URL, "--endpoint", "/generate", "--cells", "8:2", "--concurrency", "1")
	if want := "--endpoint /generate: vLLM has no such route; want one of /v1/completions, /v1/chat/completions"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// What a server refuses by its name is left out, and the row says so.
func TestBenchLeavesOutWhatTheServerRefuses(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{models: []string{"m"}, noUsage: true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if strings.Contains(string(text), `"stream_options"`) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				io.WriteString(w, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(text)))
		}
		f.ServeHTTP(w, r)
	}))
	defer server.Close()
	code, stdout, stderr := quick(t, "--base-url", server.URL, "--cells", "8:2", "--concurrency", "1")
	if notes := records(t, stdout)[0]["notes"]; code != exitOK || !strings.Contains(notes, "; the server refuses stream_options: not sent") || strings.Count(notes, "refuses") != 1 {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// A tokenizer route that counts otherwise than usage does is not gone by.
func TestBenchGoesByUsageWhereTheTokenizerDisagrees(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	asked := map[string]int{}
	speak := speakVLLM(asked)
	off := &speaker{about: map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`}, speak: func(w http.ResponseWriter, path string, body map[string]json.RawMessage) bool {
		if path == "/tokenize" {
			fmt.Fprintf(w, `{"count":%d}`, chatWords(body["messages"])-1)
			return true
		}
		return speak(w, path, body)
	}}
	server := httptest.NewServer(off)
	defer server.Close()
	_, stdout, stderr := quick(t, "--base-url", server.URL, "--endpoint", "/v1/chat/completions", "--cells", "24:4", "--concurrency", "1")
	if notes := records(t, stdout)[0]["notes"]; !strings.Contains(notes, "prompt=text calibrated (1 tokens a word and 7 around them)") || strings.Contains(notes, "isl=") {
		t.Errorf("%s%s", stdout, stderr)
	}
}
