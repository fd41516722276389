package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	run := func(client string, first, gap int64) result {
		return result{Client: client, Streams: 64, Load: quiet, Asked: 128, Tokens: 1000, Held: 64, CPU: 2, CPULoad: 0.002, Memory: 50e6,
			errorsOf: errorsOf{Joined: 128, First: spread{128, 1, first, 3}, Gap: spread{1000, 1, gap, 3}}}
	}
	late, failed, silent := run("sglang", 1, 1), run("vllm", 0, 0), run("guidellm", 90_000, 0)
	late.LateP99, late.Held, late.Joined = 31_000_000, 60, 126
	failed.Failed = "it ended with status 3"
	silent.Gap, silent.Mean, silent.CPULoad = spread{}, spread{128, 1, 5_000_000, 6}, 0.5
	rows := []result{run("ours-ring", 8_000, 5_000), run("ours-ring", 10_000, 7_000), run("aiperf", 18_000, 600_000), silent, failed, late}
	var ready []*client
	for _, name := range []string{"ours-ring", "aiperf", "guidellm", "vllm", "sglang"} {
		ready = append(ready, &client{name: name})
	}
	var out strings.Builder
	printTable(&out, ready, rows)
	lines := map[string]string{} // by client, with single spaces
	var notes []string
	for l := range strings.Lines(out.String()) {
		f := strings.Fields(l)
		switch {
		case len(f) > 0 && (strings.HasSuffix(f[0], ",") || f[0] == "64"):
			notes = append(notes, strings.TrimSpace(l))
		case len(f) > 1 && f[1] == "64":
			lines[f[0]] = strings.Join(f, " ")
		}
	}
	for name, want := range map[string]string{
		"ours-ring": "ours-ring 64 quiet 0.000 0.009 0.000 0.000 0.006 0.000 2.0 2.0 50 64 0.000", // the medians of two runs
		"aiperf":    "aiperf 64 quiet 0.000 0.018 0.000 0.000 0.600 0.000 2.0 2.0 50 64 0.000 2.0 100 1.0",
		"guidellm":  "guidellm 64 quiet 0.000 0.090 0.000 writes no gaps 2.0 500.0 50 64 0.000 10 250",
		"vllm":      "vllm 64 quiet failed",
		"sglang":    "sglang 64 quiet 0.000 0.000 0.000 0.000 0.000 0.000 2.0 2.0 50 60 31.000 spoiled 0.0 0.0 1.0",
	} {
		if lines[name] != want {
			t.Errorf("line\n%q, want\n%q", lines[name], want)
		}
	}
	want := []string{
		"guidellm, 64 streams, quiet: writes no gaps; its mean gap of a request errs by p50 0.000, p99 5.000, max 0.000 ms",
		"vllm, 64 streams, quiet: failed: it ended with status 3",
		"sglang, 64 streams, quiet: spoiled: the server could not keep pace, its p99 lateness was 31.000 ms",
		"sglang, 64 streams, quiet: 2 of 128 requests are not among its successes",
		"sglang, 64 streams, quiet: held at most 60 of 64 streams at once",
		"64 streams, quiet, ours-ring: ITL p99 error 0.006 ms, the best peer's 0.600 (aiperf): 100 times as much; TTFT p99 error 0.009 ms, the best peer's 0.018 (aiperf): 2.0 times as much",
	}
	if strings.Join(notes, "\n") != strings.Join(want, "\n") {
		t.Errorf("notes\n%s\nwant\n%s", strings.Join(notes, "\n"), strings.Join(want, "\n"))
	}
}

func TestFlags(t *testing.T) {
	_, err := parse([]string{"--peers", "vllm,nobody", "--levels", "1,none", "--loads", "busy", "--rounds", "0", "more"})
	for _, says := range []string{`no client "nobody"; there are ours-ring, ours-ktime, ours-read, aiperf`, `level "none"`, `load "busy"; quiet, starved and stopped`, "0 rounds", `unexpected "more"`} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	o, err := parse([]string{"--peers", "", "--levels", "", "--loads", ""})
	if err != nil || len(o.peers) != 8 || len(o.levels) != 4 || o.levels[3] != 1024 || len(o.loads) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}
