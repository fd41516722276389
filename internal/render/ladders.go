package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// metric is a figure that recipes can be compared by.
type metric struct {
	Key    string `json:"key"`  // in addresses, for good
	Name   string `json:"name"` // as an axis says it, with its unit
	Unit   string `json:"unit"`
	Better string `json:"better"` // high or low
	Points bool   `json:"points"` // it has a mean and percentiles

	rate func(*measured) estimate
	dist func(*row.Figures) *row.Dist
	of   string // its name among the row's missing figures
}

// points of a distribution, in the order in which pages hold them.
var points = []quantile{mean, p50, p90, p95, p99}

var metrics = []metric{
	{Key: "gpu", Name: "output tok/s per GPU", Unit: "tok/s", Better: "high", rate: (*measured).perGPU},
	{Key: "total", Name: "input+output tok/s per GPU", Unit: "tok/s", Better: "high", rate: (*measured).totalPerGPU},
	{Key: "user", Name: "tok/s per user, median", Unit: "tok/s", Better: "high", rate: (*measured).perUser},
	{Key: "ttft", Name: "TTFT", Unit: "ms", Better: "low", Points: true, dist: ttft, of: "ttft_ms"},
	{Key: "itl", Name: "ITL", Unit: "ms", Better: "low", Points: true, dist: itl, of: "itl_ms"},
	{Key: "tpot", Name: "TPOT", Unit: "ms", Better: "low", Points: true, dist: tpot, of: "tpot_ms"},
	{Key: "e2e", Name: "E2E", Unit: "ms", Better: "low", Points: true, dist: e2e, of: "e2e_ms"},
	{Key: "joules", Name: "joules per output token", Unit: "J", Better: "low", rate: (*measured).joules},
}

func tpot(f *row.Figures) *row.Dist { return f.TPOT }
func e2e(f *row.Figures) *row.Dist  { return f.E2E }

func (m *measured) totalPerGPU() estimate {
	return m.rate(m.Figures.TotalTokPerSecPerGPU, "total_tok_s_per_gpu")
}

func (m *measured) joules() estimate {
	return m.rate(m.Figures.EnergyPerOutputTok, "energy_j_per_output_tok")
}

// ladderOf is what the compare page reads of one recipe: its newest ranking row of each
// shape and load, and what can differ from another recipe.
type ladderOf struct {
	Groups []factGroup             `json:"groups"`
	Shapes map[string][]ladderRung `json:"shapes"` // by load
}

// factGroup is what one source says of a recipe, as name and value.
type factGroup struct {
	Name  string      `json:"name"`
	Facts [][2]string `json:"facts"`
}

type ladderRung struct {
	ID      string         `json:"id"`
	C       int64          `json:"c"`
	Date    string         `json:"date"`
	Verdict string         `json:"verdict"`
	Figures map[string]any `json:"f"` // by metric's key: one figure, or one a point
}

// figureOf is a figure as a page's data holds it: itself, with its interval's ends where
// it has any, or the reason why there is none.
func figureOf(e estimate) any {
	switch {
	case e.Value == nil:
		return cmp.Or(e.Reason, "not computable")
	case e.Interval == nil:
		return []float64{rounded(*e.Value, 6)}
	}
	return []float64{rounded(*e.Value, 6), rounded(e.Interval[0], 6), rounded(e.Interval[1], 6)}
}

func (m *measured) figures() map[string]any {
	out := map[string]any{}
	for _, k := range metrics {
		if !k.Points {
			out[k.Key] = figureOf(k.rate(m))
			continue
		}
		of := make([]any, len(points))
		for i, q := range points {
			of[i] = figureOf(latency(k.dist(&m.Figures), q, m.Missing, k.of))
		}
		out[k.Key] = of
	}
	return out
}

// recipeCode is a recipe in an address: short, and the same for good.
func recipeCode(k recipeKey) string {
	sum := sha256.Sum256([]byte(k.String()))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// pinnable is a recipe that can be pinned, with the names of its parts.
type pinnable struct {
	Code     string   `json:"code"`
	ID       string   `json:"id"`
	Names    []string `json:"names"` // model, target, strategy, engine
	Address  string   `json:"address"`
	File     string   `json:"file"` // its ladders
	Shapes   []string `json:"shapes"`
	GPUs     int64    `json:"gpus"`
	Dtype    string   `json:"dtype"` // of the weights
	measured []*measured
}

// slotLook is how a slot's series is told from others besides its colour.
type slotLook struct {
	Mark string `json:"mark"` // path around 0,0
	Dash string `json:"dash"`
}

func slotLooks() []slotLook {
	out := make([]slotLook, chart.Slots+1)
	for i := range out {
		out[i] = slotLook{chart.Shape(i, 3.2, false), chart.Dash(i)}
	}
	return out
}

// pinnables are the recipes with a row that ranks, and writes each one's ladders.
func (s *site) pinnables(w *world) ([]pinnable, error) {
	by := map[recipeKey][]*measured{}
	for _, m := range current(w.rows) {
		by[m.Key] = append(by[m.Key], m)
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b recipeKey) int { return strings.Compare(a.String(), b.String()) })
	var out []pinnable
	for _, k := range keys {
		rows := by[k]
		last := slices.MaxFunc(rows, func(a, b *measured) int { return cmp.Compare(a.Report.MeasuredAt, b.Report.MeasuredAt) })
		p := pinnable{
			Code: recipeCode(k), ID: k.String(), Address: s.opts.Base + "recipes/" + k.Model + "/#" + k.anchor(),
			Names:    []string{s.modelTitle(w, k.Model), last.targetName(), s.strategyName(k.Strategy), engineName(k.Engine)},
			measured: rows, Dtype: last.dtype(), GPUs: last.gpus(),
		}
		l := ladderOf{Groups: groupsOf(last), Shapes: map[string][]ladderRung{}}
		for _, sh := range sortedShapes(rows) {
			p.Shapes = append(p.Shapes, sh.String())
			for _, m := range rows {
				if m.shape() == sh {
					l.Shapes[sh.String()] = append(l.Shapes[sh.String()], ladderRung{m.ID, m.concurrency(), format.Date(m.Report.MeasuredAt), m.sign(), m.figures()})
				}
			}
			slices.SortFunc(l.Shapes[sh.String()], func(a, b ladderRung) int { return cmp.Compare(a.C, b.C) })
		}
		text, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		name := hashed("ladders-"+p.Code+".json", text)
		if err := s.out.write(name, text); err != nil {
			return nil, err
		}
		p.File = s.opts.Base + name
		out = append(out, p)
	}
	return out, nil
}

// dtype of the weights as the recipe states it.
func (m *measured) dtype() string {
	if r := m.recipe(); r != nil {
		return cmp.Or(r.Weights.Dtype, "not known")
	}
	return "not known"
}

// gpus is how many devices the row's rates are divided by.
func (m *measured) gpus() int64 {
	if m.Target != nil {
		return m.Target.Count
	}
	return 0
}

// groupsOf is all that can differ between two recipes: what they pin, their flags, what
// the host and the server said of themselves, and the arguments that the server reported.
func groupsOf(m *measured) []factGroup {
	pinned, flags := factGroup{Name: "Recipe"}, factGroup{Name: "Flags"}
	if r := m.recipe(); r != nil {
		for _, f := range recipeFacts(r) {
			if f.Name != "Flags" {
				pinned.add(f)
			}
		}
		values := flagValues(r.Flags)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			flags.Facts = append(flags.Facts, [2]string{name, values[name]})
		}
	}
	receipt, arguments := factGroup{Name: "Receipt"}, factGroup{Name: "Arguments that the server reported"}
	for _, f := range receiptFacts(m) {
		// When a server was started is of a run, and its command line is the flags again.
		if f.Name != "Server started" && f.Name != "Command line" {
			receipt.add(f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Report.Receipt.Engine.Arguments)) {
		arguments.Facts = append(arguments.Facts, [2]string{name, m.Report.Receipt.Engine.Arguments[name]})
	}
	return []factGroup{pinned, flags, receipt, arguments}
}

// add appends a fact; those of one name stand together.
func (g *factGroup) add(f fact) {
	text := f.Text
	for _, p := range f.Parts {
		if f.Text == "" {
			text = strings.TrimSpace(text + " " + p)
		}
	}
	for i := range g.Facts {
		if g.Facts[i][0] == f.Name {
			g.Facts[i][1] += ", " + text
			return
		}
	}
	g.Facts = append(g.Facts, [2]string{f.Name, text})
}
