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

// randomAcceptance is how much of the drafts random prompts can honestly have accepted.
const randomAcceptance = 0.5

// speculation holds what the drafts brought against what they could.
func speculation(in *Input) Result {
	spec := in.Row.Server.Spec
	var stated *row.Speculation
	if was := in.Report.AsItWas; was != nil {
		stated = was.Recipe.Speculation
	}
	seen := spec != nil && spec.Drafts > 0
	if !seen {
		if stated == nil {
			return notApplicable("none configured and none seen")
		}
		return missing("draft counters: the recipe speculates by "+stated.Method+" and the server counts no draft", "switch the server's metrics on")
	}
	drafted := float64(spec.DraftTokens) / float64(spec.Drafts)
	if stated != nil && stated.DraftTokens > 0 {
		drafted = float64(stated.DraftTokens)
	}
	length := 1 + float64(spec.Accepted)/float64(spec.Drafts)
	figure := Compared{"tokens accepted a step", number(length), "at most " + number(drafted+1)}
	switch {
	case stated == nil && in.Report.AsItWas != nil:
		return fail("the recipe states no speculation, and the server counted "+count(spec.Drafts, "draft"), figure)
	case length > drafted+1:
		return fail(number(length)+" tokens a step where "+number(drafted)+" were drafted: at most "+number(drafted+1)+" can come", figure)
	case in.Row.Workload.Prompts.Kind == "random" && length > 1+float64(randomAcceptance*drafted):
		return fail(number(length)+" tokens a step on random prompts, more than "+number(1+float64(randomAcceptance*drafted))+": the output loops, or the prompts are not random", figure)
	}
	return pass(number(length)+" tokens a step of "+number(drafted)+" drafted", figure)
}
