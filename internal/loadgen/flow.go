package loadgen

import "sort"

// segment is a stretch of a connection's incoming bytes and when it arrived:
// CLOCK_MONOTONIC ns, or Unstamped.
type segment struct{ start, end, at int64 }

// flow is what a packet ring saw of one connection, by offset in its incoming bytes.
type flow struct {
	opened int64  // when its SYN-ACK came
	isn    uint32 // the sequence number of offset 0
	hi     int64  // the highest offset seen
	segs   []segment
}

// add takes in a segment of n bytes. Sequence numbers wrap; offsets do not.
func (f *flow) add(seq uint32, n, at int64) {
	start := f.hi + int64(int32(seq-(f.isn+uint32(f.hi))))
	end := start + n
	f.hi = max(f.hi, end)
	if start = max(start, 0); start < end {
		f.segs = append(f.segs, segment{start, end, at})
	}
}

// settle orders the segments by offset and lets each byte count once: by its first
// arrival, and not before those in front of it, since bytes behind a hole can't be read.
func (f *flow) settle() {
	out := make([]segment, 0, len(f.segs))
	for _, s := range f.segs {
		if len(out) == 0 || s.start >= out[len(out)-1].end {
			out = append(out, s)
			continue
		}
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
	f.segs = out
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

// stamps puts a response's pieces under the stamps of the segments that carried them.
// Where the ring has none, the kernel's stamp of the read serves for the chunk that the
// read ended with; other bytes stay without.
func (f *flow) stamps(pieces []piece) []Stamp {
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
		i += sort.Search(len(f.segs)-i, func(k int) bool { return f.segs[i+k].end > raw })
		for j := i; raw < p.raw; j++ {
			if j == len(f.segs) || f.segs[j].start >= p.raw {
				put(p.off, p.fallback())
				break
			}
			s := f.segs[j]
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
