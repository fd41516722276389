package main

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// A run of three repeats: the rate is that of the repeat in hand, and the time left
// counts the repeats to come and falls.
func TestProgressCountsRepeats(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	o := parsed(t, "--cells", "10:100", "--concurrency", "1", "--warmup", "0", "--iters", "10", "--repeats", "3")
	plan := o.plan()
	var shown bytes.Buffer
	p := newProgress(&shown, plan)
	p.w = &shown // as on a terminal
	p.begin(plan[0])
	if got := shown.String(); got != "\r\x1b[K0 of 1 row; 10:100 at c=1" {
		t.Errorf("began with %q", got)
	}
	// Each repeat brings 1,000 tokens in 20 s.
	last := 61
	for step := 1; step <= 6; step++ {
		shown.Reset()
		p.now = func() time.Time { return p.started.Add(time.Duration(step) * 10 * time.Second) }
		repeat, half := (step-1)/2, int64((step-1)%2+1)
		p.repeat(plan[0], repeat, 500*half, int(5*half), 10, time.Duration(half)*10*time.Second)
		m := regexp.MustCompile(`, about (\d+)s left; 10:100 at c=1, repeat (\d) of 3: \d+ of 10 requests, about 50 tok/s$`).FindStringSubmatch(shown.String())
		if m == nil {
			t.Fatalf("shown %q", shown.String())
		}
		left, _ := strconv.Atoi(m[1])
		if want := 60 - 10*step; left != want || left >= last || m[2] != strconv.Itoa(repeat+1) {
			t.Errorf("after %d s: %d s left in repeat %s, want %d s in repeat %d", 10*step, left, m[2], want, repeat+1)
		}
		last = left
	}
	p.clear()
	p.end(plan[0])
	if p.done != 1 || p.worked != p.work {
		t.Errorf("%d rows done, work %v of %v", p.done, p.worked, p.work)
	}
}
