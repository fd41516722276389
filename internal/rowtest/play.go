package rowtest

import (
	"math/rand/v2"
	"strconv"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// connections that an open loop without a limit opens beforehand.
const connections = 8

// engine answers prompts one at a time and decodes all that run together, at a fixed
// distance above the hard roof.
type engine struct {
	o        Options
	isl, osl int64
	random   *rand.Rand
	prefills map[int64]int64 // µs of one prompt, by the tokens that no cache served
	steps    map[int64]int64 // µs of a decode step, by batch
}

func newEngine(o Options, w *row.Workload, random *rand.Rand) *engine {
	return &engine{o: o, isl: w.ISL, osl: w.OSL, random: random, prefills: map[int64]int64{}, steps: map[int64]int64{}}
}

// prefill is what a prompt of so many uncached tokens takes.
func (e *engine) prefill(tokens int64) int64 {
	if e.prefills[tokens] == 0 {
		e.prefills[tokens] = 5000
		if a := e.ceiling(1, tokens); a.PrefillMS != nil {
			e.prefills[tokens] = int64(a.PrefillMS.Hard*e.o.Slowness*1000) + 2500
		}
	}
	return e.prefills[tokens]
}

// ceiling asks for so many sequences that part evenly over the recipe's replicas.
func (e *engine) ceiling(batch, isl int64) roofline.Answer {
	was := e.o.AsItWas
	q, replicas, _ := was.Recipe.Roof(&was.Model, &was.Target)
	replicas = max(replicas, 1)
	q.Batch = (batch + replicas - 1) / replicas
	q.Context, q.ISL, q.OSL, q.Concurrency = isl+e.osl/2, isl, e.osl, q.Batch
	return roofline.Ceiling(q)
}

// step is a decode step of the batch, ±3%.
func (e *engine) step(batch int64) int64 {
	if e.steps[batch] == 0 {
		e.steps[batch] = 8000
		if a := e.ceiling(batch, e.isl); a.DecodeStepMS != nil {
			e.steps[batch] = int64(a.DecodeStepMS.Hard*e.o.Slowness*1000) + 150
		}
	}
	us := e.steps[batch]
	return us - us*3/100 + e.random.Int64N(1+us*6/100)
}

// request is one being served.
type request struct {
	sample   row.Sample
	left     int64
	last     int64
	gathered int64
}

// token makes one at a time; chunks but the first carry as many as the engine gathers.
func (q *request) token(at, gather int64) {
	q.left--
	q.gathered++
	if q.left > 0 && len(q.sample.T) > 0 && q.gathered < gather {
		return
	}
	q.sample.T = append(q.sample.T, at-q.last)
	if gather > 1 {
		q.sample.N = append(q.sample.N, q.gathered)
	}
	q.last, q.gathered = at, 0
}

// play runs every repeat of a workload, one after the other.
func play(o Options, w *row.Workload, random *rand.Rand) []row.Sample {
	e := newEngine(o, w, random)
	var out []row.Sample
	now := int64(1000)
	for repeat := range w.Repeats {
		var samples []row.Sample
		samples, now = e.repeat(w, repeat, now)
		out = append(out, samples...)
		now += 2_000_000
	}
	return out
}

// run is the state of one repeat.
type run struct {
	e        *engine
	w        *row.Workload
	repeat   int64
	next     int64 // number of the next request
	waiting  []*request
	running  []*request
	finished []*request
}

// enqueue offers one request to the engine at once.
func (r *run) enqueue(worker, at int64) { r.send(r.make(at), worker, at) }

func (r *run) send(q *request, worker, at int64) {
	q.sample.Worker, q.sample.Sent = worker, at+20+r.e.random.Int64N(30)
	q.last = q.sample.Sent
	r.waiting = append(r.waiting, q)
}

// make is the next request, due at a time.
func (r *run) make(at int64) *request {
	phase, pass := r.phase()
	isl, osl, cached := r.w.ISL, r.w.OSL, int64(0)
	s := row.Sample{Repeat: r.repeat, Pass: pass, Phase: phase, I: r.next, Enqueued: at, Status: row.StatusOK,
		Prompt: hex16(r.e.random.Uint64())}
	if r.w.Lengths != nil {
		isl = isl/2 + r.e.random.Int64N(isl+1)
		osl = max(2, osl/2+r.e.random.Int64N(osl+1))
		wantISL, wantOSL := isl, osl
		s.WantOSL = &wantOSL
		if r.w.Prompts.Kind == row.PromptsTrace {
			s.WantISL = &wantISL
		}
	}
	if r.w.Block != nil && r.next > 0 {
		want := isl / 2 / *r.w.Block * *r.w.Block * r.e.random.Int64N(2)
		s.WantCached, cached = &want, want-want/4
	}
	s.ISL, s.OSL, s.Cached = &isl, &osl, &cached
	s.Bigrams = &row.Bigrams{Distinct: osl - 1, All: osl - 1} // text that does not repeat
	r.next++
	return &request{left: osl, sample: s}
}

// untimed is how many requests come before the timed ones.
func (r *run) untimed() int64 {
	if r.w.OpenLoop() {
		return r.w.Warmup
	}
	return r.w.Warmup * *r.w.Load.Concurrency
}

// phase of the next request: warm-up passes first, then the timed ones, then drain.
func (r *run) phase() (string, int64) {
	i := r.next
	if i == 0 && r.repeat == 0 && r.w.Warmup > 0 {
		return row.PhaseFirst, 0
	}
	i -= r.untimed()
	switch {
	case i < 0:
		return row.PhaseWarm, 0
	case r.w.Protocol == row.Passes:
		return row.PhaseTimed, i / *r.w.Load.Concurrency
	case i < *r.w.Requests:
		return row.PhaseTimed, 0
	}
	return row.PhaseDrain, 0
}

// turn is one iteration of the engine: a prompt if one waits, else a decode step.
func (r *run) turn(now int64) int64 {
	free := r.e.o.Slots == 0 || int64(len(r.running)) < r.e.o.Slots
	if len(r.waiting) > 0 && free && (len(r.running) == 0 || r.waiting[0].sample.Sent <= now) {
		q := r.waiting[0]
		r.waiting = r.waiting[1:]
		now = max(now, q.sample.Sent) + r.e.prefill(*q.sample.ISL-*q.sample.Cached) + r.e.random.Int64N(200)
		q.token(now, r.e.o.Chunk)
		r.running = append(r.running, q)
	} else {
		now += r.e.step(int64(len(r.running)))
		for _, q := range r.running {
			q.token(now, r.e.o.Chunk)
		}
	}
	still := r.running[:0:0]
	for _, q := range r.running {
		if q.left > 0 {
			still = append(still, q)
		} else {
			r.finished = append(r.finished, q)
		}
	}
	r.running = still
	return now
}

// repeat plays one repeat and tells when it ended. Sustained streams are kept full
// until the last timed request ends, and what then runs is let finish as drain.
func (e *engine) repeat(w *row.Workload, number, now int64) ([]row.Sample, int64) {
	r := &run{e: e, w: w, repeat: number}
	if w.OpenLoop() {
		now = r.open(now)
		return r.ordered(), now
	}
	c := *w.Load.Concurrency
	if w.Protocol == row.Passes {
		for range w.Warmup + *w.Iters {
			for worker := range c {
				r.enqueue(worker, now)
			}
			for len(r.waiting)+len(r.running) > 0 {
				now = r.turn(now)
			}
			now += 400
		}
	} else {
		timed := int64(0)
		// The streams start apart, as they do when warm-up has run for a while.
		apart := (e.prefill(e.isl) + e.step(c)*w.OSL) / c
		if w.Lengths != nil {
			apart /= 2 // the shortest request is half as long
		}
		for worker := range c {
			r.enqueue(worker, now+worker*apart)
		}
		for len(r.waiting)+len(r.running) > 0 {
			before := len(r.finished)
			now = r.turn(now)
			ended := r.finished[before:]
			for _, q := range ended {
				if q.sample.Phase == row.PhaseTimed {
					timed++
				}
			}
			if timed < *w.Requests {
				for _, q := range ended {
					r.enqueue(q.sample.Worker, now+10)
				}
			}
		}
	}
	return r.ordered(), now
}

func (r *run) ordered() []row.Sample {
	out := make([]row.Sample, r.next)
	for _, q := range r.finished {
		out[q.sample.I] = q.sample
	}
	return out
}

func hex16(v uint64) string {
	s := strconv.FormatUint(v, 16)
	for len(s) < 16 {
		s = "0" + s
	}
	return s
}
