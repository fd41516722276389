package simulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Child is an embedded engine in a process of its own, so that it and the client in
// front of it do not share a scheduler or a heap.
type Child struct {
	BaseURL   string // such as http://127.0.0.1:41234
	TruthPath string // complete once Stop has returned; for this process to read until Forget
	PID       int

	cmd      *exec.Cmd
	truth    *os.File       // open, since on Linux it has no name
	stdin    io.WriteCloser // held open: its end ends the engine
	stderr   *bytes.Buffer
	once     sync.Once
	ended    error
	lateness string
}

// StartChild starts this program's simulate verb on a free loopback port and returns
// once it listens. The caller must Stop it; it also ends when this process does.
func StartChild(ctx context.Context, cfg Config) (*Child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the embedded engine is this program started again, and its path cannot be found (%w); on Linux /proc must be mounted", err)
	}
	truth, err := os.CreateTemp("", "rowproof-truth-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("a file for the embedded engine's truth: %w", err)
	}
	c := &Child{TruthPath: truth.Name(), truth: truth, stderr: &bytes.Buffer{}}
	theirs := c.TruthPath
	if runtime.GOOS == "linux" && os.Remove(truth.Name()) == nil {
		// Without a name it is gone with those that hold it open, however they end.
		c.TruthPath, theirs = "/proc/self/fd/"+strconv.Itoa(int(truth.Fd())), "/proc/self/fd/3"
	}

	args := append([]string{"simulate", "--port", "0", "--truth", theirs, "--until-stdin-closes"}, cfg.Args()...)
	c.cmd = exec.Command(exe, args...)
	c.cmd.ExtraFiles = []*os.File{truth}
	c.cmd.Args[0] = "measure" // whatever this program was called as
	c.cmd.Stderr = c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		c.Forget()
		return nil, err
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		c.Forget()
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		c.Forget()
		return nil, fmt.Errorf("starting the embedded engine: %w", err)
	}
	c.PID = c.cmd.Process.Pid

	type ready struct {
		line string
		err  error
	}
	said := make(chan ready, 1)
	go func() {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		said <- ready{strings.TrimSpace(line), err}
	}()
	var r ready
	select {
	case r = <-said:
	case <-ctx.Done():
		r.err = ctx.Err()
	case <-time.After(30 * time.Second):
		r.err = errors.New("it did not say within 30 s that it listens")
	}
	if r.err != nil || !strings.HasPrefix(r.line, "http://") {
		c.Stop()
		text := fmt.Sprintf("the embedded engine did not start: %q on stdout, %q on stderr", r.line, strings.TrimSpace(c.stderr.String()))
		c.Forget()
		return nil, errors.Join(errors.New(text), r.err)
	}
	c.BaseURL = r.line
	return c, nil
}

// Forget lets go of the truth.
func (c *Child) Forget() {
	c.truth.Close()
	if c.TruthPath == c.truth.Name() {
		os.Remove(c.TruthPath)
	}
}

// Stop ends the engine and waits for it; its truth is then complete, until the caller's
// Forget. Further calls do nothing and return the same error.
func (c *Child) Stop() error {
	c.once.Do(func() {
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.ended = err
		}
		kill := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
		defer kill.Stop()
		err := c.cmd.Wait()
		if err != nil {
			c.ended = errors.Join(c.ended, fmt.Errorf("the embedded engine ended with %w: %s", err, strings.TrimSpace(c.stderr.String())))
		}
		_, said, _ := strings.Cut(c.stderr.String(), "timetable: ")
		c.lateness, _, _ = strings.Cut(said, "\n")
	})
	return c.ended
}

// Lateness is what the engine said of its own error when it ended; "" before Stop.
func (c *Child) Lateness() string { return c.lateness }
