package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// answersOf are the gates' answers to a row of a report.
func answersOf(b *rowfile.Bundle, i int) map[string]gate.Result {
	out := map[string]gate.Result{}
	for _, r := range b.Judge(nil)[i] {
		out[r.Gate] = r
	}
	return out
}

// passes fails unless each of the gates passes a row, or does not apply to it.
func passes(t *testing.T, b *rowfile.Bundle, i int, gates ...string) {
	t.Helper()
	answers := answersOf(b, i)
	for _, g := range gates {
		if r := answers[g]; r.Answer != gate.Pass && r.Answer != gate.NotApplicable {
			t.Errorf("gate %s: %v: %s", g, r.Answer, r.Reason)
		}
	}
}

// questions is a dataset of n prompts of so many words each as their number says.
func questions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"prompt": "q%d%s", "output_len": %d}`+"\n", i, strings.Repeat(" word", i%7), 2+i%5)
	}
	return b.String()
}

func TestBenchSendsADatasetsPromptsOnce(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	file := fileOf(t, "asked.jsonl", questions(120))
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := quick(t, "--dataset", file, "--concurrency", "1,2", "--num-prompts", "12", "--repeats", "2", "--seed", "3", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	b := loaded(t, prefix)
	seen := map[string]bool{}
	for i, d := range b.Rows {
		w := &d.Row.Workload
		passes(t, b, i, "schema", "recompute", "complete", "lengths", "cold", "warm")
		for _, s := range d.Samples {
			if seen[s.Prompt] {
				t.Errorf("row %d sends a prompt again", i)
			}
			seen[s.Prompt] = true
			if want := asked(s.WantOSL, w.OSL); s.OSL != nil && *s.OSL != want {
				t.Errorf("asked for %d tokens, %d came", want, *s.OSL)
			}
		}
		if *d.Row.Counts.OSL != (row.Range{Min: 2, Max: 6}) || w.ISL < 2 || w.ISL > 6 || w.Lengths.ISLP50 != w.ISL || w.Lengths.OSLP99 != 6 {
			t.Errorf("row %d: counts %+v, lengths %+v", i, d.Row.Counts, w.Lengths)
		}
	}
	for i, r := range records(t, stdout) {
		w := &b.Rows[i].Row.Workload
		if r["isl"] != fmt.Sprint(w.ISL) || r["concurrency"] != fmt.Sprint(i+1) || r["speedup_vs_c1"] == "" || strings.Contains(r["notes"], "no rate at c=1") || !strings.HasPrefix(r["notes"],
			fmt.Sprintf("%s; dataset=%s; isl p50=%d p99=%d osl p50=%d p99=6; protocol=sustained; requests=12; repeats=2;", row.ColdNote, (*w.Prompts.SHA256)[:12], w.ISL, w.Lengths.ISLP99, w.OSL)) {
			t.Errorf("row %v", r)
		}
	}
}

func asked(own *int64, all int64) int64 {
	if own != nil {
		return *own
	}
	return all
}

// No prompt is sent twice to make up for those that a dataset lacks: its load ends, and
// the row says so.
func TestBenchOfADatasetThatRunsOut(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	code, _, stderr := quick(t, "--dataset", fileOf(t, "asked.jsonl", questions(9)), "--concurrency", "2", "--duration", "60s", "--repeats", "2", "--output", prefix)
	if code != exitFailed {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	b := loaded(t, prefix)
	r := b.Rows[0].Row
	if r.Status != row.StatusError || r.Reason != "stopped after 1 of 2 repeats: load: there is no request to send" ||
		!slices.Contains(r.Notes, "the dataset has no prompt left: 9 were sent in repeat 0") || len(b.Rows[0].Samples) != 9 {
		t.Errorf("%s: %s; notes %q", r.Status, r.Reason, r.Notes)
	}
	passes(t, b, 0, "schema", "recompute", "cold")
}

// A dataset that is smaller than the run is sent again where that was asked for, and its
// rows are warm.
func TestBenchRepeatsADatasetsPrompts(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	text := fmt.Sprintf(`[{"conversations": [{"from": "human", "value": "%s"}]}, {"conversations": [{"from": "human", "value": "Hi there"}]}, {"conversations": []}]`, strings.Repeat("long ", 40))
	code, stdout, stderr := quick(t, "--dataset", fileOf(t, "chats.json", text), "--osl", "3", "--endpoint", "/v1/chat/completions",
		"--concurrency", "1", "--num-prompts", "6", "--repeat-prompts", "--output", prefix)
	if code != exitOK || !strings.Contains(stdout, row.WarmNote) || !strings.Contains(stderr, "without a question at the beginning, and passed over: 1 conversation") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	b := loaded(t, prefix)
	passes(t, b, 0, "schema", "recompute", "complete", "lengths", "cold", "warm")
	sent := map[string]int{}
	for _, s := range b.Rows[0].Samples {
		sent[s.Prompt]++
	}
	// 47 and 9 tokens with the template; of the longer 32 come from the cache.
	if c := b.Rows[0].Row.Counts; len(sent) != 2 || *c.ISL != (row.Range{Min: 9, Max: 47}) || *c.CachedTokens != 3*32 {
		t.Errorf("%d prompts, counts %+v", len(sent), c)
	}
}

// A dataset of messages goes out as they are.
func TestBenchSendsADatasetsMessages(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{models: []string{"m"}}
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, `{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "%d \"é\""}], "output_len": 2}`+"\n", i)
	}
	code, _, stderr := quick(t, "--base-url", f.start(t).URL, "--dataset", fileOf(t, "chats.jsonl", text.String()), "--endpoint", "/v1/chat/completions",
		"--concurrency", "1", "--num-prompts", "2", "--warmup", "1")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	found := 0
	for _, q := range f.requests() {
		if strings.HasPrefix(string(q.Body["messages"]), `[{"role":"system","content":"Be brief."},{"role":"user","content":"`) &&
			strings.HasSuffix(string(q.Body["messages"]), ` \"é\""}]`) && string(q.Body["max_tokens"]) == "2" {
			found++
		}
	}
	if found < 3 {
		t.Errorf("%d of %d requests carry the file's messages", found, len(f.requests()))
	}
}

// Requests come at the times that the row's seed gives, whatever became of those before.
func TestBenchOffersRates(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := call(t, "--cells", "32:8", "--request-rate", "80,40,inf", "--num-prompts", "40", "--warmup", "1", "--seed", "5", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stderr, "(32:8 at 40 requests/s,80 requests/s,all at once), sustained, seed 5") {
		t.Errorf("announced %s", stderr)
	}
	b := loaded(t, prefix)
	for i, rate := range []string{"40", "80", "inf"} {
		w, samples := &b.Rows[i].Row.Workload, b.Rows[i].Samples
		passes(t, b, i, "schema", "recompute", "complete", "lengths", "counted", "cold", "warm", "little", "queue")
		if r := answersOf(b, i)["little"]; r.Answer != gate.NotApplicable {
			t.Errorf("little: %v", r.Answer)
		}
		if *w.Load.RequestRate != rate || w.Load.Concurrency != nil {
			t.Errorf("row %d offers %+v", i, w.Load)
		}
		value, _ := strconv.ParseFloat(rate, 64)
		seed, _ := strconv.ParseUint(w.Seed, 10, 64)
		times := prompts.NewArrivals(seed, 0, value, 1)
		if rate == "inf" && len(samples) != 44 {
			t.Errorf("%d requests all at once, want the 4 of the warm-up and 40", len(samples))
		}
		for _, s := range samples {
			// Whole µs on both sides.
			if off := s.Enqueued - samples[0].Enqueued - times.At(int(s.I)).Microseconds(); off < -1 || off > 1 {
				t.Fatalf("at %s/s request %d was enqueued %d µs off its time", rate, s.I, off)
			}
		}
	}
	for i, r := range records(t, stdout) {
		if r["isl"] != "32" || r["concurrency"] != "" || r["speedup_vs_c1"] != "" || r["admitted_tok"] != "" || r["status"] != "ok" ||
			!strings.Contains(r["notes"], "; protocol=sustained; request_rate="+[]string{"40; burstiness=1", "80; burstiness=1", "inf"}[i]+
				"; no streams in open loop: concurrency speedup_vs_c1 batching_efficiency admitted_tok; requests=40;") {
			t.Errorf("row %v", r)
		}
	}
}

// With a most of requests under way, the others wait, and their wait is in their TTFT.
func TestBenchBoundsWhatIsUnderWay(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := quick(t, "--cells", "16:6", "--request-rate", "inf", "--max-concurrency", "3", "--num-prompts", "12", "--output", prefix)
	if code != exitOK || records(t, stdout)[0]["concurrency"] != "3" || !strings.Contains(stdout, "; request_rate=inf; max_concurrency=3; no streams in open loop: speedup_vs_c1 ") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	b := loaded(t, prefix)
	passes(t, b, 0, "schema", "recompute", "complete", "warm", "little")
	samples := b.Rows[0].Samples
	for _, s := range samples {
		under := 0
		for _, o := range samples {
			if last, _ := o.LastContent(); o.Sent <= s.Sent && last > s.Sent {
				under++
			}
		}
		if under > 3 || s.Enqueued != samples[0].Enqueued {
			t.Errorf("request %d: %d under way, enqueued at %d", s.I, under, s.Enqueued)
		}
	}
	f := b.Rows[0].Row.Figures
	if *f.TTFT.Mean <= *f.SendTTFT.Mean {
		t.Errorf("TTFT %v ms, from the sending %v ms: the wait is lost", *f.TTFT.Mean, *f.SendTTFT.Mean)
	}
}

// turns asks what talk does one after the other, so that each finds what those before it
// left in the cache, however slow the host is.
const turns = `{"timestamp": 0, "session_id": "a", "input_length": 200, "output_length": 6, "hash_ids": [0, 1, 2, 3]}
{"session_id": "a", "delay": 20, "input_length": 150, "output_length": 4, "hash_ids": [0, 1, 4]}
{"session_id": "a", "input_length": 192, "output_length": 5, "hash_ids": [0, 1, 5]}
{"session_id": "a", "delay": 50, "input_length": 320, "output_length": 3, "hash_ids": [0, 1, 5, 6, 7]}
{"session_id": "a", "delay": 0.5, "input_length": 90, "output_length": 8}
`

// What a prefix cache serves of a trace is what the trace says, request by request. Behind
// a chat's template, whose end parts the last block from what another prompt has there, it
// is a block of the cache less.
func TestBenchReplaysATrace(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	file := fileOf(t, "turns.jsonl", turns)
	delays := []int64{0, 20_000, 0, 50_000, 500}
	for endpoint, short := range map[string]int64{"/v1/completions": 0, "/v1/chat/completions": 16} {
		prefix := filepath.Join(t.TempDir(), "run")
		code, stdout, stderr := quick(t, "--trace", file, "--trace-block", "64", "--warmup", "1", "--repeats", "2", "--endpoint", endpoint, "--output", prefix)
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		b := loaded(t, prefix)
		passes(t, b, 0, "schema", "recompute", "complete", "lengths", "counted", "cold", "warm", "little")
		r, samples := b.Rows[0].Row, b.Rows[0].Samples
		// 128, 128 and 192 of 952 tokens stand at the head of an earlier prompt.
		if c := r.Counts; *c.PromptTokens != 2*952 || *c.CommonTokens != 2*448 || *c.CachedTokens != 2*(448-short) || *c.ISL != (row.Range{Min: 90, Max: 320}) {
			t.Errorf("%s: counts %+v, cached %d, in common %d of %d", endpoint, c, *c.CachedTokens, *c.CommonTokens, *c.PromptTokens)
		}
		want := map[int64]string{0: "; cached_tok=896 (47.1% of the prompt tokens; in theory 896 or 47.1%); ", 16: "; cached_tok=864 (45.4% of the prompt tokens; in theory 896 or 47.1%); "}[short]
		if !strings.Contains(stdout, row.TraceNote+"; trace=") || !strings.Contains(stdout, want) {
			t.Errorf("%s: printed %s", endpoint, stdout)
		}
		var before *row.Sample
		for i := range samples {
			s := &samples[i]
			if s.Phase != row.PhaseTimed {
				continue
			}
			want := *s.WantCached
			if want == 192 {
				want -= short
			}
			if *s.Cached != want || *s.OSL != asked(s.WantOSL, r.Workload.OSL) || s.Session != 1 {
				t.Errorf("%s: request %d of repeat %d found %d tokens cached, %d were in common", endpoint, s.I, s.Repeat, *s.Cached, *s.WantCached)
			}
			turn := s.I - r.Workload.Warmup
			if turn > 0 {
				if last, _ := before.LastContent(); s.Enqueued < last+delays[turn] {
					t.Errorf("%s: turn %d came %d µs after the one before it ended", endpoint, turn, s.Enqueued-last)
				}
			}
			before = s
		}
	}
}

// At rates of one's own a trace's rows and repeats have no prompt in common, the same in
// each that the trace repeats, and a session's turns still follow each other.
func TestBenchReplaysATraceAtRates(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	file := fileOf(t, "talk.jsonl", talk+`{"timestamp": 1400, "input_length": 200, "output_length": 2, "hash_ids": [0, 1, 2, 3]}`+"\n")
	prefix := filepath.Join(t.TempDir(), "run")
	code, _, stderr := quick(t, "--trace", file, "--trace-block", "64", "--request-rate", "30,inf", "--warmup", "1", "--repeats", "2", "--output", prefix)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	b := loaded(t, prefix)
	seen := map[string]string{}
	for i, d := range b.Rows {
		passes(t, b, i, "schema", "recompute", "complete", "lengths", "cold", "little")
		for _, s := range d.Samples {
			part := fmt.Sprint("row ", i, " repeat ", s.Repeat)
			if other, ok := seen[s.Prompt]; ok && other != part {
				t.Errorf("a prompt of %s was sent in %s too", part, other)
			}
			seen[s.Prompt] = part
		}
	}
	// The last line asks as the first one does: five differ each time the lines are played,
	// by the warm-up of the first row five times, by the second's once but for two lines.
	if n := 2 * ((5*5 + 5) + (4 + 5)); len(seen) != n {
		t.Errorf("%d prompts that differ, want %d", len(seen), n)
	}
}

// The examples of the help run as they stand, beside files of those names.
func TestBenchExamplesRun(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	trace, err := os.ReadFile("../../internal/prompts/testdata/trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"trace.jsonl": string(trace), "dataset.jsonl": questions(40)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, help, _ := quick(t, "--help")
	ran := 0
	for line := range strings.Lines(help) {
		command, ok := strings.CutPrefix(line, "  measure bench ")
		if !ok {
			continue
		}
		ran++
		if code, stdout, stderr := quick(t, strings.Fields(command)...); code != exitOK || len(records(t, stdout)) == 0 {
			t.Errorf("%sexit %d: %s", line, code, stderr)
		}
	}
	if ran < 4 {
		t.Errorf("%d examples found in the help", ran)
	}
}

// How long a dataset's prompts are only the server can say: where it does not, no length
// stands in its place.
func TestBenchOfADatasetWhoseServerCountsNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	f := &fake{models: []string{"m"}, noUsage: true}
	code, stdout, stderr := quick(t, "--base-url", f.start(t).URL, "--dataset", fileOf(t, "asked.jsonl", questions(20)), "--concurrency", "1", "--num-prompts", "3", "--warmup", "1")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r := records(t, stdout)[0]
	if r["isl"] != "" || r["osl"] == "" || !strings.Contains(r["notes"], "; isl: the server does not say osl p50=") {
		t.Errorf("row %v", r)
	}
}
