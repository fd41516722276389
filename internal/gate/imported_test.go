package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// A row of ours that is given out as another tool's, to be spared the gates of our client,
// is refused: no import carries evidence of a run of measure. Without the evidence it is no
// more than imported.
func TestARowOfOursDressedAsAnImport(t *testing.T) {
	m := make1(3, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 16, Concurrency: 1}}})
	source := strings.Repeat("ab", 32) + "#1"
	n := &m.report.Rows[0]
	n.Proof.Source, n.Import = &source, &row.Import{Tool: "vllm bench serve", Version: "0.33.0", Format: "vllm-serve", Stated: []row.Stated{}}
	m.report.Client = row.Client{}
	m.seal()
	results := judge(t, m.files(t), nil)[0]
	if got := answers(results)["schema"]; got != gate.Fail || gate.VerdictOf(n, results) != gate.Unverified {
		t.Errorf("schema answers %s, and the row is %s", got, gate.VerdictOf(n, results))
	}
	// Neither one without the other.
	n.Import = nil
	m.seal()
	if got := answers(judge(t, m.files(t), nil)[0])["schema"]; got != gate.Fail {
		t.Errorf("a source without what the tool states: schema answers %s", got)
	}
}
