package gate

import "rowproof/internal/row"

// A fall of TPOT from c to at least 2c fails from this concurrency on, and beyond this
// share of it.
const (
	neighboursFrom = 64
	neighboursFall = 0.10
)

// loadOf is a row's load beside those of the same recipe, shape and protocol.
func loadOf(report *row.Report, r *row.Row) (key string, load Load, ok bool) {
	w, f := &r.Workload, &r.Figures
	if report.Recipe == "" || w.OpenLoop() ||
		f.TPOT == nil || f.TPOT.P50 == nil || f.OutputTokPerSec == nil {
		return "", Load{}, false
	}
	key = report.Recipe + " " + report.Receipt.Engine.Version + " " + w.Family() + " " + itoa(w.ISL) + ":" + itoa(w.OSL)
	return key, Load{r.ID, *w.Load.Concurrency, *f.TPOT.P50, f.TPOT.IntervalP50,
		*f.OutputTokPerSec * *f.TPOT.P50 / 1000}, true
}

// neighbours holds a row against its recipe's rows at other concurrencies: a token can
// hardly take less time when more streams share the step. Any fall from a lower one warns;
// one that engines do not show fails both rows, since nothing tells which is wrong.
func neighbours(in *Input) Result {
	if in.Corpus == nil || in.Corpus.Loads == nil {
		return notApplicable("judged where all rows are at hand: by publish and gen")
	}
	key, here, ok := loadOf(in.Report, in.Row)
	if !ok {
		return notApplicable("no TPOT at a set concurrency of a recipe")
	}
	var lower, fallen *Load
	for i := range in.Corpus.Loads[key] {
		l := &in.Corpus.Loads[key][i]
		if l.ID != here.ID && unlikely(&here, l) {
			return fail(fall(&here, l, l.ID)+beyond, compared(&here, l))
		}
		if l.Concurrency >= here.Concurrency || l.ID == here.ID {
			continue
		}
		lower = l
		if here.TPOT >= l.TPOT {
			continue
		}
		if unlikely(l, &here) {
			return fail(fall(l, &here, l.ID)+beyond, compared(l, &here))
		}
		if fallen == nil || l.TPOT > fallen.TPOT {
			fallen = l
		}
	}
	switch {
	case lower == nil:
		return notApplicable("no row of this recipe and shape at a lower concurrency")
	case fallen != nil:
		return warning(fall(fallen, &here, fallen.ID), compared(fallen, &here))
	}
	return pass("TPOT does not fall from a lower concurrency", compared(lower, &here))
}

// unlikely says whether a fall is more than engines show.
func unlikely(low, high *Load) bool {
	return low.Concurrency >= neighboursFrom && high.Concurrency >= 2*low.Concurrency &&
		low.Interval != nil && high.Interval != nil &&
		high.Interval[1] < (1-neighboursFall)*low.Interval[0] && high.Batch >= low.Batch
}

const beyond = ", more than 10% beyond both intervals, while the batch did not fall"

// fall tells of two loads, of which the other row is one.
func fall(low, high *Load, other string) string {
	at := func(l *Load) string {
		text := milliseconds(l.TPOT) + " at c=" + itoa(l.Concurrency)
		if l.ID == other {
			text += " (row " + other + ")"
		}
		return text
	}
	return "TPOT p50 falls from " + at(low) + " to " + at(high)
}

func compared(low, high *Load) Compared {
	return Compared{"tpot_ms.p50", milliseconds(high.TPOT), milliseconds(low.TPOT) + " at c=" + itoa(low.Concurrency)}
}
