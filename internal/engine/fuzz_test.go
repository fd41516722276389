package engine

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Whatever a server sends on any route, a sample keeps its form.
func FuzzSamples(f *testing.F) {
	for _, s := range []string{
		role + hello + usage2 + end,
		running("a b", 2) + running("", 3) + final(4) + "data: [DONE]",
		`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":["x"]},3,null]}}],"usage":{"completion_tokens":1e99}}` + "\n\n",
		`data: {"choices":[{"delta":{"content":[{"type":3}]}}]}` + "\n\n" + end,
		"error: {\"message\":1}\n\ndata: {\"error\":[]}\n\n",
		`{"error":{"error":{"error":"deep"}}}`,
	} {
		f.Add(s, 200, uint8(0))
	}
	for at, s := range []string{
		hello + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9000000,"total_tokens":10000000}}` + "\n\n" + end,
		hello + end + hello,
		generated("a", 9_000_000, "") + generated("b", 10_000_000, `,"spec_verify_ct":10000000,"spec_num_correct_drafts":10000000,"spec_num_proposed_drafts":10000000`),
		predicted("a", 9_000_000, `,"timings":{"prompt_ms":1e300,"predicted_n":10000000,"draft_n":10000000,"draft_n_accepted":1}`),
		`{"response":"a"}` + "\n" + `{"done":true,"prompt_eval_count":3,"eval_count":1,"prompt_eval_duration":9223372036854775807,"total_duration":9e99}` + "\n",
	} {
		f.Add(s, 200, uint8(at))
	}
	f.Fuzz(func(t *testing.T, body string, status int, at uint8) {
		c := &loadgen.Capture{Spec: loadgen.Spec{Protocol: row.Passes}, Outcomes: []loadgen.Outcome{{
			Phase: row.PhaseTimed, HTTPStatus: status, Body: []byte(body), Sent: 5,
			Call:   loadgen.Call{Path: routes[int(at)%len(routes)].path, ISL: 3, OSL: 4},
			Stamps: []loadgen.Stamp{{Off: int64(len(body) / 2), At: 9000}, {Off: int64(len(body)), At: loadgen.Unstamped}},
		}}}
		s := Samples(c)[0]
		if s.N != nil && len(s.N) != len(s.T) {
			t.Fatalf("%d counts of %d chunks", len(s.N), len(s.T))
		}
		for _, g := range s.T {
			if g < row.NoStamp {
				t.Fatalf("a gap of %d", g)
			}
		}
		for _, n := range s.N {
			if n < 0 {
				t.Fatalf("%d tokens in a chunk", n)
			}
		}
		switch {
		case s.Status == row.StatusError && s.Reason == "":
			t.Fatal("failed without a reason")
		case s.Status == row.StatusOK && len(s.T) == 0:
			t.Fatal("a success without content")
		}
		counts := []*int64{s.ISL, s.OSL, s.Cached, s.UsageTotal, s.Reasoning}
		if k := s.Clock; k != nil {
			counts = append(counts, k.Load, k.Prefill, k.Decode, k.Total)
		}
		if p := s.Spec; p != nil {
			counts = append(counts, &p.Drafts, &p.DraftTokens, &p.Accepted)
		}
		for _, p := range counts {
			if p != nil && *p < 0 {
				t.Fatalf("a count of %d", *p)
			}
		}
		if len(s.Reason) > 2000 {
			t.Fatalf("a reason of %d bytes", len(s.Reason))
		}
		// What is written can be read, of as many such requests as a row has.
		many := slices.Repeat([]row.Sample{s}, 64)
		packed, err := rowfile.EncodeSamples(many)
		if err == nil {
			_, err = rowfile.DecodeSamples(packed)
		}
		if err != nil {
			t.Fatal(err)
		}
		// What follows from it can be computed.
		one, iters := int64(1), int64(1)
		w := row.Workload{Protocol: row.Passes, ISL: 3, OSL: 4, Repeats: 1, Iters: &iters, Load: row.Load{Concurrency: &one}}
		row.Compute(&w, 1, []row.Sample{s}, nil)
	})
}

// Lines lie one after another in the body, and nothing of it is lost but white space.
func FuzzParseLines(f *testing.F) {
	f.Add("{\"a\":1}\n\n {\"b\":2}\r\n{\"error\":\"x\"}")
	f.Fuzz(func(t *testing.T, body string) {
		s := parseLines([]byte(body), 1<<30)
		list := s.events
		if s.open != nil {
			list = append(slices.Clip(list), *s.open)
		}
		last, kept := int64(0), ""
		for _, e := range list {
			if e.end <= last || e.end > int64(len(body)) || len(e.data) == 0 {
				t.Fatalf("a line of %q ends at %d after %d in %d bytes", e.data, e.end, last, len(body))
			}
			last = e.end
			kept += string(e.data) + "\n"
		}
		if a, b := bare(kept), bare(body); a != b {
			t.Fatalf("kept %q of %q", a, b)
		}
	})
}

func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Whatever a server says of itself, it gets a name that can be shown.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"data":[{"id":"m","owned_by":"vllm","max_model_len":8192}]}`, `{"version":"0.26.0"}`, `{"model_path":"x","tokenizer_path":"x","version":"1"}`, "vllm:num_requests_running 0\n", llamaProps)
	f.Fuzz(func(t *testing.T, models, version, info, metrics, other string) {
		s := Server{Unread: map[string]string{}}
		s.models([]byte(models))
		a := answers{owner: s.owner()}
		for path, body := range map[string]string{
			pathVersion: version, pathServerInfo: info, pathMetrics: metrics,
			pathProps: other, pathInfo: other, pathTags: other, pathOllamaVersion: version,
		} {
			if body != "" {
				a.keep(path, []byte(body))
			}
		}
		s.take(&a)
		if !slices.Contains(Engines, s.Engine) && !strings.HasPrefix(s.Engine, "unknown: ") {
			t.Fatalf("engine %q", s.Engine)
		}
		for _, text := range []string{s.Engine, s.Version} {
			if len(text) > 400 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("%q can't be shown", text)
			}
		}
		for _, m := range s.Models {
			if m.MaxLen != nil && *m.MaxLen < 0 && !strings.Contains(models, "-") {
				t.Fatalf("a limit of %d", *m.MaxLen)
			}
		}
		if p := s.Pool; p != nil && (p.WeightBytes <= 0 || p.CacheBytes <= 0 || p.Tokens <= 0) {
			t.Fatalf("a pool of %+v", *p)
		}
	})
}
