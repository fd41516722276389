package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/gate"
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
		passes(t, b, i, "schema", "recompute", "complete", "lengths", "cold", "warm", "little")
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

// A dataset that is smaller than the run is sent again where that was asked for, and its
// rows are warm.
func TestBenchRepeatsADatasetsPrompts(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	prefix := filepath.Join(t.TempDir(), "run")
	text := fmt.Sprintf(`[{"conversations": [{"from": "human", "value": "%s"}]}, {"conversations": [{"from": "human", "value": "Hi there"}]}, {"conversations": []}]`, strings.Repeat("long ", 40))
	code, stdout, stderr := quick(t, "--dataset", fileOf(t, "chats.json", text), "--osl", "3", "--endpoint", "/v1/chat/completions",
		"--concurrency", "1", "--num-prompts", "6", "--repeat-prompts", "--output", prefix)
	if code != exitOK || !strings.Contains(stdout, row.WarmNote) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	b := loaded(t, prefix)
	passes(t, b, 0, "schema", "recompute", "complete", "lengths", "cold", "warm")
	prompts := map[string]int{}
	for _, s := range b.Rows[0].Samples {
		prompts[s.Prompt]++
	}
	// 47 and 9 tokens with the template; of the longer 32 come from the cache.
	if c := b.Rows[0].Row.Counts; len(prompts) != 2 || *c.ISL != (row.Range{Min: 9, Max: 47}) || *c.CachedTokens != 3*32 {
		t.Errorf("%d prompts, counts %+v", len(prompts), c)
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
