package row_test

import (
	"slices"
	"testing"

	"rowproof/internal/row"
)

// What a run writes about itself stands; the same with another number, and words of
// anyone else, do not.
func TestStrayNotes(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	r := row.Row{Workload: row.Workload{Protocol: row.Sustained, ISL: 128, OSL: 64, DurationS: n(15), Repeats: 3,
		Load: row.Load{Concurrency: n(4)}, Prompts: row.Prompts{State: row.Cold, SharedPrefix: 32}}}
	c := row.Computed{
		Missing: map[string]string{"itl_decode_ms.p99": "50 samples a repeat; p99 needs 100"},
		Counts: row.Counts{Completed: 3, CachedTokens: n(96), OSL: &row.Range{Min: 60, Max: 64}, ISL: &row.Range{Min: 128, Max: 128},
			Chunks: 1000, SharedStamps: 25, TokensFrom: row.TokensUsage},
	}
	samples := []row.Sample{{}, {Chunks: n(3)}}
	written := row.Row{Workload: r.Workload, Missing: c.Missing, Counts: c.Counts}
	own := row.Notes(&written, row.SeedColumns{}, "ktime")
	for _, want := range []string{
		"prompts=cold (a fresh prompt every iteration; prefill_tok_s prices prompt ingest)", "shared_prefix=32",
		"protocol=sustained", "duration_s=15", "repeats=3", "cold start: no warm-up", "cached_tok=96",
		"itl_p99_ms: 50 samples a repeat; p99 needs 100", "osl=60..64 of 64 asked", "stamps=ktime",
		"shared_stamps=2.5% of the chunks (one read brought several)",
		"the engine does not say: admitted_tok peak_active_bytes num_allocs num_inflight_park_waits",
	} {
		if !slices.Contains(own, want) {
			t.Errorf("not written: %s\nin %q", want, own)
		}
	}
	r.Notes = append(own, "gaps kept of 1 of 2 requests drawn by the seed", "device=cuda",
		"prompt=text calibrated (1.25 tokens a word and 7 around them)", "the packet ring dropped 12 packets",
		"HTTP_PROXY, ALL_PROXY of the environment was not used: the server itself is measured",
		"content parts of type output_text are unknown and were counted as content")
	if stray := row.StrayNotes(&r, &c, samples, "ktime", nil); len(stray) > 0 {
		t.Errorf("refused: %q", stray)
	}
	r.Notes = []string{
		"repeats=4", "duration_s=16", "cached_tok=0", "protocol=passes", "shared_prefix=31", "osl=61..64 of 64 asked",
		"stamps=ring", "shared_stamps=2.4% of the chunks (one read brought several)", "itl_p99_ms: 60 samples a repeat; p99 needs 100",
		"gaps kept of 2 of 2 requests drawn by the seed", "device=fast", "the packet ring dropped packets",
		"verified by hand", "the packet ring dropped 12 packets; and none of it matters", "",
	}
	if stray := row.StrayNotes(&r, &c, samples, "ktime", nil); !slices.Equal(stray, r.Notes) {
		t.Errorf("refused %q of %q", stray, r.Notes)
	}
}

// Of an open loop the notes say how requests came and of which file; of a trace also what
// share of its prompt tokens a cache served, beside what one without bounds would have.
func TestNotesOfAnOpenLoopAndATrace(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	rate, burstiness, hash := "2.5", "0.5", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	w := row.Workload{Protocol: row.Sustained, ISL: 700, OSL: 60, Requests: n(100), Repeats: 1, Warmup: 8, Sessions: n(3), Block: n(512),
		Load:    row.Load{Concurrency: n(8), RequestRate: &rate, Burstiness: &burstiness},
		Prompts: row.Prompts{Kind: row.PromptsTrace, State: row.Cold, SHA256: &hash},
		Lengths: &row.Lengths{ISLP50: 700, ISLP99: 9000, OSLP50: 60, OSLP99: 300}}
	r := row.Row{Workload: w, Counts: row.Counts{CachedTokens: n(250), PromptTokens: n(1000), CommonTokens: n(255),
		ISL: &row.Range{Min: 5, Max: 9100}, TokensFrom: row.TokensUsage}}
	want := []string{row.TraceNote, "trace=0123456789ab", "trace_block=512", "sessions=3", "isl p50=700 p99=9000 osl p50=60 p99=300", "protocol=sustained",
		"request_rate=2.5", "burstiness=0.5", "max_concurrency=8", "no streams in open loop: speedup_vs_c1 batching_efficiency admitted_tok",
		"requests=100", "cached_tok=250 (25.0% of the prompt tokens; in theory 255 or 25.5%)",
		"the engine does not say: peak_active_bytes num_allocs num_inflight_park_waits"}
	if got := row.Notes(&r, row.SeedColumns{}, "ring"); !slices.Equal(got, want) {
		t.Errorf("notes\n%q, want\n%q", got, want)
	}
	r.Workload.Prompts.Kind, r.Workload.Load.Concurrency, r.Workload.Load.Burstiness = row.PromptsDataset, nil, nil
	got := row.Notes(&r, row.SeedColumns{}, "ring")
	for _, want := range []string{row.ColdNote, "dataset=0123456789ab", "no streams in open loop: concurrency speedup_vs_c1 batching_efficiency admitted_tok"} {
		if !slices.Contains(got, want) {
			t.Errorf("not written: %s\nin %q", want, got)
		}
	}
}
