package render

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/rowtest"
)

// Two runs of a load stand on one time axis, a change between them is named where their
// intervals part, the engine's versions stand where they change, and a row that is much
// older than the newest is marked where it is listed.
func TestTrends(t *testing.T) {
	root := newRoot(t)
	cells := []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4}}
	slow, _ := addReport(t, root, 1, rowtest.Options{Cells: cells, MeasuredAt: "2026-08-01T12:00:00Z", Slowness: 2})
	middle, _ := addReport(t, root, 2, rowtest.Options{Cells: cells, MeasuredAt: "2026-11-20T12:00:00Z", Slowness: 1.6})
	fast, _ := addReport(t, root, 3, rowtest.Options{Cells: cells, MeasuredAt: "2026-11-30T12:00:00Z"})
	old := another()
	old.MeasuredAt, old.Cells = "2026-08-02T12:00:00Z", cells
	stale, _ := addReport(t, root, 4, old)
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A step takes 1.3 of its roof, and took 2 of it: about 35% less.
	less := 100 * (1 - *fast.Rows[0].Figures.TPOT.P50 / *slow.Rows[0].Figures.TPOT.P50)
	if less < 30 || less > 40 {
		t.Fatalf("the synthetic rows differ by %v%%", less)
	}
	page := read(t, out, "trends", "index.html")
	text := words(page)
	for _, want := range []string{
		"2 loads of a recipe were measured in more than one run; of 2 a change is shown.",
		"From 2026-08-01 to 2026-11-30: " + strconv.Itoa(int(math.Round(less))) + "% less a token",
		"the intervals part",
		"2026-08-01 over 90 days old", "Other loads that were measured again",
		"more than 90 days before 2026-11-30",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q in %s", want, text)
		}
	}
	_, rows, _ := strings.Cut(text, "Old rows")
	if !strings.Contains(rows, "Throughput · vLLM, 128:32 2026-08-02") || strings.Contains(rows, "Latency · vLLM, 128:32") {
		t.Errorf("old are %q; want the throughput recipe alone, whose newest row is of 2026-08-02", rows)
	}

	// 1 August to 20 November are 111 of the 121 days to the end.
	wide := regexp.MustCompile(`(?s)<svg[^>]*class="wide".*?</svg>`).FindString(page)
	at := func(id string) float64 {
		m := regexp.MustCompile(`translate\(([\d.]+)[^)]*\)"[^>]*data-row="` + id + `"`).FindStringSubmatch(wide)
		if m == nil {
			t.Fatalf("%s is not drawn in %s", id, wide)
		}
		x, _ := strconv.ParseFloat(m[1], 64)
		return x
	}
	a, b, c := at(slow.Rows[0].ID), at(middle.Rows[0].ID), at(fast.Rows[0].ID)
	if share := (b - a) / (c - a); share < 0.91 || share > 0.925 {
		t.Errorf("the second run lies at %v of the way; 111 of 121 days are 0.917", share)
	}
	if n := strings.Count(wide, `fill-rule="evenodd"`); n != 1 {
		t.Errorf("%d marks are hollow; one run is old", n)
	}

	home := read(t, out, "index.html")
	line := home[strings.Index(home, `<tr data-row="`+stale.Rows[1].ID):]
	if line, _, _ = strings.Cut(line, "</tr>"); !strings.Contains(line, "over 90 days old") {
		t.Errorf("the home page does not mark the old row: %s", line)
	}
	if n := strings.Count(home, "over 90 days old"); n != 1 {
		t.Errorf("%d rows are marked as old; the cell of one is", n)
	}
}

// Where nothing was measured again and nothing is old, the page says so.
func TestTrendsOfOneRun(t *testing.T) {
	root := newRoot(t)
	addReport(t, root, 1, rowtest.Options{})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := words(read(t, out, "trends", "index.html"))
	for _, want := range []string{"Nothing was measured twice yet", "No recipe's newest row was measured more than 90 days before"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
