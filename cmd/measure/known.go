package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// openCatalog reads the catalogue of a checkout, or the one in this binary.
func openCatalog(root string) (*catalog.Catalog, []string) {
	var fsys fs.FS = data.FS
	if root != "" {
		fsys = os.DirFS(filepath.Join(root, "data"))
	}
	known, problems := catalog.Load(fsys)
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = filepath.Join(root, p.String())
	}
	return known, lines
}

// todayOf holds a report's own copies of recipe, model and target against the catalogue.
func todayOf(known *catalog.Catalog, r *row.Report) *gate.Today {
	recipe, model, target := known.Today(r.Recipe)
	return rowfile.Today(r.AsItWas, recipe, model, target)
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// noName says that a name is none of there, and which are like it: those that it is a
// part of, else those that begin as it does, else those that are spelt most like it. Of a
// repository its last part counts.
func noName(name string, there []string) string {
	like := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if len(there) == 0 {
		return name + " is not known; there are none"
	}
	nearestFirst(like, there)
	if !strings.Contains(there[0], like) {
		slices.SortStableFunc(there, func(a, b string) int { return begins(b, like) - begins(a, like) })
	}
	near := there[:min(mostNear, len(there))]
	if n := slices.IndexFunc(near, func(t string) bool { return !strings.Contains(t, like) }); n > 0 {
		near = near[:n]
	}
	return name + " is not known; nearest: " + strings.Join(near, ", ")
}

// begins is how many letters two names begin with alike.
func begins(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
