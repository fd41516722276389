package tradeoff

import (
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

// Pair is a load that two ladders have measured: the second ladder's figure ÷ the first's.
type Pair struct {
	Load          float64
	Ratio, Lo, Hi float64 // Lo and Hi are what the two intervals allow at most
}

// Apart says whether the two are shown to differ: their intervals have nothing in common.
func (p Pair) Apart() bool { return p.Lo > 1 || p.Hi < 1 }

// Against holds a ladder against a reference at the loads that both have measured, in
// the order of the loads. A rung whose figure or interval is no positive number is left
// out.
func Against(reference, other []Rung) []Pair {
	var pairs []Pair
	for _, p := range reference {
		i := slices.IndexFunc(other, func(q Rung) bool { return q.Load == p.Load })
		if i < 0 || !(p.Load > 0) || !positive(p) || !positive(other[i]) {
			continue
		}
		q := other[i]
		pairs = append(pairs, Pair{p.Load, q.Value / p.Value, q.Lo / p.Hi, q.Hi / p.Lo})
		// Ladders are short and mostly in order: a sort would weigh more in the module.
		for k := len(pairs) - 1; k > 0 && pairs[k].Load < pairs[k-1].Load; k-- {
			pairs[k], pairs[k-1] = pairs[k-1], pairs[k]
		}
	}
	return pairs
}

// Crossover is the last of the Crossings of two ladders.
func Crossover(a, b []Rung) (c Crossing, ok bool) {
	all := Crossings(a, b)
	if len(all) == 0 {
		return Crossing{}, false
	}
	return all[len(all)-1], true
}

// ratio is a pair in logarithms, the first ladder over the second.
type ratio struct{ at, value, lo, hi float64 }

// Crossings are where the figures of two ladders cross, in the order of the loads:
// between the loads that both have measured, the ratio is a straight line on logarithmic
// axes. An interval's ends are where the ratio's widest and narrowest readings cross 1, so
// the two ladders are shown to differ on both sides; a crossing without such sides is none.
// Of several between the same two sides the last is given.
func Crossings(a, b []Rung) []Crossing {
	var line []ratio
	for _, p := range Against(a, b) {
		line = append(line, ratio{stats.Log(p.Load), -stats.Log(p.Ratio), -stats.Log(p.Hi), -stats.Log(p.Lo)})
	}
	var out []Crossing
	last := -1 // of the sides that the crossing before ended at
	for i := 0; i < len(line); {
		j := i + 1
		for j < len(line) && line[j].value == 0 {
			j++
		}
		if j < len(line) && line[i].value != 0 && (line[i].value > 0) != (line[j].value > 0) {
			if c, left, ok := crossing(line, i, j); ok {
				if left == last {
					out = out[:len(out)-1]
				}
				out, last = append(out, c), left
			}
		}
		i = j
	}
	return out
}

// crossing is the one between two readings of different sign, with only readings of
// exactly 1 between them; left is the nearest reading before it that is shown to differ.
func crossing(line []ratio, i, j int) (c Crossing, left int, ok bool) {
	before := line[i].value > 0
	left, right := i, j
	for left >= 0 && !apart(line[left].lo, line[left].hi, before) {
		left--
	}
	for right < len(line) && !apart(line[right].lo, line[right].hi, !before) {
		right++
	}
	if left < 0 || right == len(line) {
		return c, left, false
	}
	c.Before = before
	if j == i+1 {
		c.At = stats.Exp(zero(line[i].at, line[i].value, line[j].at, line[j].value))
	} else {
		c.At = stats.Exp((line[i+1].at + line[j-1].at) / 2)
	}
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
	return c, left, c.Lo > 0 && c.Hi > 0
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
