package simulator

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWaitBitset = 9
	futexWake       = 1
	futexPrivate    = 128
	futexAnyBit     = 0xffffffff
)

// alarm lets one thread sleep until an absolute time of CLOCK_MONOTONIC and another
// wake it before. It is a futex, because of all timed waits only that one takes an
// absolute time, honours the thread's timer slack, and can be woken.
type alarm struct {
	rung atomic.Uint32
}

func newAlarm() *alarm { return &alarm{} }

// own locks the calling goroutine to its thread and asks the kernel for exact timers
// and, where the process may, for a place before all ordinary threads. What is refused
// shows in the lateness.
func (a *alarm) own() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	if severalCores() {
		// New threads that the runtime makes from this one are not to inherit its place.
		_ = realtime(0, unix.SCHED_FIFO, 2, unix.SCHED_FLAG_RESET_ON_FORK)
	}
}

// severalCores says whether threads may be placed before all ordinary ones without harm. On
// one core they would keep it from everybody else, the client among them, and one that
// spins until another of the process has run would do so for ever.
var severalCores = sync.OnceValue(func() bool {
	var set unix.CPUSet
	return unix.SchedGetaffinity(0, &set) == nil && set.Count() > 1
})

// longestHold is for how long, in µs, a thread before all ordinary ones may keep its core
// without once waiting; the kernel ends a process that goes on. A timetable that cannot
// be kept is over by then, and what is not over would hold up the host for good.
const longestHold = 10_000_000

// Prefer places this process's threads before all ordinary ones, where it may: beside a
// busy loop on each core the timetable is otherwise tens of milliseconds late, because
// its thread waits for others of the process that wait for a core. They take turns
// (SCHED_RR): Go's runtime spins while it waits for a thread, and where nobody yields
// two such processes on two cores spin for ever. It is meant for a process that does
// nothing but serve.
func Prefer() {
	if !severalCores() {
		return
	}
	_ = unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: longestHold, Max: longestHold})
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = realtime(id, unix.SCHED_RR, 1, 0) // threads made later inherit it
		}
	}
}

func realtime(thread int, policy, priority uint32, flags uint64) error {
	return unix.SchedSetAttr(thread, &unix.SchedAttr{
		Size:     unix.SizeofSchedAttr,
		Policy:   policy,
		Priority: priority,
		Flags:    flags,
	}, 0)
}

// wait sleeps until the time at, or until ring; at < 0 is for ever.
func (a *alarm) wait(at int64) {
	if a.rung.Swap(0) != 0 {
		return
	}
	var ts *unix.Timespec
	if at >= 0 {
		t := unix.NsecToTimespec(at)
		ts = &t
	}
	// An early return (a signal, a ring) is no fault: the caller looks at the clock.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.rung)),
		futexWaitBitset|futexPrivate, 0, uintptr(unsafe.Pointer(ts)), 0, futexAnyBit)
	a.rung.Store(0)
}

// ring ends the present wait, or the next one.
func (a *alarm) ring() {
	if a.rung.Swap(1) == 0 {
		_, _, _ = unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.rung)), futexWake|futexPrivate, 1)
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
