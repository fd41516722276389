package loadgen

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rowproof/internal/row"
)

// A token comes in a chunk of about this size.
const bytesPerToken = 256

// runner is one Run under way.
type runner struct {
	spec                   Spec
	ctx                    context.Context // ends with the run
	dialer                 *dialer
	ring                   *ring // nil: stamps come with the reads
	loop                   *loop
	head                   []byte // of every request, up to its path's end and from there on
	queue                  chan *request
	asked                  atomic.Int64 // bytes that the answers to what was built may take
	percent, percentBefore int          // of garbage to live memory; 0: as it was
	blind                  bool         // there was a ring, and it saw nothing
}

// Run offers one repeat's load and returns what came back. When ctx ends, it returns
// what was captured so far together with ctx's error. An error without a Capture
// means that nothing was measured.
func Run(ctx context.Context, spec Spec) (*Capture, error) {
	if err := validate(&spec); err != nil {
		return nil, err
	}
	d, ring, err := newDialer(&spec)
	if err != nil {
		return nil, err
	}
	if ring != nil {
		defer ring.giveBack()
	}
	// Two more threads may run Go code, so that nothing keeps the loop from its work, nor
	// the ring from being emptied.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2))
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner{spec: spec, ctx: rctx, dialer: d, ring: ring, head: headOf(&spec)}
	if r.loop, err = newLoop(r); err != nil {
		return nil, err
	}
	defer r.loop.close()
	// Requests first: a server closes connections that stand idle for some seconds.
	first := r.request(0)
	if first == nil {
		return nil, errors.New("load: there is no request to send")
	}
	builder := r.build(first)
	defer builder.Wait()
	defer r.unpace()
	defer cancel()
	if err := r.loop.dialAll(); err != nil {
		return nil, err
	}
	r.lookAtRing()
	r.pace()

	steps := d.clocks.steps.Load()
	unwatch := r.loop.watch(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.loop.run()
	}()
	<-done
	unwatch()
	c := r.capture()
	c.Stats.ClockSteps = d.clocks.steps.Load() - steps
	return c, ctx.Err()
}

func newLoop(r *runner) (*loop, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	s := &r.spec
	l := &loop{r: r, poll: poll, store: store{bound: spillAbove}, buf: make([]byte, readSize), fewest: 1}
	l.slots = make(chan struct{}, dialsAtOnce)
	for range s.Concurrency {
		l.addStream()
	}
	l.beat = int64(min(longestBeat, max(shortestBeat, beatPerStream*time.Duration(s.Concurrency))))
	l.beat = min(l.beat, max(int64(time.Millisecond), int64(min(s.Timeout, s.Idle))/4))
	l.lazy = r.ring != nil
	l.hasty = l.lazy && (!s.Open || s.MaxInFlight > 0)
	switch {
	case s.Protocol == row.Passes:
		l.pace = &passes{l: l}
	case s.Open:
		l.pace = &open{l: l, w: newWindow(s, s.Warmup), sessions: map[int]*session{}}
	default:
		l.pace = &closed{l: l, w: newWindow(s, s.Warmup*s.Concurrency)}
	}
	return l, nil
}

func (l *loop) addStream() *stream {
	s := &stream{l: l, id: len(l.streams)}
	l.streams = append(l.streams, s)
	return s
}

// close ends all connections.
func (l *loop) close() {
	l.mu.Lock()
	l.shut = true
	l.mu.Unlock()
	l.dials.Wait()
	for _, s := range l.streams {
		s.hangUp()
	}
	l.poll.close()
}

// lookAtRing makes sure that the ring sees the connections. Address translation on the
// way shows it another port, and then the kernel's stamp of each read serves.
func (r *runner) lookAtRing() {
	if r.ring != nil {
		conns := make([]*conn, len(r.loop.streams))
		for i, s := range r.loop.streams {
			conns[i] = s.conn
		}
		if r.ring.settle(conns); !r.ring.sees(conns) {
			r.blind, r.loop.lazy, r.loop.hasty = true, false, false
			r.dialer.stamps = StampsKernel
			for _, c := range conns {
				_ = c.socket.askKernel() // it worked before
			}
		}
	}
	for _, s := range r.loop.streams {
		s.connected(s.conn)
	}
}

func validate(s *Spec) error {
	var bad []string
	if s.Base == nil || s.Base.Hostname() == "" {
		bad = append(bad, "no base URL with a host")
	}
	if s.Build == nil {
		bad = append(bad, "nothing builds its requests")
	}
	if s.Concurrency < 1 {
		bad = append(bad, "concurrency is "+strconv.Itoa(s.Concurrency)+"; it takes 1 or more")
	}
	if s.MaxInFlight < 0 || s.RingBlocks < 0 {
		bad = append(bad, "requests in flight and ring blocks take 0 or more")
	}
	if s.Open && s.Protocol != row.Sustained {
		bad = append(bad, "an open loop is of the sustained protocol, not of "+strconv.Quote(s.Protocol))
	}
	if s.Warmup < 0 {
		bad = append(bad, "warm-up is "+strconv.Itoa(s.Warmup)+"; it takes 0 or more")
	}
	switch s.Protocol {
	case row.Passes:
		if s.Iters < 1 {
			bad = append(bad, "iterations are "+strconv.Itoa(s.Iters)+"; passes take 1 or more")
		}
	case row.Sustained:
		if (s.Requests > 0) == (s.Duration > 0) {
			bad = append(bad, "sustained takes either a number of requests or a duration")
		}
	default:
		bad = append(bad, "protocol "+strconv.Quote(s.Protocol)+" is unknown; passes and sustained are known")
	}
	for k, vs := range s.Header {
		for _, v := range vs {
			if strings.ContainsAny(k+v, "\r\n\x00") {
				bad = append(bad, "header "+strconv.Quote(k)+" holds a line break") // its value may be a secret
			}
		}
	}
	if s.Timeout <= 0 {
		s.Timeout = time.Hour
	}
	if s.Idle <= 0 {
		s.Idle = 2 * time.Minute
	}
	if s.Connect <= 0 {
		s.Connect = 10 * time.Second
	}
	if bad != nil {
		return errors.New("load: " + strings.Join(bad, "; "))
	}
	return nil
}

// headOf is what every request has after its path.
func headOf(s *Spec) []byte {
	h := http.Header{"User-Agent": {"rowproof"}, "Accept": {"*/*"}, "Content-Type": {"application/json"}}
	if u := s.Base.User; u != nil {
		p, _ := u.Password()
		req := http.Request{Header: h}
		req.SetBasicAuth(u.Username(), p)
	}
	host := authorityOf(s.Base)
	for k, v := range s.Header {
		switch http.CanonicalHeaderKey(k) {
		case "Host":
			host = v[0]
		case "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding":
			// ours to say
		default:
			h[http.CanonicalHeaderKey(k)] = v
		}
	}
	var b strings.Builder
	b.WriteString(" HTTP/1.1\r\nHost: " + host + "\r\n")
	h.Write(&b)
	b.WriteString("Content-Length: ")
	return []byte(b.String())
}

// wire is a request as it is written.
func (r *runner) wire(c Call) []byte {
	path := strings.TrimRight(r.spec.Base.EscapedPath(), "/") + c.Path
	if u, err := url.Parse(path); err == nil {
		path = u.RequestURI()
	}
	n := strconv.Itoa(len(c.Body))
	b := make([]byte, 0, 5+len(path)+len(r.head)+len(n)+4+len(c.Body))
	b = append(b, "POST "...)
	b = append(b, path...)
	b = append(b, r.head...)
	b = append(b, n...)
	b = append(b, "\r\n\r\n"...)
	return append(b, c.Body...)
}

// planned is the number of requests known before the clock starts; 0 with a Duration.
func (r *runner) planned() int {
	s := &r.spec
	if s.Protocol == row.Passes {
		return (s.Warmup + s.Iters) * s.Concurrency
	}
	switch {
	case s.Requests == 0:
		return 0
	case s.Open:
		return s.Warmup + s.Requests
	}
	return s.Warmup*s.Concurrency + s.Requests
}

// build starts building requests in order, and returns once as many are ready as are
// planned or as a bounded amount of memory holds. The rest follow during the run.
func (r *runner) build(first *request) *sync.WaitGroup {
	const most, beside = 64 << 20, 512 // bytes of all, and of one beside what is written
	room := max(2*r.spec.Concurrency, most/(len(first.wire)+beside))
	ahead := r.planned()
	if ahead == 0 {
		ahead = 4 * r.spec.Concurrency
	}
	ahead = min(ahead, room)
	r.queue = make(chan *request, ahead+r.spec.Concurrency)
	full := make(chan struct{})
	wg := new(sync.WaitGroup)
	wg.Go(func() {
		defer close(r.queue)
		q := first
		for seq := 1; ; seq++ {
			if seq == ahead || q == nil && seq < ahead {
				close(full)
			}
			if q == nil {
				return
			}
			select {
			case r.queue <- q:
			case <-r.ctx.Done():
				if seq < ahead {
					close(full)
				}
				return
			}
			if r.spec.Protocol == row.Passes && seq == r.planned() {
				return
			}
			q = r.request(seq)
		}
	})
	<-full
	return wg
}

// request builds one; nil when there are no more.
func (r *runner) request(seq int) *request {
	c := r.spec.Build(seq)
	if c.Path == "" {
		return nil
	}
	r.asked.Add(mayTake(c))
	q := &request{seq: seq, call: c, wire: r.wire(c)}
	q.call.Body = nil
	return q
}

// mayWaste is how much garbage may gather before it is collected. A collection holds up
// the threads that look after connections and ring, so it is to be seldom; and what is
// captured is kept to the end, so waiting until as much again is garbage would double the
// memory.
const mayWaste = 16 << 20

// pace sets the collector's pace by the memory that is in use.
func (r *runner) pace() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int(min(1000, max(10, 100*mayWaste/max(1, live[0].Value.Uint64()))))
	if 4*percent > 3*r.percent && 4*percent < 5*r.percent {
		return
	}
	if was := debug.SetGCPercent(percent); r.percent == 0 {
		r.percentBefore = was
	}
	r.percent = percent
}

// unpace leaves the collector as it was.
func (r *runner) unpace() {
	if r.percent != 0 {
		debug.SetGCPercent(r.percentBefore)
	}
}

// leastHeld is the memory that the answers of a run may take together whatever was
// asked; each token asked for allows heldPerToken more.
const (
	leastHeld     = 512 << 20
	heldPerToken  = 4 * bytesPerToken
	heldPerPrompt = 16 // for each token of the prompt: some servers send its ids back
)

// mayTake is how many bytes the answer to a call may take. Of a prompt in words the length
// may not be known; it has hardly more tokens than half its bytes.
func mayTake(c Call) int64 {
	return max(c.OSL*heldPerToken, c.Bytes) + max(c.ISL, int64(len(c.Body))/2)*heldPerPrompt
}

// mayHold is how many bytes the answers of a run may take together: the lengths of its
// requests may differ, so that each adds what it asks for.
func (r *runner) mayHold() int64 { return max(leastHeld, r.asked.Load()) }
