package api

// Units are the units of all figures, by JSON name. Of a distribution each percentile has
// it, and so have the interval's ends.
var Units = map[string]string{
	"ttft_ms": "ms", "ttfa_ms": "ms", "send_ttft_ms": "ms", "tpot_ms": "ms", "itl_ms": "ms", "itl_decode_ms": "ms",
	"ingest_gap_ms": "ms", "chunk_gap_ms": "ms", "e2e_ms": "ms", "first_call_ms": "ms",
	"prefill_tok_s": "tok/s", "uncached_prefill_tok_s": "tok/s", "decode_tok_s": "tok/s", "decode_window_tok_s": "tok/s",
	"output_tok_s": "output tok/s", "total_tok_s": "input+output tok/s",
	"output_tok_s_per_gpu": "output tok/s/GPU", "total_tok_s_per_gpu": "input+output tok/s/GPU",
	"request_s": "requests/s", "energy_j_per_output_tok": "J per output token", "power_w": "W", "peak_memory_bytes": "bytes",
	"tok_s_per_user": "tok/s/user", "roof_share": "of the hard roof",
}
