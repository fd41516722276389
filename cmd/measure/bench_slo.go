package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// What a limit may be of, by the names that metrics have.
var (
	sloFigures = []string{"ttft", "ttfa", "itl", "tpot", "e2e"}
	sloPoints  = []string{"p50", "p90", "p95", "p99", "mean"}
	permilles  = []int{500, 900, 950, 990, row.Mean}
)

// declareSLO adds the flag that turns a sweep into a search.
func (o *benchOptions) declareSLO(c collector) {
	c.add("slo", "", "LIMITS", "search for the highest concurrency, or --request-rate, that meets every limit, such as ttft_p99<500ms,itl_p99<50ms; exit 4 when none does", func(s string) string {
		limits, wrong := parseSLO(s)
		if wrong != nil {
			return "limits such as ttft_p99<500ms,itl_p99<50ms, none twice: " + strings.Join(sloFigures, ", ") + " by " + strings.Join(sloPoints, ", ") +
				", below a time in ms or s; " + strings.Join(wrong, "; ")
		}
		o.slo = limits
		return ""
	})
}

// parseSLO reads "ttft_p99<500ms,itl_p50<0.05s"; wrong says of each part that is no
// limit what is the matter with it.
func parseSLO(s string) (limits []row.Limit, wrong []string) {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		l, ok := parseLimit(part)
		name := limitName(l)
		switch {
		case !ok:
			wrong = append(wrong, strconv.Quote(part)+" is no limit")
		case seen[name] && !slices.Contains(wrong, name+" stands twice"):
			wrong = append(wrong, name+" stands twice")
		}
		seen[name] = true
		limits = append(limits, l)
	}
	return limits, wrong
}

func parseLimit(s string) (l row.Limit, ok bool) {
	name, most, found := strings.Cut(s, "<")
	figure, point, parted := strings.Cut(strings.TrimSpace(name), "_")
	at := slices.Index(sloPoints, point)
	if !found || !parted || at < 0 || !slices.Contains(sloFigures, figure) {
		return l, false
	}
	most = strings.TrimSpace(strings.TrimPrefix(most, "=")) // a limit is what may just be reached
	scale := 1.0
	text, ok := strings.CutSuffix(most, "ms")
	if !ok {
		text, ok = strings.CutSuffix(most, "s")
		scale = 1000
	}
	v, err := strconv.ParseFloat(text, 64)
	l = row.Limit{Figure: figure + "_ms", Permille: permilles[at], Max: v * scale}
	return l, ok && err == nil && v > 0 && !math.IsInf(l.Max, 0)
}

// limitName is ttft_p99 of a limit on it.
func limitName(l row.Limit) string { return pointName(l, l.Permille) }

func pointName(l row.Limit, permille int) string {
	at := slices.Index(permilles, permille)
	if at < 0 {
		return ""
	}
	return strings.TrimSuffix(l.Figure, "_ms") + "_" + sloPoints[at]
}

// sloWords is how limits are written.
func sloWords(limits []row.Limit) string {
	out := make([]string, len(limits))
	for i, l := range limits {
		out[i] = limitName(l) + "<" + msWords(l.Max)
	}
	return strings.Join(out, ",")
}

// msWords is a time to four digits, without an exponent.
func msWords(ms float64) string {
	v, err := strconv.ParseFloat(strconv.FormatFloat(ms, 'g', 4, 64), 64)
	if err != nil {
		v = ms
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + "ms"
}

// sloSamples is how many requests a row must time for the percentiles that limits ask of
// figures that a request has one of.
func sloSamples(limits []row.Limit) int64 {
	n := int64(0)
	for _, l := range limits {
		if l.Figure == "itl_ms" {
			continue // of which one request has many
		}
		n = max(n, map[int]int64{900: 10, 950: 20, 990: 100}[l.Permille])
	}
	return n
}

// finishSLO checks the flag with the others.
func (o *benchOptions) finishSLO(given func(string) bool, wrong func(string, ...any)) {
	if !given("slo") {
		return
	}
	if !given("iters") {
		o.protocol = row.Sustained
	}
	switch {
	case o.traceFile != "" && o.rates == nil:
		wrong("--slo with --trace: want --request-rate too: its own times are one load")
	case slices.Contains(o.rates, "inf"):
		wrong("--slo with --request-rate inf: want rates that a search can go up and down from")
	case o.repeatPrompts:
		wrong("--slo with --repeat-prompts: want cold prompts; a cache that is warm at one load is not at another")
	}
	for _, l := range o.slo {
		if one := slices.IndexFunc(o.shapes, func(s shape) bool { return s.osl == 1 }); one >= 0 && (l.Figure == "itl_ms" || l.Figure == "tpot_ms") {
			wrong("--slo %s with shape %s: want outputs of two tokens or more: one has no gap", limitName(l), o.shapes[one])
		}
	}
	o.leastRequests = sloSamples(o.slo)
	o.givenLoads = given("concurrency") || given("request-rate")
}

// heldWords says how a row fares against the limits, in words: met where it meets them all.
func heldWords(f *row.Figures, missing map[string]string, limits []row.Limit) (met bool, words []string) {
	met = true
	for _, h := range tradeoff.Hold(f, limits) {
		met = met && h.Met
		name := pointName(h.Limit, h.Permille)
		switch {
		case h.Found == nil:
			why := cmp.Or(missing[h.Limit.Figure+"."+strings.TrimPrefix(limitName(h.Limit), strings.TrimSuffix(h.Limit.Figure, "_ms")+"_")], missing[h.Limit.Figure], "not measured")
			words = append(words, limitName(h.Limit)+" is unknown ("+why+")")
			continue
		case !h.Known():
			name += " (too few samples for " + limitName(h.Limit) + ")"
		}
		text := name + " " + msWords(*h.Found)
		if !h.Met {
			text += fmt.Sprintf(", %.3g%% over", 100*h.Over())
		}
		words = append(words, text)
	}
	return met, words
}

// sloAnswer is what a search of one shape found, as --json prints it.
type sloAnswer struct {
	Of     string   `json:"of"` // what was asked: a shape, or a file
	Limits string   `json:"limits"`
	Met    bool     `json:"met"`     // some measured load meets every limit
	Load   *sloStep `json:"load"`    // the highest that does; null when none does
	Above  *sloStep `json:"above"`   // the lowest measured above it, which does not; null when none was measured
	Near   *sloStep `json:"nearest"` // where none does, the measured load whose worst overrun is least
	Open   bool     `json:"open"`    // no higher load was tried
	Broken string   `json:"broken"`  // why the search ended early; "" when it did not
}

// sloStep is one measured load of a search.
type sloStep struct {
	Concurrency *int64   `json:"concurrency"`
	RequestRate *string  `json:"request_rate"`
	Row         string   `json:"row"` // its id
	Status      string   `json:"status"`
	Reason      string   `json:"reason"`
	Held        []string `json:"held"`              // each limit's figure, in words
	Goodput     *float64 `json:"goodput_request_s"` // requests a second that met every limit
	Requests    *float64 `json:"request_s"`

	load  float64
	words string // c=16, or 4 requests/s
	met   bool
	over  float64
}

// answer says what a climb found.
func (c *climb) answer(limits []row.Limit) sloAnswer {
	a := sloAnswer{Of: c.name, Limits: sloWords(limits), Open: c.open, Broken: c.broken}
	for i := range c.steps {
		s := &c.steps[i]
		switch {
		case s.met && (a.Load == nil || s.load > a.Load.load):
			a.Load, a.Met = s, true
		case !s.met && (a.Above == nil || s.load < a.Above.load):
			a.Above = s
		}
	}
	if !a.Met {
		a.Above = nil
		for i := range c.steps {
			if s := &c.steps[i]; a.Near == nil || s.over < a.Near.over {
				a.Near = s
			}
		}
	}
	return a
}

// sloCode is the exit code of a search. A row that failed above the answer is what the
// search was for; one that ended it early is not.
func sloCode(answers []sloAnswer) (int, error) {
	for _, a := range answers {
		if a.Broken != "" {
			return exitFailed, nil
		}
	}
	for _, a := range answers {
		if !a.Met {
			return exitNotMet, refuse(exitNotMet, "--slo: not met at any load measured of %s", a.Of)
		}
	}
	return exitOK, nil
}

// tell says an answer to a reader.
func (a *sloAnswer) tell(w io.Writer) {
	limits := strings.ReplaceAll(a.Limits, ",", " and ")
	switch {
	case a.Met:
		fmt.Fprintf(w, "%s: the highest load measured that meets %s is %s: %s\n", a.Of, limits, a.Load.words, a.Load.tell())
	case a.Near != nil:
		fmt.Fprintf(w, "%s: nothing measured meets %s; the nearest is %s: %s\n", a.Of, limits, a.Near.words, a.Near.tell())
	default:
		fmt.Fprintf(w, "%s: nothing was measured to hold against %s\n", a.Of, limits)
	}
	switch {
	case a.Met && a.Above != nil:
		fmt.Fprintf(w, "  the next above it that was measured, %s, does not: %s\n", a.Above.words, a.Above.tell())
	case a.Met && a.Open:
		fmt.Fprintln(w, "  no higher load was tried, so it may take more")
	}
	if a.Broken != "" {
		fmt.Fprintf(w, "  the search ended early: %s\n", a.Broken)
	}
}

func (s *sloStep) tell() string {
	if s.Status != row.StatusOK {
		return "its row failed: " + s.Reason
	}
	text := strings.Join(s.Held, ", ")
	if s.Goodput != nil && s.Requests != nil {
		text += fmt.Sprintf("; goodput %.4g of %.4g requests/s", *s.Goodput, *s.Requests)
	}
	return text
}
