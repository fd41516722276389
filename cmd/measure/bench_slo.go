package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
)

// declareSLO adds the flag that turns a sweep into a search.
func (o *benchOptions) declareSLO(c collector) {
	c.add("slo", "", "LIMITS", "search for the highest concurrency, or --request-rate, that meets every limit, such as ttft_p99<500ms,itl_p99<50ms; exit 4 when none does", func(s string) string {
		limits, wrong := row.ParseLimits(s)
		if wrong != nil {
			return "limits such as ttft_p99<500ms,itl_p99<50ms, none twice: " + strings.Join(row.LimitFigures, ", ") + " by " + strings.Join(row.LimitPoints, ", ") +
				", below a time in ms or s; " + strings.Join(wrong, "; ")
		}
		o.slo = limits
		return ""
	})
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
			wrong("--slo %s with shape %s: want outputs of two tokens or more: one has no gap", l.Name(), o.shapes[one])
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
		name := row.Limit{Figure: h.Limit.Figure, Permille: h.Permille}.Name()
		switch {
		case h.Found == nil:
			why := cmp.Or(missing[h.Limit.Figure+"."+strings.TrimPrefix(h.Limit.Name(), strings.TrimSuffix(h.Limit.Figure, "_ms")+"_")], missing[h.Limit.Figure], "not measured")
			words = append(words, h.Limit.Name()+" is unknown ("+why+")")
			continue
		case !h.Known():
			name += " (too few samples for " + h.Limit.Name() + ")"
		}
		text := name + " " + row.TimeWords(*h.Found)
		if !h.Met {
			text += ", " + overWords(h.Over()) + " over"
		}
		words = append(words, text)
	}
	return met, words
}

// overWords is a share in percent, in few digits.
func overWords(share float64) string {
	percent := 100 * share
	return sameDecimals([]*float64{&percent})[0] + "%"
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
	a := sloAnswer{Of: c.name, Limits: row.LimitWords(limits), Open: c.open, Broken: c.broken}
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
		rates := sameDecimals([]*float64{s.Goodput, s.Requests})
		text += "; goodput " + rates[0] + " of " + rates[1] + " requests/s"
	}
	return text
}
