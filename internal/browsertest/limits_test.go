package browsertest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/tradeoff"
)

// homeMark is what the home page's data says of one row of its chart.
type homeMark struct {
	ID, Name, Load string
	Row            []*float64 // p50 p90 p95 p99 of TTFT, ITL, TPOT and E2E, output tok/s/GPU
	Line           struct {
		Recipe string
		PerGPU [2]string `json:"per_gpu"`
	}
}

func (m homeMark) candidate() tradeoff.Candidate {
	r := m.Row
	return tradeoff.Candidate{Figures: &row.Figures{
		TTFT: &row.Dist{P50: r[0], P90: r[1], P95: r[2], P99: r[3]}, ITL: &row.Dist{P50: r[4], P90: r[5], P95: r[6], P99: r[7]},
		TPOT: &row.Dist{P50: r[8], P90: r[9], P95: r[10], P99: r[11]}, E2E: &row.Dist{P50: r[12], P90: r[13], P95: r[14], P99: r[15]},
	}, Rank: r[16]}
}

// homeMarks are the rows of the home page's chart, in the order of the page.
func (p *tab) homeMarks() []homeMark {
	p.t.Helper()
	rows := eval[[]homeMark](p, `Object.entries(JSON.parse(document.querySelector("#chart-marks").textContent)).map(([id, m]) => ({id, ...m}))`)
	if len(rows) < 2 {
		p.t.Fatalf("the chart has %d rows; too few to choose from", len(rows))
	}
	return rows
}

// limitsSay is the limits' answer once it has been worked out.
func (p *tab) limitsSay() string {
	p.t.Helper()
	p.answered()
	return plain(eval[string](p, `document.querySelector("#limits-answer").textContent`))
}

// Limits on the home page find the row that meets them and gives the most; where none
// does, they name the nearest and by how much it is over, and a button loosens them.
func TestLimits(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("index.html"))
	rows := p.homeMarks()
	best, quickest := rows[0], rows[0]
	for _, r := range rows {
		if r.Row[0] == nil || r.Row[4] == nil {
			t.Fatalf("%s at %s has no p50", r.Name, r.Load)
		}
		if *r.Row[16] > *best.Row[16] {
			best = r
		}
		if *r.Row[4] < *quickest.Row[4] {
			quickest = r
		}
	}
	of := eval[[]string](p, `(c => [c.dataset.model, c.dataset.shape])(document.querySelector("section.chart"))`)
	p.choose("percentile", "p50")
	p.enter("itl", "100000")
	want := plain(fmt.Sprintf("%s · %s at %s gives the most per GPU at %s within ITL p50 ≤ 100,000 ms: %s output tok/s/GPU (%s). All %d rows meet it.",
		of[0], best.Name, best.Load, of[1], best.Line.PerGPU[0], best.Line.PerGPU[1], len(rows)))
	if got := p.limitsSay(); got != want {
		t.Errorf("within a limit that all meet the page says\n%s\nwant: %s", got, want)
	}
	if bold := eval[[]string](p, `[...document.querySelectorAll("#limits-answer strong")].map(e => e.textContent)`); len(bold) != 2 || bold[1] != best.Line.PerGPU[0] {
		t.Errorf("bold in the answer: %q", bold)
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
	got := p.limitsSay()
	if want := plain(fmt.Sprintf("Nothing measured meets ITL p50 ≤ %v ms. Nearest: %s at %s, ITL p50 ", tight, quickest.Name, quickest.Load)); !strings.HasPrefix(got, want) {
		t.Errorf("below every row the page says\n%s\nwant: %s…", got, want)
	}
	// The button names a round number, of two digits, in the percentile asked for.
	if name := plain(eval[string](p, `document.querySelector("#loosen button").textContent`)); !regexp.MustCompile(`^Loosen ITL p50 to (\d\.\d|\d+) ms$`).MatchString(name) {
		t.Errorf("the button says %q", name)
	}
	do(p, chromedp.Click("#loosen button"))
	if got, want := p.limitsSay(), plain(of[0]+" · "+quickest.Name+" at "); !strings.HasPrefix(got, want) {
		t.Errorf("loosened, the page says\n%s\nwant: %s…", got, want)
	}

	before := p.limitsSay()
	p.enter("ttft", "O3")
	if got := eval[string](p, `document.querySelector("#ttft-problem").textContent`); got != "TTFT: “O3” is not a number above 0; write milliseconds, such as 200" {
		t.Errorf("for O3 the page says %q", got)
	}
	if !eval[bool](p, `(() => {
		const problem = document.querySelector("#ttft-problem").getBoundingClientRect();
		return [...document.querySelectorAll(".limits :is(input, select)")].every(e => e.getBoundingClientRect().bottom <= problem.top);
	})()`) {
		t.Error("the problem stands between the fields, not on its own row")
	}
	if got := p.limitsSay(); got != before {
		t.Errorf("a bad value replaced the last good answer by %q", got)
	}
	p.visit(s.url("index.html") + "?at=p75")
	if got := eval[string](p, `document.querySelector("#percentile-problem").textContent`); got != "Percentile p75 is not known and was left out." {
		t.Errorf("for at=p75 in the address the page says %q", got)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// Whatever a reader states, the page answers as the native function does: the row that
// gives the most, how many meet it and what the next best cell is; or that nothing does,
// what comes nearest, and the unmeasured load whose measuring would most likely change it.
func TestLimitsAtRandomEqualNative(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("index.html"))
	rows := p.homeMarks()
	hopes := eval[[]struct {
		Gap, Name, Load string
		Roofs           []float64
	}](p, `JSON.parse(document.querySelector("#hopes").textContent)`)
	var hoped []tradeoff.Hope
	for _, h := range hopes {
		r := h.Roofs
		hoped = append(hoped, tradeoff.Hope{TTFT: tradeoff.Outlook{Hard: r[0], Likely: r[1]}, TPOT: tradeoff.Outlook{Hard: r[2], Likely: r[3]}, E2E: tradeoff.Outlook{Hard: r[4], Likely: r[5]}, GPUMinutes: r[6]})
	}
	r := random(t)
	fields := []string{"ttft", "itl", "tpot", "e2e"}
	answered, refused := 0, 0
	for n := range 30 {
		permille := []int{500, 900, 950, 990}[r.IntN(4)]
		p.choose("percentile", fmt.Sprintf("p%d", permille/10))
		var limits []tradeoff.Limit
		for i, name := range fields {
			text := ""
			if r.IntN(2) == 0 || i == n%4 {
				of := rows[r.IntN(len(rows))].Row[4*i] // a median that some row has, times ½ to 2
				if of == nil {
					t.Fatalf("a row has no %s p50", name)
				}
				most := math.Ceil(*of*(0.5+1.5*r.Float64())*1000) / 1000
				text = fmt.Sprint(most)
				limits = append(limits, tradeoff.Limit{Figure: name + "_ms", Permille: permille, Max: most})
			}
			p.paste(name, text)
		}
		said := p.limitsSay()
		more := plain(eval[string](p, `document.querySelector("#limits-more").textContent`))
		all := func(row homeMark) bool { return true }
		choose := func(keep func(homeMark) bool) (tradeoff.Choice, []homeMark) {
			var of []homeMark
			var candidates []tradeoff.Candidate
			for _, row := range rows {
				if keep(row) {
					of, candidates = append(of, row), append(candidates, row.candidate())
				}
			}
			return tradeoff.Choose(candidates, limits), of
		}
		choice, _ := choose(all)
		if i := choice.Answer(); i >= 0 {
			answered++
			if want := plain(rows[i].Name+" at "+rows[i].Load) + " gives the most per GPU"; !strings.Contains(said, want) {
				t.Errorf("%v: the page says %q; natively %s", limits, said, want)
			}
			if want := fmt.Sprintf("%d of %d rows meet", len(choice.Met), len(rows)); choice.Known > 0 && len(choice.Met) > 1 && len(choice.Met) < len(rows) && !strings.Contains(said, want) {
				t.Errorf("%v: the page says %q; natively %s", limits, said, want)
			}
			next, others := choose(func(row homeMark) bool { return row.Line.Recipe != rows[i].Line.Recipe })
			want := "No other cell is measured"
			if j := next.Answer(); j >= 0 {
				want = "Next best: " + plain(others[j].Name+" at "+others[j].Load) + " with " + others[j].Line.PerGPU[0]
			} else if next.Nearest >= 0 {
				want = "Nearest: " + plain(others[next.Nearest].Name+" at "+others[next.Nearest].Load)
			}
			if !strings.Contains(more, want) {
				t.Errorf("%v: beside it the page says %q; natively %s", limits, more, want)
			}
			continue
		}
		refused++
		if !strings.HasPrefix(said, "Nothing measured meets ") {
			t.Errorf("%v: the page says %q; natively nothing meets them", limits, said)
		}
		if i := choice.Nearest; i >= 0 && !strings.Contains(said, "Nearest: "+plain(rows[i].Name+" at "+rows[i].Load)) {
			t.Errorf("%v: the page says %q; natively the nearest is %s at %s", limits, said, rows[i].Name, rows[i].Load)
		}
		want := "No gap"
		if i, _ := tradeoff.Promising(hoped, limits); i >= 0 {
			want = plain(strings.Replace(hopes[i].Gap, "gap", "Gap", 1) + " might: " + hopes[i].Name + " at " + hopes[i].Load)
		}
		if !strings.HasPrefix(more, want) {
			t.Errorf("%v: the page says %q; natively %s", limits, more, want)
		}
	}
	t.Logf("%d answered, %d not", answered, refused)
	if answered == 0 || refused == 0 {
		t.Errorf("of 30 random SLOs %d were answered and %d not: one kind was never tried", answered, refused)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// The goodput of the answer is counted from its own samples, as measure counts it.
func TestLimitsCountGoodput(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("index.html"))
	rows := p.homeMarks()
	best := rows[0]
	for _, r := range rows {
		if *r.Row[16] > *best.Row[16] {
			best = r
		}
	}
	// Half of its requests are slower than their median E2E, so some meet it and some do not.
	most := *best.Row[12] * 1.0001
	p.choose("percentile", "p50")
	p.paste("e2e", fmt.Sprint(most))
	if said := p.limitsSay(); !strings.Contains(said, plain(best.Name+" at "+best.Load)+" gives the most") {
		t.Fatalf("the page says %q; %s at %s gives the most", said, best.Name, best.Load)
	}
	files := eval[[]string](p, fmt.Sprintf(`(m => [m.report, String(m.index)])(JSON.parse(document.querySelector("#chart-marks").textContent)[%q])`, best.ID))
	index, err := strconv.Atoi(files[1])
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := rowfile.Load(filepath.Join(s.dir, filepath.FromSlash(strings.TrimPrefix(files[0], base))))
	if err != nil {
		t.Fatal(err)
	}
	d := bundle.Rows[index]
	want := row.Goodput(&d.Row.Workload, d.Samples, []row.Limit{{Figure: "e2e_ms", Permille: 500, Max: most}})
	if want.Met == 0 || want.Met == want.Of {
		t.Fatalf("%d of %d requests meet the limit; too blunt a question", want.Met, want.Of)
	}
	do(p, chromedp.Click("#limits-more button"))
	p.answered()
	got := strings.ReplaceAll(plain(eval[string](p, `document.querySelector("#goodput").textContent`)), ",", "")
	if tail := fmt.Sprintf("met every limit by themselves: %d of %d.", want.Met, want.Of); !strings.HasPrefix(got, "Goodput: ") || !strings.HasSuffix(got, tail) {
		t.Errorf("the page says %q; want …%s", got, tail)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// A price gives the cost of a million tokens from the answer's own rates, and the address
// and the pages by shape keep all that was stated.
func TestLimitsWithAPrice(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("index.html"))
	p.paste("price", "3.60")
	said := p.limitsSay()
	best := eval[struct {
		Row, Total []float64
		Name       string
	}](p, `Object.values(JSON.parse(document.querySelector("#chart-marks").textContent)).sort((a, b) => b.row[16] - a.row[16])[0]`)
	if !strings.Contains(said, plain(best.Name)) {
		t.Errorf("without limits the page says %q; %s gives the most", said, best.Name)
	}
	more := plain(eval[string](p, `document.querySelector("#limits-more").textContent`))
	found := regexp.MustCompile(`At \$3\.60 a GPU-hour: \$([\d.]+) per M output tokens, \$([\d.]+) per M input tokens, each as if it bore the whole price; \$([\d.]+) per M tokens blended`).FindStringSubmatch(more)
	if found == nil {
		t.Fatalf("the page says %q", more)
	}
	// 3.60 an hour is a thousandth a second: a million tokens cost 1,000 ÷ tok/s.
	output, total := best.Row[16], best.Total[0]
	for i, rate := range []float64{output, total - output, total} {
		got, err := strconv.ParseFloat(found[i+1], 64)
		if err != nil || math.Abs(got*rate/1000-1) > 0.006 {
			t.Errorf("%s at %v tok/s; want %v", found[i+1], rate, 1000/rate)
		}
	}
	if got := eval[string](p, `location.search`); got != "?price=3.60" {
		t.Errorf("the address holds %q", got)
	}
	if links := eval[[]string](p, `[...document.querySelectorAll(".choose a")].map(a => new URL(a.href).search)`); len(links) == 0 || slices.ContainsFunc(links, func(q string) bool { return q != "?price=3.60" }) {
		t.Errorf("the pages by model and shape are asked %q", links)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// While limits hold, the answer without them is gone and the table holds of each cell
// the best row within them, the nearest outside, and apart from both the rows without
// the percentile: these never rank, and say which percentile they show.
func TestLimitsRegroupTheTable(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("index.html"))
	rows := p.homeMarks()
	var known []float64
	var candidates []tradeoff.Candidate
	for _, r := range rows {
		candidates = append(candidates, r.candidate())
		if r.Row[3] != nil {
			known = append(known, *r.Row[3])
		}
	}
	if len(known) < 2 {
		t.Fatalf("%d rows have a TTFT p99; too few to part", len(known))
	}
	slices.Sort(known)
	most := math.Ceil(known[len(known)/2-1])
	choice := tradeoff.Choose(candidates, []tradeoff.Limit{{Figure: "ttft_ms", Permille: 990, Max: most}})
	bestOfCells := func(places []int) (ids []string) {
		seen := map[string]bool{}
		for _, i := range places {
			if r := rows[i]; !seen[r.Line.Recipe] {
				seen[r.Line.Recipe] = true
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	table := func() map[string][]string {
		return eval[map[string][]string](p, `Object.fromEntries([...document.querySelector("table.cells").tBodies].filter(b => !b.hidden && b.id !== "unmeasured")
			.map(b => [b.rows[0].textContent.split(" · ")[0], [...b.rows].slice(1).map(r => r.dataset.row)]))`)
	}
	built := table()

	p.enter("ttft", fmt.Sprint(most))
	said := p.limitsSay()
	meet := fmt.Sprintf("%d of %d rows ", len(choice.Met), len(rows))
	if !strings.Contains(said, meet) {
		t.Errorf("the page says %q; natively %s meet it", said, meet)
	}
	if n := len(choice.Lower); n > 0 {
		if want := fmt.Sprintf("; %d more meet it as far as p9", n); !strings.Contains(said, want) || !strings.Contains(said, "(too few samples for p99)") {
			t.Errorf("the page says %q; want …%s", said, want)
		}
	}
	if eval[bool](p, `document.querySelector("#unlimited").checkVisibility()`) {
		t.Error("the answer without limits still stands")
	}
	got := table()
	if want := bestOfCells(choice.Met); !slices.Equal(got["Within your limits"], want) {
		t.Errorf("within the limits stand %v; want %v", got["Within your limits"], want)
	}
	if want := bestOfCells(choice.Lower); !slices.Equal(got["Not known at p99"], want) {
		t.Errorf("not known at p99 are %v; want %v", got["Not known at p99"], want)
	}
	if len(got["Outside your limits"]) == 0 || len(got) > 3 {
		t.Errorf("the groups are %v", got)
	}
	cells := func(group string) [][]string {
		return eval[[][]string](p, fmt.Sprintf(`[...document.querySelector("table.cells").tBodies].filter(b => b.rows[0].textContent.startsWith(%q))
			.flatMap(b => [...b.rows].slice(1).map(r => [r.cells[0].textContent, r.cells[7].textContent]))`, group))
	}
	for _, c := range cells("Within") {
		if !regexp.MustCompile(`^\d+=?$|^—$`).MatchString(c[0]) || strings.Contains(c[1], "↑") {
			t.Errorf("within the limits a row has rank %q and TTFT p99 %q", c[0], c[1])
		}
	}
	for _, c := range cells("Not known") {
		if c[0] != "—" || !regexp.MustCompile(`^[\d,.]+ \(p9[05]\)|^[\d,.]+ \(p50\)`).MatchString(c[1]) {
			t.Errorf("without a p99 a row has rank %q and TTFT %q", c[0], c[1])
		}
	}
	for _, c := range cells("Outside") {
		if c[0] != "—" || !regexp.MustCompile(`^[\d,.]+ ↑.* over by [\d,.]+$`).MatchString(c[1]) {
			t.Errorf("outside the limits a row has rank %q and TTFT p99 %q", c[0], c[1])
		}
	}
	for _, width := range []int{320, 1280} {
		p.show(width, "dark")
		for _, f := range p.axe() {
			t.Errorf("%d px: %s", width, f)
		}
		if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("%d px: the page is %d px wide", width, wide)
		}
	}

	eval[chromedp.Void](p, `(e => { e.value = ""; e.dispatchEvent(new Event("input", {bubbles: true})); })(document.querySelector("#ttft"))`)
	p.answered()
	if got := table(); fmt.Sprint(got) != fmt.Sprint(built) {
		t.Errorf("without limits the table holds %v; built were %v", got, built)
	}
	if !eval[bool](p, `document.querySelector("#unlimited").checkVisibility()`) {
		t.Error("without limits their absence is not answered")
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// Where no row has the percentile, the best is held to the highest that it has, and the
// answer says so.
func TestLimitsWithoutThePercentile(t *testing.T) {
	s := theSite(t)
	page, err := os.ReadFile(filepath.Join(s.dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	data := regexp.MustCompile(`(id="chart-marks">)(.*?)(</script>)`).FindSubmatchIndex(page)
	if data == nil {
		t.Fatal("the home page has no rows")
	}
	var marks map[string]map[string]any
	if err := json.Unmarshal(page[data[4]:data[5]], &marks); err != nil {
		t.Fatal(err)
	}
	for _, m := range marks {
		m["row"].([]any)[3] = nil // TTFT p99
	}
	without, err := json.Marshal(marks)
	if err != nil {
		t.Fatal(err)
	}
	server, origin := serve(tamper(s, string(page[data[4]:data[5]]), string(without)), base)
	defer server.Close()
	p := newTab(t, origin)
	p.visit(origin + base)
	rows := p.homeMarks()
	best := rows[0]
	for _, r := range rows {
		if *r.Row[16] > *best.Row[16] {
			best = r
		}
	}
	p.enter("ttft", "1000000")
	said := p.limitsSay()
	if !strings.Contains(said, plain(best.Name+" at "+best.Load)+" gives the most") {
		t.Errorf("the page says %q; %s gives the most", said, best.Name)
	}
	if !regexp.MustCompile(`within TTFT p9[05] ≤ 1,000,000 ms \(no row has the samples for p99\): `).MatchString(said) {
		t.Errorf("the page does not say to which percentile it held the answer: %q", said)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// Without JavaScript no head offers to sort, and a line says what needs it.
func TestHomeWithoutScripts(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	withoutScripts(p)
	do(p, chromedp.Navigate(s.url("index.html")))
	signs := eval[[]string](p, `[...new Set([...document.querySelectorAll("[aria-sort] button")].map(b => getComputedStyle(b, "::after").content))]`)
	if !slices.Equal(signs, []string{"none"}) {
		t.Errorf("heads that cannot sort bear %q", signs)
	}
	if text := eval[string](p, `document.querySelector("main").innerText`); !strings.Contains(text, "Limits and prices, sorting and what a mark tells need JavaScript") {
		t.Error("no line says what needs JavaScript")
	}
}

// plain writes ordinary spaces for those that do not break, and no word joiners.
func plain(s string) string { return strings.NewReplacer("\u00a0", " ", "\u2060", "").Replace(s) }
