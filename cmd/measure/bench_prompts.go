package main

import (
	"path/filepath"
	"slices"

	"rowproof/internal/engine"
	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
)

// requests makes what one row asks.
type requests interface {
	// build returns the maker of a repeat's requests; seq counts from 0, warm-up included,
	// and the empty Call says that there are no more.
	build(repeat int) func(seq int) loadgen.Call
	// asked writes into the samples of a repeat what was asked of each, as far as that is
	// its own and not the row's, and returns what a reader should know of it.
	asked(repeat int, samples []row.Sample) (notes []string)
}

// requests are those of a planned row.
func (s *sweep) requests(p *planned) requests {
	times := func(repeat int) *prompts.Arrivals { return s.o.arrivals(p, repeat) }
	switch {
	case s.o.trace != nil:
		return &traceRequests{srv: s.srv, p: p, trace: s.o.trace, times: times}
	case s.o.dataset != nil:
		return &datasetRequests{srv: s.srv, p: p, dataset: s.o.dataset, draw: s.draw, times: times}
	}
	return &randomRequests{srv: s.srv, p: p, random: s.srv.random(&p.workload, p.seed, &s.used), times: times}
}

// randomRequests are fresh random prompts of one length.
type randomRequests struct {
	srv    *server
	p      *planned
	random *prompts.Random
	times  func(repeat int) *prompts.Arrivals
}

func (r *randomRequests) build(repeat int) func(int) loadgen.Call {
	times := r.times(repeat)
	make := r.srv.build(&r.p.workload, r.random, repeat)
	return func(seq int) loadgen.Call {
		if r.p.ends(seq) {
			return loadgen.Call{}
		}
		c := make(seq)
		if times != nil {
			c.At = times.At(seq)
		}
		return c
	}
}

func (r *randomRequests) asked(int, []row.Sample) []string { return nil }

// random makes the prompts of one row for this server.
func (s *server) random(w *row.Workload, seed uint64, u *prompts.Used) *prompts.Random {
	p := &prompts.Random{Seed: seed, Length: w.ISL, Shared: w.Prompts.SharedPrefix, Units: s.units(), Used: u}
	if s.form.words != nil {
		p.Length = s.form.count(w.ISL)
		p.Shared = min(p.Shared, p.Length-1)
	}
	if w.Prompts.State == row.Warm {
		p.Set = *w.Load.Concurrency
	}
	return p
}

// units is what prompts for this server are made of.
func (s *server) units() prompts.Units {
	if s.form.words != nil {
		return prompts.Units{Lo: 0, Hi: int64(len(s.form.words))}
	}
	return prompts.IDs(s.known)
}

// build returns the maker of a repeat's requests.
func (s *server) build(w *row.Workload, p *prompts.Random, repeat int) func(seq int) loadgen.Call {
	return func(seq int) loadgen.Call { return s.ask(w, p.Prompt(repeat, seq), w.ISL, w.OSL) }
}

// ask is a request with a prompt of units.
func (s *server) ask(w *row.Workload, units []int, isl, osl int64) loadgen.Call {
	p := engine.Prompt{IDs: units}
	if s.form.words != nil {
		p = engine.Prompt{Text: s.form.text(units)}
	}
	return engine.Request(w.Endpoint, s.model, p, int(isl), int(osl), s.options(w))
}

// say is a request with a prompt in words.
func (s *server) say(w *row.Workload, text string) loadgen.Call {
	return engine.Request(w.Endpoint, s.model, engine.Prompt{Text: text}, int(w.ISL), int(w.OSL), s.options(w))
}

// own writes what was asked of a request where it is not the workload's.
func own(n, all int64) *int64 {
	if n == all {
		return nil
	}
	return &n
}

// stateLengths puts the medians and the p99 of the requested lengths into the workload;
// both slices are sorted. A prompt's length is not known where there is none.
func stateLengths(w *row.Workload, isl, osl []int64) {
	slices.Sort(isl)
	slices.Sort(osl)
	// Of lengths a percentile is one that occurs.
	at := func(sorted []int64, permille int) int64 {
		if len(sorted) == 0 {
			return 0
		}
		return sorted[(len(sorted)*permille+999)/1000-1]
	}
	w.Lengths = &row.Lengths{ISLP50: at(isl, 500), ISLP99: at(isl, 990), OSLP50: at(osl, 500), OSLP99: at(osl, 990)}
	w.ISL, w.OSL = w.Lengths.ISLP50, w.Lengths.OSLP50
}

// named is a file as a line of words names it.
func named(path string) string { return oneLine(filepath.Base(path)) }
