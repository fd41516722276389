package loadgen

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"rowproof/internal/row"
)

// request is one call with its place in the run.
type request struct {
	seq, pass int
	phase     string
	call      Call
	wire      []byte // the whole request as it is written
	enqueued  int64
}

// sighting ties an outcome to what a ring saw of its connection.
type sighting struct {
	port   uint16 // the connection's own
	dialed int64
	pieces []piece
}

// After so many chunks the size of a response can be guessed.
const guessAfter = 8

// A read takes at most this much: dozens of chunks, and small enough that a thousand
// streams fit in a few MB.
const readSize = 16 << 10

// worker is one stream: one warm connection that carries one request at a time.
type worker struct {
	r    *runner
	id   int
	buf  []byte
	resp response
	out  []Outcome
	seen []sighting // of each outcome, where a ring stamps

	heard   atomic.Int64 // when body bytes last came; 0 before the first
	chunks  atomic.Int64 // chunks of body so far
	failed  atomic.Int64 // requests so far
	firsts  atomic.Int64 // answers that have begun, and how long they were waited for in ns
	waited  atomic.Int64
	gaps    atomic.Int64 // chunks after the first of an answer, and the ns between them
	between atomic.Int64
	held    atomic.Int64 // memory that the answers take so far, the one under way among them
	kept    int64        // of those that have ended
	reads   int64

	mu       sync.Mutex // guards what another goroutine ends a request by
	conn     *conn
	since    int64  // when the request under way was sent; 0: none is
	why      string // why we ended it; "" when we did not
	failures int    // in a row
}

func (w *worker) dial(ctx context.Context) error {
	c, err := w.r.dialer.dial(ctx)
	if err != nil {
		return err
	}
	w.r.connections.Add(1)
	w.mu.Lock()
	w.conn = c
	w.mu.Unlock()
	if w.r.stopped.Load() {
		c.SetDeadline(past)
	}
	return nil
}

func (w *worker) hangUp() {
	w.mu.Lock()
	c := w.conn
	w.conn = nil
	w.mu.Unlock()
	if c != nil {
		c.Close()
	}
}

// ready opens the connection again where the server closed it while it was idle.
func (w *worker) ready() {
	if w.conn != nil && !w.conn.fresh() {
		w.hangUp()
	}
	if w.conn == nil {
		w.dial(w.r.ctx) // if this fails, the request says why
	}
}

var past = time.Unix(1, 0)

// end ends the request under way, in words for its outcome.
func (w *worker) end(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == "" {
		w.why = why
	}
	if w.conn != nil {
		w.conn.SetDeadline(past)
	}
}

// overdue ends the request under way if it has run out of time.
func (w *worker) overdue(now int64, total, idle time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since == 0 || w.conn == nil || w.why != "" {
		return
	}
	heard := w.heard.Load()
	switch {
	case now-w.since > int64(total):
		w.why = "timeout: not whole after " + total.String()
	case heard != 0 && now-heard > int64(idle):
		w.why = "timeout: nothing came for " + idle.String()
	default:
		return
	}
	w.conn.SetDeadline(past)
}

// do carries out one request and keeps its outcome.
func (w *worker) do(q *request) *Outcome {
	w.out = append(w.out, Outcome{Seq: q.seq, Worker: w.id, Pass: q.pass, Phase: q.phase, Call: q.call, Enqueued: q.enqueued})
	o := &w.out[len(w.out)-1]
	o.Call.Body = nil

	kept := w.conn != nil
	err := w.exchange(q, o)
	// A server may close a kept connection just as we write to it; no byte of an answer
	// came, so the request is sent once more, over a new one.
	if err != nil && kept && w.resp.state == inHead && len(w.resp.line) == 0 && w.ownEnd() == "" && closedOnUs(err) {
		w.hangUp()
		err = w.exchange(q, o)
	}
	o.Ended = Now()
	q.wire = nil

	w.mu.Lock()
	w.since = 0
	why := w.why
	if !w.r.stopped.Load() {
		w.why = ""
	}
	w.mu.Unlock()

	r := &w.resp
	if err == io.EOF {
		if said := r.ended(); said != "" {
			err = errors.New(said)
		} else {
			err = nil
		}
	}
	if w.r.tooMuch.Load() && err != nil {
		r.drop()
	}
	o.HTTPStatus, o.Header = r.status, r.header
	w.kept += int64(r.held())
	w.held.Store(w.kept)
	body, pieces := r.release()
	o.Body = body
	if w.r.ring == nil {
		o.Stamps = stampsOf(pieces)
	} else {
		s := sighting{pieces: pieces}
		if w.conn != nil {
			s.port, s.dialed = w.conn.port, w.conn.dialed
		}
		w.seen = append(w.seen, s)
	}
	if err != nil {
		o.Err = words(err)
		if why != "" {
			o.Err = why
			o.Cut = q.phase == row.PhaseDrain && w.r.finished.Load()
		}
	}
	if err != nil || r.close || why != "" { // ended by us just as it became whole: the deadline stays on it
		w.hangUp()
	}
	if (err != nil && !o.Cut) || r.status != 200 {
		w.failures++
		w.failed.Add(1)
	} else {
		w.failures = 0
	}
	return o
}

func (w *worker) ownEnd() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// exchange writes the request and reads until the response is whole or fails.
func (w *worker) exchange(q *request, o *Outcome) error {
	w.resp.reset()
	w.resp.limit = limitOf(q.call.OSL)
	if w.conn == nil {
		if err := w.dial(w.r.ctx); err != nil {
			return err
		}
	}
	c := w.conn
	w.heard.Store(0)
	w.mu.Lock()
	w.since = Now()
	w.mu.Unlock()
	o.Sent = Now()
	if _, err := c.Write(q.wire); err != nil {
		return err
	}
	r := &w.resp
	for r.state != whole {
		n, at, err := c.read(w.buf)
		if n > 0 {
			w.reads++
			before, had := r.chunks, len(r.body)
			used, ferr := r.feed(w.buf[:n], c.got, at)
			c.got += int64(n)
			if len(r.body) != had {
				now := Now()
				if last := w.heard.Swap(now); last == 0 {
					w.firsts.Add(1)
					w.waited.Add(now - q.enqueued)
				} else {
					w.gaps.Add(r.chunks - before)
					w.between.Add(now - last)
				}
				w.held.Store(w.kept + int64(r.room()))
			}
			if r.chunks != before {
				w.chunks.Add(r.chunks - before)
				if before < guessAfter && r.chunks >= guessAfter {
					r.expect(q.call.OSL)
				}
			}
			if ferr != nil {
				return ferr
			}
			if used < n {
				r.close = true // bytes that nobody asked for: the connection is of no more use
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closedOnUs tells the errors of a connection that the other side had closed.
func closedOnUs(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// words puts a transport error in words, without the ports that differ each time.
func words(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		verb := op.Op
		if verb == "dial" {
			verb = "connect"
		}
		return verb + ": " + strings.TrimPrefix(op.Err.Error(), verb+": ")
	}
	return err.Error()
}
