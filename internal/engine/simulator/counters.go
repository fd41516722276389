package simulator

import (
	"fmt"
	"io"
	"math/bits"
	"sync/atomic"
	"time"
)

// counters is what /metrics shows. The timetable writes them, anyone may read.
type counters struct {
	maxRunning, maxBlocks int64
	started               time.Time

	running, waiting, live, peak        atomic.Int64
	prompt, generated, cached, admitted atomic.Int64
	allocs, parked                      atomic.Int64
	ok, gone, refused                   atomic.Int64
	late                                lateness
}

// active is the pretended memory in use: weights and the blocks that streams hold.
func (c *counters) active() int64 { return weightBytes + c.live.Load()*blockBytes }

func (c *counters) ended(status string) {
	if status == statusOK {
		c.ok.Add(1)
	} else {
		c.gone.Add(1)
	}
}

// write prints the counters in the Prometheus text form.
func (c *counters) write(w io.Writer) {
	metric := func(name, kind, help string, v any) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %v\n", name, help, name, kind, name, v)
	}
	const gauge, counter = "gauge", "counter"
	metric("rowproof:num_requests_running", gauge, "Streams that hold a slot.", c.running.Load())
	metric("rowproof:num_requests_waiting", gauge, "Requests that have not begun their prefill.", c.waiting.Load())
	metric("rowproof:max_slots", gauge, "Streams that may run at once.", c.maxRunning)
	metric("rowproof:kv_cache_usage_perc", gauge, "Share of the blocks that streams hold, from 0 to 1.",
		float64(c.live.Load())/float64(c.maxBlocks))
	metric("rowproof:active_bytes", gauge, "Weights and held blocks, pretended.", c.active())
	metric("rowproof:peak_active_bytes", gauge, "The most that active_bytes was since the start.", c.peak.Load())
	metric("rowproof:prompt_tokens_total", counter, "Prompt tokens of admitted requests.", c.prompt.Load())
	metric("rowproof:cached_tokens_total", counter, "Prompt tokens that the prefix cache held.", c.cached.Load())
	metric("rowproof:admitted_tokens_total", counter, "Prompt tokens admitted in whole blocks.", c.admitted.Load())
	metric("rowproof:generation_tokens_total", counter, "Tokens issued.", c.generated.Load())
	metric("rowproof:num_allocs_total", counter, "Blocks taken from the pool.", c.allocs.Load())
	metric("rowproof:num_inflight_park_waits_total", counter, "Requests that found no free slot on arrival.", c.parked.Load())
	metric("rowproof:num_preemptions_total", counter, "Always 0: an admitted stream keeps its blocks.", 0)
	fmt.Fprint(w, "# HELP rowproof:requests_total Requests by how they ended.\n# TYPE rowproof:requests_total counter\n")
	fmt.Fprintf(w, "rowproof:requests_total{end=\"ok\"} %d\n", c.ok.Load())
	fmt.Fprintf(w, "rowproof:requests_total{end=\"gone\"} %d\n", c.gone.Load())
	fmt.Fprintf(w, "rowproof:requests_total{end=\"refused\"} %d\n", c.refused.Load())
	l := c.late.read()
	fmt.Fprint(w, "# HELP rowproof:lateness_seconds How long after its due time a token was written.\n# TYPE rowproof:lateness_seconds summary\n")
	fmt.Fprintf(w, "rowproof:lateness_seconds{quantile=\"0.5\"} %g\n", l.P50.Seconds())
	fmt.Fprintf(w, "rowproof:lateness_seconds{quantile=\"0.99\"} %g\n", l.P99.Seconds())
	fmt.Fprintf(w, "rowproof:lateness_seconds_count %d\n", l.N)
	metric("rowproof:lateness_max_seconds", gauge, "The worst lateness since the start.", l.Max.Seconds())
	metric("process_start_time_seconds", gauge, "Start of the server in seconds since 1970.",
		fmt.Sprintf("%.2f", float64(c.started.UnixMilli())/1000))
}

// Lateness is the server's own error: how long after its due time a token was written.
type Lateness struct {
	N             int64
	P50, P99, Max time.Duration // P50 and P99 within 3%, rounded up
}

func (l Lateness) String() string {
	if l.N == 0 {
		return "no token was streamed"
	}
	return fmt.Sprintf("%d tokens, late by p50 %v, p99 %v, max %v", l.N, l.P50, l.P99, l.Max)
}

// lateness is a histogram of nanoseconds with 32 buckets an octave.
type lateness struct {
	buckets [64 * 32]atomic.Int64
	max     atomic.Int64
}

func (l *lateness) add(ns int64) {
	ns = max(ns, 0)
	l.buckets[bucket(uint64(ns))].Add(1)
	if ns > l.max.Load() { // one writer
		l.max.Store(ns)
	}
}

// bucket finds the place of v: exact below 32, then 32 to each doubling.
func bucket(v uint64) int {
	if v < 32 {
		return int(v)
	}
	shift := bits.Len64(v) - 6
	return (shift+1)*32 + int(v>>shift) - 32
}

// ceil is the greatest value of a bucket.
func ceil(b int) int64 {
	if b < 32 {
		return int64(b)
	}
	shift := b/32 - 1
	return int64(uint64(b%32+33)<<shift) - 1
}

func (l *lateness) read() Lateness {
	var n [len(l.buckets)]int64
	var sum int64
	for i := range n {
		n[i] = l.buckets[i].Load()
		sum += n[i]
	}
	out := Lateness{N: sum, Max: time.Duration(l.max.Load())}
	at := func(permille int64) time.Duration {
		rank := (sum*permille + 999) / 1000
		var seen int64
		for i, c := range n {
			seen += c
			if c > 0 && seen >= rank {
				return time.Duration(min(ceil(i), int64(out.Max)))
			}
		}
		return 0
	}
	out.P50, out.P99 = at(500), at(990)
	return out
}
