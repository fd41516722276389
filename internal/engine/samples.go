package engine

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// Sample statuses.
const (
	statusOK    = row.StatusOK
	statusError = row.StatusError
)

// mostKinds of unknown content are named.
const mostKinds = 5

// Samples parses what came back into one sample a request, in order, with times in
// whole µs. It also puts the exact number of content chunks under another's stamp, and
// without one, in place of the capture's own upper bounds, and adds to its notes.
//
// How many tokens a chunk holds comes from the token ids in it, else from the growth of
// a count that every chunk carries. Where the server gives neither, a chunk counts as one
// token; if the server then counts another sum, the sample says so in its reason and keeps
// both. ISL and OSL are the server's own counts.
func Samples(c *loadgen.Capture) []row.Sample {
	size := c.Stats.SpilledBytes
	for i := range c.Outcomes {
		size += int64(len(c.Outcomes[i].Body))
	}
	if size > 64<<20 {
		// The bodies stay; waiting until as much again is garbage would double the memory.
		defer debug.SetGCPercent(debug.SetGCPercent(25))
	}
	out := make([]row.Sample, len(c.Outcomes))
	unknown := make([][]string, len(c.Outcomes))
	var shared, unstamped, next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
				o, s := &c.Outcomes[i], &out[i]
				r := load(o)
				*s = r.sample(o, c.Spec.Zero)
				s.Repeat = int64(c.Spec.Repeat)
				if o.Phase == row.PhaseTimed && c.Spec.Protocol == row.Passes {
					s.Pass = int64(o.Pass)
				}
				shared.Add(r.shared())
				for _, g := range s.T {
					if g == row.NoStamp {
						unstamped.Add(1)
					}
				}
				unknown[i] = r.unknown
			}
		})
	}
	wg.Wait()
	var kinds []string
	for _, of := range unknown {
		for _, k := range of {
			if len(kinds) < 1000 && !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	c.Stats.SharedStamps, c.Stats.Unstamped = shared.Load(), unstamped.Load()
	for i, k := range kinds {
		if i == mostKinds {
			c.Notes = append(c.Notes, "and content parts of "+strconv.Itoa(len(kinds)-i)+" more types")
			break
		}
		c.Notes = append(c.Notes, "content parts of type "+visible([]byte(k), 40)+" are unknown and were counted as content")
	}
	return out
}

// load reads an answer, which may have been put aside in a file.
func load(o *loadgen.Outcome) *reading {
	if err := o.Load(); err != nil {
		return &reading{failure: err.Error()}
	}
	defer o.Unload()
	return read(o)
}

// sample turns the reading into the record that figures are computed from.
func (r *reading) sample(o *loadgen.Outcome, zero int64) row.Sample {
	sent := o.Sent
	if sent == 0 {
		sent = o.Enqueued
	}
	s := row.Sample{
		Phase: o.Phase, I: int64(o.Seq), Worker: int64(o.Worker),
		Enqueued: micros(o.Enqueued - zero), Sent: micros(sent - zero),
		Prompt: o.Call.Prompt, Status: statusOK, Reason: r.note,
	}
	if r.failure != "" {
		s.Status, s.Reason = statusError, r.failure
	}
	r.times(&s, sent)
	var sum int64
	ones := true
	for _, p := range r.pieces {
		sum += p.tokens
		ones = ones && p.tokens == 1
	}
	wild := r.counted && r.beyond(sum, o.Call.OSL)
	if r.counted && !ones && !wild {
		s.N = make([]int64, len(r.pieces))
		for i, p := range r.pieces {
			s.N[i] = p.tokens
		}
	}
	s.Bigrams, s.NoBigrams = r.output.bigrams(r.ids, sum)
	s.TokensFrom = row.TokensClient
	if r.ids {
		s.TokensFrom = row.TokensIDs
	}
	if o.Cut {
		return s
	}
	if why := r.impossible(r.usage, o.Call.ISL, o.Call.OSL, sum); why != "" {
		if r.failure == "" { // else that is the reason
			s.Status, s.Reason = statusError, why
		}
		return s
	}
	if r.usage != nil {
		r.fillUsage(&s, r.usage, sum)
	}
	s.Clock, s.Spec = r.clock, r.spec
	if r.failure == "" {
		s.Reason = joined(append([]string{s.Reason}, r.odd...))
	}
	return s
}

func (r *reading) times(s *row.Sample, sent int64) {
	if len(r.pieces) > 0 {
		s.T = make(row.Gaps, 0, len(r.pieces))
	}
	var last int64
	for _, p := range r.pieces {
		if p.at == loadgen.Unstamped {
			s.T = append(s.T, row.NoStamp)
			continue
		}
		at := max(last, micros(p.at-sent))
		s.T = append(s.T, at-last)
		last = at
	}
	if !r.reasoning || len(r.pieces) == 0 {
		return
	}
	first := int64(slices.IndexFunc(r.pieces, func(p piece) bool { return p.answer }))
	if first != 0 {
		s.Answer = &first
	}
}

// fillUsage takes the server's counts as sent, and says in the reason where they
// disagree with themselves or with the chunks.
func (r *reading) fillUsage(s *row.Sample, u *usage, sum int64) {
	s.ISL, s.OSL, s.Cached = u.Prompt.value(), u.Completion.value(), u.cached().value()
	if n := u.thought(); n != nil && *n > 0 {
		s.Reasoning = n
	}
	if s.OSL != nil {
		s.TokensFrom = ""
	}
	var odd []string
	total := u.Total.value()
	if total != nil && s.ISL != nil && s.OSL != nil && *total != *s.ISL+*s.OSL {
		s.UsageTotal = total
		odd = append(odd, "usage does not add up: prompt "+itoa(*s.ISL)+" + completion "+itoa(*s.OSL)+" = "+itoa(*s.ISL+*s.OSL)+
			", total "+itoa(*total)+", "+itoa(*total-*s.ISL-*s.OSL)+" in neither")
	}
	switch {
	case s.OSL == nil:
	case *s.OSL == 0 && len(r.pieces) > 0:
		// Content came, so 0 is no count of it.
		why := "usage counts 0 completion tokens, and content came"
		if n := s.Reasoning; n != nil && total != nil && s.ISL != nil && *n == *total-*s.ISL {
			why += "; total − prompt = " + itoa(*n) + " = reasoning_tokens"
		}
		odd = append(odd, why)
		s.OSL = nil
	case r.counted && sum != *s.OSL:
		odd = append(odd, "usage says "+itoa(*s.OSL)+" tokens, the chunks "+itoa(sum))
	case !r.counted && int64(len(r.pieces)) != *s.OSL && s.UsageTotal == nil:
		odd = append(odd, "usage says "+itoa(*s.OSL)+" tokens, "+itoa(int64(len(r.pieces)))+" chunks carried content, and none says how many")
	}
	if r.failure != "" {
		return // the failure is the reason
	}
	s.Reason = joined(append([]string{s.Reason}, odd...))
}

// joined are the parts of a reason in one.
func joined(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// shared counts the pieces whose stamp another piece has too, though they came in
// different chunks of the transfer.
func (r *reading) shared() int64 {
	var n int64
	for i, p := range r.pieces {
		if p.shared && i+1 < len(r.pieces) && r.pieces[i+1].at == p.at && p.at != loadgen.Unstamped {
			n++
		}
	}
	return n
}

// stamper finds stamps for offsets that only grow.
type stamper struct {
	stamps []loadgen.Stamp
	i      int
}

// of returns the stamp of the byte before end.
func (s *stamper) of(end int64) (at int64, shared bool) {
	for s.i < len(s.stamps) && s.stamps[s.i].Off < end {
		s.i++
	}
	if s.i == len(s.stamps) {
		return loadgen.Unstamped, false
	}
	return s.stamps[s.i].At, s.stamps[s.i].Shared
}

// micros rounds ns to whole µs, halves up.
func micros(ns int64) int64 {
	if ns < 0 {
		return -((-ns + 499) / 1000)
	}
	return (ns + 500) / 1000
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}
