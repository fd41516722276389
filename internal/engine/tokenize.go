package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Routes of tokenizers.
const (
	pathTokenize = "/tokenize"
	pathTemplate = "/apply-template" // of llama.cpp: the text that a chat becomes
)

// Counter asks a server how many tokens its prompts are, without loading it.
type Counter struct {
	p             *prober
	engine, model string
}

// NewCounter makes one for the engines that count: vLLM, SGLang and llama.cpp; nil for
// others.
func NewCounter(base *url.URL, header http.Header, insecure bool, timeout time.Duration, engine, model string) *Counter {
	switch engine {
	case VLLM, SGLang, LlamaCPP:
		return &Counter{p: newProber(base, header, insecure, timeout), engine: engine, model: model}
	}
	return nil
}

// Count is how many tokens a prompt in words is on a route, with the template where the
// route has one; false where the server does not say.
func (c *Counter) Count(ctx context.Context, path string, p Prompt) (int64, bool) {
	if c == nil || p.IDs != nil {
		return 0, false
	}
	chat := IsChat(path)
	b := &body{text: []byte{'{'}}
	switch {
	case c.engine == LlamaCPP && chat:
		var t struct {
			Prompt string `json:"prompt"`
		}
		b.put("messages", messages(p))
		if !c.ask(ctx, pathTemplate, b.whole(), &t) || t.Prompt == "" {
			return 0, false
		}
		p, b = Prompt{Text: t.Prompt}, &body{text: []byte{'{'}}
		fallthrough
	case c.engine == LlamaCPP:
		b.put("content", quoted(p.Text))
		b.put("add_special", yes)
		b.put("parse_special", yes)
	case chat:
		b.put("model", quoted(c.model))
		b.put("messages", messages(p))
		b.put("add_generation_prompt", yes)
	default:
		b.put("model", quoted(c.model))
		b.put("prompt", quoted(p.Text))
		b.put("add_special_tokens", yes)
	}
	var t struct {
		Count  *whole            `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
	}
	if !c.ask(ctx, pathTokenize, b.whole(), &t) {
		return 0, false
	}
	if n := t.Count.value(); n != nil {
		return *n, *n > 0
	}
	return int64(len(t.Tokens)), len(t.Tokens) > 0
}

// ask posts a question and reads the answer into v.
func (c *Counter) ask(ctx context.Context, path string, question []byte, v any) bool {
	answer, status, _, err := c.p.send(ctx, http.MethodPost, path, bytes.NewReader(question))
	return err == nil && status == http.StatusOK && json.Unmarshal(answer, v) == nil
}

// Close lets go of the connection.
func (c *Counter) Close() {
	if c != nil {
		c.p.client.CloseIdleConnections()
	}
}
