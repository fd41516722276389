package row

import (
	"cmp"
	"slices"
)

// Computed is everything in a row that follows from its samples and its evidence.
type Computed struct {
	Figures   Figures
	Missing   map[string]string
	PerRepeat []Repeat
	Counts    Counts
	Server    Server
}

// repeatData is one repeat with what was taken from it.
type repeatData struct {
	number int64
	*series
	*rates
	power    *float64
	powerWhy string
}

// Compute works out a row from whole µs and no finer times, so that anyone gets the same
// figures. gpus is the one denominator of per-GPU figures, 0 where unknown; ev may be
// nil. Each figure is taken in every repeat, and the row shows the median over the
// repeats with a Student interval where there are two or more.
func Compute(w *Workload, gpus int64, samples []Sample, ev *Evidence) Computed {
	samples = withAsked(w, samples)
	out := Computed{Missing: map[string]string{}, PerRepeat: []Repeat{}, Server: ServerFrom(ev)}
	onePass(&out.Server, w, len(samples))
	out.Server.Clock = clockFrom(samples)
	if out.Server.Spec == nil {
		out.Server.Spec = specFrom(samples)
	}
	groups := byRepeat(samples)
	data := make([]repeatData, len(groups))
	for i, g := range groups {
		data[i] = repeatData{number: g[0].Repeat, series: newSeries(g), rates: newRates(w.Protocol, g)}
		if slices.ContainsFunc(g, func(s *Sample) bool { return s.Unplaced }) {
			data[i].unplace()
		}
		data[i].power, data[i].powerWhy = power(ev, data[i].windows)
	}
	out.Counts = Count(w, samples, ev)
	b := builder{data: data, coldStart: w.Warmup == 0, missing: out.Missing, intervals: map[string]Interval{}}
	if len(data) == 0 {
		b.nothing = "no request was made"
	} else if out.Counts.Completed == 0 {
		b.nothing = "no timed request completed"
	}
	out.Figures = b.figures(gpus, samples, &out.Server)
	for i := range data {
		out.PerRepeat = append(out.PerRepeat, oneRepeat(&data[i], ev))
	}
	return out
}

// withAsked are the samples with what was asked of each.
func withAsked(w *Workload, samples []Sample) []Sample {
	samples = slices.Clone(samples)
	for i := range samples {
		s := &samples[i]
		s.asked = w.OSL
		if s.WantOSL != nil && w.Prompts.Kind != PromptsRandom {
			s.asked = *s.WantOSL
		}
	}
	return samples
}

// onePass brings the tokens admitted over the whole row to one pass of c requests, as
// the CSV's column counts them. An open loop has no passes.
func onePass(s *Server, w *Workload, requests int) {
	if w.OpenLoop() {
		s.AdmittedTok = nil
	}
	if s.AdmittedTok == nil || requests == 0 {
		return
	}
	n := (*s.AdmittedTok**w.Load.Concurrency + int64(requests)/2) / int64(requests)
	s.AdmittedTok = &n
}

// byRepeat groups the samples by their repeat, repeats in increasing order, requests as
// they stand.
func byRepeat(samples []Sample) [][]*Sample {
	byNumber := map[int64][]*Sample{}
	var numbers []int64
	for i := range samples {
		n := samples[i].Repeat
		if byNumber[n] == nil {
			numbers = append(numbers, n)
		}
		byNumber[n] = append(byNumber[n], &samples[i])
	}
	slices.Sort(numbers)
	groups := make([][]*Sample, len(numbers))
	for i, n := range numbers {
		groups[i] = byNumber[n]
	}
	return groups
}

// builder turns the repeats into the row's figures and keeps the reasons of the nulls.
type builder struct {
	data      []repeatData
	coldStart bool   // no warm-up: the first call is timed
	nothing   string // why there is nothing at all
	missing   map[string]string
	intervals map[string]Interval
}

func (b *builder) figures(gpus int64, samples []Sample, server *Server) Figures {
	f := Figures{
		TTFT:      b.dist("ttft_ms", func(d *repeatData) *values { return &d.ttft }),
		TTFA:      b.dist("ttfa_ms", func(d *repeatData) *values { return &d.ttfa }),
		SendTTFT:  b.dist("send_ttft_ms", func(d *repeatData) *values { return &d.send }),
		TPOT:      b.dist("tpot_ms", func(d *repeatData) *values { return &d.tpot }),
		ITL:       b.dist("itl_ms", func(d *repeatData) *values { return &d.itl }),
		ITLDecode: b.dist("itl_decode_ms", func(d *repeatData) *values { return &d.series.decode }),
		IngestGap: b.dist("ingest_gap_ms", func(d *repeatData) *values { return &d.ingest }),
		ChunkGap:  b.dist("chunk_gap_ms", func(d *repeatData) *values { return &d.chunk }),
		E2E:       b.dist("e2e_ms", func(d *repeatData) *values { return &d.e2e }),

		FirstCall:                b.firstCall(samples),
		PrefillTokPerSec:         b.rate("prefill_tok_s", func(d *repeatData) (*float64, string) { return d.prefill.average(), d.series.why["prefill_tok_s"] }),
		UncachedPrefillTokPerSec: b.rate("uncached_prefill_tok_s", uncachedRate),
		DecodeTokPerSec:          b.rate("decode_tok_s", func(d *repeatData) (*float64, string) { return d.rates.decode, d.rates.why["decode_tok_s"] }),
		DecodeWindowTokPerSec:    b.rate("decode_window_tok_s", func(d *repeatData) (*float64, string) { return d.decodeWindow, d.rates.why["decode_window_tok_s"] }),
		OutputTokPerSec:          b.rate("output_tok_s", func(d *repeatData) (*float64, string) { return d.rates.decode, d.rates.why["output_tok_s"] }),
		TotalTokPerSec:           b.rate("total_tok_s", func(d *repeatData) (*float64, string) { return d.total, d.rates.why["total_tok_s"] }),
		RequestPerSec:            b.rate("request_s", func(d *repeatData) (*float64, string) { return d.requests, d.rates.why["request_s"] }),
		EnergyPerOutputTok:       b.rate("energy_j_per_output_tok", energy),
		Power:                    b.rate("power_w", func(d *repeatData) (*float64, string) { return d.power, d.powerWhy }),
	}
	f.OutputTokPerSecPerGPU = b.perGPU("output_tok_s", f.OutputTokPerSec, gpus)
	f.TotalTokPerSecPerGPU = b.perGPU("total_tok_s", f.TotalTokPerSec, gpus)
	if server.PeakActive != nil {
		v := float64(*server.PeakActive)
		f.PeakMemory = &v
	} else {
		b.missing["peak_memory_bytes"] = "the engine does not say"
	}
	f.Intervals = b.intervals
	return f
}

func uncachedRate(d *repeatData) (*float64, string) {
	if d.uncached.len() < d.prefill.len() {
		return nil, d.series.why["uncached_prefill_tok_s"]
	}
	return d.uncached.average(), d.series.why["uncached_prefill_tok_s"]
}

func energy(d *repeatData) (*float64, string) {
	if d.power == nil {
		return nil, d.powerWhy
	}
	if d.rates.decode == nil || *d.rates.decode == 0 {
		return nil, cmp.Or(d.rates.why["output_tok_s"], "no output token")
	}
	v := *d.power / *d.rates.decode
	return &v, ""
}

func (b *builder) dist(name string, of func(*repeatData) *values) *Dist {
	repeats := make([]*values, len(b.data))
	why := b.nothing
	for i := range b.data {
		repeats[i] = of(&b.data[i])
		if repeats[i].len() == 0 && why == "" {
			why = b.data[i].series.why[name]
		}
	}
	d, short := newDist(repeats)
	if d == nil {
		b.missing[name] = cmp.Or(why, "no sample")
		return nil
	}
	for p, reason := range short {
		b.missing[name+"."+p] = reason
	}
	return d
}

func (b *builder) rate(name string, of func(*repeatData) (*float64, string)) *float64 {
	estimates := make([]float64, 0, len(b.data))
	for i := range b.data {
		v, why := of(&b.data[i])
		if v == nil {
			b.missing[name] = cmp.Or(b.nothing, why, "no sample")
			return nil
		}
		estimates = append(estimates, *v)
	}
	if len(estimates) == 0 {
		b.missing[name] = cmp.Or(b.nothing, "no sample")
		return nil
	}
	if i := interval(estimates); i != nil {
		b.intervals[name] = *i
	}
	return median(estimates)
}

func (b *builder) perGPU(name string, v *float64, gpus int64) *float64 {
	per := name + "_per_gpu"
	switch {
	case v == nil:
		b.missing[per] = b.missing[name]
		return nil
	case gpus <= 0:
		b.missing[per] = "GPU count unknown"
		return nil
	}
	each := *v / float64(gpus)
	if i, ok := b.intervals[name]; ok {
		b.intervals[per] = Interval{i[0] / float64(gpus), i[1] / float64(gpus)}
	}
	return &each
}

// firstCall is the whole wall of the very first request: kept apart where there is a
// warm-up, else the first of the timed ones.
func (b *builder) firstCall(samples []Sample) *float64 {
	for i := range samples {
		s := &samples[i]
		if s.Phase != PhaseFirst && (!b.coldStart || s.Phase != PhaseTimed || s.Repeat != 0 || s.I != 0) {
			continue
		}
		last, ok := s.LastContent()
		switch {
		case !s.OK():
			b.missing["first_call_ms"] = "the first call failed: " + s.Reason
		case !ok:
			b.missing["first_call_ms"] = "the last chunk of the first call has no stamp"
		default:
			v := ms(last - s.Enqueued)
			return &v
		}
		return nil
	}
	b.missing["first_call_ms"] = "no first call was kept apart"
	return nil
}

func oneRepeat(d *repeatData, ev *Evidence) Repeat {
	single := func(v *values) *Dist {
		dist, _ := newDist([]*values{v})
		return dist
	}
	r := Repeat{
		DecodeTokPerSec: d.rates.decode,
		OutputTokPerSec: d.rates.decode,
		TTFT:            single(&d.ttft),
		TPOT:            single(&d.tpot),
		ITL:             single(&d.itl),
	}
	if ev != nil {
		for _, c := range ev.Capture {
			if c.Repeat == d.number {
				r.ServerStartedAt = c.ServerStartedAt
			}
		}
	}
	return r
}
