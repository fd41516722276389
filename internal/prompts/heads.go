package prompts

// heads remembers the heads of prompts, block by block, as a prefix cache without bounds
// would: a block is found again only behind the very blocks it stood behind before.
type heads struct {
	next map[step]int64 // the head that a block makes of a head
	size map[int64]int64
}

// step is a block behind a head; head 0 is empty.
type step struct{ head, block int64 }

func newHeads() *heads { return &heads{next: map[step]int64{}, size: map[int64]int64{}} }

// add remembers a prompt of so many tokens, and says how many of them stood at the head of
// a prompt before. One at least is always computed: the first of the answer follows it.
func (h *heads) add(blocks []int64, tokens, size int64) (found int64) {
	head, whole := int64(0), true
	left := tokens
	for _, b := range blocks {
		n := min(size, left)
		left -= n
		at := step{head, b}
		to, known := h.next[at]
		if !known {
			to = int64(len(h.next)) + 1
			h.next[at] = to
		}
		had := h.size[to]
		if whole {
			found += min(had, n)
		}
		whole = whole && known && had >= n
		h.size[to] = max(had, n)
		head = to
	}
	return min(found, tokens-1)
}
