package rowtest

import (
	"math"
	"strconv"

	"rowproof/internal/row"
)

// traceRate is how many requests a second a trace brings, about.
const traceRate = 8.0

// open plays one repeat of an open loop and tells when it ended: requests come at times
// of their own until the last timed one has ended.
func (r *run) open(now int64) int64 {
	rate := traceRate
	if text := *r.w.Load.RequestRate; text != row.OwnTimes {
		var err error
		rate, err = strconv.ParseFloat(text, 64)
		must(err)
	}
	limit := int64(1) << 40
	if c := r.w.Load.Concurrency; c != nil {
		limit = *c
	}
	gap := func() int64 { return int64(r.e.random.ExpFloat64() * 1e6 / rate) }
	var held []*request
	var free streams
	due, timed := now, int64(0)
	for {
		for timed < *r.w.Requests && due <= now {
			q := r.make(due)
			held = append(held, q)
			due += gap()
		}
		for len(held) > 0 && int64(len(r.waiting)+len(r.running)) < limit {
			q := held[0]
			held = held[1:]
			at := max(q.sample.Enqueued, lastEnd(r, q, limit))
			r.send(q, free.take(at), at)
		}
		if len(r.waiting)+len(r.running) == 0 {
			if timed == *r.w.Requests {
				return now
			}
			now = due
			continue
		}
		before := len(r.finished)
		now = r.turn(now)
		for _, q := range r.finished[before:] {
			free[q.sample.Worker] = now
			if q.sample.Phase == row.PhaseTimed {
				timed++
			}
		}
	}
}

// lastEnd is when the slot that a held request takes came free, 0 where it had one from
// the start.
func lastEnd(r *run, q *request, limit int64) int64 {
	under, last := int64(len(r.waiting)+len(r.running)), int64(0)
	for _, f := range r.finished {
		if f.last > q.sample.Enqueued {
			under++
			last = max(last, f.last)
		}
	}
	if under < limit {
		return 0
	}
	return last
}

// streams are when each came free.
type streams []int64

func (f *streams) take(at int64) int64 {
	for n, since := range *f {
		if since <= at {
			(*f)[n] = math.MaxInt64
			return int64(n)
		}
	}
	*f = append(*f, math.MaxInt64)
	return int64(len(*f)) - 1
}
