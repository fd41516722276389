package row

import (
	"cmp"
	"slices"
)

// Late is how long after their time the requests of a repeat were sent, in µs; each
// percentile is a lateness that occurred.
type Late struct{ Repeat, P50, P99, Max int64 }

// Dispatch is the lateness of the timed requests, one value a repeat that has any, by
// their enqueued and sent. Where the load has a most of requests under way, those that
// found it reached waited for a slot by rights and are left out.
func Dispatch(w *Workload, samples []Sample) []Late {
	var out []Late
	for _, group := range byRepeat(samples) {
		wait := func(*Sample) bool { return false }
		if c := w.Load.Concurrency; w.OpenLoop() && c != nil {
			wait = waited(group, *c)
		}
		var late []int64
		for _, s := range group {
			if s.Phase == PhaseTimed && s.Sent > 0 && !wait(s) {
				late = append(late, s.Sent-s.Enqueued)
			}
		}
		if len(late) == 0 {
			continue
		}
		slices.Sort(late)
		at := func(permille int) int64 { return late[(len(late)*permille+999)/1000-1] }
		out = append(out, Late{group[0].Repeat, at(500), at(990), at(1000)})
	}
	return out
}

// slotSlack is how long after its last content a request may still hold its slot, in µs.
const slotSlack = 50_000

// waited tells which requests of a repeat found as many before them as may be under way.
func waited(group []*Sample, most int64) func(*Sample) bool {
	var begun, ended []int64
	for _, s := range group {
		begun = append(begun, s.Enqueued)
		ended = append(ended, seenLast(s)+slotSlack)
	}
	slices.Sort(begun)
	slices.Sort(ended)
	return func(s *Sample) bool {
		before, _ := slices.BinarySearch(begun, s.Enqueued+1) // itself among them
		over, _ := slices.BinarySearch(ended, s.Enqueued+1)
		return int64(before-over) > most
	}
}

// seenLast is when a request last was seen.
func seenLast(s *Sample) int64 {
	if at, ok := s.LastContent(); ok {
		return at
	}
	return max(s.Enqueued, s.Sent)
}

// Streams is how many were open at once: the concurrency, or where there is none the most
// requests under way.
func Streams(w *Workload, samples []Sample) int64 {
	if w.Load.Concurrency != nil {
		return *w.Load.Concurrency
	}
	most := int64(1)
	for _, n := range PeakInFlight(samples) {
		most = max(most, n)
	}
	return most
}

// PeakInFlight is the greatest number of requests between enqueued and last content at
// one time, one value a repeat, whatever their phase.
func PeakInFlight(samples []Sample) []int64 {
	return peaks(samples, func(s *Sample) (from, to int64, ok bool) { return s.Enqueued, seenLast(s), true })
}

// PeakStreams is the greatest number of requests that stood between their first and
// their last content at one time, one value a repeat, whatever their phase.
func PeakStreams(samples []Sample) []int64 {
	return peaks(samples, func(s *Sample) (from, to int64, ok bool) {
		from, okFirst := s.FirstContent()
		to, okLast := s.LastContent()
		return from, to, okFirst && okLast
	})
}

func peaks(samples []Sample, of func(*Sample) (from, to int64, ok bool)) []int64 {
	groups := byRepeat(samples)
	out := make([]int64, len(groups))
	for i, group := range groups {
		type edge struct{ at, step int64 }
		edges := make([]edge, 0, 2*len(group))
		for _, s := range group {
			if from, to, ok := of(s); ok {
				edges = append(edges, edge{from, 1}, edge{to, -1})
			}
		}
		// At one moment a stream that begins still meets one that ends.
		slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step)) })
		var now int64
		for _, e := range edges {
			now += e.step
			out[i] = max(out[i], now)
		}
	}
	return out
}
