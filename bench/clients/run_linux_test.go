package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The program starts itself to supervise and to spin; under test it is this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervise":
			os.Exit(supervise(os.Args[2:]))
		case "spin":
			spin()
		}
	}
	os.Exit(m.Run())
}

func supervising(t *testing.T, dir, script string) (u usage, err error) {
	t.Helper()
	b := bench{options: &options{cache: dir, timeout: time.Minute}, log: io.Discard}
	return b.supervised(t.Context(), dir, []string{"sh", "-c", script}, nil, func(context.Context, *os.Process) {})
}

func TestOrphansAreWaitedForAndCounted(t *testing.T) {
	dir := t.TempDir()
	// The child of the child outlives both parents.
	u, err := supervising(t, dir, `(sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done >orphan' &) ; exit 0`)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "orphan")); err != nil || string(text) != "done\n" {
		t.Errorf("the orphan wrote %q, %v", text, err)
	}
	if u.CPU <= 0 || u.Memory < 1<<18 || u.Wall <= 0 {
		t.Errorf("usage %+v", u)
	}
}

func TestAClientThatFails(t *testing.T) {
	for script, says := range map[string]string{
		"echo one; echo no such server >&2; exit 3": "it ended with status 3: one | no such server",
		"kill -9 $$": "it was ended by killed",
	} {
		if _, err := supervising(t, t.TempDir(), script); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// What is asked to end takes all below it along.
func TestEndingAClient(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	b := bench{options: &options{cache: dir, timeout: time.Minute}, log: io.Discard}
	_, err := b.supervised(t.Context(), dir, []string{"sh", "-c", "(sleep 1000 >pipe &) ; sleep 1000"}, nil,
		func(_ context.Context, supervisor *os.Process) {
			r, err := os.Open(pipe) // returns once the orphan holds the other end
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			if err := supervisor.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(r); err != nil { // until nobody holds it
				t.Error(err)
			}
		})
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v, want the client killed", err)
	}
}

// A whole run: our client against the truth server, joined, printed and kept.
func TestOurClientAgainstTheTruth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "measure")
	build := exec.Command("go", "build", "-o", program, "rowproof/cmd/measure")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var out, log bytes.Buffer
	cache := filepath.Join(dir, "cache")
	if err := run(t.Context(), []string{"--measure", program, "--cache", cache, "--peers", "ours-ktime", "--levels", "2", "--loads", "quiet"}, &out, &log); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(cache, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if r.Failed != "" || r.Client != "ours-ktime" || r.Asked != 4 || r.Joined != 4 || r.Held != 2 || r.Wrong > 0 || r.Uneven > 0 ||
		r.First.N != r.Joined || r.Gap.N+r.Lost != r.Joined*(answerLen-1) || r.Tokens < 4*answerLen || r.CPU <= 0 || r.Memory < 1<<20 {
		t.Errorf("result %+v", r)
	}
	if !strings.Contains(out.String(), "ours-ktime") {
		t.Errorf("printed %q", out.String())
	}
}
