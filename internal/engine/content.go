package engine

import (
	"bytes"
	"encoding/json"
)

// content says what a content value holds.
type content struct {
	answer, reasoning bool
	unknown           string // a part's type that is not known; it counts as content
}

// contentOf looks into a content value: a string, or a list of typed parts in which a
// thinking part nests a list of its own. An empty one carries nothing.
func contentOf(raw json.RawMessage, reasoning bool) content { return contentIn(raw, reasoning, 0) }

// deepest is how far lists and parts are looked into; each level reads all below it.
const deepest = 8

func contentIn(raw json.RawMessage, reasoning bool, depth int) content {
	raw = bytes.TrimSpace(raw)
	if !isSet(raw) {
		return content{}
	}
	if depth > deepest {
		return content{answer: !reasoning, reasoning: reasoning}
	}
	switch raw[0] {
	case '"':
		return content{answer: !reasoning && len(raw) > 2, reasoning: reasoning && len(raw) > 2}
	case '[':
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) != nil {
			return content{}
		}
		var c content
		for _, p := range parts {
			c = c.and(partOf(p, reasoning, depth+1))
		}
		return c
	case '{':
		return partOf(raw, reasoning, depth+1)
	default:
		return content{}
	}
}

func (c content) and(d content) content {
	c.answer = c.answer || d.answer
	c.reasoning = c.reasoning || d.reasoning
	if c.unknown == "" {
		c.unknown = d.unknown
	}
	return c
}

func partOf(raw json.RawMessage, reasoning bool, depth int) content {
	var p struct {
		Type     string          `json:"type"`
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] != '{' {
		return contentIn(raw, reasoning, depth) // a bare string in the list
	}
	if json.Unmarshal(raw, &p) != nil {
		p.Type = "" // not a string: a type that nobody knows
	}
	switch p.Type {
	case "text", "output_text":
		return contentIn(p.Text, reasoning, depth)
	case "thinking", "reasoning":
		return contentIn(p.Thinking, true, depth).and(contentIn(p.Text, true, depth))
	default:
		return content{answer: !reasoning, reasoning: reasoning, unknown: orElse(p.Type, "(none)")}
	}
}

// isSet says that a JSON value is there and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// filled says that a JSON value is there and not empty.
func filled(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return isSet(raw) && string(raw) != "[]" && string(raw) != "{}" && string(raw) != `""`
}
