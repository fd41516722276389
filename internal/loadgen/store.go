package loadgen

import (
	"encoding/binary"
	"fmt"
	"os"
)

// In memory answers may take this much together. From then on they are put aside, those
// under way in parts.
const (
	spillAbove = 16 << 20
	spillPart  = 8 << 10
)

// part is a stretch of a body in the store's file.
type part struct{ at, n int64 }

// store keeps what came: in memory, and beyond a bound in a temporary file that has no
// name. The file goes with the last outcome that needs it. It belongs to the loop.
type store struct {
	bound  int64
	held   int64 // bytes in memory, of answers that have ended and of those under way
	spills bool  // they passed the bound, and are still many
	file   *os.File
	size   int64
	failed error // of the file: from then on all stays in memory
}

// add counts bytes that are held from now on.
func (s *store) add(n int64) {
	s.held += n
	s.spills = s.held > s.bound || s.spills && s.held > s.bound/4
}

// full says whether what came of a so far is to be put aside.
func (s *store) full(a *answer) bool {
	return s.spills && s.failed == nil && len(a.body) >= spillPart
}

// spill puts the body of a so far aside. What cannot be written stays in memory.
func (s *store) spill(a *answer) {
	if len(a.body) == 0 || s.failed != nil {
		return
	}
	if s.file == nil {
		if s.file, s.failed = unnamed(); s.failed != nil {
			return
		}
	}
	n := int64(len(a.body))
	if _, err := s.file.WriteAt(a.body, s.size); err != nil {
		s.failed = err
		return
	}
	if last := len(a.parts) - 1; last >= 0 && a.parts[last].at+a.parts[last].n == s.size {
		a.parts[last].n += n
	} else {
		a.parts = append(a.parts, part{s.size, n})
	}
	s.size += n
	s.held -= n
	a.body = a.body[:0]
}

// unnamed is a file that ends with its descriptor.
func unnamed() (*os.File, error) {
	f, err := os.CreateTemp("", "rowproof-answers-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// aside is an answer that was put aside, whole or but for its end.
type aside struct {
	file   *os.File
	parts  []part
	rest   []byte
	stamps []byte // packed
}

// Load brings the body and the stamps of an answer that was put aside in a file; of any
// other they are there already.
func (o *Outcome) Load() error {
	if o.aside == nil || o.Body != nil {
		return nil
	}
	size := int64(len(o.aside.rest))
	for _, p := range o.aside.parts {
		size += p.n
	}
	body := make([]byte, 0, size)
	for _, p := range o.aside.parts {
		to := body[len(body) : len(body)+int(p.n)]
		if n, err := o.aside.file.ReadAt(to, p.at); err != nil && n < len(to) {
			return fmt.Errorf("the answer to request %d, put aside in a temporary file: %w", o.Seq, err)
		}
		body = body[:len(body)+int(p.n)]
	}
	o.Body = append(body, o.aside.rest...)
	o.Stamps = unpackStamps(o.aside.stamps)
	return nil
}

// Unload lets go of what Load brought.
func (o *Outcome) Unload() {
	if o.aside != nil {
		o.Body, o.Stamps = nil, nil
	}
}

// packStamps writes stamps in few bytes: of each its offset and time since the one
// before.
func packStamps(stamps []Stamp) []byte {
	var b []byte
	var off, at int64
	for _, s := range stamps {
		flags := uint64(s.Off-off) << 2
		if s.Shared {
			flags |= 1
		}
		if s.At == Unstamped {
			b = binary.AppendUvarint(b, flags|2)
		} else {
			b = binary.AppendVarint(binary.AppendUvarint(b, flags), s.At-at)
			at = s.At
		}
		off = s.Off
	}
	return b
}

func unpackStamps(b []byte) []Stamp {
	var out []Stamp
	var s Stamp
	at := int64(0)
	for len(b) > 0 {
		flags, n := binary.Uvarint(b)
		b = b[n:]
		s.Off += int64(flags >> 2)
		s.Shared = flags&1 != 0
		s.At = Unstamped
		if flags&2 == 0 {
			d, n := binary.Varint(b)
			b = b[n:]
			at += d
			s.At = at
		}
		out = append(out, s)
	}
	return out
}
