package loadgen

import "golang.org/x/sys/unix"

// goFirst places this thread before all ordinary ones, where that is allowed. Threads
// that the runtime makes from it do not inherit its place.
func goFirst() bool {
	return unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}, 0) == nil
}

// goSoon asks for short turns, which the scheduler lets begin soon after a thread wakes
// (Linux 6.12; earlier ones ignore it).
func goSoon() {
	const turn = 100_000 // ns, the shortest there is
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL {
		return
	}
	a.Runtime = turn
	_ = unix.SchedSetAttr(0, a, 0)
}
