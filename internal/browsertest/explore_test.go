package browsertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"rowproof/internal/tradeoff"
)

// explored are the explorer's rows as its file holds them.
type explored struct {
	Recipes []struct {
		Code, ID, Dtype string
		Names           []string
		GPUs            int
	}
	Shapes  []string
	IDs     []string
	Recipe  []int
	Shape   []int
	C       []float64
	Figures map[string][]*float64
}

func (p *tab) explored() explored {
	p.t.Helper()
	e := eval[explored](p, `fetch(JSON.parse(document.querySelector("#explore-data").textContent).file).then(r => r.json())`)
	if len(e.IDs) < 3 || len(e.Recipes) < 2 {
		p.t.Fatalf("%d rows of %d recipes; too few to explore", len(e.IDs), len(e.Recipes))
	}
	return e
}

// figure of row i; missing is false where it is known.
func (e *explored) figure(i int, key string) (v float64, missing bool) {
	if key == "c" {
		return e.C[i], false
	}
	f := e.Figures[key][3*i]
	if f == nil {
		return 0, true
	}
	return *f, false
}

// rowsSeen are the ids of the rows in the explorer's table.
func (p *tab) rowsSeen() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("#rows tbody tr")].map(r => r.querySelector('a[href*="/r/"]').href.split("/").at(-2))`)
}

// press presses a table's head by keys alone, with Shift where it comes after the others.
func (p *tab) press(key string, then bool) {
	p.t.Helper()
	eval[chromedp.Void](p, fmt.Sprintf(`document.querySelector('#rows [data-key=%q]').focus()`, key))
	if then {
		do(p, chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(8)))
		return
	}
	do(p, chromedp.KeyEvent(kb.Enter))
}

// The explorer filters and sorts by several columns as the rows themselves say, its
// fronts are the native function's, ticked rows lead to their comparison, and the address
// shows another reader the same. All of it is reached by keys.
func TestExplore(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(1280, "light")
	p.visit(s.url("explore/index.html"))
	p.quiet("#said")
	e := p.explored()

	// Of each recipe and shape the row that gives the most.
	type cell struct{ recipe, shape int }
	best := map[cell]int{}
	for i := range e.IDs {
		at := cell{e.Recipe[i], e.Shape[i]}
		v, _ := e.figure(i, "gpu")
		if j, ok := best[at]; ok {
			if w, _ := e.figure(j, "gpu"); v <= w {
				continue
			}
		}
		best[at] = i
	}
	if got := p.rowsSeen(); len(got) != min(50, len(best)) {
		t.Errorf("at first %d rows stand; %d cells and shapes are measured", len(got), len(best))
	}

	engine := strings.Split(e.Recipes[e.Recipe[0]].ID, "/")[3]
	p.choose("only-engine", engine)
	eval[chromedp.Void](p, `document.querySelector("#every").click()`)
	p.press("c", false)
	p.press("itl50", true)
	var want []int
	for i := range e.IDs {
		if strings.HasSuffix(e.Recipes[e.Recipe[i]].ID, "/"+engine) {
			want = append(want, i)
		}
	}
	slices.SortStableFunc(want, func(a, b int) int {
		if e.C[a] != e.C[b] {
			return int(e.C[a] - e.C[b])
		}
		v, noV := e.figure(a, "itl50")
		w, noW := e.figure(b, "itl50")
		switch {
		case noV != noW:
			return map[bool]int{true: 1, false: -1}[noV]
		case v < w:
			return -1
		case v > w:
			return 1
		}
		return 0
	})
	var ids []string
	for _, i := range want[:min(50, len(want))] {
		ids = append(ids, e.IDs[i])
	}
	if got := p.rowsSeen(); !slices.Equal(got, ids) {
		t.Errorf("by c, then ITL p50 of %s:\n%v\nwant\n%v", engine, got, ids)
	}
	if on := eval[string](p, `document.activeElement.dataset.key ?? ""`); on != "itl50" {
		t.Errorf("after sorting the focus is on %q", on)
	}
	if state := eval[[]string](p, `[...document.querySelectorAll("#rows th[aria-sort]")].map(h => h.ariaSort).filter(s => s !== "none")`); !slices.Equal(state, []string{"ascending"}) {
		t.Errorf("the heads say %q; want one that is ascending", state)
	}
	said := plain(eval[string](p, `document.querySelector("#said").textContent`))
	if w := fmt.Sprintf("%d of %d rows; sorted by c ascending, then ITL p50 ascending.", len(want), len(e.IDs)); said != w {
		t.Errorf("the page says %q; want %q", said, w)
	}

	// Two recipes ticked lead to their comparison.
	eval[chromedp.Void](p, `(() => { const seen = new Set(); for (const row of document.querySelectorAll("#rows tbody tr")) {
		const name = row.querySelector("th").textContent;
		if (seen.size < 2 && !seen.has(name)) { seen.add(name); row.querySelector("input").click(); } } })()`)
	pins := eval[string](p, `new URLSearchParams(location.search).get("r") ?? ""`)
	if link := eval[string](p, `document.querySelector(".tray a")?.getAttribute("href") ?? ""`); len(strings.Split(pins, "~")) != 2 || !strings.Contains(link, "compare/?r="+pins) {
		t.Errorf("ticked %q lead to %q", pins, link)
	}
	address := eval[string](p, `location.href`)
	other := newTab(t, s.origin)
	other.show(1280, "light")
	other.visit(address)
	other.quiet("#said")
	if got := other.rowsSeen(); !slices.Equal(got, ids) {
		t.Errorf("another reader of %s sees %v", address, got)
	}
	if got := eval[string](other, `location.href`); got != address {
		t.Errorf("another reader's address becomes %s; it was %s", got, address)
	}

	// The steps of the first front are the rows that the native function puts on it.
	eval[chromedp.Void](p, `new Promise(done => { const look = () => document.querySelector("#cloud svg [data-row]") ? done() : setTimeout(look, 20); look(); })`)
	groups := map[string][]int{}
	for _, i := range want {
		r := e.Recipes[e.Recipe[i]]
		name := r.Names[0] + " · " + r.Dtype + " · " + e.Shapes[e.Shape[i]]
		groups[name] = append(groups[name], i)
	}
	keys := eval[[]string](p, `[...document.querySelectorAll("#cloud .keys li")].map(l => l.textContent.trim())`)
	for name, of := range groups {
		var points []tradeoff.Point
		for _, i := range of {
			x, _ := e.figure(i, "user")
			y, _ := e.figure(i, "gpu")
			points = append(points, tradeoff.Point{X: x, Y: y})
		}
		on := 0
		for _, yes := range tradeoff.Front(points) {
			if yes {
				on++
			}
		}
		if w := fmt.Sprintf("%s: %d of %d rows", name, on, len(of)); len(groups) <= 8 && !slices.Contains(keys, w) {
			t.Errorf("the keys are %q; natively %q", keys, w)
		}
	}

	p.choose("pivot", "target")
	if heads := eval[[]string](p, `[...document.querySelectorAll("#rows .pivot thead th")].map(h => h.textContent)`); len(heads) < 2 {
		t.Errorf("the pivot's heads are %q", heads)
	}
	p.paste("most-ttft99", "O3")
	if got := eval[string](p, `document.querySelector("#dropped").textContent`); !strings.Contains(got, "“O3” is not a number above 0") {
		t.Errorf("for O3 the page says %q", got)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
	p.visit(s.url("explore/index.html") + "?model=none&sort=joy&r=zzz")
	p.quiet("#said")
	told := eval[string](p, `document.querySelector("#dropped").textContent`)
	for _, w := range []string{"model none is not known", "Column joy is not known", "Recipe zzz is not measured here"} {
		if !strings.Contains(told, w) {
			t.Errorf("the page says %q; want %q in it", told, w)
		}
	}
}

// Ten thousand rows: from a press to the table on the screen, in ms, median and worst.
func BenchmarkExplore(b *testing.B) {
	s := theSite(b)
	random := rand.New(rand.NewPCG(1, 1))
	look := newTab(b, s.origin)
	look.visit(s.url("explore/index.html"))
	file := eval[string](look, `JSON.parse(document.querySelector("#explore-data").textContent).file`)
	rows := eval[map[string]any](look, `fetch(JSON.parse(document.querySelector("#explore-data").textContent).file).then(r => r.json())`)
	const n, recipes = 10_000, 400
	var list []any
	for i := range recipes {
		list = append(list, map[string]any{
			"code": fmt.Sprintf("code%d", i), "id": fmt.Sprintf("m%d/t%d/s%d/vllm", i%20, i/20%5, i/100), "address": "/", "gpus": 1 << (i % 4), "dtype": []string{"bf16", "fp8"}[i%2],
			"names": []string{fmt.Sprintf("Model %d", i%20), fmt.Sprintf("Target %d", i/20%5), fmt.Sprintf("Strategy %d", i/100), "vLLM"},
		})
	}
	rows["recipes"] = list
	column := func(of func(i int) any) (out []any) {
		for i := range n {
			out = append(out, of(i))
		}
		return out
	}
	rows["shapes"] = []string{"128:1024", "1024:256", "8192:256"}
	rows["ids"] = column(func(i int) any { return fmt.Sprintf("%012x", i) })
	rows["recipe"] = column(func(i int) any { return i % recipes })
	rows["shape"] = column(func(i int) any { return i / recipes % 3 })
	rows["c"] = column(func(i int) any { return 1 << (i / recipes / 3 % 9) })
	rows["date"] = column(func(i int) any { return "2026-11-30" })
	rows["verdict"] = column(func(i int) any { return "verified" })
	rows["engine"] = column(func(i int) any { return "vLLM 0.26.0" })
	figures := map[string][]any{}
	for key := range rows["figures"].(map[string]any) {
		for range n {
			v := 1 + 1000*random.Float64()
			figures[key] = append(figures[key], v, v*0.98, v*1.02)
		}
	}
	rows["figures"] = figures
	text, err := json.Marshal(rows)
	if err != nil {
		b.Fatal(err)
	}
	server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == file {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
			return
		}
		s.handler().ServeHTTP(w, r)
	}), base)
	defer server.Close()
	p := newTab(b, origin)
	p.show(1280, "light")
	p.visit(origin + base + "explore/")
	p.quiet("#said")
	for range b.N {
		times := eval[map[string][]float64](p, `(async () => {
			const out = {};
			const painted = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
			const settle = () => new Promise(done => setTimeout(() => requestIdleCallback(done), 60));
			const time = async (name, act) => {
				await settle();
				const from = performance.now();
				act();
				const work = performance.now() - from;
				await painted();
				(out[name] ??= []).push(work);
			};
			const pick = (id, v) => { const e = document.getElementById(id); e.value = v; e.dispatchEvent(new Event("input", {bubbles: true})); };
			for (let i = 0; i < 8; i++) {
				await time("sort", () => document.querySelector('#rows [data-key="' + ["user", "ttft99", "itl50", "gpu"][i % 4] + '"]').click());
				await time("filter", () => pick("only-target", "t" + i % 5));
				await time("unfilter", () => pick("only-target", ""));
				await time("every", () => document.querySelector("#every").click());
				await time("page", () => document.querySelector("#after")?.click());
				await time("pivot", () => pick("pivot", ["target", ""][i % 2]));
				pick("pivot", "");
			}
			return out;
		})()`)
		worst := 0.0
		for name, of := range times {
			slices.Sort(of)
			b.ReportMetric(of[len(of)/2], name+"-ms")
			worst = max(worst, of[len(of)-1])
		}
		b.ReportMetric(worst, "worst-ms")
	}
}
