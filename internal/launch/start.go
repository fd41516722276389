package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace is how long a server has to end by itself before it is ended.
var grace = 30 * time.Second // tests take less

// Server is one that was started. It runs in a session of its own, so that a Ctrl-C at
// the terminal ends the measuring first and the server in order after it.
type Server struct {
	PID int

	command   Command
	mark      string   // in the environment of all that it starts
	container []string // the command that removes its container; nil of none
	cmd       *exec.Cmd
	watch     *exec.Cmd
	open      io.Closer // held open: its end tells the watch that this program is gone
	ended     chan struct{}
	err       error // once ended
}

// watching is a shell that ends the group when its standard input closes, which it does
// however this program ends.
const watching = `read -r _
kill -s TERM -- "-$0" 2>/dev/null
mark=$1
shift
[ $# -eq 0 ] || "$@" >/dev/null 2>&1
n=0
while [ $n -lt 30 ] && kill -s 0 -- "-$0" 2>/dev/null; do n=$((n + 1)); sleep 1; done
kill -s KILL -- "-$0" 2>/dev/null
for file in $(grep -lF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
  pid=${file#/proc/}
  kill -s KILL "${pid%%/*}" 2>/dev/null
done`

// marker names the variable that everything which a server starts inherits, by which what
// left its group and its parents is found.
const marker = "ROWPROOF_LAUNCHED"

// Start runs the command with its output going to log.
func Start(c Command, o Options, log io.Writer) (*Server, error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return nil, err
	}
	s := &Server{command: c, ended: make(chan struct{})}
	if o.Name != "" && (o.Means == Docker || o.Means == Podman) {
		s.container = []string{o.Means, "rm", "-f", o.Name}
	}
	s.cmd = exec.Command(path, c.Argv[1:]...)
	s.cmd.Args[0] = c.Argv[0]
	s.mark = fmt.Sprintf("%s=%d-%d", marker, os.Getpid(), time.Now().UnixNano())
	s.cmd.Env = append(os.Environ(), s.mark)
	for name, value := range c.Env {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.cmd.WaitDelay = 5 * time.Second // a child that outlives it may hold its output open
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.PID = s.cmd.Process.Pid
	group := strconv.Itoa(s.PID)
	s.watch = exec.Command("/bin/sh", append([]string{"-c", watching, group, s.mark}, s.container...)...)
	s.watch.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.open, err = s.watch.StdinPipe(); err == nil {
		err = s.watch.Start()
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the watch over the server: %w", err), s.Stop())
	}
	return s, nil
}

// Ended is closed when the server's own process has ended; Err then says how.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Err says how the server ended, once it has.
func (s *Server) Err() error { return s.err }

// Stop ends the server, all that it started, and waits until nothing of it is left.
func (s *Server) Stop() error {
	all := append([]int{s.PID}, below(s.PID)...) // some may have left the group
	all = append(all, marked(s.mark)...)         // and some their parents too
	signal := func(sig syscall.Signal) {
		_ = syscall.Kill(-s.PID, sig)
		for _, pid := range all[1:] {
			if group(pid) != s.PID && alive(pid) {
				_ = syscall.Kill(pid, sig)
			}
		}
	}
	signal(syscall.SIGTERM)
	if s.container != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*grace)
		defer cancel()
		_ = exec.CommandContext(ctx, s.container[0], s.container[1:]...).Run() // gone already is as good
	}
	left := s.wait(all, grace)
	if len(left) > 0 {
		signal(syscall.SIGKILL)
		left = s.wait(all, grace)
	}
	// The watch has nothing left to end.
	if s.watch.Process != nil {
		_ = s.watch.Process.Kill()
		_ = s.watch.Wait()
	}
	if s.open != nil {
		s.open.Close()
	}
	if len(left) > 0 {
		return fmt.Errorf("of the server still run, and cannot be ended: %s", strings.Join(left, ", "))
	}
	return nil
}

// wait returns what is left of the group and of the processes after a time at most.
func (s *Server) wait(all []int, most time.Duration) (left []string) {
	end := time.Now().Add(most)
	for {
		left = nil
		for _, pid := range processes() {
			if (group(pid) == s.PID || slices.Contains(all, pid)) && alive(pid) {
				left = append(left, strconv.Itoa(pid))
			}
		}
		if len(left) == 0 {
			select {
			case <-s.ended:
				return nil
			case <-time.After(time.Until(end)):
				return []string{"its own process " + strconv.Itoa(s.PID)}
			}
		}
		if time.Now().After(end) {
			return left
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// processes are those that /proc shows.
func processes() []int {
	entries, _ := os.ReadDir("/proc")
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// marked are the processes that have an entry in their environment.
func marked(entry string) []int {
	var out []int
	for _, pid := range processes() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), entry) {
			out = append(out, pid)
		}
	}
	return out
}

// status are the fields of a process behind its name: state, parent, group; nil where it
// is gone.
func status(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	rest := string(text)
	if i := strings.LastIndexByte(rest, ')'); i >= 0 {
		rest = rest[i+1:]
	}
	if f := strings.Fields(rest); len(f) >= 3 {
		return f
	}
	return nil
}

// alive says whether a process still runs: one that nobody has asked after holds nothing.
func alive(pid int) bool {
	f := status(pid)
	return f != nil && f[0] != "Z" && f[0] != "X"
}

func group(pid int) int { return field(pid, 2) }

func field(pid, i int) int {
	f := status(pid)
	if f == nil {
		return 0
	}
	n, _ := strconv.Atoi(f[i])
	return n
}

// below are the processes that one started, and those that these did.
func below(pid int) []int {
	parents := map[int]int{}
	for _, p := range processes() {
		parents[p] = field(p, 1)
	}
	var out []int
	for p := range parents {
		for up, steps := parents[p], 0; up > 1 && steps < len(parents); up, steps = parents[up], steps+1 {
			if up == pid {
				out = append(out, p)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}
