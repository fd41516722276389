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
	for _, c := range []struct {
		page string
		find []string
	}{
		{"healthy", nil},
		{"csp", []string{"CSP style-src-attr refused"}},
		{"foreign", []string{"request to another origin: http://127.0.0.2:9/picture.png"}},
		{"console", []string{"console.error: planted"}},
		{"thrown", []string{"Error: planted"}},
		{"wide", []string{"scrolls sideways at 320 px, light: 508 px wide: p#wide"}},
		{"contrast", []string{"axe color-contrast"}},
		{"script-only", []string{"not shown without JavaScript: table#late"}},
		{"look", []string{"table is sorted by 2 columns", "th without a scope: Planted", "div.scroll scrolls and has no name", "svg is neither named nor hidden", "— without a reason"}},
		{"text", []string{"“planted one” lies on “two”", "“beyond the edge” is cut by the edge of its chart", "a chart, and no table"}},
		{"small", []string{"px: planted small"}},
		{"shift", []string{"at 360 px: shifts by ", "at 1280 px: shifts by "}},
	} {
		t.Run(c.page, func(t *testing.T) {
			url := origin + base + c.page + ".html"
			found := inspect(t, origin, url)
			found = append(found, withoutScript(t, origin, url)...)
			all := strings.Join(found, "\n")
			if c.find == nil && all != "" {
				t.Errorf("a healthy page is faulted:\n%s", all)
			}
			for _, find := range c.find {
				if !strings.Contains(all, find) {
					t.Errorf("found:\n%s\nwant: %s", all, find)
				}
			}
		})
	}
}
