package render

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// homeView is every verified cell side by side, of all models or one, of one shape or,
// in the table, of all.
type homeView struct {
	Scope    string
	Measured string // the day of the newest row; "" without rows
	Models   []filter
	Shapes   []filter
	Answers  []sentence
	Scatter  *scatterView
	Heads    []column
	Beyond   int // how many columns a phone shows only after scrolling
	BarEnd   string
	BarScale float64 // as a number, for bars that the script draws
	Groups   []homeGroup
	Reasons  []dash
	Empty    *emptyView

	Drawn      scopeName // what the chart shows and limits are held within
	Unmeasured []unmeasuredLine
	Unlisted   int // gaps of the drawn model beyond those
	Hopes      []hope
	Days       int // from which on a row is old

	Full, FullHeld string // the module that counts a row's requests, and its hash
	Random         string
	Serving        []modelCoverage
}

// scopeName is a model and a shape as a reader sees them.
type scopeName struct{ Model, Shape string }

// unmeasuredLine is a recipe without a ranked row of the drawn shape, and its gap.
type unmeasuredLine struct {
	Name, Sub, CellLink string
	Gap, Address        string // "gap 3" and where it stands
	Cost                string
}

// modelCoverage is one model below the table, with how much of it is measured.
type modelCoverage struct{ Name, Address, Covered string }

// filter is a filter: a link to a built page.
type filter struct {
	Text, Address string
	Current       bool
}

type scatterView struct {
	Title, Note  string
	Narrow, Wide template.HTML
	Keys         []key
	Others       int
	Front        string
	Compare      string // the page that compares the keyed recipes
	Explore      string // the page of every row of this model and shape
	Turns        string // the heading of Crossings
	Crossings    []sentence
	Marks        map[string]mark // by row id
}

// key of one series.
type key struct {
	Swatch        template.HTML
	Name, Address string
	Cell          string
	Slot          int
}

// homeGroup is the best rows of one model and shape.
type homeGroup struct {
	Name string
	Rows []homeRow
}

type homeRow struct {
	ID, Recipe string
	Swatch     template.HTML
	Slot       int
	Rank       string
	Name, Sub  string
	Address    string // the row's page
	Load       string
	PerGPU     tableFigure
	Bar        template.HTML
	Figures    []tableFigure
	Roof       tableFigure
	Sign       string
	Date       string
	Old        bool // see staleDays
	CellLink   string
}

// emptyHome is what a home page says before anything is measured.
func (s *site) emptyHome(w *world) *emptyView {
	v := &emptyView{Text: "Nothing is measured yet."}
	if len(w.gaps) > 0 {
		first := w.gaps[0]
		v.Text += " The first of " + format.Plural(len(w.gaps), "gap", "gaps") + ": " + closed(first.What)
		v.Command = &command{"Measure it", wrapped(strings.Fields(first.Command), 76)}
	}
	return v
}

// emptyView is what a page without rows says.
type emptyView struct {
	Text    string
	Command *command
}

// scope is what one built home page is about; an empty model is all of them.
type scope struct {
	Model string
	Shape shape // zero: the scope's most measured one in the chart, all in the table
}

func (sc scope) address() string {
	if sc == (scope{}) {
		return ""
	}
	a := "cells/" + cmp.Or(sc.Model, "all") + "/"
	if sc.Shape != (shape{}) {
		a += sc.Shape.slug() + "/"
	}
	return a
}

func (sc scope) holds(m *measured) bool {
	return (sc.Model == "" || m.Key.Model == sc.Model) && (sc.Shape == shape{} || m.shape() == sc.Shape)
}

// maxTable is how many rows one table holds before it is split by shape alone.
const maxTable = 200

// writeHomes writes the home page and one page a model, a shape, and both.
func (s *site) writeHomes(w *world) error {
	shown := current(w.rows)
	s.severalEngines = severalEngines(shown)
	models := distinct(shown, func(m *measured) string { return m.Key.Model })
	shapes := sortedShapes(shown)
	slices.Sort(models)
	scopes := []scope{{}}
	if len(models) > 1 {
		for _, m := range models {
			scopes = append(scopes, scope{Model: m})
		}
	}
	if len(shapes) > 1 {
		for _, sh := range shapes {
			scopes = append(scopes, scope{Shape: sh})
			if len(models) > 1 {
				for _, m := range models {
					if slices.ContainsFunc(shown, scope{m, sh}.holds) {
						scopes = append(scopes, scope{m, sh})
					}
				}
			}
		}
	}
	built := map[scope]bool{}
	for _, sc := range scopes {
		built[sc] = true
	}
	for _, sc := range scopes {
		if err := s.writeHome(w, sc, shown, models, shapes, built); err != nil {
			return err
		}
	}
	return nil
}

// current are the rows that rank: of each recipe, shape and load the newest.
func current(rows []*measured) []*measured {
	type load struct {
		key   recipeKey
		shape shape
		load  string
	}
	newest := map[load]*measured{}
	var order []load
	for _, m := range rows {
		l := load{m.Key, m.shape(), m.load()}
		if !m.ranks() {
			continue
		}
		old := newest[l]
		if old == nil {
			order = append(order, l)
		}
		if old == nil || m.Report.MeasuredAt > old.Report.MeasuredAt {
			newest[l] = m
		}
	}
	out := make([]*measured, len(order))
	for i, l := range order {
		out[i] = newest[l]
	}
	return out
}

// distinct values in the order of first use.
func distinct[K comparable](rows []*measured, of func(*measured) K) []K {
	var out []K
	for _, m := range rows {
		if k := of(m); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func (s *site) writeHome(w *world, sc scope, all []*measured, models []string, shapes []shape, built map[scope]bool) error {
	rows := slices.DeleteFunc(slices.Clone(all), func(m *measured) bool { return !sc.holds(m) })
	v := &homeView{Full: s.assets.full.address, FullHeld: s.assets.full.integrity}
	title := "Every verified cell, side by side"
	if sc.Model != "" {
		title = s.modelTitle(w, sc.Model)
		v.Scope = title + " · "
	}
	if len(models) > 1 {
		v.Models = append(v.Models, filter{fmt.Sprintf("all %d", len(models)), scope{"", sc.Shape}.address(), sc.Model == ""})
		for _, m := range models {
			if to := (scope{m, sc.Shape}); built[to] {
				v.Models = append(v.Models, filter{s.modelTitle(w, m), to.address(), sc.Model == m})
			} else {
				v.Models = append(v.Models, filter{s.modelTitle(w, m), scope{Model: m}.address(), false})
			}
		}
	}
	if len(shapes) > 1 {
		v.Shapes = append(v.Shapes, filter{fmt.Sprintf("all %d", len(shapes)), scope{Model: sc.Model}.address(), sc.Shape == shape{}})
		for _, sh := range shapes {
			if to := (scope{sc.Model, sh}); built[to] {
				v.Shapes = append(v.Shapes, filter{sh.String(), to.address(), sc.Shape == sh})
			}
		}
	}
	drawn := drawnScope(sc, rows)
	charted := slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return !drawn.holds(m) })
	slots := map[recipeKey]int{}
	if len(charted) > 0 {
		var err error
		if v.Scatter, err = s.scatter(w, charted, drawn, slots); err != nil {
			return err
		}
		v.Answers = s.answers(charted, drawn.Shape)
		v.Drawn = scopeName{s.modelTitle(w, drawn.Model), drawn.Shape.String()}
		if slices.ContainsFunc(charted, (*measured).randomWeights) {
			v.Random = "Random weights: speed only; accuracy is not measured."
		}
		s.unmeasured(w, v, charted, drawn)
		v.Hopes = s.hopes(w, drawn)
	}
	s.homeTable(w, v, rows, charted, drawn, slots)
	cells := distinct(rows, func(m *measured) recipeKey { return m.Key.cell() })
	passes, others := further(w.rows, sc)
	v.Scope += fmt.Sprintf("%s of %d · %s", format.Plural(len(cells), "cell", "cells"), s.cellCount(w, sc.Model), ranking(len(rows), passes, others))
	v.Serving = s.serving(w)
	if len(rows) > 0 {
		v.Measured = newest(rows)
	} else {
		v.Empty = s.emptyHome(w)
	}
	heading := "Every verified cell, side by side"
	if sc != (scope{}) {
		title = strings.TrimPrefix(title+", ", heading+", ")
		if sc.Shape != (shape{}) {
			title += sc.Shape.String() + ", "
		}
		title += "every verified cell"
	} else {
		title = heading + " · Rowproof"
	}
	description := "Measured LLM serving configurations side by side, each figure with its interval, its proof and the command to run it."
	if len(v.Answers) > 0 {
		description = v.Answers[0].String()
	}
	return s.write(&page{Address: sc.address(), Kind: "home", Section: "", Title: title, Description: description, Wide: true, Main: v})
}

// further counts the published rows of a scope that stand in no ranking because of their
// load: those measured in passes, and those of other loads.
func further(rows []*measured, sc scope) (passes, others int) {
	for _, m := range rows {
		switch {
		case !sc.holds(m) || !m.Listed || m.Withdrawn != nil || m.Workload.Ranked():
		case kindOf(&m.Workload).key != "":
			others++
		default:
			passes++
		}
	}
	return passes, others
}

// ranking says how many rows rank, and where the others stand.
func ranking(rank, passes, others int) string {
	verb := "rank"
	if rank == 1 {
		verb = "ranks"
	}
	said := format.Plural(rank, "row", "rows") + " " + verb
	how := "measured in passes"
	switch {
	case passes+others == 0:
		return said
	case passes == 0:
		how = "of open loops, traces or other prompts"
	case others > 0:
		how = "measured in passes, or of open loops, traces or other prompts"
	}
	verb = "stand"
	if passes+others == 1 {
		verb = "stands"
	}
	return said + "; " + format.Count(int64(passes+others)) + format.NBSP + "more, " + how + ", " + verb + " on the recipe pages"
}

// serving lists the catalogue's models that have recipes, with how many of them have a
// published row, the most covered first.
func (s *site) serving(w *world) []modelCoverage {
	type of struct {
		modelCoverage
		measured int
	}
	var all []of
	for id := range w.catalog.Models {
		n, total := 0, 0
		for _, r := range s.recipesOf(w, id) {
			total++
			if slices.ContainsFunc(r.rows, func(m *measured) bool { return m.Listed && m.Withdrawn == nil }) {
				n++
			}
		}
		if total == 0 {
			continue
		}
		covered := fmt.Sprintf("%d of %s measured", n, format.Plural(total, "recipe", "recipes"))
		all = append(all, of{modelCoverage{s.modelTitle(w, id), "recipes/" + id + "/", covered}, n})
	}
	slices.SortFunc(all, func(a, b of) int { return cmp.Or(cmp.Compare(b.measured, a.measured), cmp.Compare(a.Name, b.Name)) })
	out := make([]modelCoverage, len(all))
	for i, m := range all {
		out[i] = m.modelCoverage
	}
	return out
}

// maxUnmeasured is how many gaps the table lists before it leads to the rest.
const maxUnmeasured = 6

// unmeasured lists the drawn model's recipes that have no ranked row of the drawn shape,
// by the rank of their gap.
func (s *site) unmeasured(w *world, v *homeView, charted []*measured, drawn scope) {
	for _, g := range w.gaps {
		k, ok := parseKey(g.Recipe)
		if !ok || k.Model != drawn.Model || g.Shape != drawn.Shape.String() || slices.ContainsFunc(charted, func(m *measured) bool { return m.Key == k }) {
			continue
		}
		if len(v.Unmeasured) == maxUnmeasured {
			v.Unlisted++
			continue
		}
		target, _ := w.catalog.Target(k.Target)
		line := unmeasuredLine{
			Name: nameOfTarget(target, k.Target) + " · " + s.strategyName(k.Strategy), Sub: engineName(k.Engine),
			CellLink: "recipes/" + k.Model + "/#" + k.anchor(),
			Gap:      "gap" + format.NBSP + format.Count(int64(g.Rank)), Address: "gaps/#" + gapID(g.Rank),
		}
		if g.GPUMinutes != nil {
			line.Cost = "about " + format.Plural(int(*g.GPUMinutes), "GPU-minute", "GPU-minutes")
		}
		v.Unmeasured = append(v.Unmeasured, line)
	}
}

// drawnScope is what a page's chart shows. Neither models nor shapes mix in a chart or
// a rank, since a smaller model would always win: where the scope leaves one open, the
// one with the most cells is drawn.
func drawnScope(sc scope, rows []*measured) scope {
	if sc.Model == "" {
		sc.Model = mostMeasuredModel(rows)
		rows = slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.Key.Model != sc.Model })
	}
	if sc.Shape == (shape{}) {
		sc.Shape = mostMeasured(rows)
	}
	return sc
}

// mostMeasuredModel has the most recipes measured; among equals the most rows, then the
// first by name.
func mostMeasuredModel(rows []*measured) string {
	models := distinct(rows, func(m *measured) string { return m.Key.Model })
	slices.Sort(models)
	best, cells, count := "", 0, 0
	for _, model := range models {
		of := slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.Key.Model != model })
		n := len(distinct(of, func(m *measured) recipeKey { return m.Key }))
		if n > cells || n == cells && len(of) > count {
			best, cells, count = model, n, len(of)
		}
	}
	return best
}

func mostMeasured(rows []*measured) shape {
	cells := map[shape]map[recipeKey]int{}
	for _, m := range rows {
		if cells[m.shape()] == nil {
			cells[m.shape()] = map[recipeKey]int{}
		}
		cells[m.shape()][m.Key]++
	}
	var best shape
	count := func(sh shape) int {
		n := len(cells[sh]) * 1_000_000
		for _, k := range cells[sh] {
			n += k
		}
		return n
	}
	for sh := range cells {
		if best == (shape{}) || cmp.Or(cmp.Compare(count(sh), count(best)), cmp.Compare(best.ISL, sh.ISL), cmp.Compare(best.OSL, sh.OSL)) > 0 {
			best = sh
		}
	}
	return best
}

// cellCount is how many cells of the scope the catalogue knows a recipe for.
func (s *site) cellCount(w *world, model string) int {
	cells := map[recipeKey]bool{}
	for id := range w.catalog.Recipes {
		if k, ok := parseKey(id); ok && (model == "" || k.Model == model) {
			cells[k.cell()] = true
		}
	}
	for _, m := range w.rows {
		if model == "" || m.Key.Model == model {
			cells[m.Key.cell()] = true
		}
	}
	return len(cells)
}

// seriesName is a recipe's name among others of its model: target and strategy, with the
// engine where the cell has several.
func (s *site) seriesName(m *measured) string {
	return m.targetName() + " · " + s.strategyName(m.Key.Strategy) + s.engineApart(m, " · ")
}

// engineApart is a row's engine behind what parts it from its cell's name; "" where the
// cell tells it.
func (s *site) engineApart(m *measured, from string) string {
	if !s.severalEngines[m.Key.cell()] {
		return ""
	}
	return from + engineName(m.Key.Engine)
}

// severalEngines are the cells of rows of more than one engine.
func severalEngines(rows []*measured) map[recipeKey]bool {
	first, several := map[recipeKey]string{}, map[recipeKey]bool{}
	for _, m := range rows {
		cell := m.Key.cell()
		if first[cell] == "" {
			first[cell] = m.Key.Engine
		}
		if first[cell] != m.Key.Engine {
			several[cell] = true
		}
	}
	return several
}

// maxPinned is how many cells are told apart at first: all, where there are no more,
// else of those on the front.
const maxPinned = 6

// scatter draws tok/s/user against output tok/s/GPU of one shape, a line a recipe, and
// fills in the slot of each recipe on the front.
func (s *site) scatter(w *world, rows []*measured, drawn scope, slots map[recipeKey]int) (*scatterView, error) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.perUser().Value == nil })
	if len(rows) == 0 {
		return nil, nil
	}
	points := make([]tradeoff.Point, len(rows))
	for i, m := range rows {
		points[i] = tradeoff.Point{X: *m.perUser().Value, Y: *m.perGPU().Value}
	}
	front := tradeoff.Front(points)
	onFront := 0
	var order []*measured
	for i, m := range rows {
		if front[i] {
			onFront++
			order = append(order, m)
		}
	}
	slices.SortStableFunc(order, func(a, b *measured) int { return cmp.Compare(*b.perGPU().Value, *a.perGPU().Value) })
	for _, m := range order {
		if _, ok := slots[m.Key]; !ok && len(slots) < maxPinned {
			slots[m.Key] = len(slots) + 1
		}
	}
	// Few cells are all told apart: colour is scarce only where many are drawn.
	if keys := distinct(rows, func(m *measured) recipeKey { return m.Key }); len(keys) <= maxPinned {
		for _, k := range keys {
			if slots[k] == 0 {
				slots[k] = len(slots) + 1
			}
		}
	}
	v := &scatterView{
		Title: "Faster for each user, or cheaper for all?",
		Note:  fmt.Sprintf("%s, %s, sustained. Each line is one cell, each mark one measured concurrency; whiskers are 95%% intervals. The stepped line is the front: nothing measured lies above and right of it.", s.modelTitle(w, drawn.Model), drawn.Shape),
		Front: fmt.Sprintf("front: %s of %d", format.Plural(onFront, "row", "rows"), len(rows)),
	}
	spec := chart.ScatterSpec{
		ID: "scatter", XName: "tok/s per user, median → faster for each", YName: "↑ output tok/s per GPU · cheaper",
		Label: v.Title + " " + v.Note,
	}
	labelled := 0
	for _, k := range distinct(rows, func(m *measured) recipeKey { return m.Key }) {
		series := chart.Series{Cell: k.String(), Slot: slots[k]}
		var of []int
		for i, m := range rows {
			if m.Key == k {
				of = append(of, i)
			}
		}
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(rows[a].concurrency(), rows[b].concurrency()) })
		best := -1
		for n, i := range of {
			m := rows[i]
			p := chart.Point{
				Row: m.ID, C: format.Count(m.concurrency()), Front: front[i], QueueBound: m.queueBound(),
				X: value(m.perUser()), Y: value(m.perGPU()),
			}
			series.Points = append(series.Points, p)
			if front[i] && (best < 0 || *m.perGPU().Value > *rows[of[best]].perGPU().Value) {
				best = n
			}
		}
		if best >= 0 && slots[k] > 0 && labelled < 4 {
			m := rows[of[best]]
			series.Points[best].Label = s.seriesName(m) + ", c=" + format.Count(m.concurrency())
			series.Points[best].Short = m.targetName() + " " + s.strategyName(m.Key.Strategy) + s.engineApart(m, " ")
			labelled++
		}
		spec.Series = append(spec.Series, series)
		if slots[k] > 0 {
			v.Keys = append(v.Keys, key{
				Swatch: template.HTML(chart.Swatch(slots[k])), Slot: slots[k], Cell: k.String(),
				Name: s.seriesName(rows[of[0]]), Address: "recipes/" + k.Model + "/#" + k.anchor(),
			})
		} else {
			v.Others++
		}
	}
	slices.SortFunc(v.Keys, func(a, b key) int { return cmp.Compare(a.Slot, b.Slot) })
	if len(v.Keys) > 1 {
		var keyed []recipeKey
		for _, k := range v.Keys {
			of, _ := parseKey(k.Cell)
			keyed = append(keyed, of)
		}
		v.Compare = "compare/" + pinQuery(keyed, drawn.Shape)
	}
	v.Explore = "explore/?model=" + drawn.Model + "&shape=" + drawn.Shape.String() + "&every=1"
	narrow, wide, err := s.charts.Scatter(spec)
	if err != nil {
		return nil, fmt.Errorf("scatter of %s %s: %w", drawn.Model, drawn.Shape, err)
	}
	v.Narrow, v.Wide = template.HTML(narrow), template.HTML(wide)
	v.Turns = "Where the winner changes"
	if v.Crossings = s.crossings(rows, drawn.Shape); len(v.Crossings) == 0 {
		v.Turns, v.Crossings = "Nowhere is the winner shown to change", s.leads(rows, drawn.Shape)
	}
	return v, nil
}

// maxCrossings is how many crossovers stand beside the scatter.
const maxCrossings = 4

// crossings says where the recipe that leads at low load loses to another.
func (s *site) crossings(rows []*measured, drawn shape) []sentence {
	keys := distinct(rows, func(m *measured) recipeKey { return m.Key })
	ladders := map[recipeKey][]*measured{}
	for _, k := range keys {
		ladders[k] = ladder(slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.Key != k }), drawn)
	}
	var out []sentence
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			c, ok := tradeoff.Crossover(streams.rungs(ladders[a]), streams.rungs(ladders[b]))
			if !ok || len(out) == maxCrossings {
				continue
			}
			first, second := ladders[a][0], ladders[b][0]
			if !c.Before {
				first, second = second, first
			}
			out = append(out, sentence{say(s.seriesName(first) + " gives more per GPU up to "), strong(streams.crossing(c)), say("; above it " + s.seriesName(second) + " does.")})
		}
	}
	return out
}

// leads says of ladders that never cross which one gives the most per GPU throughout,
// as far as their intervals show it.
func (s *site) leads(rows []*measured, drawn shape) []sentence {
	var ladders [][]*measured
	for _, k := range distinct(rows, func(m *measured) recipeKey { return m.Key }) {
		if l := ladder(slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.Key != k }), drawn); len(l) > 0 {
			ladders = append(ladders, l)
		}
	}
	if len(ladders) < 2 {
		return nil
	}
	for i, l := range ladders {
		least, most := int64(0), int64(0) // of the loads that another ladder has too
		leads := true
		for j, other := range ladders {
			shared := false
			for _, m := range l {
				for _, o := range other {
					if i == j || m.concurrency() != o.concurrency() {
						continue
					}
					shared = true
					leads = leads && m.perGPU().Interval[0] > o.perGPU().Interval[1]
					most = max(most, m.concurrency())
					if least == 0 || m.concurrency() < least {
						least = m.concurrency()
					}
				}
			}
			leads = leads && (shared || i == j)
		}
		if leads {
			span := "at c" + format.NBSP + "=" + format.NBSP + format.Count(least)
			if most > least {
				span = "at every measured c (" + format.Interval(float64(least), float64(most), 0) + ")"
			}
			return []sentence{{strong(s.seriesName(l[0])), say(" gives the most per GPU "), say(span + ".")}}
		}
	}
	return []sentence{{say("No cell is shown to give the most per GPU at every concurrency that it shares with the others: intervals overlap.")}}
}

func value(e estimate) chart.Value {
	v := chart.Value{At: *e.Value}
	if e.Interval != nil {
		iv := row.Interval(*e.Interval)
		v.Interval = &iv
	}
	return v
}

// answers are the page's first sentences: which row gives the most per GPU, and which
// is fastest for each user, with their intervals, or that none can be told apart.
func (s *site) answers(rows []*measured, drawn shape) []sentence {
	order, ranks := ranked(bestOfCells(rows))
	if len(order) == 0 {
		return nil
	}
	first := order[0]
	name := func(m *measured) string {
		return m.modelName() + " · " + s.seriesName(m) + " at " + m.load()
	}
	form := format.NewColumn("", []float64{*first.perGPU().Value})
	most := sentence{strong(name(first)), say(" gives the most per GPU at " + drawn.String() + ": "),
		strong(form.Figure(*first.perGPU().Value)), say(" output tok/s/GPU")}
	if iv := first.perGPU().Interval; iv != nil {
		most = append(most, say(" ("+form.Interval(iv[0], iv[1])+")"))
	}
	most = append(most, say("."))
	if shared := strings.Count(strings.Join(ranks, " "), "1="); shared > 1 {
		var also []string
		for i, m := range order {
			if i > 0 && ranks[i] == "1=" {
				also = append(also, name(m))
			}
		}
		if len(also) > 0 {
			most = append(most, say(" No difference is shown from "+strings.Join(also, ", ")+": the intervals overlap."))
		}
	}
	out := []sentence{most}
	fast := slices.MaxFunc(rows, func(a, b *measured) int { return cmp.Compare(orZero(a.perUser().Value), orZero(b.perUser().Value)) })
	if e := fast.perUser(); e.Value != nil {
		form := format.NewColumn("", []float64{*e.Value})
		said := sentence{strong(name(fast)), say(" is fastest for each user: "), strong(form.Figure(*e.Value)), say(" tok/s")}
		if e.Interval != nil {
			said = append(said, say(" ("+form.Interval(e.Interval[0], e.Interval[1])+")"))
		}
		perGPU := format.NewColumn("", []float64{*fast.perGPU().Value})
		out = append(out, append(said, say(", and gives "+perGPU.Figure(*fast.perGPU().Value)+" output tok/s/GPU.")))
	}
	return out
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// bestOfCells is each recipe's row with the most output tok/s/GPU.
func bestOfCells(rows []*measured) []*measured {
	best := map[recipeKey]*measured{}
	for _, m := range rows {
		if b := best[m.Key]; b == nil || *m.perGPU().Value > *b.perGPU().Value {
			best[m.Key] = m
		}
	}
	var out []*measured
	for _, k := range distinct(rows, func(m *measured) recipeKey { return m.Key }) {
		out = append(out, best[k])
	}
	return out
}

// homeTable fills in the table: each cell's best row, a group a model and shape, what
// the chart shows first.
func (s *site) homeTable(w *world, v *homeView, rows, charted []*measured, drawn scope, slots map[recipeKey]int) {
	scopes := groupScopes(rows, drawn)
	groups := make([][]*measured, len(scopes))
	var all []*measured
	for i, sc := range scopes {
		groups[i] = bestOfCells(slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return !sc.holds(m) }))
		all = append(all, groups[i]...)
	}
	if len(all) > maxTable && len(scopes) > 1 {
		scopes, groups, all = scopes[:1], groups[:1], groups[0]
	}
	old := staleBefore(w.rows)
	v.Days = staleDays
	perGPU := newColumn("Per GPU", "output tok/s", all, (*measured).perGPU)
	v.Heads = []column{
		newColumn("Per user", "tok/s", all, (*measured).perUser),
		latencyColumn("TTFT p50", "ttft_ms", p50, all, ttft),
		latencyColumn("TTFT p99", "ttft_ms", p99, all, ttft),
		latencyColumn("ITL p50", "itl_ms", p50, all, itl),
		latencyColumn("ITL p99", "itl_ms", p99, all, itl),
	}
	v.Beyond = len(v.Heads) + 2 // beside them the roof and the day
	top := 0.0
	for _, m := range all {
		e := m.perGPU()
		top = max(top, *e.Value)
		if e.Interval != nil {
			top = max(top, e.Interval[1])
		}
	}
	end := niceEnd(top)
	v.BarEnd, v.BarScale = format.Fixed(end, 0), end
	if v.Scatter != nil {
		v.Scatter.Marks = s.marks(charted, perGPU, v.Heads, old)
	}
	var missing letters
	for i, sc := range scopes {
		g := homeGroup{Name: s.modelTitle(w, sc.Model) + " · " + sc.Shape.String()}
		order, ranks := ranked(groups[i])
		for n, m := range order {
			r := homeRow{
				ID: m.ID, Recipe: m.Key.String(), Slot: slots[m.Key],
				Swatch: template.HTML(chart.Swatch(slots[m.Key])),
				Rank:   cmp.Or(ranks[n], "—"),
				Name:   m.targetName() + " · " + s.strategyName(m.Key.Strategy), Sub: m.engine(),
				Address: m.address(), Load: format.Count(m.concurrency()),
				PerGPU:   perGPU.figure(m, &missing),
				Bar:      template.HTML(chart.Bar(chart.BarSpec{Value: value(m.perGPU()), Max: end})),
				Roof:     m.roofFigure(&missing),
				Sign:     m.sign(),
				Date:     format.Date(m.Report.MeasuredAt),
				Old:      format.Date(m.Report.MeasuredAt) < old,
				CellLink: "recipes/" + m.Key.Model + "/#" + m.Key.anchor(),
			}
			if sc != drawn {
				r.Swatch = ""
			}
			for k := range v.Heads {
				r.Figures = append(r.Figures, v.Heads[k].figure(m, &missing))
			}
			g.Rows = append(g.Rows, r)
		}
		v.Groups = append(v.Groups, g)
	}
	v.Reasons = missing.Reasons()
}

// groupScopes are the models and shapes of the rows: the drawn one, the others of its
// model, then the other models by name.
func groupScopes(rows []*measured, drawn scope) []scope {
	scopes := distinct(rows, func(m *measured) scope { return scope{m.Key.Model, m.shape()} })
	slices.SortFunc(scopes, func(a, b scope) int {
		last := func(yes bool) int {
			if yes {
				return 1
			}
			return 0
		}
		return cmp.Or(
			cmp.Compare(last(a != drawn), last(b != drawn)),
			cmp.Compare(last(a.Model != drawn.Model), last(b.Model != drawn.Model)),
			cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.Shape.ISL, b.Shape.ISL), cmp.Compare(a.Shape.OSL, b.Shape.OSL))
	})
	return scopes
}

// engine with its version, as reported, else as the recipe states it.
func (m *measured) engine() string {
	e := m.Report.Receipt.Engine
	name := engineName(cmp.Or(e.Name, m.Key.Engine))
	version := e.Version
	if version == "" && m.Report.AsItWas != nil {
		version = m.Report.AsItWas.Recipe.Engine.Version
	}
	if sp := m.speculation(); sp != "" {
		version += " · " + sp
	}
	return strings.TrimSpace(name + " " + version)
}

// engineName is how an engine writes itself.
func engineName(id string) string { return row.EngineName(id) }

// niceEnd is the least 1, 1.5, 2, 3, 4, 5, 6 or 8 × 10ⁿ that is not below v.
func niceEnd(v float64) float64 {
	unit := 1.0
	for unit*10 < v {
		unit *= 10
	}
	for _, m := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8, 10} {
		if m*unit >= v {
			return m * unit
		}
	}
	return v
}
