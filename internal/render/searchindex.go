package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"rowproof/internal/render/format"
)

// What the search finds. The order is that in which equally good finds stand.
var foundKinds = []string{"model", "device", "term", "recipe", "page", "section", "row"}

// found is one thing that the search knows.
type found struct {
	Kind    string
	Title   string
	Sub     string
	Address string // below the site's base
	Words   string // what else it is found by
}

// The index is loaded whole at a reader's first search, so it holds the newest rows only;
// older ones stand on their recipe's page and in the table of all rows.
const maxFound = 1000

const searchFile = "search/index.json"

// searchable are all things to be found, those of one kind in the order in which a reader
// most likely wants them.
func (s *site) searchable(w *world) []found {
	var out []found
	for _, id := range modelsOf(w) {
		f := found{Kind: "model", Title: s.modelTitle(w, id), Address: "recipes/" + id + "/", Words: id}
		if m := w.catalog.Models[id]; m != nil {
			f.Sub = m.Publisher + ", " + format.Billions(m.Params().Total) + " parameters"
			f.Words = strings.Join(slices.Concat([]string{id}, m.Repositories, m.Weights), " ")
		}
		out = append(out, f)
	}
	for _, id := range slices.Sorted(maps.Keys(s.today.Targets)) {
		t := s.today.Targets[id]
		if t.Count != 1 {
			continue // stands as its device and count in each recipe
		}
		out = append(out, found{"device", t.Name, t.Vendor + ", " + t.Architecture, "roofline/?target=" + id, strings.Join(append([]string{id, t.Device}, t.Also...), " ")})
	}
	if a := w.articles["glossary"]; a != nil {
		for _, t := range a.Terms {
			out = append(out, found{"term", t.Name, t.Text, "glossary/#" + t.ID, ""})
		}
	}
	out = append(out, s.recipesFound(w)...)
	out = append(out, []found{
		{"page", "Every verified cell, side by side", "", "", "home explorer scatter front"},
		{"page", "Explore", "", "explore/", "filter sort pivot scatter"},
		{"page", "Trends", "", "trends/", "versions dates stale"},
		{"page", "Compare", "", "compare/", "crossover side by side"},
		{"page", "Model serving recipes", "", "recipes/", ""},
		{"page", "What's missing — and how to fill it", "", "gaps/", "gaps"},
		{"page", "Roofline calculator", "", "roofline/", "ceiling roof"},
		{"page", "Your file", "", "your-file/", "import judge check upload drop"},
		{"page", "Downloads", "", "downloads/", "csv json api schema models.js offline feed"},
		{"page", "Changes", "", "changes/", "feed atom new"},
		{"page", "Withdrawn rows", "", "withdrawn/", ""},
	}...)
	for _, name := range articles {
		a := w.articles[name]
		out = append(out, found{"page", a.Title, "", name + "/", name})
		for _, h := range a.Headings {
			out = append(out, found{"section", h.Name, a.Title, name + "/#" + h.ID, ""})
		}
	}
	for _, m := range newestFirst(w.rows)[:min(len(w.rows), maxFound)] {
		out = append(out, found{
			"row", m.ID, s.titleOf(m) + " · " + engineName(m.Key.Engine) + ", " + m.shape().String() + ", " + m.load() + ", " + format.Date(m.Report.MeasuredAt),
			m.address(), m.sign() + " " + m.Key.String(),
		})
	}
	for i := range out {
		f := &out[i]
		f.Title, f.Sub = spaced(f.Title), spaced(f.Sub)
	}
	return out
}

// recipesFound are the recipes, the measured ones first.
func (s *site) recipesFound(w *world) []found {
	rows := map[string][]*measured{}
	for _, m := range w.rows {
		rows[m.Key.String()] = append(rows[m.Key.String()], m)
	}
	keys := recipesIn(w)
	slices.SortStableFunc(keys, func(a, b recipeKey) int { return cmp.Compare(len(rows[b.String()]), len(rows[a.String()])) })
	out := make([]found, len(keys))
	for i, k := range keys {
		r := w.catalog.Recipes[k.String()]
		target, _ := w.catalog.Target(k.Target)
		sub := "not measured"
		if of := rows[k.String()]; len(of) > 0 {
			sub = format.Plural(len(of), "row", "rows") + ", " + newest(of)
		}
		words := []string{k.String(), r.Engine.Version, r.Weights.Dtype, r.KVDtype, r.Weights.Repository}
		if r.Speculation != nil {
			words = append(words, r.Speculation.Method)
		}
		out[i] = found{
			"recipe", s.modelTitle(w, k.Model) + " · " + nameOfTarget(target, k.Target) + " · " + s.strategyName(k.Strategy) + " · " + engineName(k.Engine),
			sub, "recipes/" + k.Model + "/#" + k.anchor(), strings.Join(words, " "),
		}
	}
	return out
}

func newestFirst(rows []*measured) []*measured {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b *measured) int { return cmp.Compare(b.Report.MeasuredAt, a.Report.MeasuredAt) })
	return out
}

// spaced is a text with plain spaces, as a reader types them.
func spaced(s string) string { return strings.ReplaceAll(s, format.NBSP, " ") }

// writeSearch writes the index that the search loads at its first use, and the page that
// lists the same without a script.
func (s *site) writeSearch(w *world) error {
	all := s.searchable(w)
	err := s.out.stream(searchFile, func(out io.Writer) error {
		kinds, err := json.Marshal(foundKinds)
		if err != nil {
			return err
		}
		return object(out, `"kinds":`+string(kinds)+",", "entries", len(all), func(i int) any {
			f := all[i]
			return []any{slices.Index(foundKinds, f.Kind), f.Title, f.Sub, f.Address, f.Words}
		})
	})
	if err != nil {
		return err
	}
	v := &searchView{Older: max(0, len(w.rows)-maxFound)}
	for _, kind := range []struct{ kind, name string }{
		{"page", "Pages"}, {"model", "Models"}, {"recipe", "Recipes"}, {"device", "Devices"}, {"term", "Terms"}, {"section", "Sections"}, {"row", "Rows"},
	} {
		g := searchGroup{ID: kind.kind + "s", Name: kind.name}
		for _, f := range all {
			if f.Kind == kind.kind {
				g.Found = append(g.Found, f)
			}
		}
		if len(g.Found) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	return s.write(&page{
		Address: "search/", Kind: "search", Section: elsewhere, Title: "Index",
		Description: "Everything on this site by name: pages, models, recipes, devices, terms and rows.", Main: v,
	})
}

// searchView is all that the search finds, listed.
type searchView struct {
	Groups []searchGroup
	Older  int // rows that are not listed
}

type searchGroup struct {
	ID, Name string
	Found    []found
}

// Count is how many there are, in words.
func (g searchGroup) Count() string { return format.Count(int64(len(g.Found))) }

// term is an entry of the glossary.
type term struct{ Name, ID, Text string }

var (
	paragraphs = regexp.MustCompile(`(?s)<p>(<strong>.*?)</p>`)
	tags       = regexp.MustCompile(`<[^>]*>`)
	unsaid     = regexp.MustCompile(`[^a-z0-9]+`)
)

// termsOf are the terms of a glossary: what a paragraph begins with in strong type, and
// what further stands so in it, each with the words that follow. The paragraph gets an id,
// which is its first term's.
func termsOf(body template.HTML) (template.HTML, []term) {
	var out []term
	text := paragraphs.ReplaceAllStringFunc(string(body), func(p string) string {
		inner := paragraphs.FindStringSubmatch(p)[1]
		id := ""
		for _, part := range strings.Split(inner, "<strong>")[1:] {
			name, said, _ := strings.Cut(part, "</strong>")
			name, said = bare(name), bare(said)
			name = strings.TrimSuffix(name, ".")
			if id == "" {
				id = "term-" + strings.Trim(unsaid.ReplaceAllString(strings.ToLower(name), "-"), "-")
			}
			out = append(out, term{name, id, said})
		}
		return fmt.Sprintf(`<p id="%s">%s</p>`, id, inner)
	})
	return template.HTML(text), out
}

// bare is HTML text without its marks.
func bare(s string) string {
	return strings.TrimSpace(unescaped.Replace(tags.ReplaceAllString(s, "")))
}

var unescaped = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&amp;", "&")
