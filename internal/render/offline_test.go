package render

import (
	"path/filepath"
	"strings"
	"testing"
)

// A second build over the first, of input in which only what the explorer does not show
// has changed, puts the same explorer into the file.
func TestOfflineFileOfASecondBuild(t *testing.T) {
	root := newRoot(t)
	addReport(t, root, 1, another())
	out := filepath.Join(t.TempDir(), "out")
	change := func(o *Options) { o.Out = out }
	if _, _, err := build(t, root, change); err != nil {
		t.Fatal(err)
	}
	first := read(t, out, offlineFile)
	write(t, root, "content/other-tools.md", read(t, root, "content/other-tools.md")+"\nOne more line.\n")
	if _, _, err := build(t, root, change); err != nil {
		t.Fatal(err)
	}
	if second := read(t, out, offlineFile); second != first {
		t.Error("the file changed with a page that is not in it")
	}
	// Nothing in it is loaded from elsewhere.
	for _, load := range []string{` src="`, `<link rel="stylesheet"`, `@import`, `url(http`} {
		if strings.Contains(first, load) {
			t.Errorf("the file holds %q", load)
		}
	}
}
