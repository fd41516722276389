package row

import "testing"

// SGLang 0.5.16 shows sglang:cached_tokens_total only once a prompt was served from its
// cache. Its totals, read from a live server over one row: 857,088 prompt tokens came in,
// 857,083 of them were computed; the counter, once there, rose by the same 5.
func TestPrefixHitsOfSGLang(t *testing.T) {
	const labels = `{engine_type="unified",model_name="m"}`
	metrics := func(when string, prompts, computed float64) MetricSample {
		return MetricSample{When: when, Values: map[string]float64{
			"sglang:num_running_reqs" + labels:                       0,
			"sglang:prompt_tokens_histogram_sum" + labels:            prompts,
			"sglang:uncached_prompt_tokens_histogram_sum" + labels:   computed,
			"sglang:num_retracted_requests_total" + labels:           0,
			"sglang:prompt_tokens_histogram_count" + labels:          1,
			"sglang:uncached_prompt_tokens_histogram_count" + labels: 1,
		}}
	}
	ev := &Evidence{Metrics: []MetricSample{metrics(Before, 324630, 324630), metrics(After, 1181718, 1181713)}}
	if hits := PrefixHits(ev); hits == nil || *hits != 5 {
		t.Errorf("hits %v, want 5", hits)
	}
	ev.Metrics[1].Values["sglang:cached_tokens_total"+labels] = 5
	if hits := PrefixHits(ev); hits == nil || *hits != 5 {
		t.Errorf("by the counter: hits %v, want 5", hits)
	}
	silent := &Evidence{Metrics: []MetricSample{metrics(Before, 22, 22), metrics(After, 39958, 39958)}}
	if hits := PrefixHits(silent); hits == nil || *hits != 0 {
		t.Errorf("no hit at all: %v, want 0", hits)
	}
	for i := range silent.Metrics {
		delete(silent.Metrics[i].Values, "sglang:uncached_prompt_tokens_histogram_sum"+labels)
	}
	if hits := PrefixHits(silent); hits != nil {
		t.Errorf("a server that does not say what it computed had %d hits", *hits)
	}
	if hits := PrefixHits(nil); hits != nil {
		t.Errorf("no evidence, but %d hits", *hits)
	}
}
