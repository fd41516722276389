package host

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// A key goes to the server it was given for and to nobody else.
func TestScraperFollowsNoRedirect(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin was asked with %v", r.Header)
	}))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/?key=sk-abcdefgh", http.StatusFound)
	}))
	defer server.Close()
	s := newScraper(ServerRef{Base: parseURL(t, server.URL), Header: http.Header{"X-Api-Key": {"sk-abcdefgh"}}})
	_, err := s.scrape(t.Context(), kept)
	want := fmt.Sprintf("GET /metrics answered 302 to %q; redirects are not followed, name the server itself", thief.URL)
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A server may send as many series as it likes; what is kept of them is bounded.
func TestReadingsAreBounded(t *testing.T) {
	var b strings.Builder
	for n := range 20000 {
		fmt.Fprintf(&b, "x:running{a=%q} 1\n", strings.Repeat("y", 900)+fmt.Sprint(n)) // of some 18 MB
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(b.String())) }))
	defer server.Close()
	s := newSampler(thisMachine(), ServerRef{Base: parseURL(t, server.URL)})
	for range 6 {
		s.scrape(context.Background(), row.During, keptDuring)
	}
	if why := s.got.unread["metrics.during"]; len(s.metrics) != 3 || why != "only the first 3 readings are kept: the server's metrics are too many" {
		t.Errorf("%d readings are kept: %q", len(s.metrics), why)
	}
	if got := parseMetrics(fmt.Sprintf("a{b=%q} 1\nc 2\n", strings.Repeat("z", 2000)), kept); len(got) != 1 || got["c"] != 2 {
		t.Errorf("%d series", len(got))
	}
}
