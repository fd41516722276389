//go:build !linux

package loadgen

import "errors"

// ring exists on Linux only.
type ring struct{ drops int64 }

func openRing(uint16, int, *clocks) (*ring, error) {
	return nil, errors.New("packet rings exist on Linux only")
}

func (*ring) close() {}

func (*ring) flow(*sighting) *flow { return nil }
