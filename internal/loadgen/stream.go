package loadgen

import (
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"rowproof/internal/row"
)

// request is one call with its place in the run.
type request struct {
	seq, pass int
	phase     string
	call      Call
	wire      []byte // as it is written
	enqueued  int64
	slot      int64 // when it was free to go, where it had to wait for another to end; else 0
}

// record is an outcome before the run has ended.
type record struct {
	Outcome
	conn  *conn
	marks []byte
	parts []part // of the body that were put aside
	slot  int64
}

// Once so many chunks have come, the size of an answer can be guessed.
const guessAfter = 8

// So many reads of one connection follow each other; then others have their turn.
const mostReads = 64

// stream carries one request at a time over one warm connection. It belongs to the loop.
type stream struct {
	l        *loop
	id       int
	conn     *conn // nil: none is open
	dialing  bool
	q        *request // under way or waiting for the connection; nil: none is
	rec      *record
	a        answer
	todo     []byte // still to be written
	place    int    // in the loop's active streams, while it is one
	heard    int64  // when body bytes last came; 0 before the first
	failures int    // in a row
}

// fresh says whether the idle connection can carry another request.
func (s *stream) fresh() bool {
	c := s.conn
	for c != nil && !c.framing.spent() {
		n, from, err := c.transport.read(s.l.buf)
		if n > 0 {
			reply, ferr := c.framing.feed(s.l.buf[:n], from)
			if ferr != nil {
				return false
			}
			if len(reply) > 0 {
				s.todo = append(s.todo, reply...)
				if err := s.push(); err != nil {
					return false
				}
			}
		}
		if err == errAgain || err == nil && n < len(s.l.buf) && shortIsLast && c.plain() {
			return !c.framing.spent()
		}
		if err != nil {
			return false
		}
	}
	return false
}

// ensure opens the connection again where the server closed it while it was idle, and
// calls then when that is done or has failed.
func (s *stream) ensure(then func(error)) {
	if s.fresh() {
		then(nil)
		return
	}
	s.hangUp()
	s.dialing = true
	s.l.dial(func(c *conn, err error) {
		s.dialing = false
		if err == nil {
			s.connected(c)
		}
		then(err)
	})
}

// connected takes over a connection.
func (s *stream) connected(c *conn) {
	s.conn, s.todo = c, nil
	if !s.l.lazy {
		s.l.poll.watch(s, true, false)
	}
}

func (s *stream) hangUp() {
	if s.conn == nil {
		return
	}
	s.conn.transport.Close()
	s.conn, s.todo = nil, nil
}

// carry sends a request, over a new connection where there is none. A request is written
// once: where the server closes the connection just then, it has failed.
func (s *stream) carry(q *request) {
	s.q = q
	s.rec = &record{Outcome: Outcome{Seq: q.seq, Worker: s.id, Pass: q.pass, Phase: q.phase, Call: q.call, Enqueued: q.enqueued}, slot: q.slot}
	s.l.records = append(s.l.records, s.rec)
	s.heard = 0
	s.a.reset(&q.call)
	s.ensure(func(err error) {
		switch {
		case s.q != q: // ended meanwhile
		case err != nil:
			s.done(err)
		default:
			s.send()
		}
	})
}

func (s *stream) send() {
	c := s.conn
	s.rec.conn = c
	if out := c.framing.begin(s.q, &s.a); len(s.todo) == 0 {
		s.todo = out
	} else {
		s.todo = append(s.todo, out...)
	}
	s.l.activate(s)
	s.rec.Sent = Now()
	s.flush()
}

// push writes what there is room for.
func (s *stream) push() error {
	for len(s.todo) > 0 {
		n, err := s.conn.transport.write(s.todo)
		s.todo = s.todo[n:]
		if err == errAgain {
			s.l.poll.watch(s, !s.l.lazy, true)
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.todo = nil
	return nil
}

// flush writes on. Where that fails, the answer may have come all the same.
func (s *stream) flush() {
	if err := s.push(); err != nil {
		q := s.q
		s.todo = nil
		if s.receive(); s.q == q {
			s.done(err)
		}
	}
}

// ready is called when the connection can be read or written.
func (s *stream) ready() {
	if len(s.todo) > 0 {
		if s.q != nil {
			s.flush()
		} else if s.push() != nil {
			s.hangUp()
		}
		if s.conn == nil {
			return
		}
		if len(s.todo) == 0 {
			s.l.poll.watch(s, !s.l.lazy, false)
		}
	}
	if s.q != nil {
		s.receive()
	} else if !s.fresh() {
		s.hangUp()
	}
}

// receive takes what the connection has brought.
func (s *stream) receive() {
	l, a := s.l, &s.a
	q, c := s.q, s.conn
	taken := int64(0)
	for reads := 0; ; reads++ {
		if reads == mostReads {
			l.again = append(l.again, s)
			break
		}
		n, from, err := c.transport.read(l.buf)
		if n > 0 {
			l.reads++
			chunks, size, held := a.chunks, a.size, a.held()
			memory := a.inMemory()
			reply, ferr := c.framing.feed(l.buf[:n], from)
			l.total += a.held() - held
			if a.size > size {
				s.hear(a.chunks - chunks)
			}
			if chunks < guessAfter && a.chunks >= guessAfter {
				a.expect(q.call.OSL, spillAbove/int64(len(l.streams)))
			}
			taken += a.chunks - chunks
			l.store.add(a.inMemory() - memory)
			if l.store.full(a) {
				l.store.spill(a)
			}
			if len(reply) > 0 {
				s.todo = append(s.todo, reply...)
				if s.push() != nil {
					s.todo = nil // reading will say why
				}
			}
			if ferr != nil {
				s.done(ferr)
				return
			}
			if c.framing.whole() {
				s.done(nil)
				return
			}
		}
		if err == errAgain || err == nil && n < len(l.buf) && shortIsLast && c.plain() {
			break
		}
		if err != nil {
			s.done(err)
			return
		}
	}
	// One whose last chunks are due is watched, so that the request behind it starts at
	// once.
	if l.hasty && a.chunks+2*taken+2 >= int64(float64(q.call.OSL)*l.fewest) {
		l.poll.watch(s, true, len(s.todo) > 0)
	}
}

// hear notes for those who watch that body bytes came, with so many new chunks.
func (s *stream) hear(chunks int64) {
	now, t := s.l.now, &s.l.told
	if s.heard == 0 {
		t.firsts++
		t.waited += now - s.q.enqueued
	} else {
		t.gaps += chunks
		t.between += now - s.heard
	}
	t.chunks += chunks
	s.heard = now
}

// overdue ends the request under way if it has run out of time.
func (s *stream) overdue(now int64, total, idle time.Duration) {
	switch {
	case now-s.rec.Sent > int64(total):
		s.end("timeout: not whole after " + total.String())
	case s.heard != 0 && now-s.heard > int64(idle):
		s.end("timeout: nothing came for " + idle.String())
	}
}

// end ends the request under way, in words for its outcome.
func (s *stream) end(why string) { s.done(ended(why)) }

// ended is an end that we made ourselves.
type ended string

func (e ended) Error() string { return string(e) }

// done keeps the outcome of the request under way.
func (s *stream) done(err error) {
	l, q, o, a := s.l, s.q, s.rec, &s.a
	o.Ended = Now()
	s.q, s.rec = nil, nil
	q.wire = nil
	l.deactivate(s)
	if err == io.EOF {
		if said := s.conn.framing.ended(); said != "" {
			err = errors.New(said)
		} else {
			err = nil
		}
	}
	if l.tooMuch && err != nil {
		before := a.inMemory()
		a.drop()
		l.store.add(a.inMemory() - before)
	}
	o.HTTPStatus, o.Header = a.status, a.header
	if l.store.spills {
		l.store.spill(a)
	}
	o.parts = a.parts
	o.Body, o.marks = a.release()
	if err != nil {
		o.Err = words(err)
		_, ours := err.(ended)
		o.Cut = ours && q.phase == row.PhaseDrain && l.finished
	}
	if err != nil || s.conn.framing.spent() || len(s.todo) > 0 { // an answer may come before all of its request went
		s.hangUp()
	} else if l.lazy {
		l.poll.watch(s, false, false)
	}
	if (err != nil && !o.Cut) || a.status != 200 {
		s.failures++
		l.told.failed++
	} else {
		s.failures = 0
		if q.call.OSL > 0 {
			l.fewest = min(l.fewest, float64(a.chunks)/float64(q.call.OSL))
		}
	}
	if q.phase != row.PhaseDrain {
		l.told.done++
	}
	l.freed = append(l.freed, freed{s, q})
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
