package chart

import "strings"

// weight is that of a text, as it changes its width.
type weight int

const (
	regular weight = iota
	bold
)

// classes of characters by their width in DejaVu Sans, regular and bold, in thousandths
// of the size. It is the widest font of the site's stack, so that what keeps apart here
// keeps apart everywhere; no font can be measured while the site is built.
var classes = []struct {
	runes string
	wide  [2]float64
}{
	{"\u2060", [2]float64{}}, // joins words and shows nothing
	{"ijl'|", [2]float64{278, 343}},
	{" .,:;·/()[]!", [2]float64{345, 390}},
	{"ftrI-", [2]float64{411, 493}},
	{"mwMW%@", [2]float64{960, 1104}},
	{"↑↓→←×÷−≤≥=+<>", [2]float64{838, 838}},
	{"0123456789", [2]float64{636, 696}},
	{"abcdeghknopqsuvxyz", [2]float64{634, 716}},
}

// width is how wide a text may be, in px.
func width(s string, w weight) float64 {
	total := 0.0
	for _, r := range s {
		each := [2]float64{780, 840} // capitals and the rest
		for _, c := range classes {
			if strings.ContainsRune(c.runes, r) {
				each = c.wide
				break
			}
		}
		total += each[w]
	}
	return total * textPx / 1000
}

// wrap breaks s at spaces into lines of at most limit px; a longer word stands alone.
func wrap(s string, limit float64, w weight) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && width(line+" "+word, w) > limit {
			lines = append(lines, line)
			line = word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
