package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervise runs a command and writes to its first argument what the command and every
// process below it took: orphans too, which come to this process to be waited for.
func supervise(args []string) int {
	told, args := args[0], args[1:]
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintf(os.Stderr, "supervise: %v\n", err)
		return 1
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, os.Interrupt)
	began := time.Now()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// Its own group: what signals the supervisor is not the client's to answer.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "supervise: %v\n", err)
		return 1
	}
	var u usage
	type end struct {
		status unix.WaitStatus
		wall   time.Duration
	}
	all := make(chan end, 1)
	go func() {
		var e end
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, 0, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil { // no child is left
				all <- e
				return
			}
			if pid == cmd.Process.Pid {
				e = end{status, time.Since(began)}
			}
		}
	}()
	still := make(chan os.Signal, 1)
	signal.Notify(still, syscall.SIGUSR1)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var e end
	for n, waiting := 0, true; waiting; n++ {
		select {
		case e = <-all:
			waiting = false
		case <-ended:
			send(below(os.Getpid()), syscall.SIGKILL)
		case <-still:
			tree := below(os.Getpid())
			send(tree, syscall.SIGSTOP)
			time.Sleep(standstill)
			send(tree, syscall.SIGCONT)
		case <-tick.C:
			tree := below(os.Getpid())
			var cpu float64
			for _, pid := range tree {
				cpu += cpuOf(pid)
			}
			if last := len(u.Samples) - 1; last >= 0 {
				cpu = max(cpu, u.Samples[last].CPU) // what has ended is no longer listed
			}
			u.Samples = append(u.Samples, sample{monotonic(), cpu})
			if n%5 == 0 { // reading it is dear
				var memory int64
				for _, pid := range tree {
					memory += memoryOf(pid)
				}
				u.Memory = max(u.Memory, memory)
			}
		}
	}
	var children unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &children); err != nil {
		fmt.Fprintf(os.Stderr, "supervise: %v\n", err)
		return 1
	}
	u.CPU = time.Duration(children.Utime.Nano() + children.Stime.Nano()).Seconds()
	u.Memory = max(u.Memory, children.Maxrss<<10)
	u.Wall = e.wall.Seconds()
	if code := e.status.ExitStatus(); code != 0 {
		u.Failed = fmt.Sprintf("it ended with status %d", code)
		if e.status.Signaled() {
			u.Failed = "it was ended by " + e.status.Signal().String()
		}
	}
	text, err := json.Marshal(u)
	if err == nil {
		err = os.WriteFile(told, text, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "supervise: %v\n", err)
		return 1
	}
	return 0
}

// standstill is how long a client is stopped for.
const standstill = 500 * time.Millisecond

// send signals processes; those that have ended meanwhile have no use for it.
func send(to []int, s syscall.Signal) {
	for _, pid := range to {
		_ = syscall.Kill(pid, s)
	}
}

// below lists the processes below one.
func below(pid int) (out []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l) // a thread that is gone has no children
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				out = append(append(out, child), below(child)...)
			}
		}
	}
	return out
}

// cpuOf is the CPU that a process and the children it has waited for took, in seconds;
// 0 when it is gone.
func cpuOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// After the name, which may hold anything: field 3 and on.
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 15 {
		return 0
	}
	var ticks int64
	for _, s := range f[11:15] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	const perSecond = 100 // USER_HZ, the same on every Linux that Go runs on
	return float64(ticks) / perSecond
}

// memoryOf is the memory of a process in bytes, its share of what it shares.
func memoryOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	_, after, ok := strings.Cut(string(text), "\nPss:")
	if !ok {
		return 0
	}
	kb, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("no CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}

// liftFileLimit lets this process and all that it starts open so many files. Go lifts
// the limit for itself alone unless it is set.
func liftFileLimit(want int) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if l.Max < uint64(want) {
		return fmt.Errorf("at most %d open files are allowed, and %d are needed; ulimit -Hn sets that", l.Max, want)
	}
	l.Cur = l.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
}
