package simulator

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// completion is what a request for tokens may hold. Fields that are not named here
// change nothing and are accepted, as real servers do.
type completion struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	ReturnTokenIDs bool `json:"return_token_ids"`
}

// message is one turn of a chat. Its content is a string or a list of text parts.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// complete serves a request for tokens. It returns false when the connection must end.
func (s *Server) complete(w *writer, br *bufio.Reader, req *http.Request, body []byte, received, arrived int64) bool {
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return s.refuse(w, req, failure{http.StatusBadRequest, "BadRequestError", "", "the body is not the JSON of a request: " + err.Error()})
	}
	if c.Model != "" && c.Model != s.cfg.Model {
		return s.refuse(w, req, failure{http.StatusNotFound, "NotFoundError", "model", fmt.Sprintf("The model `%s` does not exist.", c.Model)})
	}
	chat := req.URL.Path == "/v1/chat/completions"
	prompt, bad := c.tokens(chat)
	if bad != nil {
		return s.refuse(w, req, *bad)
	}
	osl, bad := c.length(chat, len(prompt), s.cfg.MaxModelLen)
	if bad != nil {
		return s.refuse(w, req, *bad)
	}

	n := s.seq.Add(1)
	var faults Faults
	if n%int64(s.cfg.FaultEvery) == 0 {
		faults = s.cfg.Faults
	}
	if faults.has(faultHTML503) {
		s.count.refused.Add(1)
		return reply(w, req, http.StatusServiceUnavailable, "text/html", []byte("<html><body><h1>503 Service Unavailable</h1></body></html>\n"))
	}
	if faults.has(faultEarlyStop) {
		osl = (osl + 1) / 2
	}
	st := &stream{
		id: req.Header.Get("X-Request-Id"), n: n, chain: chain(prompt), isl: len(prompt), osl: osl, received: received, arrived: arrived,
		scheduled: make([]int64, 0, osl), done: make(chan struct{}),
	}
	if !chat {
		sum := sha256.Sum256(c.Prompt)
		st.prompt = hex.EncodeToString(sum[:8])
	}
	if st.id == "" {
		st.id = "rowproof-" + strconv.FormatInt(n, 10)
	}
	created := time.Now().Unix()
	id := "cmpl-" + strconv.FormatInt(n, 10)
	if chat {
		id = "chat" + id
	}
	if c.Stream {
		st.out = w
		st.sent = make([]int64, 0, osl)
		st.text = &format{
			chat: chat, head: streamHead(req), lead: lead(chat, id, created, s.cfg.Model),
			usage: c.StreamOptions.IncludeUsage, continuous: c.StreamOptions.ContinuousUsage,
			ids: c.ReturnTokenIDs, faults: faults,
		}
		if s.cfg.NameAnswers {
			st.text.name = n
		}
		st.buf = make([]byte, 0, 1024)
	}
	s.table.submit(st)

	// The next request, or the end of the connection, whichever is seen first.
	peeked := make(chan error, 1)
	go func() { _, err := br.Peek(1); peeked <- err }()
	var lost error
	select {
	case <-st.done:
	case lost = <-peeked:
		if lost != nil {
			s.table.cancel(st)
		}
		<-st.done
		peeked <- lost
	}
	if st.status == statusStopped || lost != nil {
		return false
	}
	if !c.Stream && !replyJSON(w, req, http.StatusOK, whole(chat, id, created, s.cfg.Model, st)) {
		return false
	}
	if req.Close {
		return false
	}
	return <-peeked == nil
}

// tokens turns the prompt into token hashes: an id is its own token, a word of a text
// is one token. A chat's template adds four tokens a message and three that open the
// answer.
func (c *completion) tokens(chat bool) ([]uint64, *failure) {
	refuse := func(param, text string, args ...any) ([]uint64, *failure) {
		return nil, &failure{http.StatusBadRequest, "BadRequestError", param, fmt.Sprintf(text, args...)}
	}
	if chat {
		if len(c.Messages) == 0 {
			return refuse("messages", "messages is empty; a list of at least one {role, content} is accepted")
		}
		var out []uint64
		for i, m := range c.Messages {
			text, ok := m.text()
			if !ok {
				return refuse("messages", "messages[%d].content is neither a string nor a list of text parts", i)
			}
			out = append(out, word("<|start|>"), word("<|"+m.Role+"|>"), word("<|body|>"))
			out = appendWords(out, text)
			out = append(out, word("<|end|>"))
		}
		return append(out, word("<|start|>"), word("<|assistant|>"), word("<|body|>")), nil
	}
	if ids, ok := tokenIDs(c.Prompt); ok {
		if len(ids) == 0 {
			return refuse("prompt", "the prompt holds no token")
		}
		out := make([]uint64, len(ids))
		for i, id := range ids {
			if id < 0 || id >= Vocabulary {
				return refuse("prompt", "Token id %d is out of vocabulary", id)
			}
			out[i] = uint64(id)
		}
		return out, nil
	}
	var text string
	if json.Unmarshal(c.Prompt, &text) != nil {
		var one []string
		if json.Unmarshal(c.Prompt, &one) != nil || len(one) != 1 {
			return refuse("prompt", "prompt is neither one text nor one list of token ids")
		}
		text = one[0]
	}
	out := appendWords(nil, text)
	if len(out) == 0 {
		return refuse("prompt", "the prompt holds no token")
	}
	return out, nil
}

// tokenIDs reads a prompt that is a list of ids, or a list of one such list.
func tokenIDs(prompt json.RawMessage) ([]int64, bool) {
	var ids []int64
	if json.Unmarshal(prompt, &ids) == nil && ids != nil {
		return ids, true
	}
	var lists [][]int64
	if json.Unmarshal(prompt, &lists) == nil && len(lists) == 1 {
		return lists[0], true
	}
	return nil, false
}

// text is a message's content as one text.
func (m *message) text() (string, bool) {
	var text string
	if len(m.Content) == 0 || json.Unmarshal(m.Content, &text) == nil {
		return text, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", false
		}
		b.WriteString(p.Text)
		b.WriteByte(' ')
	}
	return b.String(), true
}

// length is how many tokens to answer with.
func (c *completion) length(chat bool, isl, limit int) (int, *failure) {
	param, asked := "max_tokens", c.MaxTokens
	if chat && c.MaxCompletionTokens != nil {
		param, asked = "max_completion_tokens", c.MaxCompletionTokens
	}
	refuse := func(text string, args ...any) (int, *failure) {
		return 0, &failure{http.StatusBadRequest, "BadRequestError", param, fmt.Sprintf(text, args...)}
	}
	switch {
	case isl >= limit:
		param = "input_tokens"
		return refuse("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=%d)", limit, isl, isl)
	case asked == nil && chat:
		return limit - isl, nil
	case asked == nil:
		return min(16, limit-isl), nil
	case *asked < 1:
		return refuse("%s must be at least 1, got %d. (parameter=%s, value=%d)", param, *asked, param, *asked)
	case *asked > limit:
		return refuse("%s=%d cannot be greater than max_model_len=max_total_tokens=%d. Please request fewer output tokens. (parameter=%s, value=%d)", param, *asked, limit, param, *asked)
	case isl+*asked > limit:
		return refuse("'%s' is too large: %d. This model's maximum context length is %d tokens and your request has %d input tokens (%d > %d - %d). (parameter=%s, value=%d)",
			param, *asked, limit, isl, *asked, limit, isl, param, *asked)
	}
	return *asked, nil
}

// streamHead is the response line and headers of a streamed answer.
func streamHead(req *http.Request) string {
	head := "HTTP/1.1 200 OK\r\nServer: rowproof\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n"
	if req.Close {
		head += "Connection: close\r\n"
	}
	return head + "\r\n"
}

// lead is what each chunk of an answer begins with.
func lead(chat bool, id string, created int64, model string) string {
	object := "text_completion"
	if chat {
		object = "chat.completion.chunk"
	}
	name, err := json.Marshal(model)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return fmt.Sprintf(`{"id":"%s","object":"%s","created":%d,"model":%s,`, id, object, created, name)
}

// whole is the answer to a request that did not ask for a stream.
func whole(chat bool, id string, created int64, model string, s *stream) any {
	var text strings.Builder
	for i := range s.next {
		text.WriteString(" w")
		text.WriteString(strconv.Itoa(i))
	}
	choice := map[string]any{"index": 0, "finish_reason": "length", "logprobs": nil}
	object := "text_completion"
	if chat {
		object = "chat.completion"
		choice["message"] = map[string]string{"role": "assistant", "content": text.String()}
	} else {
		choice["text"] = text.String()
	}
	return map[string]any{
		"id": id, "object": object, "created": created, "model": model, "choices": []any{choice},
		"usage": map[string]any{
			"prompt_tokens": s.isl, "completion_tokens": s.next, "total_tokens": s.isl + s.next,
			"prompt_tokens_details": map[string]int{"cached_tokens": s.cached},
		},
	}
}
