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

	shape shape
	rates bool // it is over request rates, not concurrency
}

// difference is one thing that is not the same in all recipes that are compared.
type difference struct {
	Name   string
	Values []string
}

// maxCompared is how many series a comparison holds, and how many charts a model's page.
const maxCompared = 10

// comparisons of a model's page: a target, a shape and an axis of loads where two recipes
// share two loads.
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
			for _, axis := range axesOf(of, sh) {
				ladders := map[recipeKey][]*measured{}
				var shown []*recipeOf
				for _, r := range of {
					if l := axis.ladder(r.rows, sh); len(l) > 1 {
						ladders[r.key] = l
						shown = append(shown, r)
					}
				}
				if len(shown) < 2 || len(shown) > chart.Slots || len(views) == maxCompared {
					continue
				}
				v, err := s.compare(target, sh, axis, shown, ladders)
				if err != nil {
					return nil, err
				}
				views = append(views, v)
			}
		}
	}
	return views, nil
}

// loadAxis is what ladders climb: concurrencies, of the load that rankings are of, or the
// rates of one kind of open loop. Only rows of one axis stand in one chart.
type loadAxis struct {
	kind ladderKind
	pick func(*measured) estimate
}

func (a loadAxis) at(m *measured) float64 {
	if a.kind.open {
		return m.offered()
	}
	return float64(m.concurrency())
}

// streams is the axis of rankings: what a GPU gives at each concurrency.
var streams = loadAxis{pick: (*measured).perGPU}

// axesOf are the concurrencies, and of each kind of open loop the rates, which decide what
// a GPU gives: there the question is what is left for each user.
func axesOf(recipes []*recipeOf, sh shape) []loadAxis {
	axes := []loadAxis{streams}
	var rows []*measured
	for _, r := range recipes {
		for _, m := range r.rows {
			if m.shape() == sh {
				rows = append(rows, m)
			}
		}
	}
	for _, kind := range kindsOf(rows) {
		if kind.open {
			axes = append(axes, loadAxis{kind, (*measured).perUser})
		}
	}
	return axes
}

// holds says whether a row may stand on the axis.
func (a loadAxis) holds(m *measured) bool {
	if a.kind.key == "" {
		return m.ranks()
	}
	return m.Listed && m.Withdrawn == nil && m.Status == row.StatusOK && kindOf(&m.Workload) == a.kind
}

// words of the axis: its loads, and what leading on it means.
func (a loadAxis) words() (loads, leads string) {
	if a.kind.open {
		return "request rate", "is faster for each user than"
	}
	return "concurrency", "gives more per GPU than"
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

// ladder is a recipe's rows of one shape on the axis by load, the newest of each.
func (a loadAxis) ladder(rows []*measured, sh shape) []*measured {
	newest := map[float64]*measured{}
	for _, m := range rows {
		at := a.at(m)
		if m.shape() != sh || !a.holds(m) || !(at > 0) || math.IsInf(at, 1) || a.pick(m).Interval == nil {
			continue
		}
		if old := newest[at]; old == nil || m.Report.MeasuredAt > old.Report.MeasuredAt {
			newest[at] = m
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(x, y *measured) int { return cmp.Compare(a.at(x), a.at(y)) })
}

// ladder is a recipe's ranked rows of one shape by concurrency, the newest of each.
func ladder(rows []*measured, sh shape) []*measured { return streams.ladder(rows, sh) }

func (a loadAxis) rungs(rows []*measured) []tradeoff.Rung {
	out := make([]tradeoff.Rung, len(rows))
	for i, m := range rows {
		e := a.pick(m)
		out[i] = tradeoff.Rung{Load: a.at(m), Value: *e.Value, Lo: e.Interval[0], Hi: e.Interval[1]}
	}
	return out
}

// compare draws one comparison. The reference is the recipe for latency, else the first.
func (s *site) compare(target string, sh shape, axis loadAxis, shown []*recipeOf, ladders map[recipeKey][]*measured) (compareView, error) {
	names := s.shortNames(shown)
	reference := max(0, slices.IndexFunc(shown, func(r *recipeOf) bool { return r.key.Strategy == "latency" }))
	first := ladders[shown[reference].key]
	v := compareView{
		ID:      "compare-" + target + "-" + sh.slug(),
		Title:   nameOfTarget(first[0].Target, target) + ", " + shapeWords(&first[0].Workload),
		Note:    "Output tok/s per GPU at each measured concurrency, and below it each ÷ " + names[reference] + ". Whiskers and bands are 95% intervals; the figures stand in the tables below.",
		Recipes: names,
		shape:   sh,
		rates:   axis.kind.open,
	}
	spec := chart.LadderSpec{
		XName: "concurrency, log", YName: "↑ output tok/s per GPU", RatioName: "÷ " + names[reference], Reference: reference,
	}
	if axis.kind.open {
		v.ID += "-" + anchor(axis.kind.words)
		v.Title += ", " + axis.kind.words
		v.Note = "Tok/s for each user, median, at each measured request rate, and below it each ÷ " + names[reference] + ". Whiskers and bands are 95% intervals; the figures stand in the tables below."
		spec.XName, spec.YName, spec.Rate = "requests/s offered, log", "↑ tok/s per user, median", true
	}
	spec.ID = v.ID + "-chart"
	base := map[float64]estimate{}
	for _, m := range first {
		base[axis.at(m)] = axis.pick(m)
	}
	for i, r := range shown {
		series := chart.Series{Cell: r.key.String(), Name: names[i], Slot: i + 1}
		for _, m := range ladders[r.key] {
			e := axis.pick(m)
			p := chart.Point{Row: m.ID, C: axis.shown(m), X: chart.Value{At: axis.at(m)}, Y: value(e)}
			if b, ok := base[axis.at(m)]; ok {
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
		first, second := axis.rungs(first), axis.rungs(ladders[r.key])
		if c, ok := tradeoff.Crossover(first, second); ok {
			spec.Crossovers = append(spec.Crossovers, chart.Crossover{Slot: i + 1, At: c.At, Lo: c.Lo, Hi: c.Hi})
			a, b := names[reference], names[i]
			if !c.Before {
				a, b = b, a
			}
			v.Crossings = append(v.Crossings, sentence{say(a + " leads up to "), strong(axis.crossing(c)), say("; above it " + b + " does.")})
		} else {
			v.Crossings = append(v.Crossings, axis.noCrossing(names[reference], names[i], first, second))
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

// shown is a row's load as its mark has it.
func (a loadAxis) shown(m *measured) string {
	if a.kind.open {
		return m.load()
	}
	return format.Count(m.concurrency())
}

// crossing writes an estimate with its interval: c = 15 (12–19), or 3.2 (2.8–3.9)
// requests/s.
func (a loadAxis) crossing(c tradeoff.Crossing) string {
	if a.kind.open {
		return format.Fixed(c.At, 1) + format.NBSP + "(" + format.Interval(c.Lo, c.Hi, 1) + ")" + format.NBSP + "requests/s"
	}
	return "c" + format.NBSP + "=" + format.NBSP + format.Count(int64(math.Round(c.At))) + format.NBSP + "(" + format.Interval(c.Lo, c.Hi, 0) + ")"
}

// noCrossing says which of two ladders leads throughout, or that none is shown to.
func (a loadAxis) noCrossing(one, other string, first, second []tradeoff.Rung) sentence {
	loads, leads := a.words()
	above, below, shared := 0, 0, 0
	for _, p := range first {
		for _, q := range second {
			if p.Load != q.Load {
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
		return sentence{say("No load is measured of both " + one + " and " + other + ".")}
	case above == shared:
		return sentence{say(one + " " + leads + " " + other + " at every measured " + loads + ".")}
	case below == shared:
		return sentence{say(other + " " + leads + " " + one + " at every measured " + loads + ".")}
	case above+below == 0:
		return sentence{say("No difference shown between " + one + " and " + other + ": the intervals overlap at every measured " + loads + ".")}
	}
	return sentence{say("No crossover can be named between " + one + " and " + other + ": the intervals overlap where they meet.")}
}

// anchor makes an id of words.
func anchor(words string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(words)), "-")
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
