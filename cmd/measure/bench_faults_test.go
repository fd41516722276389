package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"rowproof/internal/row"
)

// process starts this program as a shell would; what it prints is read line by line.
func process(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, args...)
	cmd.Args[0] = "measure"
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // what a killed run can't take away
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, bufio.NewReader(out), bufio.NewReader(said)
}

// An interrupted row keeps what had ended by then: requests under way are waited for, no
// further one begins, and the row says how far it came.
func TestInterruptedRowIsKeptInPart(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for name, c := range map[string]struct {
		args   []string
		reason string
	}{
		"a number of requests": {[]string{"--num-prompts", "5000"}, `^interrupted after \d+ of 5000 timed requests$`},
		"a duration":           {[]string{"--duration", "600s"}, `^interrupted after \d+ timed requests$`},
		"passes":               {[]string{"--iters", "2500"}, `^interrupted after \d+ of 5000 timed requests$`},
		"repeats":              {[]string{"--num-prompts", "20", "--repeats", "250"}, `^interrupted after \d+ of 5000 timed requests$`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := &fake{models: []string{"m"}, afterEach: func(n int) {
				if n == 60 {
					cancel()
				}
			}}
			prefix := filepath.Join(t.TempDir(), "run")
			var stdout, stderr bytes.Buffer
			args := append([]string{"bench", "--base-url", f.start(t).URL, "--cells", "20:3", "--concurrency", "2", "--stamps", "read", "--output", prefix}, c.args...)
			if code := run(ctx, args, nil, &stdout, &stderr); code != exitInterrupted {
				t.Errorf("exit %d: %s", code, stderr.String())
			}
			b := loaded(t, prefix)
			if len(b.Rows) != 1 {
				t.Fatalf("%d rows", len(b.Rows))
			}
			r := b.Rows[0].Row
			if r.Status != row.StatusError || !regexp.MustCompile(c.reason).MatchString(r.Reason) || r.Counts.Completed < 20 || r.Counts.Failed != 0 {
				t.Errorf("%s: %s; counts %+v", r.Status, r.Reason, r.Counts)
			}
			if rows := records(t, stdout.String()); len(rows) != 1 || rows[0]["status"] != "error" || rows[0]["reason"] != r.Reason {
				t.Errorf("printed %v", rows)
			}
			for _, g := range b.Judge(nil)[0] {
				if (g.Gate == "schema" || g.Gate == "recompute") && g.Answer.Blocks() {
					t.Errorf("gate %s: %s", g.Gate, g.Reason)
				}
			}
		})
	}
}

// silentServer answers no request with a prompt of 21 tokens, and says when it has one.
func silentServer(t *testing.T) (*httptest.Server, <-chan bool) {
	t.Helper()
	asked, end := make(chan bool, 1), make(chan bool)
	f := &fake{models: []string{"m"}, fail: func(_ int, q *request) (int, string) {
		if q.tokens == 21 {
			asked <- true
			<-end
		}
		return 0, ""
	}}
	server := f.start(t)
	t.Cleanup(func() { close(end) })
	return server, asked
}

// Each of the two signals ends a run in order, and a second one at once: there is a
// request under way that will never be answered.
func TestSignalsEndARun(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for name, signals := range map[string][]os.Signal{
		"Ctrl-C":             {os.Interrupt},
		"SIGTERM":            {syscall.SIGTERM},
		"Ctrl-C twice":       {os.Interrupt, os.Interrupt},
		"Ctrl-C and SIGTERM": {os.Interrupt, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			server, asked := silentServer(t)
			prefix := filepath.Join(t.TempDir(), "run")
			cmd, stdout, stderr := process(t, "bench", "--base-url", server.URL, "--cells", "20:2,21:2", "--concurrency", "1", "--warmup", "0", "--stamps", "read", "--output", prefix)
			firstRow(t, stdout)
			<-asked
			if err := cmd.Process.Signal(signals[0]); err != nil {
				t.Fatal(err)
			}
			told := ""
			for !strings.Contains(told, "measure bench: interrupted: no further request begins") {
				line, err := stderr.ReadString('\n')
				if told += line; err != nil {
					t.Fatalf("%v: %s", err, told)
				}
			}
			if len(signals) > 1 {
				if err := cmd.Process.Signal(signals[1]); err != nil {
					t.Fatal(err)
				}
			}
			rest, _ := io.ReadAll(stderr)
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit %d: %s", code, rest)
			}
			if inOrder := strings.Contains(string(rest), "finished rows are kept"); inOrder != (len(signals) == 1) {
				t.Errorf("after the first words it said %s", rest)
			}
			if told := strings.Contains(string(rest), "measure: interrupted again: ended at once\n"); told != (len(signals) == 2) {
				t.Errorf("after the first words it said %s", rest)
			}
			if b := loaded(t, prefix); len(b.Rows) != 1 || b.Rows[0].Row.Status != row.StatusOK {
				t.Errorf("%d rows were kept", len(b.Rows))
			}
		})
	}
}

// A run that ends in its first row says that nothing was finished, leaves no files, and so
// its prefix free.
func TestInterruptsInTheFirstRowLeaveNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	drains := drainFor
	drainFor = 0
	t.Cleanup(func() { drainFor = drains })
	server, asked := silentServer(t)
	folder := t.TempDir()
	args := []string{"bench", "--base-url", server.URL, "--cells", "21:2", "--concurrency", "1", "--warmup", "0", "--stamps", "read"}
	kept := append(slices.Clone(args), "--output", filepath.Join(folder, "run"))
	nothing := func() {
		t.Helper()
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}

	cmd, _, stderr := process(t, kept...)
	<-asked
	told := ""
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(told, "interrupted") {
			line, err := stderr.ReadString('\n')
			if told += line; err != nil {
				t.Fatalf("%v: %s", err, told)
			}
		}
	}
	rest, _ := io.ReadAll(stderr)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.HasSuffix(string(rest), "interrupted again: ended at once\n") {
		t.Errorf("exit %d: %s", code, rest)
	}
	nothing()

	for _, args := range [][]string{args, kept} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		var stdout, stderr bytes.Buffer
		code := run(ctx, args, nil, &stdout, &stderr)
		if code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted; no row was finished, in part or whole\n") || strings.Contains(stderr.String(), "kept") {
			t.Errorf("exit %d: %s", code, stderr.String())
		}
		nothing()
	}
}

func TestOnFailure(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for choice, rows := range map[string]int{"continue": 3, "stop": 2} {
		f := &fake{models: []string{"m"}, fail: func(_ int, q *request) (int, string) {
			if q.tokens == 21 {
				return 500, "no"
			}
			return 0, ""
		}}
		code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "20:3,21:3,22:3", "--concurrency", "1", "--on-failure", choice)
		if got := records(t, stdout); code != exitFailed || len(got) != rows || got[1]["status"] != "error" {
			t.Errorf("--on-failure %s: exit %d, %d rows", choice, code, len(got))
		}
		if told := strings.Contains(stderr, "measure bench: 1 row not measured: --on-failure stop\n"); told != (choice == "stop") {
			t.Errorf("--on-failure %s: %s", choice, stderr)
		}
	}
}

// A connection that never opens costs its row no more than --connect-timeout: here the
// handshakes of the second row's are never answered.
func TestConnectTimeout(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	var silent atomic.Bool
	f := &fake{models: []string{"m"}, fail: func(_ int, q *request) (int, string) {
		if q.tokens == 20 {
			silent.Store(true)
		}
		return 0, ""
	}}
	s := httptest.NewUnstartedServer(f)
	s.Listener = &muteListener{s.Listener, &silent}
	s.StartTLS()
	t.Cleanup(s.Close)
	code, stdout, stderr := quick(t, "--base-url", s.URL, "--insecure", "--cells", "20:2,21:2", "--concurrency", "1", "--connect-timeout", "200ms", "--timeout", "10m")
	rows := records(t, stdout)
	if code != exitFailed || len(rows) != 2 || rows[0]["status"] != "ok" || rows[1]["status"] != "error" || !strings.Contains(rows[1]["reason"], "200ms") {
		t.Errorf("exit %d: %v\n%s", code, rows, stderr)
	}
}

// muteListener accepts connections and, once silent, answers nothing on new ones.
type muteListener struct {
	net.Listener
	silent *atomic.Bool
}

func (l *muteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil && l.silent.Load() {
		return &muteConn{c}, nil
	}
	return c, err
}

// muteConn reads, and swallows what is to be sent.
type muteConn struct{ net.Conn }

func (c *muteConn) Write(b []byte) (int, error) { return len(b), nil }
