package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fake is an OpenAI-compatible server whose faults a test chooses. A chat's template is
// seven tokens; a word is one token; the outputs are instant.
type fake struct {
	models    []string
	root      string // of each model, as /v1/models shows it
	maxLen    int64  // max_model_len; 0: it does not say
	shorter   int    // outputs end at so many tokens; 0: none does
	key       string // wanted in Authorization; "" wants none
	noIDs     bool   // refuses id arrays
	noIgnore  bool   // refuses ignore_eos
	noUsage   bool
	long      int                                               // words of more letters are two tokens each; 0: none is
	fail      func(n int, r *request) (status int, body string) // n counts completions from 0
	afterEach func(n int)

	mu   sync.Mutex
	seen []request
}

// request is one completion as the fake saw it.
type request struct {
	Header http.Header
	Path   string
	Body   map[string]json.RawMessage
	Prompt string // as it stood in the body
	tokens int
	osl    int
}

func (f *fake) start(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

func (f *fake) requests() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.key != "" && r.Header.Get("Authorization") != "Bearer "+f.key {
		http.Error(w, `{"error":{"message":"Incorrect API key provided: `+r.Header.Get("Authorization")+`"}}`, http.StatusUnauthorized)
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		var list []string
		for _, m := range f.models {
			about := fmt.Sprintf(`{"id":%q,"object":"model","owned_by":"someone","root":%q`, m, f.root)
			if f.maxLen > 0 {
				about += fmt.Sprintf(`,"max_model_len":%d`, f.maxLen)
			}
			list = append(list, about+"}")
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(list, ","))
	case "/v1/completions", "/v1/chat/completions":
		f.complete(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) complete(w http.ResponseWriter, r *http.Request) {
	q := request{Header: r.Header.Clone(), Path: r.URL.Path}
	if err := json.NewDecoder(r.Body).Decode(&q.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var ids []int
	var text string
	q.Prompt = string(q.Body["prompt"])
	switch {
	case q.Path == "/v1/chat/completions":
		q.Prompt = string(q.Body["messages"])
		var m []struct{ Content string }
		if json.Unmarshal(q.Body["messages"], &m) == nil && len(m) == 1 {
			q.tokens = f.tokens(m[0].Content) + 7
		}
	case json.Unmarshal(q.Body["prompt"], &ids) == nil:
		q.tokens = len(ids)
	case json.Unmarshal(q.Body["prompt"], &text) == nil:
		q.tokens = f.tokens(text) + 1
	}
	f.mu.Lock()
	n := len(f.seen)
	f.seen = append(f.seen, q)
	f.mu.Unlock()
	json.Unmarshal(q.Body["max_tokens"], &q.osl)
	if f.shorter > 0 {
		q.osl = min(q.osl, f.shorter)
	}
	if f.afterEach != nil {
		defer f.afterEach(n)
	}
	switch {
	case f.noIDs && ids != nil:
		http.Error(w, `{"error":{"message":"prompt must be a string"}}`, http.StatusBadRequest)
		return
	case f.noIgnore && q.Body["ignore_eos"] != nil:
		http.Error(w, `{"error":{"message":"Unrecognized request argument supplied: ignore_eos"}}`, http.StatusBadRequest)
		return
	}
	if f.fail != nil {
		if status, body := f.fail(n, &q); status != 0 {
			http.Error(w, body, status)
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range q.osl {
		part := `"text":" w"`
		if q.Path == "/v1/chat/completions" {
			part = `"delta":{"content":" w"}`
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,%s}]}\n\n", part)
		w.(http.Flusher).Flush()
	}
	if !f.noUsage {
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n", q.tokens, q.osl, q.tokens+q.osl)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (f *fake) tokens(text string) int {
	n := 0
	for _, w := range strings.Fields(text) {
		n++
		if f.long > 0 && len(w) > f.long {
			n++
		}
	}
	return n
}
