package row

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// dialect names one engine's series. Where an engine has renamed one, the newest name
// comes first; a list left empty is not exposed.
type dialect struct {
	running, waiting, kvUsage     []string // gauges
	preemptions, cached           []string // counters
	drafts, draftTokens, accepted []string // counters
	admitted, allocs, parkWaits   []string // counters
	active, peak                  []string // gauges
	kvUsed                        []string // gauge: tokens in use
}

// dialects of the engines whose metrics are read, by the series' own names. Not read:
// histograms, whose least bucket tells nothing of a short wait; rates and lengths that
// an engine averages over a time of its own; and vllm:gpu_prefix_cache_hits_total of
// 2025, which counts blocks and not tokens.
var dialects = []dialect{
	{
		running: []string{"vllm:num_requests_running"}, waiting: []string{"vllm:num_requests_waiting"},
		kvUsage:     []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
		preemptions: []string{"vllm:num_preemptions_total"},
		cached:      []string{"vllm:prefix_cache_hits_total"},
		drafts:      []string{"vllm:spec_decode_num_drafts_total"},
		draftTokens: []string{"vllm:spec_decode_num_draft_tokens_total"},
		accepted:    []string{"vllm:spec_decode_num_accepted_tokens_total"},
	},
	{
		running: []string{"sglang:num_running_reqs"}, waiting: []string{"sglang:num_queue_reqs"},
		kvUsage:     []string{"sglang:token_usage"},
		preemptions: []string{"sglang:num_retracted_requests_total"},
		cached:      []string{"sglang:cached_tokens_total"},
		kvUsed:      []string{"sglang:kv_used_tokens", "sglang:num_used_tokens"},
	},
	{
		running: []string{"llamacpp:requests_processing"}, waiting: []string{"llamacpp:requests_deferred"},
		kvUsage:     []string{"llamacpp:kv_cache_usage_ratio"}, // gone from newer builds
		drafts:      []string{"llamacpp:spec_decode_num_drafts_total"},
		draftTokens: []string{"llamacpp:spec_decode_num_draft_tokens_total"},
		accepted:    []string{"llamacpp:spec_decode_num_accepted_tokens_total"},
	},
	{
		running: []string{"slots:is_processing"}, // of llama.cpp's /slots, where it shows no metrics
	},
	{
		running: []string{"tgi_batch_current_size"}, waiting: []string{"tgi_queue_size"},
	},
	{
		running: []string{"trtllm_num_requests_running"}, waiting: []string{"trtllm_num_requests_waiting"},
		kvUsage: []string{"trtllm_kv_cache_utilization"},
	},
	{
		running: []string{"lmdeploy:num_requests_running"}, waiting: []string{"lmdeploy:num_requests_waiting"},
		kvUsage: []string{"lmdeploy:gpu_cache_usage_perc"},
	},
	{
		running: []string{"rowproof:num_requests_running"}, waiting: []string{"rowproof:num_requests_waiting"},
		kvUsage: []string{"rowproof:kv_cache_usage_perc"}, preemptions: []string{"rowproof:num_preemptions_total"},
		cached: []string{"rowproof:cached_tokens_total"}, admitted: []string{"rowproof:admitted_tokens_total"},
		allocs: []string{"rowproof:num_allocs_total"}, parkWaits: []string{"rowproof:num_inflight_park_waits_total"},
		active: []string{"rowproof:active_bytes"}, peak: []string{"rowproof:peak_active_bytes"},
	},
}

// ServerFrom reads what the engine's own series said during a row: gauges at their
// greatest, counters by how far they rose. A series that the engine does not expose is
// nil.
func ServerFrom(ev *Evidence) Server {
	if ev == nil || len(ev.Metrics) == 0 {
		return Server{}
	}
	for i := range dialects {
		d := &dialects[i]
		r := reading{ev.Metrics, d.running[0]}
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
		if used := r.most(d.kvUsed, false); used != nil && s.PeakActive == nil {
			s.PeakActive = ev.Pool.with(*used)
		}
		drafts, tokens, accepted := whole(r.rise(d.drafts)), whole(r.rise(d.draftTokens)), whole(r.rise(d.accepted))
		if drafts != nil && tokens != nil && accepted != nil {
			s.Spec = &Spec{Drafts: *drafts, DraftTokens: *tokens, Accepted: *accepted}
			if n := CountedFrom(ev).Generated; n != nil {
				s.Spec.Generated = *n
			}
		}
		return s
	}
	return Server{}
}

// CountsHits says whether an engine's metrics count the prompt tokens that its cache
// served; of one that is not known they may.
func CountsHits(engine string) bool {
	switch engine {
	case "llamacpp", "ollama", "tgi", "trtllm", "lmdeploy":
		return false
	}
	return true
}

// with is the memory in use with so many tokens in the cache: the weights and their
// share of the pool. Nil where the server did not say how large these are.
func (p *MemoryPool) with(tokens float64) *int64 {
	if p == nil || p.Tokens <= 0 {
		return nil
	}
	v := float64(p.WeightBytes) + float64(tokens*(float64(p.CacheBytes)/float64(p.Tokens)))
	return whole(&v)
}

// reading asks one row's metric samples for series by name. There is a reading of the
// engine's series wherever mark is.
type reading struct {
	samples []MetricSample
	mark    string
}

// ranks are labels of processes that serve the same requests together: each tells of all
// of them, so that they are not summed.
var ranks = []string{"tp_rank", "pp_rank", "moe_ep_rank", "pid"}

// at is a series in one sample: its label sets summed, or the greatest of them.
func (r reading) at(i int, name string, greatest bool) (float64, bool) {
	sum, most, found := 0.0, 0.0, false
	var groups map[string]float64 // the greatest of each set of ranks
	for key, v := range r.samples[i].Values {
		if !strings.HasPrefix(key, name) || len(key) > len(name) && key[len(name)] != '{' || math.IsNaN(v) {
			continue
		}
		if !found || v > most {
			most = v
		}
		found = true
		if greatest {
			continue
		}
		group := withoutRanks(key[len(name):])
		if groups == nil {
			groups = map[string]float64{}
		}
		if before, ok := groups[group]; !ok || v > before {
			groups[group] = v
		}
	}
	if greatest {
		return most, found
	}
	if len(groups) == 1 {
		for _, v := range groups {
			return v, found
		}
	}
	// In one order: sums of seconds are no whole numbers.
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		sum += groups[group]
	}
	return sum, found
}

// withoutRanks is a label set without the labels of ranks.
func withoutRanks(labels string) string {
	out := ""
	for labels != "" {
		part := labels
		if n := labelEnd(labels); n < len(labels) {
			part = labels[:n+1]
		}
		labels = labels[len(part):]
		name, _, _ := strings.Cut(strings.TrimLeft(part, "{, "), "=")
		if !slices.Contains(ranks, strings.TrimSpace(name)) {
			out += strings.Trim(part, "{},") + ","
		}
	}
	return out
}

// labelEnd is where the first label of a set ends: at a comma outside its quotes.
func labelEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return i
		}
	}
	return len(s)
}

// most is the greatest value over the samples, by the first name that is there.
func (r reading) most(names []string, greatest bool) *float64 {
	for _, name := range names {
		var out *float64
		for i := range r.samples {
			if v, ok := r.at(i, name, greatest); ok && (out == nil || v > *out) {
				out = &v
			}
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// rise is how far a counter rose over the samples, by the first name that is there; nil
// where it fell, which a restart of the server does. Many a counter is exposed only once
// it counts: where the reading before the row has the engine's other series and not this
// one, it was 0.
func (r reading) rise(names []string) *float64 {
	for _, name := range names {
		var first, last *float64
		for i := range r.samples {
			v, ok := r.at(i, name, false)
			if !ok {
				if _, read := r.at(i, r.mark, false); read && first == nil && r.samples[i].When == Before {
					first = new(float64)
				}
				continue
			}
			if first == nil {
				first = &v
			}
			if last != nil && v < *last || v < *first {
				return nil
			}
			last = &v
		}
		if last != nil {
			v := *last - *first
			return &v
		}
	}
	return nil
}

// peak is the most memory in use during the row: the engine's own high-water mark where
// it moved, since it then moved within the row, else the greatest reading.
func (r reading) peak(active, mark []string) *float64 {
	if up := r.rise(mark); up != nil && *up > 0 {
		return r.most(mark, false)
	}
	return r.most(active, false)
}

func whole(v *float64) *int64 {
	if v == nil || math.IsInf(*v, 0) || math.IsNaN(*v) || math.Abs(*v) > 1e18 {
		return nil
	}
	n := int64(math.Round(*v))
	return &n
}
