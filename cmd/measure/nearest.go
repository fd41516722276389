package main

import (
	"slices"

	"github.com/spf13/pflag"
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
	nearestFirst(name, names)
	if len(names) == 0 || distance(name, names[0]) > max(1, (len(name)+1)/3) {
		return ""
	}
	return "--" + names[0] + " may be meant; "
}

// nearestFirst sorts names by how like one they are.
func nearestFirst(name string, names []string) {
	slices.SortStableFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
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
