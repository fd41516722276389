package engine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// answering is a server that answers these paths and no others.
func answering(t *testing.T, answers map[string]string) *url.URL {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(a))
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestProbeNamesTheEngine(t *testing.T) {
	for _, c := range []struct {
		name            string
		answers         map[string]string
		engine, version string
		model           string
		metrics         bool
	}{
		{"vLLM", map[string]string{
			"/v1/models": string(fixture(t, "vllm/models.json")), "/version": string(fixture(t, "vllm/version.json")),
			"/health": "", "/metrics": "# HELP\nvllm:num_requests_running 0\n", "/server_info": `{"vllm_config":"model='x'"}`,
		}, VLLM, "0.26.0", "llama-3.2-1b", true},
		{"SGLang", map[string]string{
			"/v1/models": string(fixture(t, "sglang/models.json")), "/server_info": string(fixture(t, "sglang/server_info.json")), "/health": "",
		}, SGLang, "0.5.16", "llama-3.1-8b", false},
		{"an older SGLang behind another owner's name", map[string]string{
			"/v1/models": `{"data":[{"id":"m"}]}`, "/get_server_info": string(fixture(t, "sglang/server_info.json")),
		}, SGLang, "0.5.16", "m", false},
		{"ours", map[string]string{
			"/v1/models": `{"data":[{"id":"embedded","owned_by":"rowproof"}]}`, "/version": `{"version":"1.2"}`,
		}, Embedded, "1.2", "embedded", false},
		{"vLLM by its metrics", map[string]string{
			"/v1/models": `{"data":[{"id":"m"}]}`, "/metrics": "# HELP x\nvllm:num_requests_running{a=\"b\"} 0\n",
		}, VLLM, "", "m", true},
		{"another", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"acme"}]}`},
			"unknown: its models are owned by acme", "", "m", false},
		{"one that says nothing", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`}, "unknown: neither its models nor its metrics name an engine", "", "m", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Probe(context.Background(), answering(t, c.answers), nil, false, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			model := ""
			if len(s.Models) > 0 {
				model = s.Models[0].ID
			}
			if s.Engine != c.engine || s.Version != c.version || model != c.model || (s.Metrics == "/metrics") != c.metrics {
				t.Errorf("%q %q, model %q, metrics %v", s.Engine, s.Version, model, s.Metrics)
			}
			if (s.Info != nil) != (c.engine == SGLang) {
				t.Errorf("settings %s", s.Info)
			}
			_, said := s.Unread["/health"]
			if _, has := c.answers["/health"]; s.Healthy != has || said == has {
				t.Errorf("healthy %v, unread %v", s.Healthy, s.Unread)
			}
		})
	}
}

func TestProbeErrorsSayWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := &url.URL{Scheme: "http", Host: l.Addr().String()}
	l.Close()
	var none *NoServerError
	if _, err := Probe(context.Background(), gone, nil, false, time.Minute); !errors.As(err, &none) || !strings.Contains(err.Error(), gone.String()+": connection refused") {
		t.Errorf("%v", err)
	}

	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer right" {
			w.Write(fixture(t, "vllm/models.json"))
			return
		}
		w.WriteHeader(401)
	}))
	defer locked.Close()
	base, _ := url.Parse(locked.URL)
	for header, want := range map[string]string{"": "set OPENAI_API_KEY", "Bearer wrong": "not accepted", "Bearer right": ""} {
		h := http.Header{}
		if header != "" {
			h.Set("Authorization", header)
		}
		_, err := Probe(context.Background(), base, h, false, time.Minute)
		var access *AccessError
		switch {
		case want == "" && err != nil:
			t.Errorf("%v with the right key", err)
		case want != "" && (!errors.As(err, &access) || access.Status != 401 || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", header, err, want)
		case err != nil && strings.Contains(err.Error(), "wrong"):
			t.Errorf("%v tells the key", err)
		}
	}
}

// What is no OpenAI-compatible server is told by what it answers, with what was asked.
func TestProbeTellsAnotherKindOfServer(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"a page", "<html>", 200, "/v1/models answers 200 OK: <html>; that is no list of models"},
		{"other JSON", `{"status":"up"}`, 200, `/v1/models answers 200 OK: {"status":"up"}; that is no list of models`},
		{"not found", `{"detail":"Not Found"}`, 404, "/v1/models answers 404 Not Found: Not Found; that is no OpenAI-compatible server at this address"},
		{"broken", "out of memory\n", 500, "/v1/models answers 500 Internal Server Error: out of memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			defer s.Close()
			base, _ := url.Parse(s.URL)
			_, err := Probe(context.Background(), base, nil, false, time.Minute)
			var other *NotOpenAIError
			if !errors.As(err, &other) || !strings.HasPrefix(err.Error(), "GET "+s.URL+c.says) {
				t.Errorf("said %v, want %s", err, c.says)
			}
		})
	}
}

// A server that accepts and says nothing is told from none, after the time it was given.
func TestProbeTellsASilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base := &url.URL{Scheme: "http", Host: l.Addr().String()}
	_, err = Probe(context.Background(), base, nil, false, 50*time.Millisecond)
	var silent *SilentError
	if !errors.As(err, &silent) || err.Error() != base.String()+" accepted the connection and did not answer within 0.05 s" {
		t.Errorf("said %v", err)
	}
}

// A proxy of the environment stands between nobody and the server under test.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	if _, err := Probe(context.Background(), answering(t, map[string]string{"/v1/models": `{"data":[]}`}), nil, false, time.Minute); err != nil {
		t.Error(err)
	}
}
