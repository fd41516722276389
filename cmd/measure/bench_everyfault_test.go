package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"rowproof/internal/engine/simulator"
)

// Every way in which the embedded engine can answer unlike a plain healthy server ends in
// a row that says what it was: one that is healthy after all is measured, one that is a
// failure has its reason, and nothing that failed reads as fast.
func TestBenchOfEveryFault(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	calibrate(t, "--streams", "8", "--stamps", "read") // or each run would make its own
	type want struct{ reason, note string }
	healthy := map[string]want{
		"split": {}, "comments": {}, "no-space": {}, "data-lines": {}, "crlf": {}, "cr": {}, "utf8": {}, "open-end": {},
		"usage-last": {}, "reasoning": {}, "blank": {}, "no-cached": {},
		"multi-token": {note: "16 of 16 chunks held several tokens: the gap before each is spread over them"},
		"burst":       {note: "itl_p50_ms: all tokens came in one chunk: the time between them can't be told"},
		"no-usage":    {note: "tokens counted by chunks (the server reports no usage)"},
		"wrong-usage": {note: "osl=9..9 of 8 asked"},
		"early-stop":  {note: "osl=4..4 of 8 asked"},
	}
	failing := map[string]want{
		"no-done":     {reason: "ended without [DONE]"},
		"only-done":   {reason: "ended with no content"},
		"nothing":     {reason: "the server sent nothing"},
		"error-first": {reason: "the engine core died (code 500)"},
		"error-mid":   {reason: "the engine core died (code 500)"},
		"error-field": {reason: "the engine core died (code 500)"},
		"cut":         {reason: "the server closed the connection before the response was whole, after "},
		"stall":       {reason: "timeout: nothing came for 300ms"},
		"html-503":    {reason: "HTTP 503: <html><body><h1>503 Service Unavailable</h1></body></html>"},
	}
	for line := range strings.Lines(simulator.FaultList()) {
		name := strings.Fields(line)[0]
		if _, ok := healthy[name]; ok {
			continue
		}
		if _, ok := failing[name]; !ok {
			t.Errorf("fault %s has no case here", name)
		}
	}
	measure := func(t *testing.T, fault string, every int) (code int, r map[string]string, stderr string) {
		t.Helper()
		cfg := simulator.Default()
		cfg.Prefill, cfg.Gap, cfg.GapPerStream, cfg.FaultEvery = time.Millisecond, time.Millisecond, 0, every
		if err := cfg.Faults.Set(fault); err != nil {
			t.Fatal(err)
		}
		child, err := simulator.StartChild(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer child.Forget()
		defer child.Stop()
		args := []string{"--base-url", child.BaseURL, "--cells", "16:8", "--concurrency", "2", "--num-prompts", "8", "--warmup", "1"}
		switch fault {
		case "reasoning":
			args = append(args, "--endpoint", "/v1/chat/completions")
		case "stall":
			args = append(args, "--idle-timeout", "300ms")
		}
		code, stdout, stderr := quick(t, args...)
		rows := records(t, stdout)
		if len(rows) != 1 {
			t.Fatalf("%d rows: %s", len(rows), stderr)
		}
		return code, rows[0], stderr
	}
	for fault, want := range healthy {
		t.Run(fault, func(t *testing.T) {
			code, r, stderr := measure(t, fault, 1)
			if code != exitOK || r["status"] != "ok" || r["ttft_ms"] == "" || r["retires"] != "10" || !strings.Contains(r["notes"], want.note) {
				t.Errorf("exit %d: %v\n%s", code, r, stderr)
			}
			if fault == "wrong-usage" || fault == "early-stop" {
				return
			}
			if strings.Contains(r["notes"], " asked") {
				t.Errorf("lengths are off: %v", r)
			}
		})
	}
	for fault, want := range failing {
		t.Run(fault, func(t *testing.T) {
			code, r, stderr := measure(t, fault, 1)
			if code != exitFailed || r["status"] != "error" || !strings.Contains(r["reason"], "all ") || !strings.Contains(r["reason"], " requests (2 of them untimed) failed") || !strings.Contains(r["reason"], "; the first: "+want.reason) {
				t.Errorf("exit %d: %v\n%s", code, r, stderr)
			}
			for _, column := range []string{"first_call_ms", "ttft_ms", "prefill_tok_s", "itl_p50_ms", "decode_tok_s"} {
				if r[column] != "" {
					t.Errorf("nothing was completed, and %s is %s", column, r[column])
				}
			}
			// Every third request: the others have their figures, and the row is no less an error.
			code, r, stderr = measure(t, fault, 3)
			if code != exitFailed || r["status"] != "error" || !strings.Contains(r["reason"], " of 10 requests (2 of them untimed) failed; the first: "+want.reason) || r["ttft_ms"] == "" {
				t.Errorf("exit %d: %v\n%s", code, r, stderr)
			}
		})
	}
}

// As many requests are under way as there are streams, whatever pools and limits others
// have by default: the server answers none before all have come.
func TestBenchOpensAsManyConnectionsAsStreams(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	const streams = 300
	var mu sync.Mutex
	var waiting []chan struct{}
	f := &fake{models: []string{"m"}}
	f.fail = func(_ int, q *request) (int, string) {
		if q.tokens != 20 {
			return 0, "" // a first request that asks what the server takes
		}
		ch := make(chan struct{})
		mu.Lock()
		if waiting = append(waiting, ch); len(waiting) == streams {
			for _, c := range waiting {
				close(c)
			}
			waiting = nil
		}
		mu.Unlock()
		<-ch
		return 0, ""
	}
	code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "20:2", "--concurrency", "300", "--warmup", "0", "--timeout", "60s")
	if r := records(t, stdout)[0]; code != exitOK || r["status"] != "ok" || r["retires"] != "300" {
		t.Errorf("exit %d: %v\n%s", code, r, stderr)
	}
}
