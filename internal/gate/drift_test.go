package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// Another tool's own rate and latency are of no more requests than it had streams; what
// they imply otherwise tells the unit.
func TestUnitOfAnotherTool(t *testing.T) {
	m := make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 1024, OSL: 256, Concurrency: 8}}})
	n := &m.report.Rows[0]
	source := "0000000000000000000000000000000000000000000000000000000000000000#0"
	for _, c := range []struct {
		name, rate string
		latency    []row.Stated
		reason     string
	}{
		{"as it is", "1024", []row.Stated{{Text: "2000", Unit: "ms", Rule: row.RuleE2E, Statistic: row.StatMean}}, "in flight on average"},
		{"of prompts too", "5120", []row.Stated{{Text: "2000", Unit: "ms", Rule: row.RuleE2E, Statistic: row.StatMean}},
			"stress 1.0 states 5,120 output tok/s and a mean latency of 2 s: that is 40 requests in flight where it had 8 streams; as the rate of prompt and output tokens together it would be 8: another unit than it says"},
		{"by TTFT and TPOT", "5120", []row.Stated{{Text: "0.725", Unit: "s", Rule: row.RuleTTFT, Statistic: row.StatMean}, {Text: "5", Unit: "ms", Rule: row.RuleTPOT, Statistic: row.StatMean}},
			"that is 40 requests in flight"},
		{"no number", "NaN", []row.Stated{{Text: "2000", Unit: "ms", Rule: row.RuleE2E, Statistic: row.StatMean}}, "in flight on average"},
	} {
		n.Proof.Source = &source
		n.Import = &row.Import{Tool: "stress", Version: "1.0", Stated: append(c.latency, row.Stated{Text: c.rate, Unit: "tok/s", Rule: row.RuleOutputRate})}
		m.seal()
		for _, r := range judge(t, m.files(t), nil)[0] {
			if r.Gate == "little" && !strings.Contains(r.Reason, c.reason) {
				t.Errorf("%s: %v %s", c.name, r.Answer, r.Reason)
			}
		}
	}
}
