package gate

import "rowproof/internal/row"

// warm passes a row whose timed requests all came after a warm-up, the first call
// apart.
func warm(in *Input) Result {
	if in.Row.Workload.Warmup == 0 {
		if text := in.phases(); text != "" {
			return fail(text)
		}
		return warning("cold start: no warm-up was asked for, so the row is not ranked")
	}
	if r, none := in.noSamples(); none {
		return r
	}
	var firsts int64
	ends := map[int64]int64{} // by repeat: when the warm-up had passed
	for i := range in.Samples {
		s := &in.Samples[i]
		if s.Phase != row.PhaseFirst && s.Phase != row.PhaseWarm && s.Phase != row.PhaseRamp {
			continue
		}
		if s.Phase == row.PhaseFirst {
			firsts++
		}
		at := s.Enqueued
		if last, ok := s.LastContent(); ok && in.Row.Workload.Protocol == row.Passes {
			at = last
		}
		ends[s.Repeat] = max(ends[s.Repeat], at)
	}
	var timed, early int64
	for i := range in.Samples {
		s := &in.Samples[i]
		if s.Phase != row.PhaseTimed {
			continue
		}
		timed++
		end, ok := ends[s.Repeat]
		switch {
		case !ok:
			return fail("repeat " + itoa(s.Repeat) + " has timed requests and no warm-up")
		case s.Enqueued < end:
			early++
		}
	}
	switch {
	case timed == 0:
		return missing("a timed request", "")
	case early > 0:
		return fail(of(early, timed, "timed request") + " began before the warm-up was over")
	case firsts != 1:
		return fail("the first call is not kept apart: " + count(firsts, "request") + " in phase first, 1 expected")
	}
	if text := in.phases(); text != "" {
		return fail(text)
	}
	return pass("every timed request came after the warm-up, and the first call is apart")
}
