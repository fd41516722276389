package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// The words with which notes begin; readers of the CSV match them.
const (
	coldNote = "prompts=cold (a fresh prompt every iteration; prefill_tok_s prices prompt ingest)"
	warmNote = "prompts=warm (the warm-up and every iteration reuse one prompt set; prefill_tok_s reads cache admits)"
)

const simulatedNote = "simulated: not a measurement"

// notes says what a row measured. Those in words of this program hold no comma, so that
// the CSV needs no quotes round them; a server's own words stay as they are.
func notes(w *row.Workload, r *row.Row, seed row.SeedColumns, extra []string) []string {
	n := []string{coldNote}
	if w.Prompts.State == row.Warm {
		n[0] = warmNote
	}
	if w.Prompts.SharedPrefix > 0 {
		n = append(n, "shared_prefix="+strconv.FormatInt(w.Prompts.SharedPrefix, 10))
	}
	n = append(n, "protocol="+w.Protocol)
	switch {
	case w.Requests != nil:
		n = append(n, "requests="+strconv.FormatInt(*w.Requests, 10))
	case w.DurationS != nil:
		n = append(n, "duration_s="+strconv.FormatInt(*w.DurationS, 10))
	}
	if w.Repeats > 1 {
		n = append(n, "repeats="+strconv.FormatInt(w.Repeats, 10))
	}
	if w.Warmup == 0 {
		n = append(n, "cold start: no warm-up")
	}
	if c := r.Counts.CachedTokens; c != nil {
		n = append(n, "cached_tok="+strconv.FormatInt(*c, 10))
	} else if c := r.Server.CachedTok; c != nil {
		n = append(n, "cached_tok="+strconv.FormatInt(*c, 10)+" (with warm-up)")
	}
	for _, s := range emptyColumns(r, seed) {
		n = append(n, strings.ReplaceAll(s, ",", ";"))
	}
	n = append(n, extra...)
	for i, s := range n[1:] {
		n[i+1] = oneNote(s)
	}
	return n
}

// observed says where lengths are not those that were asked for, and where the server
// counted no tokens.
func observed(w *row.Workload, c *row.Counts) (out []string) {
	for _, l := range []struct {
		name  string
		seen  *row.Range
		asked int64
	}{{"isl", c.ISL, w.ISL}, {"osl", c.OSL, w.OSL}} {
		if l.seen != nil && (l.seen.Min != l.asked || l.seen.Max != l.asked) {
			out = append(out, fmt.Sprintf("%s=%d..%d of %d asked", l.name, l.seen.Min, l.seen.Max, l.asked))
		}
	}
	switch c.TokensFrom {
	case row.TokensClient:
		out = append(out, "tokens counted by chunks (the server reports no usage)")
	case row.TokensIDs:
		out = append(out, "tokens counted by their ids in the chunks (the server reports no usage)")
	}
	return out
}

// manyShared is the share of the chunks beyond which it matters that a read brought
// several under one stamp.
const manyShared = 0.001

// stampNotes says where the arrival times come from, unless from a ring, and how many
// of them stand for several chunks.
func stampNotes(stamps string, c *row.Counts) (out []string) {
	if stamps != "" && stamps != loadgen.StampsRing {
		out = append(out, "stamps="+stamps)
	}
	if share := float64(c.SharedStamps) / float64(max(c.Chunks, 1)); share > manyShared {
		out = append(out, fmt.Sprintf("shared_stamps=%.1f%% of the chunks (one read brought several)", 100*share))
	}
	return out
}

// emptyColumns gives the reason of each CSV column that stays empty.
func emptyColumns(r *row.Row, seed row.SeedColumns) []string {
	var out, silent []string
	for _, c := range []struct {
		name   string
		absent bool
		reason string
	}{
		{"first_call_ms", seed.FirstCall == nil, r.Missing["first_call_ms"]},
		{"ttft_ms", seed.TTFT == nil, r.Missing["ttft_ms"]},
		{"prefill_tok_s", seed.PrefillTokPerSec == nil, r.Missing["prefill_tok_s"]},
		{"itl_p50_ms", seed.ITLP50 == nil, firstOf(r.Missing, "itl_decode_ms.p50", "itl_decode_ms")},
		{"itl_p99_ms", seed.ITLP99 == nil, firstOf(r.Missing, "itl_decode_ms.p99", "itl_decode_ms")},
		{"prefill_chunk_ms_p50", seed.ChunkP50 == nil, firstOf(r.Missing, "ingest_gap_ms.p50", "ingest_gap_ms")},
		{"prefill_chunk_ms_max", seed.ChunkMax == nil, r.Missing["ingest_gap_ms"]},
		{"decode_tok_s", seed.DecodeTokPerSec == nil, r.Missing["decode_tok_s"]},
	} {
		if c.absent && c.reason != "" {
			out = append(out, c.name+": "+c.reason)
		}
	}
	for _, c := range []struct {
		name   string
		absent bool
	}{
		{"admitted_tok", r.Server.AdmittedTok == nil},
		{"peak_active_bytes", r.Server.PeakActive == nil},
		{"num_allocs", r.Server.NumAllocs == nil},
		{"num_inflight_park_waits", r.Server.ParkWaits == nil},
	} {
		if c.absent {
			silent = append(silent, c.name)
		}
	}
	if len(silent) > 0 {
		out = append(out, "the engine does not say: "+strings.Join(silent, " "))
	}
	return slices.Compact(out)
}

func firstOf(m map[string]string, keys ...string) string {
	for _, k := range keys {
		if m[k] != "" {
			return m[k]
		}
	}
	return ""
}

// oneNote keeps a note on one line and to a length that can be read.
func oneNote(s string) string {
	s = strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}
