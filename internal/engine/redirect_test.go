package engine

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// A key goes to the server it was given for and to nobody else.
func TestProbeFollowsNoRedirect(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin was asked for %s with %v", r.URL, r.Header)
	}))
	defer thief.Close()
	for _, path := range []string{"/v1/models", "/version", "/server_info", "/metrics", "/health"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				http.Redirect(w, r, thief.URL+path+"?key="+r.Header.Get("X-Api-Key"), http.StatusFound)
				return
			}
			w.Write(fixture(t, "vllm/models.json"))
		}))
		base, _ := url.Parse(server.URL)
		s, err := Probe(context.Background(), base, http.Header{"X-Api-Key": {"sk-abcdefgh"}}, false, time.Minute)
		want := "answered 302 to " + thief.URL + "; redirects are not followed, name the server itself"
		said := s.Unread[path]
		if path == "/v1/models" {
			var r *RedirectError
			if !errors.As(err, &r) {
				t.Fatalf("%v", err)
			}
			said = r.Said
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if said != want {
			t.Errorf("%s: %q, want %q", path, said, want)
		}
		server.Close()
	}
}

func TestRedirectsOfRequestsSayWhere(t *testing.T) {
	for location, want := range map[string]string{
		"https://a:b@evil.example/v1?api_key=sk-abcdefgh": "answered 307 to https://evil.example;",
		"/v2/completions?api_key=sk-abcdefgh":             "answered 307 to another path;",
		"//\x1b[2J":                                       "answered 307;",
		"":                                                "answered 307;",
	} {
		c := &loadgen.Capture{Spec: loadgen.Spec{Protocol: row.Passes}, Outcomes: []loadgen.Outcome{{
			Phase: row.PhaseTimed, HTTPStatus: 307, Header: http.Header{"Location": {location}},
		}}}
		s := Samples(c)[0]
		if s.Status != row.StatusError || !strings.HasPrefix(s.Reason, want) || strings.Contains(s.Reason, "abcdefgh") {
			t.Errorf("%q: %s: %q, want %q", location, s.Status, s.Reason, want)
		}
	}
}
