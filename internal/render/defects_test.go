package render

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/rowtest"
)

// No site is made of a row with a defect that was seen in published rows, and the gate
// that was made for it says why. A queue-bound row is shown as one.
func TestDefectsAreNotShown(t *testing.T) {
	defects, err := rowtest.Defects(os.DirFS(filepath.Join(repository, "data")))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defects {
		t.Run(d.Name, func(t *testing.T) {
			root := newRoot(t)
			if d.Cell != nil {
				write(t, root, "data/cells/"+d.Row.Report.Recipe+".yaml", string(d.Cell))
			}
			for _, m := range append(d.Beside, d.Row) {
				if _, err := m.Publish(root); err != nil {
					t.Fatal(err)
				}
			}
			at := func(o *Options) { o.Now = "2026-12-02T00:00:00Z" }
			id := d.Row.Report.Rows[0].ID
			out, _, err := build(t, root, at)
			if d.Answer == gate.Warn {
				if err != nil {
					t.Fatal(err)
				}
				if page := read(t, out, "r", id, "index.html"); !strings.Contains(page, "Queue-bound") {
					t.Error("its page does not say that it is queue-bound")
				}
				if strings.Contains(read(t, out, "index.html"), id) {
					t.Error("it stands on the front of the home page")
				}
				sound := newRoot(t)
				if _, err := d.Twin.Publish(sound); err != nil {
					t.Fatal(err)
				}
				if out, _, err = build(t, sound, at); err != nil || !strings.Contains(read(t, out, "index.html"), d.Twin.Report.Rows[0].ID) {
					t.Errorf("the twin is not on the front: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("built")
			}
			gates := regexp.MustCompile(`row ([0-9a-f]{12}): gate ([a-z]+): `).FindAllStringSubmatch(err.Error(), -1)
			named := false
			for _, g := range gates {
				_, also := d.Also[g[2]]
				if g[2] != d.Gate && !also {
					t.Errorf("gate %s refuses it too: %v", g[2], err)
				}
				named = named || g[2] == d.Gate
			}
			if !named || !strings.Contains(err.Error(), d.Reason) {
				t.Errorf("refused without gate %s: %v", d.Gate, err)
			}
		})
	}
}
