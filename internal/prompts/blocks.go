package prompts

import (
	"crypto/sha256"
	"encoding/binary"
)

// Blocks writes the blocks of a trace's prompts: equal numbers are equal blocks, and two
// numbers differ within their first Lead units, so that neither the whole of a block nor
// a part of it that long stands for another.
type Blocks struct {
	Units
	Seed uint64
}

// numbers is how many blocks a row may have: 2³² over all its repeats.
const numbers = 1 << 32

// Lead is how many units at the head of a block spell its number.
func (b Blocks) Lead() int64 {
	lead, _ := b.room()
	return lead
}

// room is how many numbers so many units can spell.
func (b Blocks) room() (lead, room int64) {
	base := b.Hi - b.Lo
	lead, room = 1, base
	for room < numbers {
		lead, room = lead+1, room*base
	}
	return lead, room
}

// Append appends the first n units of a block.
func (b Blocks) Append(out []int, number, n int64) []int {
	base := b.Hi - b.Lo
	lead, room := b.room()
	lead = min(n, lead)
	// The number in digits of the units, its lowest first, so that blocks which follow each
	// other differ in their very first unit. Another seed counts from elsewhere.
	from := sha256.Sum256([]byte(text(b.Seed) + "/blocks"))
	rest := (number + int64(binary.BigEndian.Uint64(from[:8])%uint64(room))) % room
	for range lead {
		out = append(out, int(b.Lo+rest%base))
		rest /= base
	}
	return b.draw(out, text(b.Seed)+"/block/"+text(uint64(number)), n-lead)
}
