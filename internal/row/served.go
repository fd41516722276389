package row

// Served is what the server itself says that it took for the requests of a row, from
// their arrival to their last token: the sum over as many as it counted.
type Served struct {
	Seconds  float64
	Requests int64
}

// ServedFrom reads the latency histogram of the engines that keep one of whole requests.
// ok is false where there is none, where it counted nothing, or where the server was
// started again in between.
func ServedFrom(ev *Evidence) (s Served, ok bool) {
	return served(ev, "e2e_request_latency_seconds")
}

// FirstServedFrom is the same up to the first token, of every request that got one.
func FirstServedFrom(ev *Evidence) (s Served, ok bool) {
	return served(ev, "time_to_first_token_seconds")
}

func served(ev *Evidence, histogram string) (s Served, ok bool) {
	if ev == nil {
		return s, false
	}
	for _, d := range []struct{ engine, mark string }{
		{"vllm:", "vllm:num_requests_running"},
		{"sglang:", "sglang:num_running_reqs"},
	} {
		r := reading{ev.Metrics, d.mark}
		sum, n := r.rise([]string{d.engine + histogram + "_sum"}), whole(r.rise([]string{d.engine + histogram + "_count"}))
		if sum != nil && n != nil && *n > 0 {
			return Served{*sum, *n}, true
		}
	}
	return s, false
}
