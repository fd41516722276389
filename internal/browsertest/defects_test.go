package browsertest

import (
	"net/http"
	"strings"
	"testing"
)

// Each check must find the defect planted for it, and nothing on the healthy page:
// otherwise a clean site says nothing.
func TestChecksFindPlantedDefects(t *testing.T) {
	server, origin := serve(http.StripPrefix(base, http.FileServer(http.Dir("testdata/defects"))), base)
	defer server.Close()
	for _, c := range []struct{ page, find string }{
		{"healthy", ""},
		{"csp", "CSP style-src-attr refused"},
		{"foreign", "request to another origin: http://127.0.0.2:9/picture.png"},
		{"console", "console.error: planted"},
		{"thrown", "Error: planted"},
		{"wide", "scrolls sideways at 320 px, light: 508 px wide: p#wide"},
		{"contrast", "axe color-contrast"},
		{"script-only", "not shown without JavaScript: table#late"},
	} {
		t.Run(c.page, func(t *testing.T) {
			url := origin + base + c.page + ".html"
			found := inspect(t, origin, url)
			found = append(found, withoutScript(t, origin, url)...)
			all := strings.Join(found, "\n")
			if c.find == "" && all != "" {
				t.Errorf("a healthy page is faulted:\n%s", all)
			}
			if !strings.Contains(all, c.find) {
				t.Errorf("found:\n%s\nwant: %s", all, c.find)
			}
		})
	}
}
