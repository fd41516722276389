package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const masked = "(masked)"

// secrets are texts that no output may hold.
type secrets struct {
	texts []string
	forms []string // in which they may come back, the longest first
}

// add remembers a secret. Short texts are left out: the keys that local servers are
// given, such as EMPTY, are none, and masking them would blank ordinary words.
func (s *secrets) add(text string) {
	if len(text) < 6 || slices.Contains(s.texts, text) {
		return
	}
	s.texts = append(s.texts, text)
	for _, f := range formsOf(text) {
		if !slices.Contains(s.forms, f) {
			s.forms = append(s.forms, f)
		}
	}
	// The longest first, so that a secret inside another leaves no rest.
	slices.SortStableFunc(s.forms, func(a, b string) int { return len(b) - len(a) })
}

// formsOf are a text and how JSON, a URL, HTML, a quoted string, base64 and hexadecimal
// digits write it.
func formsOf(text string) []string {
	ascii := strconv.QuoteToASCII(text)
	query, entities := url.QueryEscape(text), html.EscapeString(text)
	quoted := []string{
		text, inJSON(text, true), inJSON(text, false), ascii[1 : len(ascii)-1],
		strings.ReplaceAll(text, "/", `\/`), strings.ReplaceAll(text, `\`, `\\`),
	}
	inURL := []string{query, strings.ReplaceAll(query, "+", "%20"), strings.ReplaceAll(query, "%2F", "/"), url.PathEscape(text)}
	forms := append(slices.Concat(quoted, inURL), entities, strings.ReplaceAll(entities, "&#34;", "&quot;"))
	for _, f := range quoted {
		forms = append(forms, inJSON(f, false)) // JSON as a string of JSON
	}
	for _, f := range inURL {
		forms = append(forms, percent.ReplaceAllStringFunc(f, strings.ToLower))
	}
	return append(append(forms, hex.EncodeToString([]byte(text))), inBase64(text)...)
}

// inBase64 are the digits that a text alone decides, however it stands among others.
func inBase64(text string) (forms []string) {
	for before := range 3 {
		all := append(make([]byte, before), text...)
		from, to := (8*before+5)/6, 8*len(all)/6
		forms = append(forms, base64.RawStdEncoding.EncodeToString(all)[from:to], base64.RawURLEncoding.EncodeToString(all)[from:to])
	}
	return forms
}

// inJSON is a text as JSON writes it between quotes.
func inJSON(text string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if e.Encode(text) != nil {
		return text // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// scrub masks every secret in a text, such as a server's complaint that repeats the key,
// in any letter case, and what is left of one where it was cut.
func (s *secrets) scrub(text string) string {
	for _, f := range s.forms {
		text = strings.ReplaceAll(text, f, masked)
		if len(f) >= leastOfPart {
			text = maskParts(text, f)
		}
	}
	if len(s.forms) == 0 {
		return text
	}
	for _, mark := range cutMarks {
		if !strings.Contains(text, mark) {
			continue
		}
		parts := strings.Split(text, mark)
		for i := range parts[:len(parts)-1] {
			parts[i] = s.scrubEnd(parts[i])
		}
		text = strings.Join(parts, mark)
	}
	return text
}

// cutMarks stand where a text was cut, the second where it was quoted afterwards.
var cutMarks = []string{"…", `\u2026`}

// leastOfPart is how many bytes of a secret's beginning or end give it away, where they
// are half of it too. Fewer may be an ordinary word.
const leastOfPart = 12

// maskParts masks a secret in another letter case, and its first or last half and what
// of the rest stands beside that.
func maskParts(text, secret string) string {
	half := max(leastOfPart, (len(secret)+1)/2)
	if len(text) < half {
		return text
	}
	low, secret := lowerASCII(text), lowerASCII(secret)
	first, last := secret[:half], secret[len(secret)-half:]
	var b strings.Builder
	done := 0
	for {
		rest := low[done:]
		from := strings.Index(rest, first)
		to := from + half
		if from >= 0 {
			for to < len(rest) && to-from < len(secret) && rest[to] == secret[to-from] {
				to++
			}
		}
		if at := strings.Index(rest, last); at >= 0 && (from < 0 || at < from) {
			from, to = at, at+half
			for back := len(secret) - half; from > 0 && back > 0 && rest[from-1] == secret[back-1]; back-- {
				from--
			}
		}
		if from < 0 {
			break
		}
		b.WriteString(text[done : done+from])
		b.WriteString(masked)
		done += to
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// lowerASCII lowers letters and leaves every byte where it stands.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// scrubEnd masks the beginning of a secret at the end of a text.
func (s *secrets) scrubEnd(text string) string {
	const fewest = 3 // letters of a secret tell nothing
	longest := 0
	low := lowerASCII(text)
	for _, f := range s.forms {
		f = lowerASCII(f)
		for n := min(len(f), len(text)); n > max(fewest, longest); n-- {
			if strings.HasSuffix(low, f[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return text
	}
	return text[:len(text)-longest] + masked
}

// find remembers the secrets that a text of the user's holds: values of members,
// parameters and headers whose names say so, and what stands before the @ of a URL.
func (s *secrets) find(text string) {
	for _, m := range userinfo.FindAllStringSubmatch(text, -1) {
		s.addEncoded(m[1])
		_, password, _ := strings.Cut(m[1], ":")
		s.addEncoded(password)
	}
	for _, m := range credentials.FindAllStringSubmatch(text, -1) {
		s.add(m[1])
	}
	for _, m := range member.FindAllStringSubmatch(text, -1) {
		if isSecretName(m[1]) {
			s.add(m[2])
			var plain string
			if json.Unmarshal([]byte(`"`+m[2]+`"`), &plain) == nil {
				s.add(plain)
			}
		}
	}
	for _, m := range parameter.FindAllStringSubmatchIndex(text, -1) {
		val := text[m[1]:]
		if end := strings.IndexAny(val, " \t\r\n\"'&,;{}[]"); end >= 0 {
			val = val[:end]
		}
		if isSecretName(text[m[2]:m[3]]) && !isScheme(val) {
			s.addEncoded(val)
		}
	}
}

func (s *secrets) addEncoded(text string) {
	s.add(text)
	if plain, err := url.QueryUnescape(text); err == nil {
		s.add(plain)
	}
}

var (
	userinfo    = regexp.MustCompile(`//([^/?#\s"']+)@`)
	credentials = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+(\S+)`)
	// The end of a member's value may be missing.
	member    = regexp.MustCompile(`"([^"\\]*)"\s*:\s*"((?:[^"\\]|\\.)*)`)
	parameter = regexp.MustCompile(`([A-Za-z0-9_.-]+)["']?\s*[=:]\s*["']?`)
)

func isScheme(s string) bool { return strings.EqualFold(s, "bearer") || strings.EqualFold(s, "basic") }

// findIn remembers the secrets in a JSON text: see maskMembers.
func (s *secrets) findIn(text string, secret bool) {
	maskMembers(text, secret, func(said string, secret bool) {
		switch {
		case !secret:
			s.find(said)
		case !slices.Contains(schemaTypes, said): // of a schema with a member named so
			s.add(said)
		}
	})
}

var schemaTypes = []string{"string", "number", "integer", "boolean", "object", "array"}

// clean is scrub for a text in which a server may have had a hand: what a terminal would
// act on is spelled out.
func (s *secrets) clean(text string) string { return spelled(s.scrub(text)) }

// echo is what a complaint about a flag's value may show of it.
func echo(flag, value string) string {
	switch flag {
	case "header":
		return masked // what was meant for a secret may stand anywhere in it
	case "extra-body":
		return maskBody(value)
	case "base-url":
		if strings.Contains(value, "@") {
			return masked
		}
		if i := strings.IndexAny(value, "?#"); i >= 0 {
			return value[:i+1] + masked
		}
	}
	return value
}

// command is the call as the report keeps it: header values are masked whole, since a
// header's name need not tell that it is a secret.
func (s *secrets) command(args []string) []string {
	out := []string{"measure", "bench"}
	before := ""
	for _, a := range args {
		flag, val, assigned := strings.Cut(a, "=")
		switch {
		case before == "--header":
			a = maskHeader(a)
		case before == "--extra-body":
			a = maskBody(a)
		case assigned && flag == "--header":
			a = flag + "=" + maskHeader(val)
		case assigned && flag == "--extra-body":
			a = flag + "=" + maskBody(val)
		}
		if before = ""; a == "--header" || a == "--extra-body" {
			before = a
		}
		out = append(out, s.scrub(a))
	}
	return out
}

func maskHeader(s string) string {
	name, _, _ := strings.Cut(s, ":")
	return name + ": " + masked
}

// maskBody masks the secret members of a JSON text, as deep as they stand. Of a text
// that is no JSON nothing is shown where a name in it says that it holds a secret.
func maskBody(text string) string {
	if shown, ok := maskMembers(text, false, nil); ok {
		return shown
	}
	for _, m := range names.FindAllString(text, -1) {
		if isSecretName(m) {
			return masked
		}
	}
	return text
}

var names = regexp.MustCompile(`[A-Za-z0-9_.-]+`)

// maskMembers masks the values of members whose names say that they are secrets, in a
// JSON text and everything inside it; secret says that all of it is one. found, unless
// nil, is told each text in it. ok is false where text is no JSON.
func maskMembers(text string, secret bool, found func(text string, secret bool)) (shown string, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	m := masker{d: d, found: found}
	if !m.value(secret) {
		return "", false
	}
	if _, err := d.Token(); err != io.EOF {
		return "", false
	}
	if !m.any {
		return text, true
	}
	return m.out.String(), true
}

type masker struct {
	d     *json.Decoder
	out   bytes.Buffer
	found func(text string, secret bool)
	any   bool
}

// value copies the next value, masked where it is secret, and says whether it was whole.
func (m *masker) value(secret bool) bool {
	t, err := m.d.Token()
	if err != nil {
		return false
	}
	if open, is := t.(json.Delim); is {
		return (open == '{' || open == '[') && m.members(open, secret)
	}
	said := ""
	switch t := t.(type) {
	case string:
		said = t
	case json.Number:
		said = t.String()
	}
	if said != "" && m.found != nil {
		m.found(said, secret)
	}
	if secret && said != "" {
		m.any = true
		t = masked
	}
	return m.put(t)
}

func (m *masker) members(open json.Delim, secret bool) bool {
	m.out.WriteRune(rune(open))
	for n := 0; m.d.More(); n++ {
		if n > 0 {
			m.out.WriteByte(',')
		}
		inside := secret
		if open == '{' {
			name, err := m.d.Token()
			text, is := name.(string)
			if err != nil || !is || !m.put(text) {
				return false
			}
			m.out.WriteByte(':')
			inside = secret || isSecretName(text)
		}
		if !m.value(inside) {
			return false
		}
	}
	end, err := m.d.Token()
	if err != nil {
		return false
	}
	m.out.WriteString(end.(json.Delim).String())
	return true
}

func (m *masker) put(v any) bool {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	m.out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return err == nil
}

// isSecretName says whether a member of that name is likely to hold a secret.
func isSecretName(name string) bool {
	if name == "PWD" || name == "OLDPWD" { // a shell's folders
		return false
	}
	if shortPassword.MatchString(name) {
		return true
	}
	name = strings.ToLower(name)
	for _, end := range []string{"key", "keys", "token", "auth", "bearer", "cookie", "pwd", "passphrase", "signature"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	name = strings.NewReplacer("-", "", "_", "", ".", "").Replace(name)
	for _, part := range []string{"apikey", "secret", "password", "passwd", "credential", "authorization", "accesstoken", "authtoken"} {
		if strings.Contains(name, part) && !strings.HasSuffix(name, "file") {
			return true
		}
	}
	return false
}

// shortPassword is a short name of a password, as a word of its own: a bypass is none.
var shortPassword = regexp.MustCompile(`(?:^|[^A-Za-z])(?i:pw|pass)$|[a-z0-9](?:Pw|Pass|PW|PASS)$`)
