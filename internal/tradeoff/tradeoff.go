// Package tradeoff weighs measured cells against each other and says what is not
// measured: the rows that nothing beats on both axes, a model's coverage (target by
// strategy), and the gaps, ranked by what would change a recommendation, each with its
// cost and its command. It is pure and compiles to WebAssembly as it is.
package tradeoff

import (
	"cmp"
	"math"
	"slices"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Catalog is what is known before anything is measured: the same fields as the loaded
// catalogue, which converts to it.
type Catalog struct {
	Models     map[string]*roofline.Model
	Targets    map[string]*roofline.Target
	Strategies map[string]*row.Strategy
	Recipes    map[string]*row.Recipe
}

// Measured is one row as far as comparing needs it. Rates in tokens/s.
type Measured struct {
	ID          string
	Recipe      string // MODEL/TARGET/STRATEGY/ENGINE
	Version     string // of the engine, as the recipe then pinned it; "" where nobody says
	Ranked      bool   // its load is the one that rankings are of: row.Workload.Ranked
	QueueBound  bool   // fewer streams were served at once than were offered: gate.QueueBound
	ISL, OSL    int64
	Concurrency int64
	Repeats     int64
	Verdict     string   // one of gate's verdicts
	PerUser     *float64 // output tok/s of one user, the median; nil with a reason in the row
	PerGPU      *float64 // output tok/s per GPU
}

// counts says whether the row is a measurement of its load that rankings accept: verified,
// under the load that they are of, with enough repeats for an interval.
func (m *Measured) counts() bool {
	return m.Verdict == "verified" && m.Ranked && m.Repeats >= minRepeats
}

// ranks says whether the row may stand in a ranking or on a front: its streams were served
// together besides.
func (m *Measured) ranks() bool { return m.counts() && !m.QueueBound }

// minRepeats is how many repeats a ranked row has.
const minRepeats = 3

// Point is one row in the plane of two rates, more being better on both.
type Point struct{ X, Y float64 }

// Front says of each point whether nothing beats it: no other is at least as good on
// both axes and better on one. Equal points stand together on it. A point with a NaN is
// never on it.
func Front(points []Point) []bool {
	front := make([]bool, len(points))
	order := make([]int, 0, len(points))
	for i, p := range points {
		if !math.IsNaN(p.X) && !math.IsNaN(p.Y) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { // as Choose sorts: another sort would weigh in the module
		return cmp.Or(cmp.Compare(points[b].X, points[a].X), cmp.Compare(points[b].Y, points[a].Y), cmp.Compare(a, b))
	})
	// From the best X down, points of one X together: the best Y of them stands on the
	// front when it passes every Y of a better X.
	highest := math.Inf(-1)
	for n := 0; n < len(order); {
		best := points[order[n]]
		for ; n < len(order) && points[order[n]].X == best.X; n++ {
			front[order[n]] = points[order[n]].Y == best.Y && best.Y > highest
		}
		highest = max(highest, best.Y)
	}
	return front
}
