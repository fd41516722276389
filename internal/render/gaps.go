package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/render/format"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// gapsView is what is not measured, ranked.
type gapsView struct {
	Answer   string
	Basis    string
	Devices  []choice
	Models   []choice
	Gaps     []gapView
	More     []gapView // closed at first, so that the page is not too long for a phone
	MoreName string
}

// firstGaps is how many gaps stand open.
const firstGaps = 10

type gapView struct {
	ID, Rank  string
	Device    string // one of its devices
	Model     string
	What, Why string
	Again     bool   // the gap before says the same: shown where that is not
	Cost      string // "" where no roof could be computed
	Basis     string
	Link      string // the recipe
	Command   command
}

// compared are the rows as far as weighing them against each other needs them.
func (w *world) compared() []tradeoff.Measured {
	out := make([]tradeoff.Measured, 0, len(w.rows))
	for _, m := range w.rows {
		verdict := m.sign()
		if m.Listed && m.Withdrawn == nil {
			verdict = gate.Verified
		}
		out = append(out, tradeoff.Measured{
			ID: m.ID, Recipe: m.Key.String(), Version: m.pinnedVersion(), Ranked: m.Workload.Ranked(), QueueBound: m.queueBound(), ISL: m.Workload.ISL, OSL: m.Workload.OSL,
			Concurrency: m.concurrency(), Repeats: m.Workload.Repeats, Verdict: verdict,
			PerUser: m.perUser().Value, PerGPU: m.perGPU().Value,
		})
	}
	return out
}

// pinnedVersion is the engine's version as the recipe pinned it when the row was measured.
func (m *measured) pinnedVersion() string {
	if r := m.recipe(); r != nil {
		return r.Engine.Version
	}
	return ""
}

// adopt adds to the catalogue what rows were measured against and it no longer holds,
// so that old rows keep their cell.
func (w *world) adopt(m *measured) {
	was := m.Report.AsItWas
	if was == nil {
		return
	}
	if w.catalog.Models[m.Key.Model] == nil {
		w.catalog.Models[m.Key.Model] = &was.Model
	}
	if _, ok := w.catalog.Target(m.Key.Target); !ok {
		w.catalog.Targets[m.Key.Target] = &was.Target
	}
	if w.catalog.Strategies[m.Key.Strategy] == nil {
		w.catalog.Strategies[m.Key.Strategy] = &row.Strategy{Name: m.Key.Strategy}
	}
	if w.catalog.Recipes[m.Key.String()] == nil {
		w.catalog.Recipes[m.Key.String()] = &was.Recipe
	}
}

func (s *site) writeGaps(w *world) error {
	v := &gapsView{Answer: tradeoff.Summary(w.gaps), Basis: tradeoff.Basis}
	if len(w.gaps) == 0 {
		v.Answer = "Every recipe of the catalogue is measured."
	}
	said := ""
	for _, g := range w.gaps {
		id := format.Count(int64(g.Rank))
		view := gapView{
			ID: gapID(g.Rank), Rank: id, What: strings.ReplaceAll(g.What, "c = ", "c"+format.NBSP+"="+format.NBSP), Why: g.Why, Basis: g.Basis,
			Command: command{"Measure it", wrapped(strings.Fields(g.Command), 62)},
		}
		if k, ok := parseKey(g.Recipe); ok {
			view.Link = "recipes/" + k.Model + "/#" + k.anchor()
		}
		view.Model, view.Device = g.Model, severalOf.ReplaceAllString(g.Target, "")
		device := view.Device
		if t, ok := w.catalog.Target(g.Target); ok {
			device = deviceName(t)
		}
		v.Devices = oneMore(v.Devices, choice{Value: view.Device, Text: device})
		v.Models = oneMore(v.Models, choice{Value: g.Model, Text: s.modelTitle(w, g.Model)})
		if g.GPUMinutes != nil {
			view.Cost = format.Plural(int(*g.GPUMinutes), "GPU-minute", "GPU-minutes")
		}
		// What holds of one gap after another is said of the first.
		view.Again, said = view.Why == said, view.Why
		v.Gaps = append(v.Gaps, view)
	}
	if n := len(v.Gaps); n > firstGaps+1 {
		v.Gaps, v.More = v.Gaps[:firstGaps], v.Gaps[firstGaps:]
		v.MoreName = fmt.Sprintf("Gaps %d to %d", firstGaps+1, n)
	}
	return s.write(&page{
		Address: "gaps/", Kind: "gaps", Section: "gaps/", Title: "What's missing — and how to fill it",
		Description: v.Answer + " Each gap comes with the exact command to run.", Main: v,
	})
}

// oneMore adds a choice where there is none of its value, by name.
func oneMore(choices []choice, c choice) []choice {
	at, found := slices.BinarySearchFunc(choices, c, func(a, b choice) int { return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Value, b.Value)) })
	if found {
		return choices
	}
	return slices.Insert(choices, at, c)
}

func gapID(rank int) string { return "gap-" + format.Exact(float64(rank)) }
