package gate

import (
	"cmp"
	"slices"

	"rowproof/internal/row"
)

// fewestGaps is how many gaps two runs must share before it says that one is a copy, and
// fewestValues how many different ones among them: a made-up engine may answer in even
// steps.
const (
	fewestGaps   = 16
	fewestValues = 4
)

// Two runs whose gaps lie within nearGap µs of each other's, so many of so many, are one
// run touched up: what an engine takes for a step varies more.
const (
	nearGap    = 2
	nearShare  = 0.9
	nearFewest = 200
)

// repeats asks for repeats that were each measured, one after the other, as many as the
// workload states; below three it warns: there is no interval worth ranking by.
func repeats(in *Input) Result {
	if r, none := in.noSamples(); none {
		return r
	}
	n := int64(len(in.Row.PerRepeat))
	figure := Compared{"repeats", itoa(n), "at least 3"}
	if n == 0 {
		return missing("a repeat", "")
	}
	numbers, groups := in.repeatSamples()
	stated := in.Row.Workload.Repeats
	present := Compared{"repeats among the samples", itoa(int64(len(numbers))), itoa(stated)}
	if int64(len(numbers)) != stated || n != stated {
		return fail("the workload states "+count(stated, "repeat")+", and "+itoa(int64(len(numbers)))+" are among the samples", present)
	}
	var end int64
	same := map[uint64]int64{} // hash of a request's gaps → its repeat
	var before [][]*row.Sample
	for at, number := range numbers {
		if number != int64(at) {
			return fail("repeat "+itoa(int64(at))+" is not among the samples", present)
		}
		group := groups[number]
		// No other tool says which of its streams made a request.
		if text := apart(&in.Row.Workload, group); text != "" && in.Row.Import == nil {
			return fail(text + " (repeat " + itoa(number) + ")")
		}
		from, to := reach(group)
		if at > 0 && from < end {
			return fail("repeat "+itoa(number)+" began before repeat "+itoa(number-1)+" had ended",
				Compared{"began", itoa(from) + " µs", "after " + itoa(end) + " µs"})
		}
		end = to
		timed := timedOf(group)
		for _, s := range timed {
			hash, ok := gapsOf([]*row.Sample{s})
			if other, twice := same[hash]; ok && twice && other != number {
				return fail("a request of repeat "+itoa(number)+" has the gaps of one of repeat "+itoa(other)+", one by one: one is a copy of the other", figure)
			}
			if ok {
				same[hash] = number
			}
		}
		for other, group := range before {
			if near, all := nearGaps(group, timed); all >= nearFewest && float64(near) > nearShare*float64(all) {
				return fail(of(near, all, "gap")+" of repeat "+itoa(number)+" are within "+itoa(nearGap)+" µs of those of repeat "+itoa(int64(other))+": one is a copy of the other", figure)
			}
		}
		before = append(before, timed)
	}
	if n >= 3 {
		return pass(itoa(n)+" repeats"+ofStarts(in.Row.Starts()), figure)
	}
	r := warning(count(n, "repeat")+": shown, and not ranked", figure)
	r.Mend = "measure with --repeats 3; publish asks for --single otherwise"
	return r
}

func timedOf(group []*row.Sample) []*row.Sample {
	return slices.DeleteFunc(slices.Clone(group), func(s *row.Sample) bool { return s.Phase != row.PhaseTimed })
}

// reach is from the first request enqueued to the last content, in µs.
func reach(group []*row.Sample) (from, to int64) {
	from = group[0].Enqueued
	for _, s := range group {
		from, to = min(from, s.Enqueued), max(to, ended(s))
	}
	return from, to
}

// ended is when a request last was seen.
func ended(s *row.Sample) int64 {
	if at, ok := s.LastContent(); ok {
		return at
	}
	return max(s.Enqueued, s.Sent)
}

// apart says which stream had two requests at one time, or "". A stream of an open loop
// carries the next once it is free, however long that one has waited.
func apart(w *row.Workload, group []*row.Sample) string {
	begun := func(s *row.Sample) int64 {
		if w.OpenLoop() {
			return max(s.Enqueued, s.Sent)
		}
		return s.Enqueued
	}
	ordered := slices.Clone(group)
	slices.SortStableFunc(ordered, func(a, b *row.Sample) int { return cmp.Compare(begun(a), begun(b)) })
	last := map[int64]*row.Sample{}
	for _, s := range ordered {
		if before := last[s.Worker]; before != nil && begun(s) < ended(before) {
			return "stream " + itoa(s.Worker) + " had requests " + itoa(before.I) + " and " + itoa(s.I) + " at one time"
		}
		last[s.Worker] = s
	}
	return ""
}

// gapsOf hashes the gaps of some requests, without the first of each, which load decides,
// and the last, whose chunk may be cut otherwise. It is false where there are too few to
// tell a copy by.
func gapsOf(requests []*row.Sample) (hash uint64, ok bool) {
	hash = 14695981039346656037 // FNV-1a
	n := 0
	var values []int64
	for _, s := range requests {
		if len(s.T) < 3 {
			continue
		}
		for _, gap := range s.T[1 : len(s.T)-1] {
			for b := range 8 {
				hash = (hash ^ uint64(gap)>>(8*b)&0xff) * 1099511628211
			}
			n++
			if len(values) < fewestValues && !slices.Contains(values, gap) {
				values = append(values, gap)
			}
		}
	}
	return hash, n >= fewestGaps && len(values) >= fewestValues
}

// nearGaps counts the gaps of two repeats that lie close together, request by request and
// gap by gap. Only where the gaps differ among themselves do they tell anything.
func nearGaps(a, b []*row.Sample) (near, all int64) {
	var low, high int64
	for i := range min(len(a), len(b)) {
		x, y := a[i].T, b[i].T
		for j := 1; j < min(len(x), len(y)); j++ {
			if x[j] == row.NoStamp || y[j] == row.NoStamp {
				continue
			}
			if all == 0 {
				low, high = x[j], x[j]
			}
			low, high = min(low, x[j]), max(high, x[j])
			all++
			if d := x[j] - y[j]; -nearGap <= d && d <= nearGap {
				near++
			}
		}
	}
	if high-low <= 20*nearGap {
		return 0, 0 // an engine that answers in even steps
	}
	return near, all
}

// ofStarts says how many starts of the server the repeats are of, where they say.
func ofStarts(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " of one start of the server"
	}
	return " over " + itoa(int64(n)) + " starts of the server"
}
