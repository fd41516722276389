package prompts

import "time"

// Replay is a trace as one repeat of a load: untimed requests with the lengths and shared
// blocks of the trace's first ones, but blocks of their own, and then the trace itself.
type Replay struct {
	trace *Trace
	warm  int
	times *Arrivals // nil: the trace's own
	write Blocks
	space int64           // the first of the numbers of this repeat's blocks, in traces
	came  []time.Duration // when each line came, later turns with what stood before them
	place []int           // its place among the lines that wait for nothing
}

// NewReplay lays a trace out behind warm untimed requests, at the trace's own times, or
// where times is given at those. Repeats of one seed share no block.
func NewReplay(t *Trace, seed uint64, repeat, warm int, units Units, times *Arrivals) *Replay {
	cycles := (warm + len(t.Requests) - 1) / len(t.Requests)
	r := &Replay{trace: t, warm: warm, times: times, write: Blocks{units, seed}, space: int64(repeat * (1 + cycles))}
	latest, first := time.Duration(0), 0
	for i := range t.Requests {
		q := &t.Requests[i]
		r.place = append(r.place, first)
		if q.Turn == 0 {
			latest = q.At
			first++
		}
		r.came = append(r.came, latest)
	}
	return r
}

// Replayed is one request of a replay.
type Replayed struct {
	Input, Output int64
	At, Delay     time.Duration
	Session       int
	Reusable      int64 // prompt tokens that earlier requests of the repeat had at their heads
	line          *TraceRequest
	blocks        int64 // added to the numbers of its blocks
}

// Request is the seq-th of the repeat; ok = false behind the trace's last.
func (r *Replay) Request(seq int) (q Replayed, ok bool) {
	lines := r.trace.Requests
	i := seq - r.warm
	switch {
	case i < 0:
		line, cycle := &lines[seq%len(lines)], int64(seq/len(lines))
		return Replayed{
			Input: line.Input, Output: line.Output, At: r.warmAt(seq), Reusable: line.Reusable,
			line: line, blocks: (r.space + 1 + cycle) * r.trace.Blocks,
		}, true
	case i >= len(lines):
		return Replayed{}, false
	}
	line := &lines[i]
	q = Replayed{
		Input: line.Input, Output: line.Output, Delay: line.Delay, Session: line.Session, Reusable: line.Reusable,
		line: line, blocks: r.space * r.trace.Blocks,
	}
	switch {
	case r.times == nil:
		q.At = r.warmAt(r.warm) + line.At
	case line.Turn == 0:
		q.At = r.times.At(r.warm + r.place[i])
	}
	return q, true
}

// warmAt is when the n-th untimed request comes: as the trace's n-th line did, and with
// more of them than lines over again. The trace itself begins when the next would.
func (r *Replay) warmAt(n int) time.Duration {
	if r.times != nil {
		return r.times.At(n)
	}
	lines := len(r.came)
	round := r.came[lines-1] + r.came[lines-1]/time.Duration(lines)
	return time.Duration(n/lines)*round + r.came[n%lines]
}

// Prompt writes a request's prompt in total units, a block in size of them. The last
// block takes what is left.
func (r *Replay) Prompt(q Replayed, size, total int64) []int {
	out := make([]int, 0, total)
	for i, b := range q.line.Blocks {
		n := total - int64(len(out))
		if i < len(q.line.Blocks)-1 {
			n = min(n, size)
		}
		out = r.write.Append(out, q.blocks+b, n)
	}
	return out
}
