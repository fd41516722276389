package gate

import (
	"cmp"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/stats"
)

func number(v float64) string { return roofline.Number(v) }

// ceiling holds the row against the hard roof of its own hardware, without slack: no
// token may come faster than its bytes can be read, no prompt sooner than its
// arithmetic can be done. What passes its roof fails, by its true percentage, with every
// cause that could explain it tried. It is held by the report's own copies of recipe, model
// and target, and where a catalogue says otherwise now by that too: the copies are what
// the report says of itself.
func ceiling(in *Input) Result {
	r := in.ceilingBy(in.Report.AsItWas)
	if in.Today == nil || len(in.Today.Differ) == 0 || r.Answer.Blocks() {
		return r
	}
	today := in.ceilingBy(&in.Today.AsItIs)
	if today.Answer != Fail {
		return r
	}
	today.Reason = in.Today.Words() + ". By the catalogue " + today.Reason
	return today
}

// ceilingBy holds the row by one account of its recipe, model and target.
func (in *Input) ceilingBy(was *row.AsItWas) Result {
	f := &in.Row.Figures
	switch {
	case was == nil:
		return missing("a recipe: model, target, dtypes and layout are unknown", recipeMend)
	case f.TTFT == nil || f.TTFT.P50 == nil:
		return missing("a TTFT", "")
	case in.Row.Counts.CachedTokens == nil && in.prefixHits() == nil:
		return missing("cached tokens: what of the prompt was computed is unknown", cachedMend)
	}
	h, step, why := in.held(was)
	if why != "" {
		return missing(why, "")
	}
	a := roofline.Ceiling(h.Decode)
	if f.TPOT != nil && a.DecodeStepMS == nil {
		return missing("the ceiling: "+a.Missing["decode_step_ms"], "")
	}
	if p := roofline.Ceiling(h.Prefill); p.PrefillMS == nil {
		return missing("the ceiling of prefill: "+p.Missing["prefill_ms"], "")
	}
	var figures []Compared
	var above []string
	var explain []roofline.Held // what passes its roof by figures of its own
	if f.TPOT != nil {
		in.afterFirstChunk(&step)
		t := h
		t.Figure, t.Value = roofline.HeldTPOT, step.TPOT
		roof := t.Roof()
		found, least := inDigits(t.Value, roof, " ms")
		figures = append(figures, Compared{step.Name, found, "at least " + least})
		if t.Value < roof {
			above = append(above, step.Name+" "+found+" is below the hard roof "+least+
				" at a batch of "+itoa(h.Decode.Batch)+" and "+itoa(h.Decode.Context)+" tokens each: "+ofRoof(t.Share())+" of the roof")
			explain = append(explain, t)
		}
	}
	t := h
	t.Figure, t.Value = roofline.HeldTTFT, *f.TTFT.P50
	roof := t.Roof()
	found, least := inDigits(t.Value, roof, " ms")
	figures = append(figures, Compared{"ttft_ms.p50", found, "at least " + least})
	if t.Value < roof {
		above = append(above, "TTFT p50 "+found+" is below the prefill of "+count(h.Prefill.ISL-h.Prefill.Cached, "uncached token")+
			", "+least+": "+ofRoof(t.Share())+" of the roof")
		explain = append(explain, t)
	}
	for _, hold := range []func(*Input, roofline.Held) (Compared, string, roofline.Held){servingRoof, requestRoof} {
		figure, text, over := hold(in, h)
		if figure.Name != "" {
			figures = append(figures, figure)
		}
		if text != "" {
			above = append(above, text)
			if len(explain) == 0 {
				explain = append(explain, over)
			}
		}
	}
	if len(above) > 0 {
		text := ""
		for i, a := range above {
			if i > 0 {
				text += "; "
			}
			text += a
		}
		result := Result{Answer: Fail, Figures: figures}
		for i := range explain {
			tried := in.known(explain[i]).Causes()
			text += causes(explain[i].Figure, tried)
			result.Causes = append(result.Causes, tried...)
		}
		result.Reason = text
		return result
	}
	if f.TPOT == nil {
		return Result{Answer: Pass, Reason: "below the roof", Figures: figures}
	}
	return Result{Answer: Pass, Reason: below(h, step), Figures: figures}
}

// known fills in from the catalogue what explains a figure above its roof and bounds none,
// where the row's copy of its target is older and does not state it.
func (in *Input) known(h roofline.Held) *roofline.Held {
	if in.Today == nil || h.Decode.Target == nil {
		return &h
	}
	t, today := *h.Decode.Target, &in.Today.AsItIs.Target
	t.CacheBytes = cmp.Or(t.CacheBytes, today.CacheBytes)
	t.MemoryBusBits = cmp.Or(t.MemoryBusBits, today.MemoryBusBits)
	t.MaxMemoryClockMHz = cmp.Or(t.MaxMemoryClockMHz, today.MaxMemoryClockMHz)
	h.Decode.Target, h.Prefill.Target = &t, &t
	return &h
}

// afterFirstChunk takes the tokens that came with a request's first one out of its TPOT,
// where there are any: no step stands between those.
func (in *Input) afterFirstChunk(step *row.Step) {
	var times []float64
	together := false
	for _, s := range in.timed() {
		n, why := s.OutputTokens()
		first, okFirst := s.FirstContent()
		last, okLast := s.LastContent()
		head := int64(1)
		if len(s.N) > 0 && s.Reasoning == nil {
			head = max(1, s.N[0])
		}
		if why != "" || !okFirst || !okLast || n <= head {
			continue
		}
		together = together || head > 1
		times = append(times, float64(last-first)/float64(1000*(n-head)))
	}
	if !together {
		return
	}
	middle := stats.Median
	if step.Mean {
		middle = stats.Mean
	}
	if v, ok := middle(times); ok {
		step.Name, step.TPOT = step.Name+" after the first chunk", v
	}
}

// below says how near a healthy row comes to its roof, and to the expected line where
// experts make that another.
func below(h roofline.Held, step row.Step) string {
	h.Figure, h.Value = roofline.HeldTPOT, step.TPOT
	reason := ofRoof(h.Share()) + " of the hard roof at a batch of " + itoa(h.Decode.Batch)
	if h.Decoding > 1 {
		reason += " a replica"
	}
	if expected := h.Expected(); expected > h.Roof() && routed(h.Decode.Model) {
		reason += ", " + percent(expected/h.Value) + " of the expected one"
		if expected > h.Value {
			reason += ": its tokens shared more experts than chance gives them"
		}
	}
	return reason
}

// routed says whether tokens pass a few of many experts.
func routed(m *roofline.Model) bool {
	for i := range m.Architecture.Layers {
		if m.Architecture.Layers[i].FFN.Experts > 0 {
			return true
		}
	}
	return false
}

// causes lists what was tried, each with its recomputed ceiling, what explains it first.
func causes(figure string, tried []roofline.Cause) string {
	text := causesTried + map[string]string{
		roofline.HeldTPOT: "the TPOT", roofline.HeldTTFT: "the TTFT",
		roofline.HeldE2E: "that request", roofline.HeldRate: "the rate",
	}[figure] + ": "
	for i, c := range tried {
		if i > 0 {
			text += "; "
		}
		text += c.Text
	}
	return text
}

// servingRoof holds the output rate against what the replicas' devices can serve at the
// row's shape and concurrency: each request has its prefill and its share of the weights
// to pay for.
func servingRoof(in *Input, h roofline.Held) (figure Compared, above string, over roofline.Held) {
	rate, c := in.Row.Figures.OutputTokPerSec, in.Row.Workload.Load.Concurrency
	if rate == nil || c == nil {
		return figure, "", h
	}
	h.Figure, h.Value = roofline.HeldRate, *rate
	h.Decode.Concurrency = *c // of one replica at most: more streams share the weights better
	h.Prefill.Concurrency, h.Offered = *c, *c
	h.Prefill.Cached = h.Decode.Cached // of all prompts together
	if e := in.Row.Figures.E2E; e != nil && e.Mean != nil {
		h.E2EMS = *e.Mean
	}
	roof := h.Roof()
	if !(roof > 0) {
		return figure, "", h
	}
	found, most := inDigits(*rate, roof, "")
	figure = Compared{"output_tok_s", found, "at most " + most}
	if *rate > roof {
		above = "the output rate " + found + " tok/s is above " + most + ", all that the devices can serve at " +
			itoa(h.Decode.ISL) + ":" + itoa(h.Decode.OSL) + " and a concurrency of " + itoa(*c) + ": " + ofRoof(h.Share()) + " of the roof"
	}
	return figure, above, h
}

// requestRoof holds every timed request by itself: its first content cannot come before
// the arithmetic of its uncached prompt, nor its last before that and one step alone for
// each further token, or for as many as a step can bring where tokens are drafted.
func requestRoof(in *Input, h roofline.Held) (figure Compared, above string, worst roofline.Held) {
	type shape struct{ isl, osl, cached int64 }
	type floors struct {
		held          roofline.Held
		prefill, last float64 // ms since sent; NaN is never passed below
	}
	if gamma := h.Decode.Gamma; gamma > 0 { // one request may have all its drafts accepted
		h.Drafted, h.Yielded = float64(gamma), float64(gamma+1)
		h.Decode.Accepted = h.Yielded
	}
	h.Output = 0
	known := map[shape]floors{}
	var fast int64
	timed := in.timed()
	most := 0.0
	for _, s := range timed {
		osl, why := s.OutputTokens()
		x := shape{promptTokens(s, &in.Row.Workload), max(osl, 1), 0}
		if why != "" {
			x.osl = 1
		}
		x.cached = in.cachedAtMost(s, x.isl)
		f, ok := known[x]
		if !ok {
			f.held = alone(h, x.isl, x.osl, x.cached)
			f.held.Figure = roofline.HeldTTFT
			f.prefill = f.held.Roof()
			f.held.Figure = roofline.HeldE2E
			f.last = f.held.Roof()
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
		of, floor, what := f.held, f.last, "e2e since sent"
		of.Value = e2e
		if soon {
			of.Figure, of.Value = roofline.HeldTTFT, ttft
			floor, what = f.prefill, "ttft since sent"
		}
		if share := floor / max(of.Value, 0.001); share > most {
			most, worst = share, of
			found, least := inDigits(of.Value, floor, " ms")
			figure = Compared{what + " of request " + itoa(s.I) + " of repeat " + itoa(s.Repeat), found, "at least " + least}
		}
	}
	if fast > 0 {
		above = of(fast, int64(len(timed)), "timed request") + " took less time than its own bytes and arithmetic, alone on the devices; the worst: " +
			figure.Name + " is " + figure.Found + " where " + figure.Against[len("at least "):] + " are needed"
	}
	return figure, above, worst
}

// alone asks for one request with the devices to itself.
func alone(h roofline.Held, isl, osl, cached int64) roofline.Held {
	for _, q := range []*roofline.Query{&h.Decode, &h.Prefill} {
		q.Batch, q.Concurrency = 1, 1
		q.ISL, q.OSL, q.Cached = isl, osl, cached
	}
	h.Decode.Context = int64(h.Decode.MeanContext(isl+1, isl+osl-1))
	h.Cached, h.Asked = &cached, osl
	return h
}

// cachedAtMost is how much of a request's prompt a cache can have served: what the server
// says of it, or else all that its own counter saw over the row. At least one token of a
// prompt is computed.
func (in *Input) cachedAtMost(s *row.Sample, isl int64) int64 {
	var cached int64
	if s.Cached != nil {
		cached = *s.Cached
	} else if hits := in.prefixHits(); hits != nil {
		cached = *hits
	}
	return max(0, min(cached, isl-1))
}

// prefixHits are the server's own count of prompt tokens that a cache served, read once.
func (in *Input) prefixHits() *int64 {
	if !in.hitsRead {
		in.hits, in.hitsRead = row.PrefixHits(in.Evidence), true
	}
	return in.hits
}

// held is the row's own point, against which its figures are held: batch by Little's law,
// rounded down, and the mean context. Rounding down lowers the roof's time, so it never
// fails a row unjustly.
func (in *Input) held(was *row.AsItWas) (h roofline.Held, step row.Step, why string) {
	w := &in.Row.Workload
	h.Apart = was.Recipe.Apart()
	if in.Row.Figures.TPOT == nil {
		h.Decode, h.Decoding, why = was.Recipe.Roof(&was.Model, &was.Target)
		h.Decode.Batch = 1
	} else {
		step, why = was.Step(in.Row)
		h.Decode, h.Decoding, h.Drafted = step.Query, step.Replicas, step.Drafted
		if step.Drafted > 0 {
			h.Yielded = step.Yielded
		}
	}
	if why != "" {
		return h, step, why
	}
	if h.Prefill, h.Filling, why = was.Recipe.PrefillRoof(&was.Model, &was.Target); why != "" {
		return h, step, why
	}
	h.Asked = w.OSL
	c := &in.Row.Counts
	if c.OSL != nil && c.TokensFrom != row.TokensClient {
		h.Output = c.OSL.Max
	}
	isl, osl, cached := w.ISL, w.OSL, int64(0)
	if c.CachedTokens != nil && c.Completed > 0 {
		cached = min((*c.CachedTokens+c.Completed-1)/c.Completed, w.ISL-1) // the mean, rounded up
		h.Cached = &cached
	} else if hits := in.prefixHits(); hits != nil && c.Completed > 0 {
		cached = min((*hits+c.Completed-1)/c.Completed, w.ISL-1)
		h.Cached = &cached
	}
	if w.Lengths != nil || w.Prompts.Kind != row.PromptsRandom {
		isl, osl = in.least()
		cached = 0
		h.Decode.Context = isl
		h.Asked = 0
	}
	for _, q := range []*roofline.Query{&h.Decode, &h.Prefill} {
		q.ISL, q.OSL, q.Cached, q.Concurrency = isl, osl, cached, h.Decode.Batch
	}
	h.Prefill.Batch = 1
	for _, s := range in.timed() { // half of the prompts may have had more of a cache than the mean
		if cached > 0 {
			h.Prefill.Cached = max(h.Prefill.Cached, in.cachedAtMost(s, isl))
		}
	}
	return h, step, ""
}

// least takes for requests of many lengths the least that any of them can have needed:
// of prompts what no cache served. Each is held by itself besides.
func (in *Input) least() (isl, osl int64) {
	isl, osl = in.Row.Workload.ISL, in.Row.Workload.OSL
	for i, s := range in.timed() {
		n := promptTokens(s, &in.Row.Workload)
		out, why := s.OutputTokens()
		if why != "" {
			out = 1
		}
		uncached := max(1, n-in.cachedAtMost(s, n))
		if i == 0 {
			isl, osl = uncached, max(1, out)
		}
		isl, osl = min(isl, uncached), max(1, min(osl, out))
	}
	return isl, osl
}
