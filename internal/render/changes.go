package render

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"rowproof/internal/render/format"
)

// changesView lists what was measured and what was withdrawn, the newest first.
type changesView struct{ Changes []change }

type change struct {
	Date    string
	Time    string // RFC 3339
	ID      string // of the run's first row, or of the row withdrawn
	What    string
	Note    string
	Address string
	Sign    string
}

// changes are the runs, each once, and the withdrawals.
func (s *site) changes(w *world) []change {
	var out []change
	for i := 0; i < len(w.rows); {
		first := w.rows[i]
		var rows []*measured
		for ; i < len(w.rows) && w.rows[i].File == first.File; i++ {
			rows = append(rows, w.rows[i])
		}
		var shapes []string
		for _, sh := range sortedShapes(rows) {
			shapes = append(shapes, sh.String())
		}
		out = append(out, change{
			Date: format.Date(first.Report.MeasuredAt), Time: first.Report.MeasuredAt, ID: first.ID, Sign: first.Verdict,
			What: s.titleOf(first) + " · " + first.engine(), Note: format.Plural(len(rows), "row", "rows") + ": " + strings.Join(shapes, ", "),
			Address: "recipes/" + first.Key.Model + "/#" + first.Key.anchor(),
		})
		for _, m := range rows {
			if m.Withdrawn != nil {
				out = append(out, change{
					Date: m.Withdrawn.Date, Time: m.Withdrawn.Date + "T00:00:00Z", ID: m.ID, Sign: "withdrawn",
					What: s.titleOf(m) + ", " + m.shape().String() + ", " + m.load(), Note: "withdrawn: " + m.Withdrawn.Reason, Address: m.address(),
				})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b change) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.ID, b.ID)) })
	return out
}

// maxEntries is how many of the newest changes the feed holds.
const maxEntries = 50

// writeChanges writes the list and the feed.
func (s *site) writeChanges(w *world) error {
	all := s.changes(w)
	err := s.write(&page{
		Address: "changes/", Kind: "changes", Section: elsewhere, Title: "Changes",
		Description: "What was measured and what was withdrawn, the newest first.", Main: &changesView{all},
	})
	if err != nil {
		return err
	}
	text := func(t string) string {
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(t))
		return b.String()
	}
	updated := "1970-01-01T00:00:00Z" // an empty feed has never changed
	if len(all) > 0 {
		updated = all[0].Time
	}
	home := s.opts.Origin + s.opts.Base
	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:rowproof:%s</id>\n<title>Rowproof: what was measured</title>\n<updated>%s</updated>\n<author><name>Rowproof</name></author>\n<link rel=\"self\" href=\"%sfeed.xml\"/>\n<link href=\"%schanges/\"/>\n",
		text(home), text(updated), text(home), text(home))
	for _, c := range all[:min(len(all), maxEntries)] {
		fmt.Fprintf(&b, "<entry><id>urn:rowproof:%s:%s</id><title>%s</title><updated>%s</updated><link href=\"%s\"/><summary>%s</summary></entry>\n",
			text(c.Sign), text(c.ID), text(c.What), text(c.Time), text(home+c.Address), text(c.Note))
	}
	b.WriteString("</feed>\n")
	return s.out.write("feed.xml", b.Bytes())
}
