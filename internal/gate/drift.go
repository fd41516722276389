package gate

import (
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// unitFactor is how many times more or fewer GPUs a row's rate may imply than it has: the
// rate is of a window, which of a row of few rounds holds another mix of prefill and decode
// than the mean latency of all. Of the rows that are published none is off by more than
// 1.4. Another unit, or half of the devices, is off by more.
const unitFactor = 1.75

// implied holds the rate per GPU against what the stated concurrency and the mean latency
// give by Little's law: they imply a GPU count, and one that is off tells that a rate is in
// another unit or over other devices. ok is false where a part is missing.
func (in *Input) implied() (figure Compared, wrong string, ok bool) {
	f, gpus := &in.Row.Figures, in.gpus()
	if gpus == 0 || f.OutputTokPerSecPerGPU == nil || *f.OutputTokPerSecPerGPU <= 0 || f.E2E == nil || f.E2E.Mean == nil || *f.E2E.Mean <= 0 {
		return figure, "", false
	}
	var tokens, requests float64
	for _, s := range in.timed() {
		if n, why := s.OutputTokens(); why == "" {
			tokens, requests = tokens+float64(n), requests+1
		}
	}
	if tokens == 0 {
		return figure, "", false
	}
	c := float64(*in.Row.Workload.Load.Concurrency)
	rate := float64(float64(c*tokens)/requests) * 1000 / *f.E2E.Mean
	n := rate / *f.OutputTokPerSecPerGPU
	figure = Compared{"GPUs by Little's law", number(n), itoa(gpus) + " by the recipe, to a factor of " + number(unitFactor)}
	if g := float64(gpus); n > unitFactor*g || n*unitFactor < g {
		wrong = "a concurrency of " + itoa(*in.Row.Workload.Load.Concurrency) + " at a mean latency of " + milliseconds(*f.E2E.Mean) + " is " + number(rate) +
			" output tok/s: at " + number(*f.OutputTokPerSecPerGPU) + " per GPU that makes a GPU count of " + number(n) + " where it is " + itoa(gpus)
	}
	return figure, wrong, true
}

// streamSlack is how many more requests than its streams a tool's own figures may imply,
// relative: means and rates are of somewhat different times.
const streamSlack = 0.25

// drift says what is wrong between the figures that another tool states itself: its output
// rate times its mean latency cannot be of more requests than it had streams. Where it is
// of the total, the text tells.
func (in *Input) drift() (figure Compared, wrong string) {
	w := &in.Row.Workload
	if in.Row.Import == nil || in.unsaid("isl", "osl", "load.concurrency") != "" || w.OSL < 1 || w.Lengths != nil {
		return figure, ""
	}
	rate, stated := in.statedMean(row.RuleOutputRate, "")
	seconds, ok := in.statedMean(row.RuleE2E, row.StatMean)
	if !ok {
		ttft, okTTFT := in.statedMean(row.RuleTTFT, row.StatMean)
		tpot, okTPOT := in.statedMean(row.RuleTPOT, row.StatMean)
		seconds, ok = ttft+float64(tpot*float64(w.OSL-1)), okTTFT && okTPOT
	}
	if most := 1e15; !stated || !ok || !(rate > 0 && rate < most && seconds > 0 && seconds < most) {
		return figure, "" // NaN among them
	}
	c := float64(*w.Load.Concurrency)
	flight := rate * seconds / float64(w.OSL)
	figure = Compared{"requests in flight by the tool's own rate and latency", number(flight), "at most " + itoa(*w.Load.Concurrency) + " + " + percent(streamSlack)}
	if flight <= (1+streamSlack)*c {
		return figure, ""
	}
	wrong = in.tool() + " states " + number(rate) + " output tok/s and a mean latency of " + number(seconds) + " s: that is " + number(flight) +
		" requests in flight where it had " + count(*w.Load.Concurrency, "stream")
	if total := rate * seconds / float64(w.ISL+w.OSL); total <= (1+streamSlack)*c {
		wrong += "; as the rate of prompt and output tokens together it would be " + number(total) + ": another unit than it says"
	}
	return figure, wrong
}

// statedMean is a figure of the tool by its rule, in seconds where it is a time.
func (in *Input) statedMean(rule, statistic string) (v float64, ok bool) {
	for i := range in.Row.Import.Stated {
		s := &in.Row.Import.Stated[i]
		if s.Rule != rule || s.Statistic != statistic {
			continue
		}
		v, ok = roofline.Decimal(s.Text).Float()
		if s.Unit == "ms" {
			v /= 1000
		}
		return v, ok
	}
	return 0, false
}
