package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"rowproof/internal/loadgen"
)

// Prompt is what a request asks about: token ids, or text, or the turns of a chat.
type Prompt struct {
	IDs      []int     // exact; only where TakesIDs
	Text     string    // where there are no ids; on a chat's route one user turn
	Messages []Message // the turns of a chat, in place of Text
}

// Message is one turn of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Options is what a request asks beside its prompt. Only what the engine is known to
// take is sent by itself; Extra is the user's own.
type Options struct {
	Engine          string // a name of Engines, or "": which extensions may be sent
	IgnoreEOS       bool
	Temperature     string                     // as a JSON number; "" is 0
	CompletionLimit bool                       // the limit is called max_completion_tokens
	Without         []string                   // members that the server refuses: not sent
	Extra           map[string]json.RawMessage // top-level members; they win over ours

	osl int
}

func (o *Options) temperature() []byte { return []byte(orElse(o.Temperature, "0")) }

// Refusable are the members of a request that some servers refuse and that can be left
// out: without them a server counts less, or nothing.
var Refusable = []string{"stream_options", "return_token_ids", "return_tokens"}

// What an answer whose events repeat all before them may take: bytes of an event, those
// of each token in it, and at most.
const (
	repeatedHead  = 1 << 10
	repeatedToken = 16
	mostRepeated  = 4 << 30
)

// Request is a request to a route. isl and osl are the lengths in tokens that are asked
// for, a template counted in.
func Request(path, model string, p Prompt, isl, osl int, o Options) loadgen.Call {
	r := routeOf(path)
	o.osl = osl
	asked := promptBytes(r, p)
	b := &body{text: append(make([]byte, 0, len(asked)+512), '{'), extra: maps.Clone(o.Extra), without: o.Without}
	if !r.bare {
		b.put("model", quoted(model))
	}
	r.write(b, p, o)
	sum := sha256.Sum256(asked)
	c := loadgen.Call{Path: r.path, Body: b.whole(), ISL: int64(isl), OSL: int64(osl), Prompt: hex.EncodeToString(sum[:8])}
	if r.repeats {
		c.Bytes = min(c.OSL*(repeatedHead+repeatedToken*c.OSL), mostRepeated)
	}
	return c
}

// promptBytes is the prompt as JSON, which its hash is of.
func promptBytes(r *route, p Prompt) []byte {
	switch {
	case r.chat:
		return messages(p)
	case p.IDs != nil:
		return idArray(p.IDs)
	}
	return quoted(p.Text)
}

func messages(p Prompt) []byte {
	if p.Messages == nil {
		p.Messages = []Message{{Role: "user", Content: p.Text}}
	}
	return encoded(p.Messages)
}

func idArray(ids []int) []byte {
	b := append(make([]byte, 0, 7*len(ids)+2), '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

var yes = []byte("true")

// body is a request's JSON object in the making.
type body struct {
	text  []byte
	extra map[string]json.RawMessage // not yet written

	without []string // members of ours that are left out
}

// put writes a member; the user's own of that name stands in its place.
func (b *body) put(name string, value []byte) {
	if v, ok := b.extra[name]; ok {
		value = v
		delete(b.extra, name)
	} else if slices.Contains(b.without, name) {
		return
	}
	b.add(name, value)
}

func (b *body) number(name string, n int) { b.put(name, strconv.AppendInt(nil, int64(n), 10)) }

func (b *body) add(name string, value []byte) {
	if len(b.text) > 1 {
		b.text = append(b.text, ',')
	}
	b.text = append(append(append(b.text, quoted(name)...), ':'), value...)
}

// nest writes a member that is an object: what write puts into it, and the user's own
// members of it, which win.
func (b *body) nest(name string, write func(*body)) {
	inner := &body{text: []byte{'{'}}
	if v, ok := b.extra[name]; ok {
		if json.Unmarshal(v, &inner.extra) != nil {
			b.put(name, nil)
			return
		}
		delete(b.extra, name)
	}
	write(inner)
	b.add(name, inner.whole())
}

// whole ends the object with what is left of the user's own members.
func (b *body) whole() []byte {
	for _, name := range slices.Sorted(maps.Keys(b.extra)) {
		b.add(name, b.extra[name])
	}
	return append(b.text, '}')
}

func quoted(s string) []byte { return encoded(s) }

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a string, or messages of strings, always marshal
	}
	return b
}
