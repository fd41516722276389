package gate

// Limits on the client's own error: shares of the figure that it stands beside, and the
// least that is asked, in ns.
const (
	itlErrorShare  = 0.05
	itlErrorLeast  = 50_000
	ttftErrorShare = 0.01
	unstampedShare = 0.001
)

const selftestMend = "bench runs a selftest of two seconds first; nothing else may load this host meanwhile"

// client holds the load generator's own error, measured against an engine whose truth
// is known, against the figures that it measured.
func client(in *Input) Result {
	if in.Row.Proof.Source != nil {
		return notApplicable("imported: the tool's own name and clock stand beside the figures")
	}
	if in.Report.Simulated() || in.Evidence != nil && in.Evidence.Simulated() {
		return fail("simulated rows are not publishable: they are of the embedded engine and measure nothing")
	}
	f, c := &in.Row.Figures, &in.Row.Counts
	test := in.Report.Client.Selftest
	if test == nil || test.Gaps == 0 {
		return missing("a selftest of the client", selftestMend)
	}
	if n := in.Row.Workload.Load.Concurrency; n != nil && *n > test.Streams {
		return missing("a selftest with "+count(*n, "stream")+": it ran with "+itoa(test.Streams), selftestMend)
	}
	var figures []Compared
	text := ""
	hold := func(name string, found, limit float64) {
		figures = append(figures, Compared{name, number(found/1000) + " µs", "at most " + number(limit/1000) + " µs"})
		if found > limit {
			if text != "" {
				text += "; "
			}
			text += "the client's own " + name + " is " + number(found/1000) + " µs where " + number(limit/1000) + " µs are allowed"
		}
	}
	if f.ITL != nil && f.ITL.P50 != nil {
		hold("ITL error p99", float64(test.ITLErrorNS.P99), max(itlErrorShare**f.ITL.P50*1e6, itlErrorLeast))
	}
	if f.TTFT != nil && f.TTFT.P50 != nil {
		hold("TTFT error p99", float64(test.TTFTErrorNS.P99), ttftErrorShare**f.TTFT.P50*1e6)
	}
	share := float64(c.Unstamped) / float64(max(c.Chunks, 1))
	figures = append(figures, Compared{"chunks without a stamp", percent(share), "at most " + percent(unstampedShare)})
	switch {
	case text != "":
		return Result{Answer: Fail, Reason: text, Figures: figures, Mend: selftestMend}
	case share > unstampedShare:
		return fail(of(c.Unstamped, c.Chunks, "chunk")+" have no stamp", figures...)
	case len(figures) == 1:
		return missing("a TTFT or an ITL to hold the client's error against", "")
	}
	return pass("the client's own error is small beside what it measured", figures...)
}
