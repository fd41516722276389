package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/render/kept"
	"rowproof/internal/render/picture"
)

// Where the pictures lie that other sites show beside a link to this one.
const (
	pictures    = "og/"
	sitePicture = pictures + "rowproof.png"
)

// Picture is the address of the page's picture: its model's, or the site's. Those who show
// one ask for its whole address, so there is none where the site's is not known.
func (p *page) Picture() string {
	if p.Origin == "" || !strings.HasSuffix("/"+p.Address, "/") {
		return ""
	}
	address := p.Address
	if r, ok := p.Main.(*rowView); ok {
		address = r.ModelLink
	}
	for _, folder := range []string{"recipes/", "cells/"} {
		if rest, ok := strings.CutPrefix(address, folder); ok {
			if model, _, _ := strings.Cut(rest, "/"); model != "" && model != "all" {
				return pictures + model + ".png"
			}
		}
	}
	return sitePicture
}

// writePictures draws a picture a model and one of the site.
func (s *site) writePictures(w *world) error {
	ids := modelsOf(w)
	rows := current(w.rows)
	errs := make([]error, len(ids)+1)
	parallel(len(errs), func(i int) {
		card, to := s.siteCard(w, rows), sitePicture
		if i < len(ids) {
			card, to = s.modelCard(w, ids[i], rows), pictures+ids[i]+".png"
		}
		errs[i] = s.picture(to, card)
	})
	return errors.Join(errs...)
}

// picture draws one, unless the last build drew the same.
func (s *site) picture(to string, card picture.Card) error {
	if s.cache == nil {
		drawn, err := picture.PNG(card)
		return errors.Join(err, s.out.write(to, drawn))
	}
	of := kept.Of(s.cache.gen, card)
	s.cache.puts(to, of, nil)
	if s.out.take(to, of) {
		return nil
	}
	drawn, err := picture.PNG(card)
	return errors.Join(err, s.out.write(to, drawn))
}

// modelCard says what was measured best of a model, at the shape that its page draws.
func (s *site) modelCard(w *world, id string, all []*measured) picture.Card {
	rows := slices.DeleteFunc(slices.Clone(all), func(m *measured) bool { return m.Key.Model != id })
	card := picture.Card{Title: s.modelTitle(w, id), Foot: "Measured numbers only: what is not measured is a dash."}
	if m := w.catalog.Models[id]; m != nil {
		p := m.Params()
		card.Sub = m.Publisher + " · " + format.Billions(p.Total) + " parameters, " + format.Billions(p.Read) + " read per token"
	}
	drawn := drawnScope(scope{Model: id}, rows)
	rows = slices.DeleteFunc(rows, func(m *measured) bool { return !drawn.holds(m) })
	if len(rows) == 0 {
		n := len(s.recipesOf(w, id))
		card.Figures = []picture.Figure{{Figure: "—", Of: "Nothing is measured yet; what the hardware allows is computed."}}
		if n > 0 {
			card.Figures[0].Of = fmt.Sprintf("Nothing ranks yet; %s, each with the command that would measure it.", format.Plural(n, "recipe is ready", "recipes are ready"))
		}
		return card
	}
	for _, best := range []struct {
		unit string
		pick func(*measured) estimate
	}{{"output tok/s/GPU", (*measured).perGPU}, {"tok/s per user, median", (*measured).perUser}} {
		if m := most(rows, best.pick); m != nil {
			card.Figures = append(card.Figures, picture.Figure{Figure: format.Prose(*best.pick(m).Value), Unit: best.unit, Of: s.cardLine(m)})
		}
	}
	card.Foot = format.Plural(len(rows), "verified row", "verified rows") + " at " + drawn.Shape.String() + ", the newest of " + newest(rows)
	if slices.ContainsFunc(rows, (*measured).randomWeights) {
		card.Foot += "; random weights: speed only"
	}
	if s.opts.Demo {
		card.Foot = "Demo: simulated rows. Nothing here was measured."
	}
	return card
}

// cardLine is what a figure was measured of, with how near it comes to the roof.
func (s *site) cardLine(m *measured) string {
	line := m.targetName() + " · " + s.strategyName(m.Key.Strategy) + " · " + engineName(m.Key.Engine) + ", " + m.load()
	if roof := m.decodeRoof(); roof.Missing == "" {
		line += ", " + format.Percent(roof.Share) + " of the hard roof"
	}
	return line
}

// siteCard says what the site holds.
func (s *site) siteCard(w *world, rows []*measured) picture.Card {
	card := picture.Card{
		Title: "Every verified cell, side by side", Sub: "Which configuration to run on your hardware for your load, and whether to trust the number",
		Foot: "Measured numbers only: what is not measured is a dash.",
	}
	if len(rows) == 0 {
		card.Figures = []picture.Figure{{Figure: "—", Of: "Nothing is measured yet; each gap comes with its command."}}
		return card
	}
	models := distinct(rows, func(m *measured) string { return m.Key.Model })
	cells := distinct(rows, func(m *measured) recipeKey { return m.Key.cell() })
	card.Figures = []picture.Figure{
		{Figure: format.Count(int64(len(rows))), Unit: "rows that rank", Of: fmt.Sprintf("of %s of %s, each with its samples and its receipt", format.Plural(len(cells), "cell", "cells"), format.Plural(len(models), "model", "models"))},
		{Figure: format.Count(int64(len(w.gaps))), Unit: "gaps", Of: "what is not measured, ranked by what it could change"},
	}
	if s.opts.Demo {
		card.Foot = "Demo: simulated rows. Nothing here was measured."
	}
	return card
}
