package render

import (
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// statedView is what another tool says of a row that it measured; nil of a row of ours.
type statedView struct {
	Tool, Clock string
	Own         bool // the page's own figures are computed from its requests
	Lines       []statedLine
}

type statedLine struct{ Name, Text, Unit, Figure, Means string }

func stated(m *measured) *statedView {
	i := m.Import
	if i == nil {
		return nil
	}
	v := &statedView{Tool: toolOf(i), Clock: i.Clock, Own: m.Proof.Samples != nil}
	for _, s := range i.Stated {
		v.Lines = append(v.Lines, statedLine{s.Name, s.Text, s.Unit, s.Figure, s.Means})
	}
	return v
}

func toolOf(i *row.Import) string { return strings.TrimSpace(i.Tool + " " + i.Version) }

// imported is the verdict of a row of another tool.
func imported(m *measured) sentence {
	said := sentence{strong("Imported"), say(" from a file of " + toolOf(m.Import) + ", " + format.Date(m.Report.MeasuredAt))}
	if m.Proof.Samples == nil {
		return append(said, say(", as it printed it. Without its requests it cannot be verified."))
	}
	return append(said, say(". Its figures are computed from its requests; what its file does not say cannot be judged, so it is in no ranking."))
}
