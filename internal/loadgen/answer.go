package loadgen

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
)

// answer is what came back for one request. A framing fills it: status and header once,
// then chunk for each chunk of the transfer coding (or frame of data) as it begins and
// take for its bytes as they come.
type answer struct {
	status int
	header http.Header
	head   int // memory of the header

	body   []byte // all of it, or what follows the parts that were put aside
	parts  []part
	size   int64 // of the whole body
	chunks int64
	full   int64 // chunks that are large enough to hold an event
	marks  marks
	limit  limit
	said   []byte // the beginning of a refusal
}

// limit is what an answer may take; zeros bound nothing.
type limit struct {
	bytes  int // of memory or of the file
	chunks int64
}

// An answer may bring so many chunks for each token asked for, and some beside; fewer
// than eventSize bytes hold no event with a token, and count as none.
const (
	chunksPerToken = 4
	chunksBeside   = 1024
	eventSize      = 32
)

// Memory that an answer may take whatever was asked, and for each token asked for.
const (
	leastLimit    = 64 << 20
	limitPerToken = 1 << 10
)

// headFactor is how many times its bytes a head takes once it is read.
const headFactor = 16

// MostChunks is how many chunks an answer of osl tokens may bring.
func MostChunks(osl int64) int64 { return chunksPerToken*osl + chunksBeside }

// limitOf is what the answer to a call may take.
func limitOf(c *Call) limit {
	return limit{bytes: int(max(leastLimit, limitPerToken*c.OSL, c.Bytes)), chunks: MostChunks(c.OSL)}
}

// held is what it takes, in memory and put aside.
func (a *answer) held() int64 { return a.size + int64(len(a.marks.packed)+a.head) }

// inMemory is what of it is not put aside.
func (a *answer) inMemory() int64 { return int64(len(a.body) + len(a.marks.packed)) }

// reset makes a ready for another answer of about the last one's size, of which it keeps
// the buffers.
func (a *answer) reset(c *Call) {
	*a = answer{body: a.body[:0], marks: marks{packed: a.marks.packed[:0]}, limit: limitOf(c)}
}

// begin takes status and header, of so many bytes.
func (a *answer) begin(status int, header http.Header, bytes int) {
	a.status, a.header, a.head = status, header, headFactor*bytes
}

// chunk counts one that is to bring n bytes.
func (a *answer) chunk(n int64) {
	a.chunks++
	if n >= eventSize {
		a.full++
	}
}

// take appends body bytes that ended at the raw offset end; framed says that they are of
// one chunk. It returns in which way too much came, or nil.
func (a *answer) take(p []byte, end int64, from arrival, framed bool) error {
	a.body = append(a.body, p...)
	if a.status != 200 && len(a.said) < mostSaid {
		a.said = append(a.said, p[:min(len(p), mostSaid-len(a.said))]...)
	}
	a.size += int64(len(p))
	a.marks.add(len(p), end, from, framed)
	return a.excess()
}

// excess says in which way too much came, and lets go of it then.
func (a *answer) excess() error {
	var why string
	switch {
	case a.limit.bytes > 0 && a.held() > int64(a.limit.bytes):
		why = "the answer passed " + strconv.Itoa(a.limit.bytes>>20) + " MiB"
	case a.limit.chunks > 0 && a.full > a.limit.chunks:
		why = "the answer passed " + strconv.FormatInt(a.limit.chunks, 10) + " chunks: 4 for each token asked for and 1024 beside"
	default:
		return nil
	}
	a.drop()
	return answerError(why)
}

type answerError string

func (e answerError) Error() string { return string(e) }

// mostSaid is how many bytes of a refusal are kept, whatever else is let go.
const mostSaid = 1 << 10

// drop lets go of what came, but for the beginning of a refusal.
func (a *answer) drop() {
	a.body, a.parts, a.marks, a.header, a.head, a.size = bytes.Clone(a.said), nil, marks{}, nil, 0, int64(len(a.said))
}

// release hands over the body and the marks. Buffers that are well used go along with
// them; others are copied and kept.
func (a *answer) release() (body, packed []byte) {
	fit := func(b *[]byte) []byte {
		if 4*len(*b) >= 3*cap(*b) {
			whole := *b
			*b = nil
			return whole
		}
		return bytes.Clone(*b)
	}
	return fit(&a.body), fit(&a.marks.packed)
}

// expect makes room for an answer of so many chunks, going by the ones so far, up to most
// bytes.
func (a *answer) expect(chunks, most int64) {
	if a.chunks > 0 {
		n := min(a.size/a.chunks, 4*limitPerToken) * (chunks + chunks/16)
		a.body = slices.Grow(a.body, int(min(n, most)))
	}
}

// piece is the part of a chunk, or of a body that has none, that one read brought.
type piece struct {
	off    int64 // its end in the body
	raw    int64 // its end among the raw bytes of the connection
	at     int64 // the stamp of the read
	shared bool  // later bytes came in the same read, maybe in a later segment
	framed bool  // it is of one chunk
	sealed bool  // it was of no use before its last raw byte had come
}

// fallback is the read's own stamp where it can be right for this piece.
func (p *piece) fallback() int64 {
	if p.shared || !p.framed {
		return Unstamped
	}
	return p.at
}

// marks are the pieces of one body in few bytes: of each its length and flags, its raw
// end since the one before, and its read's stamp since the one before.
type marks struct {
	packed []byte
	raw    int64 // the last piece's end
	read   int64 // the raw end of the read that brought it
	at     int64 // the latest stamp
}

// Flags of a packed piece, below its length.
const (
	markFramed = 1 << iota
	markSealed
	markSame   // of the same read as the one before
	markBare   // without a stamp
	markBehind // and the read brought more, of another record
	markBits   = iota
)

func (m *marks) add(n int, end int64, from arrival, framed bool) {
	flags := uint64(n) << markBits
	if framed {
		flags |= markFramed
	}
	if from.sealed {
		flags |= markSealed
	}
	if from.behind {
		flags |= markBehind
	}
	switch {
	case len(m.packed) > 0 && m.read == from.end:
		flags |= markSame
	case from.at == Unstamped:
		flags |= markBare
	}
	m.packed = binary.AppendUvarint(m.packed, flags)
	m.packed = binary.AppendUvarint(m.packed, uint64(end-m.raw))
	if flags&(markSame|markBare) == 0 {
		m.packed = binary.AppendVarint(m.packed, from.at-m.at)
		m.at = from.at
	}
	m.raw, m.read = end, from.end
}

// pieces unpacks marks. Two pieces of one read came as more than one segment perhaps, and
// the read has the stamp of the last: the earlier are shared. All of one TLS record came
// with its end.
func pieces(packed []byte) []piece {
	var out []piece
	var p piece
	at := int64(0)
	for len(packed) > 0 {
		flags, n := binary.Uvarint(packed)
		packed = packed[n:]
		raw, n := binary.Uvarint(packed)
		packed = packed[n:]
		p.off += int64(flags >> markBits)
		p.raw += int64(raw)
		p.framed, p.sealed, p.shared = flags&markFramed != 0, flags&markSealed != 0, flags&markBehind != 0
		switch {
		case flags&markSame != 0:
			out[len(out)-1].shared = out[len(out)-1].shared || !p.sealed
		case flags&markBare != 0:
			p.at = Unstamped
		default:
			d, n := binary.Varint(packed)
			packed = packed[n:]
			at += d
			p.at = at
		}
		out = append(out, p)
	}
	return out
}

// stampsOf puts pieces under the stamps of their reads.
func stampsOf(pieces []piece) []Stamp {
	out := make([]Stamp, len(pieces))
	for i, p := range pieces {
		out[i] = Stamp{Off: p.off, At: p.at, Shared: p.shared || !p.framed}
	}
	return out
}
