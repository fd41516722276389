package row

import "slices"

// NamedDist is a latency figure with its JSON name.
type NamedDist struct {
	Name string
	Dist *Dist
}

// NamedValue is a single figure with its JSON name.
type NamedValue struct {
	Name  string
	Value *float64
}

// Dists lists the latency figures in the order in which they are written.
func (f *Figures) Dists() []NamedDist {
	return []NamedDist{
		{"ttft_ms", f.TTFT}, {"ttfa_ms", f.TTFA}, {"send_ttft_ms", f.SendTTFT}, {"tpot_ms", f.TPOT},
		{"itl_ms", f.ITL}, {"itl_decode_ms", f.ITLDecode}, {"ingest_gap_ms", f.IngestGap},
		{"chunk_gap_ms", f.ChunkGap}, {"e2e_ms", f.E2E},
	}
}

// Scalars lists the other figures in the order in which they are written.
func (f *Figures) Scalars() []NamedValue {
	return []NamedValue{
		{"first_call_ms", f.FirstCall}, {"prefill_tok_s", f.PrefillTokPerSec},
		{"uncached_prefill_tok_s", f.UncachedPrefillTokPerSec}, {"decode_tok_s", f.DecodeTokPerSec},
		{"decode_window_tok_s", f.DecodeWindowTokPerSec}, {"output_tok_s", f.OutputTokPerSec},
		{"total_tok_s", f.TotalTokPerSec}, {"output_tok_s_per_gpu", f.OutputTokPerSecPerGPU},
		{"total_tok_s_per_gpu", f.TotalTokPerSecPerGPU}, {"request_s", f.RequestPerSec},
		{"energy_j_per_output_tok", f.EnergyPerOutputTok}, {"power_w", f.Power},
		{"peak_memory_bytes", f.PeakMemory},
	}
}

// Starts is how many starts of the server the repeats are of: an interval over one start
// cannot see what differs between starts. 0 where a repeat does not say.
func (r *Row) Starts() int {
	var seen []string
	for i := range r.PerRepeat {
		at := r.PerRepeat[i].ServerStartedAt
		if at == "" {
			return 0
		}
		if !slices.Contains(seen, at) {
			seen = append(seen, at)
		}
	}
	return len(seen)
}
