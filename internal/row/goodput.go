package row

import (
	"slices"

	"rowproof/internal/stats"
)

// Good is how many requests a second met every limit.
type Good struct {
	PerSec   *float64  // nil with a reason in Missing
	Interval *Interval // from two repeats on, none of them 0
	Missing  string

	Met    int64 // requests that ended within the timed windows and met every limit
	Of     int64 // of so many that ended there
	Untold int64 // of those, without the stamps or the counts that a limit asks for; none of them met
}

// Goodput counts the requests that request_s counts, and keeps those that met every
// limit by themselves: of TTFT, E2E and TPOT a request has one, whatever the percentile;
// of its gaps the percentile or the mean counts, or where it has too few of them for that
// the greatest. A request of one token has no TPOT and no gap to be over. Without limits
// it is request_s.
func Goodput(w *Workload, samples []Sample, limits []Limit) Good {
	samples = withAsked(w, samples)
	var out Good
	var rates []float64
	miss := func(why string) {
		if out.Missing == "" {
			out.Missing = why
		}
	}
	for _, group := range byRepeat(samples) {
		var of []float64
		for _, timed := range windowsOf(w.Protocol, group) {
			within, _, why := bounds(timed)
			if why != "" {
				miss(why)
				continue
			}
			counted := timed
			if w.Protocol == Sustained {
				counted = group
			}
			met := 0
			for _, s := range counted {
				at, ok := s.LastContent()
				if !s.OK() || w.Protocol == Sustained && (!ok || s.Cut() || !within.holds(at)) {
					continue
				}
				out.Of++
				switch good, told := s.meets(limits); {
				case !told:
					out.Untold++
				case good:
					out.Met++
					met++
				}
			}
			of = append(of, within.per(float64(met)))
		}
		if m := mean(of); m != nil {
			rates = append(rates, *m)
		} else {
			miss("no timed request completed")
		}
	}
	switch {
	case out.Missing != "":
	case len(rates) == 0:
		out.Missing = "no timed request completed"
	default:
		out.PerSec, out.Interval = median(rates), interval(rates)
	}
	return out
}

// meets says whether the request stayed within every limit; told is false where that
// cannot be known.
func (s *Sample) meets(limits []Limit) (good, told bool) {
	good = true
	for _, l := range limits {
		v, any, told := s.latency(l)
		if !told {
			return false, false
		}
		if any && !(v <= l.Max) {
			good = false
		}
	}
	return good, true
}

// latency is the request's own value of what a limit is of, in ms; any is false where it
// has none, told where it has one that is not known.
func (s *Sample) latency(l Limit) (v float64, any, told bool) {
	first, okFirst := s.FirstContent()
	last, okLast := s.LastContent()
	switch l.Figure {
	case "ttft_ms":
		return ms(first - s.Enqueued), true, okFirst
	case "e2e_ms":
		return ms(last - s.Enqueued), true, okLast
	case "ttfa_ms":
		at, why := s.answerAt()
		return ms(at - s.Enqueued), true, why == ""
	}
	n, why := s.OutputTokens()
	switch {
	case why != "":
		return 0, false, false
	case n <= 1:
		return 0, false, true
	}
	e := &series{why: map[string]string{}}
	switch l.Figure {
	case "tpot_ms":
		e.request(s)
		if len(e.tpot.list) == 0 {
			return 0, false, false
		}
		return e.tpot.list[0], true, true
	case "itl_ms":
		e.gaps(s, nil)
	}
	gaps := e.itl.list
	if len(gaps) == 0 {
		return 0, false, false
	}
	if l.Permille == Mean {
		v, ok := stats.Mean(gaps)
		return v, true, ok
	}
	slices.Sort(gaps)
	v, ok := stats.Percentile(gaps, l.Permille)
	if !ok {
		v = gaps[len(gaps)-1]
	}
	return v, true, true
}
