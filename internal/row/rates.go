package row

// window is a stretch of µs since the row's zero, both ends included.
type window struct{ from, to int64 }

func (w window) holds(at int64) bool { return at >= w.from && at <= w.to }

// per is n a second over the window.
func (w window) per(n float64) float64 { return n * 1_000_000 / float64(w.to-w.from) }

// rates of one repeat. A nil has its reason in why, by figure.
type rates struct {
	windows                               []window
	decode, decodeWindow, total, requests *float64
	why                                   map[string]string
}

// newRates takes the rates of one repeat from all its requests.
func newRates(protocol string, samples []*Sample) *rates {
	r := &rates{why: map[string]string{}}
	if protocol == Sustained {
		r.sustained(samples)
	} else {
		r.passes(samples)
	}
	return r
}

func (r *rates) miss(why string, figures ...string) {
	for _, f := range figures {
		if r.why[f] == "" {
			r.why[f] = why
		}
	}
}

// bounds are the window of the timed requests of a pass or a repeat, from the first
// enqueue, and the arrival of their first content.
func bounds(timed []*Sample) (w window, first int64, why string) {
	done := false
	for i, s := range timed {
		if i == 0 || s.Enqueued < w.from {
			w.from = s.Enqueued
		}
		if !s.OK() {
			continue
		}
		a, okA := s.FirstContent()
		b, okB := s.LastContent()
		if !okA || !okB {
			continue
		}
		if !done || a < first {
			first = a
		}
		if !done || b > w.to {
			w.to = b
		}
		done = true
	}
	switch {
	case !done:
		return w, 0, "no timed request completed"
	case w.to <= w.from:
		return w, 0, "a window of no length"
	}
	return w, first, ""
}

var rateNames = []string{"decode_tok_s", "decode_window_tok_s", "output_tok_s", "total_tok_s", "request_s"}

// passes: tokens of a pass over its own window, averaged over the passes.
func (r *rates) passes(samples []*Sample) {
	windows := windowsOf(Passes, samples)
	if len(windows) == 0 {
		r.miss("no timed request completed", rateNames...)
		return
	}
	var decode, inner, total, requests []float64
	for _, pass := range windows {
		w, first, why := bounds(pass)
		if why != "" {
			r.miss(why, rateNames...)
			continue
		}
		r.windows = append(r.windows, w)
		var out, in, done int64
		for _, s := range pass {
			if !s.OK() {
				continue
			}
			done++
			n, why := s.OutputTokens()
			if why != "" {
				r.miss(why, "decode_tok_s", "decode_window_tok_s", "output_tok_s", "total_tok_s")
			}
			out += n
			if s.ISL == nil {
				r.miss("the server does not say how many tokens the prompts had", "total_tok_s")
			} else {
				in += *s.ISL
			}
		}
		decode = append(decode, w.per(float64(out)))
		total = append(total, w.per(float64(in+out)))
		requests = append(requests, w.per(float64(done)))
		if w.to > first {
			inner = append(inner, window{first, w.to}.per(float64(out)))
		} else {
			r.miss("the last content is the first", "decode_window_tok_s")
		}
	}
	r.decode = r.mean("decode_tok_s", decode)
	r.decodeWindow = r.mean("decode_window_tok_s", inner)
	r.total = r.mean("total_tok_s", total)
	r.requests = r.mean("request_s", requests)
}

func (r *rates) mean(figure string, values []float64) *float64 {
	if r.why[figure] != "" {
		return nil
	}
	return mean(values)
}

// sustained: every token that arrives in the window, whatever its request's phase. A
// request that we cut tells no prompt length; the timed ones' mean stands for it.
func (r *rates) sustained(samples []*Sample) {
	var timed []*Sample
	if all := windowsOf(Sustained, samples); len(all) > 0 {
		timed = all[0]
	}
	w, first, why := bounds(timed)
	if why != "" {
		r.miss(why, rateNames...)
		return
	}
	r.windows = []window{w}
	inner := window{first, w.to}
	usual := usualPrompt(timed)
	var out, innerOut, in float64
	var done int64
	for _, s := range samples {
		n, m, why := s.arrived(w, inner)
		if why != "" {
			r.miss(why, "decode_tok_s", "decode_window_tok_s", "output_tok_s", "total_tok_s")
		}
		out += n
		innerOut += m
		if at, ok := firstSeen(s); ok && w.holds(at) {
			switch {
			case s.ISL != nil:
				in += float64(*s.ISL)
			case s.Cut() && usual != nil:
				in += *usual
			case s.OK():
				r.miss("the server does not say how many tokens the prompts had", "total_tok_s")
			}
		}
		if at, ok := s.LastContent(); ok && s.OK() && !s.Cut() && w.holds(at) {
			done++
		}
	}
	put := func(figure string, v float64) *float64 {
		if r.why[figure] != "" {
			return nil
		}
		return &v
	}
	r.decode = put("decode_tok_s", w.per(out))
	r.total = put("total_tok_s", w.per(in+out))
	r.requests = put("request_s", w.per(float64(done)))
	if inner.to > inner.from {
		r.decodeWindow = put("decode_window_tok_s", inner.per(innerOut))
	} else {
		r.miss("the last content is the first", "decode_window_tok_s")
	}
}

// usualPrompt is the mean prompt length of the timed requests, nil where none tells.
func usualPrompt(timed []*Sample) *float64 {
	var lengths []float64
	for _, s := range timed {
		if s.OK() && s.ISL != nil {
			lengths = append(lengths, float64(*s.ISL))
		}
	}
	return mean(lengths)
}

// arrived counts the request's tokens that arrive in each of two windows. Chunks whose
// tokens do not sum to usage share the usage evenly; an unstamped chunk arrives with
// the next stamped one, or with the last. Where the gaps were not kept the tokens
// between the first and the last are taken as evenly spaced.
func (s *Sample) arrived(a, b window) (inA, inB float64, why string) {
	tokens := s.ChunkTokens()
	if tokens == 0 {
		return 0, 0, ""
	}
	scale := 1.0
	if s.OSL != nil || s.UsageTotal != nil {
		n, why := s.OutputTokens()
		if why != "" {
			return 0, 0, why
		}
		if n != tokens {
			scale = float64(n) / float64(tokens)
		}
	}
	var nA, nB int64
	add := func(at, n int64) {
		if a.holds(at) {
			nA += n
		}
		if b.holds(at) {
			nB += n
		}
	}
	if s.Kept() {
		at := s.arrivals()
		seen := s.Sent
		var waiting int64
		for j := range at {
			waiting += s.tokensIn(j)
			if at[j] != NoStamp {
				seen = at[j]
				add(seen, waiting)
				waiting = 0
			}
		}
		add(seen, waiting)
	} else if s.First != nil && s.Last != nil {
		for k := range tokens {
			at := s.Sent + *s.First
			if tokens > 1 {
				at += (*s.Last - *s.First) * k / (tokens - 1)
			}
			add(at, 1)
		}
	}
	return float64(float64(nA) * scale), float64(float64(nB) * scale), ""
}
