package engine

import (
	"encoding/json"

	"rowproof/internal/row"
)

// Routes of Ollama.
const (
	PathOllamaGenerate = "/api/generate"
	PathOllamaChat     = "/api/chat"
)

func ollamaGenerateBody(b *body, p Prompt, o Options) {
	b.put("prompt", quoted(p.Text))
	b.put("raw", yes) // no template round it
	ollamaFields(b, o)
}

func ollamaChatBody(b *body, p Prompt, o Options) {
	b.put("messages", messages(p))
	ollamaFields(b, o)
}

func ollamaFields(b *body, o Options) {
	b.nest("options", func(in *body) {
		in.number("num_predict", o.osl)
		in.put("temperature", o.temperature())
	})
	b.put("stream", yes)
}

// ollamaLine reads a line of Ollama. The last has "done": true with the counts and the
// server's own times in ns, each of which may be missing.
func ollamaLine(r *reading, data []byte) says {
	out := says{ids: -1, total: -1}
	var l struct {
		Response json.RawMessage `json:"response"`
		Thinking json.RawMessage `json:"thinking"`
		Message  *struct {
			Content   json.RawMessage `json:"content"`
			Thinking  json.RawMessage `json:"thinking"`
			ToolCalls json.RawMessage `json:"tool_calls"`
		} `json:"message"`
		Done   bool            `json:"done"`
		Error  json.RawMessage `json:"error"`
		Prompt *whole          `json:"prompt_eval_count"`
		Cached *whole          `json:"prompt_eval_cached_count"`
		Eval   *whole          `json:"eval_count"`

		TotalNS  json.Number `json:"total_duration"`
		LoadNS   json.Number `json:"load_duration"`
		PromptNS json.Number `json:"prompt_eval_duration"`
		EvalNS   json.Number `json:"eval_duration"`
	}
	if out.failure = decoded(data, &l); out.failure != "" {
		return out
	}
	if isSet(l.Error) {
		out.failure = errorWords(data)
		return out
	}
	out.content = true
	out.printed = r.say(l.Response, false)
	out.printed.or(r.say(l.Thinking, true))
	if m := l.Message; m != nil {
		out.printed.or(r.say(m.Content, false))
		out.printed.or(r.say(m.Thinking, true))
		if filled(m.ToolCalls) {
			r.output.prints(m.ToolCalls)
			out.printed.or(printed{any: true, answer: true})
		}
	}
	if !l.Done {
		return out
	}
	out.done = true
	r.usage = &usage{Prompt: l.Prompt, Completion: l.Eval}
	if l.Cached != nil {
		r.usage.Prompts = &promptDetails{l.Cached}
	}
	r.clock = &row.ServerClock{
		Prefill: r.nanoseconds("prompt_eval_duration", l.PromptNS), Decode: r.nanoseconds("eval_duration", l.EvalNS),
		Load: r.nanoseconds("load_duration", l.LoadNS), Total: r.nanoseconds("total_duration", l.TotalNS),
	}
	return out
}

// longestClock is 11 days, beyond what any request takes, in ns.
const longestClock = 1e15

// nanoseconds is a duration as the server wrote it under a name; nil where it is none,
// which a reason tells unless it is missing.
func (r *reading) nanoseconds(name string, n json.Number) *int64 {
	v, err := n.Int64()
	switch {
	case n == "":
		return nil
	case err != nil || v < 0 || v > longestClock:
		r.odd = append(r.odd, name+" can't be: "+visible([]byte(n), 30)+" ns")
		return nil
	}
	return &v
}

// takeTags reads the models that Ollama lists where /v1/models does not.
func (s *Server) takeTags(tags []byte) {
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if len(s.Models) > 0 || json.Unmarshal(tags, &list) != nil {
		return
	}
	for _, m := range list.Models {
		if m.Name != "" {
			s.Models = append(s.Models, ServedModel{ID: m.Name})
		}
	}
}
