package loadgen

import (
	"sync"
	"sync/atomic"
	"time"
)

// The process's own anchor: Go's monotonic clock is read without a system call, and
// its zero is tied once to the system's, so that stamps of other processes compare.
var (
	anchor     = time.Now()
	anchorMono = anchorAt()
)

func anchorAt() int64 {
	best, width := int64(0), int64(1<<62)
	for range 16 {
		a := time.Since(anchor)
		m := systemMono()
		b := time.Since(anchor)
		if w := int64(b - a); w < width {
			best, width = m-int64(a+b)/2, w
		}
	}
	return best
}

// Now is CLOCK_MONOTONIC in ns.
func Now() int64 { return anchorMono + int64(time.Since(anchor)) }

// wallAndMono reads both clocks, the wall first, a few tens of ns apart.
func wallAndMono() (wall, mono int64) {
	t := time.Now()
	return t.UnixNano(), anchorMono + int64(t.Sub(anchor))
}

// A difference between the clocks that moves by more than this is a step of the wall
// clock. Slewing moves both clocks alike and is none.
const stepNS = 100_000

// An epoch is a stretch of time in which wall − mono is one constant.
type epoch struct{ offset int64 }

// clocks turns the kernel's wall stamps into monotonic ones and counts steps.
type clocks struct {
	cur   atomic.Pointer[epoch]
	steps atomic.Int64
	mu    sync.Mutex
}

func newClocks() *clocks {
	c := new(clocks)
	c.cur.Store(&epoch{tightestOffset()})
	return c
}

func tightestOffset() int64 {
	best, width := int64(0), int64(1<<62)
	for range 9 {
		a := Now()
		wall, _ := wallAndMono()
		b := Now()
		if w := b - a; w < width {
			best, width = wall-(a+b)/2, w
		}
	}
	return best
}

// current returns the epoch that holds now and the monotonic time.
func (c *clocks) current() (*epoch, int64) {
	e := c.cur.Load()
	wall, mono := wallAndMono()
	if d := wall - mono - e.offset; d <= stepNS && d >= -stepNS {
		return e, mono
	}
	// Either a step, or this thread lost the CPU between the two readings.
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.cur.Load()
	o := tightestOffset()
	if d := o - e.offset; d > stepNS || d < -stepNS {
		e = &epoch{o}
		c.cur.Store(e)
		c.steps.Add(1)
	}
	return e, Now()
}
