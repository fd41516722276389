package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written is all that a run leaves: both streams and every file, unpacked.
func written(t *testing.T, prefix, stdout, stderr string) string {
	t.Helper()
	all := stdout + stderr
	names, err := filepath.Glob(prefix + "*")
	if err != nil || len(names) < 4 {
		t.Fatalf("files %v: %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		all += string(data)
	}
	return all
}

// Secrets stand as deep in the body as they like, and a server repeats them in whatever
// spelling: none is written.
func TestBenchMasksSecretsInEverySpelling(t *testing.T) {
	const key = `sk-q"uo\te/é&x`
	const nested = `p4ss"w\ord/+`
	t.Setenv("OPENAI_API_KEY", key)
	body, err := json.Marshal(map[string]any{
		"top_p":    0.5,
		"metadata": map[string]any{"list": []any{map[string]any{"db_password": nested, "pin_token": 1234567, "short_secret": "abc"}}, "kept": "yes"},
		"api_key":  map[string]any{"any": "depth-of-it"},
		"callback": "http://user:hunter22@example.com/",
	})
	if err != nil {
		t.Fatal(err)
	}
	echoed := func(s string) string {
		quoted, _ := json.Marshal(s)
		twice, _ := json.Marshal(string(quoted))
		return strings.Join([]string{s, string(quoted), string(twice), url.QueryEscape(s), strings.ToLower(url.QueryEscape(s)), url.PathEscape(s)}, " ")
	}
	f := &fake{models: []string{"m"}}
	f.fail = func(n int, q *request) (int, string) {
		if n%2 == 0 {
			return 500, echoed(nested) + " 1234567 depth-of-it hunter22"
		}
		return 500, echoed(key)
	}
	prefix := filepath.Join(t.TempDir(), "run")
	args := []string{"--base-url", f.start(t).URL, "--cells", "8:2,9:2", "--concurrency", "1", "--warmup", "0", "--output", prefix, "-v", "--extra-body", string(body)}
	code, stdout, stderr := quick(t, args...)
	if code != exitFailed || !strings.Contains(string(f.requests()[0].Body["metadata"]), `"db_password":"p4ss`) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	all := written(t, prefix, stdout, stderr)
	for _, leak := range []string{"sk-q", "p4ss", "ord/+", "ord%2", "1234567", `"abc"`, `\"abc`, "depth-of-it", "hunter22"} {
		if i := strings.Index(all, leak); i >= 0 {
			t.Errorf("%q was written: %q", leak, all[max(0, i-40):min(len(all), i+60)])
		}
	}
	if !strings.Contains(all, masked) || !strings.Contains(all, `yes`) {
		t.Error("nothing was masked, or all was")
	}
}

// Where a text is cut inside a secret, what is left of it is masked too.
func TestScrubMasksTheBeginningOfACutSecret(t *testing.T) {
	var s secrets
	s.add("sk-abcdefgh")
	for text, want := range map[string]string{
		"no quota for sk-abcd… and more": "no quota for (masked)… and more",
		"no quota for sk-abcdefgh…":      "no quota for (masked)…",
		"a task…":                        "a task…",
		"sk-abcd":                        "sk-abcd",
	} {
		if got := s.scrub(text); got != want {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
}

// A cut before or after quoting, another letter case, base64 and half of a secret: none
// gives it away, and ordinary words that it begins with stay.
func TestScrubMasksWhatGivesASecretAway(t *testing.T) {
	const key = "rowproof-Key.0123456789abcdefghijklmnopqrstuvwxyz-ABCDEF"
	var s secrets
	s.add(key)
	for text, want := range map[string]string{
		`no colon: "Bearer ` + key[:52] + `\u2026"`: `no colon: "Bearer (masked)\u2026"`,
		`no colon: "Bearer ` + key[:52] + `…"`:      `no colon: "Bearer (masked)…"`,
		"it was " + strings.ToUpper(key) + "!":      "it was (masked)!",
		"it was " + key[:30] + ", cut":              "it was (masked), cut",
		"it ends with " + key[20:] + ", cut":        "it ends with (masked), cut",
		"twice " + key[:40] + " " + key[10:] + ".":  "twice (masked) (masked).",
		"rowproof and rowproof-key":                 "rowproof and rowproof-key",
	} {
		if got := s.scrub(text); got != want {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
	for _, before := range []string{"", "a", "ab", "user:"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString([]byte(before + key + ":x"))
			if got := s.scrub(text); !strings.Contains(got, masked) || len(got) > len(masked)+len(before)*2+8 {
				t.Errorf("%q reads %q", text, got)
			}
		}
	}
}

func TestNamesOfSecrets(t *testing.T) {
	for _, name := range []string{"pw", "pass", "pwd", "passwd", "db_pass", "db-pw", "userPass", "API_PASS", "Password"} {
		if !isSecretName(name) {
			t.Errorf("%s is the name of no secret", name)
		}
	}
	for _, name := range []string{"bypass", "max_tokens", "passes", "compass", "top_p", "PWD", "OLDPWD"} {
		if isSecretName(name) {
			t.Errorf("%s is the name of a secret", name)
		}
	}
}

// A key that a server repeats in its framing is written nowhere.
func TestBenchMasksAKeyInTheFraming(t *testing.T) {
	const key = "sk-0123456789abcdefghijklmnopqrstuvwxyz-0123456789ABCDE"
	t.Setenv("OPENAI_API_KEY", key)
	for _, head := range []string{
		"HTTP/1.1 200 OK\r\nBearer " + key + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + key + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + key + "\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n",
		"Bearer " + key + "\r\n\r\n",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				io.WriteString(w, `{"data":[{"id":"m"}]}`)
				return
			}
			io.Copy(io.Discard, r.Body)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			io.WriteString(c, head)
			c.Close()
		}))
		prefix := filepath.Join(t.TempDir(), "run")
		_, stdout, stderr := quick(t, "--base-url", server.URL, "--cells", "8:2", "--concurrency", "1", "--warmup", "0", "--output", prefix, "-v")
		server.Close()
		all := written(t, prefix, stdout, stderr)
		if i := strings.Index(all, key[:8]); i >= 0 || !strings.Contains(all, masked) {
			t.Errorf("%.60q: %q", head, all[max(0, i-60):min(len(all), max(0, i)+80)])
		}
	}
}

func TestUsageErrorsRepeatNoSecret(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for _, args := range [][]string{
		{"--base-url", "http://h/?api_key=S3"},
		{"--base-url", "http://h/?api_key=S3cretly"},
		{"--base-url=http://h/#S3"},
		{"--base-url", "http://user:S3@h/"},
		{"--base-url", "ftp://S3cretly@h/"},
		{"http://h/?api_key=S3cretly"},
		{"http://me:S3cretly@h/"},
		{"--extra-body", `{"api_key":"S3",`},
		{"--extra-body", `{"a":{"api_key":"S3cretly"`},
		{"--extra-body", `{"stream":true,"a":[{"auth_token":"S3"}]}`},
		{"--extra-body=" + `{api_key:'S3'}`},
		{"--header", "S3cretly"},
		{"one", "two", "Authorization: Bearer S3cretly"},
		{"-HAuthorization: Bearer S3cretly"},
		{"--extra-body", `{"api_key":"S3cretly"}`, "--cells", "S3cretly"},
	} {
		code, stdout, stderr := quick(t, args...)
		if code != exitUsage || stdout != "" || strings.Contains(stderr, "S3") {
			t.Errorf("%q: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
}

// What a server says is shown and never acted on.
func TestBenchSpellsOutATerminalsCommands(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	const evil = "m\x1b]0;owned\a\u009b31m\u202egpj\u2066x"
	quoted, _ := json.Marshal(evil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":%s,"root":%s,"owned_by":"sglang"}]}`, quoted, quoted)
		case "/version":
			fmt.Fprintf(w, `{"version":%s}`, quoted)
		case "/server_info":
			fmt.Fprintf(w, `{"version":%s,"attention_backend":%s,%s:1}`, quoted, quoted, quoted)
		case "/metrics":
			fmt.Fprintf(w, "sglang:num_running_reqs{model_name=\"%s\"} 1\n", evil)
		default:
			w.Header().Set("Content-Type", evil)
			http.Error(w, evil, http.StatusTeapot)
		}
	}))
	defer server.Close()
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := quick(t, "--base-url", server.URL, "--cells", "8:2", "--concurrency", "1", "--output", prefix, "-v")
	if code != exitFailed || !strings.Contains(stderr, `\x1b]0;owned`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
	all := written(t, prefix, stdout, stderr)
	if i := strings.IndexAny(all, "\x1b\a\u009b\u202e\u2066"); i >= 0 {
		t.Errorf("written as it came: %q", all[max(0, i-60):min(len(all), i+60)])
	}
	if i := strings.Index(all, `\u001b`); i >= 0 {
		t.Errorf("kept for another to print: %q", all[max(0, i-60):min(len(all), i+60)])
	}
}

func TestBenchListsFewOfManyModels(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{}
	for n := range 20000 {
		f.models = append(f.models, fmt.Sprintf("model-%d-%s", n, strings.Repeat("x", 200)))
	}
	code, _, stderr := quick(t, "--base-url", f.start(t).URL)
	if code != exitUsage || !strings.Contains(stderr, ", and 19,980 more") || len(stderr) > 3000 {
		t.Errorf("exit %d, %d bytes: %.300s", code, len(stderr), stderr)
	}
}

// A redirect is no server: the key stays where it was sent.
func TestBenchFollowsNoRedirect(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-abcdefgh")
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin was asked: %s %v", r.URL, r.Header)
	}))
	defer thief.Close()
	f := &fake{models: []string{"m"}}
	for _, at := range []string{"/v1/models", "/v1/completions"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == at {
				http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
				return
			}
			f.ServeHTTP(w, r)
		}))
		code, stdout, stderr := quick(t, "--base-url", server.URL, "--cells", "8:2", "--concurrency", "1", "--warmup", "0")
		if code == exitOK || !strings.Contains(stderr+stdout, "answered 307 to "+thief.URL+"; redirects are not followed, name the server itself") {
			t.Errorf("%s: exit %d: %s%s", at, code, stdout, stderr)
		}
		server.Close()
	}
}

// A usage that can't be is a failed request, with the figures in its reason, and no rate.
func TestBenchTakesNoRateFromAUsageThatCannotBe(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for _, usage := range []string{`{"prompt_tokens":8,"completion_tokens":-5}`, `{"prompt_tokens":8,"completion_tokens":5000000}`, `{"prompt_tokens":99999999,"completion_tokens":2}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				io.WriteString(w, `{"data":[{"id":"m"}]}`)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\"}],\"usage\":"+usage+"}\n\ndata: [DONE]\n\n")
		}))
		code, stdout, _ := quick(t, "--base-url", server.URL, "--cells", "8:2", "--concurrency", "1", "--warmup", "0")
		r := records(t, stdout)[0]
		if code != exitFailed || r["status"] != "error" || !strings.Contains(r["reason"], "the server's usage can't be: ") || r["decode_tok_s"] != "" || r["prefill_tok_s"] != "" {
			t.Errorf("%s: exit %d: %v", usage, code, r)
		}
		server.Close()
	}
}

// A stream without end costs a row and nothing else.
func TestBenchSurvivesAnEndlessStream(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/completions" {
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		for {
			if _, err := io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	code, stdout, _ := quick(t, "--base-url", server.URL, "--cells", "8:2", "--concurrency", "2", "--warmup", "0")
	r := records(t, stdout)[0]
	if code != exitFailed || r["status"] != "error" || !strings.Contains(r["reason"], "the answer passed 1032 chunks") {
		t.Errorf("exit %d: %v", code, r)
	}
}

// A key that never ends, or never comes, is refused at once.
func TestBenchTakesAKeyFromAFileOnly(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("k"), largestKey+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, why := range map[string]string{os.DevNull: "not a regular file", t.TempDir(): "not a regular file", large: "more than 65536 bytes"} {
		code, _, stderr := quick(t, "--base-url", "http://127.0.0.1:1", "--api-key-file", file)
		if want := "--api-key-file " + file + ": " + why; code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, want %q: %s", code, want, stderr)
		}
	}
}
