package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"rowproof/internal/render/api"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

const now = "2026-12-01T00:00:00Z"

// repository is where this package's checkout lies.
const repository = "../.."

// newRoot is a folder with the catalogue, content and site of the checkout and no rows.
func newRoot(t *testing.T) string {
	t.Helper()
	return newRootIn(t, t.TempDir())
}

func newRootIn(t *testing.T, root string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"data/models", "data/targets", "data/strategies", "data/cells", "content", "site"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join(repository, dir))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, "bin/lean.wasm", "\x00asm")
	write(t, root, "bin/full.wasm", "\x00asm")
	modules, err := filepath.Abs(filepath.Join(repository, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(root, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// addReport puts a healthy synthetic report into data/rows.
func addReport(t *testing.T, root string, seed uint64, o rowtest.Options) (*row.Report, string) {
	t.Helper()
	if o.Cells == nil {
		o.Cells = []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4}}
	}
	r, samples, evidence := rowtest.Report(seed, o)
	file, err := rowtest.Write(root, r, samples, evidence)
	if err != nil {
		t.Fatal(err)
	}
	return r, file
}

// another is the same cell tuned for throughput.
func another() rowtest.Options {
	return rowtest.Options{Recipe: "llama-3.1-8b/h200-sxm/throughput/vllm", AsItWas: rowtest.Llama8B(), Slowness: 1.6, MeasuredAt: "2026-11-29T10:00:00Z"}
}

func build(t *testing.T, root string, change func(*Options)) (string, *Result, error) {
	t.Helper()
	o := Options{Root: root, Out: filepath.Join(t.TempDir(), "out"), Base: "/rowproof/", Now: now}
	if change != nil {
		change(&o)
	}
	r, err := Build(context.Background(), o)
	return o.Out, r, err
}

// builtSite is a site with two reports, shared by the tests that only read it.
type builtSite struct {
	root, out string
	reports   []*row.Report
	files     []string
}

var (
	once   sync.Once
	shared *builtSite
)

func theSite(t *testing.T) *builtSite {
	t.Helper()
	once.Do(func() {
		// The folder outlives this test: the others read it.
		dir, err := os.MkdirTemp("", "rowproof-render-")
		if err != nil {
			t.Fatal(err)
		}
		s := &builtSite{root: newRootIn(t, filepath.Join(dir, "root"))}
		for i, o := range []rowtest.Options{{}, another()} {
			r, file := addReport(t, s.root, uint64(i+1), o)
			s.reports, s.files = append(s.reports, r), append(s.files, file)
		}
		s.out = filepath.Join(dir, "out")
		if _, _, err := build(t, s.root, func(o *Options) { o.Out = s.out }); err != nil {
			t.Fatal(err)
		}
		shared = s
	})
	if shared == nil {
		t.Fatal("the shared site was not built")
	}
	return shared
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		os.RemoveAll(filepath.Dir(shared.out))
	}
	os.Exit(code)
}

// pages lists every HTML file of a built site.
func pages(t *testing.T, out string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".html") {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatal("no page", err)
	}
	return all
}

func TestEveryPageSaysWhatItIsFor(t *testing.T) {
	s := theSite(t)
	id := s.reports[0].Rows[0].ID
	for name, want := range map[string][]string{
		"index.html": {
			"Every verified cell, side by side",
			"This tells you which one to reach for — and where a config that wins on latency loses on throughput.",
			"gives the most per GPU at 128:32", "H200 SXM · Latency", "H200 SXM · Throughput", `href="/rowproof/r/`,
			`aria-sort="descending"`, `<svg`,
		},
		"recipes/index.html": {"Model serving recipes", "Cells marked — aren't benchmarked yet — we publish measured numbers only.", "Llama 3.1 8B"},
		"recipes/llama-3.1-8b/index.html": {
			"8.03 B parameters, 7.50 B read per token", "vllm serve llama-3.1-8b", "measure bench llama-3.1-8b",
			"Random weights: speed only; no accuracy figure belongs to this row.", "of the hard roof", "not measured:",
		},
		"r/" + id + "/index.html": {
			"Verified.", "3 repeats of 20 requests", "measured 2026-11-30", "Gaps between tokens", "recompute", "NVIDIA H200", "580.159.04",
			"TTFT p50", "output tok/s/GPU", "SHA-256", s.reports[0].Rows[0].Samples.File,
		},
		"gaps/index.html":              {"What's missing — and how to fill it", "measure bench", "GPU-minutes"},
		"before-you-launch/index.html": {"cat /proc/sys/kernel/numa_balancing # expect: 0", "-v /data/hf-cache:/hf-cache -e HF_HOME=/hf-cache"},
		"methodology/index.html":       {`id="gates"`, "Roofline", `href="/rowproof/roofs/"`},
		"roofs/index.html":             {"How the roofs are computed", "<blockquote>", "= 65,248,815,744 bytes"},
		"glossary/index.html":          {"Glossary"},
		"roofline/index.html":          {"Roofline calculator"},
		"withdrawn/index.html":         {"No row is withdrawn."},
		"changes/index.html":           {"H200 SXM · Latency", "2 rows: 128:32"},
		"feed.xml":                     {"<feed", "<updated>2026-11-30T12:00:00Z</updated>", "/rowproof/recipes/llama-3.1-8b/#h200-sxm-latency-vllm"},
		"404.html":                     {"No such page"},
	} {
		// A no-break space reads as a space.
		page := strings.ReplaceAll(read(t, s.out, name), "\u00a0", " ")
		page = strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(page)
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s lacks %q", name, w)
			}
		}
	}
}

func TestEveryPageKeepsThePolicy(t *testing.T) {
	s := theSite(t)
	for _, name := range pages(t, s.out) {
		page := read(t, name)
		if filepath.Base(name) == offlineFile {
			keepsPolicyByHashes(t, name, page)
			continue
		}
		for _, want := range []string{
			`http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"`,
			`href="#main"`, `<main id="main"`, `lang="en"`,
		} {
			if !strings.Contains(strings.ReplaceAll(page, "&#39;", "'"), want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		for _, never := range []string{" style=", " onclick=", "<style", `src="http`, `src="//`, "ZgotmplZ", "<no value>", "%!", "NaN", "Demo:"} {
			if strings.Contains(page, never) {
				t.Errorf("%s holds %q", name, never)
			}
		}
		if n := strings.Count(page, "<h1"); n != 1 {
			t.Errorf("%s has %d h1", name, n)
		}
	}
}

// The page in one file holds its script and style, each named by its hash, and nothing
// else may run.
func keepsPolicyByHashes(t *testing.T, name, page string) {
	t.Helper()
	m := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("%s has no policy", name)
	}
	policy := html.UnescapeString(m[1])
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe-inline") || strings.Contains(policy, "'unsafe-eval'") || strings.Contains(policy, "'self'") {
		t.Errorf("%s: policy %s", name, policy)
	}
	inline := regexp.MustCompile(`(?s)<(?:script(?: type="module")?|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(page, -1)
	if len(inline) < 2 {
		t.Errorf("%s holds %d scripts and styles", name, len(inline))
	}
	for _, text := range inline {
		sum := sha256.Sum256([]byte(text[1]))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, hash) {
			t.Errorf("%s: the policy does not name %s of %.40q", name, hash, text[1])
		}
	}
	if strings.Contains(page, " style=") || strings.Contains(page, " onclick=") {
		t.Errorf("%s holds a style or a script in an attribute", name)
	}
}

// Each missing figure says why to whoever cannot see the letter.
func TestEveryDashHasItsReason(t *testing.T) {
	s := theSite(t)
	dash := regexp.MustCompile(`<span aria-hidden="true">—(?:<sup>[a-f]</sup>)?</span><span class="vh">([^<]*)</span>`)
	found := 0
	for _, name := range pages(t, s.out) {
		page := read(t, name)
		for _, m := range dash.FindAllStringSubmatch(page, -1) {
			found++
			if strings.TrimSpace(m[1]) == "" {
				t.Errorf("%s: a dash without a reason", name)
			}
		}
		if n := len(regexp.MustCompile(`<td[^>]*>—</td>`).FindAllString(page, -1)); n > 0 && !strings.Contains(name, "methodology") && !strings.Contains(name, "glossary") {
			for _, cell := range regexp.MustCompile(`<td[^>]*>—</td>`).FindAllString(page, -1) {
				if cell != `<td class="n">—</td>` || !strings.HasSuffix(name, "index.html") {
					t.Errorf("%s: a bare dash: %s", name, cell)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no dash at all, though p99 of 20 requests is missing")
	}
}

func TestStylesTakeColoursFromTokensAlone(t *testing.T) {
	sheets, err := filepath.Glob(filepath.Join(repository, "site/*/*.css"))
	if err != nil || len(sheets) < 5 {
		t.Fatal(sheets, err)
	}
	literal := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(|oklch\(`)
	for _, name := range sheets {
		if filepath.Base(name) == "tokens.css" {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			selector, _, _ := strings.Cut(line, "{")
			if m := literal.FindString(strings.TrimPrefix(line, selector)); m != "" {
				t.Errorf("%s:%d: colour %s; colours stand in tokens.css", name, i+1, m)
			}
			if strings.Contains(line, "url(") || strings.Contains(line, "@import") || strings.Contains(line, "@font-face") {
				t.Errorf("%s:%d: loads something: %s", name, i+1, line)
			}
		}
	}
}

func TestSameInputGivesTheSameBytes(t *testing.T) {
	s := theSite(t)
	again, _, err := build(t, s.root, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := tree(t, s.out), tree(t, again)
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	for name, data := range first {
		if !bytes.Equal(data, second[name]) {
			t.Errorf("%s differs between two builds", name)
		}
	}
}

func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What is downloaded is what was published: the same bytes, from which the same id and
// the same integers are read back.
func TestDownloadsReadBackIntoTheSameRow(t *testing.T) {
	s := theSite(t)
	rel, err := filepath.Rel(s.root, s.files[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := rowfile.Load(filepath.Join(s.out, rel))
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range b.Rows {
		want := &s.reports[0].Rows[i]
		if d.ComputedID != want.ID || d.SamplesSHA256 != want.Samples.SHA256 || d.Evidence == nil {
			t.Errorf("row %d: id %s, samples %s, evidence %v; want %s, %s", i, d.ComputedID, d.SamplesSHA256, d.Evidence != nil, want.ID, want.Samples.SHA256)
		}
	}
	var all api.Rows
	if err := json.Unmarshal([]byte(read(t, s.out, "api/v1/rows.json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Rows) != 4 {
		t.Fatalf("%d rows in rows.json", len(all.Rows))
	}
	if r := all.Rows[0]; r.ISL != 128 || r.OSL != 32 || *r.Concurrency != 1 || r.Verdict != "verified" {
		t.Errorf("%+v", r)
	}
	lines := strings.Split(strings.TrimSpace(read(t, s.out, "data/rows.csv")), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "id,verdict,recipe,") || !strings.HasPrefix(lines[1], s.reports[0].Rows[0].ID+",verified,llama-3.1-8b/h200-sxm/latency/vllm,0.26.0,") {
		t.Errorf("rows.csv:\n%s", strings.Join(lines[:2], "\n"))
	}
}

func TestASiteWithoutRowsPointsToTheFirstGap(t *testing.T) {
	out, result, err := build(t, newRoot(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Rows != 0 {
		t.Errorf("%d rows", result.Rows)
	}
	if home := read(t, out, "index.html"); !strings.Contains(home, "Nothing is measured yet.") || !strings.Contains(home, "measure bench") {
		t.Error("the home page does not say that nothing is measured, or not what to run")
	}
}

// A model that nobody launched stands apart from those with recipes: its page says what it
// is and leads to its roofs, without a table of nothing; the home page leaves it out.
func TestAModelWithoutARecipeLeadsToItsRoofs(t *testing.T) {
	root := newRoot(t)
	model := read(t, root, "data/models/qwen3-8b.yaml")
	write(t, root, "data/models/nobody-1b.yaml", strings.NewReplacer("name: Qwen3 8B", "name: Nobody 1B", "[Qwen/Qwen3-8B]", "[nobody/1b]").Replace(model))
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := read(t, out, "recipes/index.html")
	measured, known, ok := strings.Cut(list, "Roofs only")
	if !ok || strings.Contains(measured, "Nobody 1B") || !strings.Contains(known, "Nobody 1B") || strings.Contains(known, "Llama 3.1 8B") ||
		!strings.Contains(known, "roofline/?model=nobody-1b") {
		t.Errorf("the list of models does not tell those without a recipe apart:\n%s", known)
	}
	page := read(t, out, "recipes/nobody-1b/index.html")
	for _, want := range []string{"No recipe yet", "roofline/?model=nobody-1b", "GQA, 32 query and 8 KV heads of 128"} {
		if !strings.Contains(page, want) {
			t.Errorf("the model's page lacks %q", want)
		}
	}
	if strings.Contains(page, "Coverage") || strings.Contains(read(t, out, "index.html"), "Nobody 1B") {
		t.Error("what does not exist is shown as a table, or on the home page")
	}
}

// A withdrawn row keeps its page and its figures and leaves every ranking.
func TestWithdrawnRowsStayAndLeaveTheRankings(t *testing.T) {
	root := newRoot(t)
	r, _ := addReport(t, root, 1, rowtest.Options{})
	kept, gone := r.Rows[0].ID, r.Rows[1].ID
	write(t, root, "data/withdrawn.yaml", "- {id: \""+gone+"\", date: \"2026-12-02\", reason: the launcher dropped a flag}\n")
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := read(t, out, "r", gone, "index.html"); !strings.Contains(p, "Withdrawn 2026-12-02:") || !strings.Contains(p, "stand in no ranking") {
		t.Error("the row's page does not say that it is withdrawn")
	}
	home := read(t, out, "index.html")
	if strings.Contains(home, gone) || !strings.Contains(home, kept) {
		t.Error("the home page ranks the withdrawn row, or lost the other")
	}
	if p := read(t, out, "withdrawn/index.html"); !strings.Contains(p, gone) || !strings.Contains(p, "the launcher dropped a flag") {
		t.Error("the list lacks the row or its reason")
	}
	var feed struct {
		Entry []struct {
			ID string `xml:"id"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal([]byte(read(t, out, "feed.xml")), &feed); err != nil {
		t.Fatal(err)
	}
	if len(feed.Entry) != 2 || feed.Entry[0].ID != "urn:rowproof:withdrawn:"+gone || feed.Entry[1].ID != "urn:rowproof:verified:"+kept {
		t.Errorf("the feed holds %+v", feed.Entry)
	}
}

// Passes and sustained rows never share a front, and a row of one repeat has no
// interval and so no rank.
func TestWhatRanks(t *testing.T) {
	root := newRoot(t)
	cell := []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}
	one := rowtest.Llama8B()
	passes, _ := addReport(t, root, 1, rowtest.Options{Cells: cell, Protocol: row.Passes})
	single, _ := addReport(t, root, 2, rowtest.Options{Recipe: "llama-3.1-8b/h200-sxm/throughput/vllm", AsItWas: one, Cells: cell, Repeats: 1})
	old, _ := addReport(t, root, 3, rowtest.Options{Recipe: "llama-3.1-8b/h100-sxm/latency/vllm", AsItWas: h100(), Cells: cell, MeasuredAt: "2026-11-20T12:00:00Z"})
	newer, _ := addReport(t, root, 4, rowtest.Options{Recipe: "llama-3.1-8b/h100-sxm/latency/vllm", AsItWas: h100(), Cells: cell, MeasuredAt: "2026-11-30T12:00:00Z", Slowness: 1.8})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	home, model := read(t, out, "index.html"), read(t, out, "recipes/llama-3.1-8b/index.html")
	for _, c := range []struct {
		what string
		id   string
		home bool
	}{
		{"a row of passes", passes.Rows[0].ID, false},
		{"a row of one repeat", single.Rows[0].ID, true},
		{"a row that a newer one replaces, though it was faster", old.Rows[0].ID, false},
		{"the newer row", newer.Rows[0].ID, true},
	} {
		if got := strings.Contains(home, "r/"+c.id+"/"); got != c.home {
			t.Errorf("%s: on the home page %v, want %v", c.what, got, c.home)
		}
		if !strings.Contains(model, "r/"+c.id+"/") {
			t.Errorf("%s is not on its model's page", c.what)
		}
	}
	rank := func(id string) string {
		m := regexp.MustCompile(`data-row="` + id + `"[^>]*><td[^>]*>([^<]*)<`).FindStringSubmatch(home)
		if m == nil {
			t.Fatalf("no line of %s", id)
		}
		return m[1]
	}
	if a, b := rank(single.Rows[0].ID), rank(newer.Rows[0].ID); a != "—" || b != "1" {
		t.Errorf("ranks %q and %q, want — and 1", a, b)
	}
}

func h100() *row.AsItWas {
	a := rowtest.Llama8B()
	a.Target.Name, a.Target.Device, a.Target.BandwidthGBs, a.Target.MemoryGB, a.Target.MemoryBytes = "H100 SXM", "NVIDIA H100", "3350", "80", 85520809984
	return a
}

// A report is from outside: nothing in it becomes markup. That no page has a foreign
// script or an inline handler is what every build checks; here the text is there to be
// checked, in a title, a chart, a command and a note.
func TestNothingFromAReportBecomesMarkup(t *testing.T) {
	const hostile = `</script><script src="https://example.org/x.js">&"'<img onerror=x>`
	root := newRoot(t)
	a := rowtest.Llama8B()
	a.Model.Name, a.Target.Name, a.Recipe.Notes = hostile, hostile, hostile
	cells := []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4}}
	r, samples, evidence := rowtest.Report(1, rowtest.Options{Recipe: "hostile/h200-sxm/latency/vllm", AsItWas: a, Cells: cells})
	r.Receipt.Host.CPU, r.Tool.Command = hostile, []string{hostile} // a row's own notes take no free text
	rowtest.Seal(r, samples, evidence)
	if _, err := rowtest.Write(root, r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, name := range pages(t, out) {
		page := read(t, name)
		if strings.Contains(page, "example.org/x.js") {
			shown++
		}
		if title := regexp.MustCompile(`<title>([^<]*)</title>`).FindString(page); title == "" {
			t.Errorf("%s: its title holds markup", name)
		}
	}
	if shown == 0 {
		t.Error("no page shows the text at all")
	}
}
