package gate

import (
	"cmp"
	"slices"

	"rowproof/internal/row"
)

// Shares of its streams' time for which a closed loop may leave them empty between an
// answer's last content and the next request: beyond the one the rates are told with a
// warning, beyond the other they are of the client. It is told by the samples alone,
// whatever the capture says of itself. Of the rows that are published none reaches 0.6%;
// a client that was stopped for half a second of ten has 5%.
const (
	emptyWarn = 0.01
	emptyMost = 0.05
)

// stood holds how long streams stood empty since the client sent no request.
func (c *clients) stood() {
	w := &c.in.Row.Workload
	if w.OpenLoop() || w.Sessions != nil || *w.Load.Concurrency < 1 {
		return
	}
	worst, of := 0.0, int64(0)
	numbers, groups := c.in.repeatSamples()
	for _, n := range numbers {
		if share, ok := empty(w, groups[n]); ok && share >= worst {
			worst, of = share, n
		}
	}
	c.show("streams stood empty, repeat "+itoa(of), percent(worst)+" of their time", "at most "+percent(emptyWarn))
	text := "the streams stood empty for " + percent(worst) + " of their time (repeat " + itoa(of) + "), from an answer's end to the next request: the rates are lower by as much"
	switch {
	case worst > emptyMost:
		c.fail(text, clientMend)
	case worst > emptyWarn:
		c.shaky = append(c.shaky, text)
	}
}

// empty is the share of a repeat's stream time before its timed requests for which no
// request was under way. The requests of a pass wait for the whole pass before it, of which
// the first follows the warm-up as it likes.
func empty(w *row.Workload, group []*row.Sample) (share float64, ok bool) {
	streams := *w.Load.Concurrency
	free := map[int64]int64{} // a stream, or of passes a pass → when it was free
	known := map[int64]bool{}
	var idle, first, last int64
	begun := false
	if w.Protocol != row.Passes {
		group = slices.Clone(group)
		slices.SortStableFunc(group, func(a, b *row.Sample) int { return cmp.Compare(a.Sent, b.Sent) })
	}
	for at, s := range group {
		place, before := s.Worker, s.Worker
		if w.Protocol == row.Passes {
			place = int64(at) / streams
			before = place - 1
		}
		if s.Phase == row.PhaseTimed && s.OK() {
			if !begun {
				first, begun = s.Sent, true
			}
			first, last = min(first, s.Sent), max(last, ended(s))
			if known[before] {
				idle += max(0, s.Sent-free[before])
			}
		}
		end, stamped := s.LastContent()
		known[place] = stamped && s.OK() && (w.Protocol != row.Passes || s.Phase == row.PhaseTimed)
		free[place] = max(free[place], end)
	}
	if last <= first {
		return 0, false
	}
	return float64(idle) / float64(streams) / float64(last-first), true
}
