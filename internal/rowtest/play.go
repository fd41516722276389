package rowtest

import (
	"math/rand/v2"
	"strconv"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// engine answers prompts one at a time and decodes all that run together, at a fixed
// distance above the hard roof.
type engine struct {
	o        Options
	isl, osl int64
	random   *rand.Rand
	prefill  int64           // µs of one prompt
	steps    map[int64]int64 // µs of a decode step, by batch
}

func newEngine(o Options, w *row.Workload, random *rand.Rand) *engine {
	e := &engine{o: o, isl: w.ISL, osl: w.OSL, random: random, steps: map[int64]int64{}}
	e.prefill = 5000
	if a := e.ceiling(1); a.PrefillMS != nil {
		e.prefill = int64(a.PrefillMS.Hard*o.Slowness*1000) + 2500
	}
	return e
}

// ceiling is that of one replica with its share of the batch.
func (e *engine) ceiling(batch int64) roofline.Answer {
	was := e.o.AsItWas
	pool := was.Recipe.Pools[0]
	replicas := pool.Count * pool.DP
	batch = (batch + replicas - 1) / replicas
	return roofline.Ceiling(roofline.Query{
		Model: &was.Model, Target: &was.Target, WeightDtype: was.Recipe.Weights.Dtype, KVDtype: was.Recipe.KVDtype,
		Batch: batch, Context: e.isl + e.osl/2, ISL: e.isl, OSL: e.osl, Concurrency: batch,
		TP: pool.TP, NoMulticast: was.Recipe.MulticastOff(),
	})
}

// step is a decode step of the batch, ±3%.
func (e *engine) step(batch int64) int64 {
	if e.steps[batch] == 0 {
		e.steps[batch] = 8000
		if a := e.ceiling(batch); a.DecodeStepMS != nil {
			e.steps[batch] = int64(a.DecodeStepMS.Hard*e.o.Slowness*1000) + 150
		}
	}
	us := e.steps[batch]
	return us - us*3/100 + e.random.Int64N(1+us*6/100)
}

// request is one being served.
type request struct {
	sample row.Sample
	left   int64
	last   int64
}

func (q *request) token(at int64) {
	q.sample.T = append(q.sample.T, at-q.last)
	q.last = at
	q.left--
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

// enqueue offers one request to the engine.
func (r *run) enqueue(worker, at int64) {
	phase, pass := r.phase()
	sent := at + 20 + r.e.random.Int64N(30)
	isl, osl, cached := r.w.ISL, r.w.OSL, int64(0)
	r.waiting = append(r.waiting, &request{
		left: osl, last: sent,
		sample: row.Sample{
			Repeat: r.repeat, Pass: pass, Phase: phase, I: r.next, Worker: worker, Enqueued: at, Sent: sent,
			ISL: &isl, OSL: &osl, Cached: &cached, Status: row.StatusOK,
			Prompt: hex16(r.e.random.Uint64()),
		},
	})
	r.next++
}

// phase of the next request: warm-up passes first, then the timed ones, then drain.
func (r *run) phase() (string, int64) {
	c := *r.w.Load.Concurrency
	i := r.next
	if i == 0 && r.repeat == 0 && r.w.Warmup > 0 {
		return row.PhaseFirst, 0
	}
	i -= r.w.Warmup * c
	switch {
	case i < 0:
		return row.PhaseWarm, 0
	case r.w.Protocol == row.Passes:
		return row.PhaseTimed, i / c
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
		now = max(now, q.sample.Sent) + r.e.prefill + r.e.random.Int64N(200)
		q.token(now)
		r.running = append(r.running, q)
	} else {
		now += r.e.step(int64(len(r.running)))
		for _, q := range r.running {
			q.token(now)
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
		apart := (e.prefill + e.step(c)*w.OSL) / c
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
	out := make([]row.Sample, r.next)
	for _, q := range r.finished {
		out[q.sample.I] = q.sample
	}
	return out, now
}

func hex16(v uint64) string {
	s := strconv.FormatUint(v, 16)
	for len(s) < 16 {
		s = "0" + s
	}
	return s
}
