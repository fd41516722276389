package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// progress rewrites one line on a terminal; elsewhere it says a line for each row that is
// done. It may be told from several goroutines.
type progress struct {
	w       io.Writer
	width   func() int // of the terminal in columns; nil: not a terminal
	now     func() time.Time
	started time.Time
	rows    int     // 0: not known beforehand
	work    float64 // of all rows, see effort

	mu     sync.Mutex
	done   int
	worked float64 // of the rows that are done
	began  time.Time
	live   pace
	drawn  bool
}

func newProgress(w io.Writer, plan []planned) *progress {
	p := &progress{w: w, now: time.Now, rows: len(plan)}
	for _, x := range plan {
		p.work += effort(x)
	}
	if c, ok := w.(*cleanWriter); ok {
		w = c.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.w = w // what is drawn is ours
		p.width = func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil || columns <= 0 {
				return 80
			}
			return columns
		}
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

// begin shows the row that is next.
func (p *progress) begin(x planned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = p.now()
	p.draw(p.worked, x.String())
}

// end takes the line away. Where none is drawn it says what the row has shown.
func (p *progress) end(x planned, r *row.Row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	p.done++
	p.worked += effort(x)
	if p.width != nil || r.Status != row.StatusOK {
		return // a row that failed is told with its reason
	}
	parts := []string{}
	part := func(name string, v *float64, unit string) {
		if v != nil {
			parts = append(parts, name+sameDecimals([]*float64{v})[0]+unit)
		}
	}
	if d := r.Figures.TTFT; d != nil {
		part("TTFT p50 ", d.P50, " ms")
	}
	if d := r.Figures.ITL; d != nil {
		part("ITL p50 ", d.P50, " ms")
		part("p99 ", d.P99, " ms")
	}
	part("", r.Figures.OutputTokPerSec, " tok/s")
	took := p.now().Sub(p.began).Round(time.Second / 10)
	parts = append(parts, countOf(int(r.Counts.Completed), "timed request")+" in "+took.String())
	left := ""
	if p.done < p.rows {
		left = p.left(p.worked)
	}
	fmt.Fprintf(p.w, "%s: %s: %s%s\n", p.place(), x, strings.Join(parts, ", "), left)
}

// place is how many rows are done, of how many.
func (p *progress) place() string {
	if p.rows == 0 {
		return countOf(p.done, "row")
	}
	return fmt.Sprintf("%d of %s", p.done, countOf(p.rows, "row"))
}

// left is about how long the rest takes by the pace so far; "" where that is not known.
func (p *progress) left(worked float64) string {
	if worked <= 0 || p.work <= 0 {
		return ""
	}
	spent := p.now().Sub(p.started).Seconds()
	return ", about " + time.Duration(spent*(p.work-worked)/worked*float64(time.Second)).Round(time.Second).String() + " left"
}

// pace is a rate of the last second.
type pace struct {
	since, at time.Time // of the repeat, and of the last reading
	chunks    int64
	rate      float64
}

// read takes in how many chunks have come since the repeat began.
func (l *pace) read(began, now time.Time, chunks int64) float64 {
	if began != l.since {
		*l = pace{since: began, at: began}
	}
	if over := now.Sub(l.at); over >= time.Second {
		l.rate, l.at, l.chunks = float64(chunks-l.chunks)/over.Seconds(), now, chunks
	} else if l.at.Equal(began) && over > 0 {
		return float64(chunks) / over.Seconds()
	}
	return l.rate
}

// repeat shows what the repeat in hand has brought since it began: requests ended of those
// planned, of which a duration knows none, and about the tokens a second and the times.
func (p *progress) repeat(x planned, repeat int, so loadgen.Progress, began time.Time) {
	if p.width == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &x.workload
	now := p.now()
	of, part := "", 0.0
	if w.DurationS != nil {
		part = now.Sub(began).Seconds() / float64(*w.DurationS)
	} else {
		of = fmt.Sprintf(" of %d", so.Planned)
		part = max(float64(so.Chunks)/float64(int64(so.Planned)*x.osl), float64(so.Done)/float64(so.Planned))
	}
	part = (float64(repeat) + min(1, part)) / float64(w.Repeats)
	noun := "requests"
	if so.Planned == 1 {
		noun = "request"
	}
	text := x.String()
	if w.Repeats > 1 {
		text += fmt.Sprintf(", repeat %d of %d", repeat+1, w.Repeats)
	}
	text += fmt.Sprintf(": %d%s %s", so.Done, of, noun)
	if so.Failed > 0 {
		text += fmt.Sprintf(" (%d failed)", so.Failed)
	}
	text += fmt.Sprintf(", about %.0f tok/s", p.live.read(began, now, so.Chunks))
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"TTFT", so.First}, {"ITL", so.Gap}} {
		if t.d > 0 {
			v := t.d.Seconds() * 1000
			text += ", " + t.name + " " + sameDecimals([]*float64{&v})[0] + " ms"
		}
	}
	p.draw(p.worked+part*effort(x), text)
}

// tighter writes a line in fewer columns.
var tighter = strings.NewReplacer("about ", "~", " requests", "", " request", "", " of ", "/", " rows, ", " rows ", " row, ", " row ", " at ", " ")

// draw shows the rows done, the time so far, the time left by the pace so far, and the
// row in hand. What a terminal has no room for is written shorter, and then cut: a line
// that wraps cannot be taken away.
func (p *progress) draw(worked float64, what string) {
	if p.width == nil {
		return
	}
	spent := p.now().Sub(p.started).Truncate(time.Second)
	room := p.width() - 1
	text := fmt.Sprintf("%s, %s%s; %s", p.place(), spent, p.left(worked), what)
	if utf8.RuneCountInString(text) > room {
		text = tighter.Replace(text)
	}
	line := []rune(text)
	if len(line) > room {
		line = append(line[:max(0, room-1)], '…')
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", string(line))
	p.drawn = true
}

// say writes a line of our own words, with nothing drawn before it.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintln(p.w, text)
}

// clear takes the line away before anything else is written.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

func (p *progress) wipe() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
