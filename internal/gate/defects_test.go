package gate_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/rowtest"
)

// Each defect that was seen in published rows is answered by the gate that was made for
// it, in a real row; every other gate answers as of the row as it was, which is verified.
func TestDefectsOfPublishedRows(t *testing.T) {
	defects, err := rowtest.Defects(os.DirFS("../../data"))
	if err != nil {
		t.Fatal(err)
	}
	if len(defects) != 13 {
		t.Errorf("%d defects; nine are known, the last in five kinds", len(defects))
	}
	ask := func(t *testing.T, m rowtest.Made, beside []rowtest.Made) []gate.Result {
		corpus := gate.NewCorpus()
		for i := range beside {
			b := &beside[i]
			if v := answers(judge(t, (&made{b.Report, b.Samples, b.Evidence}).files(t), nil)[0]); v["recompute"] != gate.Pass {
				t.Errorf("the row beside it: %v", v)
			}
			corpus.Add(b.Report, &b.Report.Rows[0], b.Samples[0])
		}
		return judge(t, (&made{m.Report, m.Samples, m.Evidence}).files(t), corpus)[0]
	}
	for _, d := range defects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			twin := ask(t, d.Twin, d.BesideTheTwin)
			if gate.Verdict(twin) != gate.Verified {
				t.Errorf("the twin: %s", blocking(twin))
			}
			want := maps.Clone(answers(twin))
			want[d.Gate] = d.Answer
			maps.Copy(want, d.Also)
			for _, r := range ask(t, d.Row, d.Beside) {
				if r.Answer != want[r.Gate] {
					t.Errorf("%s: %v, want %v: %s", r.Gate, r.Answer, want[r.Gate], r.Reason)
				}
				if r.Gate == d.Gate && (!strings.Contains(r.Reason, d.Reason) || len(r.Figures) == 0) {
					t.Errorf("%s says %q of %v, want %q", r.Gate, r.Reason, r.Figures, d.Reason)
				}
			}
		})
	}
}
