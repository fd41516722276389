package host

import (
	"context"
	"testing"
	"time"
)

// What an ended server held is waited for until it is free, and what stays is another's.
func TestFreedWaitsWhileMemoryIsGivenBack(t *testing.T) {
	betweenReadings = time.Millisecond
	defer func() { betweenReadings = time.Second }()
	for name, c := range map[string]struct {
		used []string // by reading, the last one for good
		want int64    // MiB in the end
		asks int
	}{
		"nothing in use":     {[]string{"4 MiB"}, 4, 1},
		"given back":         {[]string{"90000 MiB", "60000 MiB", "60000 MiB", "5 MiB"}, 5, 4},
		"another's, at rest": {[]string{"90000 MiB", "60000 MiB"}, 60000, 4},
	} {
		t.Run(name, func(t *testing.T) {
			d := loadDevices(t, "testdata/h200.json")
			useSMI(t, d)
			m := thisMachine()
			asks, real := 0, m.run
			m.run = func(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
				d.GPUs[0]["memory.used"] = c.used[min(asks, len(c.used)-1)]
				asks++
				useSMI(t, d)
				return real(ctx, dir, env, program, args...)
			}
			b := m.freed(context.Background())
			if used := b.Of(0); used == nil || *used != c.want<<20 || asks != c.asks {
				t.Errorf("after %d readings %s; want %d MiB after %d", asks, asJSON(t, b), c.want, c.asks)
			}
		})
	}
}
