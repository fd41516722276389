package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rowproof/internal/engine/simulator"
	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// kills is how many moments a run is killed at; go test ./cmd/measure -run Kill -kills 50
// tries more of them.
var kills = flag.Int("kills", 4, "moments at which the tests kill a client, and a server")

// manyRows is a sweep of quick rows that writes often.
func manyRows(prefix string, more ...string) []string {
	var cells []string
	for isl := range 12 {
		cells = append(cells, fmt.Sprintf("%d:2", 16+isl))
	}
	return append([]string{"bench", "--cells", strings.Join(cells, ","), "--concurrency", "2", "--warmup", "0", "--stamps", "read", "--output", prefix}, more...)
}

// onDisk reads what a run left whenever it was killed: all of it reads back, the report
// holds each row that was printed, and nothing is wrong with any. It returns how many
// rows there are.
func onDisk(t *testing.T, prefix string, printed int) int {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(prefix), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		// What a kill stopped from taking its place is no file of the run.
		if base := filepath.Base(name); !strings.HasPrefix(base, filepath.Base(prefix)+".") && !strings.HasPrefix(base, ".rowproof-partial-") {
			t.Errorf("%s was left", name)
		}
	}
	inCSV := 0
	if data, err := os.ReadFile(prefix + ".csv"); err == nil {
		lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil || len(lines) == 0 || !bytes.HasSuffix(data, []byte("\n")) {
			t.Errorf("the CSV does not read back: %v", err)
		}
		inCSV = len(lines) - 1
	} else if printed > 0 {
		t.Error(err)
	}
	if _, err := os.Stat(prefix + ".json"); err != nil {
		if printed > 0 || inCSV > 0 {
			t.Errorf("%d rows were printed, %d are in the CSV, and there is no report", printed, inCSV)
		}
		return 0
	}
	b := loaded(t, prefix)
	n := len(b.Rows)
	// The CSV is written last, and printed after that.
	if n < inCSV || n > inCSV+1 || inCSV < printed {
		t.Errorf("%d rows in the report, %d in the CSV, %d printed", n, inCSV, printed)
	}
	for i, results := range b.Judge(nil) {
		for _, g := range results {
			if (g.Gate == "schema" || g.Gate == "recompute") && g.Answer == gate.Fail {
				t.Errorf("row %d, gate %s: %s", i, g.Gate, g.Reason)
			}
		}
	}
	return n
}

func TestKilledClientKeepsFinishedRows(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	// How long such a run takes here.
	began := time.Now()
	if code, _, stderr := call(t, manyRows(filepath.Join(t.TempDir(), "run"))[1:]...); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	whole := time.Since(began) * 3 / 2 // with the start of a process
	random := rand.New(rand.NewPCG(1, uint64(*kills)))
	kept := map[int]int{}
	for range *kills {
		moment := time.Duration(random.Int64N(int64(whole)))
		prefix := filepath.Join(t.TempDir(), "run")
		cmd, stdout, _ := process(t, manyRows(prefix)...)
		kill := time.AfterFunc(moment, func() { cmd.Process.Kill() })
		out, _ := io.ReadAll(stdout)
		cmd.Wait()
		kill.Stop()
		n := onDisk(t, prefix, max(0, bytes.Count(out, []byte("\n"))-1))
		kept[n]++
		if t.Failed() {
			t.Fatalf("killed %v after its start", moment)
		}
	}
	t.Logf("rows kept → runs: %v", kept)
}

func TestKilledServerEndsTheRowWithItsReason(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	cfg := simulator.Default()
	// Long enough that a kill meets each part of a run.
	cfg.Prefill, cfg.Gap = time.Millisecond, time.Millisecond
	random := rand.New(rand.NewPCG(2, uint64(*kills)))
	ended := map[string]int{}
	for range *kills {
		child, err := simulator.StartChild(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		moment := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
		dead := make(chan error, 1)
		kill := time.AfterFunc(moment, func() { dead <- syscall.Kill(child.PID, syscall.SIGKILL) })
		prefix := filepath.Join(t.TempDir(), "run")
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), manyRows(prefix, "--base-url", child.BaseURL), nil, &stdout, &stderr)
		if kill.Stop() {
			dead <- nil // the run was quicker
		}
		if err := <-dead; err != nil {
			t.Error(err)
		}
		child.Stop()
		child.Forget()
		n := onDisk(t, prefix, max(0, strings.Count(stdout.String(), "\n")-1))
		failed := 0
		if n > 0 {
			for i, d := range loaded(t, prefix).Rows {
				switch r := d.Row; {
				case r.Status == row.StatusOK && failed > 0:
					t.Errorf("row %d is whole, and an earlier one met the server's death", i)
				case r.Status == row.StatusOK:
				case r.Reason == "":
					t.Errorf("row %d failed without a reason", i)
				default:
					failed++
				}
			}
		}
		switch {
		case code == exitOK && n == 12 && failed == 0:
			ended["after the run"]++
		case code == exitFailed && n == 12 && failed > 0:
			ended["in it"]++
		case code == exitNoServer && n == 0, code == exitFailed && n == 0:
			ended["before the first row"]++
		default:
			t.Errorf("exit %d with %d rows, %d of them failed", code, n, failed)
		}
		if t.Failed() {
			t.Fatalf("the server was killed %v after the run's start: %s", moment, stderr.String())
		}
	}
	t.Logf("the server died: %v", ended)
}

// A run killed between its evidence and its report leaves a row's evidence that no report
// holds: what was finished before reads back all the same.
func TestEvidenceAheadOfItsReport(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	if code, _, stderr := quick(t, "--cells", "16:2,17:2", "--concurrency", "1", "--output", prefix); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	b := loaded(t, prefix)
	report := *b.Report
	report.Rows = report.Rows[:1]
	data, err := rowfile.Encode(&report)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prefix+".json", data, 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(prefix + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(table, []byte("\n"))
	if err := os.WriteFile(prefix+".csv", bytes.Join(lines[:2], nil), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := onDisk(t, prefix, 1); n != 1 {
		t.Errorf("%d rows", n)
	}
}
