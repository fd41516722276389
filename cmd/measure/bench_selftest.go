package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
)

// A selftest is one pass of streams with a token each 20 ms.
const selftestGap = 20 * time.Millisecond

// selftestTokens of each stream make two seconds and a half, and gaps enough of a single
// stream for a 99th percentile; tests take fewer.
var selftestTokens = 128

// A run's own selftest has this many streams or more, for enough first tokens.
const leastStreams = 8

// A truth server that is later than this in one token of a hundred did not keep pace:
// its own thread waited for a core, and what differs then is not the client's error alone.
// Tests, which run beside one another, are given more.
var paceKept = selftestGap / 4

// tested is this host's client held against an engine whose truth is known, with one
// number of streams.
type tested struct {
	row.SelftestLevel
	stamps string        // which the client had: ring, ktime or read
	chunks int64         // that came
	lost   int64         // of them, those without a stamp
	cpu    int64         // of the client's process, in µs; 0: not known
	late   row.ErrorDist // how long after its due time the engine wrote a token, in ns
}

// littleError is small enough that no lateness of the engine can have spoilt it.
const littleError = 50 * time.Microsecond

// kept says whether the errors are the client's: the engine kept pace, or fell behind and
// yet they are small, since they are against the times at which it really wrote.
func (t *tested) kept() bool {
	return t.late.P99 <= int64(paceKept) || t.ITLErrorNS.P99 <= int64(littleError)
}

// offPace says in words that the engine did not keep pace.
func (t *tested) offPace() string {
	return fmt.Sprintf("with %s the embedded engine wrote its tokens late (p99 %s ms): this host was too busy or is too weak to tell the client's error from the engine's; try again when nothing else runs, or allow real-time priority (CAP_SYS_NICE)",
		countOf(int(t.Streams), "stream"), shortMS(t.late.P99))
}

// selftest drives an embedded engine with so many streams and compares.
func selftest(ctx context.Context, streams int, stamps string) (*tested, error) {
	cfg := simulator.Default()
	cfg.Gap, cfg.GapPerStream = selftestGap, 0
	cfg.MaxRunning = streams
	// Prefills are queued one at a time: short ones spread the streams over one gap.
	cfg.Prefill, cfg.PrefillPerToken = selftestGap/time.Duration(streams), 0
	cfg.CacheBlocks = max(cfg.CacheBlocks, streams*(selftestTokens/simulator.BlockTokens+2))
	child, err := simulator.StartChild(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer child.Forget()
	defer child.Stop()
	base, err := url.Parse(child.BaseURL)
	if err != nil {
		return nil, err
	}
	w := row.Workload{ISL: 16, OSL: int64(selftestTokens), Endpoint: engine.PathCompletions, Sampling: row.Sampling{Temperature: "0", IgnoreEOS: true}}
	srv := &server{base: base, model: cfg.Model, engine: engine.Embedded}
	capture, err := loadgen.Run(ctx, loadgen.Spec{
		Base:        base,
		Header:      http.Header{},
		Protocol:    row.Passes,
		Concurrency: streams,
		Iters:       1,
		Build:       srv.build(&w, srv.random(&w, 1, &prompts.Used{}), 0),
		Timeout:     time.Minute,
		Stamps:      stamps,
		Zero:        loadgen.Now(),
	})
	if err != nil {
		return nil, err
	}
	if err := child.Stop(); err != nil {
		return nil, err
	}
	truth, err := simulator.ReadTruth(child.TruthPath)
	if err != nil {
		return nil, err
	}
	samples := engine.Samples(capture)
	gaps, first, err := disagreement(capture, samples, truth)
	if err != nil {
		return nil, err
	}
	t := &tested{stamps: capture.Stats.Stamps, cpu: capture.Stats.CPU, late: spread(lateness(truth))}
	t.Streams = int64(streams)
	t.Gaps = int64(len(gaps))
	t.ITLErrorNS, t.TTFTErrorNS = spread(gaps), spread(first)
	for _, s := range samples {
		t.chunks += int64(len(s.T))
		for _, at := range s.T {
			if at == row.NoStamp {
				t.lost++
			}
		}
	}
	return t, nil
}

// lateness is by how many ns each token was written after its due time.
func lateness(truth map[string]simulator.Truth) []int64 {
	var late []int64
	for _, t := range truth {
		for i, sent := range t.Sent {
			late = append(late, max(0, sent-t.Scheduled[i]))
		}
	}
	return late
}

// disagreement is, in ns, by how much each gap of a capture differs from the gap as
// sent, and by how much each first token's time does: the lag of its stamp, and what a
// send stamp after the request's arrival would hide. The way to the server is no error:
// it belongs to TTFT.
func disagreement(c *loadgen.Capture, samples []row.Sample, truth map[string]simulator.Truth) (gaps, first []int64, err error) {
	if len(samples) != len(c.Outcomes) {
		return nil, nil, fmt.Errorf("%d samples of %d requests", len(samples), len(c.Outcomes))
	}
	for i, s := range samples {
		if !s.OK() {
			return nil, nil, fmt.Errorf("request %d failed: %s", s.I, s.Reason)
		}
		o := &c.Outcomes[i]
		if err := o.Load(); err != nil {
			return nil, nil, err
		}
		t, ok := truth[simulator.Number(o.Body)]
		o.Unload()
		if !ok || len(t.Sent) != len(s.T) {
			return nil, nil, fmt.Errorf("request %d: %d chunks came, %d tokens were sent", s.I, len(s.T), len(t.Sent))
		}
		sent := c.Spec.Zero + 1000*s.Sent
		at, known := sent, true // of the chunk before, while its stamp is known
		for j, gap := range s.T {
			if gap == row.NoStamp {
				known = false
				continue
			}
			at += 1000 * gap
			switch {
			case j == 0:
				first = append(first, abs(at-t.Sent[0])+max(0, sent-t.Arrived))
			case known:
				gaps = append(gaps, abs(1000*gap-(t.Sent[j]-t.Sent[j-1])))
			}
			known = true
		}
	}
	if len(gaps) == 0 || len(first) == 0 {
		return nil, nil, errors.New("no stamped gap to compare")
	}
	return gaps, first, nil
}

// spread sorts errors and takes p50, p99 and the worst, each as an error that occurred.
func spread(v []int64) row.ErrorDist {
	slices.Sort(v)
	at := func(permille int) int64 { return v[(len(v)*permille+999)/1000-1] }
	return row.ErrorDist{P50: at(500), P99: at(990), Max: at(1000)}
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// clientError is the client's error with as many streams as the run opens: of the
// calibration of this host where there is one, else of a selftest now. why says why
// there is none; w is told of a calibration that can't be read.
func clientError(ctx context.Context, w io.Writer, streams int64, stamps string) (t *row.Selftest, why string) {
	t, unread := calibrated(streams, stamps)
	if t != nil {
		return t, ""
	}
	if unread != "" {
		fmt.Fprintln(w, "measure bench: "+unread)
	}
	now, err := selftest(ctx, int(max(streams, leastStreams)), stamps)
	switch {
	case err != nil:
		return nil, strings.ReplaceAll(err.Error(), "\n", "; ")
	case !now.kept():
		return nil, now.offPace()
	}
	return &row.Selftest{Streams: now.Streams, ITLErrorNS: now.ITLErrorNS, TTFTErrorNS: now.TTFTErrorNS, Gaps: now.Gaps}, ""
}
