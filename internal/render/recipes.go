package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/launch"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// modelTitle is a model's name, or its id where the catalogue has none.
func (s *site) modelTitle(w *world, id string) string {
	if m := w.catalog.Models[id]; m != nil && m.Name != "" {
		return m.Name
	}
	return id
}

// strategyName is a strategy as a reader sees it.
func (s *site) strategyName(id string) string {
	if st := s.strategies[id]; st != nil && st.Name != "" {
		return st.Name
	}
	return id
}

// titleOf names a row's cell.
func (s *site) titleOf(m *measured) string {
	return m.modelName() + " · " + m.targetName() + " · " + s.strategyName(m.Key.Strategy)
}

// recipesView lists the models: those with a recipe, and those of which only the roofs
// are known.
type recipesView struct {
	Models []modelLine
	Known  []modelLine
}

type modelLine struct {
	Name, Address, Facts string
	Recipes, Rows        string
	Measured             string
	Calculator           string // its address with the model chosen
}

// writeRecipes writes the list of models and one page a model.
func (s *site) writeRecipes(w *world, compared []tradeoff.Measured) error {
	v := &recipesView{}
	ids := slices.Sorted(maps.Keys(w.catalog.Models))
	for _, m := range w.rows {
		if !slices.Contains(ids, m.Key.Model) {
			ids = append(ids, m.Key.Model)
		}
	}
	for _, id := range ids {
		line := modelLine{Name: s.modelTitle(w, id), Address: "recipes/" + id + "/"}
		if m := w.catalog.Models[id]; m != nil {
			line.Facts = modelFacts(m)
		}
		recipes := s.recipesOf(w, id)
		var rows []*measured
		for _, r := range recipes {
			rows = append(rows, r.rows...)
		}
		line.Recipes = format.Count(int64(len(recipes)))
		line.Rows = format.Count(int64(len(rows)))
		line.Measured = cmp.Or(newest(rows), "—")
		if len(recipes) > 0 {
			v.Models = append(v.Models, line)
		} else {
			line.Calculator = calculatorOf(id)
			v.Known = append(v.Known, line)
		}
		if err := s.writeModel(w, id, recipes, compared); err != nil {
			return err
		}
	}
	return s.write(&page{
		Address: "recipes/", Kind: "recipes", Section: "recipes/", Title: "Model serving recipes",
		Description: "Pick a model, then a verified cell in its coverage matrix. We publish measured numbers only.", Main: v,
	})
}

// calculatorOf is the calculator's address with a model chosen.
func calculatorOf(id string) string { return "roofline/?model=" + id }

// modelFacts is a model in one line.
func modelFacts(m *roofline.Model) string {
	p := m.Params()
	return strings.Join([]string{
		m.Publisher, m.Licence, format.Billions(p.Total) + " parameters, " + format.Billions(p.Read) + " read per token", strings.Join(m.Weights, ", "),
	}, " · ")
}

// recipeOf is one recipe with its rows.
type recipeOf struct {
	key    recipeKey
	recipe *row.Recipe // nil where only rows know it
	rows   []*measured
}

// recipesOf lists a model's recipes, the measured ones first, by target, strategy and
// engine.
func (s *site) recipesOf(w *world, model string) []*recipeOf {
	byKey := map[recipeKey]*recipeOf{}
	for id, r := range w.catalog.Recipes {
		if k, ok := parseKey(id); ok && k.Model == model {
			byKey[k] = &recipeOf{key: k, recipe: r}
		}
	}
	for _, m := range w.rows {
		if m.Key.Model != model {
			continue
		}
		r := byKey[m.Key]
		if r == nil {
			r = &recipeOf{key: m.Key}
			if m.Report.AsItWas != nil {
				r.recipe = &m.Report.AsItWas.Recipe
			}
			byKey[m.Key] = r
		}
		r.rows = append(r.rows, m)
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *recipeOf) int {
		return cmp.Or(cmp.Compare(min(len(b.rows), 1), min(len(a.rows), 1)), cmp.Compare(a.key.Target, b.key.Target), cmp.Compare(a.key.String(), b.key.String()))
	})
}

// modelView is a model's page: what it is, what is measured, and each recipe.
type modelView struct {
	Name         string
	Facts        string
	Answer       []sentence
	Model        []fact
	Sources      []fact
	Strategies   []strategyHead
	Coverage     []coverageRow
	CoverageMore string // how many columns a phone shows only after scrolling
	Compare      []compareView
	Recipes      []recipeView
	NoRecipe     bool
	Calculator   string // its address with the model chosen
}

type strategyHead struct{ Name, For string }

type coverageRow struct {
	Name  string
	Cells []coverageCell
}

// coverageCell is a cell's best figure by either rate, or why there is none.
type coverageCell struct {
	Best          []bestFigure
	Note, Address string
	Cost          string
	Reason        string
}

// bestFigure is the best of a cell by one rate, with the load that reached it.
type bestFigure struct{ Figure, Unit, Load, Address, Sign string }

type recipeView struct {
	ID         string
	Title      string
	Measured   bool
	Gap        string // of one that is not measured, "" where it is none
	Sign       string
	Verdict    sentence
	Beside     []fact // accuracy, and known troubles
	Ceiling    string // what hardware allows of one user
	Calculator string
	Before     []pointer
	Forms      []runForm
	Facts      []fact
	Gauges     []gaugeView
	Links      []string
	Tables     []rowTable
	Besides    []besideView
	History    *historyView
	Receipts   []fact
	Notes      []string
}

// rowTable is a recipe's rows of one shape.
type rowTable struct {
	ID, Name string
	Label    string // what no other table of the page is called
	Heads    []column
	More     string // how many columns a phone shows only after scrolling
	Rows     []tableRow
	Reasons  []dash
}

type tableRow struct {
	ID, Address, Load string
	Passes            bool
	Exact             string
	Figures           []tableFigure
	Roof              tableFigure
	Sign, Verdict     string
	Date              string
}

func (s *site) writeModel(w *world, id string, recipes []*recipeOf, compared []tradeoff.Measured) error {
	v := &modelView{Name: s.modelTitle(w, id), NoRecipe: len(recipes) == 0, Calculator: calculatorOf(id)}
	m := w.catalog.Models[id]
	if m != nil {
		v.Facts = modelFacts(m)
		v.Model, v.Sources = architectureFacts(m), sources(m)
	}
	matrix := tradeoff.Coverage(tradeoff.Catalog(*w.catalog), id, compared, w.gaps)
	measuredFirst(&matrix)
	for _, st := range matrix.Strategies {
		head := strategyHead{Name: s.strategyName(st)}
		if known := s.strategies[st]; known != nil {
			head.For = known.For
		}
		v.Strategies = append(v.Strategies, head)
	}
	v.CoverageMore = more(len(v.Strategies) - 1)
	for i, t := range matrix.Targets {
		target, _ := w.catalog.Target(t)
		line := coverageRow{Name: nameOfTarget(target, t)}
		for _, cell := range matrix.Cells[i] {
			line.Cells = append(line.Cells, s.coverage(w, id, cell))
		}
		v.Coverage = append(v.Coverage, line)
	}
	v.Answer = s.modelAnswer(w, id, recipes)
	var err error
	if v.Compare, err = s.comparisons(recipes); err != nil {
		return err
	}
	for _, r := range recipes {
		v.Recipes = append(v.Recipes, s.recipe(w, r))
	}
	about := "how to run it, what is measured on which device, and what is missing"
	if v.NoRecipe {
		about = "what it is made of, and what hardware allows"
	}
	return s.write(&page{
		Address: "recipes/" + id + "/", Kind: "model", Section: "recipes/", Title: v.Name,
		Description: v.Name + ": " + about + ". " + v.Facts, Main: v,
	})
}

// measuredFirst moves the strategies, and the targets, with a measured cell before those
// without, so that a phone shows them first.
func measuredFirst(m *tradeoff.Matrix) {
	measured := func(c tradeoff.Cell) bool { return c.Best != nil || c.Rows > 0 }
	order := make([]int, len(m.Strategies))
	rank := make([]int, len(m.Strategies))
	for i := range order {
		order[i], rank[i] = i, 1
		if slices.ContainsFunc(m.Cells, func(of []tradeoff.Cell) bool { return measured(of[i]) }) {
			rank[i] = 0
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	strategies := make([]string, len(order))
	for to, from := range order {
		strategies[to] = m.Strategies[from]
	}
	m.Strategies = strategies
	for i, of := range m.Cells {
		line := make([]tradeoff.Cell, len(order))
		for to, from := range order {
			line[to] = of[from]
		}
		m.Cells[i] = line
	}
	type target struct {
		name  string
		cells []tradeoff.Cell
	}
	targets := make([]target, len(m.Targets))
	for i := range targets {
		targets[i] = target{m.Targets[i], m.Cells[i]}
	}
	none := func(t target) int {
		if slices.ContainsFunc(t.cells, measured) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(targets, func(a, b target) int { return cmp.Compare(none(a), none(b)) })
	for i, t := range targets {
		m.Targets[i], m.Cells[i] = t.name, t.cells
	}
}

// coverage is one cell of the matrix: its best rows, or why there is none.
func (s *site) coverage(w *world, model string, cell tradeoff.Cell) coverageCell {
	var v coverageCell
	if len(cell.Recipes) > 0 {
		k, _ := parseKey(cell.Recipes[0])
		v.Address = "recipes/" + model + "/#" + k.anchor()
	}
	switch {
	case cell.Best != nil:
		of := recipeKey{Model: model, Target: cell.Target, Strategy: cell.Strategy}
		ranking := slices.DeleteFunc(slices.Clone(w.rows), func(m *measured) bool { return m.Key.cell() != of || !m.ranks() })
		v.Best = bestFigures(ranking)
		v.Note = format.Plural(cell.Rows, "row", "rows")
		if n := len(cell.Recipes); n > 1 {
			v.Note += " · " + format.Plural(n, "recipe", "recipes")
		}
	case cell.Unfit != "":
		v.Address, v.Note, v.Reason = "", "does not fit", cell.Unfit
	case cell.Rows > 0:
		v.Note, v.Reason = format.Plural(cell.Rows, "row", "rows")+", unranked", "no row that ranks"
	case cell.Withdrawn > 0:
		v.Note, v.Reason = "withdrawn", format.Plural(cell.Withdrawn, "row", "rows")+" withdrawn"
	case cell.Gap > 0:
		v.Address, v.Note, v.Reason = "gaps/#"+gapID(cell.Gap), "gap"+format.NBSP+strconv.Itoa(cell.Gap), "not measured"
		if n := w.gaps[cell.Gap-1].GPUMinutes; n != nil {
			v.Cost = format.Quantity(format.Count(*n), "GPU-min")
		}
	case len(cell.Recipes) > 0:
		v.Note, v.Reason = "no row yet", "not measured"
	default:
		v.Note, v.Reason = "no recipe yet", "nobody wrote a recipe"
	}
	return v
}

// bestFigures are the most per GPU and the most for each user among some rows.
func bestFigures(rows []*measured) []bestFigure {
	var out []bestFigure
	for _, by := range []struct {
		unit string
		pick func(*measured) estimate
	}{{"output tok/s/GPU", (*measured).perGPU}, {"tok/s/user", (*measured).perUser}} {
		m := most(rows, by.pick)
		if m == nil {
			continue
		}
		v := *by.pick(m).Value
		out = append(out, bestFigure{
			Figure: format.NewColumn("", []float64{v}).Figure(v), Unit: by.unit,
			Load: m.shape().String() + ", " + m.load(), Address: "recipes/" + m.Key.Model + "/#" + m.Key.anchor(), Sign: m.sign(),
		})
	}
	return out
}

// most is the row with the highest figure; nil where none has it.
func most(rows []*measured, pick func(*measured) estimate) *measured {
	var best *measured
	for _, m := range rows {
		if e := pick(m); e.Value != nil && (best == nil || *e.Value > *pick(best).Value) {
			best = m
		}
	}
	return best
}

// sources say where the catalogue's facts about a model come from.
func sources(m *roofline.Model) []fact {
	var facts []fact
	for _, name := range slices.Sorted(maps.Keys(m.Sources)) {
		label := capital(strings.ReplaceAll(name, "_", " "))
		if name == "kv" {
			label = "KV"
		}
		facts = append(facts, fact{Name: label, Text: m.Sources[name]})
	}
	return facts
}

// recipe is the card of one recipe.
func (s *site) recipe(w *world, r *recipeOf) recipeView {
	target, _ := w.catalog.Target(r.key.Target)
	v := recipeView{
		ID:    r.key.anchor(),
		Title: onDevices(nameOfTarget(target, r.key.Target), r.recipe) + " · " + s.strategyName(r.key.Strategy) + " · " + engineName(r.key.Engine),
	}
	if r.recipe != nil {
		v.Facts = recipeFacts(r.recipe)
		if r.recipe.Notes != "" {
			v.Notes = append(v.Notes, r.recipe.Notes)
		}
	}
	if older := slices.DeleteFunc(slices.Clone(r.rows), func(m *measured) bool { return !s.olderRecipe(m) }); len(older) > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("Older recipe: %s measured before the recipe was last changed; each row's page has the recipe as it was.", wasWere(len(older))))
	}
	live := slices.DeleteFunc(slices.Clone(r.rows), func(m *measured) bool { return m.Withdrawn != nil })
	if r.recipe != nil {
		model := w.catalog.Models[r.key.Model]
		v.Forms = runForms(r.key, r.recipe, model, live)
		v.Before = beforeLaunch(r.recipe, v.Forms)
		v.Beside = append([]fact{accuracy(r.recipe)}, troubles(r.rows)...)
		v.Ceiling, v.Calculator = ceilingOf(r.key, r.recipe, model, target)
	}
	v.Measured = len(r.rows) > 0
	if i := gapOf(w, r.key); !v.Measured && i >= 0 {
		v.Gap = gapName(w.gaps[i])
	}
	v.Sign, v.Verdict = s.recipeVerdict(w, r, live)
	v.Gauges = s.recipeGauges(live, v.ID)
	v.Tables = s.rowTables(v.ID, v.Title, r.rows)
	v.History = history(v.ID, v.Title, r.rows)
	v.Links = s.linksOf(r.rows)
	v.Besides = s.besides(w, r)
	if len(live) > 0 {
		last := slices.MaxFunc(live, func(a, b *measured) int { return cmp.Compare(a.Report.MeasuredAt, b.Report.MeasuredAt) })
		v.Receipts = receiptFacts(last)
	}
	return v
}

func wasWere(rows int) string {
	if rows == 1 {
		return "1 row was"
	}
	return format.Count(int64(rows)) + " rows were"
}

// recipeVerdict is the card's first sentence.
func (s *site) recipeVerdict(w *world, r *recipeOf, live []*measured) (string, sentence) {
	if len(live) == 0 {
		said := sentence{strong("— not measured.")}
		if i := gapOf(w, r.key); i >= 0 {
			said = append(said, say(" "), linked(capital(gapName(w.gaps[i])), "gaps/#"+gapID(w.gaps[i].Rank)))
			if n := w.gaps[i].GPUMinutes; n != nil {
				said = append(said, say(": about "+format.Plural(int(*n), "GPU-minute", "GPU-minutes")))
			}
			said = append(said, say(". "+w.gaps[i].Why))
		}
		return "", said
	}
	verified := 0
	for _, m := range live {
		if m.Verdict == gate.Verified {
			verified++
		}
	}
	sign, word := gate.Verified, "Verified."
	if verified < len(live) {
		sign, word = gate.Unverified, fmt.Sprintf("%d of %d rows verified.", verified, len(live))
	}
	said := sentence{strong(word), say(fmt.Sprintf(" %s of %s, measured %s.", format.Plural(len(live), "row", "rows"),
		format.Plural(int(live[0].Workload.Repeats), "repeat", "repeats"), span2(live)))}
	ranking := slices.DeleteFunc(slices.Clone(live), func(m *measured) bool { return !m.ranks() })
	if best := most(ranking, (*measured).perGPU); best != nil {
		at := slices.DeleteFunc(ranking, func(m *measured) bool { return m.shape() != best.shape() })
		said = append(said, say(" At "+best.shape().String()+" the most per GPU is "))
		said = append(said, reached(best, best.perGPU(), "output tok/s/GPU")...)
		if fast := most(at, (*measured).perUser); fast != nil {
			said = append(said, say("; the fastest for one user is "))
			said = append(said, reached(fast, fast.perUser(), "tok/s/user")...)
		}
		said = append(said, say("."))
	}
	return sign, said
}

// reached writes a figure with its interval and the load that it was reached at.
func reached(m *measured, e estimate, unit string) sentence {
	form := format.NewColumn("", []float64{*e.Value})
	said := sentence{strong(form.Figure(*e.Value)), say(format.NBSP + unit)}
	if e.Interval != nil {
		said = append(said, say(" ("+form.Interval(e.Interval[0], e.Interval[1])+")"))
	}
	return append(said, say(" at "+m.load()))
}

// gapOf is the index of a recipe's first gap; -1: none.
func gapOf(w *world, k recipeKey) int {
	return slices.IndexFunc(w.gaps, func(g tradeoff.Gap) bool { return g.Recipe == k.String() })
}

func gapName(g tradeoff.Gap) string { return "gap" + format.NBSP + strconv.Itoa(g.Rank) }

// span2 is the day, or the days, on which rows were measured.
func span2(rows []*measured) string {
	first, last := format.Date(rows[0].Report.MeasuredAt), format.Date(rows[0].Report.MeasuredAt)
	for _, m := range rows {
		d := format.Date(m.Report.MeasuredAt)
		first, last = min(first, d), max(last, d)
	}
	if first == last {
		return first
	}
	return first + " to " + last
}

// recipeFacts are what the card pins.
func recipeFacts(r *row.Recipe) []fact {
	facts := []fact{{Name: "Engine", Text: engineName(r.Engine.Name) + " " + r.Engine.Version}}
	if r.Runtime.Image != "" {
		facts = append(facts, fact{Name: "Image", Text: r.Runtime.Image, Code: true})
	}
	if len(r.Runtime.Packages) > 0 {
		facts = append(facts, packagesFact(r.Runtime.Packages))
	}
	weights := r.Weights.Repository
	for _, more := range []string{r.Weights.Revision, r.Weights.File} {
		if more != "" {
			weights += " · " + more
		}
	}
	facts = append(facts,
		fact{Name: "Weights", Text: weights},
		fact{Name: "Weights dtype", Text: cmp.Or(r.Weights.Dtype, "—")},
		fact{Name: "KV dtype", Text: cmp.Or(r.KVDtype, "—")},
	)
	for _, p := range r.Pools {
		facts = append(facts, fact{Name: "Pool, " + p.Role, Text: fmt.Sprintf("%d × TP %d, PP %d, DP %d, EP %d: %s", p.Count, p.TP, p.PP, p.DP, p.EP, format.Plural(int(p.GPUs()), "GPU", "GPUs"))})
	}
	speculation := "none"
	if r.Speculation != nil {
		speculation = fmt.Sprintf("%s, %d draft tokens", r.Speculation.Method, r.Speculation.DraftTokens)
	}
	facts = append(facts, fact{Name: "Speculation", Text: speculation})
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		facts = append(facts, fact{Name: "Environment", Text: name + "=" + r.Env[name], Code: true})
	}
	if len(r.Flags) > 0 {
		facts = append(facts, fact{Name: "Flags", Text: quoted(r.Flags), Parts: flagParts(r.Flags)})
	}
	return facts
}

// port that the written commands use.
const port = 8000

// loading leaves out the flags that make an engine invent its weights.
func loading(flags []string) []string {
	var out []string
	for i := 0; i < len(flags); i++ {
		switch {
		case flags[i] == "--load-format=dummy":
		case flags[i] == "--load-format" && i+1 < len(flags) && flags[i+1] == "dummy":
			i++
		default:
			out = append(out, flags[i])
		}
	}
	return out
}

// launched is the command that starts a recipe's server with some weights and flags.
func launched(model string, r *row.Recipe, weights string, flags []string) string {
	o := launch.Options{Means: launch.Process, Port: port, Weights: weights, Flags: flags}
	if r.Runtime.Image != "" {
		o.Means, o.Cache = launch.Docker, hubFolder
	}
	c := launch.For(model, r, o)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+launch.Quote(c.Env[name]))
	}
	return strings.Join(append(env, wrapped(c.Argv, wideCommand)), " \\\n")
}

// install is the command that brings what a recipe pins; ok is false where it pins nothing.
func install(r *row.Recipe) (c command, ok bool) {
	switch {
	case r.Runtime.Image != "":
		return command{"Fetch the pinned image", wrapped([]string{"docker", "pull", r.Runtime.Image}, narrowCommand)}, true
	case len(r.Runtime.Packages) > 0:
		pip := []string{"pip", "install"}
		for _, p := range slices.Sorted(maps.Keys(r.Runtime.Packages)) {
			pip = append(pip, p+"=="+r.Runtime.Packages[p])
		}
		return command{"Install the pinned packages", wrapped(pip, narrowCommand)}, true
	}
	return command{}, false
}

// reproduce are the commands that made a row, from what it needs to its measuring, and
// then what checks it.
func (s *site) reproduce(m *measured, downloads []download) []command {
	var out []command
	was := m.recipe()
	if was != nil {
		if c, ok := install(was); ok {
			out = append(out, c)
		}
		if was.Weights.Repository == launch.Random && m.Model != nil && len(m.Model.Repositories) > 0 {
			out = append(out, command{"Its configuration and tokenizer, for random weights", wrapped([]string{"hf", "download", m.Model.Repositories[0], "--include", "*.json", "--local-dir", m.Key.Model}, 40)})
		}
		out = append(out, command{"Start the server", launched(m.Key.Model, was, "", was.Flags)})
	}
	if words := m.Report.Tool.Command; len(words) > 0 {
		out = append(out, command{"As it was measured", wrapped(ofAnyHost(words), 50)})
		if was != nil && m.Import == nil && !slices.Contains(words, "--launch") && !s.olderRecipe(m) {
			out = append(out, command{"Or all of it in one command", wrapped(oneCommand(ofAnyHost(words)), 50)})
		}
	}
	if len(downloads) > 0 {
		out = append(out, command{"Check the downloaded report with its samples and evidence beside it", "measure check " + baseName(m.File)})
	}
	return out
}

// oneCommand is a command of bench that starts the server too.
func oneCommand(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "--base-url" && i+1 < len(words):
			i++
		case strings.HasPrefix(w, "--base-url="):
		case w == "bench":
			out = append(out, w, "--launch")
		default:
			out = append(out, w)
		}
	}
	return out
}

// rowTables are a recipe's rows, a table a shape and kind of load: loads of two kinds
// answer two questions.
func (s *site) rowTables(id, title string, rows []*measured) []rowTable {
	var tables []rowTable
	for _, sh := range sortedShapes(rows) {
		of := slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.shape() != sh })
		for i, kind := range kindsOf(of) {
			t := s.rowTable(slices.DeleteFunc(slices.Clone(of), func(m *measured) bool { return kindOf(&m.Workload) != kind }), kind)
			t.ID = id + "-" + sh.slug()
			if i > 0 {
				t.ID += "-" + strconv.Itoa(i+1)
			}
			t.Label = "Rows of " + title + ", " + t.Name
			tables = append(tables, t)
		}
	}
	return tables
}

// rowTable is a ladder of loads: of streams, or of requests a second.
func (s *site) rowTable(of []*measured, kind ladderKind) rowTable {
	slices.SortStableFunc(of, byLoad)
	t := rowTable{Name: shapeWords(&of[0].Workload)}
	if kind.words != "" {
		t.Name += ", " + kind.words
	}
	if kind.open {
		t.Heads = append(t.Heads, newColumn("Completed", "requests/s", of, func(m *measured) estimate { return m.rate(m.Figures.RequestPerSec, "request_s") }))
	}
	t.Heads = append(t.Heads,
		newColumn("Per GPU", "output tok/s", of, (*measured).perGPU),
		newColumn("Per user", "tok/s", of, (*measured).perUser),
		latencyColumn("TTFT p50", "ttft_ms", p50, of, ttft),
		latencyColumn("TTFT p99", "ttft_ms", p99, of, ttft),
		latencyColumn("ITL p50", "itl_ms", p50, of, itl),
		latencyColumn("ITL p99", "itl_ms", p99, of, itl),
	)
	if slices.ContainsFunc(of, func(m *measured) bool { return !decodeIsPerGPU(m) }) {
		t.Heads = append(t.Heads, newColumn("Decode", "tok/s", of, func(m *measured) estimate { return m.rate(m.Figures.DecodeTokPerSec, "decode_tok_s") }))
	}
	t.More = more(len(t.Heads) + 1) // beside the load and the first figure
	var missing letters
	for _, m := range of {
		r := tableRow{ID: m.ID, Address: m.address(), Load: m.load(), Exact: strconv.FormatInt(m.concurrency(), 10), Sign: m.sign(), Verdict: m.sign(), Date: format.Date(m.Report.MeasuredAt), Roof: m.roofFigure(&missing)}
		if kind.open {
			r.Exact = format.Exact(m.offered())
			if math.IsInf(m.offered(), 1) {
				r.Exact = "1e300" // sorts behind every rate
			}
		}
		r.Passes = m.Workload.Protocol == row.Passes
		for i := range t.Heads {
			r.Figures = append(r.Figures, t.Heads[i].figure(m, &missing))
		}
		t.Rows = append(t.Rows, r)
	}
	t.Reasons = missing.Reasons()
	return t
}

func more(columns int) string {
	return format.Plural(max(columns, 0), "more column lies", "more columns lie")
}

// decodeIsPerGPU says whether a row's decode rate says no more than its rate per GPU, as
// on one GPU, whose window is the pass.
func decodeIsPerGPU(m *measured) bool {
	a, b := m.Figures.DecodeTokPerSec, m.Figures.OutputTokPerSecPerGPU
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
