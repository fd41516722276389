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

// anotherTarget says that the row's copy is of another device than its recipe's target, or
// of another number of them; "" where it is not. A device that only goes by another name now
// has the bandwidth that it had.
func (t *Today) anotherTarget() string {
	if t == nil {
		return ""
	}
	var named, other *Compared
	for i := range t.Differ {
		switch d := &t.Differ[i]; {
		case d.Name == "target.count":
			named, other = d, d
		case d.Name == "target.device":
			named = d
		case d.Name == "target.bandwidth_gb_s":
			other = d
		}
	}
	if named == nil || other == nil {
		return ""
	}
	return named.Name + " is " + named.Found + " in the row's copy and " + named.Against + " in the catalogue: the row is of another target than its recipe's"
}
