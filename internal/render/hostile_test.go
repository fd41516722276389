package render

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// hostileNames are what a report or a file of the catalogue could call something to break
// a page: markup, the ends of attributes, scripts and templates, marks that turn the
// direction of what follows, more letters than any page has room for, and ways out of a
// folder.
var hostileNames = []string{
	`</title></script></style></textarea><script src="//example.org/x.js"></script><img src=x onerror=alert(1)><!--`,
	`x" onmouseover="alert(1)" y='z' {{.Main}} ${alert(1)} ` + "`" + ` &quot; &lt;b&gt; ]]> <![CDATA[`,
	"\u202eeltit\u202c \u2066\u200f\u061c\u0301\ufeff\u2028\u2029 \u00a0",
	strings.Repeat("a very long name ", 40) + strings.Repeat("x", 4000),
	`../../../../etc/passwd ..\..\x /absolute %2e%2e%2f`,
}

// named builds a site of one report in which every free text is of the given names, one
// after another.
func named(t *testing.T, names ...string) (root, out, id string) {
	t.Helper()
	root = newRoot(t)
	n := 0
	next := func() string {
		n++
		return names[n%len(names)]
	}
	a := rowtest.Llama8B()
	a.Model.Name, a.Model.Publisher, a.Model.Licence = next(), next(), next()
	a.Target.Name = next()
	a.Recipe.Notes = next()
	a.Recipe.Env = map[string]string{"VALUE": next()}
	a.Recipe.Flags = append(a.Recipe.Flags, "--served-model-name", next())
	a.Recipe.Launch = append(a.Recipe.Launch, "--extra", next())
	r, samples, evidence := rowtest.Report(1, rowtest.Options{
		Recipe: "hostile/h200-sxm/latency/vllm", AsItWas: a,
		Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 4}},
	})
	r.Receipt.Host.CPU, r.Receipt.Host.Kernel = next(), next()
	r.Tool.Command = []string{"measure", "bench", "--output", next(), next()}
	for i := range r.Receipt.Devices {
		r.Receipt.Devices[i].Driver = next()
	}
	rowtest.Seal(r, samples, evidence)
	if _, err := rowtest.Write(root, r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return root, out, r.Rows[0].ID
}

// pageShape is what a browser makes of a page without its texts: each element with its
// attributes' names. How many lines a drawing's label takes depends on its length; that it
// is a drawing and nothing else does not.
func pageShape(t *testing.T, name string, page []byte) []string {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for n := range root.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			parts = append(parts, "comment")
		case n.Type != html.ElementNode:
		case n.Namespace == "svg":
			if !drawn.MatchString(n.Data) {
				t.Errorf("%s: a drawing holds <%s>", name, n.Data)
			}
			if n.Data == "svg" {
				parts = append(parts, "svg")
			}
		default:
			part := n.Data
			for _, a := range n.Attr {
				part += " " + a.Key
			}
			parts = append(parts, part)
		}
	}
	return parts
}

var drawn = regexp.MustCompile(`^(svg|g|path|rect|line|circle|ellipse|poly(line|gon)|text|tspan|title|desc|defs|clipPath|a)$`)

// Whatever things are called, each page has the same parts and each file its place.
func TestHostileNamesChangeNoPage(t *testing.T) {
	_, plain, plainID := named(t, "Plain name")
	want := map[string][]string{}
	rename := func(name, id string) string { return strings.ReplaceAll(name, id, "ID") }
	for name, data := range tree(t, plain) {
		if strings.HasSuffix(name, ".html") {
			want[rename(name, plainID)] = pageShape(t, name, data)
		}
	}
	for k := range hostileNames {
		names := slices.Concat(hostileNames[k:], hostileNames[:k])
		root, out, id := named(t, names...)
		got := tree(t, out)
		pages := 0
		for name, data := range got {
			if strings.Contains(name, "..") || len(name) > 200 || strings.ContainsAny(name, "<>\"'\\ ") {
				t.Errorf("a file is called %q", name)
			}
			if !strings.HasSuffix(name, ".html") {
				continue
			}
			pages++
			expected, ok := want[rename(name, id)]
			if !ok {
				if strings.HasPrefix(name, "r/") {
					continue // the other row; its id is of what it holds
				}
				t.Errorf("%s: a page more", name)
				continue
			}
			if have := pageShape(t, name, data); !slices.Equal(have, expected) {
				i := 0
				for i < min(len(have), len(expected)) && have[i] == expected[i] {
					i++
				}
				t.Errorf("names %d: %s has other parts from the %dth of %d (%d) on: %q, not %q", k, name, i, len(have), len(expected),
					have[i:min(len(have), i+6)], expected[i:min(len(expected), i+6)])
			}
		}
		if pages != len(want) {
			t.Errorf("names %d: %d pages, not %d", k, pages, len(want))
		}
		for _, dir := range []string{root, filepath.Dir(out), filepath.Dir(filepath.Dir(out))} {
			if _, err := os.Lstat(filepath.Join(dir, "etc")); err == nil {
				t.Errorf("names %d: something was written outside the site, into %s", k, dir)
			}
		}
		if beside, err := os.ReadDir(filepath.Dir(out)); err != nil || len(beside) != 1 {
			t.Errorf("names %d: beside the site lies more: %v %v", k, beside, err)
		}
	}
}

// A report that asks for a place outside its folder is refused, and nothing is written.
func TestNoReportLeavesItsFolder(t *testing.T) {
	for name, change := range map[string]func(*row.Report){
		"a recipe with a way out":        func(r *row.Report) { r.Recipe = "../../../../x" },
		"a recipe of another folder":     func(r *row.Report) { r.Recipe = "llama-3.1-8b/h200-sxm/throughput/vllm" },
		"samples of another folder":      func(r *row.Report) { r.Rows[0].Samples.File = "../../../../../../etc/passwd" },
		"samples by an absolute path":    func(r *row.Report) { r.Rows[0].Samples.File = "/etc/passwd" },
		"an id that is no folder's name": func(r *row.Report) { r.Rows[0].ID = "../../../x" },
		"an id of markup":                func(r *row.Report) { r.Rows[0].ID = `"><script>` },
	} {
		root := newRoot(t)
		r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
		file, err := rowtest.Write(root, r, samples, evidence)
		if err != nil {
			t.Fatal(err)
		}
		before := []byte(read(t, file))
		change(r)
		if err := rowtest.WriteAs(file, r, nil, evidence); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(before, []byte(read(t, file))) {
			t.Fatalf("%s: the report is as it was", name)
		}
		out, _, err := build(t, root, nil)
		if err == nil {
			t.Errorf("%s: the report was published", name)
		}
		if left, _ := os.ReadDir(filepath.Dir(out)); len(left) > 0 {
			t.Errorf("%s: %v was written", name, left)
		}
	}
}
