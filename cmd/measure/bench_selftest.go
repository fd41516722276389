package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// The selftest: one pass of streams with a token each 20 ms.
const (
	selftestGap  = 20 * time.Millisecond
	leastStreams = 8
)

// selftestTokens of each stream make two seconds; tests take fewer.
var selftestTokens = 100

// selftest holds this host's client against an engine whose truth is known, with as
// many streams as the run will open.
func selftest(ctx context.Context, streams int, stamps string) (*row.Selftest, error) {
	cfg := simulator.Default()
	cfg.Gap, cfg.GapPerStream = selftestGap, 0
	cfg.MaxRunning = max(streams, leastStreams)
	// Prefills are queued one at a time: short ones spread the streams over one gap.
	cfg.Prefill, cfg.PrefillPerToken = selftestGap/time.Duration(cfg.MaxRunning), 0
	child, err := simulator.StartChild(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer os.Remove(child.TruthPath)
	defer child.Stop()
	base, err := url.Parse(child.BaseURL)
	if err != nil {
		return nil, err
	}
	w := row.Workload{ISL: 16, OSL: int64(selftestTokens), Endpoint: benchEndpoints[0], Sampling: row.Sampling{Temperature: "0", IgnoreEOS: true}}
	srv := &server{base: base, model: cfg.Model, engine: engine.Embedded}
	spec := loadgen.Spec{
		Base:        base,
		Header:      http.Header{},
		Protocol:    row.Passes,
		Concurrency: cfg.MaxRunning,
		Iters:       1,
		Build:       srv.build(&w, srv.prompts(&w, 1, &used{}), 0),
		Timeout:     time.Minute,
		Stamps:      stamps,
		Zero:        loadgen.Now(),
	}
	capture, err := loadgen.Run(ctx, spec)
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
	gaps, first, err := disagreement(capture, engine.Samples(capture), truth)
	if err != nil {
		return nil, err
	}
	return &row.Selftest{
		Streams:     int64(spec.Concurrency),
		ITLErrorNS:  spread(gaps),
		TTFTErrorNS: spread(first),
		Gaps:        int64(len(gaps)),
	}, nil
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
		t, ok := truth[simulator.Number(c.Outcomes[i].Body)]
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
