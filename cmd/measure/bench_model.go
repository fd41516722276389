package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// namesOf are all names a model goes by: what was asked for, and, where the catalogue
// knows it, its id, name and repositories.
func namesOf(c *catalog.Catalog, asked string) []string {
	names := []string{asked}
	if m, id := c.ModelByName(asked); m != nil {
		names = append(append(names, id, m.Name), m.Repositories...)
	}
	return names
}

// sameModel says whether a server's id is one of the names. A server may show a path;
// its last part is then the name.
func sameModel(served string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return strings.EqualFold(served, n) || strings.EqualFold(path.Base(served), path.Base(n))
	})
}

// chooseModel picks the id to put into requests out of those that the server shows.
func chooseModel(c *catalog.Catalog, asked string, served []string) (string, error) {
	list := strings.Join(served, ", ")
	switch {
	case len(served) == 0:
		return "", fmt.Errorf("the server serves no model; load one, or name another server with --base-url")
	case asked == "" && len(served) == 1:
		return served[0], nil
	case asked == "":
		return "", fmt.Errorf("no MODEL, and the server serves several; want one of: %s", list)
	}
	if slices.Contains(served, asked) {
		return asked, nil
	}
	names := namesOf(c, asked)
	var found []string
	for _, id := range served {
		if sameModel(id, names) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("MODEL %s: the server does not serve it; want one of: %s", asked, list)
	}
	return found[0], nil
}

// knownModel is the catalogue's entry for what a server serves, or nil.
func knownModel(c *catalog.Catalog, served string) *roofline.Model {
	if m, _ := c.ModelByName(served); m != nil {
		return m
	}
	m, _ := c.ModelByName(path.Base(served))
	return m
}

// withoutServer answers a MODEL that came without a server: the commands that would work.
func withoutServer(c *catalog.Catalog, asked string) string {
	const base = "http://127.0.0.1:8000"
	var b strings.Builder
	fmt.Fprintf(&b, "MODEL %s without --base-url: want the server that serves it\n", asked)
	m, id := c.ModelByName(asked)
	if m == nil {
		fmt.Fprintf(&b, "  measure bench %s --base-url %s\n", asked, base)
	} else {
		known := false
		for _, key := range slices.Sorted(maps.Keys(c.Recipes)) {
			if !strings.HasPrefix(key, id+"/") {
				continue
			}
			known = true
			fmt.Fprintf(&b, "  start it:   %s\n  measure it: measure bench %s --base-url %s --recipe %s\n",
				launchLine(id, c.Recipes[key]), asked, base, key)
		}
		if !known {
			fmt.Fprintf(&b, "  measure bench %s --base-url %s\n", asked, base)
		}
	}
	b.WriteString("  measure bench   (no MODEL: the embedded engine, simulated)")
	return b.String()
}

// launchLine is a recipe's own command on one line of shell.
func launchLine(modelID string, r *row.Recipe) string {
	var words []string
	for name, val := range r.Env {
		words = append(words, name+"="+shellQuote(val))
	}
	slices.Sort(words)
	for _, w := range r.Launch {
		switch w {
		case "{flags}":
			for _, f := range r.Flags {
				words = append(words, shellQuote(f))
			}
		default:
			weights := r.Weights.Repository
			if weights == "random" {
				weights = modelID // a folder of config and tokenizer in the working directory
			}
			w = strings.NewReplacer("{weights}", weights, "{port}", "8000").Replace(w)
			words = append(words, shellQuote(w))
		}
	}
	return strings.Join(words, " ")
}

// shellQuote writes a word so that a POSIX shell reads it back unchanged.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune("\"'`$\\|&;<>()*?[]{}~#!", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
