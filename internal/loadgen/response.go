package loadgen

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// response takes an HTTP/1.1 response apart as it arrives: head, then the body freed
// of its transfer coding, each stretch of it under the stamp of the read that carried
// it. It looks at framing only, never at what the body says.
type response struct {
	status int
	header http.Header
	body   []byte
	pieces []piece

	state  state
	left   int64 // bytes of the chunk or of the body still to come
	line   []byte
	close  bool // the server ends the connection after this response
	chunks int64
	full   int64 // chunks that are large enough to hold an event
	limit  limit

	head        int // memory of the head
	size, count int // bytes and pieces of the response before
}

type state uint8

const (
	inHead state = iota
	inLength
	toClose
	chunkSize
	chunkData
	chunkEnd
	inTrailer
	whole
)

const (
	maxHead   = 64 << 10
	firstRoom = 4 << 10 // for the beginning of a first body, enough to guess the rest by
	maxExpect = 64 << 20
)

// limit is what an answer may take; zeros bound nothing.
type limit struct {
	bytes  int // of memory
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

// MostChunks is how many chunks an answer of osl tokens may bring.
func MostChunks(osl int64) int64 { return chunksPerToken*osl + chunksBeside }

// limitOf is what an answer of osl tokens may take.
func limitOf(osl int64) limit {
	return limit{bytes: int(max(leastLimit, limitPerToken*osl)), chunks: MostChunks(osl)}
}

// held is the memory that what came takes.
func (r *response) held() int { return len(r.body) + pieceSize*len(r.pieces) + r.head }

// room is the memory that is set aside for it.
func (r *response) room() int { return cap(r.body) + pieceSize*cap(r.pieces) + r.head }

// pieceSize is what a piece and its stamp take; a head, read, takes headFactor times its
// bytes.
const (
	pieceSize  = 64
	headFactor = 16
)

// excess says in which way too much came, or "".
func (r *response) excess() string {
	switch {
	case r.limit.bytes > 0 && r.held() > r.limit.bytes:
		return "the answer passed " + strconv.Itoa(r.limit.bytes>>20) + " MiB"
	case r.limit.chunks > 0 && r.full > r.limit.chunks:
		return "the answer passed " + strconv.FormatInt(r.limit.chunks, 10) + " chunks: 4 for each token asked for and 1024 beside"
	}
	return ""
}

// drop lets go of what came.
func (r *response) drop() { r.body, r.pieces, r.header, r.head = nil, nil, nil, 0 }

// piece is the part of a chunk, or of a body that has none, that one read brought.
type piece struct {
	off    int64 // its end in the body
	raw    int64 // its end among the bytes of the connection
	at     int64 // the stamp of the read
	shared bool  // later bytes came in the same read, maybe in a later segment
	framed bool  // it is of one chunk
}

// fallback is the read's own stamp where it can be right for this piece.
func (p *piece) fallback() int64 {
	if p.shared || !p.framed {
		return Unstamped
	}
	return p.at
}

// reset makes r ready for another response of about the last one's size.
func (r *response) reset() {
	body, pieces := r.body[:0], r.pieces[:0]
	if body == nil {
		body = make([]byte, 0, max(firstRoom, r.size+r.size/8))
	}
	if pieces == nil {
		pieces = make([]piece, 0, max(firstRoom/128, r.count+r.count/8))
	}
	*r = response{body: body, pieces: pieces, line: r.line[:0], size: r.size, count: r.count}
}

// expect makes room for a response of so many chunks, going by the ones so far.
func (r *response) expect(chunks int64) {
	if r.size != 0 || r.chunks == 0 {
		return // the one before told
	}
	n := min(int64(len(r.body))/r.chunks, 4*limitPerToken) * (chunks + chunks/16)
	r.body = slices.Grow(r.body, int(min(n, maxExpect)))
	r.pieces = slices.Grow(r.pieces, int(min(chunks+chunks/16, maxExpect/256)))
}

// release hands over what was gathered. Buffers that are well used go along with it;
// others are copied and kept.
func (r *response) release() (body []byte, pieces []piece) {
	r.size, r.count = len(r.body), len(r.pieces)
	if body = r.body; 4*len(body) >= 3*cap(body) {
		r.body = nil
	} else {
		body = bytes.Clone(body)
	}
	if pieces = r.pieces; 4*len(pieces) >= 3*cap(pieces) {
		r.pieces = nil
	} else {
		pieces = slices.Clone(pieces)
	}
	return body, pieces
}

// stampsOf puts pieces under the stamps of their reads.
func stampsOf(pieces []piece) []Stamp {
	out := make([]Stamp, len(pieces))
	for i, p := range pieces {
		out[i] = Stamp{Off: p.off, At: p.at, Shared: p.shared || !p.framed}
	}
	return out
}

// feed takes what one read brought: bytes that begin at offset raw of the connection
// and had arrived by at. It returns how many belonged to the response; once it is
// whole, the rest belong to nobody.
func (r *response) feed(p []byte, raw, at int64) (int, error) {
	i := 0
	fresh := len(r.pieces) // those from here on are of this read
	for i < len(p) && r.state != whole {
		switch r.state {
		case inLength, chunkData:
			n := int(min(r.left, int64(len(p)-i)))
			r.take(p[i:i+n], raw+int64(i+n), at, fresh)
			i += n
			if r.left -= int64(n); r.left == 0 {
				if r.state == inLength {
					r.state = whole
				} else {
					r.state = chunkEnd
				}
			}
		case toClose:
			r.take(p[i:], raw+int64(len(p)), at, fresh)
			i = len(p)
		default:
			n := bytes.IndexByte(p[i:], '\n')
			if n < 0 {
				r.line = append(r.line, p[i:]...)
				i = len(p)
			} else {
				r.line = append(r.line, p[i:i+n+1]...)
				i += n + 1
				if err := r.lineDone(); err != nil {
					return i, err
				}
			}
			if len(r.line) > maxHead {
				return i, errors.New("a head or chunk line of the response passes 64 KiB")
			}
		}
		if why := r.excess(); why != "" {
			r.drop()
			return i, errors.New(why)
		}
	}
	return i, nil
}

// take appends body bytes that end at raw. Two chunks in one read came as more than
// one segment perhaps, and the read has the stamp of the last: the earlier are shared.
func (r *response) take(p []byte, raw, at int64, fresh int) {
	r.body = append(r.body, p...)
	if last := len(r.pieces) - 1; last >= fresh {
		r.pieces[last].shared = true
	}
	r.pieces = append(r.pieces, piece{off: int64(len(r.body)), raw: raw, at: at, framed: r.state == chunkData})
}

// lineDone acts on a complete line of head, chunk size, chunk end or trailer.
func (r *response) lineDone() error {
	if r.state == inHead {
		// The head is kept whole until its blank line.
		head := r.line
		if !bytes.HasSuffix(head, []byte("\n\r\n")) && !bytes.HasSuffix(head, []byte("\n\n")) {
			if len(bytes.TrimRight(head, "\r\n")) == 0 {
				r.line = r.line[:0] // blank lines before a status line are allowed
			}
			return nil
		}
		err := r.parseHead(string(head))
		r.line = r.line[:0]
		return err
	}
	line := bytes.TrimRight(r.line, "\r\n")
	defer func() { r.line = r.line[:0] }()
	switch r.state {
	case chunkSize:
		digits, _, _ := bytes.Cut(line, []byte{';'})
		n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
		if err != nil {
			return errors.New("the response's chunk size is " + strconv.QuoteToASCII(clip(string(line), 40)) + ", not a hexadecimal number")
		}
		r.left = int64(n)
		if n >= eventSize {
			r.full++
		}
		r.state = chunkData
		if n == 0 {
			r.state = inTrailer
		} else {
			r.chunks++
		}
	case chunkEnd:
		if len(line) != 0 {
			return errors.New("a chunk of the response is longer than it said")
		}
		r.state = chunkSize
	case inTrailer:
		if len(line) == 0 {
			r.state = whole
		}
	}
	return nil
}

func (r *response) parseHead(head string) error {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(head, "\r\n", "\n"), "\n"), "\n")
	proto, rest, _ := strings.Cut(lines[0], " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/1.") || err != nil || status < 100 || status > 999 {
		return errors.New("the answer begins with " + strconv.QuoteToASCII(clip(lines[0], 60)) + ", not with an HTTP/1 status line")
	}
	if status < 200 && status != 101 {
		return nil // an interim response: the real one follows
	}
	r.status, r.head = status, headFactor*len(head)
	r.header = make(http.Header, len(lines))
	for _, l := range lines[1:] {
		k, v, ok := strings.Cut(l, ":")
		if !ok {
			return errors.New("a header line of the response has no colon: " + strconv.QuoteToASCII(clip(l, 60)))
		}
		r.header.Add(strings.TrimSpace(k), strings.TrimSpace(v))
	}
	for _, v := range r.header.Values("Connection") {
		r.close = r.close || strings.Contains(strings.ToLower(v), "close")
	}
	if proto == "HTTP/1.0" && !strings.EqualFold(r.header.Get("Connection"), "keep-alive") {
		r.close = true
	}
	if c := r.header.Get("Content-Encoding"); c != "" && !strings.EqualFold(c, "identity") {
		return errors.New("the answer is in content coding " + strconv.QuoteToASCII(clip(c, 40)) + ", which was not asked for")
	}
	length := r.header.Get("Content-Length")
	switch {
	case status == 204 || status == 304:
		r.state = whole
	case strings.EqualFold(r.header.Get("Transfer-Encoding"), "chunked"):
		r.state = chunkSize
	case r.header.Get("Transfer-Encoding") != "":
		return errors.New("the answer is in transfer coding " + strconv.QuoteToASCII(clip(r.header.Get("Transfer-Encoding"), 40)) + "; chunked is known")
	case length != "":
		n, err := strconv.ParseInt(length, 10, 62)
		if err != nil || n < 0 {
			return errors.New("the answer's Content-Length is " + strconv.QuoteToASCII(clip(length, 40)))
		}
		r.left = n
		r.state = inLength
		if n == 0 {
			r.state = whole
		}
	default:
		r.state, r.close = toClose, true
	}
	return nil
}

// ended says what the end of the connection means at this point: "" where the
// response was whole.
func (r *response) ended() string {
	switch r.state {
	case whole, toClose:
		r.state = whole
		return ""
	case inHead:
		if len(r.line) == 0 {
			return "the server closed the connection without an answer"
		}
		return "the server closed the connection inside the response's head"
	default:
		return "the server closed the connection before the response was whole, after " + strconv.Itoa(len(r.body)) + " bytes of body"
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
