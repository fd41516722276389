//go:build !linux && !darwin

package loadgen

import "time"

// systemMono has no system clock to tie to: stamps compare within this process only.
func systemMono() int64 { return int64(time.Since(anchor)) }

// cpuTime is not to be had here: 0 is not published.
func cpuTime() int64 { return 0 }
