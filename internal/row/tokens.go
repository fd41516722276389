package row

// Counted is what a server's own counters say of a row's tokens, over all its requests;
// nil where it exposes no such counter, or started again meanwhile.
type Counted struct{ Generated, Prompts *int64 }

// CountedFrom reads the counters of the engines whose totals are of whole tokens.
func CountedFrom(ev *Evidence) Counted {
	if ev == nil {
		return Counted{}
	}
	for _, engine := range []string{"vllm:", "sglang:"} {
		r := reading{ev.Metrics, engine + "num_requests_running"}
		if engine == "sglang:" {
			r.mark = "sglang:num_running_reqs"
		}
		c := Counted{
			Generated: whole(r.rise([]string{engine + "generation_tokens_total"})),
			Prompts:   whole(r.rise([]string{engine + "prompt_tokens_total"})),
		}
		if c.Generated != nil || c.Prompts != nil {
			return c
		}
	}
	return Counted{}
}

// PrefixHits is how many prompt tokens the server's own counters say that a cache served
// over the whole row, in all its phases; nil where they do not tell. SGLang shows its
// counter of hits only once there was one, but counts beside it all prompt tokens and
// those that it computed.
func PrefixHits(ev *Evidence) *int64 {
	if hits := ServerFrom(ev).CachedTok; hits != nil {
		return hits
	}
	if ev == nil {
		return nil
	}
	r := reading{ev.Metrics, "sglang:num_running_reqs"}
	all, computed := r.rise([]string{"sglang:prompt_tokens_histogram_sum"}), r.rise([]string{"sglang:uncached_prompt_tokens_histogram_sum"})
	if all == nil || computed == nil || *computed > *all {
		return nil
	}
	hits := *all - *computed
	return whole(&hits)
}
