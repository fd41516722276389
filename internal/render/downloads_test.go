package render

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rowproof/internal/rowtest"
)

var codeBlock = regexp.MustCompile(`(?s)<pre[^>]*><code>(.*?)</code></pre>`)

// Each example of the page answers, run as it stands, with what was published: by curl and
// jq, of a site served under its own address.
func TestDownloadExamplesRun(t *testing.T) {
	root := newRoot(t)
	kept, _ := addReport(t, root, 1, rowtest.Options{})
	gone, _ := addReport(t, root, 2, another())
	write(t, root, "data/withdrawn.yaml", "- id: \""+gone.Rows[0].ID+"\"\n  date: 2026-11-30\n  reason: a flag was dropped\n")
	var out string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix("/rowproof/", http.FileServer(http.Dir(out))).ServeHTTP(w, r)
	}))
	defer server.Close()
	built, _, err := build(t, root, func(o *Options) { o.Origin = server.URL })
	if err != nil {
		t.Fatal(err)
	}
	out = built
	page := read(t, out, "downloads/index.html")
	said := map[string]string{} // file → what its example answers
	for _, block := range codeBlock.FindAllStringSubmatch(page, -1) {
		text := html.UnescapeString(block[1])
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", text)
		cmd.Dir = t.TempDir()
		answer, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", text, err, answer)
			continue
		}
		address, _, _ := strings.Cut(text[strings.Index(text, server.URL):], " ")
		said[strings.TrimPrefix(address, server.URL+"/rowproof/")] = string(answer)
	}
	first := kept.Rows[0]
	for file, want := range map[string]string{
		"api/v1/index.json":        "api/v1/rows.json\n",
		"api/v1/rows.json":         first.ID + "\tllama-3.1-8b/h200-sxm/latency/vllm\t1\t",
		"api/v1/recipes.json":      "qwen3-8b/h200-sxm/throughput/vllm: vllm serve ",
		"api/v1/models.json":       "Llama 3.1 8B\n",
		"api/v1/targets.json":      "h200-sxm\t4800\n",
		"api/v1/gaps.json":         "measure bench ",
		"api/v1/withdrawn.json":    "2026-11-30\t" + gone.Rows[0].ID + "\ta flag was dropped\n",
		"data/rows.csv":            first.ID + ",verified,llama-3.1-8b/h200-sxm/latency/vllm,128,32,1\n",
		"data/models.js":           "llama-3.1-8b 4\n",
		rowFile(newestRow(t, out)): "recompute: pass. ",
	} {
		if !strings.Contains(said[file], want) {
			t.Errorf("the example of %s answers\n%s\nwant in it %q", file, said[file], want)
		}
	}
	if strings.Contains(said["api/v1/rows.json"], gone.Rows[0].ID) {
		t.Error("a withdrawn row stands among those that rank")
	}
	// Sizes are those of the files.
	for _, file := range []string{"api/v1/rows.json", "data/rows.csv"} {
		if !regexp.MustCompile(regexp.QuoteMeta(filepath.Base(file)) + `</a> <span class="sub">[^<]*</span></th><td class="n">[\d.,]+.kB`).MatchString(page) {
			t.Errorf("the page gives no size of %s", file)
		}
	}
}

// newestRow is the row that the page's example asks for.
func newestRow(t *testing.T, out string) string {
	t.Helper()
	m := regexp.MustCompile(`api/v1/rows/([0-9a-f]{12})\.json`).FindStringSubmatch(read(t, out, "downloads/index.html"))
	if m == nil {
		t.Fatal("the page asks for no row")
	}
	return m[1]
}
