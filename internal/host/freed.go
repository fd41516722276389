package host

import (
	"context"
	"reflect"
	"time"

	"rowproof/internal/row"
)

const (
	freedWithin = 30 * time.Second
	stillAfter  = 3 // readings that do not differ
)

var betweenReadings = time.Second // tests take less

// Freed reads the devices' memory before a launch, of a host whose last server may have ended a moment ago: a driver
// gives its memory back after the process is gone, and an engine that starts meanwhile takes
// what is free for all there is. It waits while memory in use grows less.
func Freed(ctx context.Context) *row.BeforeLaunch { return thisMachine().freed(ctx) }

func (m *machine) freed(ctx context.Context) *row.BeforeLaunch {
	b := m.beforeLaunch(ctx)
	for began, still := time.Now(), 1; busy(b) && still < stillAfter && time.Since(began) < freedWithin; still++ {
		select {
		case <-ctx.Done():
			return b
		case <-time.After(betweenReadings):
		}
		next := m.beforeLaunch(ctx)
		if !reflect.DeepEqual(next.Devices, b.Devices) {
			still = 0
		}
		b = next
	}
	return b
}

// busy says whether more of a device's memory is in use than an idle driver's.
func busy(b *row.BeforeLaunch) bool {
	for i := range b.Devices {
		if used := b.Devices[i].MemoryUsed; used != nil && *used > row.IdleBytes {
			return true
		}
	}
	return false
}
