package render

import (
	"strings"
	"testing"

	"rowproof/internal/rowtest"
)

// What was measured in two runs stands side by side, engine versions apart, and a change
// is named only where the intervals part.
func TestRunsOverTime(t *testing.T) {
	root := newRoot(t)
	first, _ := addReport(t, root, 1, rowtest.Options{MeasuredAt: "2026-11-28T12:00:00Z", Repeats: 3})
	second, _ := addReport(t, root, 2, rowtest.Options{MeasuredAt: "2026-11-30T12:00:00Z", Repeats: 3})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	model, _, _ := strings.Cut(first.Recipe, "/")
	page := read(t, out, "recipes", model, "index.html")
	_, table, ok := strings.Cut(page, ">Over time</h3>")
	if !ok {
		t.Fatal("the model's page does not tell of two runs of one load")
	}
	table, _, _ = strings.Cut(table, "</table>")
	for _, want := range []string{first.Rows[0].ID, second.Rows[0].ID, "2026-11-28", "2026-11-30", "no change is shown, since the intervals overlap"} {
		if !strings.Contains(table, want) {
			t.Errorf("over time lacks %s", want)
		}
	}
	if a, b := strings.Index(table, first.Rows[0].ID), strings.Index(table, second.Rows[0].ID); a > b {
		t.Error("the newest run stands first")
	}
	if n := strings.Count(table, `cy="50%"`); n != 2*3*len(first.Rows) {
		t.Errorf("%d repeats are drawn, want %d", n, 2*3*len(first.Rows))
	}
}

// A recipe that was measured once has no history.
func TestOneRunHasNoHistory(t *testing.T) {
	root := newRoot(t)
	r, _ := addReport(t, root, 1, rowtest.Options{})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	model, _, _ := strings.Cut(r.Recipe, "/")
	if strings.Contains(read(t, out, "recipes", model, "index.html"), "Over time") {
		t.Error("one run is shown as a history")
	}
}
