package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/rowtest"
	"rowproof/internal/tradeoff"
)

// Where two engines serve one cell, whatever names its rows in a chart tells which is
// which; where one does, nothing need.
func TestEnginesOfOneCellAreToldApart(t *testing.T) {
	root := newRoot(t)
	cells := []rowtest.Cell{{ISL: 1024, OSL: 256, Concurrency: 1}, {ISL: 1024, OSL: 256, Concurrency: 4}}
	addReport(t, root, 1, rowtest.Options{Cells: cells})
	other := rowtest.Llama8B()
	other.Recipe.Engine.Name = "sglang"
	addReport(t, root, 2, rowtest.Options{Recipe: "llama-3.1-8b/h200-sxm/latency/sglang", AsItWas: other, Slowness: 1.4, Cells: cells})
	third := another()
	third.Cells = cells
	addReport(t, root, 3, third)
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	home := read(t, out, "index.html")
	_, keys, _ := strings.Cut(home, `class="keys"`)
	keys, _, _ = strings.Cut(keys, "</ul>")
	for _, want := range []string{"H200 SXM · Latency · vLLM", "H200 SXM · Latency · SGLang"} {
		if !strings.Contains(words(keys), want) {
			t.Errorf("the key does not name %q: %s", want, words(keys))
		}
		if !strings.Contains(words(home), `"name":"`+want+`"`) {
			t.Errorf("no mark tells %q", want)
		}
	}
	if strings.Contains(words(keys), "Throughput · vLLM") {
		t.Errorf("a cell of one engine names it: %s", words(keys))
	}
}

// A long article begins with a list of what it holds, each entry leading to its heading;
// a short one does not.
func TestLongArticlesListWhatTheyHold(t *testing.T) {
	out, _, err := build(t, newRoot(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	long := read(t, out, "roofs/index.html")
	_, list, found := strings.Cut(long, `class="contents"`)
	list, _, _ = strings.Cut(list, "</nav>")
	entries := regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(list, -1)
	if headings := len(regexp.MustCompile(`<h[23] id=`).FindAllString(long, -1)) - 1; !found || len(entries) != headings {
		t.Fatalf("of %d headings %d are listed", headings, len(entries))
	}
	for _, e := range entries {
		if !strings.Contains(long, ` id="`+e[1]+`"`) {
			t.Errorf("%s leads nowhere", e[1])
		}
	}
	if strings.Contains(read(t, out, "before-you-launch/index.html"), `class="contents"`) {
		t.Error("a short article has a list")
	}
}

// A command is shown as any host would run it.
func TestShownCommandsWriteWhereTheReaderIs(t *testing.T) {
	for _, c := range []struct{ ran, shown string }{
		{"measure bench m --output /tmp/multi/out/a --repeats 3", "measure bench m --output out/run --repeats 3"},
		{"measure bench m --output=/tmp/a", "measure bench m --output=out/run"},
		{"measure bench m --output here", "measure bench m --output here"},
		{"measure bench m --base-url /v1", "measure bench m --base-url /v1"},
	} {
		ran := strings.Fields(c.ran)
		if got := strings.Join(ofAnyHost(ran), " "); got != c.shown || strings.Join(ran, " ") != c.ran {
			t.Errorf("%s is shown as %s", c.ran, got)
		}
	}
}

// Coverage shows measured cells first, in columns and in rows, and else keeps its order.
func TestCoverageBeginsWithWhatIsMeasured(t *testing.T) {
	cell := func(strategy string, rows int) tradeoff.Cell { return tradeoff.Cell{Strategy: strategy, Rows: rows} }
	m := tradeoff.Matrix{
		Targets: []string{"none", "one"}, Strategies: []string{"fp8", "latency", "throughput"},
		Cells: [][]tradeoff.Cell{
			{cell("fp8", 0), cell("latency", 0), cell("throughput", 0)},
			{cell("fp8", 0), cell("latency", 0), cell("throughput", 4)},
		},
	}
	measuredFirst(&m)
	if got := strings.Join(slices.Concat(m.Targets, m.Strategies), " "); got != "one none throughput fp8 latency" {
		t.Errorf("the order is %s", got)
	}
	for i, of := range m.Cells {
		for j, c := range of {
			if c.Strategy != m.Strategies[j] || (c.Rows > 0) != (i == 0 && j == 0) {
				t.Errorf("cell %d %d is %+v", i, j, c)
			}
		}
	}
}
