package row

// Count adds up the requests of all repeats; ev may be nil.
func Count(w *Workload, samples []Sample, ev *Evidence) Counts {
	var c Counts
	repeats := len(byRepeat(samples))
	var timed, cached, prompt, common int64
	cachedKnown := true
	for i := range samples {
		s := &samples[i]
		if s.Phase == PhaseDrain {
			c.Drained++
		} else if s.OK() {
			c.Retired++
		}
		if s.Phase != PhaseTimed {
			continue
		}
		timed++
		if !s.OK() {
			c.Failed++
			continue
		}
		c.Completed++
		c.chunks(s)
		c.ISL = widen(c.ISL, s.ISL)
		if s.Hole() == "" {
			c.OSL = widen(c.OSL, s.OSL)
		}
		if s.WantCached != nil {
			common += *s.WantCached
		}
		prompt += s.promptTokens(w)
		if s.Cached == nil {
			cachedKnown = false
		} else {
			cached += *s.Cached
		}
		if s.Reasoning != nil {
			if c.Reasoning == nil {
				c.Reasoning = new(int64)
			}
			*c.Reasoning += *s.Reasoning
		}
		c.TokensFrom = leastSure(c.TokensFrom, tokensFrom(s))
	}
	c.Planned = max(planned(w, repeats), timed)
	if w.DurationS != nil {
		c.Planned = timed
	}
	if c.Completed > 0 && cachedKnown {
		c.CachedTokens = &cached
	}
	if w.Prompts.Kind == PromptsTrace {
		c.PromptTokens, c.CommonTokens = &prompt, &common
	}
	if ev != nil {
		for _, k := range ev.Capture {
			c.SharedStamps += k.SharedStamps
		}
	}
	return c
}

// promptTokens is how long the prompt was: as the server says, else as it was asked for.
func (s *Sample) promptTokens(w *Workload) int64 {
	switch {
	case s.ISL != nil:
		return *s.ISL
	case s.WantISL != nil:
		return *s.WantISL
	}
	return w.ISL
}

func (c *Counts) chunks(s *Sample) {
	c.Chunks += s.ContentChunks()
	for _, n := range s.N {
		if n > 1 {
			c.MultiTokenChunks++
		}
	}
	for _, d := range s.T {
		if d == NoStamp {
			c.Unstamped++
		}
	}
}

// planned is how many timed requests the workload asks for over all its repeats.
func planned(w *Workload, repeats int) int64 {
	n := max(w.Repeats, int64(repeats))
	if w.Protocol == Sustained {
		if w.Requests == nil {
			return 0
		}
		return n * *w.Requests
	}
	iters := int64(1)
	if w.Iters != nil {
		iters = *w.Iters
	}
	concurrency := int64(1)
	if w.Load.Concurrency != nil {
		concurrency = *w.Load.Concurrency
	}
	return n * iters * concurrency
}

func widen(r *Range, v *int64) *Range {
	if v == nil {
		return r
	}
	if r == nil {
		return &Range{*v, *v}
	}
	r.Min, r.Max = min(r.Min, *v), max(r.Max, *v)
	return r
}

// tokensFrom says where the request's output tokens were counted.
func tokensFrom(s *Sample) string {
	switch {
	case s.TokensFrom != "":
		return s.TokensFrom
	case s.OSL != nil:
		return TokensUsage
	}
	return TokensClient
}

// leastSure keeps the weaker of two sources, so that one request counted by us marks
// the row.
func leastSure(a, b string) string {
	for _, source := range []string{TokensClient, TokensTool, TokensIDs, TokensUsage} {
		if a == source || b == source {
			return source
		}
	}
	return b
}
