package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// Drafts of an output that repeats itself are accepted whatever drafts them: by draft
// counters alone such a row is as healthy as any.
func TestLoopsOfTheOutput(t *testing.T) {
	of := func(distinct, all int64) func(int, *row.Sample) {
		return func(_ int, s *row.Sample) { s.Bigrams = &row.Bigrams{Distinct: distinct, All: all} }
	}
	for _, c := range []struct {
		name   string
		change func(i int, s *row.Sample)
		schema string
		day    string
		want   gate.Answer
		reason string
	}{
		{"text that does not repeat", of(250, 255), "", "", gate.Pass, "and the output does not loop"},
		{"half of it looked up", of(128, 256), "", "", gate.Pass, "and the output does not loop"},
		{"a phrase of nine tokens again and again", of(20, 255), "", "", gate.Fail, "the output falls into loops, which any draft guesses: in 120 of 120 requests less than half of the bigrams are distinct"},
		{"pieces of text", func(_ int, s *row.Sample) { s.Bigrams = &row.Bigrams{Distinct: 5, All: 60, Of: row.BigramsOfText} }, "", "", gate.Fail, "falls into loops"},
		{"one request in twenty", func(i int, s *row.Sample) {
			of(250, 255)(i, s)
			if i%20 == 0 {
				of(8, 255)(i, s)
			}
		}, "", "", gate.Pass, "and the output does not loop"},
		{"one in five", func(i int, s *row.Sample) {
			of(250, 255)(i, s)
			if i%5 == 0 {
				of(8, 255)(i, s)
			}
		}, "", "", gate.Fail, "in 24 of 120 requests"},
		{"a short answer of one word again and again", of(1, 7), "", "", gate.Pass, "too short to loop"},
		{"not known", func(_ int, s *row.Sample) { s.NoBigrams = "all of the output came in one chunk, without its token ids" }, "", "", gate.Unjudged, "missing the output's distinct bigrams, by which a loop is seen: all of the output came in one chunk"},
		{"not said", func(int, *row.Sample) {}, "", "", gate.Unjudged, "the samples say nothing of them"},
		{"a row from before it was asked", func(int, *row.Sample) {}, "rowproof/1", "", gate.NotAsked, "whether the output loops was not asked in rowproof/1"},
		{"a new row in the old form", func(int, *row.Sample) {}, "rowproof/1", "2026-12-04T00:00:00Z", gate.Unjudged, "the samples say nothing of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := make1(1, rowtest.Options{Repeats: 3})
			m.report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "ngram", DraftTokens: 3}
			drafts(m, 100, 300, 100)
			if c.schema != "" {
				m.report.Schema = c.schema
			}
			if c.day != "" {
				m.report.MeasuredAt = c.day
			}
			n := 0
			for i := range m.samples[0] {
				if s := &m.samples[0][i]; s.Phase == row.PhaseTimed {
					s.Bigrams = nil
					c.change(n, s)
					n++
				}
			}
			m.seal()
			for _, r := range judge(t, m.files(t), nil)[0] {
				if r.Gate == "speculation" && (r.Answer != c.want || !strings.Contains(r.Reason, c.reason)) {
					t.Errorf("%v: %s; want %v: %s", r.Answer, r.Reason, c.want, c.reason)
				}
			}
		})
	}
}

// What counters prove against a row of the old form they prove as before.
func TestAnOldRowIsHeldToItsCounters(t *testing.T) {
	m := make1(1, rowtest.Options{})
	m.report.Schema = "rowproof/1"
	m.report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "ngram", DraftTokens: 3}
	drafts(m, 100, 300, 290)
	m.seal()
	for _, r := range judge(t, m.files(t), nil)[0] {
		if r.Gate == "speculation" && (r.Answer != gate.Fail || !strings.Contains(r.Reason, "on random prompts")) {
			t.Errorf("%v: %s", r.Answer, r.Reason)
		}
	}
}
