// Package imports holds the arrows between packages: which may import which, and what
// may not enter at all. The rules are data with a reason each.
package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "rowproof/"

// pure packages compile to the browser as they are and give the same digits everywhere.
var pure = []string{"internal/stats", "internal/roofline", "internal/row", "internal/gate", "internal/tradeoff"}

// layers go one way: a package may import packages of its own or a lower number. What
// is not listed may not exist: a new package states its place here.
var layers = map[string]int{
	"internal/stats":            0,
	"internal/roofline":         1,
	"internal/row":              2, // keeps models and targets as they were
	"internal/gate":             3,
	"internal/tradeoff":         3,
	"internal/rowfile":          4,
	"internal/catalog":          4,
	"internal/checkpoint":       4, // what files say of a model; no I/O of its own
	"data":                      4,
	"internal/version":          4,
	"internal/loadgen":          5,
	"internal/engine":           6, // reads what loadgen captured
	"internal/engine/simulator": 6,
	"internal/host":             5,
	"internal/prompts":          5,
	"internal/recheck":          6, // makes a row again from its own files, and judges a reader's
	"internal/harness":          5, // other tools' result files; pure parsing, runs in the browser
	"internal/harness/hostile":  5, // files that are meant to break a reader, for tests here and in Chromium
	"internal/launch":           5, // makes the command of a recipe, for pages too, and runs it
	"internal/rowtest":          5,
	"internal/rooftest":         5,
	"internal/render/format":    5,
	"internal/render/chart":     5,
	"internal/render/picture":   5,
	"internal/render/api":       5, // the forms that the site gives to programs
	"internal/render/halves":    5,
	"internal/render/kept":      4,
	"internal/render/roofplot":  5,
	"internal/render":           6,
	"cmd/gen":                   9,
	"cmd/measure":               9,
	"wasm/full":                 9,
	"wasm/lean":                 9,
	"bench/clients":             9,
	"bench/gen":                 9,
}

// testOnly packages hold nothing but tests.
var testOnly = []string{"internal/imports", "internal/browsertest", "wasm", "content"}

// denied imports of the pure packages, each with what it would cost.
var denied = map[string]string{
	"fmt":           "about 200 kB in the lean module, and reflection",
	"time":          "a clock: the same row must give the same answer at any time",
	"os":            "I/O: pure packages see only what they are given",
	"reflect":       "about 60 kB in the lean module",
	"encoding/json": "about 360 kB in the lean module; codecs live in rowfile",
	"errors":        "drags reflect along; sentences are built with strconv",
	"math/rand":     "the same row must give the same answer every time",
	"net":           "I/O", "net/http": "I/O", "os/exec": "I/O",
	"html/template": "about 1,100 kB in the lean module",
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Imports,Deps,GoFiles"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestArrowsGoOneWay(t *testing.T) {
	seen := 0
	for _, p := range list(t, "./...") {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || len(p.GoFiles) == 0 || slices.Contains(testOnly, name) {
			continue
		}
		layer, ok := layers[name]
		if !ok {
			t.Errorf("%s has no place among the layers of this test", name)
			continue
		}
		seen++
		for _, imp := range p.Imports {
			if to, ours := strings.CutPrefix(imp, module); ours && layers[to] > layer {
				t.Errorf("%s imports %s, which stands above it", name, to)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d packages seen: the pattern matches too little", seen)
	}
}

func TestPurePackagesStayPure(t *testing.T) {
	byPath := map[string]listed{}
	for _, p := range list(t, "./...") {
		byPath[p.ImportPath] = p
	}
	for _, name := range pure {
		p, ok := byPath[module+name]
		if !ok {
			t.Errorf("no package %s", name)
			continue
		}
		for _, imp := range p.Imports {
			if why, bad := denied[imp]; bad {
				t.Errorf("%s imports %s: %s", name, imp, why)
			}
			if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") {
				t.Errorf("%s imports %s: no third party in the pure packages", name, imp)
			}
		}
		for _, dep := range p.Deps {
			switch dep {
			case "net", "net/http", "os/exec", "html/template", "encoding/json", "fmt":
				t.Errorf("%s reaches %s: %s", name, dep, denied[dep])
			}
		}
	}
}
