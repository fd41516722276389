package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// What a run says of its rows when it ends is what check says of its files later.
func TestVerdictsAtTheEndAreThoseOfTheFiles(t *testing.T) {
	healthy, samples, evidence := rowtest.Report(3, rowtest.Options{
		Recipe: "llama-3.1-8b/h200-sxm/latency/vllm", AsItWas: rowtest.Llama8B(), Repeats: 3,
	})
	run := func(prefix string) *output {
		report := *healthy
		report.Rows = nil
		out := &output{prefix: prefix, stdout: io.Discard, report: &report, evidence: evidence[:1:1]}
		if err := out.begin(); err != nil {
			t.Fatal(err)
		}
		for i, r := range healthy.Rows {
			m := &finished{row: r, samples: samples[i], evidence: evidence[i+1], seed: row.Seed(&r.Workload, samples[i])}
			if i == 1 {
				ttft := *r.Figures.TTFT
				ttft.P50 = ptr(*ttft.P50 * 1.01) // does not follow from the samples
				m.row.Figures.TTFT = &ttft
			}
			var told strings.Builder
			if out.add(m, &told); told.Len() > 0 {
				t.Fatal(told.String())
			}
		}
		return out
	}
	out := run(filepath.Join(t.TempDir(), "run"))
	onDisk := loaded(t, out.prefix).Judge(nil)
	for i, results := range out.judge("") {
		for j, now := range results {
			if later := onDisk[i][j]; now.Answer != later.Answer || now.Reason != later.Reason {
				t.Errorf("row %d, gate %s: %s, %s; from its files %s, %s", i, now.Gate, now.Answer, now.Reason, later.Answer, later.Reason)
			}
		}
	}
	// Without --output the rows are judged as if their files lay there.
	for i, results := range run("").judge("") {
		for j, now := range results {
			if kept := onDisk[i][j]; now.Answer != kept.Answer || now.Reason != kept.Reason {
				t.Errorf("without files: row %d, gate %s: %s, %s; from files %s, %s", i, now.Gate, now.Answer, now.Reason, kept.Answer, kept.Reason)
			}
		}
	}
	c, err := readCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{o: parsed(t, "--base-url", "http://127.0.0.1:8000"), cat: c, srv: &server{engine: "vllm"}}
	var told bytes.Buffer
	verdicts := s.close(&told, out)
	for i, v := range verdicts {
		if want := map[bool]string{true: gate.Unverified, false: gate.Verified}[i == 1]; v != want {
			t.Errorf("row %d is %s, want %s\n%s", i, v, want, told.String())
		}
	}
	for _, want := range []string{"of roof", "  verified\n", "  unverified: recompute: ", "measure check " + out.prefix + ".json"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("%q is not told:\n%s", want, told.String())
		}
	}
}

// The first reason that the table gives is one that failed, where one did; a simulated
// row's client is held against its evidence too.
func TestTheTableTellsOfAFailureFirst(t *testing.T) {
	c, err := readCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	const late = "client: requests were sent 146,324 µs after their time (p99)"
	for engine, want := range map[string]string{
		"vllm":             "  unverified: " + late,
		row.EmbeddedEngine: "  unverified: " + simulatedNote + "; " + late,
	} {
		report, samples, evidence := rowtest.Report(1, rowtest.Options{})
		report.Receipt.Engine.Name = engine
		for i := range samples[0] {
			samples[0][i].Cached = nil
		}
		for i := range evidence[1].Capture {
			evidence[1].Capture[i].DispatchP99 = 146_324
		}
		evidence[1].Metrics, report.AsItWas = nil, nil
		s := &sweep{o: parsed(t, "--base-url", "http://127.0.0.1:8000"), cat: c, srv: &server{engine: engine, embedded: engine == row.EmbeddedEngine}, stamps: report.Client.Stamps}
		m := &finished{samples: samples[0], evidence: evidence[1]}
		s.compute(m, &report.Rows[0].Workload, nil, nil)
		report.Rows = nil
		out := &output{stdout: io.Discard, report: report, evidence: evidence[:1:1]}
		out.add(m, io.Discard)
		if cold := out.judge("")[0][slices.Index(gate.Names, "cold")]; cold.Answer != gate.Unjudged {
			t.Fatalf("gate cold says %s: %s", cold.Answer, cold.Reason)
		}
		var told bytes.Buffer
		s.close(&told, out)
		if !strings.Contains(told.String(), want) {
			t.Errorf("%s: %q is not told:\n%s", engine, want, told.String())
		}
	}
}

// Where no file could be written, none is named for a look at the gates.
func TestNoReportNoHint(t *testing.T) {
	c, err := readCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "full")
	report, samples, evidence := rowtest.Report(1, rowtest.Options{})
	m := &finished{row: report.Rows[0], samples: samples[0], evidence: evidence[1], seed: row.Seed(&report.Rows[0].Workload, samples[0])}
	report.Rows = nil
	out := &output{prefix: filepath.Join(dir, "run"), stdout: io.Discard, report: report, evidence: evidence[:1:1]}
	s := &sweep{o: parsed(t, "--base-url", "http://127.0.0.1:8000", "--output", out.prefix), cat: c, srv: &server{engine: "vllm"}}
	var told bytes.Buffer
	if out.add(m, io.Discard); out.broken == nil {
		t.Fatal("files were written to a folder that is not there")
	}
	if s.close(&told, out); strings.Contains(told.String(), "measure check") {
		t.Errorf("told of files that are not there:\n%s", told.String())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := out.settle(); err != nil {
		t.Fatal(err)
	}
	if s.close(&told, out); !strings.Contains(told.String(), "measure check "+out.prefix+".json") {
		t.Errorf("told nothing of the files:\n%s", told.String())
	}
}

// What a killed run had half written goes with the next one in its folder, and what another
// run may be writing stays.
func TestHalfWrittenFilesAreCleared(t *testing.T) {
	dir := t.TempDir()
	old, young, other := filepath.Join(dir, ".rowproof-partial-1"), filepath.Join(dir, ".rowproof-partial-2"), filepath.Join(dir, ".partial-3")
	for _, name := range []string{old, young, other} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{old, other} {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writable(filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != filepath.Base(other) || left[1].Name() != filepath.Base(young) {
		t.Errorf("%v are left: %v", left, err)
	}
}
