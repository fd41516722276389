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
	return Result{}, true
}

const unixEpoch = "1970-01-01T00:00:00Z"
