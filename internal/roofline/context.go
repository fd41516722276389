package roofline

// MeanContext is the context at which a decode step needs no more than the steps need on
// average whose caches hold first, first+1, … last tokens. Where every layer reads all of
// the cache, or as much of it at every step, that is their mean. Where some see only a
// window, a chunk or a selection, what they read does not grow as the cache does: it is
// then the greatest of the lengths at which neither bytes nor arithmetic pass the mean of
// the steps'.
func (q Query) MeanContext(first, last int64) float64 {
	mean := float64(first+last) / 2
	if last <= first || q.even(first, last) {
		return mean
	}
	in := Pack(q)
	n := float64(last - first + 1)
	var memory, compute float64
	for s := first; s <= last; s++ {
		in[SlotContext] = float64(s)
		out := CeilingPacked(in)
		memory += out[OutMemoryMS]
		compute += out[OutComputeMS]
	}
	memory, compute = memory/n, compute/n
	for s := int64(mean); s > first; s-- {
		in[SlotContext] = float64(s)
		if out := CeilingPacked(in); !(out[OutMemoryMS] > memory) && !(out[OutComputeMS] > compute) {
			return float64(s)
		}
	}
	return float64(first)
}

// even says whether what each layer reads of the cache grows by as much at every length
// from first to last, or not at all.
func (q Query) even(first, last int64) bool {
	if q.Model == nil {
		return true
	}
	for i := range q.Model.Architecture.Layers {
		a := &q.Model.Architecture.Layers[i].Attention
		for _, limit := range []int64{a.Window, a.Selected} {
			if limit > first && limit < last {
				return false
			}
		}
		if a.Chunk > 0 && (first-1)/a.Chunk != (last-1)/a.Chunk {
			return false
		}
	}
	return true
}
