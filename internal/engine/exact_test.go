package engine

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// stamped is a request to a route whose answer's frames arrived each gapMS after the one
// before, the first at 0, by a perfect clock.
func stamped(path string, body []byte, gapMS int64, isl, osl int64) loadgen.Outcome {
	const sent = 1_000_000
	o := loadgen.Outcome{
		Phase: row.PhaseTimed, HTTPStatus: 200, Body: body, Enqueued: sent, Sent: sent,
		Call: loadgen.Call{Path: path, ISL: isl, OSL: osl, Prompt: "0123456789abcdef"},
	}
	cut := frames
	if !strings.HasPrefix(path, "/v1/") && !bytes.Contains(body, []byte("\n\n")) {
		cut = func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) }
	}
	off := int64(0)
	for i, f := range cut(body) {
		off += int64(len(f))
		o.Stamps = append(o.Stamps, loadgen.Stamp{Off: off, At: sent + int64(i)*gapMS*1_000_000})
	}
	return o
}

// figures are what a row of these requests shows, as bench computes it.
func figures(t *testing.T, osl int64, outcomes ...loadgen.Outcome) (row.Computed, []row.Sample) {
	t.Helper()
	for i := range outcomes {
		outcomes[i].Seq = i
	}
	c := &loadgen.Capture{Spec: loadgen.Spec{Protocol: row.Passes}, Outcomes: outcomes}
	samples := Samples(c)
	n, iters := int64(len(outcomes)), int64(1)
	w := row.Workload{Protocol: row.Passes, ISL: 8, OSL: osl, Repeats: 1, Iters: &iters, Load: row.Load{Concurrency: &n}, Prompts: row.Prompts{Kind: "random", State: row.Cold}}
	return row.Compute(&w, 0, samples, &row.Evidence{Capture: []row.CaptureStats{c.Stats}}), samples
}

// mean is a figure's mean; -1 where the figure is null.
func mean(d *row.Dist) float64 {
	if d == nil || d.Mean == nil {
		return -1
	}
	return math.Round(*d.Mean*1000) / 1000
}

func rate(v *float64) float64 {
	if v == nil {
		return -1
	}
	return math.Round(*v*100) / 100
}

// The figures of each recorded answer, worked out by hand from the places of its events.
func TestFiguresOfRecordedAnswers(t *testing.T) {
	for _, c := range []struct {
		file, path                       string
		gap                              int64
		ttft, ttfa, tpot, itl, e2e, gap1 float64
		gaps                             int64  // chunk gaps
		why                              string // of tpot_ms, in part
	}{
		// Content stands in the events 2, 3, 5 and 6, the first answer in 5.
		{"field/parts.sse", PathChat, 100, 200, 500, 133.333, 133.333, 600, 133.333, 3, ""},
		// Role, three content chunks, finish, usage.
		{"field/done-unterminated.sse", PathChat, 100, 100, 100, 100, 100, 300, 100, 2, ""},
		{"field/hole.sse", PathChat, 100, 100, 200, -1, -1, 300, 100, 2, "405 in neither"},
		{"field/zero.sse", PathChat, 100, 100, -1, -1, -1, 100, -1, 0, "60 in neither"},
		{"field/ollama-warm.ndjson", PathOllamaGenerate, 23, 0, 0, 23, 23, 69, 23, 3, ""},
		{"field/ollama-old-warm.ndjson", PathOllamaGenerate, 23, 0, 0, 23, 23, 69, 23, 3, ""},
		{"sglang/generate-stream.txt", PathGenerate, 10, 0, 0, 10, 10, 40, 10, 4, ""},
		// Five tokens in four chunks: the last gap is spread over two.
		{"llamacpp/completion-stream.txt", PathCompletion, 12, 0, 0, 9, 9, 36, 12, 3, ""},
		// A token that prints nothing is one.
		{"vllm/chat-stream-ids.txt", PathChat, 10, 10, 10, 10, 10, 30, 10, 2, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, samples := figures(t, 4, stamped(c.path, fixture(t, c.file), c.gap, 8, 4))
			if !samples[0].OK() {
				t.Fatal(samples[0].Reason)
			}
			f := got.Figures
			for name, v := range map[string][2]float64{
				"ttft": {mean(f.TTFT), c.ttft}, "ttfa": {mean(f.TTFA), c.ttfa}, "tpot": {mean(f.TPOT), c.tpot},
				"itl": {mean(f.ITL), c.itl}, "e2e": {mean(f.E2E), c.e2e}, "chunk gap": {mean(f.ChunkGap), c.gap1},
			} {
				if v[0] != v[1] {
					t.Errorf("%s %v, want %v; missing %v", name, v[0], v[1], got.Missing)
				}
			}
			if f.ChunkGap != nil && f.ChunkGap.N != c.gaps {
				t.Errorf("%d chunk gaps, want %d", f.ChunkGap.N, c.gaps)
			}
			if why := got.Missing["tpot_ms"]; !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
				t.Errorf("tpot is missing because %q, want %q", why, c.why)
			}
		})
	}
}

// A server's rate is over the prompt tokens that it computed, not over those that its
// cache held, and stands beside our own clock's figures.
func TestOllamasOwnClock(t *testing.T) {
	got, samples := figures(t, 4, stamped(PathOllamaGenerate, fixture(t, "field/ollama-warm.ndjson"), 23, 8, 4))
	k := got.Server.Clock
	if k == nil || rate(k.PrefillTokPerSec) != 88.57 || rate(k.DecodeTokPerSec) != 57.97 || math.Round(*k.TotalLessLoad*1000) != 125452 {
		t.Errorf("%+v", k)
	}
	if s := samples[0]; *s.ISL != 21 || *s.Cached != 16 || *s.OSL != 4 {
		t.Errorf("%+v", s)
	}
	r := row.Row{Server: got.Server, Counts: got.Counts}
	if notes := strings.Join(row.Notes(&r, row.SeedColumns{}, "ring"), "; "); !strings.Contains(notes, "by the server's own clock: prefill_tok_s=88.57 decode_tok_s=57.97 total_less_load_ms=125.452") {
		t.Errorf("notes: %s", notes)
	}

	old, samples := figures(t, 4, stamped(PathOllamaGenerate, fixture(t, "field/ollama-old-warm.ndjson"), 23, 8, 4))
	if samples[0].ISL != nil || old.Counts.ISL != nil || old.Figures.PrefillTokPerSec != nil || old.Server.Clock.PrefillTokPerSec != nil {
		t.Errorf("a prompt that was not counted has %v tokens, and prefill %v, by the server %v", samples[0].ISL, old.Figures.PrefillTokPerSec, old.Server.Clock.PrefillTokPerSec)
	}
	r = row.Row{Server: old.Server, Counts: old.Counts}
	if notes := strings.Join(row.Notes(&r, row.SeedColumns{}, "ring"), "; "); !strings.Contains(notes, "isl: the server reported none") {
		t.Errorf("notes: %s", notes)
	}
}

// Where times between tokens can't be told, none are made up, and the row says why.
func TestNoGapsAreInvented(t *testing.T) {
	usage := func(n, reasoning string) string {
		return `data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":` + n + `,"completion_tokens_details":{"reasoning_tokens":` + reasoning + `}}}` + "\n\n"
	}
	grown := func(text string, n string) string {
		return `data: {"choices":[{"delta":{"content":"` + text + `"}}],"usage":{"prompt_tokens":8,"completion_tokens":` + n + `}}` + "\n\n"
	}
	for _, c := range []struct {
		name, body      string
		gap             int64
		ttft, tpot, itl float64
		whyTPOT, whyITL string
		osl             int64
	}{
		{"one token", hello + usage("1", "0") + end, 10, 0, -1, -1, "no request brought more than one output token", "no request brought a second token", 1},
		{"all in one chunk", role + grown("one two three", "3") + end, 10, 10, -1, -1, "all tokens came in one chunk", "all tokens came in one chunk", 3},
		{"a burst at the end", role + hello + hello + hello + usage("3", "0") + end, 0, 0, -1, -1, "all tokens came in a burst within 0 µs", "all tokens came in a burst within 0 µs", 3},
		// 60 tokens passed before the first chunk: by its count, or by the usage alone.
		{"hidden reasoning, counted", role + grown("a", "61") + grown("b", "62") + grown("c", "63") + usage("63", "60") + end, 10, 10, 10, 10, "", "", 63},
		{"hidden reasoning, not counted", role + hello + hello + hello + usage("63", "60") + end, 10, 10, -1, -1, "60 tokens of reasoning were not shown", "the chunks' tokens do not sum to usage (3 of 63)", 63},
		// The second chunk ends the token that the first began.
		{"one token over two chunks", grown("a", "1") + grown("b", "1") + grown("c", "2") + end, 10, 0, 20, 20, "", "", 2},
		{"a chunk of three", grown("a", "1") + grown("b c d", "4") + end, 30, 0, 10, 10, "", "", 4},
		{"tool calls", role + strings.Repeat(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`+"\n\n", 3) + usage("3", "0") + end, 10, 10, 10, 10, "", "", 3},
		{"reasoning alone", role + thought + thought + usage("2", "2") + end, 10, 10, 10, 10, "", "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, samples := figures(t, c.osl, stamped(PathChat, []byte(c.body), c.gap, 8, c.osl))
			if !samples[0].OK() {
				t.Fatal(samples[0].Reason)
			}
			f := got.Figures
			if mean(f.TTFT) != c.ttft || mean(f.TPOT) != c.tpot || mean(f.ITL) != c.itl {
				t.Errorf("ttft %v, tpot %v, itl %v; missing %v", mean(f.TTFT), mean(f.TPOT), mean(f.ITL), got.Missing)
			}
			if !strings.Contains(got.Missing["tpot_ms"], c.whyTPOT) || !strings.Contains(got.Missing["itl_ms"], c.whyITL) {
				t.Errorf("missing %v", got.Missing)
			}
		})
	}
}

// What a failed request brought enters no figure.
func TestFailuresAreInNoFigure(t *testing.T) {
	ok := stamped(PathChat, fixture(t, "field/done-unterminated.sse"), 10, 8, 3)
	for _, file := range []string{"field/error-field.sse", "field/no-done.sse", "field/cut.sse"} {
		bad := stamped(PathChat, fixture(t, file), 500, 8, 3)
		got, samples := figures(t, 3, ok, bad)
		if samples[1].OK() || got.Counts.Failed != 1 || got.Counts.Completed != 1 {
			t.Errorf("%s: %d failed: %s", file, got.Counts.Failed, samples[1].Reason)
		}
		if f := got.Figures; f.TTFT.N != 1 || mean(f.TTFT) != 10 || mean(f.ITL) != 10 || mean(f.E2E) != 30 {
			t.Errorf("%s: %+v", file, f)
		}
		alone, _ := figures(t, 3, bad)
		if f := alone.Figures; f.TTFT != nil || f.TPOT != nil || f.ITL != nil || f.OutputTokPerSec != nil || alone.Missing["ttft_ms"] == "" {
			t.Errorf("%s alone: %+v", file, f)
		}
	}
}
