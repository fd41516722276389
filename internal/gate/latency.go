package gate

import (
	"cmp"
	"slices"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// servedShare is how much of the server's own time for its requests the client must have
// seen. The client's clock starts before a request arrives and ends after its last token
// was sent, so that it saw all of it; the rest is for what of a request's end an engine
// may count and we do not. Of the rows that are published none saw less than 100.03%.
const servedShare = 0.99

// watchedMost is how long after the last content the server may have been read as under
// load, in µs. The readings come each second and end with the last request: of the rows
// that are published none was read later than 0.25 s after it.
const watchedMost = 5_000_000

// latency holds how long the requests took by the client against how long the server says
// that they took: no client sees an answer before it was made.
func (in *Input) latency() (of *Result, figures []Compared) {
	if served, ok := row.ServedFrom(in.Evidence); ok {
		if saw, ok := in.sawAtMost(served.Requests); ok {
			figures = append(figures, Compared{"time of " + count(served.Requests, "request") + " by the client, at most", number(saw) + " s",
				"at least " + percent(servedShare) + " of " + number(served.Seconds) + " s by the server's own sum"})
			if saw < servedShare*served.Seconds {
				first, second := roofline.NumbersApart(saw, served.Seconds)
				r := fail("the server took "+second+" s for "+count(served.Requests, "request")+" by its own sum, and the client saw "+first+
					" s at most: no answer is seen before it was made, so the samples are not of this server, or not as they came", figures...)
				return &r, nil
			}
		}
	}
	if first, ok := row.FirstServedFrom(in.Evidence); ok {
		if saw, ok := in.sawFirstAtMost(first.Requests); ok {
			figures = append(figures, Compared{"time to the first token of " + count(first.Requests, "request") + " by the client, at most", number(saw) + " s",
				"at least " + percent(servedShare) + " of " + number(first.Seconds) + " s by the server's own sum"})
			if saw < servedShare*first.Seconds {
				second, lower := roofline.NumbersApart(first.Seconds, saw)
				r := fail("the server took "+second+" s to the first tokens of "+count(first.Requests, "request")+" by its own sum, and the client saw "+lower+
					" s at most: no token is seen before it was made, so the samples are not of this server, or not as they came", figures...)
				return &r, nil
			}
		}
	}
	if r := in.answeredRequests(&figures); r != nil {
		return r, nil
	}
	if late, ok := in.watchedPast(); ok && late > watchedMost {
		figures = append(figures, Compared{"the server read under load after the last content", number(float64(late)/1e6) + " s", "at most " + number(watchedMost/1e6) + " s"})
		r := fail("the server was still read as under load "+number(float64(late)/1e6)+" s after the last content of the samples: the load took longer than they say", figures...)
		return &r, nil
	}
	return nil, figures
}

// sawAtMost is the most that the client can have seen of n of its requests, in seconds:
// the longest of those that ran to their end. Where the server counted more, it counted
// some that we ended; it may have gone on with them, for as long as with the longest.
func (in *Input) sawAtMost(n int64) (seconds float64, ok bool) {
	var took []int64
	for i := range in.Samples {
		s := &in.Samples[i]
		if last, stamped := s.LastContent(); stamped && s.OK() && !s.Cut() {
			took = append(took, last-s.Sent)
		}
	}
	return longest(took, n)
}

// sawFirstAtMost is the same of n of its first tokens: where the server counted more, they
// are of requests that we ended before one came.
func (in *Input) sawFirstAtMost(n int64) (seconds float64, ok bool) {
	var waits []int64
	for i := range in.Samples {
		s := &in.Samples[i]
		if first, stamped := s.FirstContent(); stamped {
			waits = append(waits, first-s.Sent)
		}
	}
	return longest(waits, n)
}

// longest sums the n longest of times in µs, in seconds; what lacks counts as the longest.
func longest(times []int64, n int64) (seconds float64, ok bool) {
	if len(times) == 0 {
		return 0, false
	}
	slices.SortFunc(times, func(a, b int64) int { return cmp.Compare(b, a) })
	var us float64
	for _, t := range times[:min(n, int64(len(times)))] {
		us += float64(t)
	}
	us += float64(float64(max(0, n-int64(len(times)))) * float64(times[0]))
	return us / 1e6, true
}

// watchedPast is how long after the last content the last reading under load was, in µs.
// It tells nothing where requests failed: of those nobody knows how long they were
// waited for.
func (in *Input) watchedPast() (us int64, ok bool) {
	if in.Evidence == nil || len(in.Samples) == 0 {
		return 0, false
	}
	var end, last int64
	for i := range in.Samples {
		s := &in.Samples[i]
		if !s.OK() && s.Phase != row.PhaseDrain {
			return 0, false
		}
		end = max(end, ended(s))
	}
	for i := range in.Evidence.Metrics {
		if m := &in.Evidence.Metrics[i]; m.When == row.During {
			last = max(last, m.At)
		}
	}
	return last - end, last > 0
}
