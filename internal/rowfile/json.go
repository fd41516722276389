package rowfile

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// node is one value of a JSON text with the place where it began. Numbers stay as
// written.
type node struct {
	kind   byte // '{', '[', '"', '0' number, 't' true, 'f' false, 'n' null
	text   string
	keys   []key
	values []*node // members or elements
	line   int
}

type key struct {
	name string
	line int
}

func (n *node) kindName() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}

// member is the value under a key, or nil.
func (n *node) member(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	for i, k := range n.keys {
		if k.name == name {
			return n.values[i]
		}
	}
	return nil
}

// Bounds of one text: how deep it nests, and how many values it has, each of which takes
// some hundred bytes here. A report of a thousand rows, a request of a million tokens and
// hours of metrics are well within.
const (
	deepest    = 100
	mostValues = 1 << 21
)

// syntaxError ends a reading: nothing after it can be trusted.
type syntaxError struct {
	line, col int
	text      string
}

func (e *syntaxError) Error() string {
	return "line " + strconv.Itoa(e.line) + ", column " + strconv.Itoa(e.col) + ": " + e.text
}

type reader struct {
	data      []byte
	values    int
	at        int
	line      int
	lineStart int
}

// readJSON reads one JSON text to its end.
func readJSON(data []byte) (*node, error) {
	r := &reader{data: data, line: 1}
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	r.space()
	if r.at < len(data) {
		return nil, r.fail("data after the end of the JSON text: " + r.found())
	}
	return n, nil
}

func (r *reader) fail(text string) error {
	return &syntaxError{r.line, r.at - r.lineStart + 1, text}
}

func (r *reader) found() string {
	if r.at >= len(r.data) {
		return "found the end of the file"
	}
	end := min(r.at+12, len(r.data))
	return "found " + strconv.Quote(string(r.data[r.at:end]))
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case '\n':
			r.line++
			r.lineStart = r.at + 1
		case ' ', '\t', '\r':
		default:
			return
		}
		r.at++
	}
}

func (r *reader) value(depth int) (*node, error) {
	if depth > deepest {
		return nil, r.fail("nested deeper than " + strconv.Itoa(deepest))
	}
	if r.values++; r.values > mostValues {
		return nil, r.fail("more than " + strconv.Itoa(mostValues) + " values")
	}
	r.space()
	if r.at >= len(r.data) {
		return nil, r.fail("expected a value, found the end of the file")
	}
	n := &node{line: r.line}
	switch c := r.data[r.at]; {
	case c == '{':
		return n, r.object(n, depth)
	case c == '[':
		return n, r.array(n, depth)
	case c == '"':
		n.kind = '"'
		var err error
		n.text, err = r.str()
		return n, err
	case c == '-' || c >= '0' && c <= '9':
		n.kind = '0'
		return n, r.number(n)
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(r.data)-r.at >= len(word) && string(r.data[r.at:r.at+len(word)]) == word {
			n.kind, n.text = word[0], word
			r.at += len(word)
			return n, nil
		}
	}
	return nil, r.fail("expected a value, " + r.found())
}

func (r *reader) object(n *node, depth int) error {
	n.kind = '{'
	r.at++
	r.space()
	if r.at < len(r.data) && r.data[r.at] == '}' {
		r.at++
		return nil
	}
	for {
		r.space()
		if r.at >= len(r.data) || r.data[r.at] != '"' {
			return r.fail("expected a key in quotes, " + r.found())
		}
		k := key{line: r.line}
		var err error
		if k.name, err = r.str(); err != nil {
			return err
		}
		r.space()
		if r.at >= len(r.data) || r.data[r.at] != ':' {
			return r.fail("expected ':' after key " + strconv.Quote(k.name) + ", " + r.found())
		}
		r.at++
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.keys, n.values = append(n.keys, k), append(n.values, v)
		r.space()
		switch {
		case r.at < len(r.data) && r.data[r.at] == ',':
			r.at++
		case r.at < len(r.data) && r.data[r.at] == '}':
			r.at++
			return nil
		default:
			return r.fail("expected ',' or '}', " + r.found())
		}
	}
}

func (r *reader) array(n *node, depth int) error {
	n.kind = '['
	r.at++
	r.space()
	if r.at < len(r.data) && r.data[r.at] == ']' {
		r.at++
		return nil
	}
	for {
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.values = append(n.values, v)
		r.space()
		switch {
		case r.at < len(r.data) && r.data[r.at] == ',':
			r.at++
		case r.at < len(r.data) && r.data[r.at] == ']':
			r.at++
			return nil
		default:
			return r.fail("expected ',' or ']', " + r.found())
		}
	}
}

func (r *reader) digits() bool {
	start := r.at
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
	}
	return r.at > start
}

func (r *reader) number(n *node) error {
	start := r.at
	if r.data[r.at] == '-' {
		r.at++
	}
	whole := r.at
	ok := r.digits() && (r.data[whole] != '0' || r.at == whole+1)
	if ok && r.at < len(r.data) && r.data[r.at] == '.' {
		r.at++
		ok = r.digits()
	}
	if ok && r.at < len(r.data) && (r.data[r.at] == 'e' || r.data[r.at] == 'E') {
		r.at++
		if r.at < len(r.data) && (r.data[r.at] == '+' || r.data[r.at] == '-') {
			r.at++
		}
		ok = r.digits()
	}
	if !ok {
		r.at = start
		return r.fail("not a JSON number: " + r.found())
	}
	n.text = string(r.data[start:r.at])
	return nil
}

// str reads a string in quotes. A half of a surrogate pair and bytes that are not UTF-8
// are errors: no canonical form could hold them.
func (r *reader) str() (string, error) {
	r.at++
	var out []byte
	for r.at < len(r.data) {
		c := r.data[r.at]
		switch {
		case c == '"':
			r.at++
			return string(out), nil
		case c < 0x20:
			return "", r.fail("a control character inside a string; write it as an escape")
		case c == '\\':
			ch, err := r.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, ch)
		case c < utf8.RuneSelf:
			out = append(out, c)
			r.at++
		default:
			ch, size := utf8.DecodeRune(r.data[r.at:])
			if ch == utf8.RuneError && size <= 1 {
				return "", r.fail("bytes that are not UTF-8 inside a string")
			}
			out = append(out, r.data[r.at:r.at+size]...)
			r.at += size
		}
	}
	return "", r.fail("a string does not end")
}

func (r *reader) escape() (rune, error) {
	if r.at+1 >= len(r.data) {
		return 0, r.fail("a string does not end")
	}
	c := r.data[r.at+1]
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	for i := range len(from) {
		if from[i] == c {
			r.at += 2
			return rune(to[i]), nil
		}
	}
	ch, ok := r.hex()
	if !ok {
		return 0, r.fail("an unknown escape inside a string: " + r.found())
	}
	if !utf16.IsSurrogate(ch) {
		r.at += 6
		return ch, nil
	}
	start := r.at
	r.at += 6
	low, ok := r.hex()
	if pair := utf16.DecodeRune(ch, low); ok && pair != utf8.RuneError {
		r.at += 6
		return pair, nil
	}
	r.at = start
	return 0, r.fail("half of a surrogate pair inside a string: " + r.found())
}

// hex reads the \uXXXX that begins at the reader's place, without moving it.
func (r *reader) hex() (rune, bool) {
	if r.at+6 > len(r.data) || r.data[r.at] != '\\' || r.data[r.at+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(r.data[r.at+2:r.at+6]), 16, 16)
	return rune(v), err == nil
}
