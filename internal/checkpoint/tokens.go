package checkpoint

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// tokens reads the header of a safetensors file piece by piece, so that the memory for a
// header of 100 MB is that of its tensors alone. Its errors are in plain words.
type tokens struct {
	r    *bufio.Reader
	text []byte // of the last string
}

var errEnds = errors.New("the text ends within a value")

// next is the first byte after white space, still to be read.
func (t *tokens) next() (byte, error) {
	for {
		c, err := t.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, errEnds
		case err != nil:
			return 0, err
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		}
		return c, t.r.UnreadByte()
	}
}

// take reads one mark that must stand next.
func (t *tokens) take(mark byte, want string) error {
	c, err := t.next()
	if err != nil {
		return err
	}
	if c != mark {
		return errors.New("found " + strconv.QuoteRune(rune(c)) + " where " + want + " is accepted")
	}
	_, err = t.r.Discard(1)
	return err
}

// more says whether a list or object goes on after its opening mark or an entry of it.
func (t *tokens) more(first bool, end byte) (bool, error) {
	c, err := t.next()
	switch {
	case err != nil:
		return false, err
	case c == end:
		_, err = t.r.Discard(1)
		return false, err
	case first:
		return true, nil
	}
	if end == ']' {
		return true, t.take(',', "a comma or ']'")
	}
	return true, t.take(',', "a comma or '}'")
}

// word reads a string in quotes; its bytes hold until the next one.
func (t *tokens) word(what string) ([]byte, error) {
	if err := t.take('"', "a text in quotes"); err != nil {
		return nil, errors.New(what + ": " + err.Error())
	}
	t.text = append(t.text[:0], '"')
	plain := true
	for {
		c, err := t.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, errEnds
		}
		if err != nil {
			return nil, err
		}
		t.text = append(t.text, c)
		if c == '"' {
			break
		}
		if c == '\\' {
			plain = false
			if c, err = t.r.ReadByte(); err != nil {
				return nil, errEnds
			}
			t.text = append(t.text, c)
		}
		if c < ' ' {
			return nil, errors.New(what + " holds the control character " + strconv.QuoteRune(rune(c)))
		}
	}
	inner := t.text[1 : len(t.text)-1]
	if plain && utf8.Valid(inner) {
		return inner, nil
	}
	var s string
	if !utf8.Valid(inner) || json.Unmarshal(t.text, &s) != nil {
		return nil, errors.New(what + " is " + shown(string(inner)) + ", which is no text in UTF-8 with JSON's escapes")
	}
	return []byte(s), nil
}

// whole reads a whole number of at least least.
func (t *tokens) whole(what string) (int64, error) {
	if _, err := t.next(); err != nil {
		return 0, err
	}
	var digits [32]byte
	text := digits[:0]
	for {
		c, err := t.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, errEnds
		}
		if err != nil {
			return 0, err
		}
		if c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			if err := t.r.UnreadByte(); err != nil {
				return 0, err
			}
			break
		}
		if len(text) == len(digits) {
			break
		}
		text = append(text, c)
	}
	n := int64(0)
	for i, c := range text {
		if i == 0 && c == '-' && len(text) > 1 {
			continue
		}
		if c < '0' || c > '9' || n > math.MaxInt64/10-1 {
			return 0, errors.New(what + " holds " + shown(string(text)) + "; whole numbers are accepted")
		}
		n = 10*n + int64(c-'0')
	}
	if len(text) == 0 {
		return 0, errors.New(what + " lacks a number; whole numbers are accepted")
	}
	if text[0] == '-' {
		n = -n
	}
	return n, nil
}

// numbers reads a list of at most most whole numbers into list.
func (t *tokens) numbers(what string, list []int64, most int) ([]int64, error) {
	if err := t.take('[', "a list of whole numbers"); err != nil {
		return list, errors.New(what + ": " + err.Error())
	}
	for i := 0; ; i++ {
		more, err := t.more(i == 0, ']')
		if err != nil || !more {
			return list, err
		}
		if i == most {
			return list, errors.New(what + " has more than " + strconv.Itoa(most) + " entries; at most as many are accepted")
		}
		n, err := t.whole(what)
		if err != nil {
			return list, err
		}
		list = append(list, n)
	}
}

// end says that nothing but white space follows.
func (t *tokens) end() error {
	if _, err := t.next(); !errors.Is(err, errEnds) {
		if err == nil {
			err = errors.New("data after the end of the JSON text")
		}
		return err
	}
	return nil
}
