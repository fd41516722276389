package browsertest

import (
	"slices"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A press on a column's head puts the better end first and a second press the other;
// what is missing comes last both times, and one line says so.
func TestSort(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	eval[chromedp.Void](p, `(() => { // a device without a published bandwidth
		const cell = document.querySelector('[aria-describedby="built-note"] tbody tr').cells[3];
		cell.removeAttribute("data-value");
		cell.innerHTML = "";
		cell.append(Object.assign(document.createElement("span"), {className: "none", textContent: "—"}));
	})()`)
	const head = `[aria-describedby="built-note"] th:nth-child(4)`
	built := eval[[]float64](p, `[...document.querySelectorAll('[aria-describedby="built-note"] tbody td:nth-child(4)[data-value]:not([data-value=""])')].map(c => Number(c.dataset.value))`)
	if len(built) < 3 {
		t.Fatalf("the table has %d figures; too few to sort", len(built))
	}
	slices.Sort(built)
	best := slices.Clone(built)
	slices.Reverse(best)
	for _, want := range []struct {
		state, said string
		figures     []float64
	}{
		{"descending", "Sorted by All, descending; what is missing stands last.", best},
		{"ascending", "Sorted by All, ascending; what is missing stands last.", built},
	} {
		do(p, chromedp.Click(head+" button"))
		state := eval[[]string](p, `[...document.querySelectorAll('[aria-describedby="built-note"] th[aria-sort]')].map(h => h.ariaSort).filter(s => s !== "none")`)
		if !slices.Equal(state, []string{want.state}) {
			t.Errorf("the heads say %q; want %q on one", state, want.state)
		}
		got := eval[[]*float64](p, `[...document.querySelectorAll('[aria-describedby="built-note"] tbody td:nth-child(4)')].map(c => !c.dataset.value ? null : Number(c.dataset.value))`)
		if got[len(got)-1] != nil {
			t.Errorf("%s: the missing figure is not last", want.state)
		}
		for i, v := range want.figures {
			if got[i] == nil || *got[i] != v {
				t.Fatalf("%s: row %d is out of order", want.state, i+1)
			}
		}
		if said := eval[string](p, `document.querySelector("#status").textContent`); said != want.said {
			t.Errorf("the status line says %q; want %q", said, want.said)
		}
		if on := eval[string](p, `document.activeElement.textContent`); on != "All" {
			t.Errorf("the press moved the focus to %q", on)
		}
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// The switch changes the theme, and the next page keeps it.
func TestTheme(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	ground := func() string { return eval[string](p, `getComputedStyle(document.body).backgroundColor`) }
	p.show(1280, "light")
	p.visit(s.url("index.html"))
	light := ground()
	if name := eval[string](p, `document.querySelector("#theme").textContent`); name != "Dark theme" {
		t.Errorf("in the light theme the switch says %q", name)
	}
	do(p, chromedp.Click("#theme"))
	dark := ground()
	if dark == light {
		t.Errorf("the ground stays %s", light)
	}
	p.visit(s.url(calculatorPage))
	if got := ground(); got != dark {
		t.Errorf("on the next page the ground is %s; want %s", got, dark)
	}
	do(p, chromedp.Click("#theme"))
	if got := ground(); got != light {
		t.Errorf("switched back, the ground is %s; want %s", got, light)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// Copy takes the whole command, and says so.
func TestCopy(t *testing.T) {
	s := theSite(t)
	rows := s.kinds()["r/3"]
	if len(rows) == 0 {
		t.Fatal("the site has no row's page")
	}
	p := newTab(t, s.origin)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if _, err := chromedp.CallBrowser(p.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted,
			Origin: s.origin, BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		}); err != nil {
			t.Fatal(err)
		}
	}
	p.visit(s.url(rows[0]))
	do(p, chromedp.Click(".cmd button"))
	copied := eval[string](p, `navigator.clipboard.readText()`)
	if want := eval[string](p, `document.querySelector(".cmd pre").textContent`); copied != want || want == "" {
		t.Errorf("copied %q; want %q", copied, want)
	}
	if said := eval[string](p, `document.querySelector("#status").textContent`); said != "Copied." {
		t.Errorf("the status line says %q", said)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// A mark of the home page's chart tells its row to pointer and keys, and leads to it.
func TestChartMarks(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(1280, "light")
	p.visit(s.url("index.html"))
	tip := func() string {
		return eval[string](p, `(t => t.hidden ? "" : t.textContent)(document.querySelector(".tip"))`)
	}
	const marks = `[...document.querySelectorAll("svg.wide [data-row]")]`
	if n := eval[int](p, marks+`.filter(m => m.tabIndex === 0).length`); n != 1 {
		t.Errorf("%d marks are in the tab order; want one, and arrows for the rest", n)
	}
	eval[chromedp.Void](p, `document.querySelector("svg.wide [data-row][tabindex='0']").focus()`)
	first := eval[string](p, `document.activeElement.dataset.row`)
	if got := tip(); !strings.Contains(got, "output tok/s/GPU") || !strings.Contains(got, "tok/s per user") {
		t.Errorf("on focus the tooltip says %q", got)
	}
	do(p, chromedp.KeyEvent(kb.ArrowRight))
	second := eval[string](p, `document.activeElement.dataset.row`)
	if second == first {
		t.Error("the right arrow stays on the first mark")
	}
	do(p, chromedp.KeyEvent(kb.Escape))
	if got := tip(); got != "" {
		t.Errorf("after Escape the tooltip still says %q", got)
	}
	at := eval[[]float64](p, marks+`.filter(m => m.dataset.row === "`+first+`").map(m => m.getBoundingClientRect()).map(r => [r.x + r.width / 2, r.y + r.height / 2])[0]`)
	do(p, chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	if got := tip(); !strings.Contains(got, "output tok/s/GPU") {
		t.Errorf("under the pointer the tooltip says %q", got)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
	do(p, chromedp.KeyEvent(kb.Enter))
	p.settle()
	if want := s.url("r/" + second + "/index.html"); eval[string](p, `location.href`) != want {
		t.Errorf("Enter leads to %s; want %s", eval[string](p, `location.href`), want)
	}
}

// An address that points into what is closed opens it, at first and on the page.
func TestClosedSectionsOpen(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("recipes/qwen3-8b/"))
	ids := eval[[]string](p, `[...document.querySelectorAll("details.cell:not([open]) > div[id]")].map(e => e.id)`)
	if len(ids) < 2 {
		t.Fatalf("closed: %q; want two at least", ids)
	}
	const open = `[...document.querySelectorAll("details.cell[open] > div[id]")].map(e => e.id)`
	eval[chromedp.Void](p, `new Promise(done => {
		addEventListener("hashchange", () => setTimeout(done), {once: true});
		location.hash = "`+ids[1]+`";
	})`)
	if got := eval[[]string](p, open); !slices.Equal(got, ids[1:2]) {
		t.Errorf("a link to %s opened %q", ids[1], got)
	}
	p.visit("about:blank")
	p.visit(s.url("recipes/qwen3-8b/") + "#" + ids[0])
	if got := eval[[]string](p, open); !slices.Equal(got, ids[:1]) {
		t.Errorf("the address of %s opened %q", ids[0], got)
	}
	if !eval[bool](p, `document.getElementById("`+ids[0]+`").checkVisibility()`) {
		t.Error("what the address points to is not to be seen")
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}
