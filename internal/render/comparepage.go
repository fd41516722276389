package render

import (
	"errors"
	"slices"
	"strings"

	"rowproof/internal/render/format"
)

// comparePage is the page of free comparisons: without a script the built ones, drawn
// with the recipes that the address would otherwise choose.
type comparePage struct {
	First   *compareView // the one with the most recipes
	Pins    string       // its address, as the script states it
	Table   []compareRow // of First
	Presets []preset
	Data    compareData
}

// compareRow is one load of the built comparison, a figure a recipe.
type compareRow struct {
	Load    string
	Figures []tableFigure
}

// preset is a built comparison of a model's page.
type preset struct {
	Model, Title, Address string
	Finding               sentence
	Pins                  string // as the query of this page
	view                  *compareView
	keys                  []recipeKey
	shape                 shape
}

// compareData is what the page's script compares.
type compareData struct {
	Metrics []metric   `json:"metrics"`
	Points  []string   `json:"points"`
	Slots   []slotLook `json:"slots"`
	Recipes []pinnable `json:"recipes"`
	Most    int        `json:"most"` // recipes in one comparison
	Pins    []string   `json:"pins"`
	Shape   string     `json:"shape"`
}

// writeChoosing writes the pages on which a reader chooses among all measured recipes.
func (s *site) writeChoosing(w *world) error {
	recipes, err := s.pinnables(w)
	if err != nil {
		return err
	}
	return errors.Join(s.writeCompare(w, recipes), s.writeExplore(w, recipes))
}

func (s *site) writeCompare(w *world, recipes []pinnable) error {
	v := &comparePage{Data: compareData{Metrics: metrics, Slots: slotLooks(), Recipes: recipes, Most: maxPinned}}
	for _, q := range points {
		v.Data.Points = append(v.Data.Points, q.name)
	}
	for _, model := range distinct(current(w.rows), func(m *measured) string { return m.Key.Model }) {
		views, err := s.comparisons(s.recipesOf(w, model))
		if err != nil {
			return err
		}
		for i := range views {
			p := preset{
				Model: s.modelTitle(w, model), Title: views[i].Title, Finding: views[i].Finding,
				Address: "recipes/" + model + "/#" + views[i].ID, view: &views[i], shape: views[i].shape,
			}
			for _, k := range views[i].Keys {
				key, _ := parseKey(k.Cell)
				p.keys = append(p.keys, key)
			}
			if !views[i].rates {
				p.Pins = "compare/" + pinQuery(p.keys, p.shape)
			}
			v.Presets = append(v.Presets, p)
		}
	}
	var first *preset
	for i := range v.Presets {
		if p := &v.Presets[i]; p.Pins != "" && (first == nil || len(p.keys) > len(first.keys)) {
			first = p
		}
	}
	if first != nil {
		v.First, v.Pins = first.view, first.Pins
		for _, k := range first.keys {
			v.Data.Pins = append(v.Data.Pins, recipeCode(k))
		}
		v.Data.Shape = first.shape.String()
		v.Table = compareTable(w, first)
	}
	description := "Two to six measured configurations over concurrency: any metric and percentile, where the winner changes, and what differs between them."
	return s.write(&page{Address: "compare/", Kind: "compare", Section: "compare/", Title: "Compare", Description: description, Wide: true, Main: v})
}

// compareTable holds the figures of a built comparison.
func compareTable(w *world, p *preset) []compareRow {
	ladders := make([][]*measured, len(p.keys))
	var all []*measured
	for i, k := range p.keys {
		ladders[i] = ladder(slices.DeleteFunc(slices.Clone(w.rows), func(m *measured) bool { return m.Key != k }), p.shape)
		all = append(all, ladders[i]...)
	}
	column := newColumn("", "output tok/s", all, (*measured).perGPU)
	loads := distinct(all, (*measured).concurrency)
	slices.Sort(loads)
	var rows []compareRow
	var missing letters
	for _, c := range loads {
		r := compareRow{Load: format.Count(c)}
		for _, l := range ladders {
			i := slices.IndexFunc(l, func(m *measured) bool { return m.concurrency() == c })
			if i < 0 {
				r.Figures = append(r.Figures, tableFigure{Dash: &dash{Reason: "not measured"}})
				continue
			}
			r.Figures = append(r.Figures, column.figure(l[i], &missing))
		}
		rows = append(rows, r)
	}
	return rows
}

// pinQuery is the query of a comparison of some recipes at one shape.
func pinQuery(keys []recipeKey, sh shape) string {
	codes := make([]string, len(keys))
	for i, k := range keys {
		codes[i] = recipeCode(k)
	}
	return "?r=" + strings.Join(codes, "~") + "&s=" + sh.String()
}
