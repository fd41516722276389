package gate

import (
	"math"

	"rowproof/internal/row"
)

// How far the requests in flight may lie from the concurrency, relative.
const (
	littleSustained = 0.10
	littlePasses    = 0.25
)

// openLoop is why a gate about the concurrency does not apply.
const openLoop = "open loop: requests came at times of their own, at no set concurrency"

// little holds the requests in flight, time by time, against the concurrency that the
// row states: rates, latencies and concurrency must be of the same load, and imply the row's own GPU
// count.
func little(in *Input) Result {
	w := &in.Row.Workload
	if w.OpenLoop() {
		return notApplicable(openLoop)
	}
	stated, wrong := in.drift()
	if wrong != "" {
		return fail(wrong, stated)
	}
	if r, none := in.noSamples(); none {
		return r
	}
	if text := in.unplaced(); text != "" {
		return missing(text, "")
	}
	c := float64(*w.Load.Concurrency)
	limit := littlePasses
	if w.Protocol == row.Sustained {
		limit = littleSustained
	}
	flights := row.InFlight(w, in.Samples)
	if in.Row.Import != nil {
		if flights = row.InFlightWhileSent(in.Samples); flights == nil {
			return missing("a time in which requests waited to be sent: fewer were made than fill the streams twice", "")
		}
	}
	worst, found := 0.0, false
	for _, f := range flights {
		if !found || math.Abs(f-c) > math.Abs(worst-c) {
			worst, found = f, true
		}
	}
	if !found {
		return missing("a window with a completed request", "")
	}
	figures := []Compared{{"mean requests in flight", number(worst), itoa(*w.Load.Concurrency) + " ± " + percent(limit)}}
	gpus, wrong, ok := in.implied()
	if ok {
		figures = append(figures, gpus)
	}
	if stated.Name != "" {
		figures = append(figures, stated)
	}
	switch {
	case math.Abs(worst-c) > limit*c:
		text := inFlight(worst) + " in flight on average where " + itoa(*w.Load.Concurrency) + " were stated"
		if wrong != "" {
			text += "; " + wrong
		}
		return fail(text, figures...)
	case wrong != "" && in.Row.Import == nil: // another tool's streams run empty at its end
		return fail(wrong, figures...)
	}
	return pass(inFlight(worst)+" in flight on average", figures...)
}

func inFlight(n float64) string {
	if number(n) == "1" {
		return "1 request was"
	}
	return number(n) + " requests were"
}
