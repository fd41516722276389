package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"rowproof/internal/roofline"
)

// complain writes every problem, one a line, and returns the code. Only a list goes on
// below, indented: a line break in a name or a value is no end of its line.
func complain(s streams, verb string, code int, problems []string) int {
	for _, p := range problems {
		lines := strings.Split(p, below)
		for i := range lines {
			lines[i] = plain(lines[i])
		}
		fmt.Fprintf(s.err, "measure %s: %s\n", verb, strings.Join(lines, below))
	}
	return code
}

// below begins each further line of a problem that lists names.
const below = "\n  "

func printJSON(s streams, v any) int {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	if err == nil {
		_, err = s.out.Write(unmisleading(text.Bytes()))
	}
	if err != nil {
		fmt.Fprintln(s.err, "measure:", err)
		return exitFailed
	}
	return exitOK
}

// unmisleading is a JSON text with what would mislead a reader at a terminal written as JSON's
// own escapes: it says the same.
func unmisleading(text []byte) []byte {
	if bytes.IndexFunc(text, misleads) < 0 {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if !misleads(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.Bytes()
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return roofline.Number(float64(n)) + " " + noun + "s"
}
