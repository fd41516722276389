package loadgen

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// http1 takes HTTP/1.1 responses apart as they arrive: head, then the body freed of its
// transfer coding. It looks at framing only, never at what the body says.
type http1 struct {
	a     *answer // of the request under way
	state state
	left  int64 // bytes of the chunk or of the body still to come
	line  []byte
	heads int  // bytes of this response's heads and trailers so far, and of long chunk lines
	close bool // the server ends the connection after this response

	head   []byte // the last one, and what it said: a server hardly varies it
	header http.Header
}

type state uint8

const (
	idle state = iota // before the first request
	inHead
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
	chunkLine = 64 // what a chunk's line may hold without being counted
	readSize  = 64 << 10
)

func (r *http1) begin(q *request, a *answer) []byte {
	r.a, r.state, r.line, r.heads = a, inHead, r.line[:0], 0
	return q.wire
}

func (r *http1) whole() bool { return r.state == whole }

func (r *http1) spent() bool { return r.close }

// feed takes what one read brought. Once the response is whole, the rest belongs to
// nobody, and the connection is of no more use.
func (r *http1) feed(p []byte, from arrival) ([]byte, error) {
	start := from.end - int64(len(p))
	raw := func(i int) int64 {
		if from.sealed {
			return from.end
		}
		return start + int64(i)
	}
	i := 0
	for i < len(p) {
		switch r.state {
		case idle, whole:
			r.close = true
			if i == 0 {
				return nil, errUnasked
			}
			return nil, nil
		case inLength, chunkData:
			n := int(min(r.left, int64(len(p)-i)))
			if err := r.a.take(p[i:i+n], raw(i+n), from, r.state == chunkData); err != nil {
				return nil, err
			}
			i += n
			if r.left -= int64(n); r.left == 0 {
				if r.state == inLength {
					r.state = whole
				} else {
					r.state = chunkEnd
				}
			}
		case toClose:
			if err := r.a.take(p[i:], raw(len(p)), from, false); err != nil {
				return nil, err
			}
			i = len(p)
		default:
			n := bytes.IndexByte(p[i:], '\n') + 1
			ends := n > 0
			if !ends {
				n = len(p) - i
			}
			r.line = append(r.line, p[i:i+n]...)
			i += n
			if r.state == inHead || r.state == inTrailer {
				r.heads += n
			}
			if r.state == inHead {
				if err := r.foreign(ends); err != nil {
					return nil, err
				}
			}
			if len(r.line) > maxHead || r.heads > maxHead {
				return nil, errors.New("a head, trailer or chunk line of the response passes 64 KiB")
			}
			if ends {
				if err := r.lineDone(); err != nil {
					return nil, err
				}
			}
			if err := r.a.excess(); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// foreign refuses an answer in another protocol by its first line, or by enough of it: no
// head may ever end there.
func (r *http1) foreign(ends bool) error {
	const enough = 32
	line := bytes.TrimLeft(r.line, "\r\n")
	if len(line) == 0 || bytes.HasPrefix(line, []byte("HTTP/1.")) || !ends && len(line) < enough {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte{'\n'})
	return noStatusLine(string(bytes.TrimRight(line, "\r")))
}

func noStatusLine(line string) error {
	return errors.New("the answer begins with " + quoted(line, 60) + ", not with an HTTP/1 status line")
}

// lineDone acts on a complete line of head, chunk size, chunk end or trailer.
func (r *http1) lineDone() error {
	if r.state == inHead {
		// The head is kept whole until its blank line.
		head := r.line
		if !bytes.HasSuffix(head, []byte("\n\r\n")) && !bytes.HasSuffix(head, []byte("\n\n")) {
			if len(bytes.TrimRight(head, "\r\n")) == 0 {
				r.line = r.line[:0] // blank lines before a status line are allowed
			}
			return nil
		}
		err := r.parseHead(head)
		r.line = r.line[:0]
		return err
	}
	line := bytes.TrimRight(r.line, "\r\n")
	defer func() { r.line = r.line[:0] }()
	switch r.state {
	case chunkSize:
		r.heads += max(0, len(line)-chunkLine)
		digits, _, _ := bytes.Cut(line, []byte{';'})
		n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
		if err != nil {
			return errors.New("the response's chunk size is " + quoted(string(line), 40) + ", not a hexadecimal number")
		}
		r.left = int64(n)
		r.state = chunkData
		if n == 0 {
			r.state = inTrailer
		} else {
			r.a.chunk(r.left)
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

func (r *http1) parseHead(head []byte) error {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n"), "\n")
	proto, rest, _ := strings.Cut(lines[0], " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/1.") || err != nil || status < 100 || status > 999 {
		return noStatusLine(lines[0])
	}
	switch {
	case status == 101:
		return errors.New("the server switches protocols (101), which it was not asked for")
	case status < 200:
		return nil // an interim response: the real one follows
	}
	if !bytes.Equal(head, r.head) {
		h := make(http.Header, len(lines))
		for _, l := range lines[1:] {
			k, v, ok := strings.Cut(l, ":")
			if !ok {
				return errors.New("a header line of the response has no colon: " + quoted(l, 60))
			}
			h.Add(strings.TrimSpace(k), strings.TrimSpace(v))
		}
		r.head, r.header = slices.Clone(head), h
	}
	r.a.begin(status, r.header, len(head))
	for _, v := range r.header.Values("Connection") {
		r.close = r.close || strings.Contains(strings.ToLower(v), "close")
	}
	if proto == "HTTP/1.0" && !strings.EqualFold(r.header.Get("Connection"), "keep-alive") {
		r.close = true
	}
	if err := identity(r.header); err != nil {
		return err
	}
	coding := strings.Join(r.header.Values("Transfer-Encoding"), ", ")
	lengths := r.header.Values("Content-Length")
	switch {
	case status == 204 || status == 304:
		r.state = whole
	case strings.EqualFold(coding, "chunked"):
		r.state = chunkSize
		r.close = r.close || len(lengths) > 0 // two ways to find its end: what follows is not to be trusted
	case coding != "":
		return errors.New("the answer is in transfer coding " + quoted(coding, 40) + "; chunked is known")
	case len(lengths) > 0:
		n, err := strconv.ParseUint(lengths[0], 10, 62)
		for _, other := range lengths {
			if err != nil || other != lengths[0] {
				return errors.New("the answer's Content-Length is " + quoted(strings.Join(lengths, ", "), 40))
			}
		}
		r.left = int64(n)
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
func (r *http1) ended() string {
	switch r.state {
	case idle, whole:
		return ""
	case toClose:
		r.state = whole
		return ""
	case inHead:
		if len(r.line) == 0 {
			return "the server closed the connection without an answer"
		}
		return "the server closed the connection inside the response's head"
	default:
		return "the server closed the connection before the response was whole, after " + strconv.FormatInt(r.a.size, 10) + " bytes of body"
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// quoted puts a server's words between quotes, cut to n bytes or so once they are quoted,
// so that what was cut ends with a plain mark by which a secret's beginning is known.
func quoted(s string, n int) string {
	q := strconv.QuoteToASCII(s)
	if len(q) <= n+2 {
		return q
	}
	return q[:n+1] + "…\""
}
