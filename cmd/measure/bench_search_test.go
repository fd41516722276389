package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rowproof/internal/engine/simulator"
	"rowproof/internal/row"
)

// A search tries few loads, and ends with one that meets beside the next above that does
// not, however high the truth lies.
func TestClimbFindsTheHighestLoad(t *testing.T) {
	for _, c := range []struct {
		name  string
		given []float64
		rates bool
		truth float64 // the highest load that meets
		tries []float64
		open  bool
	}{
		{"doubling, then halving the distance", []float64{1}, false, 11, []float64{1, 2, 4, 8, 16, 12, 10, 11}, false},
		{"one stream meets", []float64{1}, false, 1, []float64{1, 2}, false},
		{"none meets", []float64{1}, false, 0, []float64{1}, false},
		{"down from where it began", []float64{16}, false, 3, []float64{16, 8, 4, 2, 3}, false},
		{"down to one, which misses", []float64{16}, false, 0, []float64{16, 8, 4, 2, 1}, false},
		{"up from where it began", []float64{16}, false, 33, []float64{16, 32, 64, 48, 40, 36, 34, 33}, false},
		{"near enough is 5%", []float64{1}, false, 301, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 384, 320, 288, 304, 296}, false},
		{"within what was given", []float64{2, 8, 32}, false, 20, []float64{2, 8, 32, 20, 26, 23, 21}, false},
		{"all that was given meets", []float64{2, 8, 32}, false, 100, []float64{2, 8, 32}, true},
		{"all that it tries meets", []float64{1024}, false, 1e6, []float64{1024, 2048, 4096}, true},
		{"a rate", []float64{4}, true, 9.5, []float64{4, 8, 16, 12, 10, 9, 9.5, 9.75}, false},
		{"a rate that is too high", []float64{4}, true, 0.01, []float64{4, 2, 1, 0.5, 0.25, 0.125, 0.0625}, false},
		{"rates within what was given", []float64{1, 2.5}, true, 7, []float64{1, 2.5}, true},
		{"a rate without end", []float64{1}, true, 1e9, []float64{1, 2, 4, 8, 16, 32, 64}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			climb := &climb{given: c.given, rates: c.rates, most: mostTried}
			var tries []float64
			for {
				load, ok := climb.next()
				if !ok {
					break
				}
				tries = append(tries, load)
				climb.steps = append(climb.steps, sloStep{load: load, met: load <= c.truth, over: load - c.truth})
				if len(tries) > 100 {
					t.Fatalf("no end: %v", tries)
				}
			}
			if !slices.Equal(tries, c.tries) || climb.open != c.open {
				t.Errorf("tried %v, open %v; want %v, %v", tries, climb.open, c.tries, c.open)
			}
			a := climb.answer(nil)
			lowest := slices.Min(c.tries)
			switch {
			case a.Met != (lowest <= c.truth):
				t.Errorf("met %v", a.Met)
			case !a.Met && (a.Near == nil || a.Near.load != lowest):
				t.Errorf("the nearest is %+v", a.Near)
			case a.Met && (a.Load.load > c.truth || (a.Above == nil) != c.open):
				t.Errorf("the answer is %+v below %+v", a.Load, a.Above)
			case a.Met && a.Above != nil && (a.Above.load <= c.truth || a.Above.load-a.Load.load > max(1, nearEnough*a.Load.load)):
				t.Errorf("%v and %v are not neighbours", a.Load.load, a.Above.load)
			}
		})
	}
}

// A percentile asks for its samples where a request has one of them, not of its gaps.
func TestSLOSamples(t *testing.T) {
	for text, want := range map[string]int64{"ttft_p99<1s,e2e_p90<1s": 100, "tpot_p95<1ms": 20, "itl_p99<1ms": 0, "ttft_mean<1s": 0} {
		limits, _ := row.ParseLimits(text)
		if n := sloSamples(limits); n != want {
			t.Errorf("%s: %d samples, want %d", text, n, want)
		}
	}
}

// Prefills of 200 ms one after another: of c that come together the mean waits 100·(c+1)
// ms, so that three streams meet a limit of 480 ms and four cannot.
func TestBenchSearchesForTheHighestConcurrency(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	cfg := simulator.Default()
	cfg.Prefill, cfg.PrefillPerToken, cfg.Gap, cfg.GapPerStream = 200*time.Millisecond, 0, time.Millisecond, 0
	child, err := simulator.StartChild(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(); child.Forget() })
	search := func(want int, args ...string) (rows []row.Row, answer sloAnswer, stderr string) {
		t.Helper()
		code, stdout, stderr := quick(t, append([]string{"--base-url", child.BaseURL, "--cells", "16:2", "--warmup", "0", "--iters", "1", "--json"}, args...)...)
		if code != want {
			t.Errorf("%q: exit %d, want %d: %s", args, code, want, stderr)
		}
		for line := range strings.Lines(stdout) {
			var v struct {
				Row *row.Row   `json:"row"`
				SLO *sloAnswer `json:"slo"`
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			switch {
			case v.Row != nil:
				rows = append(rows, *v.Row)
			case v.SLO != nil:
				answer = *v.SLO
			}
		}
		return rows, answer, stderr
	}
	tried := func(rows []row.Row) string {
		var out []string
		for _, r := range rows {
			out = append(out, strconv.FormatInt(*r.Workload.Load.Concurrency, 10))
		}
		return strings.Join(out, ",")
	}

	rows, a, stderr := search(exitOK, "--slo", "ttft_mean<480ms,e2e_p99<60s", "--concurrency", "1,2,4,8")
	if tried(rows) != "1,2,4,3" || !a.Met || *a.Load.Concurrency != 3 || *a.Above.Concurrency != 4 || a.Load.Row != rows[3].ID || a.Open || a.Broken != "" {
		t.Errorf("tried %s: %+v", tried(rows), a)
	}
	if at := strings.Index(stderr, "\n16:2   3 "); at < 0 || at < strings.Index(stderr, "\n16:2   2 ") || at > strings.Index(stderr, "\n16:2   4 ") {
		t.Errorf("the table does not rise by load:\n%s", stderr)
	}
	seeds := map[string]bool{}
	for _, r := range rows {
		seeds[r.Workload.Seed] = true
	}
	if len(seeds) != len(rows) {
		t.Errorf("two rows share a seed: %v", seeds)
	}
	for _, want := range []string{
		"a search of 16:2 for the highest concurrency with ttft_mean<480ms and e2e_p99<60000ms",
		"16:2: the highest load measured that meets ttft_mean<480ms and e2e_p99<60000ms is c=3: ttft_mean ",
		", e2e_p50 (too few samples for e2e_p99) ",
		"; goodput ",
		"  the next above it that was measured, c=4, does not: ttft_mean ",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("not told: %q in\n%s", want, stderr)
		}
	}

	rows, a, stderr = search(exitNotMet, "--slo", "ttft_mean<150ms", "--concurrency", "2,3")
	if tried(rows) != "2,1" || a.Met || *a.Near.Concurrency != 1 || a.Load != nil {
		t.Errorf("tried %s: %+v", tried(rows), a)
	}
	if want := "16:2: nothing measured meets ttft_mean<150ms; the nearest is c=1: ttft_mean "; !strings.Contains(stderr, want) || !strings.Contains(stderr, "% over") {
		t.Errorf("not told: %q in\n%s", want, stderr)
	}

	rows, a, stderr = search(exitOK, "--slo", "e2e_p50<60s", "--concurrency", "1,2")
	if tried(rows) != "1,2" || !a.Met || *a.Load.Concurrency != 2 || a.Above != nil || !a.Open || !strings.Contains(stderr, "no higher load was tried") {
		t.Errorf("tried %s: %+v\n%s", tried(rows), a, stderr)
	}
}

// rowsSeen is a standard output that acts once so many lines were printed.
type rowsSeen struct {
	lines int
	act   func()
}

func (w *rowsSeen) Write(b []byte) (int, error) {
	n := bytes.Count(b, []byte("\n"))
	if w.lines -= n; w.lines <= 0 && w.lines+n > 0 {
		w.act()
	}
	return len(b), nil
}

// A load at which rows fail is a load that misses; a server that is gone is no answer.
func TestSearchAndFailures(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{models: []string{"m"}}
	var busy atomic.Bool
	f.fail = func(int, *request) (int, string) {
		if busy.Load() {
			return 503, "busy"
		}
		return 0, ""
	}
	server := f.start(t)
	args := []string{"--base-url", server.URL, "--cells", "20:3", "--warmup", "0", "--num-prompts", "16", "--slo", "e2e_p50<60s", "--concurrency", "1,2,4,8"}
	stdout := rowsSeen{lines: 3, act: func() { busy.Store(true) }} // the header, c=1 and c=2
	var told bytes.Buffer
	code := run(t.Context(), slices.Concat([]string{"bench"}, args, []string{"--stamps", "read"}), nil, &stdout, &told)
	stderr := told.String()
	if code != exitOK || !strings.Contains(stderr, "is c=2: e2e_p50 ") || !strings.Contains(stderr, "c=3, does not: its row failed: ") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	code, _, stderr = quick(t, append(args, "--on-failure", "stop")...)
	if code != exitFailed || !strings.Contains(stderr, "the search ended early: --on-failure stop") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	f.fail = func(int, *request) (int, string) {
		go server.CloseClientConnections()
		server.Listener.Close()
		return 500, "dying"
	}
	code, _, stderr = quick(t, append(args, "--engine", "openai")...)
	if code == exitOK || code == exitNotMet {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if want := "the search ended early: the server is gone (connection refused)"; !strings.Contains(stderr, want) {
		t.Errorf("not told: %q in\n%s", want, stderr)
	}
}

func TestSLOFlagsThatDoNotGoTogether(t *testing.T) {
	for want, args := range map[string][]string{
		"--slo with --repeat-prompts: want cold prompts":                           {"--repeat-prompts"},
		"--slo with --request-rate inf: want rates":                                {"--request-rate", "1,inf"},
		"--slo itl_p99 with shape 8:1: want outputs of two tokens or more":         {"--cells", "8:1,8:2"},
		"--slo ttft_p99<1ms,ttft_p99<2ms: want limits such as ttft_p99<500ms":      {"--slo", "ttft_p99<1ms,ttft_p99<2ms"},
		fmt.Sprintf("--timeout %s: want a time above zero such as 90s or 5m", "x"): {"--timeout", "x"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"bench", "--slo", "ttft_p99<500ms,itl_p99<50ms"}, args...), nil, &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit %d: %s, want %q", args, code, errs.String(), want)
		}
	}
}
