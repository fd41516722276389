package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// load writes how many requests were offered, or how often.
func (m *measured) load() string {
	l := &m.Workload.Load
	most := ""
	if l.Concurrency != nil {
		if l.RequestRate == nil {
			return format.Concurrency(*l.Concurrency)
		}
		most = ", at most" + format.NBSP + format.Count(*l.Concurrency)
	}
	switch {
	case l.RequestRate == nil:
		return "load not stated"
	case *l.RequestRate == row.OwnTimes:
		return "the trace's own times" + most
	case *l.RequestRate == "inf":
		return "requests all at once" + most
	}
	return *l.RequestRate + format.NBSP + "requests/s" + most
}

// concurrency is 0 for open load.
func (m *measured) concurrency() int64 {
	if m.Workload.OpenLoop() {
		return 0
	}
	return *m.Workload.Load.Concurrency
}

// rate is the requests a second that were offered; a trace's own times come before all
// rates, and all at once after them.
func (m *measured) offered() float64 {
	r := m.Workload.Load.RequestRate
	if r == nil || *r == row.OwnTimes {
		return 0
	}
	v, err := strconv.ParseFloat(*r, 64)
	if err != nil {
		return 0
	}
	return v
}

// ladderKind is which rows of a shape stand in one table, one ladder of loads: its words
// are "" for the load that rankings are of and for passes of the same.
type ladderKind struct {
	key, words string
	open       bool
}

func kindOf(w *row.Workload) ladderKind {
	plain := *w
	plain.Protocol = row.Sustained
	if plain.Ranked() {
		return ladderKind{}
	}
	return ladderKind{plain.Family(), loadWords(w), w.OpenLoop()}
}

// loadWords say what sets a load apart from streams kept full with fresh random prompts.
func loadWords(w *row.Workload) string {
	var words []string
	p := &w.Prompts
	if p.Kind != row.PromptsRandom {
		name := p.Kind
		if p.SHA256 != nil {
			name += " " + (*p.SHA256)[:min(12, len(*p.SHA256))]
		}
		words = append(words, name)
	}
	if w.Sessions != nil {
		words = append(words, "sessions of several turns")
	}
	if p.State == row.Warm {
		words = append(words, "warm prompts")
	}
	if p.SharedPrefix > 0 {
		words = append(words, format.Plural(int(p.SharedPrefix), "token", "tokens")+" shared by all prompts")
	}
	if w.OpenLoop() {
		open := "open loop"
		if b := w.Load.Burstiness; b != nil && *b != "1" {
			open += " of burstiness " + *b
		}
		if c := w.Load.Concurrency; c != nil {
			open += ", at most " + format.Plural(int(*c), "request", "requests") + " under way"
		}
		words = append(words, open)
	}
	return strings.Join(words, ", ")
}

// shapeWords is a shape in a heading; of a dataset or a trace it is of medians.
func shapeWords(w *row.Workload) string {
	sh := format.Shape(w.ISL, w.OSL)
	if w.Lengths != nil {
		return "median " + sh
	}
	return sh
}

// byLoad orders the rows of one ladder.
func byLoad(a, b *measured) int {
	return cmp.Or(cmp.Compare(a.concurrency(), b.concurrency()), cmp.Compare(a.offered(), b.offered()),
		cmp.Compare(b.Report.MeasuredAt, a.Report.MeasuredAt))
}

// offeredFacts say how the requests of a row came and how long they were, where streams
// and one length do not say it all.
func offeredFacts(m *measured) []fact {
	w, c := &m.Workload, &m.Counts
	if kindOf(w).key == "" {
		return nil
	}
	var facts []fact
	add := func(name, text string) { facts = append(facts, fact{Name: name, Text: text}) }
	if w.OpenLoop() {
		came := "open loop: each at a time of its own, whether others had ended or not"
		if r := w.Load.RequestRate; r != nil && *r == row.OwnTimes {
			came = "open loop: at the times of the trace"
		}
		add("Requests came", came)
		if r := w.Load.RequestRate; r != nil && *r != row.OwnTimes {
			rate := *r + " a second"
			if *r == "inf" {
				rate = "all at once"
			}
			add("Rate asked", rate)
		}
		if b := w.Load.Burstiness; b != nil {
			words := *b
			if *b == "1" {
				words += ": a Poisson process"
			}
			add("Burstiness", words)
		}
		if n := w.Load.Concurrency; n != nil {
			add("Under way at most", format.Plural(int(*n), "request", "requests")+"; others waited, and their TTFT counts it")
		} else {
			add("Under way at most", "as many as came")
		}
	}
	if v := m.Figures.RequestPerSec; v != nil {
		text := format.Quantity(format.Prose(*v), "requests/s")
		if i, ok := m.Figures.Intervals["request_s"]; ok {
			text += " (" + format.NewColumn("", []float64{*v}).Interval(i[0], i[1]) + ")"
		}
		add("Completed", text)
	}
	if l := w.Lengths; l != nil {
		add("Prompt tokens", "p50 "+format.Count(l.ISLP50)+", p99 "+format.Count(l.ISLP99)+observedRange(c.ISL))
		add("Output tokens", "p50 "+format.Count(l.OSLP50)+", p99 "+format.Count(l.OSLP99)+observedRange(c.OSL))
	}
	if w.Sessions != nil {
		add("Sessions", format.Count(*w.Sessions))
	}
	if p := w.Prompts; p.SHA256 != nil {
		facts = append(facts, fact{Name: capital(p.Kind), Text: "SHA-256 " + *p.SHA256, Code: true, Long: true})
	}
	if w.Block != nil {
		add("Block of the trace", format.Plural(int(*w.Block), "token", "tokens"))
	}
	return append(facts, cacheFacts(c)...)
}

func observedRange(r *row.Range) string {
	if r == nil {
		return ""
	}
	return "; observed " + format.Count(r.Min) + "–" + format.Count(r.Max)
}

// cacheFacts set what the prefix cache served beside what it could have.
func cacheFacts(c *row.Counts) []fact {
	if c.PromptTokens == nil || c.CommonTokens == nil || *c.PromptTokens == 0 {
		return nil
	}
	share := func(n int64) string {
		return format.Percent(float64(n)/float64(*c.PromptTokens)) + " of the prompt tokens, " + format.Count(n)
	}
	measured := fact{Name: "Cache hits, measured", Text: "—", Note: "the server does not say"}
	if c.CachedTokens != nil {
		measured = fact{Name: "Cache hits, measured", Text: share(*c.CachedTokens)}
	}
	return []fact{{Name: "Cache hits, in theory", Text: share(*c.CommonTokens) + ": what prompts have in common with earlier ones of their repeat"}, measured}
}

// statedLimits are those that the run was asked to hold its rows to, by --slo; nil where
// none were.
func statedLimits(command []string) []row.Limit {
	for i, arg := range command {
		text, ok := strings.CutPrefix(arg, "--slo=")
		if !ok && arg == "--slo" && i+1 < len(command) {
			text, ok = command[i+1], true
		}
		if !ok {
			continue
		}
		if limits, wrong := row.ParseLimits(text); wrong == nil {
			return limits
		}
	}
	return nil
}

// goodputFact is how many requests a second met every limit that the run was asked to
// hold; none where it was asked for none.
func goodputFact(m *measured, samples []row.Sample) []fact {
	limits := statedLimits(m.Report.Tool.Command)
	if limits == nil || samples == nil {
		return nil
	}
	within := "within " + row.LimitWords(limits)
	g := row.Goodput(&m.Workload, samples, limits)
	if g.PerSec == nil {
		return []fact{{Name: "Goodput", Text: "—", Note: within + ": " + g.Missing}}
	}
	text := format.Quantity(format.Prose(*g.PerSec), "requests/s")
	if i := g.Interval; i != nil {
		text += " (" + format.NewColumn("", []float64{*g.PerSec}).Interval(i[0], i[1]) + ")"
	}
	text += " " + within + ": " + format.Count(g.Met) + " of " + format.Plural(int(g.Of), "request", "requests") + " met every limit"
	if g.Untold > 0 {
		text += ", of " + format.Count(g.Untold) + " it cannot be told"
	}
	return []fact{{Name: "Goodput", Text: text}}
}

// kindsOf are the ladders of some rows of one shape, the usual load first, then those of
// streams before those of rates.
func kindsOf(rows []*measured) []ladderKind {
	kinds := distinct(rows, func(m *measured) ladderKind { return kindOf(&m.Workload) })
	slices.SortStableFunc(kinds, func(a, b ladderKind) int {
		open := func(k ladderKind) int {
			if k.open {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(open(a), open(b)), cmp.Compare(a.key, b.key))
	})
	return kinds
}

// workload in words: protocol, prompts, sampling.
func workload(w *row.Workload) string {
	prompts := w.Prompts.State + " " + w.Prompts.Kind + " prompts"
	if w.Prompts.SharedPrefix > 0 {
		prompts += fmt.Sprintf(", %s shared", format.Plural(int(w.Prompts.SharedPrefix), "token", "tokens"))
	}
	if w.Sessions != nil {
		prompts += ", sessions of several turns"
	}
	switch {
	case w.OpenLoop():
		return "open loop, " + prompts
	case w.Protocol == row.Sustained:
		return "streams kept full (sustained), " + prompts
	}
	return "in passes, " + prompts
}
