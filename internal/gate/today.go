package gate

import "rowproof/internal/row"

// Today is what a catalogue says now of a row's recipe, its model and its target, beside
// the copies that the report keeps of them. A copy is the report's own word: whoever writes
// the report can write any roof into it.
type Today struct {
	AsItIs row.AsItWas

	// Differ are the figures that bound the row and stand otherwise in its copy: by name, as
	// the row has them and as the catalogue has them.
	Differ []Compared
}

// mostDiffering is how many figures a sentence names.
const mostDiffering = 3

// Words say where the row's copy differs from the catalogue; "" where it does not.
func (t *Today) Words() string {
	if t == nil || len(t.Differ) == 0 {
		return ""
	}
	text := ""
	for i, d := range t.Differ {
		switch {
		case i == mostDiffering:
			return text + "; and in " + count(int64(len(t.Differ)-i), "other figure")
		case i > 0:
			text += "; "
		}
		text += d.Name + " is " + d.Found + " in the row's copy and " + d.Against + " in the catalogue"
	}
	return text
}
