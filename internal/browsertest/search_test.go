package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// By keys alone a reader opens the search on any page, types, goes down the finds and
// opens one; the index is asked for once, at the first use.
func TestSearchByKeys(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(360, "dark")
	p.visit(s.url("glossary/index.html"))
	asked := func() (n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, url := range p.asked {
			if strings.HasSuffix(url, "/search/index.json") {
				n++
			}
		}
		return n
	}
	if asked() != 0 {
		t.Error("the index is loaded before anyone searches")
	}
	p.slash()
	p.finds()
	if on := eval[string](p, `document.activeElement.id`); on != "query" {
		t.Fatalf("/ puts the focus on %q", on)
	}
	do(p, chromedp.KeyEvent("h200/"))
	finds := p.finds()
	if len(finds) == 0 || !strings.HasPrefix(finds[0], "H200 SXM device") {
		t.Errorf("h200 finds %q", finds)
	}
	if got := eval[string](p, `document.querySelector("#query").value`); got != "h200/" {
		t.Errorf("the field holds %q: / is a letter in it", got)
	}
	for _, f := range p.axe() {
		t.Error(f)
	}
	if wide := eval[[]float64](p, `[document.documentElement.scrollWidth, document.documentElement.clientWidth, document.querySelector("dialog.search").getBoundingClientRect().right]`); wide[0] > wide[1] || wide[2] > wide[1] {
		t.Errorf("the search is wider than the page: %v", wide)
	}
	do(p, chromedp.KeyEvent(kb.ArrowDown))
	do(p, chromedp.KeyEvent(kb.ArrowDown))
	if on := oneLine(eval[string](p, `document.activeElement.innerText`)); on != finds[1] {
		t.Errorf("two arrows down is %q; want %q", on, finds[1])
	}
	do(p, chromedp.KeyEvent(kb.ArrowUp))
	do(p, chromedp.KeyEvent(kb.ArrowUp))
	if on := eval[string](p, `document.activeElement.id`); on != "query" {
		t.Errorf("up from the first find is %q; want the field", on)
	}
	do(p, chromedp.KeyEvent(kb.Escape))
	if eval[bool](p, `document.querySelector("dialog.search").open`) {
		t.Error("Escape leaves the search open")
	}
	do(p, chromedp.Click("#find"))
	do(p, chromedp.KeyEvent("tpot"))
	if finds := p.finds(); len(finds) == 0 || !strings.HasPrefix(finds[0], "TPOT term") {
		t.Errorf("tpot finds %q", finds)
	}
	do(p, chromedp.KeyEvent(kb.Enter)) // a fragment of this page: nothing loads that could be waited for
	if got := eval[string](p, `location.href`); got != s.url("glossary/index.html")+"#term-ttft" {
		t.Errorf("Enter opens %s", got)
	}
	if eval[bool](p, `document.querySelector("dialog.search").open`) {
		t.Error("a find on the same page leaves the search open over it")
	}
	do(p, chromedp.Click("#find"))
	do(p, chromedp.KeyEvent("<img src=x onerror=alert(1)>"))
	p.finds()
	if n := eval[int](p, `document.querySelectorAll("dialog.search img").length`); n != 0 {
		t.Error("what is typed became markup")
	}
	if n := asked(); n != 1 {
		t.Errorf("the index was asked for %d times", n)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// slash presses the key as a keyboard does: where the page takes it, no letter follows.
func (p *tab) slash() {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		press := input.DispatchKeyEventParams{Type: kind, Key: "/", Code: "Slash", WindowsVirtualKeyCode: 191}
		if kind == input.DispatchKeyEventTypeKeyDown {
			press.Text = "/"
		}
		call(p, input.DispatchKeyEvent, press)
	}
}

// finds are the search's finds as they stand, once the index is there.
func (p *tab) finds() []string {
	p.t.Helper()
	p.settle()
	out := eval[[]string](p, `[...document.querySelectorAll("dialog.search li a")].map(a => a.innerText)`)
	for i := range out {
		out[i] = oneLine(out[i])
	}
	return out
}

func oneLine(find string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(find, "·", " ")), " ")
}

// Where the index does not come the search says so and leads to the page that stands in;
// without JavaScript the link does.
func TestSearchWithoutItsIndex(t *testing.T) {
	s := theSite(t)
	server, origin := serve(tamper(s, `data-index="/rowproof/search/index.json"`, `data-index="/rowproof/search/none.json"`), base)
	defer server.Close()
	p := newTab(t, origin)
	p.visit(origin + base + "gaps/")
	p.slash()
	p.settle()
	if said := eval[string](p, `document.querySelector("#finds").textContent`); !strings.Contains(said, "answered 404") || !strings.Contains(said, "Everything on one page") {
		t.Errorf("the search says %q", said)
	}
	if got := eval[string](p, `document.querySelector("#finds a").href`); got != origin+base+"search/" {
		t.Errorf("the link leads to %s", got)
	}
	q := newTab(t, s.origin)
	withoutScripts(q)
	do(q, chromedp.Navigate(s.url("gaps/index.html")))
	if got := eval[string](q, `(a => a.checkVisibility() ? a.href : "nowhere")(document.querySelector("#find"))`); got != s.url("search/index.html") {
		t.Errorf("without JavaScript the link leads to %s", got)
	}
}
