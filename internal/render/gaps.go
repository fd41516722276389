package render

import (
	"fmt"
	"maps"
	"slices"

	"rowproof/internal/render/format"
)

// gapLine is one thing that is not measured, with the command that would.
type gapLine struct {
	N       int
	Key     recipeKey
	What    string
	Why     string
	Minutes int64 // GPU-minutes
	Command command
}

func (g gapLine) ID() string   { return fmt.Sprintf("gap-%d", g.N) }
func (g gapLine) Cost() string { return format.Count(g.Minutes) }

type gapsView struct {
	Answer string
	Gaps   []gapLine
}

// gapsOf ranks what is not measured.
func (s *site) gapsOf(w *world) []gapLine {
	var out []gapLine
	for _, id := range slices.Sorted(maps.Keys(w.catalog.Recipes)) {
		k, _ := parseKey(id)
		if slices.ContainsFunc(w.rows, func(m *measured) bool { return m.Key == k }) {
			continue
		}
		out = append(out, gapLine{
			N: len(out) + 1, Key: k, What: s.modelTitle(w, k.Model) + " · " + k.Target, Why: "no row yet", Minutes: 14,
			Command: command{"Measure it", s.benchCommand(k, nil)},
		})
	}
	return out
}

// gapOf is the first gap of a cell.
func (s *site) gapOf(w *world, cell recipeKey) (int, *gapLine) {
	for i := range w.gaps {
		if w.gaps[i].Key.cell() == cell {
			return w.gaps[i].N, &w.gaps[i]
		}
	}
	return 0, nil
}

func (s *site) writeGaps(w *world) error {
	minutes := int64(0)
	for _, g := range w.gaps {
		minutes += g.Minutes
	}
	v := &gapsView{Gaps: w.gaps, Answer: fmt.Sprintf("%s, about %s in all.", format.Plural(len(w.gaps), "gap", "gaps"), hours(minutes))}
	if len(w.gaps) == 0 {
		v.Answer = "Every recipe of the catalogue is measured."
	}
	return s.write(&page{
		Address: "gaps/", Kind: "gaps", Section: "gaps/", Title: "What's missing — and how to fill it",
		Description: v.Answer + " Each gap comes with the exact command to run.", Main: v,
	})
}

// hours writes GPU time: minutes below two hours, hours above.
func hours(minutes int64) string {
	if minutes < 120 {
		return format.Plural(int(minutes), "GPU-minute", "GPU-minutes")
	}
	return format.Quantity(format.Prose(float64(minutes)/60), "GPU-hours")
}
