package engine

import (
	"encoding/json"
	"strconv"
)

// Routes of OpenAI's API.
const (
	PathCompletions = "/v1/completions"
	PathChat        = "/v1/chat/completions"
)

// completionsBody and chatBody are requests as OpenAI's API takes them, with the
// extensions of the engine that serves.
func completionsBody(b *body, p Prompt, o Options) {
	if p.IDs != nil {
		b.put("prompt", idArray(p.IDs))
	} else {
		b.put("prompt", quoted(p.Text))
	}
	openAIFields(b, o)
}

func chatBody(b *body, p Prompt, o Options) {
	b.put("messages", messages(p))
	openAIFields(b, o)
}

func openAIFields(b *body, o Options) {
	limit := "max_tokens"
	if o.CompletionLimit {
		limit = "max_completion_tokens"
	}
	b.number(limit, o.osl)
	b.put("temperature", o.temperature())
	b.put("stream", yes)
	switch o.Engine {
	case VLLM, SGLang, Embedded:
		b.put("stream_options", []byte(`{"include_usage":true,"continuous_usage_stats":true}`))
	default:
		b.put("stream_options", []byte(`{"include_usage":true}`))
	}
	if o.IgnoreEOS {
		b.put("ignore_eos", yes)
	}
	if o.Engine == VLLM {
		b.put("return_token_ids", yes)
	}
}

// usage is the server's own count.
type usage struct {
	Prompt      *whole         `json:"prompt_tokens"`
	Completion  *whole         `json:"completion_tokens"`
	Total       *whole         `json:"total_tokens"`
	Prompts     *promptDetails `json:"prompt_tokens_details"`
	Completions *struct {
		Reasoning *whole `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Reasoning *whole `json:"reasoning_tokens"` // SGLang
}

type promptDetails struct {
	Cached *whole `json:"cached_tokens"`
}

// cached is how many prompt tokens a cache served; nil when the server does not say.
func (u *usage) cached() *whole {
	if u.Prompts == nil {
		return nil
	}
	return u.Prompts.Cached
}

// thought is how many output tokens were reasoning; nil when the server does not say.
func (u *usage) thought() *int64 {
	if u.Completions != nil {
		if n := u.Completions.Reasoning.value(); n != nil {
			return n
		}
	}
	return u.Reasoning.value()
}

// chunk is the part of a completion chunk that matters here.
type chunk struct {
	Object  string `json:"object"`
	Choices []struct {
		Index    int64           `json:"index"`
		Text     json.RawMessage `json:"text"`
		TokenIDs []int64         `json:"token_ids"`
		Finish   json.RawMessage `json:"finish_reason"`
		Delta    *delta          `json:"delta"`
	} `json:"choices"`
	Usage   *usage          `json:"usage"`
	Timings *timings        `json:"timings"` // llama.cpp
	Error   json.RawMessage `json:"error"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
}

// openAIEvent reads a chunk of a completion or a chat.
func openAIEvent(r *reading, data []byte) says {
	out := says{ids: -1, total: -1}
	var c chunk
	if out.failure = decoded(data, &c); out.failure != "" {
		return out
	}
	if isSet(c.Error) || c.Object == "error" {
		out.failure = errorWords(data)
		return out
	}
	if c.Usage != nil {
		r.usage = c.Usage
	}
	if c.Timings != nil {
		c.Timings.into(r)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			r.fail("a choice of index " + strconv.FormatInt(ch.Index, 10) + " came, and one choice is measured")
			continue
		}
		out.content = true
		out.printed.or(r.textOf(ch.Text, ch.Delta))
		if ch.TokenIDs != nil {
			out.ids = max(0, out.ids) + int64(len(ch.TokenIDs))
			r.output.tokens(ch.TokenIDs)
		}
		var finish string
		if json.Unmarshal(ch.Finish, &finish) == nil && (finish == "error" || finish == "abort") {
			r.fail("finish_reason is " + finish)
		}
	}
	if c.Usage != nil {
		if n := c.Usage.Completion.value(); n != nil {
			out.total = *n
		}
	}
	return out
}

// textOf looks for generated content in a choice. A role alone is none.
func (r *reading) textOf(text json.RawMessage, d *delta) printed {
	var p printed
	p.or(r.say(text, false))
	if d == nil {
		return p
	}
	p.or(r.say(d.Content, false))
	p.or(r.say(d.Refusal, false))
	p.or(r.say(d.ReasoningContent, true))
	p.or(r.say(d.Reasoning, true))
	if filled(d.ToolCalls) || filled(d.FunctionCall) {
		r.output.prints(d.ToolCalls)
		r.output.prints(d.FunctionCall)
		p.or(printed{any: true, answer: true})
	}
	return p
}
