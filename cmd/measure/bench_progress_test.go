package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// A run of three repeats: the rate is that of the repeat in hand, and the time left
// counts the repeats to come and falls.
func TestProgressCountsRepeats(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	o := parsed(t, "--cells", "10:100", "--concurrency", "1", "--warmup", "0", "--iters", "10", "--repeats", "3")
	plan := o.plan()
	var shown bytes.Buffer
	p := newProgress(&shown, plan)
	p.width = func() int { return 200 } // as on a terminal
	start := p.started
	p.now = func() time.Time { return start }
	p.begin(plan[0])
	if got := shown.String(); got != "\r\x1b[K0 of 1 row, 0s; 10:100 at c=1" {
		t.Errorf("began with %q", got)
	}
	// Each repeat brings 1,000 tokens in 20 s.
	last := 61
	for step := 1; step <= 6; step++ {
		shown.Reset()
		p.now = func() time.Time { return start.Add(time.Duration(step) * 10 * time.Second) }
		repeat, half := (step-1)/2, int64((step-1)%2+1)
		p.repeat(plan[0], repeat, loadgen.Progress{Chunks: 500 * half, Done: int(5 * half), Planned: 10, Failed: 1, First: 12345 * time.Microsecond, Gap: 5 * time.Millisecond},
			start.Add(time.Duration(repeat)*20*time.Second))
		m := regexp.MustCompile(`, [0-9m]+s, about (\d+)s left; 10:100 at c=1, repeat (\d) of 3: \d+ of 10 requests \(1 failed\), about 50 tok/s, TTFT 12.3 ms, ITL 5.00 ms$`).FindStringSubmatch(shown.String())
		if m == nil {
			t.Fatalf("shown %q", shown.String())
		}
		left, _ := strconv.Atoi(m[1])
		if want := 60 - 10*step; left != want || left >= last || m[2] != strconv.Itoa(repeat+1) {
			t.Errorf("after %d s: %d s left in repeat %s, want %d s in repeat %d", 10*step, left, m[2], want, repeat+1)
		}
		last = left
	}
	// What is longer than the terminal is wide would wrap, and stay.
	for columns, want := range map[int]string{
		40: "\r\x1b[K0 of 1 row, 1m0s; 10:100 at c=1",
		30: "\r\x1b[K0/1 row 1m0s; 10:100 c=1",
		16: "\r\x1b[K0/1 row 1m0s; …",
	} {
		shown.Reset()
		p.width = func() int { return columns }
		p.begin(plan[0])
		if got := shown.String(); got != want {
			t.Errorf("on %d columns it reads %q", columns, got)
		}
	}
	p.end(plan[0], &row.Row{})
	if p.done != 1 || p.worked != p.work {
		t.Errorf("%d rows done, work %v of %v", p.done, p.worked, p.work)
	}
}

// Where no line can be rewritten, each row that is done has one, and one that failed has
// that of its reason.
func TestProgressElsewhere(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{models: []string{"m"}, fail: func(_ int, q *request) (int, string) {
		if q.tokens == 21 {
			return 500, "no"
		}
		return 0, ""
	}}
	_, _, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "20:3,21:3,22:3", "--concurrency", "1")
	for _, want := range []string{
		`(?m)^1 of 3 rows: 20:3 at c=1: TTFT p50 [0-9.]+ ms, (ITL p50 [0-9.]+ ms, )?[0-9.]+ tok/s, 1 timed request in [0-9.a-zµ]+, about \d+s left$`,
		`(?m)^measure bench: 21:3 at c=1: `,
		`(?m)^3 of 3 rows: 22:3 at c=1: TTFT p50 [0-9.]+ ms, (ITL p50 [0-9.]+ ms, )?[0-9.]+ tok/s, 1 timed request in [0-9.a-zµ]+$`,
	} {
		if !regexp.MustCompile(want).MatchString(stderr) {
			t.Errorf("no line %s in\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "2 of 3 rows") || strings.Contains(stderr, "\r") {
		t.Errorf("said\n%s", stderr)
	}
}

func TestPaceIsOfTheLastSecond(t *testing.T) {
	var l pace
	began := time.Unix(100, 0)
	for _, c := range []struct {
		ms, chunks int64
		want       float64
	}{{0, 0, 0}, {500, 10, 20}, {1000, 20, 20}, {1500, 20, 20}, {2000, 120, 100}, {2250, 500, 100}, {4000, 120, 0}} {
		if got := l.read(began, began.Add(time.Duration(c.ms)*time.Millisecond), c.chunks); got != c.want {
			t.Errorf("after %d ms: %v, want %v", c.ms, got, c.want)
		}
	}
	if got := l.read(began.Add(time.Minute), began.Add(time.Minute+time.Second/2), 5); got != 10 {
		t.Errorf("in the next repeat %v", got)
	}
}
