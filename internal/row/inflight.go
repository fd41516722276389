package row

// InFlight is the mean number of requests between enqueued and last content, one value
// a window: the timed window of each repeat, or each timed pass. By Little's law it is
// the concurrency that the figures are of.
func InFlight(w *Workload, samples []Sample) []float64 {
	if unplacedIn(samples) {
		return nil
	}
	var out []float64
	for _, group := range byRepeat(samples) {
		for _, timed := range windowsOf(w.Protocol, group) {
			bound, _, why := bounds(timed)
			if why != "" {
				continue
			}
			counted := timed
			if w.Protocol == Sustained {
				counted = group
			}
			var busy int64
			for _, s := range counted {
				from, to := s.Enqueued, bound.to
				if last, ok := s.LastContent(); ok && !s.Cut() {
					to = last
				} else if !s.Cut() {
					continue // it failed, or ended without content: nobody knows when
				}
				from, to = max(from, bound.from), min(to, bound.to)
				if to > from {
					busy += to - from
				}
			}
			out = append(out, float64(busy)/float64(bound.to-bound.from))
		}
	}
	return out
}

// InFlightWhileSent is the mean number of requests between enqueued and last content from
// the first enqueue to the last: of a tool that lets its streams run empty at the end, the
// time in which it keeps them full. It is nil where all were sent at once.
func InFlightWhileSent(samples []Sample) []float64 {
	if len(samples) == 0 || unplacedIn(samples) {
		return nil
	}
	from, to := samples[0].Enqueued, samples[0].Enqueued
	for i := range samples {
		from, to = min(from, samples[i].Enqueued), max(to, samples[i].Enqueued)
	}
	var busy, shortest int64
	for i := range samples {
		s := &samples[i]
		last, ok := s.LastContent()
		if !s.OK() || !ok {
			continue
		}
		if d := last - s.Enqueued; shortest == 0 || d < shortest {
			shortest = d
		}
		if end := min(last, to); end > s.Enqueued {
			busy += end - s.Enqueued
		}
	}
	if shortest == 0 || to-from < shortest {
		return nil
	}
	return []float64{float64(busy) / float64(to-from)}
}

// windowsOf parts the timed requests of one repeat by the window they belong to: all of
// them, or one group a pass.
func windowsOf(protocol string, samples []*Sample) [][]*Sample {
	var order []int64
	byPass := map[int64][]*Sample{}
	for _, s := range samples {
		if s.Phase != PhaseTimed {
			continue
		}
		pass := s.Pass
		if protocol == Sustained {
			pass = 0
		}
		if byPass[pass] == nil {
			order = append(order, pass)
		}
		byPass[pass] = append(byPass[pass], s)
	}
	out := make([][]*Sample, len(order))
	for i, p := range order {
		out[i] = byPass[p]
	}
	return out
}
