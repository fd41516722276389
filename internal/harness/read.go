package harness

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on one file, whatever it holds. A result of ten thousand requests of a thousand
// tokens is within.
const (
	deepest      = 64
	mostBytes    = 512 << 20 // of text, unpacked
	mostMemory   = 256 << 20 // of what is kept of it
	mostText     = 64 << 10  // of one text that is kept; the rest of a longer one is passed over
	longestText  = 16 << 20  // of one text at all
	mostRatio    = 400       // unpacked to packed, beyond the first mostUnpacked
	mostUnpacked = 16 << 20
	mostLogLines = 1000 // before the JSON
)

// value is one JSON value. Numbers stay as written. An array of numbers alone keeps these
// in nums and has no vals.
type value struct {
	kind byte // '{', '[', 'N' array of numbers, '"', '0' number, 't', 'f', 'n'
	text string
	num  float64
	keys []string
	vals []*value
	nums []float64
	line int
}

// bodies are members that hold what was sent or what came, often most of a file. They are
// read and let go.
var bodies = map[string]bool{"request": true, "response": true, "response_chunks": true, "request_args": true, "output": true, "generated_texts": true}

// kindName says what a value is, for a complaint.
func (v *value) kindName() string {
	if v == nil {
		return "nothing"
	}
	switch v.kind {
	case '{':
		return "an object"
	case '[', 'N':
		return "an array"
	case '"':
		text := v.text
		if len(text) > 40 {
			text = text[:40] + "…"
		}
		return strconv.QuoteToASCII(text)
	case '0':
		return v.text
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// get is the member under a path of keys; nil where one is missing.
func (v *value) get(path ...string) *value {
	for _, key := range path {
		if v == nil || v.kind != '{' {
			return nil
		}
		var next *value
		for i, k := range v.keys {
			if k == key {
				next = v.vals[i]
				break
			}
		}
		v = next
	}
	return v
}

func (v *value) has(keys ...string) bool {
	for _, key := range keys {
		if v.get(key) == nil {
			return false
		}
	}
	return true
}

// elements are those of an array; nil of anything else.
func (v *value) elements() []*value {
	if v == nil || v.kind != '[' {
		return nil
	}
	return v.vals
}

func (v *value) null() bool { return v == nil || v.kind == 'n' }

// SyntaxError says where a file is not what it should be.
type SyntaxError struct {
	Line, Column int
	Text         string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// reader reads JSON values off a stream, with NaN and Infinity as Python writes them.
type reader struct {
	r      *bufio.Reader
	line   int
	column int
	memory int64

	letters []byte // of the word that is being read
}

// open unpacks a stream that is packed and passes over a byte order mark.
func open(in io.Reader) (*reader, error) {
	b := bufio.NewReaderSize(in, 64<<10)
	if head, _ := b.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		packed := &counted{r: b}
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		b = bufio.NewReaderSize(&unpacked{z: z, packed: packed}, 64<<10)
	}
	if head, _ := b.Peek(3); bytes.Equal(head, []byte{0xef, 0xbb, 0xbf}) {
		_, _ = b.Discard(3)
	}
	return &reader{r: bufio.NewReaderSize(&limited{r: b}, 64<<10), line: 1}, nil
}

// counted counts what was read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// unpacked ends a stream that swells beyond what any result does.
type unpacked struct {
	z      io.Reader
	packed *counted
	n      int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	u.n += int64(n)
	if u.n > mostUnpacked && u.n/mostRatio > u.packed.n {
		return 0, fmt.Errorf("gzip: %d bytes unpack to more than %d times as many, which no result does", u.packed.n, mostRatio)
	}
	return n, err
}

// limited ends a stream above mostBytes.
type limited struct {
	r io.Reader
	n int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.n += int64(n); l.n > mostBytes {
		return 0, fmt.Errorf("more than %d MB; a smaller part of it is accepted", mostBytes>>20)
	}
	return n, err
}

func (r *reader) fail(format string, a ...any) error {
	return &SyntaxError{r.line, r.column + 1, fmt.Sprintf(format, a...)}
}

// charge takes memory from what a file may have.
func (r *reader) charge(n int64) error {
	if r.memory += n; r.memory > mostMemory {
		return r.fail("more than %d MB are to be kept by here; a file of fewer requests is accepted", mostMemory>>20)
	}
	return nil
}

func (r *reader) byte() (byte, error) {
	c, err := r.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		r.line, r.column = r.line+1, 0
	} else {
		r.column++
	}
	return c, nil
}

func (r *reader) peek() (byte, error) {
	b, err := r.r.Peek(1)
	if len(b) == 1 {
		return b[0], nil
	}
	return 0, err
}

// space passes over white space, and gives what follows; io.EOF at the end.
func (r *reader) space() (byte, error) {
	for {
		if _, err := r.peek(); err != nil {
			return 0, err
		}
		held, _ := r.r.Peek(r.r.Buffered())
		for i, c := range held {
			switch c {
			case ' ', '\t', '\r':
				r.column++
			case '\n':
				r.line, r.column = r.line+1, 0
			default:
				_, err := r.r.Discard(i)
				return c, err
			}
		}
		if _, err := r.r.Discard(len(held)); err != nil {
			return 0, err
		}
	}
}

// next is space where a value must go on.
func (r *reader) next(what string) (byte, error) {
	c, err := r.space()
	if errors.Is(err, io.EOF) {
		return 0, r.fail("expected %s, found the end of the file", what)
	}
	return c, err
}

// read reads one value. Of an array or object that breaks off, what was whole of it is
// given with the error.
func (r *reader) read(depth int) (*value, error) {
	if depth > deepest {
		return nil, r.fail("nested deeper than %d", deepest)
	}
	c, err := r.next("a value")
	if err != nil {
		return nil, err
	}
	if err := r.charge(128); err != nil {
		return nil, err
	}
	v := &value{line: r.line}
	switch {
	case c == '{':
		return v, r.object(v, depth)
	case c == '[':
		return v, r.array(v, depth)
	case c == '"':
		v.kind = '"'
		v.text, err = r.string()
		return v, err
	}
	return v, r.word(v)
}

func (r *reader) object(v *value, depth int) error {
	v.kind = '{'
	_, _ = r.byte()
	seen := map[string]bool{}
	for first := true; ; first = false {
		c, err := r.next("a member or }")
		if err != nil {
			return err
		}
		if c == '}' {
			_, _ = r.byte()
			return nil
		}
		if !first {
			if c != ',' {
				return r.fail("expected , or }, found %q", string(rune(c)))
			}
			_, _ = r.byte()
			if c, err = r.next("a key"); err != nil {
				return err
			}
		}
		if c != '"' {
			return r.fail("expected a key in quotes, found %q", string(rune(c)))
		}
		key, err := r.string()
		if err != nil {
			return err
		}
		if seen[key] {
			return r.fail("the key %s stands twice", strconv.QuoteToASCII(cut(key, 60)))
		}
		seen[key] = true
		if c, err = r.next(":"); err != nil {
			return err
		}
		if c != ':' {
			return r.fail("expected :, found %q", string(rune(c)))
		}
		_, _ = r.byte()
		if err := r.charge(int64(len(key)) + 48); err != nil {
			return err
		}
		before := r.memory
		member, err := r.read(depth + 1)
		if err != nil {
			return err
		}
		if bodies[key] {
			r.memory = before
			member = &value{kind: 'n', line: member.line}
		}
		v.keys, v.vals = append(v.keys, key), append(v.vals, member)
	}
}

func (r *reader) array(v *value, depth int) error {
	v.kind = 'N'
	_, _ = r.byte()
	var number value // of which only num is kept
	for first := true; ; first = false {
		c, err := r.next("an element or ]")
		if err != nil {
			return err
		}
		if c == ']' {
			_, _ = r.byte()
			if v.kind == 'N' && len(v.nums) == 0 {
				v.kind = '['
			}
			return nil
		}
		if !first {
			if c != ',' {
				return r.fail("expected , or ], found %q", string(rune(c)))
			}
			_, _ = r.byte()
			if c, err = r.next("an element"); err != nil {
				return err
			}
		}
		if v.kind == 'N' && (c == '-' || c >= '0' && c <= '9' || c == 'N' || c == 'I') {
			number.line = r.line
			if err := r.word(&number); err != nil {
				return err
			}
			if err := r.charge(16); err != nil { // a list that grows is held twice
				return err
			}
			v.nums = append(v.nums, number.num)
			continue
		}
		e, err := r.read(depth + 1)
		if err != nil {
			return err
		}
		if v.kind == 'N' {
			v.kind = '['
			for _, n := range v.nums {
				v.vals = append(v.vals, &value{kind: '0', num: n, text: strconv.FormatFloat(n, 'g', -1, 64), line: e.line})
			}
			if err := r.charge(120 * int64(len(v.nums))); err != nil {
				return err
			}
			v.nums = nil
		}
		v.vals = append(v.vals, e)
	}
}

// string reads a text, of which it keeps the beginning where it is long.
func (r *reader) string() (string, error) {
	_, _ = r.byte()
	var b []byte
	keep := func(p ...byte) {
		if len(b) < mostText {
			b = append(b, p...)
		}
	}
	for n := 0; ; n++ {
		if n > longestText {
			return "", r.fail("a text of more than %d MB, which no result holds", longestText>>20)
		}
		c, err := r.byte()
		if errors.Is(err, io.EOF) {
			return "", r.fail("a text without its closing quote, found the end of the file")
		} else if err != nil {
			return "", err
		}
		switch {
		case c == '"':
			text := strings.ToValidUTF8(string(b), "\ufffd")
			return text, r.charge(int64(len(text)))
		case c < ' ' && c != '\t':
			return "", r.fail("a control character (0x%02x) in a text; JSON writes it as \\u%04x", c, c)
		case c != '\\':
			keep(c)
		default:
			u, err := r.escape()
			if err != nil {
				return "", err
			}
			keep(utf8.AppendRune(nil, u)...)
		}
	}
}

func (r *reader) escape() (rune, error) {
	c, err := r.byte()
	if err != nil {
		return 0, r.fail("a text without its closing quote, found the end of the file")
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, r.fail("expected an escape such as \\n, found \\%s", strconv.QuoteToASCII(string(rune(c))))
	}
	u, err := r.hex()
	if err != nil || u < 0xd800 || u > 0xdbff {
		return u, err
	}
	if next, _ := r.r.Peek(2); string(next) != `\u` {
		return utf8.RuneError, nil
	}
	_, _ = r.byte()
	_, _ = r.byte()
	low, err := r.hex()
	if err != nil || low < 0xdc00 || low > 0xdfff {
		return utf8.RuneError, err
	}
	return (u-0xd800)<<10 | (low - 0xdc00) + 0x10000, nil
}

func (r *reader) hex() (rune, error) {
	var text [4]byte
	for i := range text {
		c, err := r.byte()
		if err != nil {
			return 0, r.fail("a text without its closing quote, found the end of the file")
		}
		text[i] = c
	}
	n, err := strconv.ParseUint(string(text[:]), 16, 32)
	if err != nil {
		return 0, r.fail("expected four hex digits after \\u, found %s", strconv.QuoteToASCII(string(text[:])))
	}
	return rune(n), nil
}

// word reads a number, or one of the names that JSON or Python's json writes.
func (r *reader) word(v *value) error {
	b := r.letters[:0]
	for {
		c, err := r.peek()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil || !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.') {
			break
		}
		if b = append(b, c); len(b) > 400 {
			return r.fail("expected a value, found a word of more than 400 letters")
		}
		_, _ = r.byte()
	}
	r.letters = b
	v.text = string(b)
	switch v.text {
	case "true":
		v.kind = 't'
		return nil
	case "false":
		v.kind = 'f'
		return nil
	case "null":
		v.kind = 'n'
		return nil
	case "NaN", "nan", "-NaN":
		v.kind, v.num = '0', math.NaN()
		return nil
	case "Infinity", "inf", "Inf", "+Infinity":
		v.kind, v.num = '0', math.Inf(1)
		return nil
	case "-Infinity", "-inf", "-Inf":
		v.kind, v.num = '0', math.Inf(-1)
		return nil
	case "":
		c, _ := r.peek()
		return r.fail("expected a value, found %s", strconv.QuoteToASCII(string([]byte{c})))
	}
	n, err := strconv.ParseFloat(v.text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.Trim(v.text, "-+.eE0123456789") != "" || v.text[0] == '+' {
		return r.fail("expected a value, found %s", strconv.QuoteToASCII(cut(v.text, 40)))
	}
	v.kind, v.num = '0', n
	return nil
}

// cut is the beginning of a text. What would end its line or turn its direction stands as
// U+FFFD: the text goes to terminals and pages.
func cut(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' || c == '\u2029' {
			return utf8.RuneError
		}
		return c
	}, s)
}
