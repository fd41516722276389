package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/csv"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

func init() {
	selftestTokens = 10
	paceKept = time.Minute
	drainFor = 2 * time.Second
}

// call runs the verb as a shell would and returns its exit code and output.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"bench"}, args...), nil, &out, &err)
	return code, out.String(), err.String()
}

// quick is call where times do not matter: opening the best stamps takes a while.
func quick(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return call(t, append(args, "--stamps", "read")...)
}

// records reads the CSV that bench prints into one map a row.
func records(t *testing.T, text string) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("not a CSV: %v\n%s", err, text)
	}
	var rows []map[string]string
	for _, line := range all[1:] {
		m := map[string]string{}
		for i, name := range all[0] {
			m[name] = line[i]
		}
		rows = append(rows, m)
	}
	return rows
}

// loaded reads a report with its proof, and fails on anything that does not add up.
func loaded(t *testing.T, prefix string) *rowfile.Bundle {
	t.Helper()
	b, err := rowfile.Load(prefix + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Problems) > 0 || b.NoEvidence != "" {
		t.Errorf("problems %v, evidence %q", b.Problems, b.NoEvidence)
	}
	for i, d := range b.Rows {
		switch {
		case d.ComputedID != d.Row.ID:
			t.Errorf("row %d: id %s, computed %s", i, d.Row.ID, d.ComputedID)
		case d.NoSamples != "" || d.SamplesSHA256 != *d.Row.Proof.Samples:
			t.Errorf("row %d: samples %q", i, d.NoSamples)
		case d.EvidenceSHA256 != *d.Row.Proof.Evidence:
			t.Errorf("row %d: evidence line has another hash", i)
		}
	}
	return b
}

func TestBenchKeepsWhatItPrints(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-the-embedded-engine")
	prefix := filepath.Join(t.TempDir(), "new", "run")
	code, stdout, stderr := call(t, "--cells", "64:8,32:4", "--concurrency", "2,1", "--seed", "5", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if strings.ContainsAny(stderr, "\r\x1b") {
		t.Errorf("progress was drawn, and this is no terminal: %q", stderr)
	}
	if first, _, _ := strings.Cut(stderr, "\n"); !strings.HasPrefix(first, "simulated: not a measurement") {
		t.Errorf("stderr begins %q", first)
	}
	onDisk, err := os.ReadFile(prefix + ".csv")
	if err != nil || string(onDisk) != stdout {
		t.Errorf("the CSV on disk (%v) is not what was printed", err)
	}
	var order []string
	for _, r := range records(t, stdout) {
		order = append(order, r["isl"]+":"+r["osl"]+"@"+r["concurrency"])
		if r["status"] != "ok" || r["reason"] != "" || r["speedup_vs_c1"] == "" {
			t.Errorf("row %v", r)
		}
		if !strings.HasPrefix(r["notes"], row.ColdNote+"; ") || !strings.HasSuffix(r["notes"], "; simulated: not a measurement") {
			t.Errorf("notes %q", r["notes"])
		}
	}
	if want := []string{"64:8@1", "64:8@2", "32:4@1", "32:4@2"}; !slices.Equal(order, want) {
		t.Errorf("rows %v, want %v", order, want)
	}
	b := loaded(t, prefix)
	if len(b.Rows) != 4 || b.Report.Receipt.Engine.Name != "embedded" {
		t.Fatalf("%d rows on engine %q", len(b.Rows), b.Report.Receipt.Engine.Name)
	}
	seeds := map[string]bool{}
	prompts := map[string]bool{}
	for _, d := range b.Rows {
		seeds[d.Row.Workload.Seed] = true
		for _, s := range d.Samples {
			if prompts[s.Prompt] {
				t.Errorf("prompt %s was sent twice", s.Prompt)
			}
			prompts[s.Prompt] = true
		}
	}
	if len(seeds) != 4 || b.Rows[0].Row.Workload.Seed != "5" {
		t.Errorf("seeds %v", seeds)
	}
	if all, _ := os.ReadFile(prefix + ".json"); bytes.Contains(all, []byte("sk-not-for")) {
		t.Error("the report holds the API key")
	}
}

// A second run under a prefix is refused before anything is measured, and nothing of the
// first is lost.
func TestBenchRefusesAPrefixWithFiles(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	args := []string{"--cells", "16:2,17:2", "--concurrency", "1", "--warmup", "0", "--output", prefix}
	if code, _, stderr := quick(t, args...); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	before, err := os.ReadFile(prefix + ".json")
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := quick(t, args...)
	want := "measure bench: --output " + prefix + ": the files of an earlier run are there and would be lost: " +
		prefix + ".csv, " + prefix + ".json, " + prefix + ".evidence.jsonl.gz, " + prefix + ".0.samples.jsonl.gz, " + prefix + ".1.samples.jsonl.gz" +
		"; want another PREFIX, such as " + prefix + "-2\n"
	if code != exitUsage || stdout != "" || stderr != want {
		t.Errorf("exit %d: %s%s, want %s", code, stdout, stderr, want)
	}
	if after, err := os.ReadFile(prefix + ".json"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the report changed: %v", err)
	}
	if b := loaded(t, prefix); len(b.Rows) != 2 {
		t.Errorf("%d rows", len(b.Rows))
	}
	// A samples file alone is in the way too.
	lone := filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(lone+".7.samples.jsonl.gz", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := quick(t, "--cells", "16:2", "--output", lone); code != exitUsage || !strings.Contains(stderr, lone+".7.samples.jsonl.gz;") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestBenchRepeatPromptsAreServedFromTheCache(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	_, stdout, _ := quick(t, "--cells", "128:2", "--concurrency", "1", "--repeat-prompts", "--shared-prefix", "32")
	warm := records(t, stdout)[0]
	if !strings.HasPrefix(warm["notes"], row.WarmNote+"; shared_prefix=32; ") || !strings.Contains(warm["notes"], "; cached_tok=112;") {
		t.Errorf("warm notes %q", warm["notes"])
	}
	_, stdout, _ = quick(t, "--cells", "128:2", "--concurrency", "1", "--shared-prefix", "32")
	cold := records(t, stdout)[0]
	if !strings.HasPrefix(cold["notes"], row.ColdNote+"; shared_prefix=32; ") || !strings.Contains(cold["notes"], "; cached_tok=32;") {
		t.Errorf("cold notes %q", cold["notes"])
	}
}

func TestBenchSustained(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := call(t, "--cells", "16:4", "--concurrency", "2", "--num-prompts", "10", "--repeats", "2", "--output", prefix)
	if code != exitOK || !strings.Contains(stdout, "; protocol=sustained; requests=10; repeats=2;") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	r := loaded(t, prefix).Rows[0].Row
	if r.Counts.Planned != 20 || r.Counts.Completed != 20 || len(r.PerRepeat) != 2 {
		t.Errorf("counts %+v over %d repeats", r.Counts, len(r.PerRepeat))
	}
	code, stdout, _ = call(t, "--cells", "16:4", "--concurrency", "2", "--duration", "1s")
	if code != exitOK || !strings.Contains(stdout, "; protocol=sustained; duration_s=1;") {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestBenchAgainstAServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-abcdefgh")
	f := &fake{models: []string{"org/Some-Model"}, key: "sk-abcdefgh"}
	server := f.start(t)
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := call(t, "Some-Model", "--base-url", server.URL+"/v1", "--cells", "20:3", "--concurrency", "1,9", "--header", "X-Tenant: 7",
		"--extra-body", `{"top_k": 5, "temperature": 0.5}`, "--stamps", "read", "--device", "cuda", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	for _, q := range f.requests() {
		if string(q.Body["model"]) != `"org/Some-Model"` || string(q.Body["top_k"]) != "5" || string(q.Body["temperature"]) != "0.5" ||
			q.Header.Get("X-Tenant") != "7" || q.Path != "/v1/completions" {
			t.Fatalf("sent %s to %s with %v", q.Body, q.Path, q.Header)
		}
	}
	r := loaded(t, prefix).Report
	if r.Client.Stamps != "read" || r.Client.Selftest == nil || r.Client.Selftest.Streams != 9 || r.Client.Selftest.Gaps < 9*8 {
		t.Errorf("client %+v %+v", r.Client, r.Client.Selftest)
	}
	if r.Rows[1].Workload.Sampling.Temperature != "0.5" || !strings.Contains(stdout, "device=cuda (stated; no receipt shows it)") {
		t.Errorf("workload %+v", r.Rows[1].Workload)
	}
	if !strings.Contains(stderr, "gates that can't be judged: ceiling (no --recipe); cold (the server tells of cached tokens neither in its usage nor in /metrics); host (") || !strings.Contains(stderr, "To verify what is unverified:") {
		t.Errorf("stderr %s", stderr)
	}
	for _, name := range []string{prefix + ".json", prefix + ".csv"} {
		if data, err := os.ReadFile(name); err != nil || bytes.Contains(data, []byte("sk-abcdefgh")) {
			t.Errorf("%s: %v, or it holds the key", name, err)
		}
	}
	if why := r.Receipt.Unread["engine.name"]; !strings.Contains(why, "someone") {
		t.Errorf("the engine is unknown because %q", why)
	}
	if missing := r.Rows[0].Missing["output_tok_s_per_gpu"]; !strings.HasPrefix(missing, "GPU count unknown") {
		t.Errorf("per-GPU figure is missing because %q", missing)
	}
}

func TestBenchWithARecipe(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	cfg := simulator.Default()
	cfg.Model = "llama-3.1-8b"
	child, err := simulator.StartChild(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(); child.Forget() })
	const recipe = "llama-3.1-8b/h200-sxm/latency/vllm"
	prefix := filepath.Join(t.TempDir(), "run")
	code, _, stderr := call(t, "meta-llama/Llama-3.1-8B-Instruct", "--base-url", child.BaseURL, "--recipe", recipe, "--cells", "32:8", "--concurrency", "2", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r := loaded(t, prefix).Report
	if r.Recipe != recipe || r.AsItWas == nil || r.AsItWas.Model.Name != "Llama 3.1 8B" || r.AsItWas.Target.Device != "NVIDIA H200" || r.AsItWas.Recipe.KVDtype != "bf16" {
		t.Errorf("recipe %q as it was: %+v", r.Recipe, r.AsItWas)
	}
	f := r.Rows[0].Figures
	if f.OutputTokPerSecPerGPU == nil || *f.OutputTokPerSecPerGPU != *f.OutputTokPerSec {
		t.Errorf("per-GPU figure %v on one GPU", f.OutputTokPerSecPerGPU)
	}
	// 5 ms a token is some 62% of the 3.13 ms that 8B bf16 parameters take at 4.8 TB/s.
	if !strings.Contains(stderr, "of roof") || !strings.Contains(stderr, "simulated: not a measurement: that server is the embedded engine") {
		t.Errorf("stderr %s", stderr)
	}
	if code, _, stderr = call(t, "--base-url", child.BaseURL, "--engine", "sglang"); code != exitUsage || !strings.Contains(stderr, "--engine sglang: the server says that it is embedded") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestBenchSendsTheExtensionsOfTheEngine(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for name, extended := range map[string]bool{"vllm": true, "openai": false} {
		f := &fake{models: []string{"m"}}
		if code, _, stderr := quick(t, "--base-url", f.start(t).URL, "--engine", name, "--cells", "8:2", "--concurrency", "1"); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		for _, q := range f.requests() {
			if _, sent := q.Body["return_token_ids"]; sent != extended {
				t.Fatalf("--engine %s sent %s", name, q.Body)
			}
		}
	}
}

func TestBenchHoldsTheDeviceAgainstTheReceipt(t *testing.T) {
	for _, c := range []struct {
		device, name, says, note string
	}{
		{"cuda", "NVIDIA H200", "", "device=cuda"},
		{"rocm", "AMD Instinct MI300X", "", "device=rocm"},
		{"rocm", "NVIDIA H200", "--device rocm: the server uses NVIDIA H200; want --device cuda", ""},
		{"cpu", "NVIDIA H200", "--device cpu: the server uses NVIDIA H200; want --device cuda", ""},
		{"cpu", "", "", "device=cpu"},
		{"cuda", "", "", "device=cuda (stated; no receipt shows it)"},
		{"auto", "NVIDIA H200", "", ""},
	} {
		s := &sweep{o: &benchOptions{device: c.device}}
		r := row.Receipt{}
		if c.name != "" {
			r.Devices = []row.Device{{Name: "AMD of a neighbour"}, {Name: c.name, Used: true}}
		}
		err := s.checkDevice(&r)
		if (err == nil) != (c.says == "") || err != nil && err.Error() != c.says || strings.Join(s.extra, "; ") != c.note {
			t.Errorf("--device %s on %q: %v, notes %q", c.device, c.name, err, s.extra)
		}
	}
}

// A server's complaint may repeat the key; nothing that is written may.
func TestBenchMasksTheKeyInAServersWords(t *testing.T) {
	const key = "sk-abcdefgh"
	t.Setenv("OPENAI_API_KEY", key)
	f := &fake{models: []string{"m"}, fail: func(n int, q *request) (int, string) {
		return 500, "no quota for " + q.Header.Get("Authorization")
	}}
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "8:2", "--concurrency", "1", "--output", prefix, "-v")
	if code != exitFailed || !strings.Contains(stdout, "no quota for Bearer (masked)") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	for _, want := range []string{"stamps: ", "selftest, 8 streams: ITL error p50 ", "not read: ", "load time: unknown", "peak memory, "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("-v does not tell %q:\n%s", want, stderr)
		}
	}
	all := written(t, prefix, stdout, stderr)
	if strings.Contains(all, key) {
		t.Error("the key was written")
	}
}

func TestBenchCalibratesTextPrompts(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	chat := []string{"--endpoint", "/v1/chat/completions"}
	for name, c := range map[string]struct {
		fake *fake
		args []string
		note string
		isl  int64
	}{
		"ids refused":               {&fake{noIDs: true}, nil, "prompt=text calibrated (1 tokens a word and 1 around them)", 40},
		"chat":                      {&fake{}, chat, "prompt=text calibrated (1 tokens a word and 7 around them)", 40},
		"some words are two tokens": {&fake{long: 8}, chat, " words of one token each and 7 tokens around them)", 40},
		"a rare word is two":        {&fake{long: 11}, chat, " words of one token each and 7 tokens around them)", 40},
		"no ignore_eos":             {&fake{noIgnore: true}, nil, "the server refuses ignore_eos: outputs may end early", 40},
		"no usage":                  {&fake{noUsage: true, noIDs: true}, nil, "prompt=text: the server does not say how many tokens it is", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.fake
			f.models = []string{"m"}
			prefix := filepath.Join(t.TempDir(), "run")
			code, stdout, stderr := quick(t, append([]string{"--base-url", f.start(t).URL, "--cells", "40:3", "--concurrency", "2", "--output", prefix}, c.args...)...)
			if code != exitOK || !strings.Contains(stdout, c.note) {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			r := loaded(t, prefix).Rows[0].Row
			if r.Workload.ISL != 40 || c.isl == 0 && r.Counts.ISL != nil || c.isl != 0 && *r.Counts.ISL != (row.Range{Min: c.isl, Max: c.isl}) {
				t.Errorf("asked for %d tokens, counts %+v", r.Workload.ISL, r.Counts)
			}
			if r.Workload.Sampling.IgnoreEOS == f.noIgnore {
				t.Errorf("ignore_eos is recorded as %v", r.Workload.Sampling.IgnoreEOS)
			}
		})
	}
}

func TestBenchSurvivesFailures(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Run("one row", func(t *testing.T) {
		f := &fake{models: []string{"m"}, fail: func(_ int, q *request) (int, string) {
			if q.tokens == 21 {
				return 400, `{"error":{"message":"21 is \"too\" long,\nreally"}}`
			}
			return 0, ""
		}}
		prefix := filepath.Join(t.TempDir(), "run")
		code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "20:3,21:3,22:3", "--concurrency", "2", "--output", prefix)
		rows := records(t, stdout)
		if code != exitFailed || len(rows) != 3 {
			t.Fatalf("exit %d, %d rows: %s", code, len(rows), stderr)
		}
		if rows[0]["status"] != "ok" || rows[2]["status"] != "ok" {
			t.Errorf("a failed row spoiled its neighbours: %v", rows)
		}
		if r := rows[1]; r["status"] != "error" || !strings.Contains(r["reason"], `"too" long`) || r["ttft_ms"] != "" || r["decode_tok_s"] != "" {
			t.Errorf("the failed row reads %v", r)
		}
		loaded(t, prefix)
	})
	t.Run("some requests", func(t *testing.T) {
		f := &fake{models: []string{"m"}, fail: func(n int, _ *request) (int, string) {
			if n > 5 && n%2 == 0 {
				return 503, "busy"
			}
			return 0, ""
		}}
		code, stdout, _ := quick(t, "--base-url", f.start(t).URL, "--cells", "20:3", "--concurrency", "4", "--warmup", "1", "--iters", "2")
		r := records(t, stdout)[0]
		if code != exitFailed || r["status"] != "error" || !strings.Contains(r["reason"], " of 12 requests (4 of them untimed) failed; the first: HTTP 503") || r["ttft_ms"] == "" {
			t.Errorf("exit %d: %v", code, r)
		}
	})
	t.Run("a busy moment at the start", func(t *testing.T) {
		f := &fake{models: []string{"m"}, fail: func(n int, _ *request) (int, string) {
			if n == 0 {
				return 503, "loading"
			}
			return 0, ""
		}}
		code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "20:3", "--concurrency", "1")
		if code != exitOK || strings.Contains(stdout, "refuses ignore_eos") || strings.Contains(stdout, "prompt=text") {
			t.Errorf("exit %d: %s%s", code, stdout, stderr)
		}
	})
	t.Run("one stalls", func(t *testing.T) {
		stop := make(chan struct{})
		f := &fake{models: []string{"m"}, fail: func(n int, _ *request) (int, string) {
			if n == 3 {
				<-stop
			}
			return 0, ""
		}}
		server := f.start(t)
		t.Cleanup(func() { close(stop) })
		code, stdout, _ := quick(t, "--base-url", server.URL, "--cells", "20:3", "--concurrency", "1", "--timeout", "300ms")
		r := records(t, stdout)[0]
		if code != exitFailed || r["status"] != "error" || !strings.Contains(r["reason"], "1 of 3 requests (2 of them untimed) failed; the first: ") {
			t.Errorf("exit %d: %v", code, r)
		}
	})
	t.Run("the server dies", func(t *testing.T) {
		f := &fake{models: []string{"m"}}
		var server *httptest.Server
		f.fail = func(_ int, q *request) (int, string) {
			if q.tokens == 21 {
				go server.CloseClientConnections()
				server.Listener.Close()
				return 500, "dying"
			}
			return 0, ""
		}
		server = f.start(t)
		prefix := filepath.Join(t.TempDir(), "run")
		code, stdout, stderr := quick(t, "--base-url", server.URL, "--cells", "20:3,21:3,22:3", "--concurrency", "1", "--output", prefix)
		rows := records(t, stdout)
		if code != exitFailed || len(rows) != 3 || rows[0]["status"] != "ok" || rows[1]["status"] != "error" || rows[2]["status"] != "error" {
			t.Fatalf("exit %d: %v\n%s", code, rows, stderr)
		}
		if !strings.HasPrefix(rows[1]["reason"], "the server is gone (connection refused); the only request failed, and 1 of 1 timed request stayed unsent: ") {
			t.Errorf("at the server's death: %q", rows[1]["reason"])
		}
		if !strings.Contains(rows[2]["reason"], "refused") {
			t.Errorf("after the server's death: %q", rows[2]["reason"])
		}
		loaded(t, prefix)
	})
}

func TestBenchExitCodes(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	two := (&fake{models: []string{"model-a", "model-b"}}).start(t)
	locked := (&fake{models: []string{"m"}, key: "right"}).start(t)
	broken := (&fake{models: []string{"m"}, fail: func(int, *request) (int, string) { return 500, "no GPU" }}).start(t)
	plain := (&fake{models: []string{"m"}}).start(t)
	llama := (&fake{models: []string{"served"}, root: "/models/Llama-3.1-8B"}).start(t)
	short := (&fake{models: []string{"m"}, maxLen: 100}).start(t)
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	ours, err := simulator.StartChild(t.Context(), simulator.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Stop(); ours.Forget() })
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	secure := httptest.NewTLSServer(&fake{models: []string{"m"}})
	t.Cleanup(secure.Close)
	curt := hangsUp(t, secure.TLS)
	const recipe = "llama-3.1-8b/h200-sxm/latency/vllm"
	quickly := []string{"--cells", "8:2", "--concurrency", "1", "--base-url"}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nobody listens", []string{"--base-url", "http://127.0.0.1:1"}, exitNoServer,
			"measure bench: no server at http://127.0.0.1:1: connection refused; start one or name another with --base-url\n"},
		{"locked", []string{"--base-url", locked.URL}, exitNoServer, "set OPENAI_API_KEY"},
		{"no model among several", []string{"--base-url", two.URL}, exitUsage, "want one of: model-a, model-b"},
		{"a model that is not served", []string{"qwen3-8b", "--base-url", two.URL}, exitUsage, "MODEL qwen3-8b: the server does not serve it; want one of: model-a, model-b"},
		{"a model without a server", []string{"llama-3.1-8b"}, exitUsage, "measure bench llama-3.1-8b --base-url http://127.0.0.1:8000 --recipe llama-3.1-8b/"},
		{"a repository without a server", []string{"someone/else"}, exitUsage, "measure bench someone/else --base-url http://127.0.0.1:8000"},
		{"an unknown recipe", []string{"--base-url", plain.URL, "--recipe", "llama-3.1-8b/h200-sxm/latency/vlm"}, exitUsage, "want one of these, nearest first:\n  llama-3.1-8b/h200-sxm/latency/vllm\n"},
		{"a recipe of an unknown model", []string{"--base-url", plain.URL, "--recipe", "llama-3.1/b/c/d"}, exitUsage, "--recipe llama-3.1/b/c/d: model llama-3.1 is not known; nearest: llama-3.1-8b, llama-3.1-405b; measure launch --list prints every recipe"},
		{"a recipe of another model", []string{"qwen3-8b", "--base-url", plain.URL, "--recipe", "llama-3.1-8b/h200-sxm/latency/vllm"}, exitUsage, "that recipe is of llama-3.1-8b"},
		{"a recipe of another model than is served", []string{"--base-url", plain.URL, "--recipe", recipe}, exitUsage,
			"--recipe " + recipe + ": that recipe is of llama-3.1-8b, and the server at " + plain.URL + " serves m; want a recipe of what it serves"},
		{"a recipe of the model whose root is shown", append(quickly, llama.URL, "--recipe", recipe), exitOK, "measuring served"},
		{"a recipe on the embedded engine", append(quickly, ours.BaseURL, "--recipe", recipe), exitOK,
			"warning: --recipe " + recipe + ": its label cannot hold: the embedded engine runs no model"},
		{"the embedded engine by name", append(quickly, ours.BaseURL, "--engine", "embedded"), exitOK, "simulated: not a measurement"},
		{"the embedded engine as any other", append(quickly, ours.BaseURL, "--engine", "openai"), exitOK, "simulated: not a measurement"},
		{"the embedded engine as another", append(quickly, ours.BaseURL, "--engine", "vllm"), exitUsage,
			"--engine vllm: the server says that it is embedded; want --engine embedded, or openai for none of its extensions, or none"},
		{"another as the embedded engine", append(quickly, plain.URL, "--engine", "embedded"), exitUsage, "the server does not say that it is the embedded engine"},
		{"the embedded engine without a server", []string{"--cells", "8:2", "--concurrency", "1", "--engine", "embedded"}, exitOK, "simulated: not a measurement"},
		{"longer than the server takes", []string{"--base-url", short.URL, "--cells", "50:50,90:11,99:2"}, exitUsage,
			"--cells: longer than the server takes of m: 90:11 (101 tokens), 99:2 (101 tokens); want prompt and output together of at most 100 tokens"},
		{"no OpenAI-compatible server", []string{"--base-url", page.URL}, exitNoServer,
			"GET " + page.URL + "/v1/models answers 404 Not Found: 404 page not found; that is no OpenAI-compatible server at this address; name another server with --base-url"},
		{"a silent server", []string{"--base-url", "http://" + silent.Addr().String(), "--timeout", "100ms"}, exitNoServer,
			"http://" + silent.Addr().String() + " accepted the connection and did not answer within 0.1 s"},
		{"an unknown recipe without a server", []string{"--recipe", "llama-3.1-8b/b/c/d"}, exitUsage, "--recipe llama-3.1-8b/b/c/d: not in the catalogue"},
		{"a recipe without a server", []string{"--recipe", "llama-3.1-8b/b/c/d"}, exitUsage, "--recipe without --base-url"},
		{"nothing works", []string{"--base-url", broken.URL, "--cells", "8:2", "--concurrency", "1"}, exitFailed, "the server refuses a first short request to /v1/completions: HTTP 500: no GPU"},
		{"not verified", []string{"--base-url", plain.URL, "--cells", "8:2", "--concurrency", "1", "--require-verified"}, exitNotMet, "not every row is verified"},
		{"plain HTTP to a TLS port", []string{"--base-url", strings.Replace(secure.URL, "https", "http", 1)}, exitNoServer,
			": the server speaks TLS there; want --base-url " + secure.URL + "\n"},
		{"plain HTTP to a TLS port that hangs up", []string{"--base-url", "http://" + curt.Addr().String()}, exitNoServer,
			": the server speaks TLS there; want --base-url https://" + curt.Addr().String() + "\n"},
		{"two folders that are not there", []string{"--cells", "8:2", "--output", "nowhere/at/all"}, exitUsage,
			"--output nowhere/at/all: nowhere/at: no such folder, and more than the last is missing; want a file prefix"},
		{"a folder that can't be made", []string{"--cells", "8:2", "--output", "/dev/null/run"}, exitUsage, "--output /dev/null/run: /dev/null is no folder; want a file prefix"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := quick(t, c.args...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit %d, want %d; said %q, want %q", code, c.code, stderr, c.says)
			}
		})
	}
}

// hangsUp listens for TLS and hangs up on all else without a word, as Python's servers do.
func hangsUp(t *testing.T, config *tls.Config) net.Listener {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = c.(*tls.Conn).Handshake()
				c.Close()
			}()
		}
	}()
	return l
}

// A row says where lengths differ from those asked and who counted its tokens, and the
// end says what would mend each.
func TestBenchTellsOddLengthsAndTheirRemedy(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	short := (&fake{models: []string{"m"}, shorter: 16}).start(t)
	_, stdout, stderr := quick(t, "--base-url", short.URL, "--cells", "20:32", "--concurrency", "1")
	if !strings.Contains(records(t, stdout)[0]["notes"], "; osl=16..16 of 32 asked; stamps=read;") {
		t.Errorf("notes: %s", stdout)
	}
	for _, want := range []string{
		"unverified: lengths: 1 of 1 request brought 16 tokens where 32 were asked",
		"\n  lengths: ask for outputs as long as the server gives, or raise its limit on them\n",
		"\n  ceiling: measure with --recipe MODEL/TARGET/STRATEGY/ENGINE\n",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("not told: %q in\n%s", want, stderr)
		}
	}
	mute := (&fake{models: []string{"m"}, noUsage: true}).start(t)
	_, stdout, stderr = quick(t, "--base-url", mute.URL, "--cells", "20:3", "--concurrency", "1")
	if !strings.Contains(records(t, stdout)[0]["notes"], "; tokens counted by chunks (the server reports no usage);") {
		t.Errorf("notes: %s", stdout)
	}
	if want := "\n  lengths, counted: let the server send usage: "; !strings.Contains(stderr, want) {
		t.Errorf("not told: %q in\n%s", want, stderr)
	}
	if strings.Contains(stderr, "()") {
		t.Errorf("an empty bracket: %s", stderr)
	}
}

// Simulated rows are never verified, whatever they are called, and nothing is advised.
func TestSimulatedRowsAreSaidNotToBePublishable(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	code, _, stderr := quick(t, "--cells", "8:2", "--concurrency", "1", "--output", prefix)
	if code != exitOK || strings.Contains(stderr, "To verify") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"check", prefix + ".json"}, nil, &out, &out); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if got := out.String(); !strings.Contains(got, "simulated rows are not publishable") || strings.Contains(got, "selftest") {
		t.Errorf("check says\n%s", got)
	}
}

func TestBenchOverTLS(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	server := httptest.NewUnstartedServer(&fake{models: []string{"m"}})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is meant to fail
	server.StartTLS()
	t.Cleanup(server.Close)
	args := []string{"--base-url", server.URL, "--cells", "8:2", "--concurrency", "1"}
	if code, _, stderr := call(t, args...); code != exitNoServer || !strings.Contains(stderr, "certificate") || !strings.Contains(stderr, "--insecure measures without") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := call(t, append(args, "--insecure")...); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// firstRow reads the CSV of a run until its first row is complete.
func firstRow(t *testing.T, stdout io.Reader) {
	t.Helper()
	r := bufio.NewReader(stdout)
	for range 2 {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// endless is a sweep whose second row takes minutes.
func endless(prefix string) []string {
	return []string{"bench", "--cells", "16:2,16:15000", "--concurrency", "1", "--output", prefix}
}

func TestInterruptedBenchKeepsFinishedRows(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() { code <- run(ctx, endless(prefix), nil, w, &stderr) }()
	firstRow(t, r)
	cancel()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("said %s", stderr.String())
	}
	if b := loaded(t, prefix); len(b.Rows) != 1 || b.Rows[0].Row.Status != row.StatusOK {
		t.Errorf("%d rows were kept", len(b.Rows))
	}
}

// The embedded engine logs when each token really left. What bench records of it must
// agree within 1 ms: a client that is at fault fails each time, a busy host now and then.
func TestEmbeddedBenchAgreesWithTheTruth(t *testing.T) {
	const limit = 1e6
	var worst row.ErrorDist
	for range 3 {
		gaps, first := againstTruth(t)
		if g, f := spread(gaps), spread(first); g.P50 > limit || f.P50 > limit {
			t.Fatalf("half of the errors are above 1 ms: gaps %+v, first tokens %+v", g, f)
		} else if worst = g; g.Max <= limit && f.Max <= limit {
			t.Logf("%d gaps: %+v; %d first tokens: %+v", len(gaps), g, len(first), f)
			return
		}
	}
	t.Errorf("three runs each had a gap or first token that differs by more than 1 ms; gaps of the last: %+v", worst)
}

// againstTruth drives the embedded engine as a run without a server does.
func againstTruth(t *testing.T) (gaps, first []int64) {
	t.Helper()
	cfg := simulator.Default()
	child, err := simulator.StartChild(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(); child.Forget() })
	o := parsed(t, "--cells", "128:64", "--concurrency", "8", "--base-url", child.BaseURL)
	srv := &server{base: o.base, model: cfg.Model, engine: engine.Embedded}
	s := &sweep{o: o, srv: srv}
	p := o.plan()[0]
	spec := s.spec(p, 0, loadgen.Now())
	spec.Build = s.requests(&p).build(0)
	capture, err := loadgen.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	samples := engine.Samples(capture)
	if err := child.Stop(); err != nil {
		t.Fatal(err)
	}
	truth, err := simulator.ReadTruth(child.TruthPath)
	if err != nil {
		t.Fatal(err)
	}
	if gaps, first, err = disagreement(capture, samples, truth); err != nil {
		t.Fatal(err)
	}
	return gaps, first
}
