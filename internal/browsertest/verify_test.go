package browsertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verified presses the button and waits for what verifying found: the sentence, and the
// names of what differs.
func (p *tab) verified() string {
	p.t.Helper()
	return eval[string](p, `new Promise(done => {
		const box = document.querySelector("#verify"), line = box.querySelector("[role=status]");
		box.querySelector("button").click();
		const look = () => {
			if (line.hasAttribute("aria-busy") || !line.textContent) return;
			const bad = [...box.querySelectorAll("tr:has(td.bad), .listed li:has(.bad)")].map(r => r.firstElementChild.textContent);
			done(line.textContent + (bad.length ? " [" + bad.join(" ") + "]" : ""));
		};
		new MutationObserver(look).observe(line, {attributes: true, childList: true, subtree: true});
	})`)
}

// A reader's browser makes a row again from its files, and says so; a page whose figure
// was changed by hand, a report that states another, and samples that are not the row's
// are each found out.
func TestVerifyHere(t *testing.T) {
	s := theSite(t)
	rows := s.kinds()["r/3"]
	if len(rows) == 0 {
		t.Fatal("the site has no row's page")
	}
	first := "" // a report's first row, which the edits below are of
	for _, page := range rows {
		if text, err := os.ReadFile(filepath.Join(s.dir, page)); err == nil && bytes.Contains(text, []byte(`data-index="0"`)) {
			first = page
			break
		}
	}
	page := rows[random(t).IntN(len(rows))]
	p := newTab(t, s.origin)
	p.visit(s.url(page))
	if said := p.verified(); !strings.HasPrefix(said, "Verified here. 3 hashes and ") || !strings.Contains(said, "equal to the last digit") || strings.Contains(said, "[") {
		t.Errorf("%s says %q", page, said)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
	// Once more on the page as it stands now, with a figure of it edited.
	eval[bool](p, `(document.querySelector('td[data-figure="tpot_ms.p50"]').textContent = "1.5", true)`)
	if said := p.verified(); !strings.HasPrefix(said, "Differs: 1 claim of this page is not what its files give.") || !strings.HasSuffix(said, "[tpot_ms.p50]") {
		t.Errorf("with a figure of the page edited %s says %q", page, said)
	}

	for _, c := range []struct {
		what string
		edit func(name string, body []byte) []byte
		want []string // among what differs
	}{
		{"a changed report", func(name string, body []byte) []byte {
			if strings.HasSuffix(name, ".json") {
				return bytes.Replace(body, []byte(`"tpot_ms": {`+"\n"+`     "mean": `), []byte(`"tpot_ms": {`+"\n"+`     "mean": 1`), 1)
			}
			return body
		}, []string{"recompute", "tpot_ms.mean"}},
		{"a changed request", func(name string, body []byte) []byte {
			if !strings.HasSuffix(name, ".samples.jsonl.gz") {
				return body
			}
			return bytes.Replace(body, []byte(`"status":"ok"`), []byte(`"status":"no"`), 1)
		}, []string{"samples", "recompute"}},
	} {
		origin := changed(t, s, c.edit)
		p := newTab(t, origin)
		p.visit(origin + strings.TrimPrefix(s.url(first), s.origin))
		said := p.verified()
		if !strings.HasPrefix(said, "Differs: ") {
			t.Errorf("%s: %q", c.what, said)
		}
		for _, name := range c.want {
			if !strings.Contains(said, name) {
				t.Errorf("%s: %q does not name %s", c.what, said, name)
			}
		}
	}
}

// changed serves the site with its rows' files edited, those in gzip unpacked for it.
func changed(t *testing.T, s *site, edit func(name string, body []byte) []byte) (origin string) {
	t.Helper()
	server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/data/rows/") {
			s.handler().ServeHTTP(w, r)
			return
		}
		body, err := os.ReadFile(filepath.Join(s.dir, strings.TrimPrefix(r.URL.Path, base)))
		if err != nil {
			t.Error(err)
			return
		}
		if !strings.HasSuffix(r.URL.Path, ".gz") {
			w.Write(edit(r.URL.Path, body))
			return
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Error(err)
			return
		}
		packed := gzip.NewWriter(w)
		packed.Write(edit(r.URL.Path, plain))
		packed.Close()
	}), base)
	t.Cleanup(server.Close)
	return origin
}
