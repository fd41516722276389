package render

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// compareView sets the recipes of one target side by side at one shape: output tok/s
// per GPU over concurrency, where the winner changes, and what differs between them.
type compareView struct {
	ID, Title    string
	Finding      sentence
	Note         string
	Keys         []key
	Narrow, Wide template.HTML
	Crossings    []sentence
	Recipes      []string
	Differences  []difference
}

// difference is one thing that is not the same in all recipes that are compared.
type difference struct {
	Name   string
	Values []string
}

// maxCompared is how many series a comparison holds, and how many charts a model's page.
const maxCompared = 10

// comparisons of a model's page: a target and a shape where two recipes share two loads.
func (s *site) comparisons(recipes []*recipeOf) ([]compareView, error) {
	var views []compareView
	for _, target := range targetsOf(recipes) {
		var of []*recipeOf
		for _, r := range recipes {
			if r.key.Target == target && len(r.rows) > 0 {
				of = append(of, r)
			}
		}
		for _, sh := range shapesOf(of) {
			ladders := map[recipeKey][]*measured{}
			var shown []*recipeOf
			for _, r := range of {
				if l := ladder(r.rows, sh); len(l) > 1 {
					ladders[r.key] = l
					shown = append(shown, r)
				}
			}
			if len(shown) < 2 || len(shown) > chart.Slots || len(views) == maxCompared {
				continue
			}
			v, err := s.compare(target, sh, shown, ladders)
			if err != nil {
				return nil, err
			}
			views = append(views, v)
		}
	}
	return views, nil
}

func targetsOf(recipes []*recipeOf) []string {
	var out []string
	for _, r := range recipes {
		if !slices.Contains(out, r.key.Target) {
			out = append(out, r.key.Target)
		}
	}
	return out
}

func shapesOf(recipes []*recipeOf) []shape {
	var rows []*measured
	for _, r := range recipes {
		rows = append(rows, r.rows...)
	}
	return sortedShapes(rows)
}

// sortedShapes are the shapes of some rows, the shorter prompt first.
func sortedShapes(rows []*measured) []shape {
	shapes := distinct(rows, (*measured).shape)
	slices.SortFunc(shapes, func(a, b shape) int { return cmp.Or(cmp.Compare(a.ISL, b.ISL), cmp.Compare(a.OSL, b.OSL)) })
	return shapes
}

// ladder is a recipe's ranked rows of one shape by concurrency, the newest of each.
func ladder(rows []*measured, sh shape) []*measured {
	newest := map[int64]*measured{}
	for _, m := range rows {
		c := m.concurrency()
		if m.shape() != sh || !m.ranks() || c == 0 || m.perGPU().Interval == nil {
			continue
		}
		if old := newest[c]; old == nil || m.Report.MeasuredAt > old.Report.MeasuredAt {
			newest[c] = m
		}
	}
	out := slices.Collect(maps.Values(newest))
	slices.SortFunc(out, func(a, b *measured) int { return cmp.Compare(a.concurrency(), b.concurrency()) })
	return out
}

func rungs(rows []*measured) []tradeoff.Rung {
	out := make([]tradeoff.Rung, len(rows))
	for i, m := range rows {
		e := m.perGPU()
		out[i] = tradeoff.Rung{Concurrency: m.concurrency(), Value: *e.Value, Lo: e.Interval[0], Hi: e.Interval[1]}
	}
	return out
}

// compare draws one comparison. The reference is the recipe for latency, else the first.
func (s *site) compare(target string, sh shape, shown []*recipeOf, ladders map[recipeKey][]*measured) (compareView, error) {
	names := s.shortNames(shown)
	reference := max(0, slices.IndexFunc(shown, func(r *recipeOf) bool { return r.key.Strategy == "latency" }))
	v := compareView{
		ID:      "compare-" + target + "-" + sh.slug(),
		Title:   nameOfTarget(ladders[shown[0].key][0].Target, target) + ", " + sh.String(),
		Note:    "Output tok/s per GPU at each measured concurrency, and below it each ÷ " + names[reference] + ". Whiskers and bands are 95% intervals; the figures stand in the tables below.",
		Recipes: names,
	}
	spec := chart.LadderSpec{
		ID: v.ID + "-chart", XName: "concurrency, log", YName: "↑ output tok/s per GPU", RatioName: "÷ " + names[reference], Reference: reference,
	}
	base := map[int64]estimate{}
	for _, m := range ladders[shown[reference].key] {
		base[m.concurrency()] = m.perGPU()
	}
	for i, r := range shown {
		series := chart.Series{Cell: r.key.String(), Name: names[i], Slot: i + 1}
		for _, m := range ladders[r.key] {
			e := m.perGPU()
			p := chart.Point{Row: m.ID, C: format.Count(m.concurrency()), X: chart.Value{At: float64(m.concurrency())}, Y: value(e)}
			if b, ok := base[m.concurrency()]; ok {
				ratio := chart.Value{At: *e.Value / *b.Value}
				if i != reference {
					ratio.Interval = &row.Interval{e.Interval[0] / b.Interval[1], e.Interval[1] / b.Interval[0]}
				}
				p.Ratio = &ratio
			}
			series.Points = append(series.Points, p)
		}
		spec.Series = append(spec.Series, series)
		v.Keys = append(v.Keys, key{Swatch: template.HTML(chart.Swatch(i + 1)), Slot: i + 1, Cell: r.key.String(), Name: names[i], Address: "recipes/" + r.key.Model + "/#" + r.key.anchor()})
		if i == reference {
			continue
		}
		first, second := rungs(ladders[shown[reference].key]), rungs(ladders[r.key])
		if c, ok := tradeoff.Crossover(first, second); ok {
			spec.Crossovers = append(spec.Crossovers, chart.Crossover{Slot: i + 1, At: c.At, Lo: c.Lo, Hi: c.Hi})
			a, b := names[reference], names[i]
			if !c.Before {
				a, b = b, a
			}
			v.Crossings = append(v.Crossings, sentence{say(a + " leads up to "), strong(crossing(c)), say("; above it " + b + " does.")})
		} else {
			v.Crossings = append(v.Crossings, noCrossing(names[reference], names[i], first, second))
		}
	}
	v.Finding, v.Crossings = v.Crossings[0], v.Crossings[1:] // the first is the chart's title
	spec.Label = v.Title + ". " + v.Finding.String()
	narrow, wide, err := s.charts.Ladder(spec)
	if err != nil {
		return v, fmt.Errorf("ladder of %s: %w", v.Title, err)
	}
	v.Narrow, v.Wide = template.HTML(narrow), template.HTML(wide)
	v.Differences = differences(shown)
	return v, nil
}

// crossing writes an estimate with its interval: c = 15 (12–19).
func crossing(c tradeoff.Crossing) string {
	return "c" + format.NBSP + "=" + format.NBSP + format.Count(int64(math.Round(c.At))) + format.NBSP + "(" + format.Interval(c.Lo, c.Hi, 0) + ")"
}

// noCrossing says which of two ladders leads throughout, or that none is shown to.
func noCrossing(a, b string, first, second []tradeoff.Rung) sentence {
	above, below, shared := 0, 0, 0
	for _, p := range first {
		for _, q := range second {
			if p.Concurrency != q.Concurrency {
				continue
			}
			shared++
			if p.Lo > q.Hi {
				above++
			}
			if q.Lo > p.Hi {
				below++
			}
		}
	}
	switch {
	case shared == 0:
		return sentence{say("No load is measured of both " + a + " and " + b + ".")}
	case above == shared:
		return sentence{say(a + " gives more per GPU than " + b + " at every measured concurrency.")}
	case below == shared:
		return sentence{say(b + " gives more per GPU than " + a + " at every measured concurrency.")}
	case above+below == 0:
		return sentence{say("No difference shown between " + a + " and " + b + ": the intervals overlap at every measured concurrency.")}
	}
	return sentence{say("No crossover can be named between " + a + " and " + b + ": the intervals overlap where they meet.")}
}

// shortNames tell recipes of one target apart: the strategy, with the engine where a
// strategy has several.
func (s *site) shortNames(recipes []*recipeOf) []string {
	count := map[string]int{}
	for _, r := range recipes {
		count[r.key.Strategy]++
	}
	out := make([]string, len(recipes))
	for i, r := range recipes {
		out[i] = s.strategyName(r.key.Strategy)
		if count[r.key.Strategy] > 1 {
			out[i] += ", " + engineName(r.key.Engine)
		}
	}
	return out
}

// differences lists what the recipes do not share, by name.
func differences(recipes []*recipeOf) []difference {
	const absent = "—"
	all := make([]map[string]string, len(recipes))
	var order []string
	for i, r := range recipes {
		all[i] = map[string]string{}
		if r.recipe == nil {
			continue
		}
		for _, f := range recipeFacts(r.recipe) {
			if f.Name == "Flags" {
				continue
			}
			if have := all[i][f.Name]; have != "" {
				f.Text = have + ", " + f.Text
			}
			all[i][f.Name] = f.Text
			if !slices.Contains(order, f.Name) {
				order = append(order, f.Name)
			}
		}
		for name, value := range flagValues(r.recipe.Flags) {
			all[i][name] = value
		}
	}
	var flags []string
	for i := range all {
		for name := range all[i] {
			if strings.HasPrefix(name, "-") && !slices.Contains(flags, name) {
				flags = append(flags, name)
			}
		}
	}
	slices.Sort(flags)
	var out []difference
	for _, name := range append(order, flags...) {
		d := difference{Name: name}
		same := true
		for i := range all {
			v := cmp.Or(all[i][name], absent)
			same = same && v == cmp.Or(all[0][name], absent)
			d.Values = append(d.Values, v)
		}
		if !same {
			out = append(out, d)
		}
	}
	return out
}

// flagValues takes flags apart: "--a 1 --b --c=2" is a: 1, b: set, c: 2.
func flagValues(flags []string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(flags); i++ {
		if !strings.HasPrefix(flags[i], "-") {
			continue
		}
		name, value, given := strings.Cut(flags[i], "=")
		if !given {
			value = "set"
			if i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "-") {
				i++
				value = flags[i]
			}
		}
		out[name] = value
	}
	return out
}
