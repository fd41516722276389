package gate

import (
	"slices"

	"rowproof/internal/row"
)

// complete passes a row in which every planned request completed with tokens.
func complete(in *Input) Result {
	if r, none := in.noSamples(); none {
		return r
	}
	c := row.Count(&in.Row.Workload, in.Samples, nil)
	figures := []Compared{
		{"completed", itoa(c.Completed), itoa(c.Planned) + " planned"},
		{"failed", itoa(c.Failed), "0"},
	}
	var empty int64
	for _, s := range in.timed() {
		if n, why := s.OutputTokens(); n == 0 && why == "" {
			empty++
		}
	}
	untimed := failedUntimed(in.Samples)
	switch {
	case in.Row.Status != row.StatusOK:
		return fail("the row's status is "+in.Row.Status+": "+in.Row.Reason, figures...)
	case c.Failed > 0:
		return fail(of(c.Failed, c.Planned, "request")+" failed; the first: "+firstReason(in.Samples), figures...)
	case c.Completed != c.Planned:
		return fail(of(c.Completed, c.Planned, "planned request")+" completed", figures...)
	case c.Completed == 0:
		return fail("no timed request was made", figures...)
	case empty > 0:
		return fail(of(empty, c.Completed, "request")+" brought 0 tokens", append(figures, Compared{"with 0 tokens", itoa(empty), "0"})...)
	}
	if untimed > 0 {
		return warning(count(untimed, "request")+" failed before the timed ones", append(figures, Compared{"failed in the warm-up", itoa(untimed), "0"})...)
	}
	return pass(count(c.Completed, "request")+" planned and completed, 0 failed", figures...)
}

// failedUntimed counts the failures before the timed requests; a drain request may be
// ended by us.
func failedUntimed(samples []row.Sample) (n int64) {
	for i := range samples {
		if s := &samples[i]; s.Phase != row.PhaseTimed && s.Phase != row.PhaseDrain && !s.OK() {
			n++
		}
	}
	return n
}

func firstReason(samples []row.Sample) string {
	for i := range samples {
		if s := &samples[i]; s.Phase == row.PhaseTimed && !s.OK() {
			return s.Reason
		}
	}
	return ""
}

// lengths passes a row in which prompts and outputs were as long as asked, by the
// server's own count.
func lengths(in *Input) Result {
	if r, none := in.noSamples(); none {
		return r
	}
	w := &in.Row.Workload
	if w.Kind == "audio" {
		return notApplicable("audio has no lengths in tokens")
	}
	if text := in.unsaid("isl", "osl"); text != "" {
		return missing("what lengths were asked for: "+text, "import again with the --isl and --osl that the tool was run with")
	}
	timed := in.timed()
	if len(timed) == 0 {
		return missing("a completed request", "")
	}
	var isl, osl length
	for _, s := range timed {
		if s.ISL == nil || s.OSL == nil {
			return missing("usage: the server does not say how long prompt and output were", usageMend)
		}
		isl.add(*s.ISL, askedISL(s, w))
		osl.add(*s.OSL, askedOSL(s, w))
	}
	figures := []Compared{
		{"isl", span(isl.seen), span(isl.asked)},
		{"osl", span(osl.seen), span(osl.asked)},
	}
	all := int64(len(timed))
	text := ""
	if isl.off > 0 {
		text = of(isl.off, all, "request") + " had prompts of " + span(isl.seen) + " tokens where " + span(isl.asked) + " were asked"
	}
	if osl.off > 0 {
		if text != "" {
			text += "; "
		}
		text += of(osl.off, all, "request") + " brought " + span(osl.seen) + " tokens where " + span(osl.asked) + " were asked"
	}
	if text != "" {
		r := fail(text, figures...)
		switch {
		case isl.off > 0:
			r.Mend = "ask for prompts by token ids: /v1/completions of a server that takes them"
		case !w.Sampling.IgnoreEOS:
			r.Mend = "let outputs run on past the end token: vLLM and SGLang take ignore_eos, which this run did not send"
		case osl.short > 0:
			r.Mend = "ask for outputs as long as the server gives, or raise its limit on them"
		}
		return r
	}
	if text := statedLengths(w, timed); text != "" {
		return fail(text, figures...)
	}
	if isl.asked.Min == isl.asked.Max && osl.asked.Min == osl.asked.Max {
		return pass("every prompt had "+count(isl.asked.Min, "token")+" and every output "+itoa(osl.asked.Min), figures...)
	}
	return pass("every prompt and every output was as long as its own request asked", figures...)
}

// askedISL is how long a prompt should have been. Only of a trace each request has a
// length of its own; a dataset's prompt is a text, and as long as the server says.
func askedISL(s *row.Sample, w *row.Workload) int64 {
	switch {
	case w.Prompts.Kind == row.PromptsTrace && s.WantISL != nil:
		return *s.WantISL
	case w.Prompts.Kind == row.PromptsDataset && s.ISL != nil:
		return *s.ISL
	}
	return w.ISL
}

// askedOSL is how long an output should have been: one length for all random prompts.
func askedOSL(s *row.Sample, w *row.Workload) int64 {
	if w.Prompts.Kind == row.PromptsRandom || s.WantOSL == nil {
		return w.OSL
	}
	return *s.WantOSL
}

// statedLengths holds the medians and the p99 that the workload of a dataset or a trace
// states against what its requests asked for; "" where they agree. The workload's are of
// all that was planned, so only what no draw of them explains is off.
func statedLengths(w *row.Workload, timed []*row.Sample) string {
	l := w.Lengths
	if l == nil {
		return ""
	}
	var isl, osl []float64
	for _, s := range timed {
		isl = append(isl, float64(askedISL(s, w)))
		osl = append(osl, float64(askedOSL(s, w)))
	}
	for _, h := range []struct {
		name     string
		asked    []float64
		p50, p99 int64
	}{{"isl", isl, l.ISLP50, l.ISLP99}, {"osl", osl, l.OSLP50, l.OSLP99}} {
		slices.Sort(h.asked)
		at := func(permille int) int64 { return int64(h.asked[(len(h.asked)-1)*permille/1000]) }
		if h.p50 < at(250) || h.p50 > at(750) || h.p99 < at(900) || h.p99 < h.p50 || h.p99 > 2*at(1000) {
			return "the workload states a " + h.name + " of p50 " + itoa(h.p50) + " and p99 " + itoa(h.p99) + ", and its requests asked for " +
				itoa(at(0)) + " to " + itoa(at(1000)) + ", p50 " + itoa(at(500))
		}
	}
	return ""
}

// length is what was asked beside what was observed.
type length struct {
	off, short  int64
	seen, asked row.Range
	any         bool
}

func (l *length) add(n, asked int64) {
	if n != asked {
		l.off++
	}
	if n < asked {
		l.short++
	}
	if !l.any {
		l.seen, l.asked, l.any = row.Range{Min: n, Max: n}, row.Range{Min: asked, Max: asked}, true
	}
	l.seen.Min, l.seen.Max = min(l.seen.Min, n), max(l.seen.Max, n)
	l.asked.Min, l.asked.Max = min(l.asked.Min, asked), max(l.asked.Max, asked)
}

const usageMend = `let the server send usage: stream_options {"include_usage": true} must reach it`

// counted passes a row whose tokens the server counted, whose usage adds up, whose chunks
// hold as many tokens as usage says, and whose requests are all that the server served.
func counted(in *Input) Result {
	if r, none := in.noSamples(); none {
		return r
	}
	timed := in.timed()
	if len(timed) == 0 {
		return missing("a completed request", "")
	}
	var off int64
	var odd *row.Sample
	for _, s := range timed {
		if hole := s.Hole(); hole != "" {
			return fail(hole, Compared{"prompt + completion", itoa(sum(s.ISL, s.OSL)), itoa(*s.UsageTotal) + " total"})
		}
		if s.TokensFrom == row.TokensTool {
			return missing("usage: "+in.tool()+" counted the tokens, and its file does not say whether by usage or by a tokenizer of its own", "")
		}
		if s.OSL == nil || s.ISL == nil || s.TokensFrom == row.TokensClient {
			return missing("usage: the tokens were counted by us", usageMend)
		}
		if s.ChunkTokens() != *s.OSL {
			off++
			if odd == nil {
				odd = s
			}
		}
	}
	if odd != nil {
		return fail("usage disagrees with the chunks in "+of(off, int64(len(timed)), "request")+"; the first: request "+itoa(odd.I)+
			" has "+count(*odd.OSL, "token")+" by usage and "+itoa(odd.ChunkTokens())+" in its chunks",
			Compared{"tokens in the chunks", itoa(odd.ChunkTokens()), itoa(*odd.OSL)})
	}
	wrong, figures := in.counters()
	if wrong != nil {
		return *wrong
	}
	slow, seen := in.latency()
	if slow != nil {
		return *slow
	}
	figures = append(figures, seen...)
	return pass("usage adds up, and the chunks hold as many tokens as it says"+spreadWords(in), figures...)
}

func sum(values ...*int64) int64 {
	var n int64
	for _, v := range values {
		if v != nil {
			n += *v
		}
	}
	return n
}
