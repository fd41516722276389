package browsertest

import (
	"net/http"
	"strings"
	"testing"
)

// A row's page recomputes its ceiling in the reader's browser and says that it equals
// what was published; a published figure that was tampered with is named.
func TestRowRecomputes(t *testing.T) {
	s := theSite(t)
	rows := s.kinds()["r/3"]
	if len(rows) == 0 {
		t.Fatal("the site has no row's page")
	}
	page := rows[random(t).IntN(len(rows))]
	p := newTab(t, s.origin)
	p.visit(s.url(page))
	if said := p.recomputed(); !strings.HasPrefix(said, "Recomputed here: ") || !strings.HasSuffix(said, "equal.") {
		t.Errorf("%s says %q", page, said)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}

	tampered, origin := serve(tamper(s, `"answer":[`, `"answer":[1`), base)
	defer tampered.Close()
	p = newTab(t, origin)
	p.visit(origin + strings.TrimPrefix(s.url(page), s.origin))
	if said := p.recomputed(); !strings.HasPrefix(said, "Differs: bytes read in a step 1") {
		t.Errorf("with its first figure changed %s says %q", page, said)
	}
}

// Without their module pages keep all that they were built with and say why nothing is
// recomputed.
func TestWithoutModule(t *testing.T) {
	s := theSite(t)
	rows := s.kinds()["r/3"]
	if len(rows) == 0 {
		t.Fatal("the site has no row's page")
	}
	broken, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".wasm") {
			http.NotFound(w, r)
			return
		}
		s.handler().ServeHTTP(w, r)
	}), base)
	defer broken.Close()
	p := newTab(t, origin)
	p.visit(origin + strings.TrimPrefix(s.url(rows[0]), s.origin))
	said := p.recomputed()
	if !strings.HasPrefix(said, "Recomputing is off: the module did not load (") || !strings.Contains(said, "404") {
		t.Errorf("without its module %s says %q", rows[0], said)
	}

	p = newTab(t, origin)
	p.visit(origin + base + "roofline/")
	page := p.calculator()
	if !strings.HasPrefix(page.Note, "Recomputing is off: the module did not load (") || !strings.Contains(page.Note, "404") {
		t.Errorf("without its module the calculator says %q", page.Note)
	}
	if !strings.Contains(page.Answer, "decodes at most") || page.Decode == "" {
		t.Errorf("without its module the calculator lost its worked example: %q, %q", page.Answer, page.Decode)
	}
}

// recomputed waits for the line that says what recomputing found.
func (p *tab) recomputed() string {
	p.t.Helper()
	return eval[string](p, `new Promise(done => {
		const line = document.querySelector("#recomputed");
		if (!line) return done("nothing: there is no such line");
		const look = () => { if (!line.textContent.startsWith("Computed when")) done(line.textContent) };
		new MutationObserver(look).observe(line, {childList: true, characterData: true, subtree: true});
		look();
	})`)
}
