package harness

import (
	"math"
	"slices"
	"strconv"

	"rowproof/internal/row"
	"rowproof/internal/stats"
)

// untimed is the reason of a request that the tool counts as completed and has no times of.
const untimed = "the tool has no times of it"

// timed takes the requests away where the tool has the times of none: it did not stream, or
// was not asked to keep them. They are no failures of the server.
func (run *Run) timed() {
	for i := range run.Samples {
		if run.Samples[i].Reason != untimed {
			return
		}
	}
	why := "the file holds no requests"
	if len(run.Samples) > 0 {
		why = "the file has the times of no request: the tool did not stream, or did not keep them"
	}
	run.Samples, run.NoSamples = nil, why
}

// unmade takes the rule from the figures that the run's requests cannot give again: a rate
// without the tool's duration; gaps where some were not kept, or where a chunk held several
// tokens, of which tools count gaps of 0.
func (run *Run) unmade() {
	gaps := slices.ContainsFunc(run.Samples, func(s row.Sample) bool { return s.OK() && (s.N != nil || !s.Kept()) })
	for i := range run.Stated {
		switch s := &run.Stated[i]; s.Rule {
		case row.RuleOutputRate, row.RuleInputRate, row.RuleTotalRate, row.RuleRequests:
			if run.DurationS == "" {
				s.Rule = ""
			}
		case row.RuleChunkGap, row.RuleGapMean:
			if gaps {
				s.Rule = ""
			}
		}
	}
}

// few takes away percentiles that so few requests do not support, of a run without its
// requests. The tool's own stay among Stated.
func (run *Run) few() {
	i := slices.IndexFunc(run.Stated, func(s row.Stated) bool { return s.Rule == row.RuleCompleted })
	if i < 0 || run.Samples != nil {
		return
	}
	n, err := strconv.ParseFloat(run.Stated[i].Text, 64)
	if err != nil {
		return
	}
	for _, d := range run.dists() {
		if *d.at == nil || d.name == "chunk_gap_ms" {
			continue // of gaps there are more than requests
		}
		for _, p := range []struct {
			name     string
			permille int
			at       **float64
		}{{"p90", 900, &(*d.at).P90}, {"p95", 950, &(*d.at).P95}, {"p99", 990, &(*d.at).P99}} {
			if need := stats.Needed(p.permille); *p.at != nil && n < float64(need) {
				*p.at = nil
				run.Missing[d.name+"."+p.name] = "of " + run.Stated[i].Text + " requests; " + p.name + " needs " + strconv.Itoa(need)
			}
		}
	}
}

// begun is the i-th request of a run, timed and completed until something says otherwise.
func begun(i int) row.Sample {
	return row.Sample{Phase: row.PhaseTimed, I: int64(i), Status: row.StatusOK, TokensFrom: row.TokensTool}
}

// fails says why a request has no figures.
func fails(s *row.Sample, why string) { s.Status, s.Reason = row.StatusError, why }

// unsaidLoad notes that the file does not say how its requests were sent, where that is so.
func (run *Run) unsaidLoad() {
	if w := &run.Workload; w.Load.Concurrency == nil && w.Load.RequestRate == nil {
		run.Unsaid = append(run.Unsaid, "load.concurrency")
	}
}

// even is a request of which the tool keeps its time to the first chunk and the mean gap
// after it, in units of so many seconds, and how many chunks there were. Where one of these
// is missing it has no times.
func even(s *row.Sample, ttft, gap *value, scale float64, chunks, tokens int64) {
	if tokens == 0 || !positive(ttft) || tokens > 1 && !positive(gap) {
		fails(s, untimed)
		return
	}
	last := ttft.num
	if tokens > 1 {
		last += float64(gap.num * float64(tokens-1))
	}
	span(s, ttft.num*scale, last*scale, chunks, tokens)
}

// span is a request of which only its first and last chunk are known, in seconds since it
// was sent.
func span(s *row.Sample, first, last float64, chunks, tokens int64) {
	from, ok := micros(first)
	to, okLast := micros(last)
	if !ok || !okLast || to < from {
		fails(s, untimed)
		return
	}
	s.OSL = &tokens
	s.First, s.Last, s.Chunks, s.Tokens = &from, &to, &chunks, &tokens
}

// failure is why a request failed, as the tool says.
func failure(v *value) string {
	text := "failed"
	for _, part := range []string{v.reason(), v.get("type").reason(), v.get("error_type").reason(), v.get("message").reason(), v.get("error_msg").reason()} {
		if part != "" {
			text += ": " + part
		}
	}
	return cut(text, 500)
}

// positive says whether a value is a number above 0 that a float64 holds.
func positive(v *value) bool {
	return v != nil && v.kind == '0' && v.num > 0 && !math.IsInf(v.num, 0)
}

// length is a number of tokens; 0 of anything else.
func length(v *value) int64 {
	if !positive(v) || v.num > 1e9 {
		return 0
	}
	return int64(math.Round(v.num))
}
