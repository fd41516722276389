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
		Prompts: row.Prompts{State: row.Cold, SharedPrefix: 32}}}
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
	if stray := row.StrayNotes(&r, &c, samples, "ktime"); len(stray) > 0 {
		t.Errorf("refused: %q", stray)
	}
	r.Notes = []string{
		"repeats=4", "duration_s=16", "cached_tok=0", "protocol=passes", "shared_prefix=31", "osl=61..64 of 64 asked",
		"stamps=ring", "shared_stamps=2.4% of the chunks (one read brought several)", "itl_p99_ms: 60 samples a repeat; p99 needs 100",
		"gaps kept of 2 of 2 requests drawn by the seed", "device=fast", "the packet ring dropped packets",
		"verified by hand", "the packet ring dropped 12 packets; and none of it matters", "",
	}
	if stray := row.StrayNotes(&r, &c, samples, "ktime"); !slices.Equal(stray, r.Notes) {
		t.Errorf("refused %q of %q", stray, r.Notes)
	}
}
