package engine

import (
	"strconv"
	"strings"
)

// whole is a count as a server sent it. What is no number reads as nil and never as 0.
type whole struct {
	n    int64
	said string // a number that is no count: negative, broken or beyond mostTokens; "" else
}

// mostTokens is beyond what any request holds.
const mostTokens = 10_000_000

func (w *whole) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	switch {
	case err != nil && (f == 0 || len(b) == 0 || b[0] == '"'):
		*w = whole{n: -1}
	case err != nil || f < 0 || f > mostTokens || f != float64(int64(f)):
		*w = whole{n: -1, said: visible(b, 30)}
	default:
		*w = whole{n: int64(f)}
	}
	return nil
}

func (w *whole) value() *int64 {
	if w == nil || w.n < 0 {
		return nil
	}
	v := w.n
	return &v
}

// How far a server's count may lie from what is known otherwise before it is taken for
// a fault: tokens are hidden, held back or added by a template, but not so many.
const (
	strayFactor = 2
	strayTokens = 16
	promptRoom  = 4096 // that a template may add
)

// beyond says whether so many tokens are more than were asked for and more than the
// chunks can have held.
func (r *reading) beyond(n, osl int64) bool {
	return osl > 0 && n > strayFactor*osl+strayTokens && n > strayFactor*int64(len(r.pieces))+strayTokens
}

// impossible says which figures of a usage, or of the chunks where there is none, can't
// be; or "". What only disagrees is left
// for the gates: tokens that print nothing, several in one chunk, one over two.
func (r *reading) impossible(u *usage, isl, osl, sum int64) string {
	wild := ""
	if r.counted && r.beyond(sum, osl) {
		wild = "the chunks' token counts can't be: " + itoa(sum) + " tokens in " + itoa(int64(len(r.pieces))) + " chunks, " + itoa(osl) + " asked for"
	}
	if u == nil {
		return wild
	}
	var bad []string
	cached := u.cached()
	for _, c := range []struct {
		name string
		w    *whole
	}{{"prompt_tokens", u.Prompt}, {"completion_tokens", u.Completion}, {"total_tokens", u.Total}, {"cached_tokens", cached}} {
		if c.w != nil && c.w.said != "" {
			bad = append(bad, c.name+" "+c.w.said)
		}
	}
	prompt, completion := u.Prompt.value(), u.Completion.value()
	if prompt != nil && isl > 0 && *prompt > 4*isl+promptRoom {
		bad = append(bad, "prompt_tokens "+itoa(*prompt)+" of a prompt of "+itoa(isl))
	}
	if c := cached.value(); c != nil && prompt != nil && *c > *prompt {
		bad = append(bad, "cached_tokens "+itoa(*c)+" of prompt_tokens "+itoa(*prompt))
	}
	total := u.Total.value()
	hole := total != nil && prompt != nil && completion != nil && *total != *prompt+*completion
	if completion != nil && !hole { // no rate comes of one that does not add up
		hidden := int64(0)
		if n := u.thought(); n != nil {
			hidden = *n
		}
		switch n := *completion; {
		case r.counted && n-hidden > strayFactor*sum+strayTokens:
			bad = append(bad, "completion_tokens "+itoa(n)+" with "+itoa(sum)+" tokens in the chunks, "+itoa(osl)+" asked for")
		case r.beyond(n, osl):
			bad = append(bad, "completion_tokens "+itoa(n)+" with "+itoa(int64(len(r.pieces)))+" chunks of content, "+itoa(osl)+" asked for")
		}
	}
	if bad == nil {
		return wild
	}
	return "the server's usage can't be: " + strings.Join(bad, "; ")
}
