package row

import (
	"math"
	"strings"
)

// dialect names one engine's series. A name left empty is not exposed.
type dialect struct {
	running, waiting, kvUsage     string // gauges
	preemptions, cached           string // counters
	drafts, draftTokens, accepted string // counters
	admitted, allocs, parkWaits   string // counters
	active, peak                  string // gauges
}

// dialects of the engines whose metrics are read, by the series' own names.
var dialects = []dialect{
	{
		running: "vllm:num_requests_running", waiting: "vllm:num_requests_waiting",
		kvUsage: "vllm:kv_cache_usage_perc", preemptions: "vllm:num_preemptions_total",
		cached: "vllm:prefix_cache_hits_total", drafts: "vllm:spec_decode_num_drafts_total",
		draftTokens: "vllm:spec_decode_num_draft_tokens_total", accepted: "vllm:spec_decode_num_accepted_tokens_total",
	},
	{
		running: "sglang:num_running_reqs", waiting: "sglang:num_queue_reqs",
		kvUsage: "sglang:token_usage", preemptions: "sglang:num_retracted_requests_total",
		cached: "sglang:cached_tokens_total",
	},
	{
		running: "rowproof:num_requests_running", waiting: "rowproof:num_requests_waiting",
		kvUsage: "rowproof:kv_cache_usage_perc", preemptions: "rowproof:num_preemptions_total",
		cached: "rowproof:cached_tokens_total", admitted: "rowproof:admitted_tokens_total",
		allocs: "rowproof:num_allocs_total", parkWaits: "rowproof:num_inflight_park_waits_total",
		active: "rowproof:active_bytes", peak: "rowproof:peak_active_bytes",
	},
}

// ServerFrom reads what the engine's own series said during a row. A series that the
// engine does not expose is nil.
func ServerFrom(ev *Evidence) Server {
	if ev == nil || len(ev.Metrics) == 0 {
		return Server{}
	}
	for _, d := range dialects {
		r := reading{ev.Metrics}
		if r.most(d.running, false) == nil {
			continue
		}
		s := Server{
			RunningMax:  whole(r.most(d.running, false)),
			WaitingMax:  whole(r.most(d.waiting, false)),
			KVUsageMax:  r.most(d.kvUsage, true),
			Preemptions: whole(r.rise(d.preemptions)),
			CachedTok:   whole(r.rise(d.cached)),
			AdmittedTok: whole(r.rise(d.admitted)),
			PeakActive:  whole(r.peak(d.active, d.peak)),
			NumAllocs:   whole(r.rise(d.allocs)),
			ParkWaits:   whole(r.rise(d.parkWaits)),
		}
		drafts, tokens, accepted := whole(r.rise(d.drafts)), whole(r.rise(d.draftTokens)), whole(r.rise(d.accepted))
		if drafts != nil && tokens != nil && accepted != nil {
			s.Spec = &Spec{*drafts, *tokens, *accepted}
		}
		return s
	}
	return Server{}
}

// reading asks one row's metric samples for series by name.
type reading struct{ samples []MetricSample }

// at is a series in one sample: its label sets summed, or the greatest of them.
func (r reading) at(i int, name string, greatest bool) (float64, bool) {
	if name == "" {
		return 0, false
	}
	sum, most, found := 0.0, 0.0, false
	// Few label sets and whole numbers: the order of a map does not change the sum.
	for key, v := range r.samples[i].Values {
		if !strings.HasPrefix(key, name) || len(key) > len(name) && key[len(name)] != '{' || math.IsNaN(v) {
			continue
		}
		sum += v
		if !found || v > most {
			most = v
		}
		found = true
	}
	if greatest {
		return most, found
	}
	return sum, found
}

// most is the greatest value over the samples.
func (r reading) most(name string, greatest bool) *float64 {
	var out *float64
	for i := range r.samples {
		if v, ok := r.at(i, name, greatest); ok && (out == nil || v > *out) {
			out = &v
		}
	}
	return out
}

// rise is how far a counter rose from the first sample that has it to the last; nil
// where it fell, which a restart of the server does.
func (r reading) rise(name string) *float64 {
	var first, last *float64
	for i := range r.samples {
		if v, ok := r.at(i, name, false); ok {
			if first == nil {
				first = &v
			}
			if last != nil && v < *last {
				return nil
			}
			last = &v
		}
	}
	if first == nil {
		return nil
	}
	v := *last - *first
	return &v
}

// peak is the most memory in use during the row: the engine's own high-water mark where
// it moved, since it then moved within the row, else the greatest reading.
func (r reading) peak(active, mark string) *float64 {
	if up := r.rise(mark); up != nil && *up > 0 {
		return r.most(mark, false)
	}
	return r.most(active, false)
}

func whole(v *float64) *int64 {
	if v == nil || math.IsInf(*v, 0) {
		return nil
	}
	n := int64(math.Round(*v))
	return &n
}
