package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"rowproof/internal/engine/simulator"
)

// The flags that StartChild passes must set what the configuration says.
func TestSimulateTakesAllOfAConfig(t *testing.T) {
	want := simulator.Config{
		Model: "some model", Prefill: 1, PrefillPerToken: 2 * time.Second, Gap: 3 * time.Millisecond, GapPerStream: 4,
		MaxRunning: 5, CacheBlocks: 6, MaxModelLen: 7,
		FaultEvery: 8,
	}
	if err := want.Faults.Set("crlf,stall"); err != nil {
		t.Fatal(err)
	}
	var got simulator.Config
	fs, _, _, _, _ := simulateFlags(&got)
	if err := fs.Parse(want.Args()); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("flags give %+v, want %+v", got, want)
	}
}

// A child is this very program started again; it must answer, and leave its truth.
func TestChild(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := simulator.StartChild(context.Background(), simulator.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Forget()
	defer c.Stop()
	if c.PID == os.Getpid() {
		t.Error("it runs in this process")
	}
	resp, err := http.Post(c.BaseURL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a","max_tokens":3,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	// A run that is killed leaves nothing behind: the truth has no name.
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); runtime.GOOS == "linux" && len(left) > 0 {
		t.Errorf("%s stands in the temporary folder", left[0].Name())
	}
	b, err := os.ReadFile(c.TruthPath)
	if err != nil {
		t.Fatal(err)
	}
	var line simulator.Truth
	if err := json.Unmarshal(bytes.TrimSpace(b), &line); err != nil || len(line.Sent) != 3 {
		t.Errorf("truth %q: %v", b, err)
	}
	if !strings.HasPrefix(c.Lateness(), "3 tokens, late by p50 ") {
		t.Errorf("lateness %q", c.Lateness())
	}
}

func TestSimulateOnAPortThatIsTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := simulate(context.Background(), []string{"--port", port}, streams{nil, &out, &errs})
	if want := "port " + port + " of 127.0.0.1 is taken; --port 0 takes a free one"; code != exitNoServer || !strings.Contains(errs.String(), want) || out.Len() != 0 {
		t.Errorf("exit %d, stdout %q, stderr %q; want %d and %q", code, out.String(), errs.String(), exitNoServer, want)
	}
}
