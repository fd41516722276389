package gate

import (
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

func number(v float64) string { return roofline.Number(v) }

// ceiling holds the row against the hard roof of its own hardware, without slack: no
// token may come faster than its bytes can be read, no prompt sooner than its
// arithmetic can be done.
func ceiling(in *Input) Result {
	was := in.Report.AsItWas
	f := &in.Row.Figures
	switch {
	case was == nil:
		return missing("a recipe: model, target, dtypes and layout are unknown", recipeMend)
	case f.TTFT == nil || f.TTFT.P50 == nil:
		return missing("a TTFT", "")
	case f.TPOT != nil && f.OutputTokPerSec == nil:
		return missing("an output rate, which tells the batch", "")
	case in.Row.Counts.CachedTokens == nil && !in.hitsAreZero():
		return missing("cached tokens: what of the prompt was computed is unknown", cachedMend)
	}
	q, replicas, why := query(in)
	if why != "" {
		return missing(why, "")
	}
	accepted, why := acceptance(in)
	if why != "" {
		return missing(why, "")
	}
	a := roofline.Ceiling(q)
	if f.TPOT != nil && a.DecodeStepMS == nil {
		return missing("the ceiling: "+a.Missing["decode_step_ms"], "")
	}
	if a.PrefillMS == nil {
		return missing("the ceiling of prefill: "+a.Missing["prefill_ms"], "")
	}
	var figures []Compared
	text := ""
	if f.TPOT != nil {
		floor := a.DecodeStepMS.Hard / accepted
		figures = append(figures, Compared{"tpot_ms.p50", milliseconds(*f.TPOT.P50), "at least " + milliseconds(floor)})
		if *f.TPOT.P50 < floor {
			text = "TPOT p50 " + milliseconds(*f.TPOT.P50) + " is below the hard roof " + milliseconds(floor) +
				" at a batch of " + itoa(q.Batch) + " and " + itoa(q.Context) + " tokens each: " + percent(floor / *f.TPOT.P50) + " of the roof"
		}
	}
	figures = append(figures, Compared{"ttft_ms.p50", milliseconds(*f.TTFT.P50), "at least " + milliseconds(a.PrefillMS.Hard)})
	if *f.TTFT.P50 < a.PrefillMS.Hard {
		if text != "" {
			text += "; "
		}
		text += "TTFT p50 " + milliseconds(*f.TTFT.P50) + " is below the prefill of " + count(q.ISL-q.Cached, "uncached token") +
			", " + milliseconds(a.PrefillMS.Hard)
	}
	if text != "" {
		return Result{Answer: Fail, Reason: text + ". " + causes(in, accepted), Figures: figures}
	}
	reason := "below the roof"
	if f.TPOT != nil {
		reason = percent(a.DecodeStepMS.Hard/accepted / *f.TPOT.P50) + " of the hard roof at a batch of " + itoa(q.Batch)
		if replicas > 1 {
			reason += " a replica"
		}
	}
	return Result{Answer: Pass, Reason: reason, Figures: figures}
}

// hitsAreZero says that the server's own counter saw no cached token over the row.
func (in *Input) hitsAreZero() bool {
	hits := row.ServerFrom(in.Evidence).CachedTok
	return hits != nil && *hits == 0
}

// query is the row's own point: batch by Little's law, rounded down, and the mean
// context. Rounding down lowers the roof's time, so it never fails a row unjustly.
func query(in *Input) (q roofline.Query, replicas int64, why string) {
	was, f, w := in.Report.AsItWas, &in.Row.Figures, &in.Row.Workload
	pools := was.Recipe.Pools
	if len(pools) != 1 {
		return q, 0, "a roof for " + count(int64(len(pools)), "pool") + ": only one pool of equal replicas can be computed"
	}
	replicas = max(1, pools[0].Count*pools[0].DP)
	batch := 1.0
	if f.TPOT != nil {
		batch = *f.OutputTokPerSec * *f.TPOT.P50 / 1000 / float64(replicas)
	}
	target := was.Target
	shards := max(1, pools[0].TP*pools[0].PP)
	target.Count = shards
	q = roofline.Query{
		Model: &was.Model, Target: &target,
		WeightDtype: was.Recipe.Weights.Dtype, KVDtype: was.Recipe.KVDtype,
		Batch: max(1, int64(batch)), Context: w.ISL + w.OSL/2,
		ISL: w.ISL, OSL: w.OSL, Concurrency: max(1, int64(batch)), TP: shards,
	}
	if c := &in.Row.Counts; c.CachedTokens != nil && c.Completed > 0 {
		// Of the least prefill that any request can have had: the mean, rounded up.
		q.Cached = min((*c.CachedTokens+c.Completed-1)/c.Completed, w.ISL-1)
	}
	return q, replicas, ""
}

// acceptance is how many tokens a step brings: 1 without speculation.
func acceptance(in *Input) (float64, string) {
	spec := in.Row.Server.Spec
	if spec != nil && spec.Drafts > 0 {
		return 1 + float64(spec.Accepted)/float64(spec.Drafts), ""
	}
	if in.Report.AsItWas.Recipe.Speculation != nil {
		return 0, "the draft counters: how many tokens a step accepts is unknown"
	}
	return 1, ""
}

// causes names what could explain a row above the roof, each with what was seen.
func causes(in *Input, accepted float64) string {
	recipe := &in.Report.AsItWas.Recipe
	text := "Causes tried: speculation, "
	if accepted > 1 {
		text += number(accepted) + " tokens a step"
	} else {
		text += "none seen"
	}
	text += "; prefix cache, "
	if c := in.Row.Counts.CachedTokens; c != nil {
		text += count(*c, "cached token")
	} else {
		text += "no hit counted"
	}
	dtype := recipe.Weights.Dtype
	if dtype == "" {
		dtype = "of the model's first format"
	}
	return text + "; weights, " + dtype + " by the recipe; devices, " + count(recipe.GPUs(), "GPU") + " by the recipe"
}
