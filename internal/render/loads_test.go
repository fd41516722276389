package render

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// Loads of every kind of one recipe: streams, rates, a trace and a dataset.
func otherLoads(t *testing.T, root string) map[string]*row.Report {
	t.Helper()
	of := map[string]*row.Report{}
	for i, c := range []struct {
		name  string
		cells []rowtest.Cell
	}{
		{"streams", []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4}}},
		{"rates", []rowtest.Cell{{ISL: 128, OSL: 32, Rate: "2"}, {ISL: 128, OSL: 32, Rate: "16"}, {ISL: 128, OSL: 32, Rate: "4"}}},
		{"trace", []rowtest.Cell{{ISL: 512, OSL: 32, Rate: row.OwnTimes, Prompts: row.PromptsTrace}}},
		{"dataset", []rowtest.Cell{{ISL: 256, OSL: 32, Concurrency: 4, Prompts: row.PromptsDataset}}},
	} {
		o := rowtest.Options{Cells: c.cells, Calibrated: true, Stamps: "ring"}
		if c.name == "rates" {
			o.Requests = 60
		}
		of[c.name], _ = addReport(t, root, uint64(i+1), o)
	}
	return of
}

// Rows of other loads stand on their recipe's page, each kind in a ladder of its own, and
// in no ranking, front or chart.
func TestLoadsAreNotMixed(t *testing.T) {
	root := newRoot(t)
	of := otherLoads(t, root)
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	home := read(t, out, "index.html")
	if text := words(home); !strings.Contains(text, "2 rows rank; 5 more, of open loops, traces or other prompts, stand on the recipe pages") {
		t.Error("the home page does not say where the rows of other loads are")
	}
	for name, r := range of {
		for _, o := range r.Rows {
			if drawn := strings.Contains(home, o.ID); drawn != (name == "streams") {
				t.Errorf("a row of %s on the home page: %v", name, drawn)
			}
		}
	}
	model := read(t, out, "recipes", "llama-3.1-8b", "index.html")
	tables := regexp.MustCompile(`(?s)<h3 id[^>]*>Rows, (.*?)</h3>.*?</table>`).FindAllStringSubmatch(model, -1)
	loads := map[string]string{}
	for _, m := range tables {
		for name, r := range of {
			for _, o := range r.Rows {
				if strings.Contains(m[0], o.ID) {
					loads[words(m[1])] += " " + name
				}
			}
		}
	}
	for heading, want := range map[string]string{
		"128:32": " streams streams", "128:32, open loop": " rates rates rates",
	} {
		if loads[heading] != want {
			t.Errorf("%s holds%s", heading, loads[heading])
		}
	}
	if len(loads) != 4 {
		t.Errorf("tables %v", loads)
	}
	rates := regexp.MustCompile(`\d+ requests/s`).FindAllString(words(model), -1)
	if strings.Join(rates, " ") != "2 requests/s 4 requests/s 16 requests/s" {
		t.Errorf("the ladder of rates is %v", rates)
	}
}

// A row's page says how its requests came, how long they were, what a cache could have
// served and did, and what the client says of its own clock.
func TestRowPageOfOtherLoads(t *testing.T) {
	root := newRoot(t)
	of := otherLoads(t, root)
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(r *row.Report, i int) string { return words(read(t, out, "r", r.Rows[i].ID, "index.html")) }
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"rate": {text(of["rates"], 1), []string{"128:32, 16 requests/s", "open loop, cold random prompts", "Rate asked 16 a second",
			"Burstiness 1: a Poisson process", "Under way at most as many as came", "Completed 1",
			"Open loop: the row stands in no front and no ranking"}},
		"trace": {text(of["trace"], 0), []string{"median 512:32, the trace's own times", "Prompt tokens p50 512, p99 768; observed ",
			"Block of the trace 16 tokens", "Trace SHA-256 "}},
		"dataset": {text(of["dataset"], 0), []string{"median 256:32, c = 4", "Output tokens p50 32, p99 48; observed ", "Dataset SHA-256 "}},
		"clock": {text(of["streams"], 1), []string{"The client’s own clock", "Stamps: ring", "on this host and boot, by the same build with the same stamps, 2026-11-30 10:00 UTC",
			"64 this row’s 1.10 12.1 90.0 2.10 14.1 80.0 100,000", "Sent late, p50 µs", "Woken late, p99 µs", "CPU % of a core", "No stamp chunks", "Dropped packets",
			"All are of one start of the server"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.text, want) {
				t.Errorf("%s: the page does not say %q", name, want)
			}
		}
	}
	if strings.Contains(text(of["streams"], 1), "Rate asked") {
		t.Error("streams were asked no rate")
	}
	var data struct {
		Rows []struct {
			ID          string
			Concurrency *int64
			RequestRate *string `json:"request_rate"`
			Prompts     string
		}
	}
	if err := json.Unmarshal([]byte(read(t, out, "api", "v1", "rows.json")), &data); err != nil {
		t.Fatal(err)
	}
	for _, r := range data.Rows {
		if r.ID == of["rates"].Rows[1].ID && (r.RequestRate == nil || *r.RequestRate != "16" || r.Concurrency != nil || r.Prompts != "random") {
			t.Errorf("rows.json says %+v", r)
		}
		if r.ID == of["trace"].Rows[0].ID && r.Prompts != "trace" {
			t.Errorf("rows.json says %+v", r)
		}
	}
}

// Two recipes under the same rates stand side by side over those, as they do over
// concurrencies, and no chart holds both.
func TestLaddersOverRates(t *testing.T) {
	root := newRoot(t)
	var open, closed []string
	for i, o := range []rowtest.Options{{}, another()} {
		o.Cells = []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4},
			{ISL: 128, OSL: 32, Rate: "0.5"}, {ISL: 128, OSL: 32, Rate: "2"}, {ISL: 128, OSL: 32, Rate: "8"}}
		r, _ := addReport(t, root, uint64(i+1), o)
		for k := range r.Rows {
			if r.Rows[k].Workload.OpenLoop() {
				open = append(open, r.Rows[k].ID)
			} else {
				closed = append(closed, r.Rows[k].ID)
			}
		}
	}
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, out, "recipes", "llama-3.1-8b", "index.html")
	sections := regexp.MustCompile(`(?s)<section class="?compare.*?</figure>`).FindAllString(page, -1)
	if len(sections) != 2 {
		t.Fatalf("%d comparisons", len(sections))
	}
	for _, want := range []string{"Side by side on H200 SXM, 128:32, open loop",
		"Latency is faster for each user than Throughput at every measured request rate.", "requests/s offered, log"} {
		if !strings.Contains(words(sections[1]), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for i, of := range [][]string{closed, open} {
		for k, section := range sections {
			for _, id := range of {
				if strings.Contains(section, id) != (i == k) {
					t.Errorf("row %s in chart %d", id, k)
				}
			}
		}
	}
}

// A run that was asked to hold limits has its goodput on its rows' pages.
func TestRowPageTellsGoodput(t *testing.T) {
	root := newRoot(t)
	r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}})
	half := strconv.FormatFloat(*r.Rows[0].Figures.TTFT.P50, 'f', 2, 64) // about half of them meet it
	slo := "ttft_p99<" + half + "ms,itl_p99<60ms"
	r.Tool.Command = []string{"measure", "bench", "--slo", slo}
	rowtest.Seal(r, samples, evidence)
	if _, err := rowtest.Write(root, r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &r.Rows[0].Workload
	limits, _ := row.ParseLimits(slo)
	g := row.Goodput(w, samples[0], limits)
	if g.Met == 0 || g.Met == g.Of {
		t.Fatalf("%+v tells nothing", g)
	}
	want := "within " + slo + ": " + strconv.FormatInt(g.Met, 10) + " of " + strconv.FormatInt(g.Of, 10) + " requests met every limit"
	if text := words(read(t, out, "r", r.Rows[0].ID, "index.html")); !strings.Contains(text, want) {
		t.Errorf("the page does not say %q", want)
	}
}

// What only some servers tell stands with the rest of what they said.
func TestServerFacts(t *testing.T) {
	rate, reasoning := 88.57, int64(60)
	var text []string
	for _, f := range serverFacts(&row.Server{Clock: &row.Clock{PrefillTokPerSec: &rate}}, &row.Counts{Reasoning: &reasoning}, nil) {
		text = append(text, f.Name+" "+strings.ReplaceAll(f.Text, "\u00a0", " "))
	}
	for _, want := range []string{"Reasoning 60 tokens of the output", "By the server's own clock prefill 88.6 tok/s"} {
		if !slices.Contains(text, want) {
			t.Errorf("no %q among %q", want, text)
		}
	}
}
