package host

import (
	"context"

	"rowproof/internal/row"
)

// Receipt reads the host and the server once, before the first row. The evidence is
// the run's own line (Row = -1): the process as found, what the tools printed, and why
// a reading is missing. The caller sets its Zero.
func Receipt(ctx context.Context, ref ServerRef) (row.Receipt, row.Evidence) {
	return row.Receipt{Unread: map[string]string{}}, row.Evidence{Row: -1}
}
