package main

import (
	"io"
	"math"
	"strconv"
	"strings"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// Bounds on a search: the most streams that it tries by itself, how often it halves or
// doubles a rate beyond those given, and how near the two loads on either side of the
// limits are to be, as a share of the lower.
const (
	mostTried  = 4096
	mostFolds  = 6
	nearEnough = 0.05
)

// likelyTried is how many streams a search is expected to try at most, where it has no
// bound of its own: the client's error is known up to here.
const likelyTried = 1024

// search finds, for each thing that is asked, the highest load that meets limits. Each
// load that it tries is a row.
type search struct {
	o      *benchOptions
	climbs []*climb
	rows   int // planned so far
}

// hostStreams is how many streams a search may try on this host: a load that the client's
// own host cannot open says nothing of the server.
func hostStreams() int64 {
	n := int64(mostTried)
	for n > 1 && len(loadgen.Lacks(int(n))) > 0 {
		n /= 2
	}
	return n
}

// climb is the search of one shape or file: up by the loads given or by doubling until
// one misses, or down by halving until one meets, then between the two.
type climb struct {
	name   string
	base   planned   // without its load
	rates  bool      // loads are rates, and not streams
	most   float64   // streams that the search tries by itself
	given  []float64 // ascending; the search stays within them where there are several
	steps  []sloStep
	open   bool   // the highest tried meets, and none higher is to be tried
	broken string // why it ended early
	done   bool
}

func (o *benchOptions) search() *search {
	s := &search{o: o}
	for _, x := range o.asked() {
		p := planned{shape: x, name: x.String()}
		o.describe(&p)
		c := &climb{name: p.name, base: p, rates: o.rates != nil, most: float64(hostStreams()), given: []float64{1}}
		if o.givenLoads {
			c.given = nil
			for _, r := range o.rates {
				v, _ := parseRate(r)
				c.given = append(c.given, v)
			}
			if !c.rates {
				for _, n := range o.ladder {
					c.given = append(c.given, float64(n))
				}
			}
		}
		s.climbs = append(s.climbs, c)
	}
	return s
}

// next is the row to measure; false when every climb has its answer.
func (s *search) next() (planned, bool) {
	for _, c := range s.climbs {
		if c.done {
			continue
		}
		load, ok := c.next()
		if !ok {
			c.done = true
			continue
		}
		p := c.base
		if c.rates {
			p.rate = strconv.FormatFloat(load, 'f', -1, 64)
		} else {
			p.concurrency = int64(load)
		}
		p.seed = rowSeed(s.o.seed, s.rows)
		s.rows++
		s.o.describe(&p)
		return p, true
	}
	return planned{}, false
}

// took takes in what a row of the search showed.
func (s *search) took(p planned, m *finished) {
	for _, c := range s.climbs {
		if c.done {
			continue
		}
		c.took(p, m, s.o.slo)
		if m.gone {
			c.done, c.broken = true, m.row.Reason
		}
		return
	}
}

func (c *climb) took(p planned, m *finished, limits []row.Limit) {
	r := &m.row
	met, held := heldWords(&r.Figures, r.Missing, limits)
	step := sloStep{
		Concurrency: r.Workload.Load.Concurrency, RequestRate: r.Workload.Load.RequestRate, Row: r.ID,
		Status: r.Status, Reason: r.Reason, Held: held, Requests: r.Figures.RequestPerSec,
		load: float64(p.concurrency), words: p.load(), met: met && r.Status == row.StatusOK,
	}
	if c.rates {
		step.load, _ = p.perSecond()
	}
	if g := row.Goodput(&r.Workload, m.samples, limits); g.PerSec != nil {
		step.Goodput = g.PerSec
	}
	for _, h := range tradeoff.Hold(&r.Figures, limits) {
		step.over = max(step.over, h.Over())
	}
	if r.Status != row.StatusOK {
		step.over = math.Inf(1)
	}
	c.steps = append(c.steps, step)
}

// next is the load to try; false when there is none.
func (c *climb) next() (float64, bool) {
	below, above := 0.0, math.Inf(1) // the highest that meets, the lowest that does not
	for _, s := range c.steps {
		if s.met {
			below = max(below, s.load)
		} else {
			above = min(above, s.load)
		}
	}
	lowest, highest := c.given[0], c.given[len(c.given)-1]
	switch {
	case math.IsInf(above, 1): // up
		for _, load := range c.given {
			if load > below {
				return load, true
			}
		}
		load := 2 * below
		if !c.rates {
			load = min(load, c.most)
		}
		c.open = len(c.given) > 1 || load <= below || c.rates && load > math.Ldexp(highest, mostFolds)
		return load, !c.open
	case below == 0: // down
		if c.rates {
			return above / 2, above/2 >= math.Ldexp(lowest, -mostFolds)
		}
		return math.Floor(above / 2), above >= 2
	}
	return c.between(below, above)
}

// between is the load half-way; false where the two are near enough.
func (c *climb) between(below, above float64) (float64, bool) {
	if !c.rates {
		return math.Floor((below + above) / 2), above-below > max(1, nearEnough*below)
	}
	mid, _ := strconv.ParseFloat(strconv.FormatFloat((below+above)/2, 'g', 3, 64), 64)
	return mid, above-below > nearEnough*below && mid > below && mid < above
}

func (s *search) stop(io.Writer) {
	for _, c := range s.climbs {
		if !c.done {
			c.done, c.broken = true, "--on-failure stop"
		}
	}
}

func (s *search) known() []planned { return nil }

func (s *search) words() string {
	of := make([]string, len(s.climbs))
	for i, c := range s.climbs {
		of[i] = c.name
	}
	load := "concurrency"
	if s.climbs[0].rates {
		load = "rate of requests"
	}
	return "a search of " + strings.Join(of, ",") + " for the highest " + load + " with " + strings.ReplaceAll(row.LimitWords(s.o.slo), ",", " and ")
}

func (s *search) answers() []sloAnswer {
	out := make([]sloAnswer, len(s.climbs))
	for i, c := range s.climbs {
		out[i] = c.answer(s.o.slo)
	}
	return out
}
