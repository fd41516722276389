package row

import (
	"cmp"
	"slices"
)

// PeakStreams is the greatest number of requests that stood between their first and
// their last content at one time, one value a repeat, whatever their phase.
func PeakStreams(samples []Sample) []int64 {
	groups := byRepeat(samples)
	out := make([]int64, len(groups))
	for i, group := range groups {
		type edge struct{ at, step int64 }
		edges := make([]edge, 0, 2*len(group))
		for _, s := range group {
			first, okFirst := s.FirstContent()
			last, okLast := s.LastContent()
			if okFirst && okLast {
				edges = append(edges, edge{first, 1}, edge{last, -1})
			}
		}
		// At one moment a stream that begins still meets one that ends.
		slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step)) })
		var now int64
		for _, e := range edges {
			now += e.step
			out[i] = max(out[i], now)
		}
	}
	return out
}
