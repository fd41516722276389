package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/gate"
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

// titleOf names a row's cell and engine.
func (s *site) titleOf(m *measured) string {
	return m.modelName() + " · " + m.targetName() + " · " + s.strategyName(m.Key.Strategy)
}

// recipesView lists the models.
type recipesView struct {
	Models []modelLine
}

type modelLine struct {
	Name, Address, Facts string
	Recipes, Rows        string
	Measured             string
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
		v.Models = append(v.Models, line)
		if err := s.writeModel(w, id, recipes, compared); err != nil {
			return err
		}
	}
	return s.write(&page{
		Address: "recipes/", Kind: "recipes", Section: "recipes/", Title: "Model serving recipes",
		Description: "Pick a model, then a verified cell in its coverage matrix. We publish measured numbers only.", Main: v,
	})
}

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
		return cmp.Or(cmp.Compare(min(len(b.rows), 1), min(len(a.rows), 1)), cmp.Compare(a.key.String(), b.key.String()))
	})
}

// modelView is a model's page: what it is, what is measured, and each recipe.
type modelView struct {
	Name       string
	Facts      string
	Model      []fact
	Strategies []strategyHead
	Coverage   []coverageRow
	Compare    []compareView
	Recipes    []recipeView
	NoRecipe   bool
}

type strategyHead struct{ Name, For string }

type coverageRow struct {
	Name  string
	Cells []coverageCell
}

// coverageCell is the best figure of a cell, or why there is none.
type coverageCell struct {
	Figure, Unit, Note, Address string
	Cost                        string
	Reason                      string
	Sign                        string
}

type recipeView struct {
	ID       string
	Title    string
	Sign     string
	Verdict  sentence
	Commands []command
	Facts    []fact
	Gauges   []gaugeView
	Tables   []rowTable
	Receipts []fact
	Notes    []string
}

// rowTable is a recipe's rows of one shape.
type rowTable struct {
	ID, Name string
	Label    string // what no other table of the page is called
	Heads    []column
	Rows     []tableRow
	Reasons  []dash
}

type tableRow struct {
	ID, Address, Load string
	Exact             string
	Figures           []tableFigure
	Roof              tableFigure
	Sign, Verdict     string
	Date              string
}

func (s *site) writeModel(w *world, id string, recipes []*recipeOf, compared []tradeoff.Measured) error {
	v := &modelView{Name: s.modelTitle(w, id), NoRecipe: len(recipes) == 0}
	m := w.catalog.Models[id]
	if m != nil {
		v.Facts = modelFacts(m)
		v.Model = architectureFacts(m)
	}
	matrix := tradeoff.Coverage(tradeoff.Catalog(*w.catalog), id, compared, w.gaps)
	for _, st := range matrix.Strategies {
		head := strategyHead{Name: s.strategyName(st)}
		if known := s.strategies[st]; known != nil {
			head.For = known.For
		}
		v.Strategies = append(v.Strategies, head)
	}
	for i, t := range matrix.Targets {
		target, _ := w.catalog.Target(t)
		line := coverageRow{Name: nameOfTarget(target, t)}
		for _, cell := range matrix.Cells[i] {
			line.Cells = append(line.Cells, s.coverage(w, id, cell))
		}
		v.Coverage = append(v.Coverage, line)
	}
	var err error
	if v.Compare, err = s.comparisons(recipes); err != nil {
		return err
	}
	for _, r := range recipes {
		v.Recipes = append(v.Recipes, s.recipe(w, r))
	}
	return s.write(&page{
		Address: "recipes/" + id + "/", Kind: "model", Section: "recipes/", Title: v.Name,
		Description: v.Name + ": how to run it, what is measured on which device, and what is missing. " + v.Facts, Main: v,
	})
}

// coverage is one cell of the matrix: its best row by the strategy's own rate, or why
// there is none.
func (s *site) coverage(w *world, model string, cell tradeoff.Cell) coverageCell {
	var v coverageCell
	if len(cell.Recipes) > 0 {
		k, _ := parseKey(cell.Recipes[0])
		v.Address = "recipes/" + model + "/#" + k.anchor()
	}
	switch {
	case cell.Best != nil:
		m := w.byID[cell.Best.ID]
		rate, unit := m.perGPU(), "output tok/s/GPU"
		if known := s.strategies[cell.Strategy]; known != nil && known.BestBy == row.BestPerUser {
			rate, unit = m.perUser(), "tok/s/user"
		}
		v.Figure = format.NewColumn("", []float64{*rate.Value}).Figure(*rate.Value)
		v.Unit = unit
		v.Sign = m.sign()
		v.Address = "recipes/" + model + "/#" + m.Key.anchor()
		v.Note = fmt.Sprintf("%s, %s · %s", m.shape(), m.load(), format.Plural(cell.Rows, "row", "rows"))
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

func architectureFacts(m *roofline.Model) []fact {
	a := &m.Architecture
	layers := int64(0)
	var attention, ffn []string
	for _, l := range a.Layers {
		layers += l.Count
		attention = append(attention, fmt.Sprintf("%s, %d query and %d KV heads of %d", strings.ToUpper(l.Attention.Kind), l.Attention.Heads, l.Attention.KVHeads, l.Attention.HeadDim))
		ffn = append(ffn, l.FFN.Kind+" "+format.Count(l.FFN.Width))
	}
	head := "head not tied"
	if a.TiedHead {
		head = "head tied to the embedding"
	}
	c := roofline.Ceiling(roofline.Query{Model: m})
	facts := []fact{
		{Name: "Layers", Text: fmt.Sprintf("%s, hidden %s, FFN %s", format.Count(layers), format.Count(a.Hidden), strings.Join(slices.Compact(ffn), "; "))},
		{Name: "Attention", Text: strings.Join(slices.Compact(attention), "; ")},
		{Name: "Vocabulary", Text: format.Count(a.Vocabulary) + ", " + head},
		{Name: "Context", Text: format.Plural(int(a.MaxContext), "token", "tokens")},
		{Name: "Read a token", Text: format.Billions(m.Params().Read) + " parameters"},
	}
	if kv := c.KVBytesPerToken; kv != nil {
		facts = append(facts, fact{Name: "KV a token", Text: format.Bytes(*kv) + " at bf16"})
	}
	if len(m.Repositories) > 0 {
		facts = append(facts, fact{Name: "Repositories", Text: strings.Join(m.Repositories, ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Sources)) {
		facts = append(facts, fact{Name: "Source of " + name, Text: m.Sources[name]})
	}
	return facts
}

// recipe is the card of one recipe.
func (s *site) recipe(w *world, r *recipeOf) recipeView {
	target, _ := w.catalog.Target(r.key.Target)
	v := recipeView{
		ID:    r.key.anchor(),
		Title: nameOfTarget(target, r.key.Target) + " · " + s.strategyName(r.key.Strategy) + " · " + engineName(r.key.Engine),
	}
	if r.recipe != nil {
		v.Facts = recipeFacts(r.recipe)
		v.Commands = append(v.Commands, launchCommands(r.key, r.recipe)...)
		if r.recipe.Notes != "" {
			v.Notes = append(v.Notes, r.recipe.Notes)
		}
		if r.recipe.Weights.Repository == "random" {
			v.Notes = append(v.Notes, randomWeights)
		}
	}
	if older := slices.DeleteFunc(slices.Clone(r.rows), func(m *measured) bool { return !s.olderRecipe(m) }); len(older) > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("Older recipe: %s measured before the recipe was last changed; each row's page has the recipe as it was.", wasWere(len(older))))
	}
	live := slices.DeleteFunc(slices.Clone(r.rows), func(m *measured) bool { return m.Withdrawn != nil })
	v.Commands = append(v.Commands, command{"Measure it yourself, against the running server", s.benchCommand(r.key, live)})
	v.Sign, v.Verdict = s.recipeVerdict(w, r, live)
	v.Gauges = s.recipeGauges(live, v.ID)
	v.Tables = s.rowTables(v.ID, v.Title, r.rows)
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
		i := slices.IndexFunc(w.gaps, func(g tradeoff.Gap) bool { return g.Recipe == r.key.String() })
		if i >= 0 {
			said = append(said, say(fmt.Sprintf(" Gap%s%d", format.NBSP, w.gaps[i].Rank)))
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
	if len(ranking) > 0 {
		best := slices.MaxFunc(ranking, func(a, b *measured) int { return cmp.Compare(*a.perGPU().Value, *b.perGPU().Value) })
		e := best.perGPU()
		form := format.NewColumn("", []float64{*e.Value})
		said = append(said, say(" The most per GPU: "), strong(form.Figure(*e.Value)), say(" output tok/s/GPU at "+best.shape().String()+", "+best.load()))
		if e.Interval != nil {
			said = append(said, say(" ("+form.Interval(e.Interval[0], e.Interval[1])+")"))
		}
		said = append(said, say("."))
		fast := slices.MaxFunc(ranking, func(a, b *measured) int { return cmp.Compare(orZero(a.perUser().Value), orZero(b.perUser().Value)) })
		if e := latency(fast.Figures.ITL, p50, fast.Missing, "itl_ms"); e.Value != nil {
			said = append(said, say(" The fastest for one user: "), strong(format.Quantity(format.Prose(*e.Value), "ms")), say(" ITL p50 at "+fast.load()+"."))
		}
	}
	return sign, said
}

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
		facts = append(facts, fact{Name: "Packages", Text: packages(r.Runtime.Packages)})
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
		facts = append(facts, fact{Name: "Pool, " + p.Role, Text: fmt.Sprintf("%d × TP %d, PP %d, DP %d, EP %d", p.Count, p.TP, p.PP, p.DP, p.EP)})
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
		facts = append(facts, fact{Name: "Flags", Text: quoted(r.Flags), Code: true})
	}
	return facts
}

// port that the written commands use.
const port = "8000"

// launchCommands start the server: the container, or the packages and then the server.
func launchCommands(k recipeKey, r *row.Recipe) []command {
	weights := r.Weights.Repository
	if weights == "random" {
		weights = k.Model
	}
	var launch []string
	for _, a := range r.Launch {
		switch a {
		case "{flags}":
			launch = append(launch, r.Flags...)
		default:
			launch = append(launch, strings.NewReplacer("{weights}", weights, "{port}", port).Replace(a))
		}
	}
	env := func(prefix string) []string {
		var out []string
		for _, name := range slices.Sorted(maps.Keys(r.Env)) {
			if prefix != "" {
				out = append(out, prefix)
			}
			out = append(out, name+"="+r.Env[name])
		}
		return out
	}
	name := "Launch · " + engineName(r.Engine.Name) + " " + r.Engine.Version
	if r.Weights.Repository == "random" {
		name += " · " + k.Model + " is a folder with the model's configuration and tokenizer"
	}
	if r.Runtime.Image != "" {
		docker := []string{"docker", "run", "--rm"}
		if slices.ContainsFunc(r.Arch, func(a string) bool { return strings.HasPrefix(a, "gfx") }) {
			docker = append(docker, "--device=/dev/kfd", "--device=/dev/dri", "--group-add", "video")
		} else {
			docker = append(docker, "--gpus", "all")
		}
		docker = append(docker, "--ipc=host", "-p", port+":"+port, "-v", "/data/hf-cache:/hf-cache", "-e", "HF_HOME=/hf-cache")
		docker = append(docker, env("-e")...)
		return []command{{name, wrapped(slices.Concat(docker, []string{r.Runtime.Image}, launch), 76)}}
	}
	var pins []string
	for _, p := range slices.Sorted(maps.Keys(r.Runtime.Packages)) {
		pins = append(pins, p+"=="+r.Runtime.Packages[p])
	}
	var out []command
	if len(pins) > 0 {
		out = append(out, command{"Install the pinned packages", wrapped(append([]string{"pip", "install"}, pins...), 76)})
	}
	return append(out, command{name, wrapped(slices.Concat(env(""), launch), 76)})
}

// benchCommand measures the recipe: the shapes and loads of its rows, else the default.
func (s *site) benchCommand(k recipeKey, rows []*measured) string {
	var shapes, loads []string
	for _, m := range rows {
		if sh := m.shape().String(); !slices.Contains(shapes, sh) {
			shapes = append(shapes, sh)
		}
		if c := m.concurrency(); c > 0 && !slices.Contains(loads, strconv.FormatInt(c, 10)) {
			loads = append(loads, strconv.FormatInt(c, 10))
		}
	}
	slices.SortFunc(loads, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if len(shapes) == 0 {
		shapes = []string{"1024:256"}
	}
	if len(loads) == 0 {
		loads = []string{"1", "4", "16", "64"}
	}
	return wrapped([]string{"measure", "bench", k.Model, "--base-url", "http://127.0.0.1:" + port, "--recipe", k.String(),
		"--cells", strings.Join(shapes, ","), "--concurrency", strings.Join(loads, ","), "--duration", "15s", "--repeats", "3", "--output", "out/" + k.anchor()}, 76)
}

// rowTables are a recipe's rows, a table a shape.
func (s *site) rowTables(id, title string, rows []*measured) []rowTable {
	shapes := sortedShapes(rows)
	var tables []rowTable
	for _, sh := range shapes {
		of := slices.DeleteFunc(slices.Clone(rows), func(m *measured) bool { return m.shape() != sh })
		slices.SortStableFunc(of, func(a, b *measured) int {
			return cmp.Or(cmp.Compare(a.concurrency(), b.concurrency()), cmp.Compare(b.Report.MeasuredAt, a.Report.MeasuredAt))
		})
		t := rowTable{ID: id + "-" + sh.slug(), Name: sh.String(), Label: "Rows of " + title + ", " + sh.String()}
		t.Heads = []column{
			newColumn("Per GPU", "output tok/s", of, (*measured).perGPU),
			newColumn("Per user", "tok/s", of, (*measured).perUser),
			latencyColumn("TTFT p50", "ttft_ms", p50, of, ttft),
			latencyColumn("TTFT p99", "ttft_ms", p99, of, ttft),
			latencyColumn("ITL p50", "itl_ms", p50, of, itl),
			latencyColumn("ITL p99", "itl_ms", p99, of, itl),
			newColumn("Decode", "tok/s", of, func(m *measured) estimate { return m.rate(m.Figures.DecodeTokPerSec, "decode_tok_s") }),
		}
		var missing letters
		for _, m := range of {
			r := tableRow{ID: m.ID, Address: m.address(), Load: m.load(), Exact: strconv.FormatInt(m.concurrency(), 10), Sign: m.sign(), Verdict: m.sign(), Date: format.Date(m.Report.MeasuredAt), Roof: m.roofFigure(&missing)}
			if m.Workload.Protocol == row.Passes {
				r.Load += ", passes"
			}
			for i := range t.Heads {
				r.Figures = append(r.Figures, t.Heads[i].figure(m, &missing))
			}
			t.Rows = append(t.Rows, r)
		}
		t.Reasons = missing.Reasons()
		tables = append(tables, t)
	}
	return tables
}
