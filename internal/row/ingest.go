package row

import (
	"cmp"
	"math"
	"slices"
)

// span is an open interval of µs since the row's zero.
type span struct{ from, to int64 }

// prefills are the times during which some session of a repeat stood between its sent
// and its first content, in any phase: sorted, and apart from one another.
type prefills []span

func newPrefills(samples []*Sample) prefills {
	spans := make([]span, 0, len(samples))
	for _, s := range samples {
		to, ok := firstSeen(s)
		if !ok && s.Cut() {
			to, ok = math.MaxInt64, true // it was still waiting when the run ended
		}
		if ok && to > s.Sent {
			spans = append(spans, span{s.Sent, to})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// firstSeen is the first content, or where that one has no stamp the first that has.
func firstSeen(s *Sample) (int64, bool) {
	if !s.Kept() {
		return s.FirstContent()
	}
	for _, d := range s.T {
		if d != NoStamp {
			return s.Sent + d, true
		}
	}
	return 0, false
}

// touch says whether a prefill stands anywhere in the gap. A session's own prefill ends
// where its first gap begins, so it never touches its own gaps.
func (p prefills) touch(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(p, from, func(s span, from int64) int {
		if s.to > from {
			return 1
		}
		return -1
	})
	return i < len(p) && p[i].from < to
}
