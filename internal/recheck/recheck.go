// Package recheck makes a published row again from its own files: it recomputes every
// hash and every figure and asks every gate, so that a reader's browser tells for itself
// what the page claims. What needs all rows, or today's catalogue, is not asked here.
package recheck

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Row is what became of one row.
type Row struct {
	ID       string   `json:"id"`
	Verdict  string   `json:"verdict"`  // gate.Verified and so on
	Problems []string `json:"problems"` // of the report's form
	Hashes   []Pair   `json:"hashes"`
	Figures  []Pair   `json:"figures"` // in the order of the report; a null is ""
	Gates    []Gate   `json:"gates"`
}

// Pair is what the report states beside what was found here, both to the last digit.
type Pair struct {
	Name   string `json:"name"`
	Stated string `json:"stated"`
	Found  string `json:"found"`
}

// Gate is one gate's answer.
type Gate struct {
	Gate    string     `json:"gate"`
	Answer  string     `json:"answer"`
	Blocks  bool       `json:"blocks"`
	Reason  string     `json:"reason"`
	Mend    string     `json:"mend,omitempty"`
	Figures []Compared `json:"figures,omitempty"`
}

// Compared is a figure beside what it was held against.
type Compared struct {
	Name    string `json:"name"`
	Found   string `json:"found"`
	Against string `json:"against"`
}

// One makes row i of a report again; the others' samples need not be there. The files lie
// in one folder of fsys, under the names that the report gives them; now is the reader's
// time, RFC 3339 in UTC. The error says why there is no such row.
func One(fsys fs.FS, file string, i int, now string) (*Row, error) {
	b, err := rowfile.LoadFS(fsys, file)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(b.Rows) {
		return nil, fmt.Errorf("%s: row %d was asked for, and it has %d", path.Base(file), i, len(b.Rows))
	}
	b.Now = now
	r := judged(b, i)
	return &r, nil
}

// judged recomputes one row once, for its figures and for its gates.
func judged(b *rowfile.Bundle, i int) Row {
	d := &b.Rows[i]
	in := b.Input(i, nil)
	out := Row{ID: d.Row.ID, Problems: append([]string{}, b.Problems...), Hashes: hashes(d), Figures: []Pair{}, Gates: []Gate{}}
	if d.Samples != nil {
		gpus := int64(0)
		if was := b.Report.AsItWas; was != nil {
			gpus = was.Recipe.GPUs()
		}
		c := row.Compute(&d.Row.Workload, gpus, d.Samples, d.Evidence)
		in.Computed = &c
		out.Figures = figures(d.Row, &c)
	}
	results := gate.Judge(in)
	out.Verdict = gate.VerdictOf(d.Row, results)
	for _, g := range results {
		answer := Gate{Gate: g.Gate, Answer: g.Answer.String(), Blocks: g.Answer.Blocks(), Reason: g.Reason, Mend: g.Mend}
		for _, c := range g.Figures {
			answer.Figures = append(answer.Figures, Compared(c))
		}
		out.Gates = append(out.Gates, answer)
	}
	return out
}

// hashes are those that tie the row to its files.
func hashes(d *rowfile.RowData) []Pair {
	stated := func(h *string) string {
		if h == nil {
			return ""
		}
		return *h
	}
	return []Pair{
		{"id", d.Row.ID, d.ComputedID},
		{"samples", stated(d.Row.Proof.Samples), d.SamplesSHA256},
		{"evidence", stated(d.Row.Proof.Evidence), d.EvidenceSHA256},
	}
}

// figures are those of the row and those that its samples give.
func figures(r *row.Row, c *row.Computed) []Pair {
	out := []Pair{}
	dists, found := r.Figures.Dists(), c.Figures.Dists()
	for i, d := range dists {
		a, b := parts(d.Dist), parts(found[i].Dist)
		for k, stat := range statistics {
			out = append(out, Pair{d.Name + "." + stat, text(a[k]), text(b[k])})
		}
	}
	values, computed := r.Figures.Scalars(), c.Figures.Scalars()
	for i, v := range values {
		out = append(out, Pair{v.Name, text(v.Value), text(computed[i].Value)})
	}
	for _, n := range []struct {
		name          string
		stated, found int64
	}{
		{"counts.planned", r.Counts.Planned, c.Counts.Planned}, {"counts.completed", r.Counts.Completed, c.Counts.Completed},
		{"counts.failed", r.Counts.Failed, c.Counts.Failed},
	} {
		out = append(out, Pair{n.name, strconv.FormatInt(n.stated, 10), strconv.FormatInt(n.found, 10)})
	}
	return out
}

var statistics = [...]string{"mean", "p50", "p90", "p95", "p99"}

func parts(d *row.Dist) [len(statistics)]*float64 {
	if d == nil {
		return [len(statistics)]*float64{}
	}
	return [...]*float64{d.Mean, d.P50, d.P90, d.P95, d.P99}
}

// text is the shortest form that reads back, as pages write a figure to the last digit.
func text(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
