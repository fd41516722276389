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
	for _, hold := range []func(*Input, roofline.Query, int64, float64) (Compared, string){servingRoof, requestRoof} {
		figure, above := hold(in, q, replicas, accepted)
		if figure.Name != "" {
			figures = append(figures, figure)
		}
		if above != "" && text != "" {
			text += "; "
		}
		text += above
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

// servingRoof holds the output rate against what the replicas' devices can serve at the
// row's shape and concurrency: each request has its prefill and its share of the weights
// to pay for. A step that yields several tokens by speculation raises it as much.
func servingRoof(in *Input, q roofline.Query, replicas int64, accepted float64) (figure Compared, above string) {
	rate, c := in.Row.Figures.OutputTokPerSec, in.Row.Workload.Load.Concurrency
	if rate == nil || c == nil {
		return figure, ""
	}
	q.Concurrency = *c // of one replica at most: more streams share the weights better
	a := roofline.Ceiling(q)
	if a.Serving == nil {
		return figure, ""
	}
	roof := float64(replicas) * a.Serving.OutputTokPerSec * accepted
	figure = Compared{"output_tok_s", number(*rate), "at most " + number(roof)}
	if *rate > roof {
		above = "the output rate " + number(*rate) + " tok/s is above " + number(roof) + ", all that the devices can serve at " +
			itoa(q.ISL) + ":" + itoa(q.OSL) + " and a concurrency of " + itoa(*c)
	}
	return figure, above
}

// requestRoof holds every timed request by itself: its first content cannot come before
// the arithmetic of its uncached prompt, nor its last before that and one step alone for
// each further token.
func requestRoof(in *Input, q roofline.Query, _ int64, accepted float64) (figure Compared, above string) {
	type shape struct{ isl, osl, cached int64 }
	type floors struct{ prefill, last float64 } // ms since sent; NaN is never passed below
	known := map[shape]floors{}
	var fast int64
	timed := in.timed()
	worst := 0.0
	for _, s := range timed {
		osl, why := s.OutputTokens()
		x := shape{promptTokens(s, &in.Row.Workload), osl, 0}
		if s.Cached != nil {
			x.cached = max(0, min(*s.Cached, x.isl-1))
		}
		f, ok := known[x]
		if !ok {
			one := q
			one.Batch, one.Concurrency, one.Context = 1, 1, x.isl+x.osl/2
			one.ISL, one.OSL, one.Cached = x.isl, max(x.osl, 1), x.cached
			a := roofline.Ceiling(one)
			if a.PrefillMS != nil {
				f.prefill, f.last = a.PrefillMS.Hard, a.PrefillMS.Hard
				if a.DecodeStepMS != nil && x.osl > 1 && why == "" {
					f.last += float64(float64(x.osl-1)*a.DecodeStepMS.Hard) / accepted
				}
			}
			known[x] = f
		}
		first, okFirst := s.FirstContent()
		last, okLast := s.LastContent()
		ttft, e2e := float64(first-s.Sent)/1000, float64(last-s.Sent)/1000
		soon, early := okFirst && ttft < f.prefill, okLast && e2e < f.last
		if !soon && !early {
			continue
		}
		fast++
		found, floor, what := e2e, f.last, "e2e since sent"
		if soon {
			found, floor, what = ttft, f.prefill, "ttft since sent"
		}
		if share := floor / max(found, 0.001); share > worst {
			worst = share
			figure = Compared{what + " of request " + itoa(s.I) + " of repeat " + itoa(s.Repeat), milliseconds(found), "at least " + milliseconds(floor)}
		}
	}
	if fast > 0 {
		above = of(fast, int64(len(timed)), "timed request") + " took less time than its own bytes and arithmetic, alone on the devices; the worst: " +
			figure.Name + " is " + figure.Found + " where " + figure.Against[len("at least "):] + " are needed"
	}
	return figure, above
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
	if q, replicas, why = was.Recipe.Roof(&was.Model, &was.Target); why != "" {
		return q, 0, why
	}
	batch := 1.0
	if f.TPOT != nil {
		batch = *f.OutputTokPerSec * *f.TPOT.P50 / 1000 / float64(replicas)
	}
	q.Batch, q.Context = max(1, int64(batch)), w.ISL+w.OSL/2
	q.ISL, q.OSL, q.Concurrency = w.ISL, w.OSL, q.Batch
	if c := &in.Row.Counts; c.CachedTokens != nil && c.Completed > 0 {
		// Of the least prefill that any request can have had: the mean, rounded up.
		q.Cached = min((*c.CachedTokens+c.Completed-1)/c.Completed, w.ISL-1)
	}
	if w.Lengths != nil || w.Prompts.Kind != row.PromptsRandom {
		leastOf(in, &q)
	}
	return q, replicas, ""
}

// leastOf takes for requests of many lengths the least that any of them can have needed:
// each is held by itself besides.
func leastOf(in *Input, q *roofline.Query) {
	for i, s := range in.timed() {
		isl, cached := promptTokens(s, &in.Row.Workload), int64(0)
		osl, why := s.OutputTokens()
		if why != "" {
			osl = 1
		}
		if s.Cached != nil {
			cached = max(0, *s.Cached)
		}
		uncached := max(1, isl-cached)
		if i == 0 {
			q.ISL, q.OSL, q.Cached = uncached, osl, 0
		}
		q.ISL, q.OSL = min(q.ISL, uncached), max(1, min(q.OSL, osl))
	}
	q.Context, q.Cached = q.ISL, 0
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
