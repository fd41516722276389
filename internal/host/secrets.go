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
	name = strings.ReplaceAll(strings.ToUpper(name), "TOKENIZER", "")
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// maskEnvironment keeps what is on the allow list, a secret's name without its value.
func maskEnvironment(env map[string]string, secrets []string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		switch {
		case !row.KeptVariable(name):
		case secretVariable(name):
			out[name] = masked
		default:
			out[name] = scrub(value, secrets)
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
			a = scrub(a, secrets)
		}
		out[i] = a
	}
	return out
}

// maskArguments masks what a server reports of its own settings, as maskCommand does a
// command line.
func maskArguments(arguments map[string]string, secrets []string) map[string]string {
	if arguments == nil {
		return nil
	}
	out := make(map[string]string, len(arguments))
	for name, value := range arguments {
		surely, perhaps := secretFlag(name)
		_, err := strconv.ParseFloat(value, 64)
		switch {
		case value == "" || value == "None" || value == "null" || strings.EqualFold(value, "true") || strings.EqualFold(value, "false"):
		case surely || perhaps && err != nil:
			value = masked
		default:
			value = scrub(value, secrets)
		}
		out[name] = value
	}
	return out
}

// scrub masks the given secrets wherever they stand, and what looks like one.
func scrub(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, masked)
	}
	return maskText(text)
}

// secretsOf are the values that must appear nowhere: those of the server's environment and
// command line, and of the headers that it is asked with.
func (m *machine) secretsOf(pid int64, ref ServerRef) []string {
	var out []string
	if pid > 0 {
		p := m.process(pid, map[string]string{})
		out = secretsOf(p.env)
		for i, a := range maskCommand(p.argv, nil) {
			if name, ok := strings.CutSuffix(a, masked); ok && strings.HasPrefix(p.argv[i], name) {
				out = append(out, p.argv[i][len(name):])
			}
		}
	}
	for _, values := range ref.Header {
		for _, v := range values {
			out = append(out, v)
			if _, token, ok := strings.Cut(v, " "); ok {
				out = append(out, token)
			}
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < 8 })
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// scrub masks the secrets in what was read.
func (r *reading) scrub(secrets []string) {
	for i := range r.apps {
		r.apps[i].Name = scrub(r.apps[i].Name, secrets)
	}
	for i := range r.texts {
		r.texts[i].Text = scrub(r.texts[i].Text, secrets)
	}
	for field, why := range r.unread {
		r.unread[field] = scrub(why, secrets)
	}
}

var (
	userinfo = regexp.MustCompile(`(://)[^/\s@"']+@`)
	bearer   = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	issued   = regexp.MustCompile(`\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{12,})\b`)
	member   = regexp.MustCompile(`(?i)("[^"]*(?:key|token|secret|password|passwd|credentials?|auth|authorization|cookie)"\s*:\s*)"(?:[^"\\]|\\.)*"`)
	inner    = regexp.MustCompile(`(?i)(\\+"[^"\\]*(?:key|token|secret|password|passwd|credentials?|auth|authorization|cookie)\\+"\s*:\s*\\+")[^"\\]*`)
	query    = regexp.MustCompile(`(?i)([?&][a-z0-9_.-]*(?:key|token|secret|password|signature|sig|auth|credential)[a-z0-9_.-]*=)[^&\s"'#]+`)
	assigned = regexp.MustCompile(`(\b[A-Za-z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|COOKIE)[A-Za-z0-9_]*=)[^\s"']+`)
	flagged  = regexp.MustCompile(`(?i)((?:^|[\s"'])--?(?:[a-z0-9]+[-_.])*(?:key|apikey|token|secret|password|passwd|passphrase|credentials?|auth|authorization)(?:"\s*,\s*"|'\s*,\s*'|=|\s+))[^\s"']+`)
	headed   = regexp.MustCompile(`(?i)(\b(?:[a-z0-9]+-)*(?:api-?key|token|secret|authorization|cookie):\s*)[^\s"']+`)
)

// maskText masks what looks like a secret inside a text: the user part of a URL, a
// bearer header, keys in the forms that well-known issuers give them, and the values of
// flags, variables, headers, parts of a query and JSON members that are named like a secret.
func maskText(s string) string {
	s = userinfo.ReplaceAllString(s, "${1}"+masked+"@")
	s = bearer.ReplaceAllString(s, "${1} "+masked)
	s = issued.ReplaceAllString(s, masked)
	for _, named := range []*regexp.Regexp{query, assigned, flagged, headed, inner} {
		s = named.ReplaceAllString(s, "${1}"+masked)
	}
	return member.ReplaceAllString(s, `${1}"`+masked+`"`)
}
