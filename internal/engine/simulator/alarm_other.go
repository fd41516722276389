//go:build !linux

package simulator

import (
	"time"

	"golang.org/x/sys/unix"
)

// alarm lets one goroutine sleep until an absolute time and another wake it before.
// Elsewhere than on Linux it is as late as the runtime's timers, which the lateness
// figures show.
type alarm struct {
	rung chan struct{}
}

func newAlarm() *alarm { return &alarm{rung: make(chan struct{}, 1)} }

// own is where Linux claims a thread; here there is nothing to claim.
func (a *alarm) own() {}

// Prefer does something on Linux only.
func Prefer() {}

// wait sleeps until the time at, or until ring; at < 0 is for ever.
func (a *alarm) wait(at int64) {
	if at < 0 {
		<-a.rung
		return
	}
	t := time.NewTimer(time.Duration(at - now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.rung:
	}
}

// ring ends the present wait, or the next one.
func (a *alarm) ring() {
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

// now reads CLOCK_MONOTONIC in nanoseconds.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("no CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}
