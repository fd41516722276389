package simulator

import (
	"net"
	"strconv"
	"sync"
	"syscall"
)

// stream is one request on its way: who asked, what for, and what was written when.
// After it is handed to the timetable only the timetable touches it, until done closes.
type stream struct {
	id        string
	prompt    []uint64
	chain     []uint64
	isl, osl  int
	cached    int
	live      int // blocks held while it runs
	arrived   int64
	next      int // tokens issued so far
	scheduled []int64
	sent      []int64
	parked    bool // it found no free slot
	status    string

	out  *writer // nil: the answer is not streamed
	text *format
	buf  []byte
	done chan struct{}
}

// Ends of a request in the truth log.
const (
	statusOK      = "ok"
	statusGone    = "client gone"
	statusStopped = "server stopped"
)

// format is what the chunks of one answer look like.
type format struct {
	chat       bool
	head       string // response line and headers
	lead       string // what each chunk begins with: id, object, time, model
	usage      bool   // a last chunk with usage
	continuous bool   // usage in each chunk
	ids        bool   // token_ids in each chunk
}

// open appends what comes first of all: the headers, and for a chat the chunk that
// names the role, which is not a token.
func (f *format) open(b []byte, isl int) []byte {
	b = append(b, f.head...)
	if !f.chat {
		return b
	}
	return event(b, func(b []byte) []byte {
		b = append(b, f.lead...)
		b = append(b, `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
		if f.continuous {
			b = appendUsage(append(b, ','), isl, 0, -1)
		}
		return append(b, '}')
	})
}

// token appends the chunk of token n (from 0) of osl.
func (f *format) token(b []byte, n, isl, osl int) []byte {
	return event(b, func(b []byte) []byte {
		b = append(b, f.lead...)
		b = append(b, `"choices":[{"index":0,`...)
		if f.chat {
			b = append(b, `"delta":{"content":" w`...)
			b = strconv.AppendInt(b, int64(n), 10)
			b = append(b, `"}`...)
		} else {
			b = append(b, `"text":" w`...)
			b = strconv.AppendInt(b, int64(n), 10)
			b = append(b, '"')
		}
		if n == osl-1 {
			b = append(b, `,"logprobs":null,"finish_reason":"length","stop_reason":null`...)
		} else {
			b = append(b, `,"logprobs":null,"finish_reason":null`...)
		}
		if f.ids {
			b = append(b, `,"token_ids":[`...)
			b = strconv.AppendInt(b, int64(n), 10)
			b = append(b, ']')
		}
		b = append(b, `}]`...)
		if f.continuous {
			b = appendUsage(append(b, ','), isl, n+1, -1)
		}
		return append(b, '}')
	})
}

// end appends what follows the last token: usage where it was asked for, the end mark,
// and the end of the body.
func (f *format) end(b []byte, isl, osl, cached int) []byte {
	if f.usage {
		b = event(b, func(b []byte) []byte {
			b = append(b, f.lead...)
			b = append(b, `"choices":[],`...)
			b = appendUsage(b, isl, osl, cached)
			return append(b, '}')
		})
	}
	b = event(b, func(b []byte) []byte { return append(b, "[DONE]"...) })
	return append(b, "0\r\n\r\n"...)
}

// appendUsage appends the usage member; cached < 0 leaves the details out.
func appendUsage(b []byte, isl, osl, cached int) []byte {
	b = append(b, `"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(isl), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(isl+osl), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(osl), 10)
	if cached >= 0 {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(cached), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// event appends one server-sent event as one chunk of the body. The chunk's length has
// a fixed width, so that it can be filled in afterwards.
func event(b []byte, data func([]byte) []byte) []byte {
	const digits = "0123456789abcdef"
	at := len(b)
	b = append(b, "0000\r\ndata: "...)
	b = data(b)
	b = append(b, "\n\n"...)
	n := len(b) - at - 6
	for i := range 4 {
		b[at+i] = digits[n>>(12-4*i)&15]
	}
	return append(b, "\r\n"...)
}

// writer writes to a connection at once, from whatever thread calls it. What the
// socket does not take is kept and follows as soon as the client reads again.
type writer struct {
	conn net.Conn
	raw  syscall.RawConn

	now     []byte // what try is to write
	n       int
	err     error
	attempt func(fd uintptr) bool // try, bound once

	mu      sync.Mutex
	backlog []byte
	failed  error
}

func newWriter(conn net.Conn) (*writer, error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, raw: raw}
	w.attempt = w.try
	return w, nil
}

func (w *writer) try(fd uintptr) bool {
	w.n, w.err = syscall.Write(int(fd), w.now)
	return true // never wait here: other streams are due
}

// write returns an error when the connection has failed, now or in the background.
func (w *writer) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if w.backlog != nil {
		w.backlog = append(w.backlog, b...)
		return nil
	}
	for {
		w.now = b
		if err := w.raw.Write(w.attempt); err != nil {
			w.failed = err
			return err
		}
		switch w.err {
		case nil:
			if w.n == len(b) {
				return nil
			}
			b = b[w.n:]
		case syscall.EINTR:
		case syscall.EAGAIN:
			w.backlog = append([]byte{}, b...)
			go w.drain()
			return nil
		default:
			w.failed = w.err
			return w.err
		}
	}
}

// drain writes the backlog, waiting for the client, until there is none.
func (w *writer) drain() {
	for {
		w.mu.Lock()
		b := w.backlog
		if len(b) == 0 {
			w.backlog = nil
			w.mu.Unlock()
			return
		}
		w.backlog = w.backlog[:0:0]
		w.mu.Unlock()
		if _, err := w.conn.Write(b); err != nil {
			w.mu.Lock()
			w.failed, w.backlog = err, nil
			w.mu.Unlock()
			return
		}
	}
}
