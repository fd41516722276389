package gate

import (
	"slices"
	"strconv"

	"rowproof/internal/row"
)

// recompute passes a row whose every figure follows from its samples and its evidence.
func recompute(in *Input) Result {
	if r, none := in.noSamples(); none {
		return r
	}
	for _, sum := range []struct {
		what, found string
		stated      *string
	}{
		{"samples.sha256", in.SamplesSHA256, &in.Row.Samples.SHA256},
		{"proof.samples", in.SamplesSHA256, in.Row.Proof.Samples},
	} {
		if sum.stated == nil {
			return missing(sum.what, "the hash of the samples file belongs into the row")
		}
		if *sum.stated != sum.found {
			return fail("wrong checksum: the samples file is not the one that the row was computed from",
				Compared{sum.what, sum.found, *sum.stated})
		}
	}
	want := in.Row.Proof.Evidence
	if want == nil && in.Row.Proof.Source == nil {
		return missing("proof.evidence: without the hash of its line of evidence a row is bound to none, and whoever edits that line changes its verdict",
			"measure again: bench writes the hash into each row")
	}
	if want != nil {
		if in.Evidence == nil {
			return missing("the row's evidence, which proof.evidence names", "keep the evidence file beside the report, as bench writes it")
		}
		if in.EvidenceSHA256 != *want {
			return fail("wrong checksum: the row's line of evidence is not the one that the row was written with",
				Compared{"proof.evidence", in.EvidenceSHA256, *want})
		}
	}
	c := in.Computed
	if c == nil {
		fresh := row.Compute(&in.Row.Workload, in.gpus(), in.Samples, in.Evidence)
		c = &fresh
	}
	d := differences{}
	d.figures(in.Row, c)
	d.counts(&in.Row.Counts, &c.Counts)
	d.server(&in.Row.Server, &c.Server)
	d.repeats(in.Row.PerRepeat, c.PerRepeat)
	d.stated(in.Row, in.Samples)
	d.compared += len(in.Row.Notes)
	bound := in.Evidence
	if in.Row.Import != nil || !in.asked(2) {
		bound = nil // its evidence lists none
	}
	for _, note := range row.StrayNotes(in.Row, c, in.Samples, in.Report.Client.Stamps, bound) {
		d.add("notes", strconv.Quote(note), "no such note")
	}
	if bound != nil {
		for _, note := range row.LostNotes(in.Row, c, in.Samples, in.Report.Client.Stamps, bound) {
			d.add("notes", "not there", strconv.Quote(note))
		}
	}
	if len(d.found) == 0 {
		return pass(count(int64(d.compared), "figure") + " follow from the samples")
	}
	first := d.found[0]
	return fail(of(int64(len(d.found)), int64(d.compared), "figure")+" do not follow from the samples; the first: "+
		first.Name+" is "+first.Found+", the samples give "+first.Against, d.found...)
}

// differences gathers what is not as recomputed.
type differences struct {
	compared int
	found    []Compared
}

func (d *differences) add(name, found, against string) {
	d.found = append(d.found, Compared{name, found, against})
}

func (d *differences) float(name string, found, want *float64) {
	d.compared++
	if !same(found, want) {
		d.add(name, floatText(found), floatText(want))
	}
}

// same compares to the last digit: a row's figures are the same digits on every machine,
// so that whatever differs was changed.
func same(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func floatText(v *float64) string {
	if v == nil {
		return "null"
	}
	return exact(*v)
}

func (d *differences) int(name string, found, want *int64) {
	d.compared++
	if (found == nil) != (want == nil) || found != nil && *found != *want {
		d.add(name, intText(found), intText(want))
	}
}

func intText(v *int64) string {
	if v == nil {
		return "null"
	}
	return itoa(*v)
}

func (d *differences) interval(name string, found, want *row.Interval) {
	d.compared++
	if (found == nil) != (want == nil) ||
		found != nil && (!same(&found[0], &want[0]) || !same(&found[1], &want[1])) {
		d.add(name, intervalText(found), intervalText(want))
	}
}

func intervalText(i *row.Interval) string {
	if i == nil {
		return "null"
	}
	return exact(i[0]) + " to " + exact(i[1])
}

func (d *differences) dist(name string, found, want *row.Dist) {
	if found == nil || want == nil {
		d.compared++
		if found != want {
			d.add(name, present(found), present(want))
		}
		return
	}
	d.int(name+".n", &found.N, &want.N)
	for _, p := range []struct {
		name          string
		found, want   *float64
		foundI, want2 *row.Interval
	}{
		{"mean", found.Mean, want.Mean, found.IntervalMean, want.IntervalMean},
		{"p50", found.P50, want.P50, found.IntervalP50, want.IntervalP50},
		{"p90", found.P90, want.P90, found.IntervalP90, want.IntervalP90},
		{"p95", found.P95, want.P95, found.IntervalP95, want.IntervalP95},
		{"p99", found.P99, want.P99, found.IntervalP99, want.IntervalP99},
	} {
		d.float(name+"."+p.name, p.found, p.want)
		d.interval(name+".interval_"+p.name, p.foundI, p.want2)
	}
}

func present(d *row.Dist) string {
	if d == nil {
		return "null"
	}
	return count(d.N, "sample")
}

func (d *differences) figures(r *row.Row, c *row.Computed) {
	found, want := &r.Figures, &c.Figures
	dists, wanted := found.Dists(), want.Dists()
	for i, f := range dists {
		d.dist(f.Name, f.Dist, wanted[i].Dist)
	}
	scalars, expected := found.Scalars(), want.Scalars()
	for i, f := range scalars {
		d.float(f.Name, f.Value, expected[i].Value)
	}
	for _, name := range keys(found.Intervals, want.Intervals) {
		a, okA := found.Intervals[name]
		b, okB := want.Intervals[name]
		var pa, pb *row.Interval
		if okA {
			pa = &a
		}
		if okB {
			pb = &b
		}
		d.interval("intervals."+name, pa, pb)
	}
	// A null without a reason is a figure that went missing in silence, and a reason
	// that does not follow is a claim like any other.
	for _, name := range keys(r.Missing, c.Missing) {
		d.text("missing."+name, orNoReason(r.Missing, name), orNoReason(c.Missing, name))
	}
	if r.Status == row.StatusOK {
		d.text("reason", r.Reason, "")
	}
}

func orNoReason(m map[string]string, name string) string {
	if text, ok := m[name]; ok {
		return strconv.Quote(text)
	}
	return "no reason"
}

func (d *differences) counts(found, want *row.Counts) {
	d.int("counts.planned", &found.Planned, &want.Planned)
	d.int("counts.completed", &found.Completed, &want.Completed)
	d.int("counts.failed", &found.Failed, &want.Failed)
	d.int("counts.retired", &found.Retired, &want.Retired)
	d.int("counts.drained", &found.Drained, &want.Drained)
	d.span("counts.isl", found.ISL, want.ISL)
	d.span("counts.osl", found.OSL, want.OSL)
	d.int("counts.cached_tokens", found.CachedTokens, want.CachedTokens)
	d.int("counts.prompt_tokens", found.PromptTokens, want.PromptTokens)
	d.int("counts.common_tokens", found.CommonTokens, want.CommonTokens)
	d.int("counts.reasoning_tokens", found.Reasoning, want.Reasoning)
	d.text("counts.tokens_from", found.TokensFrom, want.TokensFrom)
	d.int("counts.chunks", &found.Chunks, &want.Chunks)
	d.int("counts.multi_token_chunks", &found.MultiTokenChunks, &want.MultiTokenChunks)
	d.int("counts.unstamped", &found.Unstamped, &want.Unstamped)
	d.int("counts.shared_stamps", &found.SharedStamps, &want.SharedStamps)
}

func (d *differences) text(name, found, want string) {
	d.compared++
	if found != want {
		d.add(name, found, want)
	}
}

func (d *differences) span(name string, found, want *row.Range) {
	d.compared++
	if (found == nil) != (want == nil) || found != nil && *found != *want {
		text := func(r *row.Range) string {
			if r == nil {
				return "null"
			}
			return span(*r)
		}
		d.add(name, text(found), text(want))
	}
}

func (d *differences) server(found, want *row.Server) {
	d.int("server.running_max", found.RunningMax, want.RunningMax)
	d.int("server.waiting_max", found.WaitingMax, want.WaitingMax)
	d.int("server.preemptions", found.Preemptions, want.Preemptions)
	d.float("server.kv_usage_max", found.KVUsageMax, want.KVUsageMax)
	d.int("server.cached_tok", found.CachedTok, want.CachedTok)
	d.int("server.admitted_tok", found.AdmittedTok, want.AdmittedTok)
	d.int("server.peak_active_bytes", found.PeakActive, want.PeakActive)
	d.int("server.num_allocs", found.NumAllocs, want.NumAllocs)
	d.int("server.num_inflight_park_waits", found.ParkWaits, want.ParkWaits)
	clock := func(c *row.Clock) row.Clock {
		if c == nil {
			return row.Clock{}
		}
		return *c
	}
	said, again := clock(found.Clock), clock(want.Clock)
	d.float("server.clock.prefill_tok_s", said.PrefillTokPerSec, again.PrefillTokPerSec)
	d.float("server.clock.decode_tok_s", said.DecodeTokPerSec, again.DecodeTokPerSec)
	d.float("server.clock.total_less_load_ms", said.TotalLessLoad, again.TotalLessLoad)
	a, b := found.Spec, want.Spec
	d.compared++
	if (a == nil) != (b == nil) || a != nil && *a != *b {
		text := func(s *row.Spec) string {
			if s == nil {
				return "null"
			}
			return itoa(s.Drafts) + " drafts, " + itoa(s.DraftTokens) + " drafted, " + itoa(s.Accepted) + " accepted"
		}
		d.add("server.spec", text(a), text(b))
	}
}

func (d *differences) repeats(found, want []row.Repeat) {
	n, m := int64(len(found)), int64(len(want))
	d.int("per_repeat", &n, &m)
	if n != m {
		return
	}
	for i := range found {
		name := "per_repeat[" + itoa(int64(i)) + "]."
		a, b := &found[i], &want[i]
		d.text(name+"server_started_at", a.ServerStartedAt, b.ServerStartedAt)
		d.float(name+"decode_tok_s", a.DecodeTokPerSec, b.DecodeTokPerSec)
		d.float(name+"output_tok_s", a.OutputTokPerSec, b.OutputTokPerSec)
		d.dist(name+"ttft_ms", a.TTFT, b.TTFT)
		d.dist(name+"tpot_ms", a.TPOT, b.TPOT)
		d.dist(name+"itl_ms", a.ITL, b.ITL)
	}
}

// keys are the names of both maps in order.
func keys[V any](a, b map[string]V) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
