//go:build !linux

package loadgen

import "errors"

// ring exists on Linux only.
type ring struct {
	clocks *clocks
	key    struct{ blocks int }
}

func takeRing(uint16, int) (*ring, error) {
	return nil, errors.New("packet rings exist on Linux only")
}

func (*ring) giveBack() {}

func (*ring) stats() int64 { return 0 }

func (*ring) settle([]*conn) {}

func (*ring) sees([]*conn) bool { return false }

func (*ring) flow(*conn) ([]segment, bool) { return nil, false }

func (*ring) mostFilled() int64 { return 0 }
