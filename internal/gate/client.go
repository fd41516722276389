package gate

import (
	"slices"
	"strings"

	"rowproof/internal/row"
)

// Limits on the client's own error: shares of the figure that it stands beside, and the
// least that is asked, in ns. A request that was sent late is no error of the clock, since
// TTFT counts from its time; beyond these shares TTFT tells of the client.
const (
	itlErrorShare    = 0.05
	itlErrorLeast    = 50_000
	ttftErrorShare   = 0.01
	dispatchP50Share = 0.02
	dispatchP99Share = 0.05
	unstampedShare   = 0.001
	fewestErrors     = 100 // gaps of a selftest, for its p99
)

// sharedShare is how many chunks may have come under the stamp of the chunk before,
// where the stamps are of reads: each spoils two gaps, and one gap in a hundred may be
// off by more than the limit.
const sharedShare = 0.005

// sweepLate is from when on the thread that reads was woken too late, in µs: a stream's
// next request starts as late.
const sweepLate = 50_000

// stopLate is the same of the worst time, which a busy host alone does not come to.
const stopLate = 250_000

const (
	selftestMend = "run measure selftest on this host, or let bench run its own of two seconds; nothing else may load the host meanwhile"
	stampsMend   = "stamp by a packet ring: setcap cap_net_raw+ep on measure, or run as root, with --stamps ring"
	clientMend   = "load this host less, or measure from another one"
)

// client holds the load generator's own error against the figures that it measured: what
// a selftest found with as many streams or more, what the capture lost, and how late the
// requests were sent.
func client(in *Input) Result {
	if in.Row.Proof.Source != nil {
		if in.Samples == nil {
			return missing("the requests: "+in.lacking()+", so nobody can hold "+in.tool()+"'s clock against anything", "")
		}
		return notApplicable("imported: measured by " + in.tool())
	}
	simulated := in.Report.Simulated() || in.Evidence != nil && in.Evidence.Simulated()
	// A run of the embedded engine does without a selftest: it is one itself.
	r := clientByEvidence(in, simulated && in.Report.Client.Selftest == nil)
	if !simulated {
		return r
	}
	text := "simulated rows are not publishable: they are of the embedded engine and measure nothing"
	if r.Answer == Fail {
		text += Spoilt + r.Reason
	} else {
		text += "; by its evidence: " + r.Reason
	}
	return Result{Answer: Fail, Reason: text, Figures: r.Figures, Mend: r.Mend}
}

// Spoilt stands in the reason of gate client before what fails by a simulated row's
// evidence.
const Spoilt = "; and by its evidence the client spoilt the figures: "

// clientByEvidence judges the client whatever engine it drove.
func clientByEvidence(in *Input, untested bool) Result {
	if in.Samples == nil {
		r, _ := in.noSamples()
		return r
	}
	c := clients{in: in}
	if !untested {
		c.selftest()
	}
	c.capture()
	c.lost()
	c.shared()
	c.dispatch()
	c.stood()
	c.offered()
	if in.Report.Tool.Revision == "" && in.Row.Import == nil {
		c.shaky = append(c.shaky, "measured with a build of no stated revision: nobody can build it again")
	}
	if strings.HasSuffix(in.Report.Tool.Revision, "-dirty") {
		c.shaky = append(c.shaky, "measured with a build of "+in.Report.Tool.Revision+": nobody can build it again")
	}
	switch {
	case len(c.wrong) > 0:
		return Result{Answer: Fail, Reason: strings.Join(c.wrong, "; "), Figures: c.figures, Mend: c.mend}
	case len(c.unknown) > 0:
		return Result{Answer: Unjudged, Reason: "missing " + strings.Join(c.unknown, ", "), Figures: c.figures, Mend: c.mend}
	case len(c.shaky) > 0:
		return warning(strings.Join(c.shaky, "; "), c.figures...)
	}
	return pass("the client's own error is small beside what it measured"+spreadWords(in), c.figures...)
}

// clients gathers what was found.
type clients struct {
	in                    *Input
	wrong, unknown, shaky []string
	figures               []Compared
	mend                  string
}

func (c *clients) fail(text, mend string) {
	c.wrong = append(c.wrong, text)
	if c.mend == "" || len(c.wrong) == 1 {
		c.mend = mend
	}
}

func (c *clients) miss(text, mend string) {
	c.unknown = append(c.unknown, text)
	if c.mend == "" {
		c.mend = mend
	}
}

func (c *clients) show(name, found, against string) {
	c.figures = append(c.figures, Compared{name, found, against})
}

func micros(us float64) string { return number(us) + " µs" }

// selftest holds the error of the least level that reaches the row's streams.
func (c *clients) selftest() {
	in := c.in
	test := in.Report.Client.Selftest
	if test == nil {
		c.miss("a selftest of the client", selftestMend)
		return
	}
	if text := calibrationOf(in.Report); text != "" {
		c.miss(text, selftestMend)
		return
	}
	streams := row.Streams(&in.Row.Workload, in.Samples)
	level, ok := test.At(streams)
	switch {
	case !ok:
		c.miss("a selftest with "+count(streams, "stream")+": it ran with "+itoa(test.Most()), selftestMend)
		return
	case level.Gaps < fewestErrors:
		c.miss("a selftest of "+count(fewestErrors, "gap")+": with "+count(level.Streams, "stream")+" it has "+itoa(level.Gaps), selftestMend)
		return
	case level.ITLErrorNS.Max == 0 || level.TTFTErrorNS.Max == 0:
		c.miss("a selftest that can be: with "+count(level.Streams, "stream")+" it found no error at all, which no clock has", selftestMend)
		return
	case !ordered(level.ITLErrorNS) || !ordered(level.TTFTErrorNS):
		c.miss("a selftest that can be: with "+count(level.Streams, "stream")+" its errors are not p50 ≤ p99 ≤ max", selftestMend)
		return
	}
	c.show("selftest", count(level.Streams, "stream"), "at least "+itoa(streams))
	hold := func(name string, found, limit float64) {
		c.show(name, micros(found/1000), "at most "+micros(limit/1000))
		if found > limit {
			c.fail("the client's own "+name+" is "+micros(found/1000)+" where "+micros(limit/1000)+" are allowed", clientMend)
		}
	}
	f := &in.Row.Figures
	held := false
	if f.ITL != nil && f.ITL.P50 != nil {
		hold("ITL error p99", float64(level.ITLErrorNS.P99), max(itlErrorShare**f.ITL.P50*1e6, itlErrorLeast))
		held = true
	}
	if f.TTFT != nil && f.TTFT.P50 != nil {
		hold("TTFT error p99", float64(level.TTFTErrorNS.P99), ttftErrorShare**f.TTFT.P50*1e6)
		held = true
	}
	if !held {
		c.miss("a TTFT or an ITL to hold the client's error against", "")
	}
}

func ordered(d row.ErrorDist) bool { return 0 <= d.P50 && d.P50 <= d.P99 && d.P99 <= d.Max }

// calibrationOf says what keeps a selftest from being of this run, or "". One that states
// nothing was made by the run itself.
func calibrationOf(r *row.Report) string {
	t := r.Client.Selftest
	if t.MeasuredAt == "" && t.Boot == "" && t.Stamps == "" && t.Revision == "" && len(t.Levels) == 0 {
		return ""
	}
	at, okAt := seconds(t.MeasuredAt)
	run, okRun := seconds(r.MeasuredAt)
	for i := 1; i < len(t.Levels); i++ {
		if t.Levels[i].Streams <= t.Levels[i-1].Streams {
			return "a selftest whose levels rise: " + itoa(t.Levels[i].Streams) + " streams follow " + itoa(t.Levels[i-1].Streams)
		}
	}
	switch {
	case !okAt:
		return "the time of the selftest"
	case okRun && at > run+zeroSlack:
		return "a selftest from before the run: this one is of " + t.MeasuredAt
	case t.Boot == "" || r.Client.Boot == "":
		return "the boot of the client's host, which a selftest holds for"
	case t.Boot != r.Client.Boot:
		return "a selftest of this boot: this one is of boot " + t.Boot + ", the run was on " + r.Client.Boot
	case t.Stamps != r.Client.Stamps:
		return "a selftest with stamps " + r.Client.Stamps + ": this one had " + stated(t.Stamps)
	case t.Revision != r.Tool.Revision:
		return "a selftest of this build: this one is of " + stated(t.Revision) + ", the run of " + stated(r.Tool.Revision)
	}
	return ""
}

func stated(s string) string {
	if s == "" {
		return "none stated"
	}
	return s
}

// capture holds what each repeat's capture says of itself.
func (c *clients) capture() {
	in := c.in
	if in.Evidence == nil {
		c.miss("the row's evidence, in which the capture says what it lost", "keep the evidence file beside the report, as bench writes it")
		return
	}
	numbers, _ := in.repeatSamples()
	for _, n := range numbers {
		k, one := in.captureOf(n)
		if !one {
			c.miss("what the capture of repeat "+itoa(n)+" says of itself, once", "")
			continue
		}
		if k.Stamps != in.Report.Client.Stamps {
			c.miss("a selftest with stamps "+stated(k.Stamps)+", which repeat "+itoa(n)+" had: the client's are "+stated(in.Report.Client.Stamps), selftestMend)
		}
		if k.ClockSteps > 0 {
			c.shaky = append(c.shaky, "the clock was set "+count(k.ClockSteps, "time")+" in repeat "+itoa(n)+": gaps across it are only as good as what was seen of it")
		}
		if k.LateConnections > 0 {
			c.shaky = append(c.shaky, count(k.LateConnections, "connection")+" of repeat "+itoa(n)+" opened after the clock had started: their TTFT holds the handshake")
		}
		if k.SweepP99 > 0 {
			c.show("the reading thread woke late by, p99, repeat "+itoa(n), micros(float64(k.SweepP99)), "at most "+micros(sweepLate))
		}
		if k.SweepP99 > sweepLate {
			c.shaky = append(c.shaky, "the thread that reads was woken "+micros(float64(k.SweepP99))+" late (repeat "+itoa(n)+"): a stream's next request started as late")
		}
		if k.SweepMax > stopLate {
			c.shaky = append(c.shaky, "the client stood still for "+micros(float64(k.SweepMax))+" at least once (repeat "+itoa(n)+"): no request started meanwhile")
		}
		if k.Wall > 0 && k.CPU > 0 {
			c.show("CPU of the client, repeat "+itoa(n), percent(float64(k.CPU)/float64(k.Wall))+" of a core", "")
		}
	}
}

// captureOf is what the capture of a repeat says of itself, ok where it does so once.
func (in *Input) captureOf(repeat int64) (of *row.CaptureStats, ok bool) {
	for i := range in.Evidence.Capture {
		if k := &in.Evidence.Capture[i]; k.Repeat == repeat {
			of, ok = k, of == nil
		}
	}
	return of, ok
}

// lost holds the chunks without a stamp: those that the samples show, and those that
// the capture counted, whichever are more.
func (c *clients) lost() {
	n := &c.in.Row.Counts
	share := float64(n.Unstamped) / float64(max(n.Chunks, 1))
	text := of(n.Unstamped, n.Chunks, "chunk") + " have no stamp"
	var chunks, shown, counted, drops int64
	for i := range c.in.Samples {
		s := &c.in.Samples[i]
		chunks += s.ContentChunks()
		for _, t := range s.T {
			if t == row.NoStamp {
				shown++
			}
		}
	}
	if c.in.Evidence != nil {
		for i := range c.in.Evidence.Capture {
			k := &c.in.Evidence.Capture[i]
			counted += max(k.Unstamped, 0)
			drops += max(k.Drops, 0)
		}
	}
	all := max(shown, counted, drops)
	if other := float64(all) / float64(max(chunks, 1)); other > share {
		share = other
		text = of(all, chunks, "chunk") + " have no stamp"
		if all > shown {
			text = "the capture lost " + count(all, "stamp") + " of " + count(chunks, "chunk") + ", and " + itoa(shown) + " of them are missing from the samples"
		}
	}
	if drops > 0 {
		text += ": the packet ring dropped " + count(drops, "packet")
		c.show("packets that the ring dropped", itoa(drops), "0")
	}
	c.show("chunks without a stamp", percent(share), "at most "+percent(unstampedShare))
	if share > unstampedShare {
		mend := ""
		if drops > 0 {
			mend = clientMend
		}
		c.fail(text, mend)
	}
}

// shared holds the chunks that came under the stamp of the chunk before. A ring stamps
// each segment, so that there the server sent them together; a read cannot tell.
func (c *clients) shared() {
	if c.in.Report.Client.Stamps == "ring" {
		return
	}
	var gaps, zero int64
	for _, s := range c.in.timed() {
		for j, t := range s.T {
			if j == 0 || t == row.NoStamp || s.T[j-1] == row.NoStamp {
				continue
			}
			gaps++
			if t == 0 {
				zero++
			}
		}
	}
	share := float64(zero) / float64(max(gaps, 1))
	c.show("chunks under the stamp of the one before", percent(share), "at most "+percent(sharedShare))
	if share > sharedShare {
		c.fail(of(zero, gaps, "chunk")+" came under the stamp of the chunk before, and reads cannot tell whether the server sent them together", stampsMend)
	}
}

// dispatch holds how late the requests were sent, by the capture or by the samples,
// whichever is later: the median over the repeats, as the row's figures are.
func (c *clients) dispatch() {
	in := c.in
	f := in.Row.Figures.TTFT
	if f == nil || f.P50 == nil || in.Evidence == nil {
		return
	}
	late := map[int64]row.Late{}
	for _, d := range row.Dispatch(&in.Row.Workload, in.Samples) {
		late[d.Repeat] = d
	}
	var half, most []int64
	numbers, _ := in.repeatSamples()
	for _, n := range numbers {
		d, told := late[n]
		if k, ok := in.captureOf(n); ok {
			d.P50, d.P99, told = max(d.P50, k.DispatchP50), max(d.P99, k.DispatchP99), true
		}
		if told {
			half, most = append(half, d.P50), append(most, d.P99)
		}
	}
	if len(half) == 0 {
		return
	}
	for _, h := range []struct {
		name  string
		found int64
		share float64
	}{{"p50", middle(half), dispatchP50Share}, {"p99", middle(most), dispatchP99Share}} {
		limit := lateLimit(h.share, *f.P50)
		c.show("requests sent late by, "+h.name, micros(float64(h.found)), "at most "+micros(limit))
		if float64(h.found) > limit {
			c.fail("requests were sent "+micros(float64(h.found))+" after their time ("+h.name+") where "+micros(limit)+" are allowed", clientMend)
		}
	}
}

// lateLimit is how late requests may be sent, in µs, beside a TTFT in ms.
func lateLimit(share, ttft float64) float64 { return max(share*ttft*1000, itlErrorLeast/1000) }

// LateP99Limit is how late the 99th percentile of a row's requests may be sent, in µs;
// ok is false where the row has no TTFT to hold it against.
func LateP99Limit(f *row.Figures) (limit float64, ok bool) {
	if f.TTFT == nil || f.TTFT.P50 == nil {
		return 0, false
	}
	return lateLimit(dispatchP99Share, *f.TTFT.P50), true
}

// middle is the median, of two the later.
func middle(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// spreadWords says that gaps were spread over the tokens of a chunk, where they were.
func spreadWords(in *Input) string {
	n := &in.Row.Counts
	if n.MultiTokenChunks == 0 {
		return ""
	}
	return "; " + of(n.MultiTokenChunks, n.Chunks, "chunk") + " carry several tokens, and the gap before one is spread over them in ITL"
}
