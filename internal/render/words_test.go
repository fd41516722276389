package render

import (
	"regexp"
	"strings"
	"testing"

	"rowproof/internal/gate"
)

// A command that is too long for its column has each flag on a line of its own, with its
// value, so that no line breaks between them.
func TestWrappedCommands(t *testing.T) {
	args := strings.Fields("vllm serve m/n --max-model-len 16384 --flag --port 8000")
	if got := wrapped(args, 80); got != strings.Join(args, " ") {
		t.Errorf("one line suffices: %s", got)
	}
	if got, want := wrapped(args, 40), "vllm serve m/n \\\n  --max-model-len 16384 \\\n  --flag \\\n  --port 8000"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := wrapped(strings.Fields("docker run -p 1:1 image serve"), 20), "docker run \\\n  -p 1:1 \\\n  image serve"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestServingLeavesOutInventedWeights(t *testing.T) {
	for flags, want := range map[string]string{
		"--load-format dummy --max-model-len 16384": "--max-model-len 16384",
		"--a --load-format=dummy":                   "--a",
		"--load-format safetensors":                 "--load-format safetensors",
	} {
		if got := strings.Join(loading(strings.Fields(flags)), " "); got != want {
			t.Errorf("%s: %s", flags, got)
		}
	}
}

func plainPage(t *testing.T, parts ...string) string {
	t.Helper()
	page := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(read(t, parts...), "")
	return strings.NewReplacer("\u00a0", " ", "&#39;", "'", "&#43;", "+").Replace(page)
}

// The page of a model opens with what leads, serves real weights before it shows what
// was measured with random ones, and keeps what is not measured closed.
func TestAModelsPageAnswersFirst(t *testing.T) {
	s := theSite(t)
	page := plainPage(t, s.out, "recipes/llama-3.1-8b/index.html")
	for _, want := range []string{
		"On H200 SXM, Latency gives the most per GPU and is fastest for each user at every measured c.",
		"vllm serve meta-llama/Llama-3.1-8B-Instruct",
		"To serve · vLLM 0.26.0 · the published weights; not what was measured",
		"As measured: random weights, which serve nonsense",
		"of the empty-context roof", "tok/s/user128:32, c = 1", "output tok/s/GPU128:32, c = 4",
		"At 128:32 the most per GPU is ", "; the fastest for one user is ",
		"Fewer than 100 samples a repeat (no p99).",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if n := strings.Count(page, "Latency gives more per GPU than Throughput"); n != 1 {
		t.Errorf("the finding is said %d times", n)
	}
	raw := read(t, s.out, "recipes/llama-3.1-8b/index.html")
	closed := regexp.MustCompile(`<details class="cell"><summary><h2>([^<]*)</h2>([^<]*)</summary><div id="([^"]*)">`).FindAllStringSubmatch(raw, -1)
	if len(closed) == 0 {
		t.Fatal("no recipe without rows is closed")
	}
	for _, m := range closed {
		if !strings.Contains(m[2], "gap") && !strings.Contains(m[2], "not measured") || m[3] == "h200-sxm-latency-vllm" {
			t.Errorf("%s is closed and says %q", m[1], m[2])
		}
	}
	if page := plainPage(t, s.out, "recipes/qwen3-8b/index.html"); !regexp.MustCompile(`Nothing measured yet; gap \d+ comes first: about \d+ GPU-minutes\.`).MatchString(page) {
		t.Error("a model without rows does not open with its first gap")
	}
}

// What the recipe claims stands beside what the server reported.
func TestTheReceiptComparesLabels(t *testing.T) {
	s := theSite(t)
	page := read(t, s.out, "r", s.reports[0].Rows[0].ID, "index.html")
	for _, name := range []string{"engine version", "--load-format", "package vllm", "weights dtype", "KV dtype"} {
		if !regexp.MustCompile(`<th scope="row">` + name + `</th><td><code>[^<]+</code></td><td><code>[^<]+</code></td><td>yes</td>`).MatchString(page) {
			t.Errorf("%s: not claimed, reported and equal", name)
		}
	}
}

func TestTallyNamesWhatWarns(t *testing.T) {
	got := tally([]gate.Result{{Gate: "a"}, {Gate: "b"}, {Gate: "host", Answer: gate.Warn, Reason: "software power cap"}, {Gate: "d", Answer: gate.NotApplicable}})
	if got = strings.ReplaceAll(got, "\u00a0", " "); got != "2 gates passed; host warns: software power cap; 1 does not apply" {
		t.Error(got)
	}
}

// On paper each page says where it stands and how new its rows are.
func TestPaperSaysItsAddress(t *testing.T) {
	s := theSite(t)
	id := s.reports[1].Rows[0].ID
	for name, want := range map[string]string{
		"recipes/llama-3.1-8b/index.html": "/rowproof/recipes/llama-3.1-8b/, newest row of 2026-11-30",
		"r/" + id + "/index.html":         "/rowproof/r/" + id + "/, newest row of 2026-11-29",
	} {
		if !strings.Contains(read(t, s.out, name), `<p class="paper">`+want+"</p>") {
			t.Errorf("%s lacks %q", name, want)
		}
	}
}
