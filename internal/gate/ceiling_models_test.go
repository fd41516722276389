package gate_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// A row of any model that is exactly as fast as its roof allows passes, in every layout
// that shares it; one that is faster fails. The memory is made slow, so that what the
// engine that is played takes besides counts little.
func TestCeilingOfEveryModel(t *testing.T) {
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	layouts := []row.Pool{{TP: 4, PP: 1, DP: 1, EP: 4}, {TP: 1, PP: 1, DP: 4, EP: 4}, {TP: 1, PP: 2, DP: 1, EP: 1}}
	asked := 0
	for i, id := range slices.Sorted(maps.Keys(c.Models)) {
		for k, pool := range layouts {
			was := rowtest.Llama8B()
			was.Model = *c.Models[id]
			was.Target.BandwidthGBs, was.Target.Count = "100", pool.TP*pool.PP*pool.DP
			was.Target.LinkGBs = "45000"
			pool.Role, pool.Count = row.RoleAll, 1
			was.Recipe.Pools = []row.Pool{pool}
			for _, side := range []struct {
				slowness float64
				want     gate.Answer
			}{{1, gate.Pass}, {0.75, gate.Fail}} {
				if side.want == gate.Fail && k != i%len(layouts) {
					continue // one a model
				}
				m := makeOf(was, rowtest.Options{Slowness: side.slowness, Protocol: row.Passes, Repeats: 1, Warmup: 1,
					Cells: []rowtest.Cell{{ISL: 256, OSL: 64, Concurrency: 4}}})
				switch r := ceilingOf(t, m); {
				case strings.Contains(r.Reason, "heads do not part so"):
				case r.Answer != side.want:
					t.Errorf("%s, tp %d pp %d dp %d ep %d, at %v of its steps: %v %s", id, pool.TP, pool.PP, pool.DP, pool.EP, side.slowness, r.Answer, r.Reason)
				default:
					asked++
				}
			}
		}
	}
	if asked < 3*len(c.Models) {
		t.Errorf("only %d rows of %d models were judged", asked, len(c.Models))
	}
}
