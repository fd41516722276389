package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress rewrites one line on a terminal, and is silent elsewhere.
type progress struct {
	w       io.Writer // nil: not a terminal
	now     func() time.Time
	started time.Time
	rows    int
	done    int
	work    float64 // of all rows, see effort
	worked  float64 // of the rows that are done
	drawn   bool
}

func newProgress(w io.Writer, plan []planned) *progress {
	p := &progress{now: time.Now, rows: len(plan)}
	for _, x := range plan {
		p.work += effort(x)
	}
	if c, ok := w.(*cleanWriter); ok {
		w = c.w // what is drawn is ours
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.w = w
	}
	p.started = p.now()
	return p
}

// promptsPerStep is how many prompt tokens are about the work of one decode step, and
// stepsPerSecond how many of those a second holds.
const (
	promptsPerStep = 100
	stepsPerSecond = 100
)

// effort is about how long a row takes beside other rows: in decode steps, its prompts
// among them, over all repeats; with a duration, in seconds.
func effort(p planned) float64 {
	w := &p.workload
	if w.DurationS != nil {
		return float64(w.Repeats * *w.DurationS)
	}
	if p.rate != "" {
		n := w.Warmup + *w.Requests
		return float64(w.Repeats) * (float64(p.osl) + float64(p.isl*n)/promptsPerStep + stepsPerSecond*p.arriving(n).Seconds())
	}
	passes := float64(w.Warmup)
	if w.Iters != nil {
		passes += float64(*w.Iters)
	} else {
		passes += float64(*w.Requests) / float64(p.concurrency)
	}
	step := float64(p.osl) + float64(p.isl*p.concurrency)/promptsPerStep
	return float64(w.Repeats) * passes * step
}

// begin shows the row that is next, end that it is done.
func (p *progress) begin(x planned) {
	p.draw(p.worked, x.String())
}

func (p *progress) end(x planned) {
	p.done++
	p.worked += effort(x)
}

// repeat shows what the repeat in hand has brought in the time since it began: about the
// tokens, and requests ended of those planned, of which a duration knows none.
func (p *progress) repeat(x planned, repeat int, tokens int64, done, planned int, since time.Duration) {
	if p.w == nil {
		return
	}
	w := &x.workload
	of, part := "", 0.0
	if w.DurationS != nil {
		part = since.Seconds() / float64(*w.DurationS)
	} else {
		of = fmt.Sprintf(" of %d", planned)
		part = max(float64(tokens)/float64(int64(planned)*x.osl), float64(done)/float64(planned))
	}
	part = (float64(repeat) + min(1, part)) / float64(w.Repeats)
	noun := "requests"
	if planned == 1 {
		noun = "request"
	}
	p.draw(p.worked+part*effort(x), fmt.Sprintf("%s, repeat %d of %d: %d%s %s, about %.0f tok/s",
		x, repeat+1, w.Repeats, done, of, noun, float64(tokens)/since.Seconds()))
}

// draw shows the rows done, the time left by the pace so far, and the row in hand.
func (p *progress) draw(worked float64, what string) {
	if p.w == nil {
		return
	}
	left := ""
	if worked > 0 {
		spent := p.now().Sub(p.started).Seconds()
		left = ", about " + time.Duration(spent*(p.work-worked)/worked*float64(time.Second)).Round(time.Second).String() + " left"
	}
	fmt.Fprintf(p.w, "\r\x1b[K%d of %s%s; %s", p.done, countOf(p.rows, "row"), left, what)
	p.drawn = true
}

// clear takes the line away before anything else is written.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
