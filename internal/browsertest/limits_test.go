package browsertest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Limits on the home page find the row that meets them and gives the most; where none
// does, they name the nearest and by how much it is over, and a button loosens them.
func TestLimits(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("index.html"))
	type rowOf struct {
		Name, Load string
		Row        []*float64 // TTFT p50 p90 p95 p99, ITL p50 p90 p95 p99, output tok/s/GPU
	}
	rows := eval[map[string]rowOf](p, `JSON.parse(document.querySelector("#chart-marks").textContent)`)
	if len(rows) < 2 {
		t.Fatalf("the chart has %d rows; too few to choose from", len(rows))
	}
	var best, quickest rowOf
	for _, r := range rows {
		if r.Row[0] == nil || r.Row[4] == nil {
			t.Fatalf("%s at %s has no p50", r.Name, r.Load)
		}
		if best.Row == nil || *r.Row[8] > *best.Row[8] {
			best = r
		}
		if quickest.Row == nil || *r.Row[4] < *quickest.Row[4] {
			quickest = r
		}
	}
	said := func() string {
		p.answered()
		return strings.ReplaceAll(eval[string](p, `document.querySelector("#limits-answer").textContent`), "\u00a0", " ")
	}

	p.choose("percentile", "p50")
	p.enter("itl", "100000")
	if got, want := said(), plain(best.Name+" at "+best.Load+" gives the most per GPU within ITL p50 ≤ 100000 ms: "); !strings.HasPrefix(got, want) {
		t.Errorf("within a limit that all meet the page says\n%s\nwant: %s…", got, want)
	}
	if n := eval[int](p, `document.querySelectorAll("#within tbody tr").length`); n != min(len(rows), 20) {
		t.Errorf("the table has %d rows; want %d", n, min(len(rows), 20))
	}
	if got := eval[string](p, `location.search`); got != "?itl=100000&at=p50" {
		t.Errorf("the address holds %q", got)
	}
	for _, f := range p.axe() {
		t.Error(f)
	}

	// Just below the quickest row's own figure nothing is left.
	tight := math.Floor(*quickest.Row[4]*100-1) / 100
	p.enter("itl", fmt.Sprint(tight))
	got := said()
	if want := plain(fmt.Sprintf("Nothing measured meets ITL p50 ≤ %v ms. Nearest: %s at %s, ITL p50 ", tight, quickest.Name, quickest.Load)); !strings.HasPrefix(got, want) {
		t.Errorf("below every row the page says\n%s\nwant: %s…", got, want)
	}
	do(p, chromedp.Click("#within button"))
	if got, want := said(), plain(quickest.Name+" at "+quickest.Load+" gives the most per GPU within ITL p50 ≤ "); !strings.HasPrefix(got, want) {
		t.Errorf("loosened, the page says\n%s\nwant: %s…", got, want)
	}

	before := said()
	p.enter("ttft", "O3")
	if got := eval[string](p, `document.querySelector("#ttft-problem").textContent`); got != "TTFT: “O3” is not a number above 0; write milliseconds, such as 200" {
		t.Errorf("for O3 the page says %q", got)
	}
	if got := said(); got != before {
		t.Errorf("a bad value replaced the last good answer by %q", got)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// plain writes ordinary spaces for those that do not break.
func plain(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }
