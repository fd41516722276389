package main

import (
	"bytes"
	"strings"
	"testing"

	"rowproof/internal/row"
)

func ptr[T any](v T) *T { return &v }

func TestNotesBeginWithTheSeedsWords(t *testing.T) {
	w := row.Workload{Protocol: row.Passes, Load: row.Load{Concurrency: ptr(int64(4))}, Prompts: row.Prompts{State: row.Cold}, Warmup: 2, Repeats: 1}
	r := row.Row{Workload: w, Missing: map[string]string{"itl_decode_ms.p99": "99 samples; needs 100"}}
	got := strings.Join(notes(&r, row.SeedColumns{ITLP50: ptr(4.0)}, "", []string{simulatedNote}), "; ")
	if !strings.HasPrefix(got, "prompts=cold (a fresh prompt every iteration; prefill_tok_s prices prompt ingest); protocol=passes; ") {
		t.Errorf("notes %s", got)
	}
	for _, want := range []string{"itl_p99_ms: 99 samples; needs 100", "simulated: not a measurement", "the engine does not say: admitted_tok peak_active_bytes num_allocs num_inflight_park_waits"} {
		if !strings.Contains(got, want) {
			t.Errorf("notes lack %q: %s", want, got)
		}
	}
	if strings.ContainsAny(got, ",\"\n") {
		t.Errorf("notes hold a mark of the CSV: %s", got)
	}

	w.Prompts.State, w.Prompts.SharedPrefix, w.Warmup = row.Warm, 64, 0
	w.Protocol, w.Requests, w.Repeats = row.Sustained, ptr(int64(40)), 3
	r.Workload, r.Counts.CachedTokens = w, ptr(int64(512))
	got = strings.Join(notes(&r, row.SeedColumns{}, "", nil), "; ")
	if !strings.HasPrefix(got, "prompts=warm (") || !strings.Contains(got, "); shared_prefix=64; protocol=sustained; requests=40; repeats=3; cold start: no warm-up; cached_tok=512;") {
		t.Errorf("notes %s", got)
	}
}

func TestRowSaysWhyItFailed(t *testing.T) {
	ok := row.Sample{Phase: row.PhaseTimed, Status: row.StatusOK}
	bad := row.Sample{Phase: row.PhaseTimed, Status: row.StatusError, Reason: "status 400: too long"}
	late := row.Sample{Phase: row.PhaseDrain, Status: row.StatusError, Reason: "ended by us"}
	warm := bad
	warm.Phase = row.PhaseWarm
	w := &row.Workload{Protocol: row.Sustained, Repeats: 1, Requests: ptr(int64(3))}
	for _, c := range []struct {
		samples []row.Sample
		want    string
	}{
		{[]row.Sample{ok, ok, ok, late}, ""},
		{[]row.Sample{ok, bad, bad}, "2 of 3 requests failed; the first: status 400: too long"},
		{[]row.Sample{bad, bad, bad}, "all 3 requests failed; the first: status 400: too long"},
		// What is counted, and what was left out.
		{[]row.Sample{warm, ok, ok, ok}, "1 of 4 requests (1 of them untimed) failed; the first: status 400: too long"},
		{[]row.Sample{warm, bad}, "all 2 requests (1 of them untimed) failed, and 2 of 3 timed requests stayed unsent; the first: status 400: too long"},
		{[]row.Sample{bad}, "the only request failed, and 2 of 3 timed requests stayed unsent: status 400: too long"},
	} {
		counts := row.Compute(w, 0, c.samples, nil).Counts
		if got := whyFailed(w, &counts, c.samples, nil); got != c.want {
			t.Errorf("said %q, want %q", got, c.want)
		}
	}
}

func TestTableAlignsAndNeverPrintsZeroForMissing(t *testing.T) {
	var b bytes.Buffer
	writeTable(&b, []tableRow{
		{shape: shape{128, 128}, load: "1", ttft: ptr(14.375), itl50: ptr(4.7098), itl99: ptr(11.97), outputTokPerS: ptr(194.1), roof: ptr(66.4), verdict: "verified"},
		{shape: shape{2048, 128}, load: "16", ttft: ptr(464.4), itl50: ptr(6.383), outputTokPerS: ptr(787.7), verdict: "unverified", reason: "label: no --recipe"},
	})
	want := strings.TrimPrefix(`
shape      c  TTFT p50       ITL p50       ITL p99  output      of roof  verdict
                    ms  ms, all gaps  ms, all gaps   tok/s  %, TPOT p50
128:128    1      14.4          4.71          12.0     194         66.4  verified
2048:128  16     464.4          6.38             —     788            —  unverified: label: no --recipe
`, "\n")
	if got := b.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestReasonsStayOnOneLine(t *testing.T) {
	got := oneLine("a\nb\x1b[2Jc\u202ed" + strings.Repeat("x", 1000))
	if strings.ContainsAny(got, "\n\x1b\u202e") || len([]rune(got)) != 501 {
		t.Errorf("reason %q", got)
	}
	// A server's own words stay as they are; the CSV quotes them.
	if got := row.OneNote("a,b \"c\"\nd"); got != "a,b \"c\" d" {
		t.Errorf("note %q", got)
	}
}

func TestUnverifiedRunIsToldTheLikelyRecipe(t *testing.T) {
	c, err := readCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	o := parsed(t, "--base-url", "http://127.0.0.1:8000", "--header", "X-A: b c", "--repeats=5")
	s := &sweep{o: o, cat: c, srv: &server{model: "meta-llama/Llama-3.1-8B", engine: "vllm"}}
	receipt := row.Receipt{Devices: []row.Device{{Name: "NVIDIA H200", Used: true}, {Index: 1, Name: "NVIDIA H200"}}}
	want := "measure bench --base-url http://127.0.0.1:8000 --header 'X-A: (masked)' --repeats=5 --recipe llama-3.1-8b/h200-sxm/latency/vllm --output run"
	if got := s.verifying(&receipt); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o.command = append(o.command, "--recipe", "llama-3.1-8b/h200-sxm/latency/vllm", "--output", "run")
	if got := s.verifying(&receipt); got != "" {
		t.Errorf("the command that was just run is advised: %s", got)
	}
	o.command = o.command[:len(o.command)-4]
	for _, k := range []struct {
		devices []row.Device
		want    string
	}{
		{nil, "MODEL/TARGET/STRATEGY/ENGINE"},
		{[]row.Device{{Name: "NVIDIA L40S", Used: true}, {Name: "NVIDIA L40S", Used: true}}, "llama-3.1-8b/l40s-x2/STRATEGY/vllm"},
		{[]row.Device{{Name: "NVIDIA GB10", Used: true}}, "llama-3.1-8b/TARGET/STRATEGY/vllm"},
		{[]row.Device{{Name: "NVIDIA L40S", Used: true}, {Name: "NVIDIA L4", Used: true}}, "MODEL/TARGET/STRATEGY/ENGINE"},
	} {
		receipt.Devices = k.devices
		if got := s.verifying(&receipt); !strings.Contains(got, " --recipe "+k.want+" ") {
			t.Errorf("%v: %s, want %s", k.devices, got, k.want)
		}
	}
}
