package engine

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A server's words in a reason are cut to this many bytes.
const mostWords = 300

// visible makes foreign text fit to stand in a reason: one line, control and
// direction marks spelled out, at most n bytes of it.
func visible(text []byte, n int) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if b.Len() >= n {
			b.WriteString("…")
			break
		}
		c, size := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i])|0x100, 16)[1:])
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(c):
			q := strconv.QuoteRuneToASCII(c)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(c)
		}
		i += size
	}
	return b.String()
}

// errorWords draws the server's own words, and its code, out of an error object.
func errorWords(data []byte) string { return wordsIn(data, 0) }

func wordsIn(data []byte, depth int) string {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
	}
	if depth > deepest || json.Unmarshal(data, &e) != nil {
		return visible(bytes.TrimSpace(data), mostWords)
	}
	if isSet(e.Error) {
		var s string
		if json.Unmarshal(e.Error, &s) == nil {
			return visible([]byte(s), mostWords)
		}
		return wordsIn(e.Error, depth+1)
	}
	for _, m := range []json.RawMessage{e.Message, e.Detail} {
		var s string
		if json.Unmarshal(m, &s) == nil && s != "" {
			words := visible([]byte(s), mostWords)
			if code := string(bytes.Trim(e.Code, `"`)); isSet(e.Code) && code != "" {
				words += " (code " + visible([]byte(code), 40) + ")"
			}
			return words
		}
	}
	return visible(bytes.TrimSpace(data), mostWords)
}

// saidBy is what the body of a refusal says.
func saidBy(body []byte) string {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return "the server said nothing"
	}
	if json.Valid(body) && body[0] == '{' {
		return errorWords(body)
	}
	return visible(body, mostWords)
}

// notAStream says what a body is that holds no event.
func notAStream(body []byte) string {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return "the server sent nothing"
	case json.Valid(body) && body[0] == '{':
		var e struct {
			Error  json.RawMessage `json:"error"`
			Object string          `json:"object"`
		}
		if json.Unmarshal(body, &e) == nil && (isSet(e.Error) || e.Object == "error") {
			return errorWords(body)
		}
		return "the server did not stream: " + visible(body, 120)
	default:
		return "the body holds no event: " + visible(body, 120)
	}
}
