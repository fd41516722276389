// Package prompts makes what a load asks for: random prompts of an exact length, the
// requests of a trace with the blocks they share, the items of a dataset, and the times
// at which requests arrive. The same seed gives the same prompts and times on any host.
//
// A prompt is a list of units: token ids where the server takes them, else words that
// were counted beforehand. Nothing here sends a request or reads a clock.
package prompts

import (
	"crypto/sha256"
	"math/rand/v2"
	"strconv"

	"rowproof/internal/roofline"
)

// Units is what prompts are made of: numbers from Lo up to, and without, Hi.
type Units struct{ Lo, Hi int64 }

// Token ids are drawn above the special tokens that tokenizers keep at the low end, and
// below the vocabulary. Without a known vocabulary the bound is one that every model in
// use has.
const (
	firstID          = 1_000
	lastID           = 100_000
	lastIDUnknown    = 30_000
	reservedAtTheEnd = 1_000 // special tokens at the high end of many vocabularies
)

// IDs are the token ids for a model; m is nil where the catalogue does not know it.
func IDs(m *roofline.Model) Units {
	if m == nil || m.Architecture.Vocabulary == 0 {
		return Units{firstID, lastIDUnknown}
	}
	hi := min(lastID, m.Architecture.Vocabulary-reservedAtTheEnd)
	if hi <= firstID+reservedAtTheEnd {
		return Units{0, m.Architecture.Vocabulary}
	}
	return Units{firstID, hi}
}

// draw appends n uniform units from the stream that key names.
func (u Units) draw(out []int, key string, n int64) []int {
	if n <= 0 {
		return out
	}
	r := source(key)
	for range n {
		out = append(out, int(u.Lo+r.Int64N(u.Hi-u.Lo)))
	}
	return out
}

// source is the stream of random numbers that key names.
func source(key string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(key))))
}

func text(n uint64) string { return strconv.FormatUint(n, 10) }
