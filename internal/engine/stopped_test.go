package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// offered is what a client in a process of its own brought back.
type offered struct {
	Zero    int64
	Stats   row.CaptureStats
	Notes   []string
	NoRing  string
	Samples []row.Sample
	Numbers []string // of the requests, as in the truth
}

// asked is what it is to do: streams of tokens each.
type asked struct {
	Base                    string
	Streams, Tokens, Blocks int
}

// offer is the client's process.
func offer(args []string) int {
	var a asked
	if err := json.Unmarshal([]byte(args[0]), &a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	base, err := url.Parse(a.Base)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := loadgen.Run(context.Background(), loadgen.Spec{
		Base: base, Protocol: row.Passes, Concurrency: a.Streams, Iters: 1, RingBlocks: a.Blocks,
		Build: func(seq int) loadgen.Call {
			return engine.Request(engine.PathCompletions, simulator.Default().Model, engine.Prompt{IDs: []int{1, 2, 3, seq}}, 4, a.Tokens, engine.Options{Engine: engine.Embedded, IgnoreEOS: true})
		},
		Zero: loadgen.Now(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o := offered{Zero: c.Spec.Zero, NoRing: c.NoRing, Samples: engine.Samples(c), Stats: c.Stats, Notes: c.Notes}
	for i := range c.Outcomes {
		if err := c.Outcomes[i].Load(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		o.Numbers = append(o.Numbers, simulator.Number(c.Outcomes[i].Body))
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// stopped runs a client that is stopped for half a second while tokens come, and gives
// back what it says and what was true.
func stopped(t *testing.T, blocks int) (offered, map[string]simulator.Truth, asked) {
	t.Helper()
	cfg := simulator.Default()
	cfg.Prefill, cfg.PrefillPerToken = 0, 0
	cfg.Gap, cfg.GapPerStream = 2*time.Millisecond, 0
	truthPath := filepath.Join(t.TempDir(), "truth.jsonl")
	base, stop := start(t, cfg, truthPath)
	a := asked{Base: base.String(), Streams: 8, Tokens: 500, Blocks: blocks}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "load", string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) // where it did not end
	for generated(t, base) < 100*a.Streams {
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(500 * time.Millisecond)
	cmd.Process.Signal(syscall.SIGCONT)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	stop()
	truth, err := simulator.ReadTruth(truthPath)
	if err != nil {
		t.Fatal(err)
	}
	var o offered
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Samples) != a.Streams {
		t.Fatalf("%d samples", len(o.Samples))
	}
	return o, truth, a
}

var generatedTotal = regexp.MustCompile(`(?m)^\S*generation_tokens_total\S* (\d+)`)

// generated is how many tokens the server has written.
func generated(t *testing.T, base *url.URL) int {
	t.Helper()
	patient := http.Client{Timeout: 30 * time.Second}
	r, err := patient.Get(base.String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	m := generatedTotal.FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatal(errors.Join(err, fmt.Errorf("no tokens among the metrics:\n%s", text)))
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// errors of the stamps of all tokens against the truth, in ns, and how many have none.
func errorsOf(t *testing.T, o offered, truth map[string]simulator.Truth) (worst int64, exact, lost int) {
	t.Helper()
	for i, s := range o.Samples {
		sent := truth[o.Numbers[i]].Sent
		if !s.OK() || len(s.T) != len(sent) {
			t.Fatalf("request %d: %s %q, %d of %d tokens", i, s.Status, s.Reason, len(s.T), len(sent))
		}
		at := o.Zero + 1000*s.Sent
		for j, gap := range s.T {
			if gap == row.NoStamp {
				lost++
				continue
			}
			at += 1000 * gap
			worst = max(worst, abs(at-sent[j]))
			exact++
		}
	}
	return worst, exact, lost
}

// A client that was stopped for half a second tells when each token came all the same.
func TestStoppedClientStampsWhatCameMeanwhile(t *testing.T) {
	o, truth, a := stopped(t, 0)
	if o.NoRing != "" {
		if o.Stats.Stamps != loadgen.StampsKernel {
			t.Errorf("no ring (%s) and stamps of %s", o.NoRing, o.Stats.Stamps)
		}
		return
	}
	worst, exact, lost := errorsOf(t, o, truth)
	if lost != 0 || exact != a.Streams*a.Tokens || o.Stats.Drops != 0 || o.Stats.SharedStamps != 0 {
		t.Errorf("%d tokens stamped, %d not: %+v", exact, lost, o.Stats)
	}
	if worst > 100_000_000 {
		t.Errorf("a stamp is %d ns from the truth; the client was stopped for 500,000,000", worst)
	}
	if o.Stats.Reads > int64(exact)/2 {
		t.Errorf("%d reads of %d tokens: was it stopped?", o.Stats.Reads, exact)
	}
	if o.Stats.BlocksUsed == 0 || o.Stats.Blocks == 0 || o.Stats.CPU == 0 || o.Stats.Wall < 900_000 {
		t.Errorf("the capture says too little of itself: %+v", o.Stats)
	}
}

// A ring that is too small for that has lost stamps. It says so, none is made up, and the
// others are as exact.
func TestStoppedClientWithARingThatIsTooSmall(t *testing.T) {
	o, truth, a := stopped(t, 2)
	if o.NoRing != "" {
		return // shown above
	}
	worst, exact, lost := errorsOf(t, o, truth)
	if lost == 0 || exact < a.Streams*100 || exact+lost != a.Streams*a.Tokens {
		t.Errorf("%d tokens stamped, %d not", exact, lost)
	}
	if worst > 100_000_000 {
		t.Errorf("a stamp is %d ns from the truth; the client was stopped for 500,000,000", worst)
	}
	if o.Stats.Drops == 0 || o.Stats.Unstamped != int64(lost) || o.Stats.Blocks != 2 || len(o.Notes) != 1 {
		t.Errorf("%d lost: %+v, %q", lost, o.Stats, o.Notes)
	}
}
