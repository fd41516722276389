package browsertest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"rowproof/internal/gate"
	"rowproof/internal/harness/hostile"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// judged is what the page says of a reader's files.
type judged struct {
	Said     string            `json:"said"`
	Problems []string          `json:"problems"`
	Verdict  string            `json:"verdict"` // of the first row
	Load     string            `json:"load"`    // of the first row
	Answers  map[string]string `json:"answers"` // of its gates
	Reasons  map[string]string `json:"reasons"` // theirs
	Figures  map[string]string `json:"figures"` // of the file
	Beside   []string          `json:"beside"`  // links of the rows beside it
	Stated   int               `json:"stated"`  // of the tool's own figures
	About    string            `json:"about"`   // of the file
}

// choose hands files of the disk to the page, and waits for what it says.
func (p *tab) chooseFiles(files ...string) judged {
	p.t.Helper()
	eval[bool](p, `(document.querySelector("#said").textContent = "", true)`)
	do(p, chromedp.SetUploadFiles("#files", files))
	return eval[judged](p, `new Promise(done => {
		const line = document.querySelector("#said"), out = document.querySelector("#taken");
		const look = () => {
			if (line.hasAttribute("aria-busy") || !line.textContent || line.textContent.endsWith("…")) return;
			const first = out.querySelector(":scope > section");
			const items = name => [...(first?.querySelectorAll("ul." + name + " > li") ?? [])].map(l => [...l.children].map(c => c.textContent));
			const lines = [...(first?.querySelectorAll("table.beside tbody tr") ?? [])].map(r => [...r.cells].map(c => c.textContent));
			const pairs = (rows, at) => Object.fromEntries(rows.map(r => [r[0], r[at]]));
			done({
				said: line.textContent, problems: [...out.querySelectorAll(":scope > ul.bad li")].map(l => l.textContent),
				verdict: first?.querySelector("h2 span")?.textContent ?? "", load: first?.querySelector("h2")?.firstChild.textContent ?? "",
				answers: pairs(items("answers"), 1), reasons: pairs(items("answers"), 2), figures: pairs(lines, 1),
				beside: [...(first?.querySelectorAll("table.beside thead a") ?? [])].map(a => a.getAttribute("href")), stated: items("stated").length,
				about: first?.querySelector("p.note")?.textContent ?? "",
			});
		};
		new MutationObserver(look).observe(document.querySelector("main"), {attributes: true, childList: true, characterData: true, subtree: true});
		look();
	})`)
}

// A result of another tool and a report of ours are judged in the page as measure judges
// them, beside verified rows of the same load. Before the first, the page asks for the
// module, its worker and this site's own rows; then it does without a server.
func TestYourFile(t *testing.T) {
	s := theSite(t)
	var mu sync.Mutex
	var asked []string // by the page and by its worker
	server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+strings.TrimPrefix(r.URL.Path, base))
		mu.Unlock()
		s.handler().ServeHTTP(w, r)
	}), base)
	defer server.Close()
	p := newTab(t, origin)
	p.visit(origin + base + "your-file/")
	mu.Lock()
	before := len(asked)
	mu.Unlock()
	theirs := p.chooseFiles(filepath.Join(root, "internal/harness/testdata/vllm-0.26.0/vllm-serve.json"))
	if theirs.Verdict != gate.Imported || theirs.Load != "1024:256, c = 16" || theirs.Figures["TTFT p50, ms"] != "194.8" || theirs.Figures["TPOT p50, ms"] != "4.222" ||
		theirs.Answers["recompute"] != "pass" || theirs.Answers["label"] != "does not apply" || theirs.Stated < 14 {
		t.Errorf("of a vLLM result the page says %+v", theirs)
	}
	if !strings.Contains(theirs.About, "vllm-serve.json · vllm bench serve") || !strings.Contains(theirs.About, "does not say when · Python's perf_counter") {
		t.Errorf("of what the file is the page says %q", theirs.About)
	}
	if len(theirs.Beside) == 0 || !strings.HasPrefix(theirs.Beside[0], base+"r/") {
		t.Errorf("beside it stand %q", theirs.Beside)
	}
	server.Close()
	for _, what := range asked[before:] {
		// A browser asks for the page's own icon when it likes.
		if !regexp.MustCompile(`^GET (assets/(full|judge|chunk|favicon)-[^/]+|api/v1/rows\.json)$`).MatchString(what) {
			t.Errorf("to judge a file the page asked for %s", what)
		}
	}
	if !strings.Contains(strings.Join(asked[before:], " "), "/full-") || strings.Contains(strings.Join(asked[:before], " "), "/full-") {
		t.Errorf("the module is not asked for when a file is chosen: %q, then %q", asked[:before], asked[before:])
	}

	report := filepath.Join(root, "data/rows/llama-3.1-8b/h200-sxm/latency/vllm/2026-11-30-3562c978.json")
	ours := p.chooseFiles(report, rowfile.SamplesFile(report, 0), rowfile.SamplesFile(report, 1), rowfile.SamplesFile(report, 2), rowfile.SamplesFile(report, 3), rowfile.EvidenceFile(report))
	if ours.Said != "4 rows: 4 verified." || ours.Verdict != gate.Verified || ours.Answers["host"] != "pass" && ours.Answers["host"] != "warn" {
		t.Errorf("of a published report the page says %+v", ours)
	}
	if !strings.Contains(ours.About, "measured 2026-11-30 ") || ours.Figures["E2E p99, ms"] == "" && ours.Figures["E2E p50, ms"] == "" {
		t.Errorf("of our report the page says %q, %v", ours.About, ours.Figures)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := rowfile.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(ours.Beside) == 0 || slices.Contains(ours.Beside, base+"r/"+r.Rows[0].ID+"/") {
		t.Errorf("beside the row %s stand %q; want others", r.Rows[0].ID, ours.Beside)
	}
	alone := p.chooseFiles(report)
	if alone.Verdict != gate.Unverified || !strings.Contains(alone.Reasons["recompute"], "samples") {
		t.Errorf("of a report without its samples the page says %+v", alone)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
}

// The worker that holds a reader's files has no way to send them: none of the browser's
// ways to reach a network is named in what it runs, and the module has the host's
// functions alone.
func TestJudgeReachesNoNetwork(t *testing.T) {
	s := theSite(t)
	found, err := filepath.Glob(filepath.Join(s.dir, "assets/judge-*.js"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the worker's script: %q, %v", found, err)
	}
	for i := 0; i < len(found); i++ {
		text, err := os.ReadFile(found[i])
		if err != nil {
			t.Fatal(err)
		}
		if way := regexp.MustCompile(`\b(fetch|XMLHttpRequest|WebSocket|WebTransport|EventSource|sendBeacon|importScripts|caches|RTCPeerConnection|BroadcastChannel)\b|\bimport\(`).Find(text); way != nil {
			t.Errorf("%s names %s", filepath.Base(found[i]), way)
		}
		for _, m := range regexp.MustCompile(`from\s*"\./([^"]+)"`).FindAllSubmatch(text, -1) {
			if next := filepath.Join(s.dir, "assets", string(m[1])); !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	if len(found) < 2 {
		t.Errorf("the worker shares nothing with the page's scripts: %q; is what it imports read?", found)
	}
}

// A reader can end what takes too long, and choose again.
func TestYourFileCanBeStopped(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("your-file/index.html"))
	eval[bool](p, `(() => {
		const stop = document.querySelector("#stop");
		const watch = new MutationObserver(() => { if (!stop.disabled) { watch.disconnect(); stop.click(); } });
		watch.observe(stop, {attributes: true});
		return true;
	})()`)
	file := filepath.Join(root, "internal/harness/testdata/vllm-0.33.0/v.json")
	if got := p.chooseFiles(file); got.Said != "Not read: stopped." || got.Verdict != "" {
		t.Errorf("stopped, the page says %+v", got)
	}
	if got := p.chooseFiles(file); got.Verdict != gate.Imported {
		t.Errorf("after it was stopped the page says %+v", got)
	}
}

// Each defect of published rows is refused in the page by the gate that was made for it.
func TestYourFileRefusesPublishedDefects(t *testing.T) {
	s := theSite(t)
	defects, err := rowtest.Defects(os.DirFS(filepath.Join(root, "data")))
	if err != nil {
		t.Fatal(err)
	}
	p := newTab(t, s.origin)
	p.visit(s.url("your-file/index.html"))
	seen := 0
	for _, d := range defects {
		if d.Corpus {
			continue // asked where all rows are at hand
		}
		file, err := d.Row.Write(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
		if err != nil {
			t.Fatal(err)
		}
		got := p.chooseFiles(beside...)
		if got.Answers[d.Gate] != d.Answer.String() || !strings.Contains(got.Reasons[d.Gate], d.Reason) {
			t.Errorf("%s: gate %s answers %q: %s; want %s with %q", d.Name, d.Gate, got.Answers[d.Gate], got.Reasons[d.Gate], d.Answer, d.Reason)
		}
		seen++
	}
	if seen < 9 {
		t.Errorf("%d defects were shown to the page", seen)
	}
}

// Files that are meant to break a reader end in words, and the page goes on.
func TestYourFileHoldsHostileFiles(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url("your-file/index.html"))
	dir := t.TempDir()
	tried := 0
	for i, f := range hostile.Files() {
		name := filepath.Join(dir, "hostile-"+string(rune('a'+i%26))+string(rune('a'+i/26))+".json")
		data, err := io.ReadAll(io.LimitReader(f.Open(), 48<<20))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 8<<20 && tried > 4 {
			continue // a few large ones are enough here; natively all are read
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got := p.chooseFiles(name)
		if got.Said == "" || strings.HasPrefix(got.Said, "Not read: ") || len(got.Problems) == 0 && strings.Contains(got.Said, "Nothing") {
			t.Errorf("%s: %+v", f.Name, got)
		}
		if len(data) < 48<<20 && !strings.Contains(strings.Join(got.Problems, "\n"), f.Want) {
			t.Errorf("%s: the page says %q; want %q", f.Name, got.Problems, f.Want)
		}
		os.Remove(name)
		tried++
	}
	good := p.chooseFiles(filepath.Join(root, "internal/harness/testdata/vllm-0.33.0/v.json"))
	if good.Verdict != gate.Imported {
		t.Errorf("after %d hostile files the page says of a good one %+v", tried, good)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}
