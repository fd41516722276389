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

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// noName says that a name is none of there, and which are like it: those that it is a
// part of, else those that are spelt most like it. Of a repository its last part counts.
func noName(name string, there []string) string {
	like := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	nearestFirst(like, there)
	near := there[:min(mostNear, len(there))]
	if n := slices.IndexFunc(near, func(t string) bool { return !strings.Contains(t, like) }); n > 0 {
		near = near[:n]
	}
	return name + " is not known; nearest: " + strings.Join(near, ", ")
}
