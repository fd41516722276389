package simulator

import (
	"container/list"
	"hash/maphash"
	"strings"
)

// prefixCache remembers the whole blocks of prompts, least recently used first out. A
// block is known by its own tokens and all before it, so a hit is always a prefix.
type prefixCache struct {
	cap   int
	order *list.List               // of uint64, front is the most recent
	at    map[uint64]*list.Element // by chained hash
}

func newPrefixCache(capacity int) *prefixCache {
	return &prefixCache{cap: capacity, order: list.New(), at: map[uint64]*list.Element{}}
}

// blockSeed makes the chained hashes of this process.
var blockSeed = maphash.MakeSeed()

// chain hashes each whole block of a prompt together with all before it.
func chain(prompt []uint64) []uint64 {
	out := make([]uint64, len(prompt)/BlockTokens)
	var prev uint64
	for i := range out {
		key := struct {
			prev   uint64
			tokens [BlockTokens]uint64
		}{prev, [BlockTokens]uint64(prompt[i*BlockTokens:])}
		prev = maphash.Comparable(blockSeed, key)
		out[i] = prev
	}
	return out
}

// reusable is how many whole blocks of a prompt of n tokens may come from the cache:
// its last token must be computed for the first answer token to exist.
func reusable(n int) int { return (n - 1) / BlockTokens }

// hit counts the leading blocks that are remembered.
func (c *prefixCache) hit(chain []uint64) int {
	for i, h := range chain {
		e := c.at[h]
		if e == nil {
			return i
		}
		c.order.MoveToFront(e)
	}
	return len(chain)
}

// add remembers a prompt's blocks.
func (c *prefixCache) add(chain []uint64) {
	for _, h := range chain {
		if e := c.at[h]; e != nil {
			c.order.MoveToFront(e)
			continue
		}
		c.at[h] = c.order.PushFront(h)
	}
	for c.order.Len() > c.cap {
		last := c.order.Back()
		delete(c.at, last.Value.(uint64))
		c.order.Remove(last)
	}
}

// word is the token of one word of a text. It never equals a token id.
func word(w string) uint64 { return maphash.String(blockSeed, w) | 1<<63 }

// appendWords appends the tokens of a text: one a word, by white space.
func appendWords(tokens []uint64, text string) []uint64 {
	for w := range strings.FieldsSeq(text) {
		tokens = append(tokens, word(w))
	}
	return tokens
}
