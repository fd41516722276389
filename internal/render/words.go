package render

import (
	"fmt"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/render/format"
)

// span is a part of a sentence.
type span struct {
	Text   string
	Strong bool
	Code   bool
	Link   string // an address of the site
}

// sentence is text with its figures set strong.
type sentence []span

func say(s string) span    { return span{Text: s} }
func strong(s string) span { return span{Text: s, Strong: true} }
func code(s string) span   { return span{Text: s, Code: true} }

func linked(s, address string) span { return span{Text: s, Link: address} }

// String is the sentence without its marks.
func (s sentence) String() string {
	var b strings.Builder
	for _, p := range s {
		b.WriteString(p.Text)
	}
	return b.String()
}

// tally counts gate answers in words and names what warned: "17 gates passed; host
// warns: software power cap; 1 does not apply".
func tally(gates []gate.Result) string {
	n := map[gate.Answer]int{}
	for _, g := range gates {
		n[g.Answer]++
	}
	parts := []string{format.Plural(n[gate.Pass], "gate", "gates") + " passed"}
	if n[gate.Pass] == len(gates) && len(gates) > 1 {
		parts[0] = fmt.Sprintf("all%s%d gates passed", format.NBSP, len(gates))
	}
	for _, g := range gates {
		if g.Answer == gate.Warn {
			parts = append(parts, g.Gate+" warns: "+strings.TrimSuffix(g.Reason, "."))
		}
	}
	for _, a := range []struct {
		answer    gate.Answer
		one, many string
	}{
		{gate.Fail, "fails", "fail"},
		{gate.Unjudged, "cannot be judged", "cannot be judged"},
		{gate.NotApplicable, "does not apply", "do not apply"}, {gate.NotAsked, "was not asked", "were not asked"},
	} {
		if n[a.answer] > 0 {
			word := a.many
			if n[a.answer] == 1 {
				word = a.one
			}
			parts = append(parts, format.Count(int64(n[a.answer]))+format.NBSP+word)
		}
	}
	return strings.Join(parts, "; ")
}

// repeats in words.
func repeats(m *measured) string {
	n := format.Plural(int(m.Workload.Repeats), "repeat", "repeats")
	switch {
	case m.Workload.Requests != nil:
		return n + " of " + format.Plural(int(*m.Workload.Requests), "request", "requests")
	case m.Workload.DurationS != nil:
		return n + " of " + format.Quantity(format.Count(*m.Workload.DurationS), "s")
	case m.Workload.Iters != nil:
		return n + " of " + format.Plural(int(*m.Workload.Iters), "pass", "passes")
	}
	return n
}

// verdict is the first sentence of a row's page.
func verdict(m *measured) sentence {
	switch {
	case m.Withdrawn != nil:
		return sentence{strong("Withdrawn " + m.Withdrawn.Date + ":"), say(" " + strings.TrimSuffix(m.Withdrawn.Reason, ".") +
			". The figures are kept for the record and stand in no ranking or chart.")}
	case m.Verdict == gate.Verified:
		return sentence{strong("Verified."), say(fmt.Sprintf(" %s, measured %s on %s; %s.", capital(repeats(m)), format.Date(m.Report.MeasuredAt), m.targetName(), tally(m.Gates)))}
	case m.Verdict == gate.Imported:
		return imported(m)
	}
	for _, g := range m.Gates {
		if g.Answer == gate.Fail {
			return sentence{strong("Not verified:"), say(" "), code(g.Gate), say(". " + closed(g.Head()) + mend(g))}
		}
	}
	for _, g := range m.Gates {
		if g.Answer == gate.Unjudged {
			return sentence{strong("Cannot be judged:"), say(" "), code(g.Gate), say(": " + closed(g.Reason) + mend(g))}
		}
	}
	return sentence{strong("Not verified.")}
}

func mend(g gate.Result) string {
	if g.Mend == "" {
		return ""
	}
	return " " + closed(capital(g.Mend))
}

// closed ends a sentence with its full stop.
func closed(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// quoted writes arguments as a shell takes them.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = shellQuote(a)
	}
	return strings.Join(out, " ")
}

func shellQuote(s string) string {
	safe := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@+%", r))
	})
	if safe {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// wrapped writes a command: on one line where it fits into width, else with each flag and
// its value on a line of its own and other words filling lines of that width.
func wrapped(args []string, width int) string {
	var words []string
	flag := map[int]bool{}
	total := 0
	for i := 0; i < len(args); i++ {
		word := shellQuote(args[i])
		if strings.HasPrefix(args[i], "-") {
			flag[len(words)] = true
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				word += " " + shellQuote(args[i])
			}
		}
		words = append(words, word)
		total += len([]rune(word)) + 1
	}
	if total-1 <= width {
		return strings.Join(words, " ")
	}
	var b strings.Builder
	line := 0
	for i, word := range words {
		n := len([]rune(word))
		switch {
		case line == 0:
		case flag[i] || flag[i-1] || line+1+n > width-2:
			b.WriteString(" \\\n  ")
			line = 2
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += n
	}
	return b.String()
}
