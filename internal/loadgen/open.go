package loadgen

import "container/heap"

// open sends each request when its time has come, whatever became of those before it.
type open struct {
	l     *loop
	w     window
	began int64

	head     *request // the next in order; nil: not built yet
	none     bool     // there are no more in order
	retry    int64
	later    laterHeap // of sessions: their times are known
	sessions map[int]*session
	waiting  []*request // enqueued, for another to end
	spare    []*stream
	under    int  // requests that were sent, or are about to be
	failures int  // in a row
	dead     bool // there were so many that the load stopped
}

// session is a conversation: its requests follow each other.
type session struct {
	busy  bool
	ended int64
	queue []*request // behind the one under way
}

func (p *open) start() {
	p.began = Now()
	p.spare = append(p.spare, p.l.streams...)
	p.tick(p.began)
}

// intake takes the next request in order, past those that wait for their session.
func (p *open) intake() {
	for p.head == nil && !p.none {
		q, more := p.l.pull()
		if q == nil {
			if p.none = !more; more {
				p.retry = Now() + untilBuilt
			} else {
				p.retry = 0
			}
			return
		}
		p.retry = 0
		q.enqueued = p.began + int64(q.call.At)
		if q.call.Session == 0 {
			p.head = q
			return
		}
		s := p.sessions[q.call.Session]
		if s == nil {
			s = new(session)
			p.sessions[q.call.Session] = s
			p.l.hasty = p.l.lazy
		}
		if s.busy {
			s.queue = append(s.queue, q)
			continue
		}
		s.busy = true
		p.follow(s, q)
	}
}

// follow plans a session's next request.
func (p *open) follow(s *session, q *request) {
	if s.ended != 0 {
		q.enqueued = max(q.enqueued, s.ended+int64(q.call.Delay))
	}
	heap.Push(&p.later, q)
}

func (p *open) due() int64 {
	at := p.retry
	if p.head != nil {
		at = p.head.enqueued
	}
	if len(p.later) > 0 && (at == 0 || p.later[0].enqueued < at) {
		at = p.later[0].enqueued
	}
	if end := p.w.first + int64(p.w.spec.Duration); p.w.spec.Duration > 0 && p.w.first != 0 && !p.w.closed && (at == 0 || end < at) {
		at = end
	}
	return at
}

func (p *open) tick(now int64) {
	for !p.l.halted {
		p.intake()
		var q *request
		switch {
		case p.head != nil && (len(p.later) == 0 || p.head.enqueued <= p.later[0].enqueued):
			if q = p.head; q.enqueued > now {
				q = nil
			} else {
				p.head = nil
			}
		case len(p.later) > 0 && p.later[0].enqueued <= now:
			q = heap.Pop(&p.later).(*request)
		}
		if q == nil {
			break
		}
		q.phase = p.w.enqueue(q.seq, q.enqueued)
		if p.l.r.spec.MaxInFlight > 0 && p.under >= p.l.r.spec.MaxInFlight {
			p.waiting = append(p.waiting, q)
		} else {
			p.launch(q)
		}
	}
	if d := int64(p.w.spec.Duration); d > 0 && p.w.first != 0 && now >= p.w.first+d {
		p.w.closed = true
	}
	if p.w.over() {
		p.l.finish()
	}
}

// launch sends a request over a spare connection, or over one more.
func (p *open) launch(q *request) {
	var s *stream
	if n := len(p.spare); n > 0 {
		s = p.spare[n-1]
		p.spare = p.spare[:n-1]
	} else {
		s = p.l.addStream()
	}
	p.under++
	s.carry(q)
}

func (p *open) free(s *stream, q *request) {
	p.under--
	p.spare = append(p.spare, s)
	if s.failures > 0 {
		p.failures++
	} else {
		p.failures = 0
	}
	if of := p.sessions[q.call.Session]; of != nil {
		of.ended = Now()
		if of.busy = len(of.queue) > 0; of.busy {
			next := of.queue[0]
			of.queue = of.queue[1:]
			p.follow(of, next)
		}
	}
	switch {
	case p.w.ended(q.phase):
		p.l.finish()
	case p.failures == p.mostFailures():
		p.dead = true
		p.l.halt("ended by us: " + p.gaveUp())
	case len(p.waiting) > 0 && !p.l.halted:
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		next.slot = Now()
		p.launch(next)
	}
}

func (p *open) stop() {
	p.none, p.head, p.later, p.waiting, p.w.closed = true, nil, nil, nil, true
	for _, s := range p.sessions {
		s.queue = nil
	}
	if p.w.open == 0 {
		p.l.finish()
	}
}

func (p *open) over() bool {
	return p.none && p.head == nil && len(p.later) == 0 && len(p.waiting) == 0
}

// mostFailures in a row end the load: a dead server is not hammered.
func (p *open) mostFailures() int { return giveUpAfter * max(10, p.l.r.spec.Concurrency) }

func (p *open) gaveUp() string {
	if !p.dead {
		return ""
	}
	return "the load stopped after " + itoa(p.mostFailures()) + " failures in a row"
}

// laterHeap is ordered by the time at which requests are enqueued.
type laterHeap []*request

func (h laterHeap) Len() int { return len(h) }
func (h laterHeap) Less(i, j int) bool {
	return h[i].enqueued < h[j].enqueued || h[i].enqueued == h[j].enqueued && h[i].seq < h[j].seq
}
func (h laterHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *laterHeap) Push(x any)   { *h = append(*h, x.(*request)) }
func (h *laterHeap) Pop() any {
	o := *h
	x := o[len(o)-1]
	o[len(o)-1] = nil
	*h = o[:len(o)-1]
	return x
}
