package render

import (
	"errors"

	"rowproof/internal/tradeoff"
	"rowproof/internal/version"
)

func (s *site) newFrame() frame {
	return frame{
		Base: s.opts.Base, Origin: s.opts.Origin, Demo: s.opts.Demo, Policy: policy,
		Style: s.assets.style, Icon: s.assets.icon, Lean: s.assets.lean.address, Held: s.assets.lean.integrity,
		Version: version.Release,
		Nav: []navItem{
			{"Cells", ""}, {"Explore", "explore/"}, {"Compare", "compare/"}, {"Recipes", "recipes/"}, {"Gaps", "gaps/"}, {"Roofline", "roofline/"},
			{"Method", "methodology/"}, {"Before you launch", "before-you-launch/"},
		},
	}
}

// writePages writes all pages but those of rows, which readRows has written.
func (s *site) writePages(w *world) error {
	compared := w.compared()
	w.gaps = tradeoff.Gaps(tradeoff.Catalog(*w.catalog), compared)
	return errors.Join(
		s.writeHomes(w),
		s.writeRecipes(w, compared),
		s.writeChoosing(w),
		s.writeTrends(w),
		s.writeGaps(w),
		s.writeArticles(w),
		s.writeCalculator(w),
		s.writeYourFile(),
		s.writeWithdrawn(w),
		s.writeChanges(w),
		s.write(&page{Address: "404.html", Kind: "missing", Section: elsewhere, Title: "No such page", Description: "This address has no page.", Main: w}),
		s.writePrograms(w),
		s.writeSearch(w),
		s.writePictures(w),
		s.writeOffline(w),
		s.writeDownloads(w),
		s.siteMap(),
	)
}

// writeArticles writes the Markdown pages.
func (s *site) writeArticles(w *world) error {
	for _, name := range articles {
		a := w.articles[name]
		err := s.write(&page{Address: name + "/", Kind: "article", Section: elsewhere, Title: a.Title, Description: a.Lead, Main: a})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeCalculator writes the roofline calculator and what its script asks questions with.
func (s *site) writeCalculator(w *world) error {
	p := &page{
		Address: "roofline/", Kind: "roofline", Section: "roofline/", Title: "Roofline calculator",
		Description: "How fast a device could possibly run a model.",
	}
	v := s.newCalculator(w)
	if v != nil {
		var err error
		if v.Data, err = s.writeCalculatorData(w); err != nil {
			return err
		}
		v.Full, v.FullIntegrity = s.assets.full.address, s.assets.full.integrity
		p.Description = "How fast a device could possibly run a model: " + v.Answer
	}
	p.Main = v
	return s.write(p)
}

// withdrawnView lists the rows that are out of every ranking.
type withdrawnView struct{ Rows []withdrawnRow }

type withdrawnRow struct{ ID, Address, Name, Date, Reason string }

func (s *site) writeWithdrawn(w *world) error {
	v := &withdrawnView{}
	for _, m := range w.rows {
		if m.Withdrawn != nil {
			v.Rows = append(v.Rows, withdrawnRow{m.ID, m.address(), s.titleOf(m) + ", " + m.shape().String() + ", " + m.load(), m.Withdrawn.Date, m.Withdrawn.Reason})
		}
	}
	return s.write(&page{
		Address: "withdrawn/", Kind: "withdrawn", Section: elsewhere, Title: "Withdrawn rows",
		Description: "Rows that turned out to be wrong, with the reason. They stand in no ranking or chart, and are never deleted.", Main: v,
	})
}
