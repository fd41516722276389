package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

// recording is a server that answers every POST with one recorded body, a frame each
// gap, in writes of so many bytes.
type recording struct {
	body  []byte
	lines bool // frames end at a newline; else at a blank line
	gap   time.Duration
	split int // 0: a frame a write
}

func (s *recording) frames() [][]byte {
	if s.lines {
		return bytes.SplitAfter(s.body, []byte("\n"))
	}
	return bytes.SplitAfter(s.body, []byte("\n\n"))
}

func (s *recording) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if r.URL.Path != "/v1/models" && r.URL.Path != "/health" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if s.lines {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	start := time.Now()
	for i, f := range s.frames() {
		time.Sleep(time.Until(start.Add(time.Duration(i) * s.gap))) // the recording's own pace
		step := s.split
		if step == 0 {
			step = len(f)
		}
		for piece := range slices.Chunk(f, max(1, step)) {
			w.Write(piece)
			w.(http.Flusher).Flush()
		}
	}
}

// Each case from the field is measured by the command that its report gives, with its
// frames whole and a byte a write. Lengths are tiny, so gates of length fail beside the
// point: what is held is named.
func TestBenchOfCasesFromTheField(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	const refusal = "prompt of 19185 tokens does not fit a context of 16384 (code 400)"
	for _, c := range []struct {
		file, engine string
		args         []string
		code         int
		reason       string   // of the row
		not          []string // that no reason may say
		samples      func(s *row.Sample) string
		row          func(r *row.Row) string
		gates        map[string]gate.Answer
	}{
		{file: "01-old-build.sse", engine: "openai", code: exitFailed, reason: refusal, not: []string{"ended without", "0 tokens", "JSON"}, row: failed},
		{file: "01-unframed.sse", engine: "openai", code: exitFailed, reason: refusal, not: []string{"ended without", "0 tokens", "JSON"}, row: failed},
		{file: "01-old-build.sse", engine: "llamacpp", code: exitFailed, reason: refusal, not: []string{"ended without", "0 tokens", "JSON"}, row: failed},
		{file: "01-unframed.sse", engine: "llamacpp", code: exitFailed, reason: refusal, not: []string{"ended without", "0 tokens", "JSON"}, row: failed},
		{file: "03-stream.sse", engine: "openai", row: func(r *row.Row) string {
			if r.Counts.Chunks != 4 {
				return fmt.Sprintf("%d chunks", r.Counts.Chunks)
			}
			return osl(r, 4)
		}, samples: func(s *row.Sample) string {
			// The first answer is the third of the chunks; times are held where the clock is.
			if len(s.T) != 4 || s.Answer == nil || *s.Answer != 2 {
				return fmt.Sprintf("chunks %v, the answer begins at %v", s.T, s.Answer)
			}
			return ""
		}},
		{file: "05-a.sse", engine: "openai", row: func(r *row.Row) string { return osl(r, 3) }, gates: map[string]gate.Answer{"complete": gate.Pass, "counted": gate.Pass}},
		{file: "05-b.sse", engine: "openai", code: exitFailed, reason: "ended without [DONE], and without the blank line after its last event", row: failed},
		{file: "05-c.sse", engine: "openai", code: exitFailed, reason: "ended inside an event", not: []string{"JSON"}, row: failed,
			samples: func(s *row.Sample) string {
				if s.ISL != nil || s.OSL != nil {
					return "a count was taken from the event that was cut"
				}
				return ""
			}},
		{file: "07-warm.ndjson", engine: "ollama", row: func(r *row.Row) string {
			switch {
			case r.Counts.ISL == nil || r.Counts.ISL.Max != 21 || r.Counts.CachedTokens == nil || *r.Counts.CachedTokens != 16:
				return fmt.Sprintf("isl %v, cached %v", r.Counts.ISL, r.Counts.CachedTokens)
			case !slices.Contains(r.Notes, "by the server's own clock: prefill_tok_s=88.57 decode_tok_s=57.97 total_less_load_ms=125.452"):
				return fmt.Sprint(r.Notes)
			}
			return osl(r, 4)
		}, gates: map[string]gate.Answer{"cold": gate.Fail, "counted": gate.Pass}},
		{file: "07-old-warm.ndjson", engine: "ollama", row: func(r *row.Row) string {
			if r.Counts.ISL != nil || r.Figures.PrefillTokPerSec != nil || !slices.Contains(r.Notes, "isl: the server reported none") {
				return fmt.Sprintf("isl %v, prefill %v, notes %q", r.Counts.ISL, r.Figures.PrefillTokPerSec, r.Notes)
			}
			return osl(r, 4)
		}, gates: map[string]gate.Answer{"counted": gate.Unjudged, "lengths": gate.Unjudged}},
		{file: "07-tail-error.ndjson", engine: "ollama", code: exitFailed, reason: "runner stopped", row: failed},
		{file: "09-hole.sse", engine: "openai", row: func(r *row.Row) string {
			if r.Counts.OSL != nil || r.Figures.TPOT != nil || r.Figures.ITL != nil || r.Figures.OutputTokPerSec != nil || r.Figures.DecodeTokPerSec != nil {
				return fmt.Sprintf("osl %v, tpot %v, itl %v, %v tok/s", r.Counts.OSL, r.Figures.TPOT, r.Figures.ITL, r.Figures.OutputTokPerSec)
			}
			return ""
		}, samples: func(s *row.Sample) string {
			if *s.ISL != 20 || *s.OSL != 198 || *s.UsageTotal != 623 {
				return fmt.Sprintf("%d, %d, %d", *s.ISL, *s.OSL, *s.UsageTotal)
			}
			return ""
		}, gates: map[string]gate.Answer{"counted": gate.Fail}},
		{file: "09-zero.sse", engine: "openai", row: func(r *row.Row) string {
			if r.Counts.OSL != nil || r.Figures.TPOT != nil || r.Figures.OutputTokPerSec != nil || r.Figures.TTFT == nil {
				return fmt.Sprintf("osl %v, tpot %v, %v tok/s, ttft %v", r.Counts.OSL, r.Figures.TPOT, r.Figures.OutputTokPerSec, r.Figures.TTFT)
			}
			return ""
		}, samples: func(s *row.Sample) string {
			if s.OSL != nil || *s.Reasoning != 60 || *s.UsageTotal != 81 || !strings.Contains(s.Reason, "total − prompt = 60 = reasoning_tokens") {
				return fmt.Sprintf("osl %v, %q", s.OSL, s.Reason)
			}
			return ""
		}, gates: map[string]gate.Answer{"complete": gate.Pass, "counted": gate.Fail}},
	} {
		for _, split := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s as %s in writes of %d", c.file, c.engine, split), func(t *testing.T) {
				body, err := os.ReadFile("testdata/field/" + c.file)
				if err != nil {
					t.Fatal(err)
				}
				server := httptest.NewServer(&recording{body: body, lines: strings.HasSuffix(c.file, ".ndjson"), gap: 4 * time.Millisecond, split: split})
				defer server.Close()
				prefix := filepath.Join(t.TempDir(), "case")
				code, _, stderr := quick(t, "--base-url", server.URL, "--engine", c.engine,
					"--cells", "8:4", "--concurrency", "1", "--warmup", "0", "--iters", "1", "--output", prefix)
				if code != c.code {
					t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
				}
				b := loaded(t, prefix)
				d := &b.Rows[0]
				if !strings.Contains(d.Row.Reason, c.reason) || (c.reason == "") != (d.Row.Status == row.StatusOK) {
					t.Errorf("row %s: %q, want %q", d.Row.Status, d.Row.Reason, c.reason)
				}
				for _, word := range c.not {
					if strings.Contains(d.Row.Reason, word) {
						t.Errorf("row: %q says %q", d.Row.Reason, word)
					}
				}
				if wrong := c.row(d.Row); wrong != "" {
					t.Error(wrong)
				}
				if c.samples != nil {
					if wrong := c.samples(&d.Samples[0]); wrong != "" {
						t.Error(wrong)
					}
				}
				judged := map[string]gate.Answer{}
				results := b.Judge(nil)[0]
				for _, r := range results {
					judged[r.Gate] = r.Answer
				}
				for name, want := range c.gates {
					if judged[name] != want {
						t.Errorf("gate %s: %s, want %s", name, judged[name], want)
					}
				}
				if gate.Verdict(results) == gate.Verified {
					t.Error("the row is verified")
				}
			})
		}
	}
}

// failed holds a row of one failed request: it is an error, its failure is counted and
// nothing in it reads as fast.
func failed(r *row.Row) string {
	f := &r.Figures
	if r.Counts.Failed != 1 || r.Counts.Completed != 0 || f.TTFT != nil || f.TPOT != nil || f.ITL != nil || f.E2E != nil || f.OutputTokPerSec != nil {
		return fmt.Sprintf("%d failed, figures %+v", r.Counts.Failed, f)
	}
	return ""
}

func osl(r *row.Row, n int64) string {
	if r.Counts.OSL == nil || *r.Counts.OSL != (row.Range{Min: n, Max: n}) {
		return fmt.Sprintf("osl %v, want %d", r.Counts.OSL, n)
	}
	return ""
}

// A server that lists no models is loaded by the name that a user gives, and one that
// answers 404 to everything is told from it.
func TestBenchTakesTheNamedModelOfAServerThatListsNone(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{}
	hidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			http.NotFound(w, r)
			return
		}
		f.ServeHTTP(w, r)
	}))
	defer hidden.Close()
	args := []string{"--base-url", hidden.URL, "--cells", "8:2", "--concurrency", "1"}
	if code, _, stderr := quick(t, append(args, "org/unlisted")...); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, q := range f.requests() {
		if string(q.Body["model"]) != `"org/unlisted"` {
			t.Fatalf("asked for %s", q.Body["model"])
		}
	}
	if code, _, stderr := quick(t, args...); code != exitNoServer || !strings.Contains(stderr, "that is no OpenAI-compatible server at this address") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	code, _, stderr := quick(t, "org/unlisted", "--base-url", empty.URL, "--cells", "8:2", "--concurrency", "1")
	if want := empty.URL + " lists no models and answers 404 to /v1/completions too; want the address and the --endpoint of a server"; code != exitNoServer || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Of a chat's two names for the limit of the output, the one that the server takes or
// heeds is sent.
func TestBenchFindsTheNameOfAChatsLimit(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for name, refuses := range map[string]bool{"refused": true, "not heeded": false} {
		t.Run(name, func(t *testing.T) {
			f := &fake{models: []string{"m"}}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					var body map[string]json.RawMessage
					if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
						t.Error(err)
					}
					limit, ok := body["max_completion_tokens"]
					switch {
					case !ok && refuses:
						http.Error(w, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`, http.StatusBadRequest)
						return
					case !ok:
						limit = json.RawMessage("40")
					}
					body["max_tokens"] = limit
					again, _ := json.Marshal(body)
					r.Body = io.NopCloser(bytes.NewReader(again))
				}
				f.ServeHTTP(w, r)
			}))
			defer server.Close()
			code, stdout, stderr := quick(t, "--base-url", server.URL, "--endpoint", "/v1/chat/completions", "--cells", "32:6", "--concurrency", "1")
			if code != exitOK || strings.Contains(records(t, stdout)[0]["notes"], "osl=") {
				t.Errorf("exit %d: %s%s", code, stdout, stderr)
			}
			if all := f.requests(); string(all[len(all)-1].Body["max_completion_tokens"]) != "6" {
				t.Errorf("the last request: %s", all[len(all)-1].Body)
			}
		})
	}
}

// A prompt and an output of one token each: there is no time between tokens, and none is
// made up.
func TestBenchOfOneToken(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{models: []string{"m"}}
	prefix := filepath.Join(t.TempDir(), "one")
	code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "1:1", "--concurrency", "2", "--iters", "3", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	line := records(t, stdout)[0]
	for column, empty := range map[string]bool{"ttft_ms": false, "prefill_tok_s": false, "itl_p50_ms": true, "itl_p99_ms": true} {
		if (line[column] == "") != empty {
			t.Errorf("%s is %q", column, line[column])
		}
	}
	r := loaded(t, prefix).Rows[0].Row
	if f := &r.Figures; f.TPOT != nil || f.ITL != nil || f.ChunkGap != nil || r.Missing["tpot_ms"] != "no request brought more than one output token" {
		t.Errorf("tpot %v, itl %v, gaps %v; missing %v", f.TPOT, f.ITL, f.ChunkGap, r.Missing)
	}
	if *r.Counts.ISL != (row.Range{Min: 1, Max: 1}) || *r.Counts.OSL != (row.Range{Min: 1, Max: 1}) || r.Counts.Completed != 6 {
		t.Errorf("%+v", r.Counts)
	}
}
