package main

import (
	"strconv"
	"strings"

	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
)

// traced is how many lines of the trace are timed.
func (o *benchOptions) traced() int64 {
	n := int64(len(o.trace.Requests))
	if o.requests > 0 {
		n = min(n, o.requests)
	}
	return n
}

// describeTrace puts the trace into a row's workload.
func (o *benchOptions) describeTrace(w *row.Workload) {
	var isl, osl []int64
	sessions := map[int]bool{}
	for _, q := range o.trace.Requests[:o.traced()] {
		isl, osl = append(isl, q.Input), append(osl, q.Output)
		if q.Session != 0 {
			sessions[q.Session] = true
		}
	}
	stateLengths(w, isl, osl)
	w.Prompts.Kind, w.Prompts.SHA256, w.Block = row.PromptsTrace, &o.trace.SHA256, &o.trace.Block
	if n := int64(len(sessions)); n > 0 {
		w.Sessions = &n
	}
}

// fitsTrace refuses a trace that asks for more than the server takes.
func (o *benchOptions) fitsTrace(model string, limit int64) error {
	var long []string
	count := 0
	for _, q := range o.trace.Requests[:o.traced()] {
		if q.Input+q.Output <= limit {
			continue
		}
		if count++; count <= 5 {
			long = append(long, "line "+strconv.Itoa(q.Line)+" ("+strconv.FormatInt(q.Input+q.Output, 10)+" tokens)")
		}
	}
	if count == 0 {
		return nil
	}
	if count > len(long) {
		long = append(long, "and "+strconv.Itoa(count-len(long))+" more")
	}
	return refuse(exitUsage, "--trace %s: longer than the server takes of %s: %s; want prompt and output together of at most %d tokens (its max_model_len)",
		o.traceFile, oneLine(model), strings.Join(long, ", "), limit)
}

// traceRequests are those of a trace.
type traceRequests struct {
	srv     *server
	p       *planned
	trace   *prompts.Trace
	times   func(repeat int) *prompts.Arrivals
	replays []*prompts.Replay // by repeat
}

func (r *traceRequests) build(repeat int) func(int) loadgen.Call {
	w, form := &r.p.workload, &r.srv.form
	replay := prompts.NewReplay(r.trace, r.p.seed, repeat, int(w.Warmup), r.srv.units(), r.times(repeat))
	r.replays = append(r.replays, replay)
	size := r.trace.Block
	if form.words != nil {
		size = max(1, int64(float64(size)/form.perWord))
	}
	return func(seq int) loadgen.Call {
		q, ok := replay.Request(seq)
		if !ok || r.p.ends(seq) {
			return loadgen.Call{}
		}
		total := q.Input
		if form.words != nil {
			total = form.count(total)
		}
		c := r.srv.ask(w, replay.Prompt(q, size, total), q.Input, q.Output)
		c.At, c.Delay, c.Session = q.At, q.Delay, q.Session
		return c
	}
}

func (r *traceRequests) asked(repeat int, samples []row.Sample) []string {
	w := &r.p.workload
	for i := range samples {
		s := &samples[i]
		q, _ := r.replays[repeat].Request(int(s.I))
		s.WantISL, s.WantOSL, s.WantCached = own(q.Input, w.ISL), own(q.Output, w.OSL), &q.Reusable
		s.Session = int64(q.Session)
	}
	return nil
}
