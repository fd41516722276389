package gate

import (
	"math"
	"slices"
	"strconv"

	"rowproof/internal/row"
)

// How far the arrivals of an open loop may lie from the stated rate: four standard
// deviations of their mean, and the rounding of times. Fewer arrivals tell nothing.
const (
	arrivalsFewest = 20
	arrivalsSigmas = 4
	arrivalsSlack  = 0.01
)

// A closed loop sends the next request as one ends. Arrivals of their own fall within
// followShare of the mean gap after an end as often as that; half of them never do.
const (
	followShare = 0.05
	followMost  = 0.5
	followLimit = 25_000 // µs
)

// offered holds when the requests of an open loop came against the rate that is stated:
// a client that could not keep it, or that waited for answers, offered another load.
func (c *clients) offered() {
	w := &c.in.Row.Workload
	if w.Load.RequestRate == nil || w.Sessions != nil {
		return
	}
	rate, err := strconv.ParseFloat(*w.Load.RequestRate, 64)
	if err != nil || math.IsInf(rate, 0) || !(rate > 0) {
		return // all at once, or times of the trace
	}
	burstiness := 1.0
	if b := w.Load.Burstiness; b != nil {
		if v, err := strconv.ParseFloat(*b, 64); err == nil && v > 0 {
			burstiness = v
		}
	}
	var n, span, follow, all int64
	numbers, groups := c.in.repeatSamples()
	for _, number := range numbers {
		timed := timedOf(groups[number])
		if len(timed) < 2 || slices.ContainsFunc(timed, func(s *row.Sample) bool { return s.Session != 0 }) {
			continue
		}
		n += int64(len(timed)) - 1
		span += timed[len(timed)-1].Enqueued - timed[0].Enqueued
		follow += following(timed, groups[number], min(followLimit, int64(followShare*1e6/rate)))
		all += int64(len(timed))
	}
	if n < arrivalsFewest {
		return
	}
	if span <= 0 {
		c.fail("all requests came at once where "+*w.Load.RequestRate+" a second are stated", "")
		return
	}
	found := float64(n) * 1e6 / float64(span)
	off := arrivalsSlack + arrivalsSigmas/math.Sqrt(float64(burstiness*float64(n)))
	c.show("requests a second, offered", number(found), *w.Load.RequestRate+" ± "+percent(off))
	switch {
	case math.Abs(found/rate-1) > off:
		c.fail(number(found)+" requests a second were offered where "+*w.Load.RequestRate+" are stated", clientMend)
	case float64(follow) > followMost*float64(all):
		c.fail(of(follow, all, "request")+" came just as another ended: a closed loop under the name of a rate", "")
	}
}

// following counts the requests that were enqueued within so many µs after the last
// content of another.
func following(timed, group []*row.Sample, within int64) (n int64) {
	var ends []int64
	for _, s := range group {
		ends = append(ends, ended(s))
	}
	slices.Sort(ends)
	for _, s := range timed {
		i, _ := slices.BinarySearch(ends, s.Enqueued+1)
		if i > 0 && s.Enqueued-ends[i-1] <= within {
			n++
		}
	}
	return n
}
