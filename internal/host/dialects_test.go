package host

import (
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"rowproof/internal/row"
)

func exposed(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exposedAt is one sample of a server's metrics as it exposed them, some series at other
// values; "-" takes one out.
func exposedAt(t *testing.T, text, when string, changed map[string]string) row.MetricSample {
	t.Helper()
	for series, value := range changed {
		found := false
		var out []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, series+" ") || strings.HasPrefix(line, series+"{") {
				found = true
				if value == "-" {
					continue
				}
				line = line[:strings.LastIndex(line, " ")+1] + value + "\n"
			}
			out = append(out, line)
		}
		if !found {
			t.Fatalf("%s is not exposed", series)
		}
		text = strings.Join(out, "")
	}
	return row.MetricSample{When: when, Values: parseMetrics(text, kept)}
}

func pointed(v *int64) any {
	if v == nil {
		return "null"
	}
	return *v
}

// The two real servers' metrics, idle, with what a row changes in them.
func TestWhatRealServersExpose(t *testing.T) {
	vllm := exposed(t, "vllm-metrics.txt")
	s := row.ServerFrom(&row.Evidence{Metrics: []row.MetricSample{
		exposedAt(t, vllm, row.Before, nil),
		exposedAt(t, vllm, row.During, map[string]string{"vllm:num_requests_running": "16.0", "vllm:num_requests_waiting": "2.0", "vllm:kv_cache_usage_perc": "0.25"}),
		exposedAt(t, vllm, row.After, map[string]string{"vllm:prefix_cache_hits_total": "48.0", "vllm:num_preemptions_total": "1.0"}),
	}})
	if *s.RunningMax != 16 || *s.WaitingMax != 2 || *s.KVUsageMax != 0.25 || *s.CachedTok != 48 || *s.Preemptions != 1 {
		t.Errorf("vLLM: running %v, waiting %v, cache %v, cached %v, preempted %v", *s.RunningMax, *s.WaitingMax, *s.KVUsageMax, *s.CachedTok, *s.Preemptions)
	}
	// vLLM says nothing of these, and this one speculates nothing.
	if s.AdmittedTok != nil || s.PeakActive != nil || s.NumAllocs != nil || s.ParkWaits != nil || s.Spec != nil {
		t.Errorf("vLLM: %v %v %v %v %v", pointed(s.AdmittedTok), pointed(s.PeakActive), pointed(s.NumAllocs), pointed(s.ParkWaits), s.Spec)
	}

	sglang := exposed(t, "sglang-metrics.txt")
	pool := &row.MemoryPool{WeightBytes: 9427453215, CacheBytes: 125423782461, Tokens: 1913799}
	s = row.ServerFrom(&row.Evidence{Pool: pool, Metrics: []row.MetricSample{
		exposedAt(t, sglang, row.Before, map[string]string{"sglang:cached_tokens_total": "-"}),
		exposedAt(t, sglang, row.During, map[string]string{"sglang:num_running_reqs": "4.0", "sglang:num_queue_reqs": "1.0", "sglang:token_usage": "0.01", "sglang:kv_used_tokens": "20000.0"}),
		exposedAt(t, sglang, row.After, nil),
	}})
	// Its counter of cached tokens is exposed only once there is one: it was 0 before.
	if *s.RunningMax != 4 || *s.WaitingMax != 1 || *s.KVUsageMax != 0.01 || s.CachedTok == nil || *s.CachedTok != 8 {
		t.Errorf("SGLang: running %v, waiting %v, cache %v, cached %v", *s.RunningMax, *s.WaitingMax, *s.KVUsageMax, pointed(s.CachedTok))
	}
	// The gauge of requests that stand retracted is no count of retractions.
	if s.Preemptions != nil {
		t.Errorf("SGLang: %d preempted", *s.Preemptions)
	}
	want := 9427453215 + 125423782461.0/1913799*20000
	if s.PeakActive == nil || math.Abs(float64(*s.PeakActive)-want) > 1 {
		t.Errorf("SGLang: %v bytes in use, want %.0f", pointed(s.PeakActive), want)
	}
}

// Engines without a recording here, by the names that their sources have, old and new.
func TestWhatOtherServersExpose(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		running, waiting    any
		usage               float64
		cached, preempted   any
		spec                *row.Spec
	}{
		{"vLLM of 2024", "vllm:num_requests_running{a=\"b\"} 3\nvllm:num_requests_waiting{a=\"b\"} 0\nvllm:gpu_cache_usage_perc{a=\"b\"} 0.5\nvllm:num_preemptions_total 2\nvllm:gpu_prefix_cache_hits_total 1\n",
			"vllm:num_requests_running{a=\"b\"} 1\nvllm:num_preemptions_total 5\nvllm:gpu_prefix_cache_hits_total 9\n", int64(3), int64(0), 0.5, "null", int64(3), nil}, // its hits count blocks
		{"vLLM with drafts, of two engines", "vllm:num_requests_running{engine=\"0\"} 2\nvllm:num_requests_running{engine=\"1\"} 3\nvllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_draft_tokens_total 30\nvllm:spec_decode_num_accepted_tokens_total 12\n",
			"vllm:num_requests_running{engine=\"0\"} 0\nvllm:spec_decode_num_drafts_total 20\nvllm:spec_decode_num_draft_tokens_total 60\nvllm:spec_decode_num_accepted_tokens_total 25\n", int64(5), "null", -1, "null", "null", &row.Spec{Drafts: 10, DraftTokens: 30, Accepted: 13}},
		{"SGLang of four ranks and two replicas", "sglang:num_running_reqs{dp_rank=\"0\",tp_rank=\"0\"} 4\nsglang:num_running_reqs{dp_rank=\"0\",tp_rank=\"1\"} 4\nsglang:num_running_reqs{dp_rank=\"1\",tp_rank=\"2\"} 3\nsglang:num_running_reqs{dp_rank=\"1\",tp_rank=\"3\"} 3\n",
			"sglang:num_running_reqs{tp_rank=\"0\",dp_rank=\"0\"} 1\nsglang:num_retracted_requests_total{tp_rank=\"0\"} 2\nsglang:num_retracted_requests_total{tp_rank=\"1\"} 2\n", int64(7), "null", -1, "null", int64(2), nil},
		{"llama.cpp", "llamacpp:requests_processing 4\nllamacpp:requests_deferred 2\nllamacpp:spec_decode_num_drafts_total 0\nllamacpp:spec_decode_num_draft_tokens_total 0\nllamacpp:spec_decode_num_accepted_tokens_total 0\n",
			"llamacpp:requests_processing 0\nllamacpp:spec_decode_num_drafts_total 5\nllamacpp:spec_decode_num_draft_tokens_total 10\nllamacpp:spec_decode_num_accepted_tokens_total 4\n", int64(4), int64(2), -1, "null", "null", &row.Spec{Drafts: 5, DraftTokens: 10, Accepted: 4}},
		{"llama.cpp of 2024", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:kv_cache_usage_ratio 0.125\n", "llamacpp:requests_processing 1\n", int64(1), int64(0), 0.125, "null", "null", nil},
		{"TGI", "tgi_batch_current_size 8\ntgi_queue_size 3\ntgi_request_queue_duration_sum 9\n", "tgi_batch_current_size 0\n", int64(8), int64(3), -1, "null", "null", nil},
		{"TensorRT-LLM", "trtllm_num_requests_running 6\ntrtllm_num_requests_waiting 1\ntrtllm_kv_cache_utilization 0.75\ntrtllm_kv_cache_hit_rate 0.5\n", "trtllm_num_requests_running 0\n", int64(6), int64(1), 0.75, "null", "null", nil},
		{"LMDeploy", "lmdeploy:num_requests_running{e=\"0\"} 6\nlmdeploy:num_requests_waiting{e=\"0\"} 1\nlmdeploy:gpu_cache_usage_perc{e=\"0\"} 0.75\n", "lmdeploy:num_requests_running{e=\"0\"} 0\n", int64(6), int64(1), 0.75, "null", "null", nil},
		{"a stranger", "acme_running 6\n", "acme_running 6\n", "null", "null", -1, "null", "null", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := row.ServerFrom(&row.Evidence{Metrics: []row.MetricSample{exposedAt(t, c.before, row.Before, nil), exposedAt(t, c.after, row.After, nil)}})
			if pointed(s.RunningMax) != c.running || pointed(s.WaitingMax) != c.waiting || pointed(s.CachedTok) != c.cached || pointed(s.Preemptions) != c.preempted {
				t.Errorf("running %v, waiting %v, cached %v, preempted %v", pointed(s.RunningMax), pointed(s.WaitingMax), pointed(s.CachedTok), pointed(s.Preemptions))
			}
			if (s.KVUsageMax == nil) != (c.usage < 0) || s.KVUsageMax != nil && *s.KVUsageMax != c.usage {
				t.Errorf("cache %v", s.KVUsageMax)
			}
			if (s.Spec == nil) != (c.spec == nil) || s.Spec != nil && *s.Spec != *c.spec {
				t.Errorf("drafts %+v", s.Spec)
			}
			// A reading during a row keeps what these come from.
			during := parseMetrics(c.before, keptDuring)
			for name := range parseMetrics(c.before, kept) {
				if _, ok := during[name]; !ok && !strings.Contains(name, "duration") && !strings.HasPrefix(name, "tgi_request") && !strings.Contains(name, "hit_rate") {
					t.Errorf("%s is not read during a row; read are %v", name, maps.Collect(maps.All(during)))
				}
			}
		})
	}
}

// A llama.cpp without metrics tells of its slots, one by one.
func TestSlotsAtWorkAreCounted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slots" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `[{"id":0,"n_ctx":4096,"is_processing":true},{"id":1,"is_processing":false},{"id":2,"is_processing":true}]`)
	}))
	defer server.Close()
	s := newScraper(ServerRef{Base: parseURL(t, server.URL), Metrics: "/slots"})
	values, err := s.scrape(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	got := row.ServerFrom(&row.Evidence{Metrics: []row.MetricSample{{When: row.During, Values: values}}})
	if got.RunningMax == nil || *got.RunningMax != 2 || got.WaitingMax != nil {
		t.Errorf("running %v, waiting %v of %v", pointed(got.RunningMax), pointed(got.WaitingMax), values)
	}
	for _, other := range []string{"", "[]", "{}", `[{"id":0}]`, `[{"is_processing":true},{"id":1}]`} {
		if got := parseSlots([]byte(other)); got != nil {
			t.Errorf("%s: %v", other, got)
		}
	}
}
