//go:build linux || darwin

package loadgen

import (
	"os"

	"golang.org/x/sys/unix"
)

// raiseDescriptors makes room for n file descriptors where that is allowed, and returns
// how many this process may have; 0 where that is not known.
func raiseDescriptors(n int) int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	if l.Cur >= uint64(n) {
		return n
	}
	// Go has raised the soft limit to the hard one already; a privileged process may
	// raise that as well.
	for _, hard := range []uint64{l.Max, max(l.Max, uint64(n))} {
		raised := unix.Rlimit{Cur: min(hard, uint64(n)), Max: hard}
		if raised.Cur > l.Cur && unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
			l.Cur = raised.Cur
		}
	}
	return int(l.Cur)
}

// openDescriptors counts those that are in use.
func openDescriptors() int {
	d, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 3
	}
	return len(d)
}
