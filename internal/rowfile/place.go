package rowfile

import (
	"fmt"
	"path"

	"rowproof/internal/row"
)

// Place is where a report stands below data/rows, with forward slashes:
// MODEL/TARGET/STRATEGY/ENGINE/DATE-RUN.json, DATE being the day of measured_at and RUN
// the first 8 digits of its first row's id, so that two hosts never write the same file.
func Place(r *row.Report) (string, error) {
	switch {
	case !ValidRecipe(r.Recipe):
		return "", fmt.Errorf("recipe: expected MODEL/TARGET/STRATEGY/ENGINE, found %q", clip(r.Recipe))
	case !validTime(r.MeasuredAt):
		return "", fmt.Errorf("measured_at: expected a time such as 2026-11-30T18:20:00Z, found %q", clip(r.MeasuredAt))
	case len(r.Rows) == 0 || !idForm.MatchString(r.Rows[0].ID):
		return "", fmt.Errorf("rows[0].id: expected 12 hex digits")
	}
	return path.Join(r.Recipe, r.MeasuredAt[:10]+"-"+r.Rows[0].ID[:8]+".json"), nil
}
