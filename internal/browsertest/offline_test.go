package browsertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The explorer as one file, opened from a disk while no network is there, shows the same
// rows as the page does, draws them by the module and finds what the search finds. It asks
// for nothing, and its policy lets nothing else run.
func TestOfflineFile(t *testing.T) {
	s := theSite(t)
	text, err := os.ReadFile(filepath.Join(s.dir, "rowproof.html"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a copy.html") // alone in its folder
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	const figures = `[...document.querySelectorAll("#rows tbody tr")].map(r => r.innerText)`
	online := newTab(t, s.origin)
	online.visit(s.url("explore/index.html"))
	online.quiet("#said")
	want := eval[[]string](online, figures)

	p := newTab(t, "file://")
	p.show(1280, "light")
	call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	p.visit("file://" + strings.ReplaceAll(file, " ", "%20"))
	p.quiet("#said")
	got := eval[[]string](p, figures)
	if len(got) == 0 || !slices.Equal(got, want) {
		t.Fatalf("the copy shows %d rows %.200q; the page shows %d %.200q", len(got), got, len(want), want)
	}
	if n := eval[int](p, `document.querySelectorAll("#cloud svg").length`); n == 0 {
		t.Error("the copy draws no scatter")
	}
	// A filter is asked of it, and the address keeps the answer.
	eval[chromedp.Void](p, `(box => { box.value = box.options[1].value; box.dispatchEvent(new Event("input")); })(document.querySelector("#only-model"))`)
	p.quiet("#said")
	few := eval[[]string](p, figures)
	if len(few) == 0 || len(few) > len(got) {
		t.Errorf("narrowed to one model it shows %d of %d rows", len(few), len(got))
	}
	if search := eval[string](p, `location.search`); !strings.Contains(search, "=") {
		t.Error("the address does not keep what was asked")
	}
	p.slash()
	do(p, chromedp.KeyEvent("tpot"))
	if finds := p.finds(); len(finds) == 0 || !strings.HasPrefix(finds[0], "TPOT term") {
		t.Errorf("the copy's search finds %q", finds)
	}
	do(p, chromedp.KeyEvent(kb.Escape))
	p.mu.Lock()
	for _, url := range p.asked[1:] {
		if !strings.HasPrefix(url, "data:") {
			t.Errorf("the copy asks for %s", url)
		}
	}
	p.mu.Unlock()
	// Links lead to the site, none to a place beside the file.
	for _, href := range eval[[]string](p, `[...document.querySelectorAll("a[href]")].map(a => a.href)`) {
		if !strings.HasPrefix(href, "http://127.0.0.1:8080"+base) && !strings.HasPrefix(href, "file://"+strings.ReplaceAll(file, " ", "%20")) {
			t.Errorf("a link leads to %s", href)
		}
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
	eval[chromedp.Void](p, `document.body.append(Object.assign(document.createElement("script"), {textContent: "window.ran = true"}))`)
	if eval[bool](p, `window.ran === true`) {
		t.Error("the copy's policy lets any script run")
	}
}
