package engine

import (
	"encoding/json"
	"math"
	"strings"

	"rowproof/internal/row"
)

// PathGenerate is SGLang's own route.
const PathGenerate = "/generate"

func generateBody(b *body, p Prompt, o Options) {
	if p.IDs != nil {
		b.put("input_ids", idArray(p.IDs))
	} else {
		b.put("text", quoted(p.Text))
	}
	b.nest("sampling_params", func(in *body) {
		in.number("max_new_tokens", o.osl)
		in.put("temperature", o.temperature())
		if o.IgnoreEOS {
			in.put("ignore_eos", yes)
		}
	})
	b.put("stream", yes)
}

// generateEvent reads an event of /generate. Its text and ids repeat all that came
// before, unless the server was started to send increments; meta_info counts the tokens
// so far in either form, so that the growth of that count is what the event brought.
func generateEvent(r *reading, data []byte) says {
	out := says{ids: -1, total: -1}
	var e struct {
		Text   string          `json:"text"`
		Meta   *generateMeta   `json:"meta_info"`
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
	}
	if out.failure = decoded(data, &e); out.failure != "" {
		return out
	}
	if isSet(e.Error) || e.Object == "error" {
		out.failure = errorWords(data)
		return out
	}
	out.content = true
	if e.Text != "" && e.Text != r.text {
		out.printed = printed{any: true, answer: true}
		r.output.prints([]byte(strings.TrimPrefix(e.Text, r.text)))
	}
	r.text = e.Text
	if e.Meta == nil {
		return out
	}
	m := e.Meta
	u := &usage{Prompt: m.Prompt, Completion: m.Completion, Reasoning: m.Reasoning}
	if m.Cached != nil {
		u.Prompts = &promptDetails{m.Cached}
	}
	r.usage = u
	if n := m.Completion.value(); n != nil {
		out.total = *n
	}
	m.drafts(r)
	var finish struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(m.Finish, &finish) == nil && finish.Type == "abort" {
		out.failure = "finish_reason is abort"
		if finish.Message != "" {
			out.failure += ": " + visible([]byte(finish.Message), mostWords)
		}
	}
	return out
}

// generateMeta is the part of meta_info that matters here. What speculation did has had
// three pairs of names.
type generateMeta struct {
	Prompt     *whole          `json:"prompt_tokens"`
	Completion *whole          `json:"completion_tokens"`
	Cached     *whole          `json:"cached_tokens"`
	Reasoning  *whole          `json:"reasoning_tokens"`
	Finish     json.RawMessage `json:"finish_reason"`

	Verified  *whole `json:"spec_verify_ct"`
	Accepted  *whole `json:"spec_num_correct_drafts"`
	Proposed  *whole `json:"spec_num_proposed_drafts"`
	Accepted2 *whole `json:"spec_accepted_drafts"`
	Proposed2 *whole `json:"spec_proposed_drafts"`
	Accepted1 *whole `json:"spec_accept_token_num"`
	Proposed1 *whole `json:"spec_draft_token_num"`
}

// drafts keeps what speculation did, where all three counts are there.
func (m *generateMeta) drafts(r *reading) {
	steps := m.Verified.value()
	if steps == nil || *steps == 0 {
		return
	}
	for _, pair := range [][2]*whole{{m.Accepted, m.Proposed}, {m.Accepted2, m.Proposed2}, {m.Accepted1, m.Proposed1}} {
		if a, p := pair[0].value(), pair[1].value(); a != nil && p != nil {
			r.spec = &row.Spec{Drafts: *steps, DraftTokens: *p, Accepted: *a}
			return
		}
	}
}

// takeSGLang reads SGLang's settings. An older one lists no models.
func (s *Server) takeSGLang(a *answers) {
	s.show(pathServerInfoOld, a.of[pathServerInfoOld])
	s.show(pathServerInfo, a.of[pathServerInfo])
	s.Version = versionIn(s.Info)
	s.Pool = poolOf(s.Info)
	var i struct {
		Served string `json:"served_model_name"`
		Path   string `json:"model_path"`
	}
	if json.Unmarshal(s.Info, &i) == nil {
		s.add(ServedModel{ID: orElse(i.Served, i.Path), Root: i.Path})
	}
}

// poolOf is the memory that SGLang says one of its devices set aside, in GB of 2^30 bytes
// with two digits, over all the devices of a replica.
func poolOf(info []byte) *row.MemoryPool {
	var i struct {
		TP     int64 `json:"tp_size"`
		PP     int64 `json:"pp_size"`
		DP     int64 `json:"dp_size"`
		States []struct {
			Memory struct {
				Weight float64 `json:"weight"`
				Cache  float64 `json:"kvcache"`
				Tokens int64   `json:"token_capacity"`
			} `json:"memory_usage"`
		} `json:"internal_states"`
	}
	if json.Unmarshal(info, &i) != nil || len(i.States) != 1 || i.PP != 1 || i.DP != 1 || i.TP < 1 || i.TP > 1024 {
		return nil // stages and replicas differ from one another
	}
	m := i.States[0].Memory
	const most = 1 << 20
	if !(m.Weight > 0 && m.Weight < most && m.Cache > 0 && m.Cache < most) || m.Tokens <= 0 {
		return nil
	}
	bytes := func(gb float64) int64 { return i.TP * int64(math.Round(gb*(1<<30))) }
	return &row.MemoryPool{WeightBytes: bytes(m.Weight), CacheBytes: bytes(m.Cache), Tokens: m.Tokens}
}
