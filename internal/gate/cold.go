package gate

import (
	"slices"

	"rowproof/internal/row"
)

// cachedSlack is how many tokens beyond the declared prefix a cold prompt may find
// cached: two random prompts share their first now and then, and a block holds 16.
// cachedShare is how much of all prompt tokens.
const (
	cachedSlack = 16
	cachedShare = 0.005
)

const cachedMend = "start vLLM with --enable-prompt-tokens-details, SGLang with --enable-cache-report, or either with its metrics on"

// cold passes a row whose prompts no prefix cache served, or, of a trace or of sessions,
// whose prompts it served no more than they repeat each other.
func cold(in *Input) Result {
	r := in.coldByRequests()
	if r.Answer != Pass {
		return r
	}
	if text := in.hitsApart(); text != "" {
		return fail(text, r.Figures...)
	}
	return r
}

// hitsApart says where the server's hit counter and what it said of each request are apart.
// Of a request whose cached tokens are not told the counter may hold the whole prompt; of
// one that was preempted it counts them again.
func (in *Input) hitsApart() string {
	hits := row.PrefixHits(in.Evidence)
	if hits == nil || in.Row.Starts() > 1 {
		return ""
	}
	w := &in.Row.Workload
	var told, untold, total int64
	for i := range in.Samples {
		s := &in.Samples[i]
		total += promptTokens(s, w)
		if s.Cached == nil {
			untold += promptTokens(s, w)
			continue
		}
		told += *s.Cached
	}
	slack := max(cachedSlack, int64(cachedShare*float64(total)))
	preempted := in.Row.Server.Preemptions != nil && *in.Row.Server.Preemptions > 0
	switch {
	case *hits > told+untold+slack && !preempted:
		return "the hit counter rose by " + itoa(*hits) + " tokens, and the requests say that " + itoa(told) + " were cached: one of the two is not of this row"
	case told > *hits+slack:
		return "the requests say that " + itoa(told) + " tokens were cached, and the hit counter rose by " + itoa(*hits) + ": one of the two is not of this row"
	}
	return ""
}

func (in *Input) coldByRequests() Result {
	w := &in.Row.Workload
	if w.Prompts.State == row.Warm {
		return notApplicable("the row declares warm prompts")
	}
	if r, none := in.noSamples(); none {
		return r
	}
	if r, bad := in.prompts(); bad {
		return r
	}
	var unnamed int64
	for i := range in.Samples {
		if in.Samples[i].Prompt == "" {
			unnamed++
		}
	}
	if unnamed > 0 {
		return missing("the prompt's hash of "+of(unnamed, int64(len(in.Samples)), "request")+": whether it was sent twice is unknown", "")
	}
	timed := in.timed()
	if len(timed) == 0 {
		return missing("a completed request", "")
	}
	if w.Sessions != nil && !slices.ContainsFunc(in.Samples, func(s row.Sample) bool { return s.Session > 0 }) {
		return fail("the row declares sessions, and no request is of one", Compared{"requests of a session", "0", "each"})
	}
	expected, some := in.expectedHits()
	if w.Prompts.Kind == row.PromptsTrace && !some {
		return missing("the trace's theoretical share of cached tokens: no request says how much of its prompt came before", "")
	}
	var most, beyond, total, hits int64
	for _, s := range timed {
		if s.Cached == nil {
			return in.coldByCounter()
		}
		over := max(0, *s.Cached-w.Prompts.SharedPrefix)
		most = max(most, over)
		beyond += over
		total += promptTokens(s, w)
		hits += *s.Cached
	}
	if some {
		return commonHits(hits, expected+int64(len(timed))*w.Prompts.SharedPrefix, total)
	}
	share := float64(beyond) / float64(max(total, 1))
	figures := []Compared{
		{"most cached tokens of a request beyond the declared prefix", itoa(most), "at most " + itoa(cachedSlack)},
		{"share of all prompt tokens", percent(share), "at most " + percent(cachedShare)},
	}
	switch {
	case most > cachedSlack:
		return stale(fail("a request found "+count(most, "token")+" cached beyond the declared prefix; a cold prompt finds at most "+itoa(cachedSlack), figures...))
	case share > cachedShare:
		return stale(fail(percent(share)+" of the prompt tokens were cached; a cold row has at most "+percent(cachedShare), figures...))
	}
	return pass(of(beyond, total, "prompt token")+" were cached beyond the declared prefix, and no prompt was sent twice", figures...)
}

// commonHits holds the cached tokens of all requests against those that their prompts have
// in common. Which of two requests under way together finds the other's tokens is the
// server's to choose, but it can be only one of them: the sum does not depend on it.
func commonHits(hits, expected, total int64) Result {
	part := func(n int64) string { return percent(float64(n) / float64(max(total, 1))) }
	beyond := max(0, hits-expected)
	figures := []Compared{
		{"share of all prompt tokens beyond what they have in common", part(beyond), "at most " + percent(cachedShare)},
		{"cached share of the prompt tokens", part(hits), "in theory " + part(expected)},
	}
	if float64(beyond) > float64(cachedShare*float64(total)) {
		return stale(fail(itoa(beyond)+" or "+part(beyond)+" of the prompt tokens were cached beyond what its prompts have in common; a cold row has at most "+percent(cachedShare), figures...))
	}
	return pass(of(hits, total, "prompt token")+" were cached where "+itoa(expected)+" came before in their repeat", figures...)
}

// stale says what mends a row whose prompts were there before it. bench empties no cache
// by itself: that would also spare the server the evictions of a full one, which are
// part of what is measured.
func stale(r Result) Result {
	r.Mend = "send other prompts (another --seed), or empty the server's cache before the run: SGLang by POST /flush_cache, vLLM in its development mode by POST /reset_prefix_cache"
	return r
}

// expectedHits is how many prompt tokens of the timed requests earlier prompts of their
// repeat held already; some is false where no request says.
func (in *Input) expectedHits() (tokens int64, some bool) {
	for _, s := range in.timed() {
		tokens += in.wantCached(s)
		some = some || in.repeating() && s.WantCached != nil
	}
	return tokens, some
}

// repeating says whether prompts may have a beginning in common that is not declared: a
// trace's have by their hash ids, and a session's turns by what was said before.
func (in *Input) repeating() bool {
	w := &in.Row.Workload
	return w.Prompts.Kind == row.PromptsTrace || w.Sessions != nil
}

// wantCached is how many of a request's prompt tokens an earlier prompt held already.
func (in *Input) wantCached(s *row.Sample) int64 {
	if s.WantCached == nil || !in.repeating() {
		return 0
	}
	return max(0, min(*s.WantCached, promptTokens(s, &in.Row.Workload)))
}

func promptTokens(s *row.Sample, w *row.Workload) int64 {
	if s.ISL != nil {
		return *s.ISL
	}
	return askedISL(s, w)
}

// prompts fails a prompt that was sent twice, in this row or in another one. A trace may
// repeat one within a repeat, if the request says that it came before.
func (in *Input) prompts() (Result, bool) {
	seen := make(map[string]int64, len(in.Samples))
	block := int64(cachedSlack)
	if b := in.Row.Workload.Block; b != nil {
		block = max(block, *b)
	}
	for i := range in.Samples {
		s := &in.Samples[i]
		if s.Prompt == "" {
			continue
		}
		if first, ok := seen[s.Prompt]; ok && (in.Samples[first].Repeat != s.Repeat || in.wantCached(s)+block < promptTokens(s, &in.Row.Workload)) {
			return fail("a prompt was sent twice: requests "+itoa(first)+" and "+itoa(int64(i))+" of the samples file",
				Compared{"prompt", s.Prompt, "sent once"}), true
		}
		seen[s.Prompt] = int64(i)
		if in.Corpus == nil || in.Row.Workload.Prompts.Kind == row.PromptsDataset {
			continue // a dataset's prompts are every run's: what was cached tells
		}
		if other, ok := in.Corpus.Prompts[s.Prompt]; ok && other != in.Row.ID {
			return fail("a prompt of this row was also sent in row "+other,
				Compared{"prompt", s.Prompt, "sent in one row"}), true
		}
	}
	return Result{}, false
}

// coldByCounter judges by the hit counter's rise over the whole row, all phases.
func (in *Input) coldByCounter() Result {
	hits := row.PrefixHits(in.Evidence)
	if hits == nil {
		return missing("cached tokens, by request or by the server's hit counter", cachedMend)
	}
	w := &in.Row.Workload
	var total int64
	var expected int64
	for i := range in.Samples {
		total += promptTokens(&in.Samples[i], w)
		expected += in.wantCached(&in.Samples[i]) + w.Prompts.SharedPrefix
	}
	beyond := max(0, *hits-expected)
	share := float64(beyond) / float64(max(total, 1))
	figures := []Compared{{"share of all prompt tokens, by the hit counter", percent(share), "at most " + percent(cachedShare)}}
	if share > cachedShare {
		return stale(fail("the hit counter rose by "+itoa(*hits)+", "+itoa(beyond)+" or "+percent(share)+" of the prompt tokens more than they have in common; a cold row has at most "+percent(cachedShare), figures...))
	}
	return pass("the hit counter rose by "+itoa(*hits)+" over "+count(total, "prompt token")+", and no prompt was sent twice", figures...)
}
