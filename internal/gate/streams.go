package gate

import (
	"slices"

	"rowproof/internal/row"
)

// queueShare is how much of the concurrency must stream at once.
const queueShare = 0.9

// queue labels a row whose requests waited for one another: its concurrency was never
// served together.
func queue(in *Input) Result {
	w := &in.Row.Workload
	if w.OpenLoop() {
		return notApplicable(openLoop)
	}
	if r, none := in.noSamples(); none {
		return r
	}
	if w.OSL <= 1 {
		return notApplicable("one token a request: no stream lasts")
	}
	peaks := row.PeakStreams(in.Samples)
	if len(peaks) == 0 {
		return missing("a request", "")
	}
	least, c := slices.Min(peaks), *w.Load.Concurrency
	figure := Compared{"streams at once, at the peak", itoa(least), "at least 0.9 × " + itoa(c)}
	if float64(least) < queueShare*float64(c) {
		text := "queue-bound: at most " + itoa(least) + " of " + count(c, "stream") + " stood between first and last content at once"
		if in.Row.Server.WaitingMax != nil && *in.Row.Server.WaitingMax > 0 {
			text += "; the server had " + count(*in.Row.Server.WaitingMax, "request") + " waiting"
		}
		return warning(text, figure)
	}
	return pass(of(least, c, "stream")+" stood between first and last content at once", figure)
}

// QueueBound says whether gate queue labelled the row so: it leaves the fronts.
func QueueBound(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool { return r.Gate == "queue" && r.Answer == Warn })
}

// denominator passes a row whose per-GPU figures are over all GPUs of all pools, the
// same as the server holds.
func denominator(in *Input) Result {
	gpus := in.gpus()
	if gpus == 0 {
		return notApplicable("no per-GPU figure: the GPU count is unknown")
	}
	var used, listed int64
	for _, d := range in.Report.Receipt.Devices {
		listed++
		if d.Used {
			used++
		}
	}
	switch {
	case used == 0 && listed != gpus:
		return missing("the devices that the server holds: "+count(listed, "device")+" listed, "+itoa(gpus)+" by the recipe",
			"run measure where nvidia-smi or amd-smi sees the server's processes")
	case used == 0:
		used = listed
	}
	figure := Compared{"GPUs", itoa(used) + " by the receipt", itoa(gpus) + " by the recipe"}
	if used != gpus {
		return fail("two counts: the server holds "+count(used, "GPU")+", and the per-GPU figures are over "+itoa(gpus), figure)
	}
	return pass("per-GPU figures are over "+count(gpus, "GPU")+", as many as the server holds", figure)
}
