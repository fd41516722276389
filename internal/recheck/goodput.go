package recheck

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Good is how many of a row's requests met every one of a reader's limits.
type Good struct {
	ID       string        `json:"id"`
	PerSec   *float64      `json:"request_s"` // null with the reason
	Interval *row.Interval `json:"interval"`  // from two repeats on
	Missing  string        `json:"missing"`
	Met      int64         `json:"met"`
	Of       int64         `json:"of"`
	Untold   int64         `json:"untold"` // of those, without what a limit asks for
}

// Goodput counts them in row i of a report, from its samples; limits are as --slo writes
// them. Samples that are not the row's own count nothing.
func Goodput(fsys fs.FS, file string, i int, limits string) (*Good, error) {
	asked, wrong := row.ParseLimits(limits)
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	b, err := rowfile.LoadFS(fsys, file)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(b.Rows) {
		return nil, fmt.Errorf("%s: row %d was asked for, and it has %d", path.Base(file), i, len(b.Rows))
	}
	d := &b.Rows[i]
	switch {
	case d.Samples == nil:
		return nil, fmt.Errorf("row %s: %s", d.Row.ID, d.NoSamples)
	case d.Row.Proof.Samples == nil || *d.Row.Proof.Samples != d.SamplesSHA256:
		return nil, fmt.Errorf("row %s: its samples are not those that it was made from", d.Row.ID)
	}
	g := row.Goodput(&d.Row.Workload, d.Samples, asked)
	return &Good{d.Row.ID, g.PerSec, g.Interval, g.Missing, g.Met, g.Of, g.Untold}, nil
}
