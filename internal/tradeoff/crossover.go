package tradeoff

import (
	"cmp"
	"math"
	"slices"

	"rowproof/internal/stats"
)

// Rung is one measured load of a ladder, a concurrency or a rate above 0: a positive
// figure with its 95% interval.
type Rung struct {
	Load          float64
	Value, Lo, Hi float64
}

// Crossing is where one ladder passes another, in their load.
type Crossing struct {
	At     float64 // estimate
	Lo, Hi float64 // below Lo the first is shown to be greater (or less), above Hi the other way
	Before bool    // the first ladder is greater below At
}

// Crossover finds where the figures of two ladders cross: between the loads that both
// have measured, the ratio is a straight line on logarithmic axes. An interval's ends are
// where the ratio's widest and narrowest readings cross 1, so the two ladders are shown
// to differ on both sides; when they are not, or never cross, ok is false. Of several
// crossings the last is given.
func Crossover(a, b []Rung) (c Crossing, ok bool) {
	type ratio struct{ at, value, lo, hi float64 } // logarithms
	var line []ratio
	for _, p := range a {
		i := slices.IndexFunc(b, func(q Rung) bool { return q.Load == p.Load })
		if i < 0 || !(p.Load > 0) || !positive(p) || !positive(b[i]) {
			continue
		}
		q := b[i]
		line = append(line, ratio{stats.Log(p.Load),
			stats.Log(p.Value / q.Value), stats.Log(p.Lo / q.Hi), stats.Log(p.Hi / q.Lo)})
	}
	slices.SortFunc(line, func(x, y ratio) int { return cmp.Compare(x.at, y.at) })
	for i := len(line) - 2; i >= 0; i-- {
		p, q := line[i], line[i+1]
		if (p.value > 0) == (q.value > 0) || p.value == 0 {
			continue
		}
		before := p.value > 0
		// The nearest loads on either side at which the two are shown to differ.
		left, right := i, i+1
		for left >= 0 && !apart(line[left].lo, line[left].hi, before) {
			left--
		}
		for right < len(line) && !apart(line[right].lo, line[right].hi, !before) {
			right++
		}
		if left < 0 || right == len(line) {
			continue
		}
		c = Crossing{At: stats.Exp(zero(p.at, p.value, q.at, q.value)), Before: before}
		// Going right, the reading that touches 1 first ends what is shown on the left.
		near := func(r ratio) float64 { return r.lo }
		far := func(r ratio) float64 { return r.hi }
		if !before {
			near, far = far, near
		}
		for k := left; k < right; k++ {
			if (near(line[k]) > 0) == before && (near(line[k+1]) > 0) != before {
				c.Lo = stats.Exp(zero(line[k].at, near(line[k]), line[k+1].at, near(line[k+1])))
				break
			}
		}
		for k := right; k > left; k-- {
			if (far(line[k]) > 0) != before && (far(line[k-1]) > 0) == before {
				c.Hi = stats.Exp(zero(line[k-1].at, far(line[k-1]), line[k].at, far(line[k])))
				break
			}
		}
		return c, c.Lo > 0 && c.Hi > 0
	}
	return Crossing{}, false
}

func positive(r Rung) bool {
	return r.Lo > 0 && r.Value >= r.Lo && r.Hi >= r.Value && !math.IsInf(r.Hi, 1)
}

// apart says whether a ratio's whole interval lies on one side of 1.
func apart(lo, hi float64, above bool) bool {
	if above {
		return lo > 0
	}
	return hi < 0
}

// zero is where the straight line through two points meets 0.
func zero(x1, y1, x2, y2 float64) float64 {
	return x1 + float64((x2-x1)*(y1/(y1-y2)))
}
