package gate

import "rowproof/internal/row"

// startApart is by how many seconds a process's start may differ as the host tells it and
// as its own metrics do: each rounds, and an engine's front end starts a little later.
const startApart = 5

const tieMend = "run measure receipt --watch beside the server during the run, and give its file to bench --receipt or to measure import --receipt"

// tied says whether a receipt that was taken elsewhere is of the server that the row
// measured: by when its process began, as far as its metrics tell, and by the row's own
// tokens in the counters that the receipt's watch read beside it. Of a receipt that the run
// read itself there is nothing to ask, and ok is true.
func (in *Input) tied() (r Result, ok bool) {
	if in.Report.Receipt.Taken == nil {
		return Result{}, true
	}
	if in.Samples == nil {
		r, _ := in.noSamples()
		return r, false
	}
	if in.Evidence == nil || len(in.Evidence.Watched) < 2 {
		return missing("the server's counters as the receipt read them during the row: nothing ties it to the server that was measured", tieMend), false
	}
	ev := in.Evidence
	if began, known := seconds(in.Report.Receipt.Engine.StartedAt); known {
		for _, m := range ev.Metrics {
			at, says := m.StartedAt()
			if !says {
				continue
			}
			seen, _ := seconds(unixEpoch)
			if off := at + float64(seen) - float64(began); off > startApart || off < -startApart {
				return fail("the receipt is of another server: its process began at "+in.Report.Receipt.Engine.StartedAt+", and the one that answered "+number(-off)+" s apart from that",
					Compared{"process start, in seconds since 1970", number(at), number(float64(began - seen))}), false
			}
			break
		}
	}
	if least, most, ok := row.ClocksBetween(ev); ok && (least > row.ClocksApart || most < -row.ClocksApart) {
		return missing("clocks of the two hosts that agree to "+number(row.ClocksApart/1e6)+" s: by the server's counters, which both read, the one beside the server is "+ahead(least, most)+
			", so that the receipt's readings have no place in the row", "set both hosts' clocks by one source, as NTP does, and measure again"), false
	}
	var tokens int64
	for i := range in.Samples {
		if s := &in.Samples[i]; s.OK() && s.OSL != nil {
			tokens += *s.OSL
		}
	}
	first, last := ev.Watched[0].Totals().Generated, ev.Watched[len(ev.Watched)-1].Totals().Generated
	switch {
	case first == nil || last == nil:
		return missing("a counter of generated tokens in the receipt's readings: nothing ties it to the server that was measured", ""), false
	case ev.Watched[0].At > 0 || ev.Watched[len(ev.Watched)-1].At < row.Lasted(in.Samples):
		return missing("readings of the receipt's watch before and after the row: it went on only in part of it", tieMend), false
	case *last-*first < tokens:
		return fail("the receipt is of another server, or of one that was started again: its counters rose by "+itoa(*last-*first)+" tokens while the row's requests brought "+itoa(tokens),
			Compared{"generated tokens by the watched counters", itoa(*last - *first), "at least " + itoa(tokens)}), false
	}
	if text := in.twoServers(); text != "" {
		return fail("the receipt is of another server: "+text, Compared{"generated tokens by the watched counters", itoa(*last - *first), itoa(tokens)}), false
	}
	return Result{}, true
}

// ahead says by how many µs a clock is ahead of another, at least and at most.
func ahead(least, most int64) string {
	if most < 0 {
		return number(float64(-most)/1e6) + " to " + number(float64(-least)/1e6) + " s behind"
	}
	return number(float64(least)/1e6) + " to " + number(float64(most)/1e6) + " s ahead"
}

// twoServers says by which reading the counters that a receipt's watch read are not those of
// the server that the row measured, or "": they are as far on as the client's own readings
// of them, and rise by no more than the row's requests explain. A busier server's would rise
// by enough too.
func (in *Input) twoServers() string {
	type reading struct{ at, tokens int64 }
	of := func(samples []row.MetricSample) (out []reading) {
		for i := range samples {
			if n := samples[i].Totals().Generated; n != nil {
				out = append(out, reading{samples[i].At, *n})
			}
		}
		return out
	}
	watched := of(in.Evidence.Watched)
	for _, c := range of(in.Evidence.Metrics) {
		for _, w := range watched {
			if w.at <= c.at-row.ClocksApart && w.tokens > c.tokens || w.at >= c.at+row.ClocksApart && w.tokens < c.tokens {
				return "its counter of generated tokens stood at " + itoa(w.tokens) + " at " + number(float64(w.at)/1e6) + " s of the row, and the client read " + itoa(c.tokens) + " at " + number(float64(c.at)/1e6) + " s"
			}
		}
	}
	var most int64
	for i := range in.Samples {
		s := &in.Samples[i]
		n := s.ChunkTokens()
		if s.OSL != nil {
			n = max(n, *s.OSL)
		}
		if !s.OK() || s.Cut() {
			n = max(n, askedOSL(s, &in.Row.Workload))
		}
		most += n
	}
	var first, last *reading // within the row, however the two clocks differ
	for i := range watched {
		if w := &watched[i]; w.at >= row.ClocksApart && w.at <= row.Lasted(in.Samples)-row.ClocksApart {
			if first == nil {
				first = w
			}
			last = w
		}
	}
	slack := counterSlack + 2*int64(len(in.Samples)) + int64(float64(counterShare*float64(most)))
	if first != nil && last.tokens-first.tokens > most+slack {
		return "its counter rose by " + itoa(last.tokens-first.tokens) + " generated tokens within the row, whose requests hold at most " + itoa(most)
	}
	return ""
}

const unixEpoch = "1970-01-01T00:00:00Z"
