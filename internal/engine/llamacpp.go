package engine

import (
	"encoding/json"
	"math"
	"strconv"

	"rowproof/internal/row"
)

// PathCompletion is llama.cpp's own route.
const PathCompletion = "/completion"

func completionBody(b *body, p Prompt, o Options) {
	if p.IDs != nil {
		b.put("prompt", idArray(p.IDs))
	} else {
		b.put("prompt", quoted(p.Text))
	}
	b.number("n_predict", o.osl)
	b.put("temperature", o.temperature())
	b.put("stream", yes)
	b.put("return_tokens", yes)
	if o.IgnoreEOS {
		b.put("ignore_eos", yes)
	}
}

// completionEvent reads an event of /completion. tokens_predicted counts the tokens so
// far; the last event has "stop": true and the server's own times. tokens_cached is what
// the slot holds afterwards, and no count of what a cache served: timings has that one.
// An answer of the OpenAI API, which a proxy may put here, is read as such.
func completionEvent(r *reading, data []byte) says {
	out := says{ids: -1, total: -1}
	var e struct {
		Content   json.RawMessage `json:"content"`
		Tokens    []int64         `json:"tokens"`
		Stop      bool            `json:"stop"`
		Predicted *whole          `json:"tokens_predicted"`
		Evaluated *whole          `json:"tokens_evaluated"`
		Timings   *timings        `json:"timings"`
		Choices   json.RawMessage `json:"choices"`
		Error     json.RawMessage `json:"error"`
	}
	if out.failure = decoded(data, &e); out.failure != "" {
		return out
	}
	if isSet(e.Error) {
		out.failure = errorWords(data)
		return out
	}
	if isSet(e.Choices) {
		return openAIEvent(r, data)
	}
	out.content = true
	out.printed = r.say(e.Content, false)
	if len(e.Tokens) > 0 {
		out.ids = int64(len(e.Tokens))
		r.output.tokens(e.Tokens)
	}
	if n := e.Predicted.value(); n != nil {
		out.total = *n
	}
	if e.Predicted != nil || e.Evaluated != nil {
		r.usage = &usage{Prompt: e.Evaluated, Completion: e.Predicted}
	}
	if e.Timings != nil {
		e.Timings.into(r)
	}
	out.done = e.Stop
	return out
}

// timings are llama.cpp's own counts and times, in any of its routes.
type timings struct {
	CacheN      *whole   `json:"cache_n"`  // prompt tokens that the cache served; older builds do not say
	PromptN     *whole   `json:"prompt_n"` // prompt tokens computed: those served are not in it
	PromptMS    *float64 `json:"prompt_ms"`
	PredictedN  *whole   `json:"predicted_n"`
	PredictedMS *float64 `json:"predicted_ms"`
	DraftN      *whole   `json:"draft_n"`
	AcceptedN   *whole   `json:"draft_n_accepted"`
}

// into adds them to a reading: the cached tokens where usage does not name them, the
// server's clock, and what speculation did.
func (t *timings) into(r *reading) {
	if u := r.usage; u != nil && u.cached() == nil {
		cached, prompt, computed := t.CacheN.value(), u.Prompt.value(), t.PromptN.value()
		if cached == nil && prompt != nil && computed != nil && *computed <= *prompt {
			n := *prompt - *computed
			cached = &n
		}
		if cached != nil {
			u.Prompts = &promptDetails{&whole{n: *cached}}
		}
	}
	if r.clock == nil {
		r.clock = &row.ServerClock{}
	}
	r.clock.Prefill, r.clock.Decode = r.fromMS("prompt_ms", t.PromptMS), r.fromMS("predicted_ms", t.PredictedMS)
	drafted, accepted, predicted := t.DraftN.value(), t.AcceptedN.value(), t.PredictedN.value()
	if drafted != nil && accepted != nil && predicted != nil && *predicted > *accepted {
		// Each step of the model brings one token of its own and those it accepts.
		r.spec = &row.Spec{Drafts: *predicted - *accepted, DraftTokens: *drafted, Accepted: *accepted}
	}
}

// fromMS is nanoseconds for a time in ms.
func (r *reading) fromMS(name string, ms *float64) *int64 {
	switch {
	case ms == nil:
		return nil
	case !(*ms >= 0) || *ms > longestClock/1e6:
		if len(r.odd) < 8 { // it may come with every chunk
			r.odd = append(r.odd, name+" can't be: "+strconv.FormatFloat(*ms, 'g', -1, 64)+" ms")
		}
		return nil
	}
	ns := int64(math.Round(*ms * 1e6))
	return &ns
}

// takeLlamaCPP reads /props: the build, the model's file, and the context of one slot,
// which prompt and output share.
func (s *Server) takeLlamaCPP(props []byte) {
	s.show(pathProps, props)
	var p struct {
		Build    string `json:"build_info"`
		Path     string `json:"model_path"`
		Defaults struct {
			Context *int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(props, &p) != nil {
		return
	}
	s.Version = orElse(visible([]byte(p.Build), 100), s.Version)
	s.add(ServedModel{ID: p.Path})
	for i := range s.Models {
		s.Models[i].Root = orElse(s.Models[i].Root, p.Path)
	}
	s.limit(p.Defaults.Context)
}

// isSlots says whether an answer lists what llama.cpp's slots do.
func isSlots(body []byte) bool {
	var slots []struct {
		Busy *bool `json:"is_processing"`
	}
	return json.Unmarshal(body, &slots) == nil && len(slots) > 0 && slots[0].Busy != nil
}
