//go:build linux || darwin

package loadgen

import "golang.org/x/sys/unix"

func systemMono() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("loadgen: no monotonic clock: " + err.Error())
	}
	return ts.Nano()
}

// cpuTime is the processor time that this process has taken, in ns.
func cpuTime() int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
