package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/launch"
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
	list := listed(served)
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

// holdRecipe refuses a recipe of another model than the server serves: neither the name
// nor the root that it shows holds the recipe's model id or a repository of it.
func holdRecipe(c *catalog.Catalog, recipe string, srv *server) error {
	id, _, _ := strings.Cut(recipe, "/")
	names := namesOf(c, id)
	for _, shown := range []string{srv.model, srv.root} {
		if shown == "" {
			continue
		}
		if sameModel(shown, names) || slices.ContainsFunc(names, func(n string) bool {
			return strings.Contains(strings.ToLower(shown), strings.ToLower(n))
		}) {
			return nil
		}
	}
	shown := oneLine(srv.model)
	if srv.root != "" && srv.root != srv.model {
		shown += " (root " + oneLine(srv.root) + ")"
	}
	return refuse(exitUsage, "--recipe %s: that recipe is of %s, and the server at %s serves %s; want a recipe of what it serves, or a server whose model's name or root holds one of: %s",
		recipe, id, srv.base.Redacted(), shown, strings.Join(slices.Compact(names), ", "))
}

// withoutServer answers a MODEL that came without a server: the commands that would work.
// devices are those of this host, as far as they are known.
func withoutServer(c *catalog.Catalog, asked string, devices []row.Device) string {
	const base = "http://127.0.0.1:8000"
	var b strings.Builder
	fmt.Fprintf(&b, "MODEL %s without --base-url: want the server that serves it\n", asked)
	fmt.Fprintf(&b, "  measure bench %s --base-url %s\n", launch.Quote(asked), base)
	if _, id := c.ModelByName(asked); id != "" {
		recipes := recipesOf(c, id)
		here, device := onDevices(c, recipes, devices)
		first := ""
		switch {
		case len(here) > 0:
			first = here[0]
			fmt.Fprintf(&b, "or by a recipe, which opens every gate; for %s, which this host has:\n", device)
		case len(recipes) > 0:
			first = recipes[0]
			fmt.Fprintf(&b, "or by a recipe, which opens every gate; no device of this host is known, so choose the one for yours, such as:\n")
		}
		if first != "" {
			r := c.Recipes[first]
			fmt.Fprintf(&b, "  %s\n  measure bench %s --base-url %s --recipe %s\n", launch.For(id, r, launch.Options{Port: defaultPort}).Line(), launch.Quote(asked), base, first)
			if r.Weights.Repository == launch.Random {
				fmt.Fprintf(&b, "  (its weights are random: %s is a folder of the working directory that holds config.json and the tokenizer)\n", id)
			}
			others := slices.DeleteFunc(recipes, func(key string) bool { return key == first })
			for i, key := range others {
				if i == 0 {
					fmt.Fprintln(&b, "other recipes of it:")
				}
				fmt.Fprintf(&b, "  %s\n", key)
			}
		}
	}
	b.WriteString("or without MODEL, the embedded engine, simulated:\n  measure bench")
	return b.String()
}

// onDevices are the recipes whose target these devices make, and the devices' name: as
// many as the target takes, the largest such target first.
func onDevices(c *catalog.Catalog, recipes []string, devices []row.Device) (here []string, name string) {
	most := int64(0)
	for _, key := range recipes {
		t, ok := c.Target(strings.Split(key, "/")[1])
		if !ok || t.Count < most {
			continue
		}
		count := int64(0)
		for _, d := range devices {
			if t.Is(d.Name) {
				count++
			}
		}
		if count < t.Count {
			continue
		}
		if t.Count > most {
			most, here = t.Count, nil
		}
		here, name = append(here, key), t.Device
	}
	return here, name
}

// recipesOf lists a model's recipes, those tuned for one user at a time first.
func recipesOf(c *catalog.Catalog, model string) []string {
	var keys []string
	for key := range c.Recipes {
		if strings.HasPrefix(key, model+"/") {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		late := func(k string) int {
			if strings.Contains(k, "/latency/") {
				return 0
			}
			return 1
		}
		return cmp.Or(late(a)-late(b), strings.Compare(a, b))
	})
	return keys
}

// defaultPort is where the commands that are shown let a server listen.
const defaultPort = 8000
