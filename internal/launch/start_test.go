package launch

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// locked is a log that two goroutines use.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Fields(l.b.String())
}

// until polls what another process brings about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about", what)
		}
	}
}

func pids(t *testing.T, words []string) []int {
	t.Helper()
	var out []int
	for _, w := range words {
		pid, err := strconv.Atoi(w)
		if err != nil {
			t.Fatalf("%q is no process id", w)
		}
		out = append(out, pid)
	}
	return out
}

// A server whose children ignore the request to end, and one that left the group, is ended
// whole.
func TestStopLeavesNothing(t *testing.T) {
	grace = 500 * time.Millisecond
	defer func() { grace = 30 * time.Second }()
	var log locked
	s, err := Start(Command{Argv: []string{"sh", "-c", `echo $$
sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
setsid sh -c 'echo $$; while :; do sleep 1; done' &
(setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &) # apart from its parents too
wait`}}, Options{}, &log)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "four processes", func() bool { return len(log.lines()) == 4 })
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids(t, log.lines()) {
		if alive(pid) {
			t.Errorf("process %d outlived the server", pid)
		}
	}
}

// A server does not outlive the program that started it, however that ends.
func TestServerEndsWithItsStarter(t *testing.T) {
	if os.Getenv("ROWPROOF_TEST_STARTER") != "" {
		s, err := Start(Command{Argv: []string{"sh", "-c", "sleep 600 & setsid sleep 600 & wait"}}, Options{}, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(s.PID)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestServerEndsWithItsStarter$")
	cmd.Env = append(os.Environ(), "ROWPROOF_TEST_STARTER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	server := pids(t, strings.Fields(line))[0]
	if !alive(server) {
		t.Fatal("the server does not run")
	}
	var apart []int // those that left the group
	until(t, "a process that leaves the group", func() bool {
		apart = slices.DeleteFunc(below(server), func(pid int) bool { return group(pid) == server })
		return len(apart) > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	until(t, "the end of the server", func() bool {
		for _, pid := range processes() {
			if (group(pid) == server || slices.Contains(apart, pid)) && alive(pid) {
				return false
			}
		}
		return true
	})
}
