package host

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
)

// metricsServer counts up with each scrape and tells when a scrape has begun.
func metricsServer(t *testing.T) (ref ServerRef, scraped chan int) {
	t.Helper()
	scraped = make(chan int, 1000)
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		n++
		fmt.Fprintf(w, "# HELP x y\nvllm:num_requests_running{model_name=\"a } b\"} %d\nvllm:generation_tokens_total{e=\"0\"} %d\nvllm:lora_info 1\npython_info 1\nvllm:x_bucket{le=\"1\"} 2\nvllm:ratio NaN\n", n, 10*n)
		scraped <- n
	}))
	t.Cleanup(s.Close)
	return ServerRef{Base: parseURL(t, s.URL+"/v1"), Header: http.Header{"Authorization": {"Bearer k"}}}, scraped
}

func ping(t *testing.T) chan struct{} {
	t.Helper()
	pinged := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pinged <- struct{}{} }))
	t.Cleanup(s.Close)
	t.Setenv(envPing, s.URL)
	return pinged
}

func TestSampler(t *testing.T) {
	d := loadDevices(t, "testdata/h200.json")
	d.Apps[0]["pid"] = fmt.Sprint(os.Getpid())
	useSMI(t, d)
	pinged := ping(t)
	ref, scraped := metricsServer(t)
	s := newSampler(thisMachine(), ref)
	s.period = 50 * time.Millisecond
	s.Start(context.Background(), monotonic())
	<-pinged // three lines of the lasting query are written
	for n := range scraped {
		if n >= 4 { // one before, and two of those during have ended
			break
		}
	}
	ev := s.Stop()

	when := map[string]int{}
	last := int64(0)
	for i, d := range ev.Devices {
		when[d.When]++
		if d.At < last || *d.PowerW != 288.24 || *d.PowerLimitW != 700 || *d.MemoryUsed != 134965<<20 || *d.SMClock != 1980 ||
			*d.MemoryClock != 3201 || *d.MemoryMax != 3201 || *d.Temperature != 38 || d.Throttle != "0x0000000000000000" {
			t.Errorf("device sample %d: %s", i, asJSON(t, d))
		}
		last = d.At
	}
	if when[row.Before] != 1 || when[row.During] < 3 || when[row.After] != 1 {
		t.Errorf("device samples %v, want 1 before, 3 or more during, 1 after", when)
	}

	when = map[string]int{}
	for _, m := range ev.Metrics {
		when[m.When]++
		running, has := m.Values[`vllm:num_requests_running{model_name="a } b"}`]
		if !has || m.Values[`vllm:generation_tokens_total{e="0"}`] != 10*running {
			t.Errorf("metrics %v", m.Values)
		}
		_, info := m.Values["vllm:lora_info"]
		if want := m.When != row.During; info != want {
			t.Errorf("%s: vllm:lora_info kept %v, want %v", m.When, info, want)
		}
		if len(m.Values) > 3 {
			t.Errorf("%s keeps too much: %v", m.When, m.Values)
		}
	}
	if when[row.Before] != 1 || when[row.During] < 2 || when[row.After] != 1 {
		t.Errorf("metric samples %v, want 1 before, 2 or more during, 1 after", when)
	}

	if len(ev.Apps) != 2 || !ev.Apps[0].Ours || ev.Apps[1].When != row.After {
		t.Errorf("apps %s", asJSON(t, ev.Apps))
	}
	if len(ev.Raw) != 4 || !strings.Contains(ev.Raw[0].Text, "NVIDIA H200, GPU-") {
		t.Errorf("raw %s", asJSON(t, ev.Raw))
	}
	if len(ev.Unread) != 0 {
		t.Errorf("unread %v", ev.Unread)
	}
}

// Every device is read before, during and after, and each process on any of them.
func TestSamplerOfTwoDevices(t *testing.T) {
	d := loadDevices(t, "testdata/h200-x2.json")
	for i := range d.Apps {
		d.Apps[i]["pid"] = fmt.Sprint(os.Getpid())
	}
	useSMI(t, d)
	pinged := ping(t)
	ref, _ := metricsServer(t)
	s := newSampler(thisMachine(), ref)
	s.period = 50 * time.Millisecond
	s.Start(context.Background(), monotonic())
	<-pinged
	ev := s.Stop()
	type reading struct {
		device int64
		when   string
	}
	seen := map[reading]int{}
	for _, r := range ev.Devices {
		seen[reading{r.Index, r.When}]++
		if want := []float64{301.10, 298.47}[r.Index]; *r.PowerW != want {
			t.Errorf("device %d: %v W, want %v", r.Index, *r.PowerW, want)
		}
	}
	for device := range int64(2) {
		if seen[reading{device, row.Before}] != 1 || seen[reading{device, row.During}] < 2 || seen[reading{device, row.After}] != 1 {
			t.Errorf("readings %v", seen)
		}
	}
	if len(ev.Apps) != 4 || ev.Apps[1].Index != 1 || ev.Apps[1].Name != "VLLM::Worker_TP1" || !ev.Apps[3].Ours {
		t.Errorf("apps %s", asJSON(t, ev.Apps))
	}
}

// Some builds hold their output back from a pipe; readings go on all the same.
func TestSamplerWithAMuteTool(t *testing.T) {
	d := loadDevices(t, "testdata/h200.json")
	d.Mute = true
	useSMI(t, d)
	ref, scraped := metricsServer(t)
	s := newSampler(thisMachine(), ref)
	s.period = 20 * time.Millisecond
	s.Start(context.Background(), monotonic())
	for range scraped {
		s.mu.Lock()
		n := len(s.got.devices)
		s.mu.Unlock()
		if n >= 3 { // before, and two during
			break
		}
	}
	ev := s.Stop()
	if said := ev.Unread["devices.during"]; !strings.Contains(said, "said nothing for 80ms") {
		t.Errorf("unread %q", said)
	}
}

func TestSamplerWithoutAnything(t *testing.T) {
	noSMI(t)
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	sampler := newSampler(thisMachine(), ServerRef{Base: parseURL(t, s.URL)})
	sampler.Start(context.Background(), monotonic())
	ev := sampler.Stop()
	if !strings.HasPrefix(ev.Unread["devices"], "there is none of nvidia-smi, amd-smi and rocm-smi on PATH") || ev.Unread["metrics"] != "GET /metrics answered 404 Not Found" {
		t.Errorf("unread %v", ev.Unread)
	}
	if len(ev.Devices)+len(ev.Metrics) != 0 {
		t.Errorf("readings from nothing: %s", asJSON(t, ev))
	}
}

// An interrupted run still has its reading after the row.
func TestSamplerAfterAnInterrupt(t *testing.T) {
	useSMI(t, loadDevices(t, "testdata/h200.json"))
	ping(t)
	ref, _ := metricsServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := newSampler(thisMachine(), ref)
	s.Start(ctx, monotonic())
	cancel()
	ev := s.Stop()
	if n := len(ev.Metrics); n < 2 || ev.Metrics[n-1].When != row.After || ev.Devices[len(ev.Devices)-1].When != row.After {
		t.Errorf("the last readings are not those after the row: %s", asJSON(t, ev))
	}
}

func TestMetricsOfRealEngines(t *testing.T) {
	for _, c := range []struct {
		file   string
		has    map[string]float64
		lacks  []string
		during []string
		least  int
	}{
		{"testdata/vllm-metrics.txt", map[string]float64{
			`vllm:num_requests_running{engine="0",model_name="llama-3.2-1b"}`:                           0,
			`vllm:prefix_cache_queries_total{engine="0",model_name="llama-3.2-1b"}`:                     14,
			`vllm:generation_tokens_total{engine="0",model_name="llama-3.2-1b"}`:                        13,
			`vllm:request_success_total{engine="0",finished_reason="length",model_name="llama-3.2-1b"}`: 3,
			`process_start_time_seconds`: 1.79606490017e+09,
		}, []string{"_bucket", "_created", "python_", "process_resident"},
			[]string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:num_preemptions_total", "vllm:prefix_cache_hits_total", "process_start_time_seconds"}, 40},
		{"testdata/sglang-metrics.txt", map[string]float64{
			`sglang:cache_hit_rate{engine_type="unified",model_name="llama-3.1-8b",moe_ep_rank="0",pp_rank="0",tp_rank="0"}`: 0.75,
		}, []string{"_bucket", "fwd_occupancy"}, // whose value is NaN
			[]string{"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage", "sglang:cached_tokens_total"}, 40},
	} {
		b, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		all, during := parseMetrics(string(b), kept), parseMetrics(string(b), keptDuring)
		for name, v := range c.has {
			if got, ok := all[name]; !ok || got != v {
				t.Errorf("%s: %s is %v (%v), want %v", c.file, name, got, ok, v)
			}
		}
		for name := range all {
			for _, part := range c.lacks {
				if strings.Contains(name, part) {
					t.Errorf("%s: keeps %s", c.file, name)
				}
			}
		}
		for _, name := range c.during {
			found := false
			for series := range during {
				found = found || strings.HasPrefix(series, name+"{") || series == name
			}
			if !found {
				t.Errorf("%s: %s is not read during a row", c.file, name)
			}
		}
		if len(all) < c.least || len(during)*2 > len(all) {
			t.Errorf("%s: %d series kept around a row, %d during it", c.file, len(all), len(during))
		}
	}
}
