package engine

import (
	"bytes"
	"strings"
	"testing"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// recorded are bodies as servers sent them, with the route that they came from.
var recorded = []struct {
	file, path string
	want       say
}{
	{"vllm/completions-stream.txt", PathCompletions, say{"ok", "", 6, 5, 0, 5, nil, 0, "", -1}},
	{"vllm/chat-stream.txt", PathChat, say{"ok", "", 4, 5, 0, 5, nil, 0, "", -1}},
	// One of its three tokens prints nothing.
	{"vllm/chat-stream-ids.txt", PathChat, say{"ok", "", 4, 3, 0, 3, nil, 0, "", -1}},
	{"sglang/completions-stream.txt", PathCompletions, say{"ok", "", 6, 5, 5, 5, nil, 0, "", -1}},
	{"sglang/chat-stream.txt", PathChat, say{"ok", "", 4, 5, 3, 5, nil, 0, "", -1}},
	{"sglang/generate-stream.txt", PathGenerate, say{"ok", "", 6, 5, 0, 5, nil, 0, "", -1}},
	// A token that prints nothing by itself, and two in one chunk.
	{"llamacpp/completion-stream.txt", PathCompletion, say{"ok", "", 21, 5, 16, 4, []int64{1, 1, 1, 2}, 0, "", -1}},
	{"field/error-field.sse", PathChat, say{"error", "prompt of 19185 tokens does not fit a context of 16384 (code 400)", -1, -1, -1, 2, nil, 0, "chunks", -1}},
	{"field/error-field.sse", PathCompletion, say{"error", "prompt of 19185 tokens does not fit a context of 16384 (code 400)", -1, -1, -1, 2, nil, 0, "chunks", -1}},
	{"field/unframed.sse", PathChat, say{"error", "prompt of 19185 tokens does not fit a context of 16384 (code 400)", -1, -1, -1, 0, nil, 0, "chunks", -1}},
	{"field/unframed.sse", PathCompletion, say{"error", "prompt of 19185 tokens does not fit a context of 16384 (code 400)", -1, -1, -1, 0, nil, 0, "chunks", -1}},
	{"field/unframed.sse", PathOllamaChat, say{"error", "prompt of 19185 tokens does not fit a context of 16384 (code 400)", -1, -1, -1, 0, nil, 0, "chunks", -1}},
	{"field/parts.sse", PathChat, say{"ok", "", 6, 4, -1, 4, nil, 2, "", -1}},
	{"field/done-unterminated.sse", PathChat, say{"ok", "", 4, 3, -1, 3, nil, 0, "", -1}},
	{"field/no-done.sse", PathChat, say{"error", "ended without [DONE], and without the blank line after its last event", 4, 3, -1, 3, nil, 0, "", -1}},
	{"field/cut.sse", PathChat, say{"error", "ended inside an event", -1, -1, -1, 3, nil, 0, "chunks", -1}},
	{"field/hole.sse", PathChat, say{"ok", "prompt 20 + completion 198 = 218, total 623, 405 in neither", 20, 198, -1, 3, nil, 1, "", 623}},
	{"field/zero.sse", PathChat, say{"ok", "total − prompt = 60 = reasoning_tokens", 21, -1, -1, 1, nil, -1, "", 81}},
	{"field/ollama-warm.ndjson", PathOllamaGenerate, say{"ok", "", 21, 4, 16, 4, nil, 0, "", -1}},
	{"field/ollama-old-warm.ndjson", PathOllamaGenerate, say{"ok", "", -1, 4, -1, 4, nil, 0, "", -1}},
	{"field/ollama-tail-error.ndjson", PathOllamaGenerate, say{"error", "runner stopped", -1, -1, -1, 2, nil, 0, "chunks", -1}},
}

// from asks the route that the body came from.
func from(s loadgen.Spec, path string) loadgen.Spec {
	s.Build = func(int) loadgen.Call {
		return Request(path, "m", Prompt{Text: "a"}, 3, 32, Options{})
	}
	return s
}

func TestRecordedStreams(t *testing.T) {
	for _, c := range recorded {
		body := fixture(t, c.file)
		for split, parts := range map[string][][]byte{
			"a frame a write": frames(body),
			"a byte a write":  every(body, 1),
			"seven bytes":     every(body, 7),
			"all at once":     {body},
		} {
			t.Run(c.file+c.path+"/"+split, func(t *testing.T) {
				p := &player{parts: parts}
				s, _ := run(t, from(spec(p.serve(t)), c.path))
				c.want.compare(t, s)
			})
		}
		t.Run(c.file+c.path+"/CRLF", func(t *testing.T) {
			crlf := []byte(strings.ReplaceAll(string(body), "\n", "\r\n"))
			p := &player{parts: every(crlf, 3)}
			s, _ := run(t, from(spec(p.serve(t)), c.path))
			c.want.compare(t, s)
		})
	}
}

// Each body is cut in two at every byte: wherever a read ends, the answer is the same.
func TestSplitAtEveryByte(t *testing.T) {
	for _, c := range recorded {
		t.Run(c.file+c.path, func(t *testing.T) {
			body := fixture(t, c.file)
			atEveryByte(t, c.path, body, c.want)
			if c.file != "field/error-field.sse" {
				return
			}
			// An event stream's lines may end otherwise, and its reads between CR and LF.
			for _, end := range []string{"\r\n", "\r"} {
				atEveryByte(t, c.path, bytes.ReplaceAll(body, []byte("\n"), []byte(end)), c.want)
			}
		})
	}
}

// atEveryByte plays a body whole and cut in two after each of its bytes, and holds every
// answer.
func atEveryByte(t *testing.T, path string, body []byte, want say) {
	t.Helper()
	p := &player{parts: [][]byte{body}}
	s, _ := run(t, from(spec(p.serve(t)), path))
	want.compare(t, s)
	if len(body) < 2 {
		return
	}
	p = &player{cuts: body}
	sp := from(spec(p.serve(t)), path)
	sp.Iters = len(body) - 1
	capture, err := loadgen.Run(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	samples := Samples(capture)
	if len(samples) != len(body)-1 {
		t.Fatalf("%d samples of a body of %d bytes", len(samples), len(body))
	}
	for i := range samples {
		if !bytes.Equal(capture.Outcomes[i].Body, body) {
			t.Fatalf("cut after byte %d: another body came", i+1)
		}
		want.compare(t, samples[i])
		if t.Failed() {
			t.Fatalf("cut after byte %d", i+1)
		}
	}
}

// What the server's own clock and its drafts say, where they are told.
func TestTheServersOwnClock(t *testing.T) {
	ns := func(v *int64) int64 {
		if v == nil {
			return -1
		}
		return *v
	}
	for _, c := range []struct {
		file, path                   string
		load, prefill, decode, total int64
		spec                         *row.Spec
	}{
		{"field/ollama-warm.ndjson", PathOllamaGenerate, 109478042, 56452000, 69000000, 234930042, nil},
		{"field/ollama-old-warm.ndjson", PathOllamaGenerate, 109478042, 56452000, 69000000, 234930042, nil},
		// Four steps of the model brought a token each, and one draft of four was taken.
		{"llamacpp/completion-stream.txt", PathCompletion, -1, 56452000, 69000000, -1, &row.Spec{Drafts: 4, DraftTokens: 4, Accepted: 1}},
	} {
		p := &player{parts: frames(fixture(t, c.file))}
		s, _ := run(t, from(spec(p.serve(t)), c.path))
		if k := s.Clock; k == nil || ns(k.Load) != c.load || ns(k.Prefill) != c.prefill || ns(k.Decode) != c.decode || ns(k.Total) != c.total {
			t.Errorf("%s: %+v", c.file, k)
		}
		if (s.Spec == nil) != (c.spec == nil) || s.Spec != nil && *s.Spec != *c.spec {
			t.Errorf("%s: %+v", c.file, s.Spec)
		}
	}
}
