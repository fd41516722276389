package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rowproof/internal/catalog"
)

// nearestFlag is "--NAME may be meant; " for the flag whose name is like one that there
// is not, or "". Names in but are no flags.
func nearestFlag(fs *pflag.FlagSet, name string, but []string) string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(but, f.Name) {
			names = append(names, f.Name)
		}
	})
	return mayBe("--", name, names)
}

// mayBe is "NAME may be meant; " for the one of names that name is a part of, or is spelt
// like, or "".
func mayBe(before, name string, names []string) string {
	nearestFirst(name, names)
	if len(names) == 0 || distance(name, names[0]) > max(1, (len(name)+1)/3) && (len(name) < 3 || !strings.Contains(names[0], name)) {
		return ""
	}
	return before + names[0] + " may be meant; "
}

// nearestFirst sorts names by how like one they are: those that it is a part of come before
// those that it must be changed for.
func nearestFirst(name string, names []string) {
	far := func(n string) int {
		if !strings.Contains(n, name) {
			return distance(name, n) + 1000
		}
		return distance(name, n)
	}
	slices.SortStableFunc(names, func(a, b string) int { return far(a) - far(b) })
}

// mostNear names are shown of those that are like one that there is not.
const mostNear = 5

// noRecipe says which recipes are like one that there is not.
func noRecipe(known *catalog.Catalog, recipe string) string {
	return "no recipe " + plain(recipe) + "; there are, " + nearRecipes(recipe, sortedKeys(known.Recipes))
}

// nearRecipes are those of there that are like one that there is not.
func nearRecipes(recipe string, there []string) string {
	nearestFirst(recipe, there)
	text := "nearest first:" + below + strings.Join(there[:min(mostNear, len(there))], below)
	if more := len(there) - mostNear; more > 0 {
		text += fmt.Sprintf("%sand %d more; measure launch --list prints all", below, more)
	}
	return text
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	d := make([]int, len(b)+1)
	for j := range d {
		d[j] = j
	}
	for i := range len(a) {
		before := d[0]
		d[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = d[j+1]
			d[j+1] = min(cost, before+1, d[j]+1)
		}
	}
	return d[len(b)]
}
