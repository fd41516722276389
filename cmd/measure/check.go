package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

const (
	checkWhat = `Recompute every figure, hash and id of a report and ask every gate, each with its
reason. A row is verified when no gate fails and none is left unjudged; one of another
tool is imported when no gate fails. The exit code is 0 when every row of every file is
one of the two. Roofs are by the report's own copy of its recipe, model
and target, and by the catalogue in this binary: a row above either is not verified.`
	checkExample = "measure check out/run.json"
)

// checkedGate is one answer as --json prints it.
type checkedGate struct {
	Gate    string            `json:"gate"`
	Answer  string            `json:"answer"`
	Reason  string            `json:"reason"`
	Figures []checkedCompared `json:"figures"`
	Mend    string            `json:"mend,omitempty"`
	Causes  []checkedCause    `json:"causes,omitempty"` // of what is above its roof, what explains it first

	head string // the reason without the causes
}

// checkedCause is one thing that could explain a figure above its roof, tried.
type checkedCause struct {
	Name     string `json:"name"`
	Text     string `json:"text"`
	Explains bool   `json:"explains"`
}

type checkedCompared struct {
	Name    string `json:"name"`
	Found   string `json:"found"`
	Against string `json:"against"`
}

type checkedRow struct {
	ID      string        `json:"id"`
	Load    string        `json:"load"`
	Verdict string        `json:"verdict"`
	Gates   []checkedGate `json:"gates"`
}

type checkedFile struct {
	File  string       `json:"file"`
	Error string       `json:"error,omitempty"` // why there was nothing to judge
	Rows  []checkedRow `json:"rows"`
}

func check(_ context.Context, args []string, s streams) int {
	fs := newCollector("check")
	asJSON := fs.Bool("json", false, "for a program")
	usage(fs.FlagSet, "check FILE… [--json]", checkWhat, checkExample)
	if code, done := fs.parse(args, s); done {
		return code
	}
	if fs.NArg() == 0 {
		fs.wrong("no FILE was named; want the PREFIX.json of a run, such as: %s", checkExample)
	}
	if len(fs.problems) > 0 {
		return fs.refuse(s)
	}
	known, _ := openCatalog("") // in this binary, whose own tests hold it without problems
	code := exitOK
	files := make([]checkedFile, 0, fs.NArg())
	for _, name := range fs.Args() {
		f := checkedFile{File: name, Rows: []checkedRow{}}
		b, err := loadReport(name)
		if err != nil {
			f.Error = err.Error()
			complain(s, "check", exitFailed, []string{f.Error})
			code = exitFailed
			files = append(files, f)
			continue
		}
		b.Today = todayOf(known, b.Report)
		for i, results := range b.Judge(nil) {
			verdict := gate.VerdictOf(b.Rows[i].Row, results)
			if verdict == gate.Unverified {
				code = exitFailed
			}
			f.Rows = append(f.Rows, checkedRow{b.Rows[i].Row.ID, loadOf(&b.Rows[i].Row.Workload), verdict, checkedGates(results)})
		}
		if len(f.Rows) == 0 {
			code = exitFailed
			for _, p := range b.Problems {
				complain(s, "check", exitFailed, []string{name + ": " + p})
			}
		}
		files = append(files, f)
	}
	if *asJSON {
		if printJSON(s, files) != exitOK {
			return exitFailed
		}
		return code
	}
	for i, f := range files {
		if i > 0 && len(f.Rows) > 0 {
			fmt.Fprintln(s.out)
		}
		f.print(s)
	}
	return code
}

func checkedGates(results []gate.Result) []checkedGate {
	out := make([]checkedGate, len(results))
	for i, r := range results {
		out[i] = checkedGate{Gate: r.Gate, Answer: r.Answer.String(), Reason: r.Reason, Figures: []checkedCompared{}, Mend: r.Mend, head: r.Head()}
		for _, c := range r.Figures {
			out[i].Figures = append(out[i].Figures, checkedCompared(c))
		}
		for _, c := range r.Causes {
			out[i].Causes = append(out[i].Causes, checkedCause{c.Name, c.Text, c.Closes})
		}
	}
	return out
}

// loadOf names a row's shape and load in a few characters.
func loadOf(w *row.Workload) string {
	text := fmt.Sprintf("%d:%d", w.ISL, w.OSL)
	if c := w.Load.Concurrency; c != nil {
		text += fmt.Sprintf(" c=%d", *c)
	}
	if r := w.Load.RequestRate; r != nil {
		text += " rate=" + *r
	}
	return text + " " + w.Protocol
}

// print writes a table: what was asked and what the answers were.
func (f *checkedFile) print(s streams) {
	for i, r := range f.Rows {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintf(s.out, "%s row %d %s %s: %s\n", plain(filepath.Base(f.File)), i, printable(r.ID), printable(r.Load), r.Verdict)
		for _, g := range r.Gates {
			text := printable(g.head)
			if g.Mend != "" {
				text += " (" + printable(g.Mend) + ")"
			}
			fmt.Fprintf(s.out, "  %-16s %-12s %s\n", g.Answer, g.Gate, text)
			for _, c := range g.Causes {
				fmt.Fprintf(s.out, "  %-16s %-12s - %s\n", "", "", printable(c.Text))
			}
		}
	}
}

// mostShown is how long a text from a file may stand in a table, in characters.
const mostShown = 1000

// printable keeps a text from a file on one line and free of what a terminal obeys.
func printable(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '\u202e' || r == '\u202d' || r == '\u200f' || r == '\u200e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	if r := []rune(clean); len(r) > mostShown {
		return string(r[:mostShown]) + "…"
	}
	return clean
}
