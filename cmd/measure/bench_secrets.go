package main

import (
	"slices"
	"strings"
)

const masked = "(masked)"

// secrets are texts that no output may hold.
type secrets struct{ texts []string }

// add remembers a secret. Short texts are left out: the keys that local servers are
// given, such as EMPTY, are none, and masking them would blank ordinary words.
func (s *secrets) add(text string) {
	if len(text) >= 6 && !slices.Contains(s.texts, text) {
		s.texts = append(s.texts, text)
		// The longest first, so that a secret inside another leaves no rest.
		slices.SortFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
	}
}

// scrub masks every secret in a text, such as a server's complaint that repeats the key.
func (s *secrets) scrub(text string) string {
	for _, t := range s.texts {
		text = strings.ReplaceAll(text, t, masked)
	}
	return text
}

// command is the call as the report keeps it: header values are masked whole, since a
// header's name need not tell that it is a secret.
func (s *secrets) command(args []string) []string {
	out := []string{"measure", "bench"}
	header := false
	for _, a := range args {
		value, isHeader := strings.CutPrefix(a, "--header=")
		switch {
		case header:
			a = maskHeader(a)
		case isHeader:
			a = "--header=" + maskHeader(value)
		}
		header = a == "--header"
		out = append(out, s.scrub(a))
	}
	return out
}

func maskHeader(s string) string {
	name, _, _ := strings.Cut(s, ":")
	return name + ": " + masked
}

// isSecretName says whether a member of that name is likely to hold a secret.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"key", "secret", "password", "token", "authorization", "cookie"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
