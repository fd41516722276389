package render

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"

	"rowproof/internal/gate"
	"rowproof/internal/render/api"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// Where the files lie that are not of the API's folder.
const (
	tableFile  = "data/rows.csv"
	moduleFile = "data/models.js"
)

// apiFiles are the API's files, in the order in which a reader is told of them.
var apiFiles = []api.File{
	{Address: api.Folder + "index.json", Schema: "index", About: "the list of these files"},
	{Address: api.Folder + "rows.json", Schema: "rows", About: "every published row: workload, verdict, each gate's answer, figures with units and intervals, and why a figure is missing"},
	{Address: api.Folder + "rows/ID.json", Schema: "row", About: "one row, with each gate's reason, what it compared and what would mend it"},
	{Address: api.Folder + "recipes.json", Schema: "recipes", About: "every recipe with what it pins and how it is launched, and its rows; none where nothing is measured"},
	{Address: api.Folder + "models.json", Schema: "models", About: "every model: architecture, formats, published counts, the source of each figure"},
	{Address: api.Folder + "targets.json", Schema: "targets", About: "every device and count: memory, bandwidth, dense peaks, links, the source of each figure"},
	{Address: api.Folder + "gaps.json", Schema: "gaps", About: "what nobody has measured, ranked, with the command and about how many GPU-minutes"},
	{Address: api.Folder + "withdrawn.json", Schema: "withdrawn", About: "rows that are out of every ranking, with the reason"},
}

func schemaAddress(form string) string { return api.Folder + "schema/" + form + ".json" }

// writePrograms writes what programs read: the API with its schemas, all rows as one
// table, and the ES module.
func (s *site) writePrograms(w *world) error {
	models := modelsOf(w)
	targets := slices.Sorted(maps.Keys(w.catalog.Targets))
	recipes := recipesIn(w)
	ids := map[string][]string{}
	for _, m := range w.rows {
		ids[m.Key.String()] = append(ids[m.Key.String()], m.ID)
	}
	withdrawn := slices.DeleteFunc(slices.Clone(w.rows), func(m *measured) bool { return m.Withdrawn == nil })
	index := api.Index{API: path.Base(api.Folder), Report: row.Schema, Newest: newest(w.rows), Rows: int64(len(w.rows))}
	for _, f := range apiFiles {
		f.Schema = schemaAddress(f.Schema)
		index.Files = append(index.Files, f)
	}
	index.Files = append(index.Files,
		api.File{Address: tableFile, About: "every row's main figures with their intervals, as one table"},
		api.File{Address: moduleFile, About: "models with their recipes and rows, as an ES module"})
	schemas, err := s.schemas()
	if err != nil {
		return err
	}
	list := func(name, of string, n int, value func(int) any) error {
		return s.out.stream(api.Folder+name, func(out io.Writer) error { return object(out, "", of, n, value) })
	}
	return errors.Join(
		schemas,
		s.out.stream(api.Folder+"index.json", func(out io.Writer) error {
			e := json.NewEncoder(out)
			e.SetIndent("", " ")
			return e.Encode(index)
		}),
		list("models.json", "models", len(models), func(i int) any { return modelOf(w, models[i]) }),
		list("targets.json", "targets", len(targets), func(i int) any { return api.Target{ID: targets[i], Target: w.catalog.Targets[targets[i]]} }),
		list("recipes.json", "recipes", len(recipes), func(i int) any {
			return recipeIn(recipes[i], w.catalog.Recipes[recipes[i].String()], ids[recipes[i].String()])
		}),
		list("withdrawn.json", "withdrawn", len(withdrawn), func(i int) any {
			m := withdrawn[i]
			return api.Withdrawn{ID: m.ID, Page: m.address(), Recipe: m.Key.String(), Date: m.Withdrawn.Date, Reason: m.Withdrawn.Reason}
		}),
		s.out.stream(api.Folder+"gaps.json", func(out io.Writer) error {
			return object(out, `"basis":`+jsonText(tradeoff.Basis)+",", "gaps", len(w.gaps), func(i int) any { return gapIn(&w.gaps[i]) })
		}),
		s.out.stream(api.Folder+"rows.json", func(out io.Writer) error {
			return object(out, units(), "rows", len(w.rows), func(i int) any { return rowIn(w.rows[i]) })
		}),
		s.rowFiles(w),
		s.out.stream(tableFile, func(out io.Writer) error { return writeTable(out, w.rows) }),
		s.out.stream(moduleFile, func(out io.Writer) error { return s.writeModule(out, w, models) }),
	)
}

// schemas writes the schema of each form. Where the site's address is known each is called
// by its own.
func (s *site) schemas() (written error, err error) {
	var all []error
	for _, f := range api.Forms {
		id := s.opts.Origin + s.opts.Base + schemaAddress(f.Name)
		if s.opts.Origin == "" {
			id = "urn:rowproof:schema:" + path.Base(api.Folder) + ":" + f.Name
		}
		text, err := api.Schema(f, id)
		if err != nil {
			return nil, err
		}
		all = append(all, s.out.write(schemaAddress(f.Name), text))
	}
	return errors.Join(all...), nil
}

// object writes an object of what stands first and one array.
func object(out io.Writer, first, name string, n int, value func(int) any) error {
	if _, err := fmt.Fprintf(out, "{%s%s:", first, jsonText(name)); err != nil {
		return err
	}
	if err := array(out, n, value); err != nil {
		return err
	}
	_, err := io.WriteString(out, "}\n")
	return err
}

// jsonText is a text of ours as JSON.
func jsonText(text string) string {
	b, _ := json.Marshal(text) // text always encodes
	return string(b)
}

func units() string {
	b, _ := json.Marshal(api.Units) // texts always encode
	return `"units":` + string(b) + ",\n"
}

// modelsOf are the ids of all models that are known or were measured.
func modelsOf(w *world) []string {
	ids := slices.Collect(maps.Keys(w.catalog.Models))
	for _, m := range w.rows {
		if w.catalog.Models[m.Key.Model] == nil && !slices.Contains(ids, m.Key.Model) {
			ids = append(ids, m.Key.Model)
		}
	}
	slices.Sort(ids)
	return ids
}

func modelOf(w *world, id string) api.Model {
	return api.Model{ID: id, Page: "recipes/" + id + "/", Model: cmp.Or(w.catalog.Models[id], &roofline.Model{})}
}

// recipesIn are all recipes, sorted.
func recipesIn(w *world) []recipeKey {
	var out []recipeKey
	for _, id := range slices.Sorted(maps.Keys(w.catalog.Recipes)) {
		if k, ok := parseKey(id); ok && w.catalog.Recipes[id] != nil {
			out = append(out, k)
		}
	}
	return out
}

func recipeIn(k recipeKey, r *row.Recipe, rows []string) api.Recipe {
	if rows == nil {
		rows = []string{}
	}
	return api.Recipe{
		ID: k.String(), Model: k.Model, Target: k.Target, Strategy: k.Strategy, GPUs: r.GPUs(),
		Page: "recipes/" + k.Model + "/#" + k.anchor(), Rows: rows, Recipe: r,
	}
}

func gapIn(g *tradeoff.Gap) api.Gap {
	page := ""
	if k, ok := parseKey(g.Recipe); ok {
		page = "recipes/" + k.Model + "/#" + k.anchor()
	}
	return api.Gap{
		Rank: int64(g.Rank), Kind: g.Kind, Recipe: g.Recipe, Shape: g.Shape, Loads: g.Loads, What: g.What, Why: g.Why, Changes: g.Changes,
		GPUs: g.GPUs, GPUMinutes: g.GPUMinutes, Basis: g.Basis, Command: g.Command, Page: page,
	}
}

func rowFile(id string) string { return api.Folder + "rows/" + id + ".json" }

func rowIn(m *measured) api.Row {
	r := api.Row{
		ID: m.ID, Page: m.address(), File: rowFile(m.ID), Report: m.File, Verdict: m.sign(), Recipe: m.Key.String(),
		Engine: m.Report.Receipt.Engine.Name, Version: m.Report.Receipt.Engine.Version, MeasuredAt: m.Report.MeasuredAt,
		Protocol: m.Workload.Protocol, ISL: m.Workload.ISL, OSL: m.Workload.OSL, Concurrency: m.Workload.Load.Concurrency,
		RequestRate: m.Workload.Load.RequestRate, Prompts: m.Workload.Prompts.Kind, State: m.Workload.Prompts.State,
		Repeats: m.Workload.Repeats, Ranks: m.ranks(), Random: m.randomWeights(),
		PerUser: m.perUser().Value, Figures: &m.Figures, Missing: m.Missing, Gates: map[string]string{},
	}
	if file := m.Row.Samples.File; file != "" {
		at := path.Join(path.Dir(m.File), file)
		r.Samples = &at
	}
	if roof := m.decodeRoof(); roof.Missing == "" {
		r.RoofShare = &roof.Share
	}
	for _, g := range m.Gates {
		r.Gates[g.Gate] = g.Answer.String()
	}
	return r
}

// rowFiles writes one file a row.
func (s *site) rowFiles(w *world) error {
	errs := make([]error, len(w.rows))
	parallel(len(w.rows), func(i int) {
		m := w.rows[i]
		f := api.RowFile{Units: api.Units, Row: rowIn(m), Gates: []api.Gate{}}
		for _, g := range m.Gates {
			f.Gates = append(f.Gates, gateIn(&g))
		}
		text, err := json.Marshal(f)
		if err == nil {
			err = s.out.write(rowFile(m.ID), append(text, '\n'))
		}
		errs[i] = err
	})
	return errors.Join(errs...)
}

func gateIn(g *gate.Result) api.Gate {
	out := api.Gate{Gate: g.Gate, Answer: g.Answer.String(), Blocks: g.Answer.Blocks(), Reason: g.Reason, Mend: g.Mend, Compared: []api.Compared{}}
	for _, c := range g.Figures {
		out.Compared = append(out.Compared, api.Compared(c))
	}
	return out
}

// moduleModel is a model as the ES module has it: with its recipes, and these with their
// rows.
type moduleModel struct {
	api.Model
	Recipes []moduleRecipe `json:"recipes"`
}

type moduleRecipe struct {
	api.Recipe
	Rows []api.Row `json:"rows"`
}

// writeModule writes the ES module, a model at a time.
func (s *site) writeModule(out io.Writer, w *world, models []string) error {
	if _, err := io.WriteString(out, "// Every model with its recipes, and these with every published row, as an ES module:\n"+
		"// import { models, rows, units } from \"./models.js\";\nexport const models = "); err != nil {
		return err
	}
	err := array(out, len(models), func(i int) moduleModel {
		m := moduleModel{modelOf(w, models[i]), []moduleRecipe{}}
		for _, r := range s.recipesOf(w, models[i]) {
			recipe := moduleRecipe{recipeIn(r.key, cmp.Or(r.recipe, &row.Recipe{}), nil), []api.Row{}}
			for _, one := range r.rows {
				recipe.Rows = append(recipe.Rows, rowIn(one))
			}
			m.Recipes = append(m.Recipes, recipe)
		}
		return m
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(api.Units)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, ";\nexport const rows = models.flatMap((m) => m.recipes.flatMap((r) => r.rows));\nexport const units = %s;\n", text)
	return err
}

// writeTable writes every row's main figures as CSV.
func writeTable(out io.Writer, rows []*measured) error {
	c := csv.NewWriter(out)
	head := []string{"id", "verdict", "recipe", "engine_version", "measured_at", "protocol", "isl", "osl", "concurrency", "request_rate", "prompts", "state", "repeats"}
	type field struct {
		name string
		pick func(*measured) estimate
	}
	fields := []field{
		{"output_tok_s_per_gpu", (*measured).perGPU},
		{"tok_s_per_user", (*measured).perUser},
	}
	for _, l := range []struct {
		name string
		dist func(*row.Figures) *row.Dist
	}{
		{"ttft_ms", ttft}, {"tpot_ms", func(f *row.Figures) *row.Dist { return f.TPOT }},
		{"itl_ms", itl}, {"e2e_ms", func(f *row.Figures) *row.Dist { return f.E2E }},
	} {
		for _, q := range []quantile{p50, p90, p99} {
			fields = append(fields, field{l.name + "_" + q.name, func(m *measured) estimate { return latency(l.dist(&m.Figures), q, m.Missing, l.name) }})
		}
	}
	for _, f := range fields {
		head = append(head, f.name, f.name+"_low", f.name+"_high")
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, m := range rows {
		concurrency, rate := "", ""
		if l := m.Workload.Load; l.RequestRate != nil {
			rate = *l.RequestRate
		}
		if n := m.Workload.Load.Concurrency; n != nil {
			concurrency = strconv.FormatInt(*n, 10)
		}
		line := []string{
			m.ID, m.sign(), m.Key.String(), m.Report.Receipt.Engine.Version, m.Report.MeasuredAt, m.Workload.Protocol,
			strconv.FormatInt(m.Workload.ISL, 10), strconv.FormatInt(m.Workload.OSL, 10), concurrency, rate,
			m.Workload.Prompts.Kind, m.Workload.Prompts.State, strconv.FormatInt(m.Workload.Repeats, 10),
		}
		for _, f := range fields {
			line = append(line, ends(f.pick(m))...)
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// ends are a figure and its interval as recorded; empty where missing.
func ends(e estimate) []string {
	out := []string{"", "", ""}
	if e.Value != nil {
		out[0] = format.Exact(*e.Value)
	}
	if e.Interval != nil {
		out[1], out[2] = format.Exact(e.Interval[0]), format.Exact(e.Interval[1])
	}
	return out
}
