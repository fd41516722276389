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
