package loadgen

import "rowproof/internal/row"

// A stream that fails this often in a row stops, so that a dead server is not hammered
// for the rest of the run.
const giveUpAfter = 3

// untilBuilt is how long to wait for a request that is being built.
const untilBuilt = 200_000

// window tells which requests of a sustained load are timed. Its phases are fixed when
// requests are enqueued.
type window struct {
	spec    *Spec
	untimed int // requests before the timed ones
	first   int64
	open    int // requests under way, but for those that only keep the streams full
	left    int // timed requests not ended, where they are counted
	closed  bool
}

func newWindow(s *Spec, untimed int) window {
	return window{spec: s, untimed: untimed, left: s.Requests}
}

// enqueue fixes the phase of the request with a place in the order, enqueued at a time.
func (w *window) enqueue(seq int, at int64) string {
	phase := phaseOf(w.spec, seq, w.untimed)
	if phase != row.PhaseTimed {
		w.open++
		return phase
	}
	if w.first == 0 {
		w.first = at
	}
	if w.closed || w.spec.Requests > 0 && seq-w.untimed >= w.spec.Requests || w.spec.Duration > 0 && at-w.first > int64(w.spec.Duration) {
		w.closed = true
		return row.PhaseDrain
	}
	w.open++
	return phase
}

// ended says whether nothing is left to wait for: the timed requests have ended, and so
// have those before them, of which one may take longer.
func (w *window) ended(phase string) (last bool) {
	if phase == row.PhaseDrain {
		return false
	}
	w.open--
	if phase == row.PhaseTimed {
		w.left--
		w.closed = w.closed || w.spec.Requests > 0 && w.left == 0
	}
	return w.over()
}

func (w *window) over() bool { return w.closed && w.open == 0 }

// phaseOf is that of an untimed or timed request by its place.
func phaseOf(s *Spec, seq, untimed int) string {
	switch {
	case seq == 0 && untimed > 0 && s.Repeat == 0:
		return row.PhaseFirst
	case seq < untimed:
		return row.PhaseWarm
	default:
		return row.PhaseTimed
	}
}

// passes sends c requests together, waits for all, and begins again.
type passes struct {
	l        *loop
	pass     int // the one under way, warm-up counted
	batch    []*request
	enqueued int64 // when the batch was, while it is being sent
	wait     int   // streams that are not ready, or whose requests have not ended
	done     bool
	retry    int64
}

// sendAtOnce requests go between two looks at what has come, where that is stamped when
// it is read.
const sendAtOnce = 4

func (p *passes) start() { p.gather() }

// gather takes a pass's requests, and opens again those connections that the server
// closed meanwhile.
func (p *passes) gather() {
	c := len(p.l.streams)
	for len(p.batch) < c {
		q, more := p.l.pull()
		if q == nil {
			if p.done = !more; more {
				p.retry = Now() + untilBuilt
			}
			return
		}
		p.batch = append(p.batch, q)
	}
	p.retry = 0
	p.wait = c
	for _, s := range p.l.streams {
		s.ensure(func(error) { // if this fails, the request says why
			if p.wait--; p.wait == 0 && !p.done && !p.l.halted {
				p.wait, p.enqueued = c, Now()
				p.send()
			}
		})
	}
}

// send sends what it may of the batch.
func (p *passes) send() {
	s := &p.l.r.spec
	n := len(p.batch)
	if !p.l.lazy {
		n = min(n, sendAtOnce)
	}
	for _, q := range p.batch[:n] {
		q.phase, q.pass, q.enqueued = phaseOf(s, q.seq, s.Warmup*s.Concurrency), p.pass-s.Warmup, p.enqueued
		p.l.streams[q.seq%s.Concurrency].carry(q)
	}
	if p.batch = p.batch[n:]; len(p.batch) == 0 {
		p.batch, p.enqueued = nil, 0
	}
}

func (p *passes) free(*stream, *request) {
	if p.wait--; p.wait > 0 {
		return
	}
	p.pass++
	failed := 0
	for _, s := range p.l.streams {
		if s.failures > 0 {
			failed++
		}
	}
	if p.done = p.done || failed == len(p.l.streams) || p.pass == p.l.r.spec.Warmup+p.l.r.spec.Iters; !p.done && !p.l.halted {
		p.gather()
	}
}

func (p *passes) due() int64 { return max(p.retry, p.enqueued) }

func (p *passes) tick(int64) {
	if p.enqueued != 0 {
		p.send()
	} else {
		p.gather()
	}
}

func (p *passes) stop() { p.done = true }

func (p *passes) over() bool { return p.done && p.enqueued == 0 }

func (p *passes) gaveUp() string { return "" }

// closed keeps c streams full. What is enqueued after the last timed request only keeps
// them so until that one has ended.
type closed struct {
	l      *loop
	w      window
	hungry []*stream // for which no request is built yet
	retry  int64
	none   bool // there are no more requests
}

func (p *closed) start() {
	for _, s := range p.l.streams {
		p.feed(s)
	}
}

func (p *closed) free(s *stream, q *request) {
	if p.w.ended(q.phase) {
		p.l.finish()
		return
	}
	p.feed(s)
}

// feed gives a stream its next request.
func (p *closed) feed(s *stream) {
	if p.l.halted || p.none || s.failures >= giveUpAfter {
		return
	}
	at := Now()
	q, more := p.l.pull()
	if q == nil {
		if p.none = !more; more {
			p.hungry = append(p.hungry, s)
			p.retry = at + untilBuilt
		}
		return
	}
	q.phase, q.enqueued = p.w.enqueue(q.seq, at), at
	if p.w.over() {
		p.l.finish()
		return
	}
	s.carry(q)
}

func (p *closed) due() int64 { return p.retry }

func (p *closed) tick(int64) {
	hungry := p.hungry
	p.hungry, p.retry = nil, 0
	for _, s := range hungry {
		p.feed(s)
	}
}

func (p *closed) stop() {
	p.none, p.w.closed = true, true
	if p.w.open == 0 {
		p.l.finish()
	}
}

func (p *closed) over() bool { return len(p.hungry) == 0 || p.none }

func (p *closed) gaveUp() string {
	n := 0
	for _, s := range p.l.streams {
		if s.failures >= giveUpAfter {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return itoa(n) + " of " + itoa(len(p.l.streams)) + " streams stopped after " + itoa(giveUpAfter) + " failures in a row"
}
