package loadgen

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Connections that a ring stamps are read at beats: often enough that the kernel
// acknowledges what came before the other side wonders, and seldom enough that one
// wake-up serves many. Few streams have a shorter beat, so that an end is seen sooner.
const (
	longestBeat   = 50 * time.Millisecond
	shortestBeat  = 5 * time.Millisecond
	beatPerStream = 100 * time.Microsecond
)

// loop is the one thread that owns all connections of a run: it writes requests when they
// are due, reads what came, and keeps it.
type loop struct {
	r       *runner
	poll    *poller
	pace    pacer
	store   store
	streams []*stream
	active  []*stream // with a request on its way
	records []*record
	freed   []freed
	again   []*stream // that have more to read
	buf     []byte

	lazy   bool // connections are read at beats, and not as soon as something comes
	hasty  bool // something waits for the end of each request
	fewest float64
	beat   int64
	next   int64   // when the next beat is due
	late   []int64 // how late each beat was, in ns

	now      int64 // about, for what need not be exact
	started  int64 // when the clock did
	ended    int64
	cpu      int64 // of the process meanwhile, in ns
	halted   bool  // no request may begin
	tooMuch  bool  // halted since the answers take too much memory
	finished bool  // halted since nothing timed was left
	reads    int64
	total    int64 // bytes that the answers take, put aside or not
	dials    sync.WaitGroup
	slots    chan struct{} // of connections being opened
	opened   atomic.Int64
	lateOnes int64 // connections opened after the clock started

	told told

	mu    sync.Mutex
	inbox []func()
	shut  bool
}

// told is what others are told during the run.
type told struct {
	chunks, done, failed int64
	firsts, waited       int64 // answers that have begun, and how long they were waited for in ns
	gaps, between        int64 // chunks after the first of an answer, and the ns between them
}

// freed is a stream whose request has ended.
type freed struct {
	s *stream
	q *request
}

// pacer decides when requests go. The loop calls it and nobody else.
type pacer interface {
	// start begins the load.
	start()
	// free says that a stream's request has ended.
	free(s *stream, q *request)
	// due is when tick wants to be called, never before that; 0: not at all.
	due() int64
	tick(now int64)
	// stop lets no further request begin but those that keep the streams full.
	stop()
	// over says that no further request will begin by itself, once none is under way.
	over() bool
	// gaveUp says what of the load was left out since the server failed, or "".
	gaveUp() string
}

// run carries the load out.
func (l *loop) run() {
	// The thread is this goroutine's own and ends with it. Where that is allowed, it goes
	// before others: what is due is due whatever else runs, and it takes little time.
	runtime.LockOSThread()
	if !goFirst() {
		goSoon()
	}
	before := cpuTime()
	l.started = Now()
	l.now = l.started
	l.next = l.started + l.beat
	l.pace.start()
	for l.serve(); !l.over(); l.serve() {
		until := l.next
		if due := l.pace.due(); due != 0 && !l.halted {
			until = min(until, due)
		}
		again := l.again
		if l.again = nil; again != nil {
			until = l.started
		}
		l.poll.wait(until, l.ready)
		for _, s := range again {
			l.ready(s)
		}
		l.mail()
		l.tick()
		if l.now = Now(); l.now >= l.next {
			l.late = append(l.late, l.now-l.next)
			l.sweep()
			l.next += l.beat
			if l.now = Now(); l.next <= l.now {
				l.next = l.now + l.beat/4
			}
		}
	}
	l.ended = Now()
	l.cpu = cpuTime() - before
	l.mu.Lock()
	l.shut = true
	l.mu.Unlock()
	l.mail()
}

// ready has a stream read and write what it can.
func (l *loop) ready(s *stream) {
	if s.conn != nil {
		l.now = Now()
		s.ready()
		l.serve()
	}
}

// tick lets the pacer send what is due.
func (l *loop) tick() {
	due := l.pace.due()
	if due == 0 || l.halted {
		return
	}
	if now := Now(); now >= due {
		l.pace.tick(now)
		l.serve()
	}
}

// serve hands streams whose requests have ended to the pacer.
func (l *loop) serve() {
	for len(l.freed) > 0 {
		f := l.freed[0]
		l.freed = l.freed[1:]
		l.pace.free(f.s, f.q)
	}
	l.freed = l.freed[:0]
}

// sweep reads all connections that have a request under way, and ends what takes too long.
func (l *loop) sweep() {
	total, idle := l.r.spec.Timeout, l.r.spec.Idle
	// From the end: one that ends gives its place to the last.
	for i := len(l.active) - 1; i >= 0; i-- {
		if i >= len(l.active) {
			continue
		}
		s := l.active[i]
		if l.lazy {
			s.receive()
		}
		if i < len(l.active) && l.active[i] == s {
			s.overdue(l.now, total, idle)
		}
		l.serve()
		l.tick()
	}
	l.weigh()
}

// over says whether the load has ended.
func (l *loop) over() bool {
	if len(l.active) > 0 {
		return false
	}
	for _, s := range l.streams {
		if s.q != nil {
			return false // it waits for its connection
		}
	}
	return l.halted || l.pace.over()
}

func (l *loop) activate(s *stream) {
	s.place = len(l.active)
	l.active = append(l.active, s)
}

func (l *loop) deactivate(s *stream) {
	if s.place >= len(l.active) || l.active[s.place] != s {
		return // it never went
	}
	last := len(l.active) - 1
	l.active[s.place] = l.active[last]
	l.active[s.place].place = s.place
	l.active[last] = nil
	l.active = l.active[:last]
}

// halt ends all requests under way, in words, and lets none begin.
func (l *loop) halt(why string) {
	l.halted = true
	for _, s := range l.streams {
		if s.q != nil {
			s.end(why)
		}
	}
}

// finish does so once nothing timed is left.
func (l *loop) finish() {
	if !l.halted {
		l.finished = true
		l.halt("ended by us: the last timed request had ended")
	}
}

// post has the loop call f; false once the loop has ended.
func (l *loop) post(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return false
	}
	l.inbox = append(l.inbox, f)
	l.poll.ring()
	return true
}

// mail calls what was posted.
func (l *loop) mail() {
	l.mu.Lock()
	inbox := l.inbox
	l.inbox = nil
	l.mu.Unlock()
	for _, f := range inbox {
		f()
		l.serve()
	}
}

// dial opens a connection beside the loop, which then calls then.
func (l *loop) dial(then func(*conn, error)) {
	l.lateOnes++
	l.dials.Go(func() {
		c, err := l.connect()
		posted := l.post(func() { then(c, err) })
		if !posted && c != nil {
			c.transport.Close()
		}
	})
}

// pull takes the next request from those that are built; nil when none is ready now.
// more is false once there will be none.
func (l *loop) pull() (q *request, more bool) {
	select {
	case q, more = <-l.r.queue:
		return q, more
	default:
		return nil, true
	}
}

// weigh ends the run when its answers take more than they may.
func (l *loop) weigh() {
	if len(l.late)%64 == 1 {
		l.r.pace()
	}
	if l.total <= l.r.mayHold() || l.halted {
		return
	}
	l.tooMuch = true
	l.halt("the answers of this run passed " + itoa(int(l.r.mayHold()>>20)) + " MiB together")
}

// watch tells the loop of the ends that come from outside, and others of its progress.
// The function it returns stops it.
func (l *loop) watch(ctx context.Context) (stop func()) {
	quit, said := make(chan struct{}), make(chan Progress, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(250 * time.Millisecond)
		defer t.Stop()
		done, gently := ctx.Done(), l.r.spec.Stop
		for {
			select {
			case <-quit:
				return
			case <-gently:
				gently = nil
				l.post(l.pace.stop)
			case <-done:
				done = nil
				l.post(func() { l.halt("interrupted") })
			case <-t.C:
				if l.r.spec.Progress == nil || !l.post(func() { said <- l.progress() }) {
					continue
				}
				select {
				case p := <-said:
					l.r.spec.Progress(p)
				case <-quit:
					return
				}
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

// progress says how far the run has come.
func (l *loop) progress() Progress {
	t := &l.told
	p := Progress{Chunks: t.chunks, Done: int(t.done), Failed: int(t.failed), Planned: l.r.planned()}
	if t.firsts > 0 {
		p.First = time.Duration(t.waited / t.firsts)
	}
	if t.gaps > 0 {
		p.Gap = time.Duration(t.between / t.gaps)
	}
	return p
}

// connect opens a connection, not too many at once.
func (l *loop) connect() (*conn, error) {
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	c, err := l.r.dialer.dial(l.r.ctx)
	if err == nil {
		l.opened.Add(1)
	}
	return c, err
}

// dialAll opens every stream's connection before the clock starts. The first shows which
// address answers.
func (l *loop) dialAll() error {
	open := func(s *stream) (err error) {
		s.conn, err = l.connect()
		return err
	}
	if err := open(l.streams[0]); err != nil {
		return err
	}
	l.r.dialer.settled(l.r.ctx, l.streams[0].conn)
	errs := make([]error, len(l.streams))
	var wg sync.WaitGroup
	for i, s := range l.streams[1:] {
		wg.Go(func() { errs[i] = open(s) })
	}
	wg.Wait()
	failed := 0
	var why error
	for _, err := range errs {
		if err != nil {
			failed++
			why = err
		}
	}
	if failed > 0 {
		return errors.New(itoa(failed) + " of " + itoa(len(l.streams)) + " connections could not be opened: " + why.Error())
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }
