package main

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Of a wheel only the parts are taken, and none may be missing.
func TestPartsOfAWheel(t *testing.T) {
	wheel := filepath.Join(t.TempDir(), "a.whl")
	f, err := os.Create(wheel)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"a/bench/one.py", "a/bench/deep/two.py", "a/core.py", "a/bench/_x.cpython-311.so", "a/../../b/one.py"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	p := peer{wheel: "a==1", parts: []string{"a/bench/*.py", "a/bench/_x.*.so", "a/../../b/*.py"}}
	if err := p.take(wheel, filepath.Join(dir, "to")); err == nil || !strings.Contains(err.Error(), "a==1 holds no a/../../b/*.py") {
		t.Errorf("%v, want a refusal of the part outside", err)
	}
	p.parts = p.parts[:2]
	if err := p.take(wheel, filepath.Join(dir, "to")); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, dir))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/to/a/bench/_x.cpython-311.so", "/to/a/bench/one.py"}; !slices.Equal(got, want) {
		t.Errorf("taken %q, want %q", got, want)
	}
}

// Each list names its package at the version that the table prints, and every line one
// version of one package.
func TestPins(t *testing.T) {
	lists, err := fs.Glob(files, "pins/*.txt")
	if err != nil || len(lists) != 4 {
		t.Fatalf("%q, %v", lists, err)
	}
	for _, l := range lists {
		text, err := files.ReadFile(l)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, version, ok := strings.Cut(strings.TrimSpace(line), "==")
			if !ok || name == "" || version == "" || strings.ContainsAny(line, "/@; ") {
				t.Errorf("%s: %q, want name==version", l, line)
			}
		}
		for _, c := range clients {
			if l == "pins/"+c.name+".txt" && (c.name == "aiperf" || c.name == "guidellm") && !strings.Contains(string(text), c.name+"=="+c.version+"\n") {
				t.Errorf("%s does not hold %s", l, c)
			}
		}
	}
}
