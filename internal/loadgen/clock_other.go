//go:build !linux && !darwin

package loadgen

import "time"

// systemMono has no system clock to tie to: stamps compare within this process only.
func systemMono() int64 { return int64(time.Since(anchor)) }
