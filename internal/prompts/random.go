package prompts

import (
	"crypto/sha256"
	"strconv"
	"sync"
)

// Used remembers every prompt of a run, so that none is sent twice: with very short
// prompts chance alone would repeat some, and a prefix cache would serve them.
type Used struct {
	mu     sync.Mutex
	hashes map[[sha256.Size]byte]bool
}

// fresh says whether a prompt is new, and remembers it.
func (u *Used) fresh(units []int) bool {
	b := make([]byte, 0, 8*len(units))
	for _, n := range units {
		b = append(strconv.AppendInt(b, int64(n), 10), ' ')
	}
	hash := sha256.Sum256(b)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hashes == nil {
		u.hashes = map[[sha256.Size]byte]bool{}
	}
	if u.hashes[hash] {
		return false
	}
	u.hashes[hash] = true
	return true
}

// Random makes one row's random prompts. The same row seed, repeat and place in the
// sequence give the same prompt on any host.
type Random struct {
	Units
	Seed   uint64
	Length int64 // units of each prompt
	Shared int64 // units common to all prompts of the row
	Set    int64 // > 0: so many prompts of a repeat are used again and again
	Used   *Used
}

// attempts at a fresh prompt; prompts of one unit can run out.
const attempts = 1_000

// Prompt is the seq-th prompt of a repeat.
func (p *Random) Prompt(repeat, seq int) []int {
	key := text(p.Seed)
	out := make([]int, 0, p.Length)
	out = p.draw(out, key+"/shared", p.Shared)
	key += "/" + strconv.Itoa(repeat) + "/"
	if p.Set > 0 {
		return p.draw(out, key+"set/"+strconv.Itoa(seq%int(p.Set)), p.Length-p.Shared)
	}
	key += strconv.Itoa(seq)
	for n := range attempts {
		again := key
		if n > 0 {
			again += "/" + strconv.Itoa(n)
		}
		out = p.draw(out[:p.Shared], again, p.Length-p.Shared)
		if p.Used.fresh(out) {
			break
		}
	}
	return out
}
