package roofline

import "slices"

// MeanContext is the context at which a decode step needs no more than the steps need on
// average whose caches hold first, first+1, … last tokens. Where every layer reads all of
// the cache, or as much of it at every step, that is their mean. Where some see only a
// window, a chunk or a selection, what they read does not grow as the cache does: it is
// then the greatest of the lengths, up to the mean, at which neither bytes nor arithmetic
// pass the mean of the steps'.
func (q Query) MeanContext(first, last int64) float64 {
	mean := float64(first+last) / 2
	q = q.sound()
	ends := q.bends(first, last)
	switch len(ends) {
	case 0:
		return 0
	case 1:
		return mean
	}
	in := Pack(q)
	at := func(s float64) (memory, compute float64) {
		in[SlotContext] = s
		out := CeilingPacked(in)
		return out[OutMemoryMS], out[OutComputeMS]
	}
	// Between two ends both grow evenly, so that a stretch's mean is its middle's.
	var memory, compute float64
	from := first
	for _, end := range ends {
		n := float64(end - from + 1)
		m, c := at(float64(from+end) / 2)
		memory += float64(n * m)
		compute += float64(n * c)
		from = end + 1
	}
	n := float64(last - first + 1)
	memory, compute = memory/n, compute/n
	fits := func(s int64) bool {
		m, c := at(float64(s))
		return !(m > memory) && !(c > compute)
	}
	for i := len(ends) - 1; i >= 0; i-- {
		low, high := first, min(ends[i], int64(mean))
		if i > 0 {
			low = ends[i-1] + 1
		}
		if low > high || !fits(low) {
			continue
		}
		for low < high {
			if mid := low + (high-low+1)/2; fits(mid) {
				low = mid
			} else {
				high = mid - 1
			}
		}
		return float64(low)
	}
	return float64(first)
}

// mostChunks bounds the chunks that a sequence is followed through.
const mostChunks = 4096

// bends are the last lengths of the stretches over which what a step reads grows evenly;
// the last of them is last. There are none where they would be too many to follow, and no
// context is then known that the steps surely read.
func (q Query) bends(first, last int64) []int64 {
	ends := []int64{last}
	add := func(end int64) {
		if end >= first && end < last {
			ends = append(ends, end)
		}
	}
	if q.Model != nil {
		for i := range q.Model.Architecture.Layers {
			a := &q.Model.Architecture.Layers[i].Attention
			for _, limit := range []int64{a.Window, a.Selected} {
				if limit > first {
					add(limit)
				}
			}
			if a.Chunk > 0 && (last-first)/a.Chunk > mostChunks {
				return nil
			}
			if a.Chunk > 0 {
				for end := (first + a.Chunk - 1) / a.Chunk * a.Chunk; end < last; end += a.Chunk {
					add(end)
				}
			}
		}
	}
	slices.Sort(ends)
	return slices.Compact(ends)
}
