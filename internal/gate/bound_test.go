package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// The notes of a row lie outside its id, and its evidence, which lies within, says which
// there must be.
func TestNotesAreBoundToTheEvidence(t *testing.T) {
	const seen = "the client took 90% of a core: it may have been the limit"
	for _, c := range []struct {
		name   string
		before func(m *made) // sealed with it
		after  func(m *made)
		want   gate.Answer
		reason string
	}{
		{"as the run wrote them", func(m *made) { m.evidence[1].Notes = []string{seen} }, func(*made) {}, gate.Pass, ""},
		{"one left out that the run saw", func(m *made) { m.evidence[1].Notes = []string{seen} }, func(m *made) {
			n := &m.report.Rows[0]
			n.Notes = n.Notes[:len(n.Notes)-1]
		}, gate.Fail, "the client took 90%"},
		{"one left out that follows from the workload", func(*made) {}, func(m *made) {
			n := &m.report.Rows[0]
			n.Notes = n.Notes[1:]
		}, gate.Fail, "prompts=cold"},
		{"one added that the run did not see", func(*made) {}, func(m *made) {
			n := &m.report.Rows[0]
			n.Notes = append(n.Notes, "device=cuda")
		}, gate.Fail, `"device=cuda"`},
		{"one in words of its own", func(m *made) { m.evidence[1].Notes = []string{"the fastest there is"} }, func(*made) {}, gate.Fail, "the fastest there is"},
		{"a row from before they were bound", func(m *made) { m.report.Schema = "rowproof/1" }, func(m *made) {
			n := &m.report.Rows[0]
			n.Notes = []string{"device=cuda"}
		}, gate.Pass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := make1(1, rowtest.Options{})
			c.before(m)
			m.seal()
			id := m.report.Rows[0].ID
			c.after(m)
			r := answer(judge(t, m.files(t), nil)[0], "recompute")
			if m.report.Rows[0].ID != id || r.Answer != c.want || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("%v: %s; want %v: %s", r.Answer, r.Reason, c.want, c.reason)
			}
		})
	}
}

// A report may lack rows of its run; each that is there says so.
func TestRowsLeftOutAreTold(t *testing.T) {
	three := func() *made {
		return make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 8, Concurrency: 1}, {ISL: 128, OSL: 8, Concurrency: 2}, {ISL: 128, OSL: 8, Concurrency: 4}}})
	}
	without := func(m *made, gone int) {
		m.report.Rows = append(append([]row.Row{}, m.report.Rows[:gone]...), m.report.Rows[gone+1:]...)
		m.samples = append(append([][]row.Sample{}, m.samples[:gone]...), m.samples[gone+1:]...)
		m.evidence = append(append([]row.Evidence{}, m.evidence[:gone+1]...), m.evidence[gone+2:]...)
	}
	planned := func(m *made) {
		for i := range m.report.Rows {
			m.evidence[i+1].Planned = 3
		}
		m.seal()
	}
	says := func(t *testing.T, m *made, i int, want string) {
		t.Helper()
		r := answer(judge(t, m.files(t), nil)[i], "schema")
		if r.Answer != gate.Pass || want == "" && strings.Contains(r.Reason, "of its run") || !strings.Contains(r.Reason, want) {
			t.Errorf("row %d: %v: %s; want %q", i, r.Answer, r.Reason, want)
		}
	}
	whole := three()
	planned(whole)
	says(t, whole, 2, "")
	first := three()
	without(first, 0)
	says(t, first, 0, "the report lacks 1 row of its run")
	says(t, first, 1, "the report lacks 1 row of its run")
	last := three()
	planned(last)
	without(last, 2)
	without(last, 1)
	says(t, last, 0, "the report lacks 2 rows of its run")
}
