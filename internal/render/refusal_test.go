package render

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// Each defect is refused with its place, all at once, and nothing is written.
func TestRefusals(t *testing.T) {
	edit := func(t *testing.T, root, name, old, new string) {
		text := read(t, root, name)
		if !strings.Contains(text, old) {
			t.Fatalf("%s does not hold %q", name, old)
		}
		write(t, root, name, strings.Replace(text, old, new, 1))
	}
	rel := func(t *testing.T, root, file string) string {
		r, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(r)
	}
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, root string)
		want  []string // regular expressions, each matching some reason
	}{
		{"two broken catalogue files", func(t *testing.T, root string) {
			edit(t, root, "data/models/llama-3.1-8b.yaml", "hidden: 4096", "hidden: many")
			edit(t, root, "data/targets/h200-sxm.yaml", "vendor:", "vendr:")
		}, []string{
			`^data/models/llama-3\.1-8b\.yaml:\d+:\d+: .*many`,
			`^data/targets/h200-sxm\.yaml:\d+:\d+: .*vendr`,
		}},
		{"a figure changed after the run", func(t *testing.T, root string) {
			r, file := addReport(t, root, 1, rowtest.Options{})
			better := *r.Rows[1].Figures.OutputTokPerSecPerGPU * 1.5
			r.Rows[1].Figures.OutputTokPerSecPerGPU = &better
			data, err := rowfile.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			write(t, root, rel(t, root, file), string(data))
		}, []string{`^data/rows/llama-3\.1-8b/h200-sxm/latency/vllm/2026-11-30-[0-9a-f]{8}\.json:\d+:3: row [0-9a-f]{12}: gate recompute: fail: .*output_tok_s_per_gpu`}},
		{"a hashed part changed after the run", func(t *testing.T, root string) {
			_, file := addReport(t, root, 1, rowtest.Options{})
			edit(t, root, rel(t, root, file), `"cores": 16`, `"cores": 96`)
		}, []string{`\.json:\d+:3: the row says that its id is "[0-9a-f]{12}", and what it holds has the id "[0-9a-f]{12}"`}},
		{"samples changed after the run", func(t *testing.T, root string) {
			r, file := addReport(t, root, 1, rowtest.Options{})
			other, samples, _ := rowtest.Report(2, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
			_ = other
			packed, err := rowfile.EncodeSamples(samples[0])
			if err != nil {
				t.Fatal(err)
			}
			write(t, root, filepath.Join(filepath.Dir(rel(t, root, file)), r.Rows[0].Samples.File), string(packed))
		}, []string{`row [0-9a-f]{12}: gate [a-z]+: fail: `}},
		{"the samples are gone", func(t *testing.T, root string) {
			r, file := addReport(t, root, 1, rowtest.Options{})
			if err := os.Remove(filepath.Join(filepath.Dir(file), r.Rows[0].Samples.File)); err != nil {
				t.Fatal(err)
			}
		}, []string{`row [0-9a-f]{12}: gate recompute: cannot be judged: `}},
		{"a row above the roof of the catalogue as it is now", func(t *testing.T, root string) {
			addReport(t, root, 1, rowtest.Options{})
			edit(t, root, "data/targets/h200-sxm.yaml", `bandwidth_gb_s: "4800"`, `bandwidth_gb_s: "1200"`)
		}, []string{`row [0-9a-f]{12}: gate ceiling: fail: target\.bandwidth_gb_s is 4800 in the row's copy and 1200 in the catalogue\. By the catalogue TPOT p50 .* of the roof`}},
		{"two files with the same rows", func(t *testing.T, root string) {
			_, file := addReport(t, root, 1, rowtest.Options{})
			for _, ending := range []string{".json", ".0.samples.jsonl.gz", ".1.samples.jsonl.gz", ".evidence.jsonl.gz"} {
				from := strings.TrimSuffix(rel(t, root, file), ".json")
				write(t, root, filepath.Join(filepath.Dir(from), "copy"+ending), read(t, root, from+ending))
			}
		}, []string{`the row [0-9a-f]{12} stands in data/rows/.*\.json already`}},
		{"a report in another recipe's folder", func(t *testing.T, root string) {
			r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
			file, err := rowtest.Write(root, r, samples, evidence)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Dir(filepath.Dir(file)), filepath.Join(root, "data/rows/llama-3.1-8b/h200-sxm/fp8")); err != nil {
				t.Fatal(err)
			}
		}, []string{`^data/rows/llama-3\.1-8b/h200-sxm/fp8/vllm/.*\.json:1:1: its recipe is "llama-3\.1-8b/h200-sxm/latency/vllm"`}},
		{"a row of the embedded engine", func(t *testing.T, root string) {
			simulated(t, root)
		}, []string{`\.json:1:1: its rows are of the embedded engine and measure nothing; they are shown with --demo alone`}},
		{"a row of tomorrow", func(t *testing.T, root string) {
			addReport(t, root, 1, rowtest.Options{MeasuredAt: "2026-12-24T12:00:00Z"})
		}, []string{`gate dates: fail: `}},
		{"a withdrawal of no row", func(t *testing.T, root string) {
			write(t, root, "data/withdrawn.yaml", "- {id: \"0123456789ab\", date: \"2026-12-02\", reason: gone}\n")
		}, []string{`^data/withdrawn\.yaml:1:1: no row has the id 0123456789ab`}},
		{"a withdrawn row whose figure was changed", func(t *testing.T, root string) {
			r, file := addReport(t, root, 1, rowtest.Options{})
			edit(t, root, rel(t, root, file), `"status": "ok"`, `"status": "ok", "reason": "fast"`)
			write(t, root, "data/withdrawn.yaml", "- {id: \""+r.Rows[0].ID+"\", date: \"2026-12-02\", reason: gone}\n- {id: \""+r.Rows[1].ID+"\", date: \"2026-12-02\", reason: gone}\n")
		}, []string{`row [0-9a-f]{12}: gate schema: fail: .*"reason" stands twice`}},
		{"a linked report", func(t *testing.T, root string) {
			_, file := addReport(t, root, 1, rowtest.Options{})
			away := filepath.Join(t.TempDir(), "away.json")
			if err := os.Rename(file, away); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(away, file); err != nil {
				t.Fatal(err)
			}
		}, []string{`^data/rows/.*\.json:1:1: it is a symbolic link; `}},
		{"a linked folder", func(t *testing.T, root string) {
			write(t, root, "data/rows/llama-3.1-8b/h200-sxm/latency/x.txt", "")
			if err := os.Symlink(t.TempDir(), filepath.Join(root, "data/rows/llama-3.1-8b/h200-sxm/latency/vllm")); err != nil {
				t.Fatal(err)
			}
		}, []string{`^data/rows/llama-3\.1-8b/h200-sxm/latency/vllm:1:1: it is a symbolic link; `}},
		{"a report too large", func(t *testing.T, root string) {
			write(t, root, "data/rows/llama-3.1-8b/h200-sxm/latency/vllm/x.json", strings.Repeat(" ", 16<<20)+"{}")
		}, []string{`^data/rows/llama-3\.1-8b/h200-sxm/latency/vllm/x\.json:1:1: more than 16 MB`}},
		{"not a report", func(t *testing.T, root string) {
			write(t, root, "data/rows/llama-3.1-8b/h200-sxm/latency/vllm/x.json", "{\n \"schema\": ")
		}, []string{`^data/rows/llama-3\.1-8b/h200-sxm/latency/vllm/x\.json:\d+:\d+: `}},
		{"no module", func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, "bin/lean.wasm")); err != nil {
				t.Fatal(err)
			}
		}, []string{`bin/lean\.wasm: not there yet; build it with: make wasm`}},
		{"an article without a title, and one with a link to nowhere", func(t *testing.T, root string) {
			write(t, root, "content/glossary.md", "No title.\n")
		}, []string{`^content/glossary\.md:1:1: the page must begin with its title`}},
		{"a link to nowhere", func(t *testing.T, root string) {
			write(t, root, "content/glossary.md", "# Glossary\n\nSee [there](methodology/#nowhere).\n")
		}, []string{`^/glossary/: links to /methodology/#nowhere, and that page has no such id`}},
		{"a template that names no field", func(t *testing.T, root string) {
			write(t, root, "site/missing/missing.tmpl", "{{define \"main\"}}{{.Nothing}}{{end}}")
		}, []string{`Nothing`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newRoot(t)
			c.plant(t, root)
			out := filepath.Join(t.TempDir(), "out")
			write(t, out, marker, "")
			write(t, out, "index.html", "the last good site")
			_, _, err := build(t, root, func(o *Options) { o.Out = out })
			if err == nil {
				t.Fatal("built")
			}
			reasons := strings.Split(err.Error(), "\n")
			for _, w := range c.want {
				if !anyMatch(regexp.MustCompile(w), reasons) {
					t.Errorf("no reason matches %s in:\n%s", w, err)
				}
			}
			if got := read(t, out, "index.html"); got != "the last good site" {
				t.Error("the last good site was touched")
			}
			left, err := os.ReadDir(filepath.Dir(out))
			if err != nil || len(left) != 1 {
				t.Errorf("something was left beside the site: %v %v", left, err)
			}
		})
	}
}

func anyMatch(re *regexp.Regexp, lines []string) bool {
	for _, l := range lines {
		if re.MatchString(l) {
			return true
		}
	}
	return false
}

// simulated puts a report of the embedded engine where a published one would lie.
func simulated(t *testing.T, root string) {
	t.Helper()
	r, samples, evidence := rowtest.Report(1, rowtest.Options{Simulated: true, Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
	r.Receipt.Engine.Name = row.EmbeddedEngine
	r.Rows[0].Notes = []string{"simulated: not a measurement"}
	rowtest.Seal(r, samples, evidence)
	dir := "data/rows/llama-3.1-8b/h200-sxm/latency/embedded/"
	data, err := rowfile.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, dir+"2026-11-30-demo.json", string(data))
	packed, err := rowfile.EncodeSamples(samples[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, dir+r.Rows[0].Samples.File, string(packed))
	lines, _, err := rowfile.EncodeEvidence(evidence)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, dir+"2026-11-30-demo.evidence.jsonl.gz", string(lines))
}

// A catalogue that was corrected since withholds no row for that alone: its page says so.
func TestARowOfACatalogueCorrectedSince(t *testing.T) {
	root := newRoot(t)
	r, _ := addReport(t, root, 1, rowtest.Options{})
	name := "data/targets/h200-sxm.yaml"
	write(t, root, name, strings.Replace(read(t, root, name), `bandwidth_gb_s: "4800"`, `bandwidth_gb_s: "4700"`, 1))
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, out, "r", r.Rows[0].ID, "index.html")
	for _, want := range []string{"Older recipe: ", "target.bandwidth_gb_s is 4800 in the row"} {
		if !strings.Contains(page, want) {
			t.Errorf("the row's page does not say %q", want)
		}
	}
}

// A demo shows rows of the embedded engine, and says on every page that it does.
func TestADemoSaysSoOnEveryPage(t *testing.T) {
	root := newRoot(t)
	simulated(t, root)
	out, result, err := build(t, root, func(o *Options) { o.Demo = true })
	if err != nil {
		t.Fatal(err)
	}
	if result.Rows != 1 {
		t.Errorf("%d rows", result.Rows)
	}
	for _, name := range pages(t, out) {
		if !strings.Contains(read(t, name), "simulated rows. Nothing on this page was measured.") {
			t.Errorf("%s does not say that it is a demo", name)
		}
	}
}

func TestAFolderOfOthersIsNotReplaced(t *testing.T) {
	out := t.TempDir()
	write(t, out, "thesis.tex", "three years")
	_, err := newOutput(out)
	if err == nil || !strings.Contains(err.Error(), "holds files that gen did not write") {
		t.Errorf("error %v", err)
	}
	if read(t, out, "thesis.tex") != "three years" {
		t.Error("the file changed")
	}
}

// The checker of pages finds each kind of defect, and nothing in a page without one.
func TestTheCheckerFindsItsDefects(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`<p id="a">x</p><a href="#a">y</a><a href="/b/other/#there">z</a><a href="https://example.org/">out</a><img src="/b/x.svg" alt="">`, ""},
		{`<a href="#gone">y</a>`, "refers to #gone"},
		{`<p id="a"></p><p id="a"></p>`, `id "a" stands twice`},
		{`<p style="color:red">x</p>`, "no style attribute"},
		{`<svg><path style="fill:red"/></svg>`, "no style attribute"},
		{`<svg id="a"><g id="a"></g></svg>`, `id "a" stands twice`},
		{`<button onclick="x()">x</button>`, "no inline script"},
		{`<img src="https://example.org/x.png" alt="">`, "leaves the site"},
		{`<script src="//example.org/x.js"></script>`, "leaves the site"},
		{`<a href="/elsewhere/">x</a>`, "misses its base"},
		{`<a href="/b/nowhere/">x</a>`, "links to /nowhere/, which is not built"},
		{`<a href="/b/other/#gone">x</a>`, "links to /other/#gone, and that page has no such id"},
		{`<a href="/b/other/?model=x#there">x</a><a href="/b/other/?model=x">y</a>`, ""},
		{`<a href="/b/nowhere/?model=x">x</a>`, "links to /nowhere/, which is not built"},
		{`<label for="gone">x</label>`, "refers to #gone"},
	} {
		l := newLinks("/b/")
		l.add("", l.read([]byte(c.page)))
		l.add("other/", l.read([]byte(`<h2 id="there">x</h2>`)))
		got := strings.Join(l.check(map[string]int64{"x.svg": 1}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s\nfound %q, want %q", c.page, got, c.want)
		}
	}
}

func TestRowPlacesAreLineAndColumn(t *testing.T) {
	got := rowPlaces([]byte("{\n \"schema\": \"rows\",\n \"tool\": {\"rows\": [{}]},\n \"rows\": [{\n  \"id\": {\"rows\": [{}]}\n }, {\n }]\n}\n"))
	if strings.Join(got, " ") != "4:11 6:5" {
		t.Errorf("%v", got)
	}
}

func TestRanksAreSharedWhileIntervalsOverlap(t *testing.T) {
	mk := func(id string, v float64, iv *row.Interval) *measured {
		m := &measured{Row: &row.Row{ID: id}}
		m.Figures.OutputTokPerSecPerGPU = &v
		if iv != nil {
			m.Figures.Intervals = map[string]row.Interval{"output_tok_s_per_gpu": *iv}
		}
		return m
	}
	order, ranks := ranked([]*measured{
		mk("c", 437, &row.Interval{417, 459}), mk("a", 565, &row.Interval{539, 593}), mk("b", 456, &row.Interval{436, 479}),
		mk("x", 282, nil), mk("e", 236, &row.Interval{225, 248}), mk("d", 257, &row.Interval{245, 269}), mk("f", 184, &row.Interval{175, 193}),
	})
	var got []string
	for i, m := range order {
		got = append(got, m.ID+ranks[i])
	}
	if s := strings.Join(got, " "); s != "a1 b2= c2= x d4= e4= f6" {
		t.Error(s)
	}
}

func TestCommandsAreQuotedAndWrapped(t *testing.T) {
	got := wrapped([]string{"vllm", "serve", "m", "--x", `{"a": "it's"}`, "--long-flag-number-one", "value", "--flag"}, 40)
	want := "vllm serve m \\\n  --x '{\"a\": \"it'\\''s\"}' \\\n  --long-flag-number-one value \\\n  --flag"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
