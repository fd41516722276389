package gate

import (
	"cmp"
	"math"
	"slices"

	"rowproof/internal/row"
)

// How far the order of enqueueing may differ from the order of the numbers, and a
// duration from its last request: streams read the clock before they take a number, and
// times are whole µs.
const (
	enqueueSlack  = 10_000
	durationSlack = 2
	idleSlack     = 500_000 // how long a stream may take from an answer to its next request
)

// repeatSamples groups the requests by repeat, each in the order of their numbers.
func (in *Input) repeatSamples() (numbers []int64, groups map[int64][]*row.Sample) {
	groups = map[int64][]*row.Sample{}
	for i := range in.Samples {
		s := &in.Samples[i]
		if groups[s.Repeat] == nil {
			numbers = append(numbers, s.Repeat)
		}
		groups[s.Repeat] = append(groups[s.Repeat], s)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		slices.SortStableFunc(groups[n], func(a, b *row.Sample) int { return cmp.Compare(a.I, b.I) })
	}
	return numbers, groups
}

// phases says which request is not in the phase that its place and the workload give it,
// or "": the phase decides what is counted, so nothing may choose it afterwards.
func (in *Input) phases() string {
	w := &in.Row.Workload
	if !w.OpenLoop() && *w.Load.Concurrency < 1 {
		return ""
	}
	numbers, groups := in.repeatSamples()
	for _, n := range numbers {
		if text := phasesOf(w, n, groups[n]); text != "" {
			return text + " (repeat " + itoa(n) + ")"
		}
	}
	return ""
}

// warmups is how many requests come before the timed ones of a repeat: so many a stream,
// or of an open loop, which has no streams, so many.
func warmups(w *row.Workload) int64 {
	if w.OpenLoop() {
		return w.Warmup
	}
	return w.Warmup * *w.Load.Concurrency
}

func phasesOf(w *row.Workload, repeat int64, group []*row.Sample) string {
	untimed := warmups(w)
	latest := int64(0)
	for at, s := range group {
		i := int64(at)
		switch {
		case s.I != i:
			return "request " + itoa(i) + " is not among the samples, or one number is used twice: they are numbered as they were enqueued, 0, 1, 2 and on"
		case s.Session == 0 && s.Enqueued < latest-enqueueSlack:
			return "request " + itoa(i) + " was enqueued before requests of a lower number"
		}
		if s.Session == 0 {
			latest = max(latest, s.Enqueued) // a session's next request waits for its answer
		}
		want, why := row.PhaseTimed, ""
		switch {
		case i == 0 && repeat == 0 && untimed > 0:
			want, why = row.PhaseFirst, "it is the very first"
		case i < untimed:
			want, why = row.PhaseWarm, "the warm-up takes "+itoa(untimed)
			if s.Phase == row.PhaseRamp && w.Protocol == row.Sustained {
				want = row.PhaseRamp
			}
		case w.Protocol == row.Passes:
			why = "passes time all that follows the warm-up"
		case w.Requests != nil:
			why = itoa(*w.Requests) + " follow the warm-up as timed"
			if i >= untimed+*w.Requests {
				want = row.PhaseDrain
			}
		case w.DurationS != nil:
			since := s.Enqueued - group[untimed].Enqueued
			why = "it was enqueued " + number(float64(since)/1e6) + " s after the first timed one, of " + itoa(*w.DurationS) + " s"
			switch end := *w.DurationS * 1_000_000; {
			case since > end+durationSlack:
				want = row.PhaseDrain
			case since >= end-durationSlack:
				want = s.Phase // too close to tell
			}
		}
		if s.Phase != want {
			return "request " + itoa(i) + " is in phase " + s.Phase + " where " + want + " follows: " + why
		}
		if w.Protocol != row.Passes || want != row.PhaseTimed {
			continue
		}
		if pass := (i - untimed) / *w.Load.Concurrency; s.Pass != pass {
			return "request " + itoa(i) + " is of timed pass " + itoa(s.Pass) + " where its place gives " + itoa(pass)
		}
	}
	switch {
	case w.Protocol != row.Sustained || int64(len(group)) <= untimed:
		return ""
	case w.DurationS == nil && !w.OpenLoop():
		return idleEnd(group)
	case w.DurationS == nil:
		return ""
	case w.OpenLoop():
		return silentEnd(group[untimed:], *w.DurationS)
	}
	return stoppedEarly(group, group[untimed].Enqueued, *w.DurationS)
}

// idleEnd says which stream stood idle before the last timed request had ended, or "":
// requests of the drain keep the streams full until then, so that the last timed ones
// meet the load that the others met.
func idleEnd(group []*row.Sample) string {
	var end int64
	ends := map[int64]int64{}
	for _, s := range group {
		at := ended(s)
		if s.Phase == row.PhaseTimed {
			end = max(end, at)
		}
		if s.Cut() || !s.OK() {
			at = math.MaxInt64 // it ran until we ended it, or failed there
		}
		ends[s.Worker] = max(ends[s.Worker], at)
	}
	for _, worker := range keys64(ends) {
		if idle := end - ends[worker]; idle > idleSlack {
			return "stream " + itoa(worker) + " stood idle for the last " + number(float64(idle)/1e6) + " s before the last timed request ended"
		}
	}
	return ""
}

// silentFor is how many mean gaps an open loop may be silent before its end: of arrivals
// without memory, one row in a million is so for 14.
const silentFor = 20

// silentEnd says that the arrivals of an open loop stopped long before its duration did,
// or "": those that followed are not among the samples.
func silentEnd(group []*row.Sample, duration int64) string {
	first, last := group[0].Enqueued, group[0].Enqueued
	for _, s := range group {
		last = max(last, s.Enqueued)
	}
	rest := duration*1_000_000 - (last - first)
	if n := int64(len(group)) - 1; n > 0 && rest > idleSlack && rest > silentFor*((last-first)/n) {
		return "the last request came " + number(float64(last-first)/1e6) + " s after the first timed one, of " + itoa(duration) + " s"
	}
	return ""
}

// stoppedEarly says which stream ended before the duration did, or "": it would have
// sent another request, which is not among the samples.
func stoppedEarly(group []*row.Sample, first, duration int64) string {
	ends := map[int64]int64{}
	for _, s := range group {
		ends[s.Worker] = max(ends[s.Worker], ended(s))
	}
	for _, worker := range keys64(ends) {
		if since := ends[worker] - first; since < duration*1_000_000-idleSlack {
			return "stream " + itoa(worker) + " ended " + number(float64(since)/1e6) + " s after the first timed request, of " + itoa(duration) + " s"
		}
	}
	return ""
}

func keys64(m map[int64]int64) []int64 {
	out := make([]int64, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
