package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// A reader with one kind of device sees its gaps alone, each with its reason; the address
// keeps the choice, and one that names nothing here is left out and said.
func TestGapsOfMyDevices(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("gaps/index.html"))
	const shown = `[...document.querySelectorAll(".gaps > li")].filter(e => e.checkVisibility()).map(e => e.id)`
	all := eval[int](p, `document.querySelectorAll(".gaps > li").length`)
	devices := eval[[]string](p, `[...document.querySelectorAll("#device option")].map(o => o.value).filter(v => v)`)
	if len(devices) < 2 {
		t.Fatalf("the gaps are of %q; want two kinds of device at least", devices)
	}
	total := 0
	for _, device := range devices {
		// Which recipes are of a device stands in their names.
		want := eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(".gaps > li")].filter(e => e.querySelector("pre").textContent.match(/--recipe [^/]+\/([^/]+?)(-x[0-9]+)?\//)[1] === %q).map(e => e.id)`, device))
		choose(p, "#device", device)
		if got := eval[[]string](p, shown); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("with %s the page shows %q; want %q", device, got, want)
		}
		if bare := eval[int](p, `[...document.querySelectorAll(".gaps > li")].filter(e => e.checkVisibility() && ![...e.querySelectorAll("div > p:not(.note)")].some(r => r.checkVisibility())).length`); bare > 0 {
			t.Errorf("with %s %d gaps say no reason", device, bare)
		}
		said := fmt.Sprintf("%d of %d gaps.", len(want), all)
		if got := eval[string](p, `document.querySelector("#filtered").textContent`); got != said {
			t.Errorf("with %s the page says %q; want %q", device, got, said)
		}
		total += len(want)
	}
	if total != all {
		t.Errorf("the devices have %d gaps together, the page %d", total, all)
	}
	before := eval[[]string](p, shown)
	address := eval[string](p, `location.href`)
	p.visit(address)
	if got := eval[[]string](p, shown); strings.Join(got, " ") != strings.Join(before, " ") {
		t.Errorf("%s shows %q; want %q", address, got, before)
	}
	choose(p, "#device", "")
	if got := eval[string](p, `location.search + document.querySelector("#filtered").textContent`); got != fmt.Sprintf("All %d gaps.", all) {
		t.Errorf("with all devices again the page says %q", got)
	}
	p.visit(s.url("gaps/index.html") + "?device=abacus")
	if got := eval[string](p, `document.querySelector("#filtered").textContent`); got != fmt.Sprintf("device “abacus” has no gap here and was left out. All %d gaps.", all) {
		t.Errorf("with a device that has none the page says %q", got)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
}

// choose takes an option of a select as a reader does.
func choose(p *tab, selector, value string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(s => { s.value = %q; return s.dispatchEvent(new Event("change", {bubbles: true})); })(document.querySelector(%q))`, value, selector))
}
