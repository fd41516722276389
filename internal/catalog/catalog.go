// Package catalog reads the catalogue: models, targets, strategies and recipes, each a
// YAML file that a person wrote. It reports every problem of every file at once, each
// with file, line and column, what was found and what would be accepted; it checks the
// files against each other and published figures against computed ones; and it hands
// text on letter for letter, so that a version 0.10 is never 0.1.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Catalog is all that is known before anything is measured. Keys are ids: file names
// without .yaml, and MODEL/TARGET/STRATEGY/ENGINE for recipes.
type Catalog struct {
	Models     map[string]*roofline.Model
	Targets    map[string]*roofline.Target // those with a file, and each -xN that a recipe names
	Strategies map[string]*row.Strategy
	Recipes    map[string]*row.Recipe
}

// Problem is one thing wrong with one file.
type Problem struct {
	File      string // from the folder that holds data/: "data/models/x.yaml"
	Line, Col int    // from 1, columns in characters
	Text      string
}

func (p Problem) String() string {
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col) + ": " + p.Text
}

// Load reads the catalogue from a file system that holds models/, targets/, strategies/
// and cells/. With problems the catalogue holds what could be read.
func Load(fsys fs.FS) (*Catalog, []Problem) {
	l := &loader{fsys: fsys, c: &Catalog{
		Models: map[string]*roofline.Model{}, Targets: map[string]*roofline.Target{},
		Strategies: map[string]*row.Strategy{}, Recipes: map[string]*row.Recipe{},
	}}
	names := map[string]string{}
	l.folder("models", 1, func(ids []string, f *file, data []byte) { l.c.Models[ids[0]] = readModel(f, data, names) })
	l.folder("targets", 1, func(ids []string, f *file, data []byte) { l.c.Targets[ids[0]] = readTarget(f, data, ids[0]) })
	l.folder("strategies", 1, func(ids []string, f *file, data []byte) { l.c.Strategies[ids[0]] = readStrategy(f, data) })
	l.folder("cells", 4, func(ids []string, f *file, data []byte) {
		l.c.Recipes[strings.Join(ids, "/")] = l.readCell(ids, f, data)
	})
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return l.c, l.problems
}

type loader struct {
	fsys     fs.FS
	c        *Catalog
	problems []Problem
}

func (l *loader) problem(name, format string, args ...any) {
	l.problems = append(l.problems, Problem{"data/" + name, 1, 1, fmt.Sprintf(format, args...)})
}

// folder reads each YAML file that lies depth levels below a folder.
func (l *loader) folder(root string, depth int, read func(ids []string, f *file, data []byte)) {
	found := 0
	err := fs.WalkDir(l.fsys, root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == root {
			return fs.SkipAll
		}
		if err != nil {
			l.problem(name, "cannot be read: %v", err)
			return nil
		}
		if d.IsDir() {
			return nil
		}
		ids := strings.Split(strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".yaml"), "/")
		if path.Ext(name) != ".yaml" {
			l.problem(name, "not a .yaml file; %s/ holds nothing else", root)
			return nil
		}
		if len(ids) != depth {
			l.problem(name, "lies at the wrong depth; %s is accepted", shape(root))
			return nil
		}
		for _, id := range ids {
			if !ValidID(id) {
				l.problem(name, "id %q: small letters, digits, dots and hyphens are accepted, beginning with a letter or digit, no two dots together", id)
				return nil
			}
		}
		data, err := fs.ReadFile(l.fsys, name)
		if err != nil {
			l.problem(name, "cannot be read: %v", err)
			return nil
		}
		found++
		read(ids, &file{name: "data/" + name, problems: &l.problems}, data)
		return nil
	})
	if err == nil && found == 0 {
		l.problem(root, "holds no file; at least one %s is needed", shape(root))
	}
}

func shape(root string) string {
	if root == "cells" {
		return "cells/MODEL/TARGET/STRATEGY/ENGINE.yaml"
	}
	return root + "/ID.yaml"
}

var id = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// ValidID says whether a text can name a model, target, strategy or engine: it is safe
// as a file name and in an address.
func ValidID(s string) bool {
	return id.MatchString(s) && !strings.Contains(s, "..") && len(s) <= 100
}

var times = regexp.MustCompile(`^(.+)-x([1-9][0-9]{0,5})$`)

// Target finds a target by id. ID-xN stands for N devices of a target that has no file
// of its own for so many.
func (c *Catalog) Target(id string) (*roofline.Target, bool) {
	if t, ok := c.Targets[id]; ok {
		return t, true
	}
	part := times.FindStringSubmatch(id)
	if part == nil {
		return nil, false
	}
	base, ok := c.Targets[part[1]]
	if !ok || base.Count != 1 {
		return nil, false
	}
	n, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil || n < 2 {
		return nil, false
	}
	t := *base
	t.Count = n
	t.Name = part[2] + "× " + base.Name
	return &t, true
}

// several is a count before a device's name, as answers print it: "8× H200 SXM".
var several = regexp.MustCompile(`^([1-9][0-9]{0,5}) ?[×x] ?(.+)$`)

// TargetByName finds a target by its id, its name or what the device's own tool calls it,
// letter case aside, with how many before or after it: "8× H200 SXM", "nvidia h200-x8". It
// answers the id too, and nil and "" where there is none or several go by the name.
func (c *Catalog) TargetByName(name string) (*roofline.Target, string) {
	if t, ok := c.Target(name); ok {
		return t, name
	}
	if id := c.called(name); id != "" {
		return c.Targets[id], id
	}
	name = strings.ToLower(name)
	count := "1"
	if part := times.FindStringSubmatch(name); part != nil {
		name, count = part[1], part[2]
	} else if part := several.FindStringSubmatch(name); part != nil {
		count, name = part[1], part[2]
	}
	id := c.called(name)
	if id != "" && count != "1" {
		id += "-x" + count
	}
	if t, ok := c.Target(id); ok {
		return t, id
	}
	return nil, ""
}

// called is the id of the one target of a name, "" where there is none or several are. An
// id says it alone; a device's own name is that of one device.
func (c *Catalog) called(name string) string {
	if id := strings.ToLower(name); c.Targets[id] != nil {
		return id
	}
	found := ""
	for id, t := range c.Targets {
		is := func(n string) bool { return n != "" && strings.EqualFold(n, name) }
		if !is(t.Name) && !(t.Count == 1 && (is(t.Device) || slices.ContainsFunc(t.Also, is))) {
			continue
		}
		if found != "" {
			return ""
		}
		found = id
	}
	return found
}

// ModelByName finds a model by its id, its name or one of its repositories, letter case
// aside. It answers nil and "" when there is none.
func (c *Catalog) ModelByName(name string) (*roofline.Model, string) {
	if m, ok := c.Models[name]; ok {
		return m, name
	}
	for _, id := range slices.Sorted(maps.Keys(c.Models)) {
		m := c.Models[id]
		if strings.EqualFold(id, name) || strings.EqualFold(m.Name, name) ||
			slices.ContainsFunc(m.Repositories, func(r string) bool { return strings.EqualFold(r, name) }) {
			return m, id
		}
	}
	return nil, ""
}
