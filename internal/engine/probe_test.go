package engine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
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
			"/v1/models": `{"data":[{"id":""},{"id":"m"}]}`, "/metrics": "# HELP x\nvllm:num_requests_running{a=\"b\"} 0\n",
		}, VLLM, "", "m", true},
		{"llama.cpp", map[string]string{
			"/v1/models": `{"models":[{"name":"x.gguf"}],"object":"list","data":[{"id":"x.gguf","object":"model","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`,
			"/props":     llamaProps, "/health": `{"status":"ok"}`, "/metrics": "# HELP\nllamacpp:requests_processing 0\n",
		}, LlamaCPP, "b10603-a1b2c3d", "x.gguf", true},
		{"llama.cpp without a list", map[string]string{"/props": llamaProps}, LlamaCPP, "b10603-a1b2c3d", "/models/x.gguf", false},
		{"Ollama", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"llama3.2:1b","object":"model","owned_by":"library"}]}`, "/api/version": `{"version":"0.33.3"}`,
		}, Ollama, "0.33.3", "llama3.2:1b", false},
		{"an older Ollama", map[string]string{"/api/version": `{"version":"0.1.14"}`, "/api/tags": `{"models":[{"name":"llama2:latest"}]}`}, Ollama, "0.1.14", "llama2:latest", false},
		{"TGI", map[string]string{
			"/info":    `{"model_id":"org/model","model_sha":"abc","max_total_tokens":4096,"max_input_tokens":4095,"version":"3.3.5","docker_label":"sha-1"}`,
			"/metrics": "# TYPE tgi_queue_size gauge\ntgi_queue_size 0\n", "/health": "",
		}, TGI, "3.3.5", "org/model", true},
		{"TensorRT-LLM", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m","object":"model","owned_by":"tensorrt_llm"}]}`, "/version": `{"version":"1.2.0"}`, "/metrics": "[]",
		}, TRTLLM, "1.2.0", "m", false},
		{"LMDeploy by its metrics", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"lmdeploy"}]}`, "/metrics": "lmdeploy:num_requests_running{engine=\"0\"} 0\n"},
			LMDeploy, "", "m", true},
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
			if (s.Info != nil) != slices.Contains([]string{SGLang, LlamaCPP, TGI}, c.engine) {
				t.Errorf("settings %s", s.Info)
			}
			_, said := s.Unread["/health"]
			if _, has := c.answers["/health"]; s.Healthy != has || said == has {
				t.Errorf("healthy %v, unread %v", s.Healthy, s.Unread)
			}
		})
	}
}

const llamaProps = `{"default_generation_settings":{"id":0,"n_ctx":4096,"speculative":false},"total_slots":4,"model_path":"/models/x.gguf","chat_template":"x","build_info":"b10603-a1b2c3d"}`

// What a server says beside its name: where its metrics and settings are, how long
// prompt and output may be together, and the memory that it set aside.
func TestProbeReadsLimitsAndPools(t *testing.T) {
	ask := func(answers map[string]string) Server {
		t.Helper()
		s, err := Probe(context.Background(), answering(t, answers), nil, false, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := ask(map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`, "/metrics": "[]", "/prometheus/metrics": "trtllm_num_requests_running 0\n"})
	if s.Engine != TRTLLM || s.Metrics != "/prometheus/metrics" {
		t.Errorf("%s with metrics at %q", s.Engine, s.Metrics)
	}
	s = ask(map[string]string{"/v1/models": `{"data":[{"id":"x","owned_by":"llamacpp"}]}`, "/props": llamaProps})
	if s.InfoFrom != "/props" || s.Models[0].MaxLen == nil || *s.Models[0].MaxLen != 4096 || s.Models[0].Root != "/models/x.gguf" {
		t.Errorf("%+v from %s", s.Models[0], s.InfoFrom)
	}
	s = ask(map[string]string{"/v1/models": `{"data":[{"id":"x","owned_by":"llamacpp"}]}`, "/props": llamaProps, "/slots": `[{"id":0,"is_processing":false}]`})
	if s.Metrics != "/slots" {
		t.Errorf("metrics at %q", s.Metrics)
	}
	// 8.78 and 116.81 times 2^30 bytes.
	s = ask(map[string]string{"/v1/models": string(fixture(t, "sglang/models.json")), "/server_info": `{"model_path":"m","tokenizer_path":"m","tp_size":2,"pp_size":1,"dp_size":1,
		"internal_states":[{"memory_usage":{"weight":8.78,"kvcache":116.81,"token_capacity":1913799,"graph":0.52}}]}`})
	if p := s.Pool; p == nil || *p != (row.MemoryPool{WeightBytes: 2 * 9427453215, CacheBytes: 2 * 125423782461, Tokens: 1913799}) {
		t.Errorf("%+v", s.Pool)
	}
	if s = ask(map[string]string{"/v1/models": string(fixture(t, "sglang/models.json")), "/server_info": string(fixture(t, "sglang/server_info.json"))}); s.Pool != nil || s.InfoFrom != "/server_info" {
		t.Errorf("%+v", s.Pool)
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
