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
	n         int64  // of its answer
	prompt    string // its hash
	chain     []uint64
	isl, osl  int
	cached    int
	live      int   // blocks held while it runs
	received  int64 // by the kernel
	arrived   int64 // and then by us
	next      int   // tokens issued so far
	scheduled []int64
	sent      []int64
	parked    bool // it found no free slot
	ended     bool // its line of truth is written
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
	statusSpoilt  = "spoilt"
)

// format is what the chunks of one answer look like.
type format struct {
	chat       bool
	head       string // response line and headers
	lead       string // what each chunk begins with: id, object, time, model
	usage      bool   // a last chunk with usage
	continuous bool   // usage in each chunk
	ids        bool   // token_ids in each chunk
	name       int64  // of the answer, in place of its first word; 0 is none
	faults     Faults
}

// open appends what comes first of all: the headers, and for a chat the chunk that
// names the role, which is not a token.
func (f *format) open(b []byte, isl int) []byte {
	b = append(b, f.head...)
	if !f.chat {
		return b
	}
	return f.event(b, func(b []byte) []byte {
		b = append(b, f.lead...)
		b = append(b, `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
		if f.continuous {
			b = appendUsage(append(b, ','), isl, 0, -1)
		}
		return append(b, '}')
	})
}

// tokens appends the chunk of the tokens from first to last (from 0) of osl.
func (f *format) tokens(b []byte, first, last, isl, osl, cached int) []byte {
	return f.event(b, func(b []byte) []byte {
		b = append(b, f.lead...)
		b = append(b, `"choices":[{"index":0,`...)
		switch {
		case f.chat && f.faults.has(faultReasoning) && last < osl/2:
			b = append(b, `"delta":{"reasoning_content":"`...)
		case f.chat:
			b = append(b, `"delta":{"content":"`...)
		default:
			b = append(b, `"text":"`...)
		}
		for n := first; n <= last; n++ {
			b = f.word(b, n)
		}
		b = append(b, '"')
		if f.chat {
			b = append(b, '}')
		}
		switch {
		case last < osl-1:
			b = append(b, `,"logprobs":null,"finish_reason":null`...)
		case f.faults.has(faultEarlyStop):
			b = append(b, `,"logprobs":null,"finish_reason":"stop","stop_reason":null`...)
		default:
			b = append(b, `,"logprobs":null,"finish_reason":"length","stop_reason":null`...)
		}
		if f.ids {
			b = append(b, `,"token_ids":[`...)
			for n := first; n <= last; n++ {
				if n > first {
					b = append(b, ',')
				}
				b = strconv.AppendInt(b, int64(n), 10)
			}
			b = append(b, ']')
		}
		b = append(b, `}]`...)
		switch {
		case f.faults.has(faultNoUsage):
		case f.usage && f.faults.has(faultUsageLast) && last == osl-1:
			b = f.appendUsage(append(b, ','), isl, osl, cached)
		case f.continuous:
			b = appendUsage(append(b, ','), isl, last+1, -1)
		}
		return append(b, '}')
	})
}

// word appends the text of token n.
func (f *format) word(b []byte, n int) []byte {
	if f.faults.has(faultBlank) && n%3 == 1 {
		return b
	}
	if f.name != 0 && n == 0 {
		return strconv.AppendInt(append(b, " r"...), f.name, 10)
	}
	b = append(b, " w"...)
	if f.faults.has(faultUTF8) {
		b = append(b, "é😀"...)
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// end appends what follows the last token: usage where it was asked for, the end mark,
// and the end of the body.
func (f *format) end(b []byte, isl, osl, cached int) []byte {
	if f.usage && !f.faults.has(faultNoUsage|faultUsageLast) {
		b = f.event(b, func(b []byte) []byte {
			b = append(b, f.lead...)
			b = append(b, `"choices":[],`...)
			b = f.appendUsage(b, isl, osl, cached)
			return append(b, '}')
		})
	}
	if !f.faults.has(faultNoDone) {
		b = f.event(b, func(b []byte) []byte { return append(b, "[DONE]"...) })
	}
	return append(b, "0\r\n\r\n"...)
}

// fail appends an error as an event, and the end of the body.
func (f *format) fail(b []byte) []byte {
	const said = `{"error":{"message":"the engine core died","type":"InternalServerError","param":null,"code":500}}`
	if f.faults.has(faultErrorField) {
		b = chunked(b, func(b []byte) []byte { return append(b, "error: "+said+"\n\n"...) })
	} else {
		b = f.event(b, func(b []byte) []byte { return append(b, said...) })
		b = f.event(b, func(b []byte) []byte { return append(b, "[DONE]"...) })
	}
	return append(b, "0\r\n\r\n"...)
}

// appendUsage appends the final usage as the faults would have it.
func (f *format) appendUsage(b []byte, isl, osl, cached int) []byte {
	if f.faults.has(faultWrongUsage) {
		osl++
	}
	if f.faults.has(faultNoCached) {
		cached = -1
	}
	return appendUsage(b, isl, osl, cached)
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

// event appends one server-sent event as one chunk of the body.
func (f *format) event(b []byte, data func([]byte) []byte) []byte {
	if f.faults != 0 {
		return chunked(b, func(b []byte) []byte { return f.faults.frame(b, data(nil)) })
	}
	return chunked(b, func(b []byte) []byte {
		b = append(b, "data: "...)
		b = data(b)
		return append(b, "\n\n"...)
	})
}

// chunked appends one chunk of a body. Its length has a fixed width, so that it can be
// filled in afterwards.
func chunked(b []byte, content func([]byte) []byte) []byte {
	const digits = "0123456789abcdef"
	at := len(b)
	b = append(b, "00000\r\n"...)
	b = content(b)
	n := len(b) - at - 7
	for i := range 5 {
		b[at+i] = digits[n>>(16-4*i)&15]
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
	at      int64 // when the latest write began
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
	if w.at == 0 {
		w.at = now() // as near to the kernel as can be
	}
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
	w.at = 0
	if w.backlog != nil {
		w.at = now()
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
