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

	"rowproof/internal/row"
)

// The test program is its own keeper, as measure is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == KeepVerb {
		os.Exit(Keep(os.Args[2:]))
	}
	os.Exit(m.Run())
}

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
(env -i setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &) # and without what it was marked with
wait`}}, Options{}, &log)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "five processes", func() bool { return len(log.lines()) == 5 })
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
		s, err := Start(Command{Argv: []string{"sh", "-c", "sleep 600 & setsid sleep 600 & (env -i setsid sleep 600 &) ; wait"}}, Options{}, os.Stderr)
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
	var apart []int // those that left the group, one of them its parents and its mark too
	until(t, "two processes that leave the group", func() bool {
		apart = slices.DeleteFunc(below(field(server, 1)), func(pid int) bool { return group(pid) == server })
		return len(apart) == 2
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

// Where the keeper itself was killed, what is left is found by its group and its mark.
func TestStopAfterItsKeeperWasKilled(t *testing.T) {
	var log locked
	s, err := Start(Command{Argv: []string{"sh", "-c", `echo $$
(setsid sh -c 'echo $$; while :; do sleep 1; done' &)
while :; do sleep 1; done`}}, Options{}, &log)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "two processes", func() bool { return len(log.lines()) == 2 })
	if err := s.keeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "its keeper was killed") {
		t.Errorf("ended: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids(t, log.lines()) {
		if alive(pid) {
			t.Errorf("process %d outlived the server", pid)
		}
	}
}

// How a server ended, and the whole of what it said before.
func TestEnded(t *testing.T) {
	drain = 500 * time.Millisecond
	defer func() { drain = 5 * time.Second }()
	for script, want := range map[string]string{
		"echo last words; exit 3":       "exit status 3",
		"echo last words; kill -9 $$":   "signal: killed",
		"echo last words; exit 0":       "<nil>",
		"echo last words; sleep 600 & ": "<nil>", // a child holds its output open
	} {
		var log locked
		s, err := Start(Command{Argv: []string{"sh", "-c", script}}, Options{}, &log)
		if err != nil {
			t.Fatal(err)
		}
		<-s.Ended()
		if got := fmt.Sprint(s.Err()); got != want || strings.Join(log.lines(), " ") != "last words" {
			t.Errorf("%s: ended with %s, want %s, after %q", script, got, want, log.lines())
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// A container is asked to end before it is removed, and what runs in it has the mark.
func TestContainerIsStoppedBeforeItIsRemoved(t *testing.T) {
	dir := t.TempDir()
	said := dir + "/said"
	fake := `#!/bin/sh
echo "$@" >>"` + said + `"
case $1 in
run) echo "up $ROWPROOF_LAUNCHED"; trap 'exit 0' TERM; while :; do sleep 0.1; done ;;
esac
`
	for _, program := range []string{Docker, Podman} {
		if err := os.WriteFile(dir+"/"+program, []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, program := range []string{Docker, Podman} {
		var log locked
		s, err := Start(Command{Argv: []string{program, "run", "--rm", "--name", "n", "image"}}, Options{Means: program, Name: "n"}, &log)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the container", func() bool { return len(log.lines()) == 2 })
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(said)
		if want := "run -e ROWPROOF_LAUNCHED --rm --name n image\nstop -t 30 n\nrm -f n\n"; err != nil || string(text) != want {
			t.Errorf("%s was asked\n%swant\n%s(%v)", program, text, want, err)
		}
		if err := os.Remove(said); err != nil {
			t.Fatal(err)
		}
	}
}

// Apptainer clears the environment, and takes in what has its prefix: the token and the
// mark.
func TestApptainerIsGivenTokenAndMark(t *testing.T) {
	t.Setenv("HF_TOKEN", "hf_of_the_caller")
	c := For("m", &row.Recipe{Runtime: row.Runtime{Image: "i@sha256:b2"}, Launch: []string{"serve"}}, Options{Means: Apptainer})
	env := environment(c, Options{Means: Apptainer}, marker+"=7-1")
	for _, want := range []string{"APPTAINERENV_HF_TOKEN=hf_of_the_caller", "APPTAINERENV_ROWPROOF_LAUNCHED=7-1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not set", want)
		}
	}
	if strings.Contains(c.Line(), "hf_of") {
		t.Errorf("the token's value stands in %s", c.Line())
	}
}
