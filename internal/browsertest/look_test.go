package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// What a page may hold only in one way, whatever its width: one column sorted, heads with
// their scope, regions with a name, drawings with words or hidden, no dash without its
// reason, no chart without a table, no text below 12 px.
const looks = `(() => {
	const found = [];
	const name = e => e.localName + (e.id ? "#" + e.id : "") + [...e.classList].map(c => "." + c).join("");
	const named = e => e.hasAttribute("aria-label") || (e.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean).some(id => document.getElementById(id)?.textContent.trim());
	for (const table of document.querySelectorAll("table")) {
		const sorted = [...table.querySelectorAll("[aria-sort]")].filter(h => h.ariaSort !== "none").length;
		if (sorted > 1) found.push(name(table) + " is sorted by " + sorted + " columns");
		for (const h of table.querySelectorAll("th")) if (!h.scope) found.push("th without a scope: " + h.textContent.trim().slice(0, 40));
	}
	for (const e of document.querySelectorAll(".scroll")) if (!named(e) || e.tabIndex !== 0) found.push(name(e) + " scrolls and has no name, or no place among the tabs");
	for (const e of document.querySelectorAll("svg")) {
		const told = e.closest("[aria-hidden=true]") || e.getAttribute("role") === "img" && named(e) || e.getAttribute("role") === "group" && named(e) || e.closest("[role=img]") && named(e.closest("[role=img]"));
		if (!told) found.push(name(e) + " is neither named nor hidden: " + e.outerHTML.slice(0, 80));
	}
	const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	const small = new Set();
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const at = n.parentElement;
		if (!n.data.trim() || at.closest("script, [hidden]")) continue;
		const size = parseFloat(getComputedStyle(at).fontSize);
		if (size < 12) small.add(name(at) + " " + size + " px: " + n.data.trim().slice(0, 30));
		if (n.data.trim() !== "—") continue;
		// The reason stands beside it, in sight or for those who hear the page; of an article's
		// table under it; of a group of rows, such as those that nobody measured, above it.
		if (at.closest("tbody")?.querySelector("th[scope=rowgroup]")) continue;
		if (at.closest("article .scroll")?.nextElementSibling?.textContent.startsWith("—")) continue;
		const cell = at.closest("td, th, dd, p, li, button, a") ?? at;
		if (cell.textContent.replace(/[—\s]/g, "").length < 4) found.push("— without a reason: " + cell.outerHTML.slice(0, 120));
	}
	found.push(...small);
	if (document.querySelector("figure svg[role=img]") && !document.querySelector("main table")) found.push("a chart, and no table");
	return found;
})()`

// Texts of a drawing that its edge cuts, or that lie on each other.
const texts = `(() => {
	const found = [];
	for (const svg of document.querySelectorAll("svg")) {
		if (!svg.checkVisibility() || !svg.querySelector("text")) continue;
		const room = svg.getBoundingClientRect();
		const shown = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim() && t.checkVisibility({visibilityProperty: true}))
			.map(t => ({words: t.textContent.trim(), at: t.getBoundingClientRect()})).filter(t => t.at.width > 0);
		for (const t of shown) if (t.at.left < room.left - 1 || t.at.right > room.right + 1 || t.at.top < room.top - 1 || t.at.bottom > room.bottom + 1)
			found.push("“" + t.words + "” is cut by the edge of its chart by " + Math.round(Math.max(room.left - t.at.left, t.at.right - room.right, room.top - t.at.top, t.at.bottom - room.bottom)) + " px");
		for (const [i, a] of shown.entries()) for (const b of shown.slice(i + 1)) {
			const wide = Math.min(a.at.right, b.at.right) - Math.max(a.at.left, b.at.left), high = Math.min(a.at.bottom, b.at.bottom) - Math.max(a.at.top, b.at.top);
			if (wide > 1 && high > 4) found.push("“" + a.words + "” lies on “" + b.words + "” in " + (svg.closest("figure, td")?.textContent.trim().slice(0, 30) ?? "a chart"));
		}
	}
	return found;
})()`

// fonts are the widest that a reader's system is likely to have, and one with the measures
// of the common ones.
var fonts = []string{"DejaVu", "Liberation"}

// visitIn goes to url and has it set in the fonts of one family from the start, as on a
// system that has no other.
func (p *tab) visitIn(family, url string) {
	p.t.Helper()
	early := call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(`(() => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(':root { --sans: "%[1]s Sans"; --mono: "%[1]s %[2]s" } body { font-family: var(--sans) }');
		document.adoptedStyleSheets = [sheet];
	})()`, family, map[string]string{"DejaVu": "Sans Mono", "Liberation": "Mono"}[family])})
	p.visit(url)
	call(p, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(early))
	if got := eval[string](p, `getComputedStyle(document.body).fontFamily`); !strings.Contains(got, family) {
		p.t.Fatalf("the page is set in %s, not in %s", got, family)
	}
}

// looksWrong names what is wrong with how a page looks: in both families of fonts, at all
// widths, in both themes; and what moves while it loads, on a phone and on a desk.
func (p *tab) looksWrong(url string) (found []string) {
	p.t.Helper()
	p.noteShifts()
	for i, font := range fonts {
		first := []int{360, 1280}[i]
		p.show(first, "light")
		p.visitIn(font, url)
		found = append(found, p.shifted(first)...)
		if i == 0 {
			found = append(found, eval[[]string](p, looks)...)
		}
		for _, f := range p.sideways() {
			found = append(found, font+": "+f)
		}
		for _, width := range widths { // a theme moves nothing
			p.show(width, "light")
			for _, f := range eval[[]string](p, texts) {
				found = append(found, fmt.Sprintf("%s at %d px: %s", font, width, f))
			}
		}
	}
	return found
}

// mostShift is how much of a page may move while it loads, in the measure of browsers.
const mostShift = 0.02

// noteShifts has the tab note what moves on the pages that it visits.
func (p *tab) noteShifts() {
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		self.shifts = [];
		new PerformanceObserver(list => shifts.push(...list.getEntries())).observe({type: "layout-shift", buffered: true});`})
}

// shifted says how much of the page moved while it loaded, and what, where that is too much.
func (p *tab) shifted(width int) (found []string) {
	p.t.Helper()
	var total float64
	var moved []string
	for _, s := range eval[[]struct {
		Value float64
		What  string
	}](p, `shifts.map(s => ({Value: s.value, What: s.sources.map(e => e.node?.localName + "#" + (e.node?.id ?? "")).join(" ")}))`) {
		total += s.Value
		moved = append(moved, s.What)
	}
	if total < mostShift {
		return nil
	}
	return []string{fmt.Sprintf("at %d px: shifts by %.3f while it loads, want less than %v: %s", width, total, mostShift, strings.Join(moved, "; "))}
}

// On paper stand all intervals and all commands that are not folded, within its width, and
// no controls.
func TestPaper(t *testing.T) {
	s := theSite(t)
	kinds := s.kinds()
	for _, name := range []string{"index.html", kinds["r/3"][0], "recipes/llama-3.1-8b/index.html", "gaps/index.html", "roofline/index.html"} {
		if !slices.Contains(s.pages, name) {
			t.Errorf("the site has no %s", name)
			continue
		}
		p := newTab(t, s.origin)
		p.show(725, "dark") // A4 with margins of 9 mm
		p.visit(s.url(name))
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		for _, f := range eval[[]string](p, `(() => {
			const found = [];
			const shown = e => e.checkVisibility({contentVisibilityAuto: true}) && e.getClientRects().length > 0;
			const folded = e => e.closest("[hidden], svg, dialog, .tip") || e.closest("details:not([open])") && e.closest("summary") === null;
			for (const e of document.querySelectorAll("main .ci, main pre")) {
				if (folded(e)) continue;
				const what = e.localName + " “" + e.textContent.trim().slice(0, 40) + "”";
				if (!shown(e)) found.push(what + " is left out");
				else if (e.localName === "pre" && e.getBoundingClientRect().right > 726) found.push(what + " runs off the paper");
			}
			for (const e of document.querySelectorAll("nav, form, button")) if (shown(e) && !e.closest("th")) found.push(e.localName + " “" + e.textContent.trim().slice(0, 20) + "” is printed");
			const ground = getComputedStyle(document.body).backgroundColor;
			if (ground !== "rgb(255, 255, 255)") found.push("the paper is " + ground);
			if (!document.querySelector(".paper")?.checkVisibility()) found.push("the address is left out");
			return found;
		})()`) {
			t.Errorf("%s: %s", name, f)
		}
	}
}
