package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// What the captures say of the client is told for the worst of the rows.
func TestClientsOwnLagIsTold(t *testing.T) {
	samples := []row.Sample{{T: make([]int64, 1000)}}
	var l clientLag
	l.add("128:128 at c=1", &row.Row{}, &row.Evidence{Capture: []row.CaptureStats{{DispatchP99: 20, SweepP99: 30, CPU: 6000, Wall: 100_000, Blocks: 64, BlocksUsed: 3}}}, samples)
	l.add("128:128 at c=8", &row.Row{}, &row.Evidence{Capture: []row.CaptureStats{{DispatchP99: 1500, SweepP99: 10, CPU: 40_000, Wall: 100_000, Blocks: 64, BlocksUsed: 9}, {Wall: 100_000}}}, samples)
	var told bytes.Buffer
	l.tell(&told)
	if want := "\nclient: requests sent late by p99 1.5 ms at worst (128:128 at c=8); its reading thread woken late by p99 30.0 µs; " +
		"23.0 µs of CPU a chunk, at most 40% of a core (128:128 at c=8); ring filled to 9 of 64 blocks; no chunk without a time\n"; told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
	l.add("x", &row.Row{}, &row.Evidence{Capture: []row.CaptureStats{{Unstamped: 2, Drops: 1, LateConnections: 3, Wall: 1}}}, nil)
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

// Where requests were sent later than gate client allows, the line says so.
func TestLatenessBeyondTheGatesLimitIsTold(t *testing.T) {
	of := func(ttft float64, repeats, late int64) (*row.Row, *row.Evidence) {
		r := &row.Row{Workload: row.Workload{Repeats: repeats}, Figures: row.Figures{TTFT: &row.Dist{P50: &ttft}}}
		return r, &row.Evidence{Capture: []row.CaptureStats{{DispatchP99: late, Wall: 1}}}
	}
	told := func(l *clientLag) string {
		var b bytes.Buffer
		l.tell(&b)
		return b.String()
	}
	var l clientLag
	r, e := of(20, 1, 900)
	l.add("a", r, e, nil)
	if got := told(&l); strings.Contains(got, "gate client") {
		t.Errorf("within the limit: %q", got)
	}
	r, e = of(10, 3, 600)
	l.add("b", r, e, nil)
	if got, want := told(&l), "late by p99 900.0 µs at worst (a), 600.0 µs (b) is over the 500.0 µs that gate client allows the median of a row's repeats; "; !strings.Contains(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	r, e = of(20, 1, 146_324)
	l.add("c", r, e, nil)
	if got, want := told(&l), "late by p99 146.3 ms at worst (c), over the 1.0 ms that gate client allows; "; !strings.Contains(got, want) {
		t.Errorf("told %q, want %q", got, want)
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
	if stray := row.StrayNotes(r, &c, samples[0], report.Client.Stamps, nil); stray != nil {
		t.Errorf("gate recompute does not know %q", stray)
	}
}
