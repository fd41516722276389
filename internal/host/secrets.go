package host

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

const masked = "(masked)"

// secretFlag says whether a flag of that name takes a secret: surely, where its last
// word is one that names secrets, or perhaps, where another word of it is. It goes by
// whole words: --max-num-batched-tokens and --tokenizer take none.
func secretFlag(name string) (surely, perhaps bool) {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for i, w := range words {
		switch w {
		case "key", "apikey", "token", "secret", "password", "passwd", "passphrase", "credential", "credentials", "auth", "authorization":
			perhaps = true
			surely = i == len(words)-1
		}
	}
	return surely, perhaps
}

// secretVariable says whether an environment variable of that name holds a secret. It
// goes by any part of the name: masking too much costs nothing here.
func secretVariable(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// maskEnvironment keeps what is on the allow list, a secret's name without its value.
func maskEnvironment(env map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		switch {
		case !row.KeptVariable(name):
		case secretVariable(name):
			out[name] = masked
		default:
			out[name] = maskText(value)
		}
	}
	return out
}

// secretsOf are the values of an environment that must appear nowhere.
func secretsOf(env map[string]string) []string {
	var out []string
	for name, value := range env {
		if secretVariable(name) && len(value) >= 8 {
			out = append(out, value)
		}
	}
	// The longest first, so that a secret inside another leaves no rest.
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// maskCommand masks the values of secret flags and assignments in a command line, and
// wherever one of the given secrets stands.
func maskCommand(argv []string, secrets []string) []string {
	out := make([]string, len(argv))
	var surely, perhaps bool // the values of the flag before are secret
	hides := func(value string) bool {
		// --long-prefill-token-threshold 2048 is none.
		_, err := strconv.ParseFloat(value, 64)
		return surely || perhaps && err != nil
	}
	for i, a := range argv {
		name, value, assigned := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "-"):
			surely, perhaps = secretFlag(strings.TrimLeft(name, "-"))
			if assigned && hides(value) {
				a = name + "=" + masked
			}
			if assigned {
				surely, perhaps = false, false
			}
		case hides(a):
			a = masked // several values may follow one flag
		case assigned && secretVariable(name) && !strings.ContainsAny(name, " {\""):
			a = name + "=" + masked
		}
		if a != masked {
			for _, s := range secrets {
				a = strings.ReplaceAll(a, s, masked)
			}
			a = maskText(a)
		}
		out[i] = a
	}
	return out
}

var (
	userinfo = regexp.MustCompile(`(://)[^/\s@"']+@`)
	bearer   = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	issued   = regexp.MustCompile(`\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{12,})\b`)
	member   = regexp.MustCompile(`(?i)("[^"]*(?:api_?key|_key|-key|token|secret|password|credential|authorization)"\s*:\s*)"(?:[^"\\]|\\.)*"`)
)

// maskText masks what looks like a secret inside a text: the user part of a URL, a
// bearer header, keys in the forms that well-known issuers give them, and JSON members
// named like a secret.
func maskText(s string) string {
	s = userinfo.ReplaceAllString(s, "${1}"+masked+"@")
	s = bearer.ReplaceAllString(s, "${1} "+masked)
	s = issued.ReplaceAllString(s, masked)
	return member.ReplaceAllString(s, `${1}"`+masked+`"`)
}
