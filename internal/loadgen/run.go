package loadgen

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rowproof/internal/row"
)

// A stream that fails this often in a row stops, so that a dead server is not
// hammered for the rest of the run.
const giveUpAfter = 3

// A token comes in a chunk of about this size; so many bytes are worth thrift.
const (
	bytesPerToken = 256
	manyBytes     = 64 << 20
)

// runner is one Run under way.
type runner struct {
	spec        Spec
	ctx         context.Context // ends with the run
	dialer      *dialer
	ring        *ring // nil: stamps come with the reads
	workers     []*worker
	head        []byte // of every request, up to its path's end and from there on
	queue       chan *request
	mayHold     int64 // bytes
	thrifty     atomic.Bool
	percent     atomic.Int64 // of garbage to live memory, before thrift
	stopped     atomic.Bool  // no request may begin
	tooMuch     atomic.Bool  // stopped since the answers take too much memory
	finished    atomic.Bool  // stopped since nothing timed was left
	connections atomic.Int64
	done        atomic.Int64

	mu         sync.Mutex // guards the order of requests in sustained
	next       int
	open       int   // timed requests under way
	left       int   // timed requests not ended, with Requests
	firstTimed int64 // when the first was enqueued
	closing    bool  // no more are timed
}

// Run offers one repeat's load and returns what came back. When ctx ends, it returns
// what was captured so far together with ctx's error. An error without a Capture
// means that nothing was measured.
func Run(ctx context.Context, spec Spec) (*Capture, error) {
	if err := validate(&spec); err != nil {
		return nil, err
	}
	d, ring, err := newDialer(spec.Base, spec.Stamps, spec.Concurrency, spec.Insecure, min(spec.Timeout, spec.Connect))
	if err != nil {
		return nil, err
	}
	if ring != nil {
		defer ring.close()
		// One more thread may run Go code, so that the streams never keep the ring from
		// being emptied.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	}
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner{spec: spec, ctx: rctx, dialer: d, ring: ring, head: headOf(&spec), left: spec.Requests}
	for i := range spec.Concurrency {
		r.workers = append(r.workers, &worker{r: r, id: i, buf: make([]byte, readSize)})
	}
	defer func() {
		for _, w := range r.workers {
			w.hangUp()
		}
	}()
	// Requests first: a server closes connections that stand idle for some seconds.
	builder, expected := r.build()
	defer builder.Wait()
	defer r.waste()
	if expected > manyBytes {
		r.thrift()
	}
	defer cancel()
	if err := r.dialAll(); err != nil {
		return nil, err
	}

	unwatch := r.watch(ctx)
	if spec.Protocol == row.Passes {
		r.passes()
	} else {
		r.sustained()
	}
	unwatch()
	if ring != nil {
		ring.close()
	}
	return r.capture(), ctx.Err()
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
	host := s.Base.Host
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

// dialAll opens every stream's connection. The first shows which address answers.
func (r *runner) dialAll() error {
	first := r.workers[0]
	if err := first.dial(r.ctx); err != nil {
		return err
	}
	r.dialer.address = first.conn.RemoteAddr().String()
	errs := make([]error, len(r.workers))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64) // a listen backlog is often 128
	for i, w := range r.workers[1:] {
		wg.Go(func() {
			slots <- struct{}{}
			errs[i] = w.dial(r.ctx)
			<-slots
		})
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
		if len(r.workers) == 1 {
			return errors.New("the connection could not be opened: " + why.Error())
		}
		return errors.New(strconv.Itoa(failed) + " of " + strconv.Itoa(len(r.workers)) + " connections could not be opened: " + why.Error())
	}
	return nil
}

// planned is the number of requests known before the clock starts; 0 with a Duration.
func (r *runner) planned() int {
	s := &r.spec
	if s.Protocol == row.Passes {
		return (s.Warmup + s.Iters) * s.Concurrency
	}
	if s.Requests > 0 {
		return s.Warmup*s.Concurrency + s.Requests
	}
	return 0
}

// build starts building requests in order, and returns once as many are ready as are
// planned or as a bounded amount of memory holds. The rest follow during the run.
// expected is about how many bytes the responses will be.
func (r *runner) build() (wg *sync.WaitGroup, expected int64) {
	const most = 256 << 20
	first := r.request(0)
	room := max(2*r.spec.Concurrency, most/max(1, len(first.wire)))
	ahead := r.planned()
	if ahead == 0 {
		ahead = 4 * r.spec.Concurrency
	}
	ahead = min(ahead, room)
	r.queue = make(chan *request, ahead+r.spec.Concurrency)
	r.mayHold = mayHold(&r.spec, r.planned(), first.call)
	expected = int64(max(ahead, r.planned())) * first.call.OSL * bytesPerToken
	full := make(chan struct{})
	wg = new(sync.WaitGroup)
	wg.Go(func() {
		q := first
		for seq := 1; ; seq++ {
			if seq == ahead {
				close(full)
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
	return wg, expected
}

func (r *runner) request(seq int) *request {
	c := r.spec.Build(seq)
	return &request{seq: seq, call: c, wire: r.wire(c)}
}

// phase is that of an untimed or timed request by its place.
func (r *runner) phase(seq int) string {
	switch {
	case seq == 0 && r.spec.Warmup > 0 && r.spec.Repeat == 0:
		return row.PhaseFirst
	case seq < r.spec.Warmup*r.spec.Concurrency:
		return row.PhaseWarm
	default:
		return row.PhaseTimed
	}
}

// passes sends c requests together, waits for all, and begins again.
func (r *runner) passes() {
	s := &r.spec
	for p := range s.Warmup + s.Iters {
		batch := make([]*request, s.Concurrency)
		for i := range batch {
			select {
			case batch[i] = <-r.queue:
			case <-r.ctx.Done():
				return
			}
			batch[i].phase = r.phase(batch[i].seq)
			batch[i].pass = p - s.Warmup
		}
		var ready, ended sync.WaitGroup
		ready.Add(s.Concurrency)
		start := make(chan struct{})
		var enqueued int64
		for i, w := range r.workers {
			ended.Go(func() {
				w.ready()
				ready.Done()
				<-start
				if r.stopped.Load() {
					return
				}
				batch[i].enqueued = enqueued
				w.do(batch[i])
				r.done.Add(1)
			})
		}
		ready.Wait()
		enqueued = Now()
		close(start)
		ended.Wait()
		failed := 0
		for _, w := range r.workers {
			if w.failures > 0 {
				failed++
			}
		}
		if r.stopped.Load() || failed == s.Concurrency {
			return
		}
	}
}

// sustained keeps c streams full. What is enqueued after the last timed request only
// keeps them so until that one has ended.
func (r *runner) sustained() {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for _, w := range r.workers {
		wg.Go(func() {
			<-start
			for w.failures < giveUpAfter && !r.stopped.Load() {
				if w.conn == nil {
					w.ready()
				}
				q := r.enqueue()
				if q == nil {
					return
				}
				w.do(q)
				r.endedOne(q)
			}
		})
	}
	close(start)
	wg.Wait()
}

// enqueue takes the next request and fixes its phase; nil when the run is over.
func (r *runner) enqueue() *request {
	at := Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.Load() {
		return nil
	}
	phase := r.phase(r.next)
	if phase == row.PhaseTimed {
		if r.firstTimed == 0 {
			r.firstTimed = at
		}
		n := r.next - r.spec.Warmup*r.spec.Concurrency
		if r.spec.Requests > 0 && n >= r.spec.Requests || r.spec.Duration > 0 && at-r.firstTimed > int64(r.spec.Duration) {
			r.closing = true
			phase = row.PhaseDrain
			if r.open == 0 {
				r.finish()
				return nil
			}
		}
	}
	var q *request
	select {
	case q = <-r.queue:
	case <-r.ctx.Done():
		return nil
	}
	r.next++
	if phase == row.PhaseTimed {
		r.open++
	}
	q.phase, q.enqueued = phase, at
	return q
}

func (r *runner) endedOne(q *request) {
	if q.phase != row.PhaseDrain {
		r.done.Add(1)
	}
	if q.phase != row.PhaseTimed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	r.left--
	r.closing = r.closing || r.spec.Requests > 0 && r.left == 0
	if r.closing && r.open == 0 {
		r.finish()
	}
}

// stop lets no further request begin. What is not timed goes on only as long as something
// timed does.
func (r *runner) stop() {
	r.stopped.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	if r.spec.Protocol == row.Sustained && r.open == 0 {
		r.finish()
	}
}

// finish ends what is still under way, once nothing timed is left.
func (r *runner) finish() {
	if r.finished.Swap(true) {
		return
	}
	r.stopped.Store(true)
	for _, w := range r.workers {
		w.end("ended by us: the last timed request had ended")
	}
}

// watch ends requests that take too long, and all of them when ctx does; it also
// tells progress. The function it returns stops it.
func (r *runner) watch(ctx context.Context) (stop func()) {
	quit := make(chan struct{})
	tick := max(time.Millisecond, min(50*time.Millisecond, r.spec.Timeout/4, r.spec.Idle/4))
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(tick)
		defer t.Stop()
		done, stop := ctx.Done(), r.spec.Stop
		told := Now()
		for {
			select {
			case <-quit:
				return
			case <-stop:
				stop = nil
				r.stop()
			case <-done:
				done = nil
				r.stopped.Store(true)
				for _, w := range r.workers {
					w.end("interrupted")
				}
			case <-t.C:
				now := Now()
				r.weigh()
				for _, w := range r.workers {
					w.overdue(now, r.spec.Timeout, r.spec.Idle)
				}
				if r.spec.Progress != nil && now-told >= int64(250*time.Millisecond) {
					told = now
					r.spec.Progress(r.progress())
				}
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

// thrift collects garbage early. What is captured is kept to the end: waiting until as
// much again is garbage would double the memory. A collection costs little: bytes hold
// no pointers.
func (r *runner) thrift() {
	if !r.thrifty.Swap(true) {
		r.percent.Store(int64(debug.SetGCPercent(25)))
	}
}

// waste undoes thrift.
func (r *runner) waste() {
	if r.thrifty.Load() {
		debug.SetGCPercent(int(r.percent.Load()))
	}
}

// leastHeld is the memory that the answers of a run may take together whatever was
// asked; each token asked for allows heldPerToken more.
const (
	leastHeld     = 512 << 20
	heldPerToken  = 4 * bytesPerToken
	heldPerPrompt = 16  // for each token of the prompt: some servers send its ids back
	fastestStream = 200 // tokens a second, for a run whose requests are not counted
)

// mayHold is the memory that the answers of a run may take together, of calls like this.
func mayHold(s *Spec, planned int, c Call) int64 {
	bytes := float64(planned) * float64(c.OSL*heldPerToken+c.ISL*heldPerPrompt)
	if planned == 0 {
		bytes = float64(s.Concurrency) * s.Duration.Seconds() * fastestStream * heldPerToken
	}
	return int64(max(leastHeld, bytes))
}

// weigh ends the run when its answers take more memory than they may.
func (r *runner) weigh() {
	var held int64
	for _, w := range r.workers {
		held += w.held.Load()
	}
	if held > manyBytes {
		r.thrift()
	}
	if held <= r.mayHold || r.tooMuch.Swap(true) {
		return
	}
	r.stopped.Store(true)
	for _, w := range r.workers {
		w.end("the answers of this run passed " + strconv.FormatInt(r.mayHold>>20, 10) + " MiB together")
	}
}

// progress adds up what the streams have brought so far.
func (r *runner) progress() Progress {
	p := Progress{Done: int(r.done.Load()), Planned: r.planned()}
	var firsts, waited, gaps, between int64
	for _, w := range r.workers {
		p.Chunks += w.chunks.Load()
		p.Failed += int(w.failed.Load())
		firsts += w.firsts.Load()
		waited += w.waited.Load()
		gaps += w.gaps.Load()
		between += w.between.Load()
	}
	if firsts > 0 {
		p.First = time.Duration(waited / firsts)
	}
	if gaps > 0 {
		p.Gap = time.Duration(between / gaps)
	}
	return p
}

// capture gathers the streams' outcomes in order, and what the capture says of itself.
func (r *runner) capture() *Capture {
	c := &Capture{Spec: r.spec, NoRing: r.dialer.noRing}
	gaveUp, unseen := 0, 0
	for _, w := range r.workers {
		for i := range w.seen {
			s := &w.seen[i]
			if f := r.ring.flow(s); f != nil {
				w.out[i].Stamps = f.stamps(s.pieces)
			} else {
				w.out[i].Stamps = stampsOf(s.pieces)
				if len(s.pieces) > 0 {
					unseen++
				}
			}
			s.pieces = nil
		}
		c.Outcomes = append(c.Outcomes, w.out...)
		c.Stats.Reads += w.reads
		if w.failures >= giveUpAfter {
			gaveUp++
		}
	}
	slices.SortFunc(c.Outcomes, func(a, b Outcome) int { return a.Seq - b.Seq })
	st := &c.Stats
	st.Repeat = int64(r.spec.Repeat)
	st.Stamps = r.dialer.stamps
	st.ClockSteps = r.dialer.clocks.steps.Load()
	st.Connections = r.connections.Load()
	var lags []int64
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		for _, s := range o.Stamps {
			if s.Shared {
				st.SharedStamps++
			}
			if s.At == Unstamped {
				st.Unstamped++
			}
		}
		if o.Phase == row.PhaseTimed && o.Sent != 0 {
			lags = append(lags, o.Sent-o.Enqueued)
		}
	}
	if len(lags) > 0 {
		slices.Sort(lags)
		i := int(math.Ceil(0.99*float64(len(lags)))) - 1
		st.DispatchP99 = (lags[i] + 500) / 1000
	}
	if unseen > 0 {
		// Address translation on the way, perhaps: the ring sees another port.
		st.Stamps = StampsKernel
		c.Notes = append(c.Notes, "the packet ring did not see the connections of "+strconv.Itoa(unseen)+" of "+strconv.Itoa(len(c.Outcomes))+" requests; they have the kernel's stamp of each read")
	}
	if names := proxiesUnused(r.spec.Base.Hostname()); names != "" {
		c.Notes = append(c.Notes, names+" of the environment was not used: the server itself is measured")
	}
	if r.ring != nil && r.ring.drops > 0 {
		c.Notes = append(c.Notes, "the packet ring dropped "+strconv.FormatInt(r.ring.drops, 10)+" packets")
	}
	if gaveUp > 0 {
		c.Notes = append(c.Notes, strconv.Itoa(gaveUp)+" of "+strconv.Itoa(len(r.workers))+" streams stopped after "+strconv.Itoa(giveUpAfter)+" failures in a row")
	}
	return c
}

// proxiesUnused names what would have sent others through a proxy. Its value may hold
// a password.
func proxiesUnused(host string) string {
	if a, err := netip.ParseAddr(host); host == "localhost" || err == nil && a.IsLoopback() {
		return ""
	}
	var set []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		if os.Getenv(name) != "" || os.Getenv(strings.ToLower(name)) != "" {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}
