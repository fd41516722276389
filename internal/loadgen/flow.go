package loadgen

import (
	"encoding/binary"
	"sort"
)

// segment is a stretch of a connection's incoming bytes and when it arrived:
// CLOCK_MONOTONIC ns, or Unstamped.
type segment struct{ start, end, at int64 }

// flow is what a packet ring saw of one connection, by offset in its incoming bytes.
type flow struct {
	opened int64  // when its SYN-ACK came
	isn    uint32 // the sequence number of offset 0
	hi     int64  // the highest offset seen

	// Nearly all segments begin where the one before ended. They are kept in few bytes:
	// of each its length, what it left out before it, and its stamp since the one before.
	packed []byte
	end    int64 // of the last one packed
	at     int64 // the latest stamp packed

	odd []segment // those sent again, late or early, in the order in which they came
}

const (
	segmentBare  = 1 << iota // without a stamp
	segmentLater             // not at the end of the last one packed
	segmentBits  = iota
)

// add takes in a segment of n bytes. Sequence numbers wrap; offsets do not.
func (f *flow) add(seq uint32, n, at int64) {
	start := f.hi + int64(int32(seq-(f.isn+uint32(f.hi))))
	end := start + n
	before := f.hi
	f.hi = max(f.hi, end)
	if start = max(start, 0); start >= end {
		return
	}
	if start < before {
		f.odd = append(f.odd, segment{start, end, at})
		return
	}
	flags := uint64(n) << segmentBits
	if at == Unstamped {
		flags |= segmentBare
	}
	if start != f.end {
		flags |= segmentLater
	}
	f.packed = binary.AppendUvarint(f.packed, flags)
	if start != f.end {
		f.packed = binary.AppendUvarint(f.packed, uint64(start-f.end))
	}
	if at != Unstamped {
		f.packed = binary.AppendVarint(f.packed, at-f.at)
		f.at = at
	}
	f.end = end
}

// settle orders the segments by offset and lets each byte count once: by its first
// arrival, and not before those in front of it, since bytes behind a hole can't be read.
// A packed segment brought bytes that none before it had, so it goes before the odd ones.
func (f *flow) settle() []segment {
	var out []segment
	var s segment
	at := int64(0)
	for b := f.packed; len(b) > 0; {
		flags, n := binary.Uvarint(b)
		b = b[n:]
		s.start = s.end
		if flags&segmentLater != 0 {
			d, n := binary.Uvarint(b)
			b = b[n:]
			s.start += int64(d)
		}
		s.end = s.start + int64(flags>>segmentBits)
		s.at = Unstamped
		if flags&segmentBare == 0 {
			d, n := binary.Varint(b)
			b = b[n:]
			at += d
			s.at = at
		}
		out = append(out, s)
	}
	for _, s := range f.odd {
		out = insert(out, s)
	}
	latest := int64(0)
	for i := range out {
		if out[i].at == Unstamped {
			continue
		}
		latest = max(latest, out[i].at)
		out[i].at = latest
	}
	return out
}

// insert adds those parts of s that no segment covers yet.
func insert(out []segment, s segment) []segment {
	i := sort.Search(len(out), func(i int) bool { return out[i].end > s.start })
	for s.start < s.end {
		if i == len(out) {
			return append(out, s)
		}
		if s.start < out[i].start {
			part := segment{s.start, min(s.end, out[i].start), s.at}
			out = append(out, segment{})
			copy(out[i+1:], out[i:])
			out[i] = part
			i++
		}
		s.start = max(s.start, out[i].end)
		i++
	}
	return out
}

// stamps puts a response's pieces under the stamps of the settled segments that carried
// them. Where the ring has none, the kernel's stamp of the read serves for the chunk that
// the read ended with; other bytes stay without.
func stamps(segs []segment, pieces []piece) []Stamp {
	out := make([]Stamp, 0, len(pieces))
	put := func(off, at int64) {
		if n := len(out); n > 0 && out[n-1].At == at {
			out[n-1].Off = off
			return
		}
		out = append(out, Stamp{Off: off, At: at})
	}
	var from int64 // in the body
	var i int
	for _, p := range pieces {
		raw := p.raw - (p.off - from) // where the piece begins among the raw bytes
		if p.sealed {
			raw = p.raw - 1
		}
		i += sort.Search(len(segs)-i, func(k int) bool { return segs[i+k].end > raw })
		for j := i; raw < p.raw; j++ {
			if j == len(segs) || segs[j].start >= p.raw {
				put(p.off, p.fallback())
				break
			}
			s := segs[j]
			if s.start > raw {
				put(p.off-(p.raw-s.start), Unstamped)
				raw = s.start
			}
			raw = min(s.end, p.raw)
			put(p.off-(p.raw-raw), s.at)
		}
		from = p.off
	}
	return out
}
