package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

// benchColumns explains the CSV's columns as far as their names do not.
const benchColumns = `
Columns of the CSV, a line for each shape and load. With --repeats each figure is the
median of the repeats'. An unknown figure is an empty cell, and notes say why.
  isl, osl, concurrency    as asked: prompt and output in tokens, streams at once; the
                           medians of a trace or a dataset; in open loop --max-concurrency
                           or empty, and notes say request_rate
  first_call_ms            the whole of the row's very first request, warm-up or not
  ttft_ms                  time to the first token: mean of the timed requests
  prefill_tok_s            prompt tokens ÷ TTFT: mean of the timed requests
  itl_p50_ms, itl_p99_ms   gaps between tokens: median and 99th percentile, without those
                           in which another stream's prompt was taken in
  prefill_chunk_ms_p50     gaps in which another stream's prompt was taken in: median;
                           0 where there were none
  prefill_chunk_ms_max     the longest of them
  decode_tok_s             output tokens a second of all streams, over whole passes, or
                           from the first timed request to the last one's end
  speedup_vs_c1            decode_tok_s ÷ that of the same shape at concurrency 1; empty
                           in open loop, as are the next two
  batching_efficiency      speedup_vs_c1 ÷ concurrency
  admitted_tok             prompt tokens of one pass that the engine took in whole blocks
  retires                  requests completed, warm-up included
  peak_active_bytes        weights and the most cache in use during the row
  num_allocs               allocations of the engine's runtime during the row
  num_inflight_park_waits  requests that waited for a slot during the row
  status, reason           ok, or error with what went wrong
  notes                    how prompts were made, protocol, how requests came, of a trace
                           the share of its prompt tokens that was cached and that could
                           have been, and what else to know
admitted_tok, peak_active_bytes, num_allocs and num_inflight_park_waits are the engine's
own counters, and empty where it has none.
`

// withColumns adds them to the help.
func withColumns(fs *pflag.FlagSet) {
	before := fs.Usage
	fs.Usage = func() {
		before()
		fmt.Fprint(fs.Output(), benchColumns)
	}
}
