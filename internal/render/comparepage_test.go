package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rowproof/internal/rowtest"
)

// Addresses that readers keep hold a recipe's code: it is the base32 of the first five
// bytes of the id's SHA-256, as other tools compute it, and must never change.
func TestRecipeCodeIsForGood(t *testing.T) {
	k, _ := parseKey("llama-3.1-8b/h200-sxm/latency/vllm")
	if got, want := recipeCode(k), "kpndzda3"; got != want {
		t.Errorf("the code is %s; sha256sum, xxd and base32 give %s", got, want)
	}
}

// The compare page stands without a script: the comparison with the most recipes, drawn,
// with its figures and what differs, and each built one. Each recipe's file holds what its
// rows say.
func TestComparePage(t *testing.T) {
	root := newRoot(t)
	cells := []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4}}
	report, _ := addReport(t, root, 1, rowtest.Options{Cells: cells})
	slower := another()
	slower.Cells = cells
	addReport(t, root, 2, slower)
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, out, "compare", "index.html")
	text := words(page)
	for _, want := range []string{"Latency gives more per GPU than Throughput at every measured concurrency", "Figures", "What differs", "Built comparisons", "Llama 3.1 8B on H200 SXM, 128:32"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := len(regexp.MustCompile(`<th scope="row" class="n">\d+</th>`).FindAllString(page, -1)); n != len(cells) {
		t.Errorf("the table of figures has %d loads; %d are measured", n, len(cells))
	}
	k, _ := parseKey(report.Recipe)
	files, err := filepath.Glob(filepath.Join(out, "assets", "ladders-"+recipeCode(k)+"-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the recipe's ladders stand in %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var l struct {
		Shapes map[string][]struct {
			ID string
			C  int64
			F  struct {
				GPU []float64
				ITL []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(data, &l); err != nil {
		t.Fatal(err)
	}
	rungs := l.Shapes["128:32"]
	if len(rungs) != 2 || rungs[0].C != 1 || rungs[1].C != 4 {
		t.Fatalf("its ladder is %+v", rungs)
	}
	for i, r := range rungs {
		row := report.Rows[i]
		if r.ID != row.ID || len(r.F.GPU) != 3 || len(r.F.ITL) != 5 {
			t.Errorf("%+v of row %s: want a figure with its interval, and a mean and four percentiles", r, row.ID)
			continue
		}
		if want := *row.Figures.OutputTokPerSecPerGPU; r.F.GPU[0] < want-1e-5 || r.F.GPU[0] > want+1e-5 {
			t.Errorf("row %s gives %v output tok/s/GPU; the file says %v", row.ID, want, r.F.GPU[0])
		}
	}
}
