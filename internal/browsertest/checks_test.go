package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var (
	widths = []int{320, 360, 768, 1280, 1920}
	themes = []string{"light", "dark"}
)

// sideways names what sticks out of a page that can be scrolled sideways, in each width
// and theme.
func (p *tab) sideways() (found []string) {
	p.t.Helper()
	for _, theme := range themes {
		for _, width := range widths {
			p.show(width, theme)
			out := eval[string](p, `(() => {
				const room = document.documentElement.clientWidth;
				if (document.documentElement.scrollWidth <= room) return "";
				const inScroller = e => { for (let a = e.parentElement; a; a = a.parentElement)
					if (getComputedStyle(a).overflowX !== "visible" && a !== document.documentElement && a !== document.body) return true; return false };
				const beyond = [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > room + .5);
				const free = beyond.filter(e => !inScroller(e)); // none: something inside a scroller is positioned against the page
				const wide = free.length > 0 ? free : beyond.filter(e => getComputedStyle(e).position === "absolute");
				const name = e => e.localName + (e.id ? "#" + e.id : "") + [...e.classList].map(c => "." + c).join("");
				return document.documentElement.scrollWidth + " px wide: " + wide.slice(-3).map(name).join(", ");
			})()`)
			if out != "" {
				found = append(found, fmt.Sprintf("scrolls sideways at %d px, %s: %s", width, theme, out))
			}
		}
	}
	return found
}

var axeSource = sync.OnceValues(func() (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return "", fmt.Errorf("axe-core is not installed: run npm ci --ignore-scripts (%w)", err)
	}
	return string(b), nil
})

// axe names what axe-core finds on the page as it stands.
func (p *tab) axe() (found []string) {
	p.t.Helper()
	source, err := axeSource()
	if err != nil {
		p.t.Fatal(err)
	}
	if !eval[bool](p, `typeof axe === "object"`) {
		do(p, chromedp.Evaluate[chromedp.Void](source))
	}
	violations := eval[[]struct {
		ID, Help string
		Nodes    []string
	}](p, `axe.run(document, {resultTypes: ["violations"], preload: false}).then(r => r.violations.map(v =>
		({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.target.join(" ") + " " + (n.any[0]?.message ?? ""))})))`)
	for _, v := range violations {
		found = append(found, fmt.Sprintf("axe %s: %s: %s", v.ID, v.Help, strings.Join(v.Nodes[:min(3, len(v.Nodes))], "; ")))
	}
	return found
}

// inspect visits a page as most readers do and names all that is wrong with it.
func inspect(t *testing.T, origin, url string) (found []string) {
	t.Helper()
	p := newTab(t, origin)
	found = p.looksWrong(url)
	for _, at := range []struct {
		width int
		theme string
	}{{360, "dark"}, {1280, "light"}} {
		p.show(at.width, at.theme)
		for _, f := range p.axe() {
			found = append(found, fmt.Sprintf("at %d px, %s: %s", at.width, at.theme, f))
		}
	}
	return append(p.noted(), found...)
}

// withoutScript visits a page with JavaScript off and names what of its text, tables
// and figures does not show, and what went wrong.
func withoutScript(t *testing.T, origin, url string) (found []string) {
	t.Helper()
	p := newTab(t, origin)
	withoutScripts(p)
	do(p, chromedp.Navigate(url))
	for _, name := range eval[[]string](p, `(() => {
		const main = document.querySelector("main");
		if (!main) return ["main"];
		const lost = [...main.querySelectorAll("h1, h2, h3, p, li, dt, dd, pre, table, th, td, figure")].filter(e =>
			e.textContent.trim() && !e.closest("[hidden], details:not([open]), .vh, [role=status]") && !e.checkVisibility());
		if (!main.querySelector("h1")) lost.push(main);
		return lost.map(e => e.localName + (e.id ? "#" + e.id : "") + " " + e.textContent.trim().slice(0, 40));
	})()`) {
		found = append(found, "not shown without JavaScript: "+name)
	}
	return append(found, p.noted()...)
}

// withoutScripts turns JavaScript off for the pages that the tab visits.
func withoutScripts(p *tab) {
	p.t.Helper()
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}
