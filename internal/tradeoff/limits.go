package tradeoff

import (
	"cmp"
	"slices"

	"rowproof/internal/row"
)

// Limit is the most that a latency may be: TTFT p99 ≤ 200 ms.
type Limit = row.Limit

// Held is one limit held against a row.
type Held struct {
	Limit    Limit
	Found    *float64 // nil: the row has no such figure
	Permille int      // the percentile that Found is: the row's highest when it has too few samples for the one asked for
	Met      bool     // what was found is within the limit, whatever its percentile
}

// Known says whether the row has the percentile that was asked for.
func (h Held) Known() bool { return h.Found != nil && h.Permille == h.Limit.Permille }

// Over is by how much of the limit the row is over it: 0.5 for 15 against 10. A missing
// figure is over without bound.
func (h Held) Over() float64 {
	if h.Met {
		return 0
	}
	if h.Found == nil || h.Limit.Max <= 0 {
		return infinity
	}
	return *h.Found/h.Limit.Max - 1
}

const infinity = 1e308

// Hold holds each limit against a row's figures.
func Hold(f *row.Figures, limits []Limit) []Held {
	held := make([]Held, len(limits))
	for i, l := range limits {
		held[i] = Held{Limit: l, Permille: l.Permille}
		for _, p := range []int{990, 950, 900, 500, row.Mean} {
			if p > l.Permille || p == row.Mean && l.Permille != row.Mean {
				continue
			}
			if v := percentile(latency(f, l.Figure), p); v != nil {
				held[i].Found, held[i].Permille = v, p
				held[i].Met = *v <= l.Max
				break
			}
		}
	}
	return held
}

func latency(f *row.Figures, name string) *row.Dist {
	switch name {
	case "ttft_ms":
		return f.TTFT
	case "ttfa_ms":
		return f.TTFA
	case "itl_ms":
		return f.ITL
	case "tpot_ms":
		return f.TPOT
	case "e2e_ms":
		return f.E2E
	}
	return nil
}

func percentile(d *row.Dist, permille int) *float64 {
	if d == nil {
		return nil
	}
	switch permille {
	case row.Mean:
		return d.Mean
	case 500:
		return d.P50
	case 900:
		return d.P90
	case 950:
		return d.P95
	case 990:
		return d.P99
	}
	return nil
}

// Candidate is a row that may be chosen.
type Candidate struct {
	Figures *row.Figures
	Rank    *float64 // what the choice is ranked by, more being better; nil ranks last
}

// Choice is what a reader's limits leave. A row that has too few samples for a
// percentile is held to the highest that it has, and is kept apart from those that have
// it: its p99 may well be over.
type Choice struct {
	Met     []int // places of those that have every percentile asked for and meet every limit, the best first
	Lower   []int // of those that meet every limit only as far as their percentiles go, the best first
	Known   int   // how many have every percentile asked for
	Nearest int   // when nothing answers, the one whose worst overrun is least, of the known if there are any; else -1
	Worst   int   // when nothing answers, the limit that most rows miss; -1 without limits
}

// Answer is the best row: of those known to meet every limit, or, only where none has
// the percentiles asked for, of those that meet it as far as they go. -1: none.
func (c Choice) Answer() int {
	switch {
	case len(c.Met) > 0:
		return c.Met[0]
	case c.Known == 0 && len(c.Lower) > 0:
		return c.Lower[0]
	}
	return -1
}

// Choose holds limits against every candidate.
func Choose(candidates []Candidate, limits []Limit) Choice {
	c := Choice{Nearest: -1, Worst: -1}
	missed := make([]int, len(limits))
	nearestKnown, least := false, 0.0
	for i, m := range candidates {
		worst, known := 0.0, true
		for k, h := range Hold(m.Figures, limits) {
			if !h.Met {
				missed[k]++
			}
			worst = max(worst, h.Over())
			known = known && h.Known()
		}
		if known {
			c.Known++
		}
		switch {
		case worst == 0 && known:
			c.Met = append(c.Met, i)
		case worst == 0:
			c.Lower = append(c.Lower, i)
		case c.Nearest < 0 || known && !nearestKnown || known == nearestKnown && worst < least:
			c.Nearest, nearestKnown, least = i, known, worst
		}
	}
	for _, places := range [][]int{c.Met, c.Lower} {
		slices.SortStableFunc(places, func(a, b int) int {
			return cmp.Compare(value(candidates[b].Rank), value(candidates[a].Rank))
		})
	}
	if c.Answer() >= 0 {
		c.Nearest = -1
		return c
	}
	for k := range missed {
		if c.Worst < 0 || missed[k] > missed[c.Worst] {
			c.Worst = k
		}
	}
	return c
}

func value(v *float64) float64 {
	if v == nil {
		return -infinity
	}
	return *v
}
