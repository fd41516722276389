package row

import "slices"

// SeedColumns are the columns of the CSV that follow from the samples; times in
// milliseconds. A nil is unknown.
type SeedColumns struct {
	FirstCall        *float64
	TTFT             *float64 // mean over sessions and timed passes
	PrefillTokPerSec *float64
	ITLP50           *float64 // decode ITL
	ITLP99           *float64
	ChunkP50         *float64 // ingest gaps; 0 where gaps are known and none was one
	ChunkMax         *float64
	DecodeTokPerSec  *float64
	Retires          int64 // completed in a repeat, warm-up included
}

// Seed works out the CSV's columns: each in every repeat over its timed passes, then the
// median over the repeats.
func Seed(w *Workload, samples []Sample) SeedColumns {
	samples = withAsked(w, samples)
	groups := byRepeat(samples)
	data := make([]repeatData, len(groups))
	retires := make([]int64, len(groups))
	var mostIngest []float64
	gaps, chunked := true, 0 // whether gaps are known in each repeat, and in how many some are ingest gaps
	for i, g := range groups {
		data[i] = repeatData{series: newSeries(g), rates: newRates(w.Protocol, g)}
		for _, s := range g {
			if s.OK() && s.Phase != PhaseDrain {
				retires[i]++
			}
		}
		d := &data[i]
		gaps = gaps && d.itl.len() > 0
		if n := d.ingest.len(); n > 0 {
			mostIngest = append(mostIngest, d.ingest.list[n-1])
			chunked++
		}
	}
	b := builder{data: data, coldStart: w.Warmup == 0, missing: map[string]string{}, intervals: map[string]Interval{}}
	f := b.figures(0, samples, &Server{})
	out := SeedColumns{
		FirstCall:        f.FirstCall,
		PrefillTokPerSec: f.PrefillTokPerSec,
		DecodeTokPerSec:  f.DecodeTokPerSec,
	}
	if f.TTFT != nil {
		out.TTFT = f.TTFT.Mean
	}
	if f.ITLDecode != nil {
		out.ITLP50, out.ITLP99 = f.ITLDecode.P50, f.ITLDecode.P99
	}
	switch {
	case len(data) == 0:
	case chunked == len(data):
		out.ChunkP50, out.ChunkMax = f.IngestGap.P50, median(mostIngest)
	case chunked == 0 && gaps:
		out.ChunkP50, out.ChunkMax = new(float64), new(float64)
	}
	if len(retires) > 0 {
		slices.Sort(retires)
		out.Retires = retires[(len(retires)-1)/2]
	}
	return out
}
