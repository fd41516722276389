package render

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// words is the page's text without markup, ordinary spaces for those that do not break.
func words(page string) string {
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	page = strings.NewReplacer("\u00a0", " ", "\u2060", "").Replace(html.UnescapeString(page))
	return strings.Join(strings.Fields(page), " ")
}

// The home page says what its rows are, what stands elsewhere, which cell leads where
// none is shown to cross, what is not measured, and lists the models that its first
// sentence speaks of.
func TestHomeSaysWhatIsMeasuredAndWhatIsNot(t *testing.T) {
	root := newRoot(t)
	cells := []rowtest.Cell{{ISL: 1024, OSL: 256, Concurrency: 1}, {ISL: 1024, OSL: 256, Concurrency: 4}}
	addReport(t, root, 1, rowtest.Options{Cells: cells})
	slower := another()
	slower.Cells = cells
	addReport(t, root, 2, slower)
	addReport(t, root, 3, rowtest.Options{Cells: cells[:1], Protocol: row.Passes})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	home := read(t, out, "index.html")
	text := words(home)
	for _, want := range []string{
		"4 rows rank; 1 more, measured in passes, stands on the recipe pages",
		"Random weights: speed only; accuracy is not measured.",
		"H200 SXM · Latency gives the most per GPU at every measured c (1–4).",
		"Not measured · Llama 3.1 8B · 1024:256", "H100 SXM · FP8 vLLM gap ", "GPU-minutes",
		"Model serving recipes", "Pick a model, then a verified cell in the coverage matrix (target × strategy).",
		"Llama 3.1 8B 2 of 17 recipes measured", "Qwen3 8B 0 of 14 recipes measured",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the home page does not say %q", want)
		}
	}
	if !regexp.MustCompile(`gaps/#gap-\d+`).MatchString(home) {
		t.Error("what is not measured does not lead to its gap")
	}
	// Two cells are both told apart, though the front holds one of them alone.
	for _, stroke := range []string{"var(--c1)", "var(--c2)"} {
		if !strings.Contains(home, stroke) {
			t.Errorf("no series is drawn in %s", stroke)
		}
	}
}

// Each row of the chart carries its line of the table, so that limits can put another
// of a cell's rows there: written as the built table writes it.
func TestHomeRowsCarryTheirLine(t *testing.T) {
	home := read(t, theSite(t).out, "index.html")
	m := regexp.MustCompile(`<script type="?application/json"? id="?chart-marks"?>(.*?)</script>`).FindStringSubmatch(home)
	if m == nil {
		t.Fatal("the page has no rows")
	}
	var rows map[string]struct {
		Line struct {
			Recipe, C, Date string
			PerGPU          [2]string `json:"per_gpu"`
			TTFT, ITL       [4][2]string
			Span            []float64
		}
	}
	if err := json.Unmarshal([]byte(m[1]), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows; want both loads of both cells", len(rows))
	}
	built := regexp.MustCompile(`<tr data-row="?(\w+)"? data-recipe="?([^" >]+)`).FindAllStringSubmatch(home, -1)
	if len(built) != 2 {
		t.Fatalf("%d lines are built; want one a cell", len(built))
	}
	for _, b := range built {
		line := rows[b[1]].Line
		if line.Recipe != b[2] {
			t.Errorf("row %s is of %s in the table and of %s in the data", b[1], b[2], line.Recipe)
		}
		end := strings.Index(home, b[0])
		shown := words(home[end : end+strings.Index(home[end:], "</tr>")])
		if want := words(line.PerGPU[0] + " " + line.PerGPU[1]); !strings.Contains(shown, want) {
			t.Errorf("row %s: the data has %q, the table %q", b[1], want, shown)
		}
		// Latencies are of rows at every load and so may have other decimals than the built
		// table's, which has one load a cell.
		for _, figure := range [][2]string{line.TTFT[0], line.ITL[0]} {
			whole, _, _ := strings.Cut(figure[0], ".")
			if !strings.Contains(shown, " "+whole) || words(figure[1]) == "" {
				t.Errorf("row %s: the data has %q, the table %q", b[1], figure, shown)
			}
		}
		if len(line.Span) != 2 || line.Span[0] >= line.Span[1] {
			t.Errorf("row %s: interval %v", b[1], line.Span)
		}
	}
}
