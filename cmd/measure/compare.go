package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/harness"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/stats"
)

const (
	compareWhat = `Compare two runs, row by row: reports of measure, or results of any tool that measure
import reads. Rows of the same workload are set side by side; each figure's change has a
95% interval from the repeats of both (Welch's t on the logarithms), and is shown as ~ where
that holds no change, or where a side has fewer than two repeats. What differs in engine,
flags, variables, weights, packages, libraries, image, devices and host (kernel, governor,
huge pages and the like) is listed, each once.

--fail-on names changes that must not be: ttft_p50>+5% fails where TTFT p50 rose by more
than 5% and its interval lies above no change. Exit codes: 0 compared; 5 a change of
--fail-on was found; 1 nothing could be compared, or --fail-on could not be asked: a row
failed in NEW alone, or no row has the repeats or the figure that a limit needs.`
	compareExample = `measure compare old.json new.json --fail-on 'ttft_p50>+5%,output_tok_s<-3%'`
)

// comparedBy is a figure that rows are compared by.
type comparedBy struct {
	name, unit string
	shown      bool // in the table, where it is not asked for
	whole      func(*row.Figures) *float64
	each       func(*row.Repeat) *float64 // nil: no estimate in each repeat is kept
}

// compared are all such figures, by the names of metrics.
var compared = []comparedBy{
	ofDist("ttft", "p50", true, func(f *row.Figures) *row.Dist { return f.TTFT }, func(r *row.Repeat) *row.Dist { return r.TTFT }),
	ofDist("ttft", "p90", false, func(f *row.Figures) *row.Dist { return f.TTFT }, func(r *row.Repeat) *row.Dist { return r.TTFT }),
	ofDist("ttft", "p95", false, func(f *row.Figures) *row.Dist { return f.TTFT }, func(r *row.Repeat) *row.Dist { return r.TTFT }),
	ofDist("ttft", "p99", true, func(f *row.Figures) *row.Dist { return f.TTFT }, func(r *row.Repeat) *row.Dist { return r.TTFT }),
	ofDist("ttft", "mean", false, func(f *row.Figures) *row.Dist { return f.TTFT }, func(r *row.Repeat) *row.Dist { return r.TTFT }),
	ofDist("tpot", "p50", true, func(f *row.Figures) *row.Dist { return f.TPOT }, func(r *row.Repeat) *row.Dist { return r.TPOT }),
	ofDist("tpot", "p90", false, func(f *row.Figures) *row.Dist { return f.TPOT }, func(r *row.Repeat) *row.Dist { return r.TPOT }),
	ofDist("tpot", "p95", false, func(f *row.Figures) *row.Dist { return f.TPOT }, func(r *row.Repeat) *row.Dist { return r.TPOT }),
	ofDist("tpot", "p99", false, func(f *row.Figures) *row.Dist { return f.TPOT }, func(r *row.Repeat) *row.Dist { return r.TPOT }),
	ofDist("tpot", "mean", false, func(f *row.Figures) *row.Dist { return f.TPOT }, func(r *row.Repeat) *row.Dist { return r.TPOT }),
	ofDist("itl", "p50", false, func(f *row.Figures) *row.Dist { return f.ITL }, func(r *row.Repeat) *row.Dist { return r.ITL }),
	ofDist("itl", "p90", false, func(f *row.Figures) *row.Dist { return f.ITL }, func(r *row.Repeat) *row.Dist { return r.ITL }),
	ofDist("itl", "p95", false, func(f *row.Figures) *row.Dist { return f.ITL }, func(r *row.Repeat) *row.Dist { return r.ITL }),
	ofDist("itl", "p99", true, func(f *row.Figures) *row.Dist { return f.ITL }, func(r *row.Repeat) *row.Dist { return r.ITL }),
	ofDist("itl", "mean", false, func(f *row.Figures) *row.Dist { return f.ITL }, func(r *row.Repeat) *row.Dist { return r.ITL }),
	ofDist("e2e", "p50", false, func(f *row.Figures) *row.Dist { return f.E2E }, nil),
	ofDist("e2e", "p99", false, func(f *row.Figures) *row.Dist { return f.E2E }, nil),
	{"output_tok_s", "tok/s", true, func(f *row.Figures) *float64 { return f.OutputTokPerSec }, func(r *row.Repeat) *float64 { return r.OutputTokPerSec }},
	{"decode_tok_s", "tok/s", false, func(f *row.Figures) *float64 { return f.DecodeTokPerSec }, func(r *row.Repeat) *float64 { return r.DecodeTokPerSec }},
	{"prefill_tok_s", "tok/s", false, func(f *row.Figures) *float64 { return f.PrefillTokPerSec }, nil},
	{"total_tok_s", "tok/s", false, func(f *row.Figures) *float64 { return f.TotalTokPerSec }, nil},
	{"request_s", "requests/s", false, func(f *row.Figures) *float64 { return f.RequestPerSec }, nil},
	{"energy_j_per_output_tok", "J", false, func(f *row.Figures) *float64 { return f.EnergyPerOutputTok }, nil},
	{"power_w", "W", false, func(f *row.Figures) *float64 { return f.Power }, nil},
}

// ofDist is a statistic of a latency.
func ofDist(name, stat string, shown bool, whole func(*row.Figures) *row.Dist, each func(*row.Repeat) *row.Dist) (c comparedBy) {
	pick := func(d *row.Dist) *float64 {
		if d == nil {
			return nil
		}
		return map[string]*float64{"mean": d.Mean, "p50": d.P50, "p90": d.P90, "p95": d.P95, "p99": d.P99}[stat]
	}
	c.name, c.unit, c.shown = name+"_"+stat, "ms", shown
	c.whole = func(f *row.Figures) *float64 { return pick(whole(f)) }
	if each != nil {
		c.each = func(r *row.Repeat) *float64 { return pick(each(r)) }
	}
	return c
}

// threshold is a change that must not be.
type threshold struct {
	text   string
	figure int
	rises  bool
	share  float64 // above 0 for a rise, below for a fall
}

// changed is one figure of one pair of rows.
type changed struct {
	Figure   string      `json:"figure"`
	Unit     string      `json:"unit"`
	Old      *float64    `json:"old"`
	New      *float64    `json:"new"`
	Change   *float64    `json:"change"` // new / old − 1
	Interval *[2]float64 `json:"interval"`
	Repeats  [2]int      `json:"repeats"`
	Shown    bool        `json:"shown"` // the interval holds no 0
	Why      string      `json:"why,omitempty"`
}

// pair is one workload in both runs.
type pair struct {
	Workload string    `json:"workload"`
	Old      string    `json:"old"` // ids; "" of an import that was not written
	New      string    `json:"new"`
	Figures  []changed `json:"figures"`
}

type comparison struct {
	Pairs    []pair      `json:"pairs"`
	Alone    []string    `json:"alone"`   // rows without a partner
	Differ   [][3]string `json:"differ"`  // what, old, new
	Passed   []string    `json:"passed"`  // of --fail-on
	Unproven []string    `json:"unshown"` // beyond --fail-on, and not shown by the intervals
	Failed   []string    `json:"failed"`  // rows that failed in NEW alone
	Unasked  []string    `json:"unasked"` // of --fail-on, what could be held against no row
}

func compareVerb(_ context.Context, args []string, s streams) int {
	var limits []threshold
	flags := newCollector("compare")
	usage(flags.FlagSet, "compare OLD NEW [flags]", compareWhat, compareExample)
	flags.add("fail-on", "", "LIST", "changes that must not be, parted by commas, such as ttft_p50>+5%,output_tok_s<-3%", func(text string) string {
		var wrong []string
		limits, wrong = parseThresholds(text)
		if wrong == nil {
			return ""
		}
		var names []string
		for _, c := range compared {
			names = append(names, c.name)
		}
		return "FIGURE>+N% or FIGURE<-N%, FIGURE one of " + strings.Join(names, ", ") + "; " + strings.Join(wrong, "; ")
	})
	asJSON := flags.Bool("json", false, "for a program")
	if code, done := flags.parse(args, s); done {
		return code
	}
	if flags.NArg() != 2 && flags.allKnown() {
		flags.wrong("%s: want two files, OLD and NEW, such as: %s", countOf(flags.NArg(), "argument"), compareExample)
	}
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	var reports [2]*row.Report
	var problems []string
	for i, name := range flags.Args() {
		r, err := anyReport(name)
		if err != nil {
			problems = append(problems, spelled(err.Error()))
			continue
		}
		reports[i] = r
	}
	if len(problems) > 0 {
		return complain(s, "compare", exitFailed, problems)
	}
	c := comparisonOf(reports[0], reports[1], limits)
	switch {
	case *asJSON:
		if printJSON(s, c) != exitOK {
			return exitFailed
		}
	default:
		c.print(s.out, limits)
	}
	switch {
	case len(c.Pairs) == 0:
		return complain(s, "compare", exitFailed, []string{"no workload is in both: " + strings.Join(c.Alone, "; ")})
	case len(c.Passed) > 0:
		return complain(s, "compare", exitRegressed, slices.Concat(c.Passed, c.Failed, c.Unasked))
	case len(limits) > 0 && len(c.Failed)+len(c.Unasked) > 0:
		return complain(s, "compare", exitFailed, slices.Concat(c.Failed, c.Unasked))
	}
	return exitOK
}

// parseThresholds reads ttft_p50>+5%,output_tok_s<-3%.
func parseThresholds(text string) (out []threshold, wrong []string) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		at := strings.IndexAny(part, "<>")
		if at < 0 {
			wrong = append(wrong, strconv.Quote(part)+" has no < or >")
			continue
		}
		name, number := strings.TrimSpace(part[:at]), strings.TrimSpace(part[at+1:])
		figure := slices.IndexFunc(compared, func(c comparedBy) bool { return c.name == name })
		digits, percent := strings.CutSuffix(number, "%")
		v, err := strconv.ParseFloat(digits, 64)
		rises := part[at] == '>'
		switch {
		case figure < 0:
			wrong = append(wrong, strconv.Quote(name)+" is no figure")
		case !percent || err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			wrong = append(wrong, strconv.Quote(number)+" is no percentage such as +5%")
		case rises && v < 0 || !rises && v > 0:
			wrong = append(wrong, strconv.Quote(part)+": a rise is asked for as >+N%, a fall as <-N%")
		default:
			out = append(out, threshold{part, figure, rises, v / 100})
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return out, nil
}

// anyReport reads a report of ours, or any file that import reads.
func anyReport(name string) (*row.Report, error) {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var r *harness.Result
		r, err = harness.Parse(name, f)
		var torn *harness.Torn
		if err == nil || errors.As(err, &torn) {
			report, _, wrong := r.Report(harness.Ask{MeasuredAt: "1970-01-01T00:00:00Z", Concurrency: 1})
			if len(wrong) > 0 {
				return nil, fmt.Errorf("%s: %s", name, strings.Join(wrong, "; "))
			}
			return report, nil
		}
		if !errors.Is(err, harness.ErrOurs) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	b, err := loadReport(name)
	if err != nil {
		return nil, err
	}
	return b.Report, nil
}

// workloadName is what two rows must share to be compared.
func workloadName(w *row.Workload) string {
	name := loadOf(w)
	if w.Prompts.Kind != row.PromptsRandom {
		name += " " + w.Prompts.Kind
	}
	if w.Prompts.State == row.Warm {
		name += " warm"
	}
	if w.Prompts.SharedPrefix > 0 {
		name += " shared prefix " + strconv.FormatInt(w.Prompts.SharedPrefix, 10)
	}
	return name
}

func comparisonOf(old, new *row.Report, limits []threshold) *comparison {
	c := &comparison{Pairs: []pair{}, Alone: []string{}, Differ: [][3]string{}, Passed: []string{}, Unproven: []string{}, Failed: []string{}, Unasked: []string{}}
	used := map[int]bool{}
	asked := make([]bool, len(limits))
	for i := range old.Rows {
		a := &old.Rows[i]
		name := workloadName(&a.Workload)
		at := -1
		for k := range new.Rows {
			if !used[k] && workloadName(&new.Rows[k].Workload) == name {
				at = k
				break
			}
		}
		if at < 0 {
			c.Alone = append(c.Alone, "only in OLD: "+name)
			continue
		}
		used[at] = true
		b := &new.Rows[at]
		p := pair{Workload: name, Old: a.ID, New: b.ID}
		for f := range compared {
			p.Figures = append(p.Figures, change(f, a, b))
		}
		if a.Status == row.StatusOK && b.Status != row.StatusOK {
			c.Failed = append(c.Failed, name+": in NEW it failed: "+b.Reason)
		}
		for k, l := range limits {
			asked[k] = c.hold(l, &p) || asked[k]
		}
		c.Pairs = append(c.Pairs, p)
	}
	for k := range new.Rows {
		if !used[k] {
			c.Alone = append(c.Alone, "only in NEW: "+workloadName(&new.Rows[k].Workload))
		}
	}
	for k, l := range limits {
		if !asked[k] && len(c.Pairs) > 0 {
			c.Unasked = append(c.Unasked, l.text+" could be held against no row: each lacks the figure, or two repeats on a side (measure with --repeats 3)")
		}
	}
	c.differences(old, new)
	return c
}

// change is one figure in two rows.
func change(f int, a, b *row.Row) changed {
	of := &compared[f]
	out := changed{Figure: of.name, Unit: of.unit, Old: of.whole(&a.Figures), New: of.whole(&b.Figures), Repeats: [2]int{len(a.PerRepeat), len(b.PerRepeat)}}
	if out.Old == nil || out.New == nil || *out.Old <= 0 {
		out.Why = "not in both"
		return out
	}
	share := *out.New / *out.Old - 1
	out.Change = &share
	x, y := of.estimates(a), of.estimates(b)
	if of.each == nil && (x == nil || y == nil) {
		out.Why = "no estimate in each repeat is kept"
		return out
	}
	if x != nil || y != nil {
		out.Repeats = [2]int{len(x), len(y)}
	}
	_, lo, hi, ok := stats.Change(x, y)
	if !ok {
		out.Why = "fewer than two repeats on a side"
		return out
	}
	out.Interval = &[2]float64{lo - 1, hi - 1}
	out.Shown = lo > 1 || hi < 1
	return out
}

// estimates are a figure in each of a row's repeats.
func (c *comparedBy) estimates(r *row.Row) (values []float64) {
	if r.Import != nil && len(r.PerRepeat) == 0 {
		return harness.Repeats(r.Import, c.name)
	}
	for i := range r.PerRepeat {
		if c.each == nil {
			break
		}
		if v := c.each(&r.PerRepeat[i]); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// hold holds one pair against one change that must not be; it answers whether the pair can
// show such a change.
func (c *comparison) hold(l threshold, p *pair) bool {
	f := &p.Figures[l.figure]
	if f.Change == nil {
		c.Unproven = append(c.Unproven, fmt.Sprintf("%s: %s is %s", p.Workload, f.Figure, f.Why))
		return false
	}
	if l.rises && *f.Change <= l.share || !l.rises && *f.Change >= l.share {
		return f.Interval != nil
	}
	text := fmt.Sprintf("%s: %s %s, from %s to %s %s", p.Workload, f.Figure, percentOf(*f.Change), roofline.Number(*f.Old), roofline.Number(*f.New), f.Unit)
	switch {
	case f.Shown:
		c.Passed = append(c.Passed, text+" passes "+l.text)
	case f.Interval != nil:
		c.Unproven = append(c.Unproven, text+" is beyond "+l.text+", and its interval holds no change too")
	default:
		c.Unproven = append(c.Unproven, text+" is beyond "+l.text+"; "+f.Why)
	}
	return f.Interval != nil
}

func percentOf(share float64) string {
	return fmt.Sprintf("%+.1f%%", 100*share)
}

func cmpOr(text string) string {
	if text == "" {
		return "—"
	}
	return text
}

// print writes the table: the figures that are shown, and those of --fail-on.
func (c *comparison) print(w io.Writer, limits []threshold) {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, p.Workload)
		// Of a tool that serves no requests these two are all there is.
		unserved := !slices.ContainsFunc(p.Figures, func(f changed) bool { return f.Figure == "output_tok_s" && (f.Old != nil || f.New != nil) })
		fmt.Fprintf(w, "  %-24s %12s %12s  %-8s  %-20s %s\n", "figure", "old", "new", "change", "95% interval", "repeats")
		for k, f := range p.Figures {
			asked := slices.ContainsFunc(limits, func(l threshold) bool { return l.figure == k })
			shown := compared[k].shown || unserved && (compared[k].name == "prefill_tok_s" || compared[k].name == "decode_tok_s")
			if !shown && !asked || f.Old == nil && f.New == nil && !asked {
				continue
			}
			text := func(v *float64) string {
				if v == nil {
					return "—"
				}
				return roofline.Number(*v)
			}
			mark, interval := "~", f.Why
			if f.Interval != nil {
				interval = percentOf(f.Interval[0]) + " to " + percentOf(f.Interval[1])
			}
			if f.Shown {
				mark = percentOf(*f.Change)
			}
			fmt.Fprintf(w, "  %-24s %12s %12s  %-8s  %-20s %d, %d\n", f.Figure+" "+f.Unit, text(f.Old), text(f.New), mark, interval, f.Repeats[0], f.Repeats[1])
		}
	}
	for _, text := range slices.Concat(c.Alone, c.Failed) {
		fmt.Fprintln(w, printable(text))
	}
	if len(c.Differ) > 0 {
		fmt.Fprintln(w, "\nWhat differs:")
		for _, d := range c.Differ {
			fmt.Fprintf(w, "  %s: %s → %s\n", printable(d[0]), printable(d[1]), printable(d[2]))
		}
	}
	if len(c.Unproven) > 0 {
		fmt.Fprintln(w, "\nOf --fail-on, not shown:")
		for _, text := range c.Unproven {
			fmt.Fprintln(w, "  "+printable(text))
		}
	}
}
