package browsertest

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pinned is what the compare page's data says of one recipe.
type pinned struct {
	Code, ID, File string
	Names, Shapes  []string
}

// twoRecipes are two of the compare page that were measured at one shape, and the shape.
func (p *tab) twoRecipes() (a, b pinned, shape string) {
	p.t.Helper()
	all := eval[[]pinned](p, `JSON.parse(document.querySelector("#compare-data").textContent).recipes`)
	for i, a := range all {
		for _, b := range all[i+1:] {
			for _, shape := range a.Shapes {
				if slices.Contains(b.Shapes, shape) {
					return a, b, shape
				}
			}
		}
	}
	p.t.Fatalf("of %d recipes no two share a shape", len(all))
	return a, b, ""
}

// planted is a recipe's file with one figure at each concurrency: TTFT p99 in ms, and
// output tok/s/GPU, each with an interval of as many percent to either side.
func planted(shape, word string, percent float64, ttft, gpu func(c float64) float64) []byte {
	triple := func(v float64) []float64 { return []float64{v, v * (1 - percent/100), v * (1 + percent/100)} }
	var rungs []any
	for _, c := range []float64{1, 4, 16, 64} {
		few := "fewer than 100 samples"
		rungs = append(rungs, map[string]any{
			"id": fmt.Sprintf("%s%v", word, c), "c": c, "date": "2026-11-30", "verdict": "verified",
			"f": map[string]any{"gpu": triple(gpu(c)), "ttft": []any{few, few, few, few, triple(ttft(c))}},
		})
	}
	text, err := json.Marshal(map[string]any{
		"shapes": map[string]any{shape: rungs},
		"groups": []any{
			map[string]any{"name": "Flags", "facts": [][2]string{{"--max-num-seqs", word}, {"--shared", "same"}}},
			map[string]any{"name": "Receipt", "facts": [][2]string{{"Driver", word + " <b>driver</b>"}}},
		},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// compareSays is the finding once it has been worked out.
func (p *tab) compareSays() string {
	p.t.Helper()
	p.quiet("#finding")
	return plain(eval[string](p, `document.querySelector("#finding").textContent`))
}

// quiet waits until a live line is no longer busy.
func (p *tab) quiet(line string) {
	p.t.Helper()
	p.settle()
	eval[chromedp.Void](p, fmt.Sprintf(`new Promise(done => {
		const line = document.querySelector(%q);
		const look = () => line.hasAttribute("aria-busy") ? setTimeout(look, 5) : done();
		look();
	})`, line))
}

// A reader pins two recipes, whose rows are synthetic: one gives 1,000 throughout and the
// other 50 for each stream, so they are equal at 20, and as far as 10% to either side of
// both go, between 900/55 and 1100/45. The page finds that, by more tokens and by fewer
// milliseconds; the address that it then has shows another reader the same, and the files
// hold what is seen.
func TestCompareFindsThePlantedCrossover(t *testing.T) {
	s := theSite(t)
	look := newTab(t, s.origin)
	look.visit(s.url("compare/index.html"))
	a, b, shape := look.twoRecipes()
	flat, rising := func(float64) float64 { return 1000 }, func(c float64) float64 { return 50 * c }
	files := map[string][]byte{
		a.File: planted(shape, "one", 10, flat, flat),
		b.File: planted(shape, "two", 10, rising, rising),
	}
	server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := files[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
			return
		}
		s.handler().ServeHTTP(w, r)
	}), base)
	defer server.Close()

	p := newTab(t, origin)
	p.visit(origin + base + "compare/?r=" + a.Code + "&s=" + shape)
	if got := p.compareSays(); got != "Pin two recipes at least to compare them." {
		t.Errorf("of one recipe the page says %q", got)
	}
	p.choose("add", b.Code)
	gpu := p.compareSays()
	// The one that gives the same at any load leads while few streams share it.
	if !strings.Contains(gpu, "leads up to c = 20 (16–24); above it") {
		t.Fatalf("the page says %q; planted is a crossing at 20 (16–24)", gpu)
	}
	first, _, _ := strings.Cut(gpu, " leads up to")
	p.choose("metric", "ttft")
	p.choose("point", "p99")
	ttft := p.compareSays()
	if second, _, ok := strings.Cut(ttft, " leads up to c = 20 (16–24); above it"); !ok || second == first {
		t.Errorf("by TTFT p99 the page says %q; fewer milliseconds are better, so the other leads first", ttft)
	}
	address := eval[string](p, `location.href`)
	if want := "compare/?r=" + a.Code + "~" + b.Code + "&s=" + shape + "&m=ttft&p=p99"; address != origin+base+want {
		t.Errorf("the address is %s; want …/%s", address, want)
	}
	const seen = `[document.querySelector("#finding"), document.querySelector("#ladder"), document.querySelector("#figures"), document.querySelector("#differs")].map(e => e.innerHTML).join("")`
	want := eval[string](p, seen)
	other := newTab(t, origin)
	other.visit(address)
	if got := other.compareSays(); got != ttft {
		t.Errorf("another reader of the address is told %q; want %q", got, ttft)
	}
	if got := eval[string](other, seen); got != want {
		t.Error("another reader of the address sees another chart or other tables")
	}

	// 4 streams: 200 ms against 1,000, so 80% fewer; the intervals' ends allow 180/1100 to 220/900.
	cells := eval[[]string](p, `[...document.querySelectorAll("#figures tbody tr:nth-child(2) td")].map(c => c.textContent.replace(/\s+/g, " "))`)
	if len(cells) != 2 || plain(cells[0]) != "1,000 900–1,100" || plain(cells[1]) != "200 180–220 ▲ 80% (76–84)" {
		t.Errorf("at c = 4 the table says %q", cells)
	}
	differs := eval[[][]string](p, `[...document.querySelectorAll("#differs tbody tr")].filter(r => r.cells.length > 1).map(r => [...r.cells].map(c => c.textContent))`)
	if fmt.Sprint(differs) != "[[--max-num-seqs one two] [Driver one <b>driver</b> two <b>driver</b>]]" {
		t.Errorf("what differs: %q", differs)
	}
	band := eval[[]float64](p, `(s => [...s.querySelectorAll(".band, .crossover")].flatMap(e => e.matches(".band") ? [+e.getAttribute("x"), +e.getAttribute("x") + +e.getAttribute("width")] : [+e.getAttribute("x1")]))(document.querySelector("#ladder svg.wide"))`)
	marks := eval[[]float64](p, `(s => [4, 16, 64].map(c => +s.querySelector('[data-c="' + c + '"]').getAttribute("transform").match(/\(([\d.]+)/)[1]))(document.querySelector("#ladder svg.wide"))`)
	if len(band) != 3 || len(marks) != 3 || !(marks[0] < band[0] && band[0] < band[2] && marks[1] < band[2] && band[2] < band[1] && band[1] < marks[2]) {
		t.Errorf("the band and its estimate lie at %v px, the marks of 4, 16 and 64 at %v", band, marks)
	}

	// What is saved: the figures as recorded, and a drawing that needs no style sheet.
	eval[chromedp.Void](p, `(() => { window.saved = []; URL.createObjectURL = blob => { window.saved.push(blob); return "data:,"; }; })()`)
	eval[chromedp.Void](p, `[...document.querySelectorAll("#pins button")].filter(b => b.textContent.startsWith("Save")).forEach(b => b.click())`)
	saved := eval[[]string](p, `Promise.all(window.saved.map(b => b.text()))`)
	if len(saved) != 2 {
		t.Fatalf("%d files were saved; want the drawing and the figures", len(saved))
	}
	for d := xml.NewDecoder(strings.NewReader(saved[0])); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the saved drawing is no XML: %v", err)
		}
	}
	if strings.Contains(saved[0], "var(") || !strings.Contains(saved[0], "c = 20 (16–24)") && !strings.Contains(plain(saved[0]), "c = 20 (16–24)") {
		t.Error("the saved drawing has no colours of its own, or lacks the crossover")
	}
	lines, err := csv.NewReader(strings.NewReader(saved[1])).ReadAll()
	if err != nil || len(lines) != 9 {
		t.Fatalf("the saved figures: %d lines, %v; want a head and 8 rows", len(lines), err)
	}
	sum := 0.0
	for _, line := range lines[1:] {
		v, err := strconv.ParseFloat(line[slices.Index(lines[0], "ttft_p99")], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if sum != 4*1000+50*(1+4+16+64) {
		t.Errorf("the saved TTFT p99 add up to %v", sum)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
}

// What an address holds that the page does not know is told and left out; the rest stands,
// and the slots of those that stay keep their colours when one is unpinned by keys alone.
func TestCompareAddress(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("compare/index.html"))
	a, b, shape := p.twoRecipes()
	p.visit(s.url("compare/index.html") + "?r=nothing~" + a.Code + "~" + b.ID + "&s=" + shape + "&m=joy&p=p75")
	p.quiet("#finding")
	told := eval[string](p, `document.querySelector("#dropped").textContent`)
	for _, want := range []string{"Recipe nothing is not measured here", "Metric joy is not known", "Percentile p75 is not known"} {
		if !strings.Contains(told, want) {
			t.Errorf("the page says %q; want %q in it", told, want)
		}
	}
	if got, want := eval[string](p, `location.search`), "?r="+a.Code+"~"+b.Code+"&s="+shape; got != want {
		t.Errorf("the address became %q; want %q", got, want)
	}
	colour := eval[string](p, `document.querySelectorAll("#pins li .mark")[1].getAttribute("fill")`)
	eval[chromedp.Void](p, `document.querySelector("#pins li button").focus()`)
	do(p, chromedp.KeyEvent(kb.Enter))
	p.quiet("#finding")
	if got := eval[[]string](p, `[...document.querySelectorAll("#pins li .mark")].map(m => m.getAttribute("fill"))`); !slices.Equal(got, []string{colour}) {
		t.Errorf("unpinned, the other is drawn in %q; it was %s", got, colour)
	}
	if !eval[bool](p, `document.activeElement.closest("#pins li") !== null`) {
		t.Error("the focus left the pins")
	}
	if got, want := eval[string](p, `location.search`), "?r=~"+b.Code+"&s="+shape; got != want {
		t.Errorf("the address became %q; want %q, which keeps the slot", got, want)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}
