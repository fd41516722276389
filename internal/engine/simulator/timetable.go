package simulator

import (
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"
)

// timetable decides when each token leaves and writes it then. All of its state
// belongs to the one thread in run; others reach it through submit and cancel.
//
// Its arithmetic is on the times that are due, never on those that came to pass, so a
// late write delays nothing that follows:
//
//	a prefill starts   when its request has arrived, a slot and blocks are free, and
//	                   fewer than Prefills run (in order of arrival)
//	token 0 is due     Prefill + PrefillPerToken × (isl − cached) after that start
//	token n is due     Gap + GapPerStream × (streams decoding − 1) after token n−1
type timetable struct {
	cfg   Config
	alarm *alarm
	log   chan<- *stream
	count *counters

	mu       sync.Mutex
	arrivals []*stream
	gone     []*stream
	stopping bool
	pending  atomic.Bool // something stands in the three above

	// Only run touches what follows.
	due        dueHeap
	seq        int64
	waiting    []*stream
	stalled    []*stream // by a fault: they hold their slots until their clients leave
	prefilling int
	decoding   int
	running    int
	live       int // blocks
	cache      *prefixCache
}

func newTimetable(cfg Config, log chan<- *stream, count *counters) *timetable {
	return &timetable{cfg: cfg, alarm: newAlarm(), log: log, count: count, cache: newPrefixCache(cfg.CacheBlocks)}
}

// submit hands a stream over; its done closes when its last byte is written.
func (t *timetable) submit(s *stream) {
	t.mu.Lock()
	stopped := t.stopping
	if !stopped {
		t.arrivals = append(t.arrivals, s)
		t.pending.Store(true)
	}
	t.mu.Unlock()
	if stopped {
		s.status = statusStopped
		close(s.done)
		return
	}
	t.alarm.ring()
}

// cancel says that a stream's client has gone.
func (t *timetable) cancel(s *stream) {
	t.mu.Lock()
	t.gone = append(t.gone, s)
	t.pending.Store(true)
	t.mu.Unlock()
	t.alarm.ring()
}

// stop ends run; streams that still run are logged as stopped.
func (t *timetable) stop() {
	t.mu.Lock()
	t.stopping = true
	t.pending.Store(true)
	t.mu.Unlock()
	t.alarm.ring()
}

// run keeps the timetable until stop. It owns its thread.
func (t *timetable) run() {
	t.alarm.own()
	for {
		if t.pending.Load() && t.takeIn() {
			return
		}
		if len(t.due) == 0 {
			t.alarm.wait(-1)
			continue
		}
		if at := t.due[0].at; at > now() {
			t.await(at)
			continue
		}
		d := heap.Pop(&t.due).(due)
		t.issue(d.s, d.at)
	}
}

// A thread that slept for long writes slowly at first: its core is cold, and the way from
// its stamp to the wire blurs by tens of µs. So it wakes a little before it is due, unless
// it has no time to sleep.
const (
	longSleep  = 1_000_000 // ns
	wakeBefore = 80_000
)

// await waits until the time at is due, or until something is pending.
func (t *timetable) await(at int64) {
	if at-now() < longSleep {
		t.alarm.wait(at)
		return
	}
	t.alarm.wait(at - wakeBefore)
	for left := at - now(); left > 0 && left <= wakeBefore && !t.pending.Load(); {
		left = at - now()
	}
}

// takeIn receives arrivals and departures. It returns true when run must end.
func (t *timetable) takeIn() bool {
	t.mu.Lock()
	arrivals, gone, stopping := t.arrivals, t.gone, t.stopping
	t.arrivals, t.gone = nil, nil
	t.pending.Store(false)
	t.mu.Unlock()

	for _, s := range arrivals {
		s.parked = t.running+len(t.waiting) >= t.cfg.MaxRunning
		if s.parked {
			t.count.parked.Add(1)
		}
		t.waiting = append(t.waiting, s)
		t.admit(s.arrived)
	}
	for _, s := range gone {
		if s.ended {
			continue // it ended while its client left
		}
		s.status = statusGone
		if i := slices.Index(t.stalled, s); i >= 0 {
			t.stalled = slices.Delete(t.stalled, i, i+1)
			t.release(s, now())
			continue
		}
		if i := slices.Index(t.waiting, s); i >= 0 {
			t.waiting = slices.Delete(t.waiting, i, i+1)
			t.finish(s)
		}
	}
	t.publish()
	if !stopping {
		return false
	}
	left := slices.Concat(t.waiting, t.stalled)
	for _, d := range t.due {
		left = append(left, d.s)
	}
	for _, s := range left {
		s.status = statusStopped
		t.finish(s)
	}
	return true
}

// admit starts each prefill that may start at the time at.
func (t *timetable) admit(at int64) {
	for t.prefilling < t.cfg.Prefills && len(t.waiting) > 0 && t.running < t.cfg.MaxRunning {
		s := t.waiting[0]
		need := blocks(s.isl + s.osl)
		if t.live+need > t.cfg.CacheBlocks {
			return
		}
		t.waiting = t.waiting[1:]
		t.prefill(s, need, at)
	}
}

// prefill starts one, of a stream that will hold so many blocks.
func (t *timetable) prefill(s *stream, need int, at int64) {
	hit := t.cache.hit(s.chain[:reusable(s.isl)])
	s.cached = hit * BlockTokens
	s.live = need
	t.live += need
	t.running++
	t.prefilling++
	t.count.admitted.Add(int64(reusable(s.isl) * BlockTokens))
	t.count.cached.Add(int64(s.cached))
	t.count.prompt.Add(int64(s.isl))
	t.count.allocs.Add(int64(need - hit))
	first := max(at, s.arrived) + int64(t.cfg.Prefill) + int64(t.cfg.PrefillPerToken)*int64(s.isl-s.cached)
	t.put(s, first)
	if s.out != nil && s.text.chat {
		s.buf = s.text.open(s.buf[:0], s.isl)
		if s.out.write(s.buf) != nil {
			s.status = statusGone
		}
	}
}

// issue writes the stream's next token, due at the time at, and plans the one after.
func (t *timetable) issue(s *stream, at int64) {
	first := s.next == 0
	last := s.next == s.osl-1
	if first {
		t.prefilling--
		t.cache.add(s.chain)
		t.decoding++
	}
	if s.status == "" {
		t.send(s, at)
	}
	if slices.Contains(t.stalled, s) {
		t.admit(at)
		t.publish()
		return // its slot is taken until its client leaves
	}
	if last || s.status != "" {
		if s.status == "" {
			s.status = statusOK
			if s.out != nil {
				s.buf = s.text.end(s.buf[:0], s.isl, s.osl, s.cached)
				if s.out.write(s.buf) != nil {
					s.status = statusGone
				}
			}
		}
		t.release(s, at)
		return
	}
	t.put(s, at+int64(t.cfg.Gap)+int64(t.cfg.GapPerStream)*int64(t.decoding-1))
	if first {
		t.admit(at)
		t.publish()
	}
}

// release ends a stream that decodes and gives its place to the next.
func (t *timetable) release(s *stream, at int64) {
	t.decoding--
	t.running--
	t.live -= s.live
	t.finish(s)
	t.admit(at)
	t.publish()
}

// send writes one token, or holds it back, and notes when.
func (t *timetable) send(s *stream, at int64) {
	n := s.next
	if s.out != nil && s.text.faults != 0 && t.spoil(s, n) {
		return
	}
	s.scheduled = append(s.scheduled, at)
	t.count.generated.Add(1)
	s.next++
	if s.out == nil || s.held(n) {
		return
	}
	s.buf = s.buf[:0]
	from := len(s.sent)
	if from == 0 && !s.text.chat {
		s.buf = s.text.open(s.buf, s.isl)
	}
	s.buf = s.text.tokens(s.buf, from, n, s.isl, s.osl, s.cached)
	if t.write(s, n) != nil {
		s.status = statusGone
		return
	}
	sent := s.out.at
	for i := from; i <= n; i++ {
		s.sent = append(s.sent, sent)
	}
	t.count.late.add(sent - at)
}

// write sends the stream's buffer, whole or, where a fault asks for it, in two parts.
func (t *timetable) write(s *stream, n int) error {
	if !s.text.faults.has(faultSplit) {
		return s.out.write(s.buf)
	}
	cut := 1 + n*7%(len(s.buf)-1)
	if err := s.out.write(s.buf[:cut]); err != nil {
		return err
	}
	return s.out.write(s.buf[cut:])
}

// held says whether token n waits for those after it, to leave with them.
func (s *stream) held(n int) bool {
	last := n == s.osl-1
	return s.text.faults.has(faultBurst) && !last || s.text.faults.has(faultMultiToken) && !last && n%4 != 3
}

// spoil ends an answer in place of its token n where a fault asks for that.
func (t *timetable) spoil(s *stream, n int) bool {
	f := s.text.faults
	half := n == s.osl/2
	s.buf = s.buf[:0]
	if len(s.sent) == 0 && !s.text.chat {
		s.buf = s.text.open(s.buf, s.isl)
	}
	switch {
	case n == 0 && f.has(faultNothing):
		s.buf = append(s.buf, "0\r\n\r\n"...)
	case n == 0 && f.has(faultOnlyDone):
		s.text.usage = false
		s.buf = s.text.end(s.buf, s.isl, s.osl, s.cached)
	case n == 0 && f.has(faultErrorFirst), half && f.has(faultErrorMid|faultErrorField):
		s.buf = s.text.fail(s.buf)
	case half && f.has(faultCut):
		s.buf = s.text.tokens(s.buf, n, n, s.isl, s.osl, s.cached)
		s.buf = s.buf[:len(s.buf)-20]
	case half && f.has(faultStall):
		t.stalled = append(t.stalled, s)
		return true
	default:
		return false
	}
	s.status = statusSpoilt
	if s.out.write(s.buf) != nil {
		s.status = statusGone
	} else if f.has(faultCut) {
		s.out.conn.Close()
	}
	return true
}

// finish lets go of a stream: its truth is written and its connection is free again.
func (t *timetable) finish(s *stream) {
	s.ended = true
	t.count.ended(s.status)
	t.log <- s
	close(s.done)
}

// publish shows the timetable's state in the metrics.
func (t *timetable) publish() {
	t.count.running.Store(int64(t.running))
	t.count.waiting.Store(int64(len(t.waiting)))
	t.count.live.Store(int64(t.live))
	if a := t.count.active(); a > t.count.peak.Load() {
		t.count.peak.Store(a)
	}
}

func (t *timetable) put(s *stream, at int64) {
	t.seq++
	heap.Push(&t.due, due{at, t.seq, s})
}

// due is a token that must leave at a time; seq keeps the order of equal times.
type due struct {
	at, seq int64
	s       *stream
}

type dueHeap []due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	o := *h
	x := o[len(o)-1]
	*h = o[:len(o)-1]
	return x
}
