package main

import (
	"crypto/sha256"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"rowproof/internal/roofline"
)

// Prompts are random token ids from [firstID, lastID): above the special tokens that
// tokenizers keep at the low end, and below the vocabulary. Without a known vocabulary
// the bound is one that every model in use has.
const (
	firstID          = 1_000
	lastID           = 100_000
	lastIDUnknown    = 30_000
	reservedAtTheEnd = 1_000 // special tokens at the high end of many vocabularies
)

// idRange bounds the ids for a model; m is nil where the catalogue does not know it.
func idRange(m *roofline.Model) (lo, hi int64) {
	if m == nil || m.Architecture.Vocabulary == 0 {
		return firstID, lastIDUnknown
	}
	hi = min(lastID, m.Architecture.Vocabulary-reservedAtTheEnd)
	if hi <= firstID+reservedAtTheEnd {
		return 0, m.Architecture.Vocabulary
	}
	return firstID, hi
}

// used remembers every prompt of a run, so that none is sent twice: with very short
// prompts chance alone would repeat some, and a prefix cache would serve them.
type used struct {
	mu     sync.Mutex
	hashes map[string]bool
}

// fresh says whether the hash is new, and remembers it.
func (u *used) fresh(hash string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hashes == nil {
		u.hashes = map[string]bool{}
	}
	if u.hashes[hash] {
		return false
	}
	u.hashes[hash] = true
	return true
}

// prompts makes one row's prompts. The same row seed, repeat and place in the sequence
// give the same prompt on any host.
type prompts struct {
	seed   uint64
	length int64 // units: ids, or words of a text prompt
	shared int64 // units common to all prompts of the row
	lo, hi int64 // units are numbered lo ≤ u < hi
	set    int64 // > 0: this many prompts are used again and again (--repeat-prompts)
	used   *used
}

// attempts at a fresh prompt; a one-token prompt can run out of ids.
const attempts = 1_000

// units is the seq-th prompt of a repeat.
func (p *prompts) units(repeat, seq int) []int {
	key := strconv.FormatUint(p.seed, 10)
	out := make([]int, 0, p.length)
	out = p.draw(out, key+"/shared", p.shared)
	key += "/" + strconv.Itoa(repeat) + "/"
	if p.set > 0 {
		return p.draw(out, key+"set/"+strconv.Itoa(seq%int(p.set)), p.length-p.shared)
	}
	key += strconv.Itoa(seq)
	for n := range attempts {
		again := key
		if n > 0 {
			again += "/" + strconv.Itoa(n)
		}
		out = p.draw(out[:p.shared], again, p.length-p.shared)
		if p.used.fresh(hashUnits(out)) {
			break
		}
	}
	return out
}

// draw appends n uniform units from the stream that key names.
func (p *prompts) draw(out []int, key string, n int64) []int {
	r := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(key))))
	for range n {
		out = append(out, int(p.lo+r.Int64N(p.hi-p.lo)))
	}
	return out
}

func hashUnits(units []int) string {
	b := make([]byte, 0, 8*len(units))
	for _, u := range units {
		b = append(strconv.AppendInt(b, int64(u), 10), ' ')
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

// words make text prompts. Each is so common that byte-pair vocabularies hold it, with
// the space before it, as one token; calibration checks that on the server at hand.
var words = strings.Fields(`
time people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government
number night point home water room mother area money story fact month lot right study book
eye job word business issue side kind head house service friend father power hour game line
end member law car city community name president team minute idea body information back
parent face others level office door health person art war history party result change
morning reason research girl guy moment air teacher force education foot boy age policy
process music market sense nation plan college interest death experience effect use class
control care field development role effort rate heart drug show leader light voice wife
police mind price report decision son view relationship town road arm difference value
building action season society tax director position player record paper space ground form
event official matter center couple site project activity star table need court oil
situation cost industry figure street image phone data picture practice piece land product
doctor wall patient worker news test movie north love support technology step baby computer
type attention film tree source organization hair look century evidence window culture
chance brother energy period course summer plant opportunity term letter condition choice
rule daughter south husband floor campaign material population call economy hospital church
risk fire future bank west sport board subject officer rest behavior performance fight top
goal second bed order author blood agency nature color store sound movement page race
concern series language response animal factor decade article east artist scene stock
career treatment approach size song analysis dog library camp`)
