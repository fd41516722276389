package main

import (
	"fmt"
	"slices"
	"strings"

	"rowproof/internal/engine/simulator"
)

// errorsOf is how far a client's figures lie from what was sent and when.
type errorsOf struct {
	First  spread `json:"ttft_error_ns"`
	Gap    spread `json:"itl_error_ns"` // N 0: it writes no gaps
	Mean   spread `json:"mean_itl_error_ns"`
	Joined int    `json:"joined"`             // requests found in the log
	Lost   int    `json:"unstamped"`          // figures that the client says it does not know
	Uneven int    `json:"uneven,omitempty"`   // requests whose gaps are more or fewer than were sent
	Wrong  int    `json:"miscount,omitempty"` // requests whose tokens are
}

// spread is p50, p99 and the worst of N absolute errors in ns, each one that occurred.
type spread struct {
	N   int   `json:"n"`
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func spreadOf(v []int64) spread {
	if len(v) == 0 {
		return spread{}
	}
	slices.Sort(v)
	at := func(permille int) int64 { return v[(len(v)*permille+999)/1000-1] }
	return spread{N: len(v), P50: at(500), P99: at(990), Max: at(1000)}
}

// compare joins reports to the log, request by request. A time to the first token
// begins where the kernel got the request; the client's own begins before that, so the
// way there is part of its error.
func compare(all []reported, log truthLog) (errorsOf, error) {
	var e errorsOf
	var first, gaps, means []int64
	seen := map[int64]bool{}
	for _, r := range all {
		t, err := log.find(r.key)
		if err != nil {
			return e, err
		}
		if seen[t.N] {
			return e, fmt.Errorf("answer %d is reported twice", t.N)
		}
		seen[t.N] = true
		if len(t.Sent) == 0 || t.Status != "ok" {
			return e, fmt.Errorf("answer %d is reported as a success and ended as %q after %d tokens", t.N, t.Status, len(t.Sent))
		}
		e.Joined++
		if r.first == lost {
			e.Lost++
		} else {
			first = append(first, abs(r.first-(t.Sent[0]-t.Received)))
		}
		if r.tokens != len(t.Sent) {
			e.Wrong++
		}
		switch {
		case r.gaps == nil:
			if n := int64(len(t.Sent) - 1); n > 0 {
				means = append(means, abs(r.mean-(t.Sent[n]-t.Sent[0])/n))
			}
		case len(r.gaps) != len(t.Sent)-1:
			e.Uneven++
		default:
			for i, g := range r.gaps {
				if g == lost {
					e.Lost++
					continue
				}
				gaps = append(gaps, abs(g-(t.Sent[i+1]-t.Sent[i])))
			}
		}
	}
	e.First, e.Gap, e.Mean = spreadOf(first), spreadOf(gaps), spreadOf(means)
	return e, nil
}

func abs(v int64) int64 { return max(v, -v) }

// truthLog is what the server says that it did, in order of arrival.
type truthLog struct {
	lines    []simulator.Truth
	byID     map[string]int
	byAnswer map[int64]int
	byPrompt map[string][]int
}

func readTruth(path string) (truthLog, error) {
	l := truthLog{byID: map[string]int{}, byAnswer: map[int64]int{}, byPrompt: map[string][]int{}}
	truth, err := simulator.ReadTruth(path)
	if err != nil {
		return l, err
	}
	for _, t := range truth {
		l.lines = append(l.lines, t)
	}
	slices.SortFunc(l.lines, func(a, b simulator.Truth) int { return int(a.N - b.N) })
	for i, t := range l.lines {
		l.byID[t.ID] = i
		l.byAnswer[t.N] = i
		l.byPrompt[t.Prompt] = append(l.byPrompt[t.Prompt], i)
	}
	return l, nil
}

func (l truthLog) find(k key) (simulator.Truth, error) {
	at, ok := 0, false
	switch {
	case k.id != "":
		at, ok = l.byID[k.id]
	case k.answer != 0:
		at, ok = l.byAnswer[k.answer]
	case k.prompt != "":
		if same := l.byPrompt[k.prompt]; len(same) > 1 {
			return simulator.Truth{}, fmt.Errorf("prompt %s came %d times: its answers cannot be told apart", k.prompt, len(same))
		} else if ok = len(same) == 1; ok {
			at = same[0]
		}
	}
	if !ok {
		return simulator.Truth{}, fmt.Errorf("the truth log does not know the request %s", strings.TrimSpace(fmt.Sprintf("%+v", k)))
	}
	return l.lines[at], nil
}

// loaded is the stretch in which the load ran, the tokens that left, the most requests
// that were under way at once, and the 99th percentile of the server's own lateness.
// Only requests for the load's length count: clients also probe.
func (l truthLog) loaded(length int) (from, to int64, tokens, held int, late int64) {
	type edge struct {
		at   int64
		step int
	}
	var edges []edge
	var lateness []int64
	for _, t := range l.lines {
		if t.OSL != length || len(t.Sent) == 0 {
			continue
		}
		tokens += len(t.Sent)
		end := t.Sent[len(t.Sent)-1]
		edges = append(edges, edge{t.Received, 1}, edge{end, -1})
		for i, at := range t.Sent {
			lateness = append(lateness, at-t.Scheduled[i])
		}
	}
	if edges == nil {
		return 0, 0, 0, 0, 0
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.step - b.step
	})
	now := 0
	for _, e := range edges {
		now += e.step
		held = max(held, now)
	}
	return edges[0].at, edges[len(edges)-1].at, tokens, held, spreadOf(lateness).P99
}
