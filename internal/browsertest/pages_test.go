package browsertest

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// seed picks which page of a kind is visited and what the calculator is asked. A failing
// run prints it, and -seed runs the same choices again.
var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the pages and questions chosen")

func random(t *testing.T) *rand.Rand {
	t.Helper()
	t.Logf("chosen with -seed %d", *seed)
	return rand.New(rand.NewPCG(*seed, 0))
}

// Each kind of page, and the row of another load than the usual, is clean: no complaint of the browser, no request elsewhere, no
// sideways scrolling from 320 to 1920 px in either theme, nothing for axe to find; and
// without JavaScript all its text shows.
func TestPages(t *testing.T) {
	s := theSite(t)
	r := random(t)
	kinds := s.kinds()
	chosen := []string{"r/" + otherRow + "/index.html"}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		chosen = append(chosen, kinds[kind][r.IntN(len(kinds[kind]))])
	}
	for _, page := range chosen {
		t.Run(page, func(t *testing.T) {
			for _, f := range inspect(t, s.origin, s.url(page)) {
				t.Error(f)
			}
			for _, f := range withoutScript(t, s.origin, s.url(page)) {
				t.Error(f)
			}
		})
	}
}

// Every page, not only those visited, is valid and accessible HTML.
func TestHTMLValidate(t *testing.T) {
	s := theSite(t)
	validator := filepath.Join(root, "node_modules", "html-validate", "bin", "html-validate.mjs")
	if _, err := os.Stat(validator); err != nil {
		t.Fatal("html-validate is not installed: run npm ci --ignore-scripts")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", validator, "--preset", "standard,a11y", "--formatter", "text", s.dir)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := bytes.SplitAfterN(out, []byte("\n"), 41)
		t.Errorf("%v\n%s", err, bytes.Join(lines[:min(40, len(lines))], nil))
	}
}

// The scripts and the modules' contracts hold together under the strictest checks.
func TestTypeScript(t *testing.T) {
	tsc := filepath.Join(root, "node_modules", "typescript", "bin", "tsc")
	if _, err := os.Stat(tsc); err != nil {
		t.Fatal("typescript is not installed: run npm ci --ignore-scripts")
	}
	if err := command(root, nil, "node", tsc, "--project", "site/tsconfig.json"); err != nil {
		t.Error(err)
	}
}
