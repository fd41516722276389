package row

import "strconv"

// ServerClock is what a server's own clock said of one request, in ns; nil where it did
// not say.
type ServerClock struct {
	Load    *int64 `json:"load_ns,omitempty"`    // the model's loading, before the prompt
	Prefill *int64 `json:"prefill_ns,omitempty"` // of the prompt tokens that no cache served
	Decode  *int64 `json:"decode_ns,omitempty"`
	Total   *int64 `json:"total_ns,omitempty"` // the whole request, loading counted in
}

// Clock is what the server's own clock said of a row's completed timed requests, beside
// ours. A nil has no source.
type Clock struct {
	PrefillTokPerSec *float64 `json:"prefill_tok_s"` // prompt tokens computed, cached ones left out, ÷ its time for them
	DecodeTokPerSec  *float64 `json:"decode_tok_s"`  // output tokens ÷ its time for them
	TotalLessLoad    *float64 `json:"total_less_load_ms"`
}

// clockFrom sums what the requests say; nil where none says anything.
func clockFrom(samples []Sample) *Clock {
	var prefill, decode, total nsSum
	for i := range samples {
		s := &samples[i]
		if s.Phase != PhaseTimed || !s.OK() || s.Clock == nil {
			continue
		}
		if s.ISL != nil && s.Cached != nil {
			prefill.add(*s.ISL-*s.Cached, s.Clock.Prefill)
		}
		if n, why := s.OutputTokens(); why == "" && s.OSL != nil {
			decode.add(n, s.Clock.Decode)
		}
		if s.Clock.Total != nil && s.Clock.Load != nil {
			less := *s.Clock.Total - *s.Clock.Load
			total.add(1, &less)
		}
	}
	if prefill.ns == 0 && decode.ns == 0 && total.ns == 0 {
		return nil
	}
	c := &Clock{PrefillTokPerSec: prefill.rate(), DecodeTokPerSec: decode.rate()}
	if total.ns > 0 {
		v := float64(total.ns) / 1e6 / float64(total.n)
		c.TotalLessLoad = &v
	}
	return c
}

// nsSum is a count over a time.
type nsSum struct{ n, ns int64 }

func (s *nsSum) add(n int64, ns *int64) {
	if ns == nil || *ns <= 0 || n <= 0 {
		return
	}
	s.n, s.ns = s.n+n, s.ns+*ns
}

func (s *nsSum) rate() *float64 {
	if s.ns == 0 {
		return nil
	}
	v := float64(s.n) / (float64(s.ns) / 1e9)
	return &v
}

// specFrom sums what the requests say of speculation, in all phases as the server's own
// counters do; nil where none says anything.
func specFrom(samples []Sample) *Spec {
	var sum *Spec
	for i := range samples {
		p := samples[i].Spec
		if p == nil {
			continue
		}
		if sum == nil {
			sum = &Spec{}
		}
		sum.Drafts, sum.DraftTokens, sum.Accepted = sum.Drafts+p.Drafts, sum.DraftTokens+p.DraftTokens, sum.Accepted+p.Accepted
	}
	return sum
}

// note says the server's own clock, or "".
func (c *Clock) note() string {
	if c == nil {
		return ""
	}
	out := ""
	for _, f := range []struct {
		name string
		v    *float64
		n    int
	}{{"prefill_tok_s", c.PrefillTokPerSec, 2}, {"decode_tok_s", c.DecodeTokPerSec, 2}, {"total_less_load_ms", c.TotalLessLoad, 3}} {
		if f.v != nil {
			out += " " + f.name + "=" + strconv.FormatFloat(*f.v, 'f', f.n, 64)
		}
	}
	if out == "" {
		return ""
	}
	return "by the server's own clock:" + out
}
