package main

import (
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// spelled writes what a terminal or a reader's eye would be misled by as escapes:
// control characters but line breaks and tabs, and marks that change the direction.
func spelled(s string) string {
	if strings.IndexFunc(s, misleads) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if misleads(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain is spelled for what stands on a line with other words: a name, a file, a value.
func plain(s string) string { return breaks.Replace(spelled(s)) }

var breaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

func misleads(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
}

// oneLine keeps a reason readable in a table and a CSV cell: on one line, and at most
// 500 characters of it.
func oneLine(s string) string { return firstRunes(s, 500) }

// firstRunes is oneLine for at most so many characters.
func firstRunes(s string, most int) string {
	out := make([]rune, 0, min(len(s), most+1))
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			out = append(out, ' ')
		default:
			out = append(out, []rune(spelled(string(r)))...)
		}
		if len(out) >= most {
			return string(out[:most]) + "…"
		}
	}
	return string(out)
}

// mostListed names of a server's are listed, each of at most mostOfName characters.
const (
	mostListed = 20
	mostOfName = 100
)

// listed are names that a server gave, parted by commas: the first of them, and how many
// more there are.
func listed(names []string) string {
	var shown []string
	for _, n := range names[:min(len(names), mostListed)] {
		shown = append(shown, firstRunes(n, mostOfName))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += ", and " + thousands(more) + " more"
	}
	return text
}

// thousands writes a count in groups of three digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// cleanWriter cleans what is written, whatever part of it a server had a hand in. An
// interrupt is told by another goroutine than the rest.
type cleanWriter struct {
	w       io.Writer
	secrets *secrets
	mu      sync.Mutex
}

func (c *cleanWriter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.w, c.secrets.clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// cleanAll cleans every text that v, a pointer, leads to, names in maps among them.
func cleanAll(v any, clean func(string) string) { cleanValue(reflect.ValueOf(v), clean) }

func cleanValue(v reflect.Value, clean func(string) string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			cleanValue(v.Elem(), clean)
		}
	case reflect.String:
		if s := clean(v.String()); v.CanSet() && s != v.String() {
			v.SetString(s)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			cleanValue(v.Field(i), clean)
		}
	case reflect.Slice:
		if holdsText(v.Type().Elem()) {
			for i := range v.Len() {
				cleanValue(v.Index(i), clean)
			}
		}
	case reflect.Map:
		cleanMap(v, clean)
	}
}

// cleanMap puts cleaned entries in the place of those that change. The keys are strings.
func cleanMap(v reflect.Value, clean func(string) string) {
	for _, key := range v.MapKeys() {
		if !holdsText(v.Type().Elem()) && clean(key.String()) == key.String() {
			continue
		}
		now := reflect.New(v.Type().Elem()).Elem()
		now.Set(v.MapIndex(key))
		cleanValue(now, clean)
		name := reflect.New(key.Type()).Elem()
		name.Set(key)
		cleanValue(name, clean)
		if name.Interface() != key.Interface() {
			v.SetMapIndex(key, reflect.Value{})
		}
		v.SetMapIndex(name, now)
	}
}

func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Struct, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return false
}
