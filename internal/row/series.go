package row

// series are the values that the figures of one repeat are taken from: milliseconds,
// or tokens a second, one entry a request or a gap.
type series struct {
	ttft, ttfa, send, tpot, itl, decode, ingest, chunk, e2e []float64
	prefill, uncached                                       []float64

	// why says, by figure, what kept a request or a gap out of it.
	why map[string]string
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
	if len(e.itl) == 0 && e.why["itl_ms"] == "" {
		e.why["itl_ms"] = "no request brought a second token"
	}
	if len(e.decode) == 0 {
		e.why["itl_decode_ms"] = "no gap without another session between its sent and its first content"
		if len(e.itl) == 0 {
			e.why["itl_decode_ms"] = e.why["itl_ms"]
		}
	}
	if len(e.ingest) == 0 {
		e.why["ingest_gap_ms"] = "no gap stood beside another session's prefill"
		if len(e.itl) == 0 {
			e.why["ingest_gap_ms"] = e.why["itl_ms"]
		}
	}
	if len(e.chunk) == 0 && e.why["chunk_gap_ms"] == "" {
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
		e.ttft = append(e.ttft, ms(ttft))
		e.send = append(e.send, ms(first-s.Sent))
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
		e.ttfa = append(e.ttfa, ms(at-s.Enqueued))
	} else {
		e.skip("ttfa_ms", why)
	}
	if lastOK {
		e.e2e = append(e.e2e, ms(last-s.Enqueued))
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
		e.tpot = append(e.tpot, float64(last-first)/float64(1000*(n-1)))
	}
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
	e.prefill = append(e.prefill, float64(*s.ISL*1_000_000)/float64(ttft))
	if s.Cached == nil {
		e.skip("uncached_prefill_tok_s", "the server does not say which prompt tokens were cached")
		return
	}
	e.uncached = append(e.uncached, float64((*s.ISL-*s.Cached)*1_000_000)/float64(ttft))
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
	if hide != "" {
		e.skip("itl_ms", hide)
	}
	at := s.arrivals()
	for j := 1; j < len(at); j++ {
		from, to := at[j-1], at[j]
		if from == NoStamp || to == NoStamp {
			continue
		}
		e.chunk = append(e.chunk, ms(to-from))
		n := s.tokensIn(j)
		if hide != "" || n <= 0 {
			continue
		}
		each := float64(to-from) / float64(1000*n)
		ingest := busy.touch(from, to)
		for range n {
			e.itl = append(e.itl, each)
			if ingest {
				e.ingest = append(e.ingest, each)
			} else {
				e.decode = append(e.decode, each)
			}
		}
	}
}
