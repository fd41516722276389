package row

import (
	"slices"

	"rowproof/internal/stats"
)

// series are the values that the figures of one repeat are taken from: milliseconds,
// or tokens a second, one entry a request or a gap.
type series struct {
	ttft, ttfa, send, tpot, itl, decode, ingest, chunk, e2e values
	prefill, uncached                                       values

	// why says, by figure, what kept a request or a gap out of it.
	why map[string]string
}

// values are one figure's samples in one repeat. The mean is summed as they came, and
// then they are sorted, once.
type values struct {
	list []float64
	mean float64
}

func (v *values) add(x float64) { v.list = append(v.list, x) }
func (v *values) len() int      { return len(v.list) }

func (v *values) done() {
	v.mean, _ = stats.Mean(v.list)
	slices.Sort(v.list)
}

// average is the mean, nil where there is no sample.
func (v *values) average() *float64 {
	if v.len() == 0 {
		return nil
	}
	m := v.mean
	return &m
}

func ms(us int64) float64 { return float64(us) / 1000 }

// newSeries reads the completed timed requests of one repeat; samples are all requests
// of that repeat.
func newSeries(samples []*Sample) *series {
	e := &series{why: map[string]string{}}
	busy := newPrefills(samples)
	for _, s := range samples {
		if s.Phase == PhaseTimed && s.OK() {
			e.request(s)
			e.gaps(s, busy)
		}
	}
	for _, v := range []*values{&e.ttft, &e.ttfa, &e.send, &e.tpot, &e.itl, &e.decode, &e.ingest, &e.chunk, &e.e2e, &e.prefill, &e.uncached} {
		v.done()
	}
	if e.itl.len() == 0 && e.why["itl_ms"] == "" {
		e.why["itl_ms"] = "no request brought a second token"
	}
	if e.decode.len() == 0 {
		e.why["itl_decode_ms"] = "no gap without another session between its sent and its first content"
		if e.itl.len() == 0 {
			e.why["itl_decode_ms"] = e.why["itl_ms"]
		}
	}
	if e.ingest.len() == 0 {
		e.why["ingest_gap_ms"] = "no gap stood beside another session's prefill"
		if e.itl.len() == 0 {
			e.why["ingest_gap_ms"] = e.why["itl_ms"]
		}
	}
	if e.chunk.len() == 0 && e.why["chunk_gap_ms"] == "" {
		e.why["chunk_gap_ms"] = "no request brought a second chunk"
	}
	return e
}

func (e *series) skip(figure, why string) {
	if e.why[figure] == "" {
		e.why[figure] = why
	}
}

// request adds what a request has one of.
func (e *series) request(s *Sample) {
	first, firstOK := s.FirstContent()
	last, lastOK := s.LastContent()
	if firstOK {
		ttft := first - s.Enqueued
		e.ttft.add(ms(ttft))
		e.send.add(ms(first - s.Sent))
		e.prompt(s, ttft)
	} else {
		why := "the first chunk has no stamp"
		if s.ContentChunks() == 0 {
			why = "no content arrived"
		}
		for _, figure := range []string{"ttft_ms", "send_ttft_ms", "prefill_tok_s", "uncached_prefill_tok_s"} {
			e.skip(figure, why)
		}
	}
	if at, why := s.answerAt(); why == "" {
		e.ttfa.add(ms(at - s.Enqueued))
	} else {
		e.skip("ttfa_ms", why)
	}
	if lastOK {
		e.e2e.add(ms(last - s.Enqueued))
	} else {
		e.skip("e2e_ms", "the last chunk has no stamp")
	}
	n, why := s.OutputTokens()
	switch {
	case why != "":
		e.skip("tpot_ms", why)
	case n <= 1:
		e.skip("tpot_ms", "no request brought more than one output token")
	case !firstOK || !lastOK:
		e.skip("tpot_ms", "the first or the last chunk has no stamp")
	default:
		if why := s.burst(); why != "" {
			e.skip("tpot_ms", why)
			return
		}
		e.tpot.add(float64(last-first) / float64(1000*(n-s.firstTokens())))
	}
}

// fastest is less than any engine takes for a token of one stream, in µs: tokens closer
// than that were held back and came together.
const fastest = 20

// firstTokens is how many tokens TPOT leaves out: the first, and with it the reasoning
// that was counted and not shown, which had passed before the first gap.
func (s *Sample) firstTokens() int64 {
	if s.Reasoning != nil && s.Answer == nil && s.tokensIn(0) > *s.Reasoning {
		return s.tokensIn(0)
	}
	return 1
}

// burst says why the times between a request's tokens tell nothing of how they were
// made, or is "".
func (s *Sample) burst() string {
	n, _ := s.OutputTokens()
	rest := n - s.firstTokens()
	first, firstOK := s.FirstContent()
	last, lastOK := s.LastContent()
	switch {
	case n <= 1 || !firstOK || !lastOK:
		return ""
	case s.ContentChunks() == 1 || rest <= 0:
		return "all tokens came in one chunk: the time between them can't be told"
	case s.hidden():
		return itoa(*s.Reasoning) + " tokens of reasoning were not shown: the time between tokens can't be told"
	case last-first < fastest*rest:
		return "all tokens came in a burst within " + itoa(last-first) + " µs: the time between them can't be told"
	}
	return ""
}

// hidden says that tokens of reasoning were counted and not shown, and that the chunks
// do not say where they stand.
func (s *Sample) hidden() bool {
	return s.Reasoning != nil && s.OSL != nil && s.Answer == nil && s.ChunkTokens() <= *s.OSL-*s.Reasoning
}

// prompt adds the request's prompt tokens a second.
func (e *series) prompt(s *Sample, ttft int64) {
	switch {
	case s.ISL == nil:
		e.skip("prefill_tok_s", "the server does not say how many tokens the prompt had")
		e.skip("uncached_prefill_tok_s", "the server does not say how many tokens the prompt had")
		return
	case ttft <= 0:
		e.skip("prefill_tok_s", "a time to first token of 0")
		e.skip("uncached_prefill_tok_s", "a time to first token of 0")
		return
	}
	e.prefill.add(float64(*s.ISL*1_000_000) / float64(ttft))
	if s.Cached == nil {
		e.skip("uncached_prefill_tok_s", "the server does not say which prompt tokens were cached")
		return
	}
	e.uncached.add(float64((*s.ISL-*s.Cached)*1_000_000) / float64(ttft))
}

// answerAt is the arrival of the first answer content.
func (s *Sample) answerAt() (at int64, why string) {
	if s.Answer == nil {
		at, ok := s.FirstContent()
		if !ok {
			return 0, "the first chunk has no stamp"
		}
		return at, ""
	}
	if *s.Answer < 0 {
		return 0, "no answer content came"
	}
	if !s.Kept() || *s.Answer >= int64(len(s.T)) {
		return 0, "the first answer chunk was not kept"
	}
	if at := s.arrivals()[*s.Answer]; at != NoStamp {
		return at, ""
	}
	return 0, "the first answer chunk has no stamp"
}

// gaps adds the times between the request's chunks. A gap on either side of a chunk
// without a stamp is left out: it cannot be told, nor how many tokens the next spans.
func (e *series) gaps(s *Sample, busy prefills) {
	if !s.Kept() {
		e.skip("itl_ms", "the gaps were not kept")
		e.skip("chunk_gap_ms", "the gaps were not kept")
		return
	}
	hide := s.spreadable()
	if hide == "" {
		hide = s.burst()
	}
	if hide != "" {
		e.skip("itl_ms", hide)
	}
	at := s.arrivals()
	token := int64(NoStamp) // the last chunk that ended a token
	if s.tokensIn(0) > 0 && len(at) > 0 {
		token = at[0]
	}
	for j := 1; j < len(at); j++ {
		from, to := at[j-1], at[j]
		if from != NoStamp && to != NoStamp {
			e.chunk.add(ms(to - from))
		}
		n := s.tokensIn(j)
		if n <= 0 {
			continue // a part of a token: the gap to the next one spans it
		}
		from, token = token, to
		if hide != "" || from == NoStamp || to == NoStamp {
			continue
		}
		each := float64(to-from) / float64(1000*n)
		ingest := busy.touch(from, to)
		for range n {
			e.itl.add(each)
			if ingest {
				e.ingest.add(each)
			} else {
				e.decode.add(each)
			}
		}
	}
}
