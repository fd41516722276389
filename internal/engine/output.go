package engine

import (
	"slices"

	"rowproof/internal/row"
)

// output is what a request brought, as far as it takes to see whether it loops: a number
// for each token, and for what each event prints one by which it is known again.
type output struct {
	most   int // events of the answer
	ids    []uint64
	pieces []uint64
	event  uint64
}

// FNV-1a of 64 bits: its offset and its prime.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// begin starts an event, and end keeps what it printed.
func (o *output) begin() { o.event = fnvOffset }

func (o *output) end() {
	if o.pieces == nil {
		o.pieces = make([]uint64, 0, o.most)
	}
	o.pieces = append(o.pieces, o.event)
}

// prints takes a part of what the event prints, as it is written.
func (o *output) prints(raw []byte) {
	h := o.event
	for _, c := range raw {
		h = (h ^ uint64(c)) * fnvPrime
	}
	o.event = h
}

func (o *output) tokens(ids []int64) {
	if o.ids == nil {
		o.ids = make([]uint64, 0, o.most)
	}
	for _, id := range ids {
		o.ids = append(o.ids, uint64(id))
	}
}

// bigrams counts the pairs of neighbours: of token ids where every piece came with its
// own, else of what the pieces print. tokens is how many the pieces hold; below 1 it is not
// known. why is not "" where they cannot be told.
func (o *output) bigrams(ids bool, tokens int64) (b *row.Bigrams, why string) {
	of, parts := row.BigramsOfText, o.pieces
	if ids {
		of, parts = "", o.ids
	}
	switch {
	case len(parts) == 0:
		return nil, "no content came"
	case !ids && len(parts) == 1 && tokens != 1:
		return nil, "all of the output came in one chunk, without its token ids"
	}
	b = &row.Bigrams{All: int64(len(parts) - 1), Of: of}
	for i := range b.All {
		parts[i] = parts[i]*fnvPrime ^ parts[i+1] // of two token ids no other pair's
	}
	parts = parts[:b.All]
	slices.Sort(parts)
	b.Distinct = int64(len(slices.Compact(parts)))
	return b, ""
}
