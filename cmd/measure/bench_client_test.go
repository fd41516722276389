package main

import (
	"bytes"
	"slices"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// What the captures say of the client is told for the worst of the rows.
func TestClientsOwnLagIsTold(t *testing.T) {
	samples := []row.Sample{{T: make([]int64, 1000)}}
	var l clientLag
	l.add("128:128 at c=1", &row.Evidence{Capture: []row.CaptureStats{{DispatchP99: 20, SweepP99: 30, CPU: 6000, Wall: 100_000, Blocks: 64, BlocksUsed: 3}}}, samples)
	l.add("128:128 at c=8", &row.Evidence{Capture: []row.CaptureStats{{DispatchP99: 1500, SweepP99: 10, CPU: 40_000, Wall: 100_000, Blocks: 64, BlocksUsed: 9}, {Wall: 100_000}}}, samples)
	var told bytes.Buffer
	l.tell(&told)
	if want := "\nclient: requests sent late by p99 1.5 ms at worst (128:128 at c=8); its reading thread woken late by p99 30.0 µs; " +
		"23.0 µs of CPU a chunk, at most 40% of a core (128:128 at c=8); ring filled to 9 of 64 blocks; no chunk without a time\n"; told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
	l.add("x", &row.Evidence{Capture: []row.CaptureStats{{Unstamped: 2, Drops: 1, LateConnections: 3, Wall: 1}}}, nil)
	told.Reset()
	l.tell(&told)
	if want := "; 2 chunks without a time, 1 packet dropped; 3 connections opened after the clock had started\n"; !bytes.HasSuffix(told.Bytes(), []byte(want)) {
		t.Errorf("told %q, want %q at its end", told.String(), want)
	}
	told.Reset()
	(&clientLag{}).tell(&told)
	if told.Len() > 0 {
		t.Errorf("of no capture: %q", told.String())
	}
}

// A client that took most of a core is named in the row, in a form that gate recompute knows.
func TestABusyClientIsNoted(t *testing.T) {
	idle, busy := row.CaptureStats{CPU: 70, Wall: 100}, row.CaptureStats{CPU: 93, Wall: 100}
	if n := busyNote([]row.CaptureStats{idle}); n != nil {
		t.Errorf("noted %q", n)
	}
	n := busyNote([]row.CaptureStats{idle, busy})
	if !slices.Equal(n, []string{"the client took 93% of a core: it may have been the limit"}) {
		t.Fatalf("noted %q", n)
	}
	report, samples, evidence := rowtest.Report(1, rowtest.Options{})
	r := &report.Rows[0]
	r.Notes = append(r.Notes, n...)
	c := row.Compute(&r.Workload, 0, samples[0], &evidence[1])
	if stray := row.StrayNotes(r, &c, samples[0], report.Client.Stamps); stray != nil {
		t.Errorf("gate recompute does not know %q", stray)
	}
}
