package harness

import (
	"fmt"
	"slices"
)

// pairs are formats of one tool, an aggregate and the requests behind it.
var pairs = map[string]string{"aiperf": "aiperf-requests", "aiperf-csv": "aiperf-requests", "inference-perf": "inference-perf-requests", "genai-bench": "genai-bench-experiment"}

// Join lays the requests of one file into the run of another, where both are of one tool
// and count alike. The order does not matter; it is nil with the reason where they do not
// belong together.
func Join(a, b *Result) (*Result, error) {
	if pairs[b.Format] == a.Format {
		a, b = b, a
	}
	switch {
	case pairs[a.Format] != b.Format:
		return nil, fmt.Errorf("files of %s and %s do not make one run", a.Format, b.Format)
	case len(a.Runs) != 1 || len(b.Runs) != 1:
		return nil, fmt.Errorf("%d runs and %d do not make one", len(a.Runs), len(b.Runs))
	}
	run, of := a.Runs[0], &b.Runs[0]
	if b.Format == "genai-bench-experiment" {
		run.Engine, run.Model, run.Devices, run.Labels = of.Engine, of.Model, of.Devices, of.Labels
		joined := *a
		joined.Version, joined.Runs = b.Version, []Run{run}
		return &joined, nil
	}
	if n := run.Workload.Requests; n != nil && *n != int64(len(of.Samples)) {
		return nil, fmt.Errorf("the aggregate is of %d requests, the requests' file holds %d", *n, len(of.Samples))
	}
	run.Samples, run.NoSamples = of.Samples, of.NoSamples
	if run.At == "" {
		run.At = of.At
	}
	run.Stated = slices.Clone(run.Stated)
	run.unmade()
	joined := *a
	joined.Runs = []Run{run}
	joined.Left = append(append([]string{}, a.Left...), b.Left...)
	return &joined, nil
}

// Pair says whether two results are of formats that belong together.
func Pair(a, b *Result) bool { return pairs[a.Format] == b.Format || pairs[b.Format] == a.Format }
