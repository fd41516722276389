package gate

import (
	"slices"

	"rowproof/internal/row"
)

// givenUp is when a schema was written for the last time, by its number: a row that says
// it is of an older form than its day's is judged as one that withholds the evidence.
var givenUp = []string{"2026-12-03T00:00:00Z"}

// asked says whether the report's schema carries what schema n first did.
func (in *Input) asked(n int) bool {
	number := slices.Index(row.Schemas, in.Report.Schema) + 1
	return number == 0 || number >= n || in.Report.MeasuredAt >= givenUp[number-1]
}
