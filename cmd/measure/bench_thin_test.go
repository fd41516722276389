package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

func longSamples(n int) []row.Sample {
	var out []row.Sample
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		t := row.Gaps{20_000}
		for range 99 {
			t = append(t, 5000+r.Int64N(1000))
		}
		out = append(out, row.Sample{
			I: int64(i), Phase: row.PhaseTimed, Status: row.StatusOK, Worker: int64(i % 4),
			Enqueued: int64(i) * 100_000, Sent: int64(i) * 100_000, ISL: ptr(int64(8)), OSL: ptr(int64(100)), T: t,
		})
	}
	return out
}

func TestLongRowsKeepTheGapsOfASubset(t *testing.T) {
	w := &row.Workload{Protocol: row.Sustained, Load: row.Load{Concurrency: ptr(int64(4))}, Repeats: 1, Requests: ptr(int64(200))}
	whole := row.Compute(w, 0, longSamples(200), nil).Figures
	samples := longSamples(200)
	note, err := thin(samples, 7, 15_000)
	if err != nil || note == "" {
		t.Fatalf("note %q, %v", note, err)
	}
	packed, err := rowfile.EncodeSamples(samples)
	if err != nil || len(packed) > 15_000 || len(packed) < 8_000 {
		t.Errorf("%d bytes, %v", len(packed), err)
	}
	kept := row.Compute(w, 0, samples, nil).Figures
	if *kept.TTFT.P50 != *whole.TTFT.P50 || *kept.TPOT.P50 != *whole.TPOT.P50 || *kept.OutputTokPerSec != *whole.OutputTokPerSec || kept.ITL.N >= whole.ITL.N || kept.ITL.N == 0 {
		t.Errorf("kept %v %v %v of %d gaps, whole %v %v %v of %d", *kept.TTFT.P50, *kept.TPOT.P50, *kept.OutputTokPerSec, kept.ITL.N,
			*whole.TTFT.P50, *whole.TPOT.P50, *whole.OutputTokPerSec, whole.ITL.N)
	}
	again := longSamples(200)
	if _, err := thin(again, 7, 15_000); err != nil || !slices.EqualFunc(again, samples, func(a, b row.Sample) bool { return (a.Chunks == nil) == (b.Chunks == nil) }) {
		t.Error("the same seed kept another subset")
	}
	if note, err := thin(longSamples(20), 7, mostSamples); note != "" || err != nil {
		t.Errorf("a short row was thinned: %q, %v", note, err)
	}
}
