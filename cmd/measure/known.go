package main

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

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

// modelNames are the names of every model besides its id, by that.
func modelNames(known *catalog.Catalog) map[string][]string {
	names := map[string][]string{}
	for id, m := range known.Models {
		names[id] = append([]string{m.Name}, m.Repositories...)
	}
	return names
}

// noDevice is noName for a device, or so many of one.
func noDevice(known *catalog.Catalog, name string) string {
	names := map[string][]string{}
	for _, id := range devices(known) {
		t := known.Targets[id]
		names[id] = append([]string{t.Name, t.Device}, t.Also...)
	}
	one, times := name, ""
	if i := strings.LastIndex(strings.ToLower(name), "-x"); i > 0 {
		if n, ok := parseWhole(name[i+2:]); ok && n > 1 {
			one, times = name[:i], strings.ToLower(name[i:])
		}
	}
	return unknown(name, one, times, names)
}

// noName says that a name is none of there, and which are like it. there holds, by id, what
// else each is called.
func noName(name string, there map[string][]string) string { return unknown(name, name, "", there) }

func unknown(name, like, after string, there map[string][]string) string {
	if len(there) == 0 {
		return name + " is not known; there are none"
	}
	near := alike(like, there)
	for i := range near {
		near[i] += after
	}
	return name + " is not known; nearest: " + strings.Join(near, ", ")
}

// alike are the ids of what is called most like a name: where it is a part of names, only
// those; then what shares the most of its words; then what begins as it does or is spelt
// most like it. Of a repository its last part counts.
func alike(name string, there map[string][]string) []string {
	type candidate struct {
		id     string
		part   bool
		shared float64 // of the words of both, by letters
		begins int
		far    int
	}
	last := func(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, '/')+1:]) }
	like := last(name)
	words, run := wordsOf(like), strings.Join(wordsOf(like), "")
	var list []candidate
	for _, id := range sortedKeys(there) {
		c := candidate{id: id, begins: begins(id, like), far: distance(id, like)}
		for _, n := range append([]string{id}, there[id]...) {
			w := wordsOf(last(n))
			c.part = c.part || run != "" && strings.Contains(strings.Join(w, ""), run)
			c.shared = max(c.shared, shared(words, w))
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		if a.part != b.part {
			if a.part {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.shared, a.shared), b.begins-a.begins, a.far-b.far)
	})
	near := list[:min(mostNear, len(list))]
	if n := slices.IndexFunc(near, func(c candidate) bool { return !c.part }); n > 0 {
		near = near[:n]
	}
	ids := make([]string, len(near))
	for i, c := range near {
		ids[i] = c.id
	}
	return ids
}

// wordsOf parts a name where its letters or digits end, and before a number: "qwen", "3",
// "235b" of "qwen3-235b".
func wordsOf(name string) []string {
	var words []string
	before := ' '
	for _, r := range name {
		number := unicode.IsDigit(r) || r == '.'
		if number || unicode.IsLetter(r) {
			if len(words) == 0 || before == ' ' || number && unicode.IsLetter(before) {
				words = append(words, "")
			}
			words[len(words)-1] += string(r)
			before = r
		} else {
			before = ' '
		}
	}
	return words
}

// shared is how much of two names' words is in both, from 0 to 1.
func shared(a, b []string) float64 {
	both, all := 0, 0
	for _, w := range a {
		all += len(w)
		if slices.Contains(b, w) {
			both += 2 * len(w)
		}
	}
	for _, w := range b {
		all += len(w)
	}
	return float64(both) / float64(max(1, all))
}

// begins is how many letters two names begin with alike.
func begins(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
