package render

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// explorePage is the page of every row that ranks. Its rows come in a file of columns,
// so that ten thousand are one request; without a script it leads to the built pages.
type explorePage struct {
	Rows, Recipes string
	Models        []exploreLink
	Data          exploreData
}

// exploreLink is a model's built page, with those of its shapes.
type exploreLink struct {
	Name, Address string
	Shapes        []filter
}

// exploreData is what the page's script needs before the rows.
type exploreData struct {
	File    string          `json:"file"`
	Columns []exploreColumn `json:"columns"`
	Slots   []slotLook      `json:"slots"`
	Most    int             `json:"most"` // recipes in one comparison
	Old     string          `json:"old"`  // the day before which rows are marked
	Days    int             `json:"days"` // that day's distance from the newest row
}

// exploreColumn is a figure that rows can be sorted and filtered by.
type exploreColumn struct {
	Key    string `json:"key"` // in addresses, for good
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"`
	Shown  bool   `json:"shown"` // at first

	pick func(*measured) estimate
}

// exploreRows are all rows, a list a column: of each figure three, itself and the ends of
// its interval.
type exploreRows struct {
	Recipes []pinnable        `json:"recipes"`
	Shapes  []string          `json:"shapes"`
	IDs     []string          `json:"ids"`
	Recipe  []int             `json:"recipe"` // places in Recipes
	Shape   []int             `json:"shape"`
	C       []int64           `json:"c"`
	Date    []string          `json:"date"`
	Verdict []string          `json:"verdict"`
	Engine  []string          `json:"engine"` // with its version
	Figures map[string]packed `json:"figures"`
}

func exploreColumns() []exploreColumn {
	columns := []exploreColumn{
		{Key: "gpu", Name: "Per GPU", Unit: "output tok/s", Better: "high", Shown: true, pick: (*measured).perGPU},
		{Key: "total", Name: "Per GPU, input+output", Unit: "tok/s", Better: "high", pick: (*measured).totalPerGPU},
		{Key: "user", Name: "Per user", Unit: "tok/s, median", Better: "high", Shown: true, pick: (*measured).perUser},
	}
	for _, l := range []struct {
		key, name string
		dist      func(*row.Figures) *row.Dist
		shown     bool
	}{{"ttft", "TTFT", ttft, true}, {"itl", "ITL", itl, true}, {"tpot", "TPOT", tpot, false}, {"e2e", "E2E", e2e, false}} {
		for _, q := range []quantile{p50, p90, p99} {
			columns = append(columns, exploreColumn{
				Key: l.key + q.name[1:], Name: l.name + " " + q.name, Unit: "ms", Better: "low", Shown: l.shown && q.name != "p90",
				pick: func(m *measured) estimate { return latency(l.dist(&m.Figures), q, m.Missing, l.key+"_ms") },
			})
		}
	}
	return append(columns,
		exploreColumn{Key: "joules", Name: "Energy", Unit: "J an output token", Better: "low", pick: (*measured).joules},
		exploreColumn{Key: "roof", Name: "Roof", Unit: "% of hard", Better: "high", pick: func(m *measured) estimate {
			r := m.decodeRoof()
			if r.Missing != "" {
				return estimate{Reason: r.Missing}
			}
			v := r.Share * 100
			return estimate{Value: &v}
		}})
}

// writeExplore writes the page and its rows.
func (s *site) writeExplore(w *world, recipes []pinnable) error {
	columns := exploreColumns()
	rows := exploreRows{Recipes: recipes, Figures: map[string]packed{}}
	place := map[shape]int{}
	shapes := sortedShapes(current(w.rows))
	for i, sh := range shapes {
		place[sh] = i
		rows.Shapes = append(rows.Shapes, sh.String())
	}
	for i := range recipes {
		of := slices.Clone(recipes[i].measured)
		slices.SortFunc(of, func(a, b *measured) int {
			return cmp.Or(cmp.Compare(place[a.shape()], place[b.shape()]), cmp.Compare(a.concurrency(), b.concurrency()))
		})
		for _, m := range of {
			rows.IDs = append(rows.IDs, m.ID)
			rows.Recipe = append(rows.Recipe, i)
			rows.Shape = append(rows.Shape, place[m.shape()])
			rows.C = append(rows.C, m.concurrency())
			rows.Date = append(rows.Date, format.Date(m.Report.MeasuredAt))
			rows.Verdict = append(rows.Verdict, m.sign())
			rows.Engine = append(rows.Engine, m.engine())
			for _, c := range columns {
				rows.Figures[c.Key] = append(rows.Figures[c.Key], threeOf(c.pick(m))...)
			}
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	name := hashed("cells.json", text)
	if err := s.out.write(name, text); err != nil {
		return err
	}
	v := &explorePage{
		Rows: format.Plural(len(rows.IDs), "row", "rows"), Recipes: format.Plural(len(recipes), "recipe", "recipes"),
		Data: exploreData{File: s.opts.Base + name, Columns: columns, Slots: slotLooks(), Most: maxPinned, Old: staleBefore(w.rows), Days: staleDays},
	}
	v.Models = s.exploreLinks(w)
	return s.write(&page{
		Address: "explore/", Kind: "explore", Section: "explore/", Title: "Explore",
		Description: "Every row that ranks: filter, sort by several columns, choose columns, pivot, and see the fronts of each model and weight format.",
		Wide:        true, Main: v,
	})
}

// exploreLinks are the built pages of each model that has rows.
func (s *site) exploreLinks(w *world) []exploreLink {
	all := current(w.rows)
	models := distinct(all, func(m *measured) string { return m.Key.Model })
	slices.Sort(models)
	shapes := sortedShapes(all)
	var out []exploreLink
	for _, id := range models {
		l := exploreLink{Name: s.modelTitle(w, id), Address: scope{Model: id}.address()}
		if len(models) == 1 {
			l.Address = ""
		}
		for _, sh := range shapes {
			if len(shapes) > 1 && len(models) > 1 && slices.ContainsFunc(all, scope{id, sh}.holds) {
				l.Shapes = append(l.Shapes, filter{Text: sh.String(), Address: scope{id, sh}.address()})
			}
		}
		out = append(out, l)
	}
	return out
}

// threeOf is a figure and its interval's ends to five digits, NaN where there is none.
func threeOf(e estimate) packed {
	out := packed{math.NaN(), math.NaN(), math.NaN()}
	if e.Value == nil {
		return out
	}
	out[0] = significant(*e.Value)
	if e.Interval != nil {
		out[1], out[2] = significant(e.Interval[0]), significant(e.Interval[1])
	}
	return out
}
