package browsertest

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// root is the repository.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// base is the path that the site is served under, as on GitHub Pages.
const base = "/rowproof/"

// site is the built site and where it is served.
type site struct {
	dir     string   // the folder that gen wrote
	origin  string   // http://127.0.0.1:PORT
	pages   []string // every HTML file, relative to dir
	measure string   // the client's binary
}

// built is the site that all tests share, built on first use.
var built builder

type builder struct {
	once   sync.Once
	site   *site
	err    error
	dir    string
	server *httptest.Server
}

func (b *builder) remove() {
	if b.server != nil {
		b.server.Close()
	}
	if b.dir != "" {
		os.RemoveAll(b.dir)
	}
}

// theSite builds and serves the site once.
func theSite(t testing.TB) *site {
	t.Helper()
	built.once.Do(func() { built.site, built.err = built.build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.site
}

func (b *builder) build() (*site, error) {
	var err error
	if b.dir, err = os.MkdirTemp("", "rowproof-site-"); err != nil {
		return nil, err
	}
	source := filepath.Join(b.dir, "source")
	if err := gather(source); err != nil {
		return nil, err
	}
	gen, out := filepath.Join(b.dir, "gen"), filepath.Join(b.dir, "out")
	if err := command(root, nil, "go", "build", "-o", gen, "./cmd/gen"); err != nil {
		return nil, err
	}
	if err := command(root, nil, gen, "--root", source, "--out", out, "--base", base); err != nil {
		return nil, err
	}
	s := &site{dir: out, measure: filepath.Join(b.dir, "measure")}
	if err := command(root, nil, "go", "build", "-o", s.measure, "./cmd/measure"); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".html") {
			rel, _ := filepath.Rel(out, path)
			s.pages = append(s.pages, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(s.pages) == 0 {
		return nil, fmt.Errorf("gen wrote no page into %s", out)
	}
	sort.Strings(s.pages)
	b.server, s.origin = serve(s.handler(), base)
	return s, nil
}

// handler serves the built files under the site's base.
func (s *site) handler() http.Handler {
	return http.StripPrefix(base, http.FileServer(http.Dir(s.dir)))
}

// tamper serves the site with the first old in each page replaced.
func tamper(s *site, old, new string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/") {
			s.handler().ServeHTTP(w, r)
			return
		}
		page, err := os.ReadFile(filepath.Join(s.dir, strings.TrimPrefix(r.URL.Path, base), "index.html"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.Replace(string(page), old, new, 1))
	})
}

// otherLoads is a recipe without rows of its own, which takes synthetic ones of loads that
// nobody has published yet; otherRow is the first, of a trace.
const otherLoads = "llama-3.1-8b/h200-sxm/throughput/vllm"

var otherRow string

// gather lays out what gen builds from: the repository's own data, content and site, the
// modules, synthetic rows of other loads, and of the usual one where nothing has been
// measured yet.
func gather(source string) error {
	for _, dir := range []string{"data", "content", "site"} {
		if err := os.CopyFS(filepath.Join(source, dir), os.DirFS(filepath.Join(root, dir))); err != nil {
			return err
		}
	}
	if err := os.Symlink(filepath.Join(root, "node_modules"), filepath.Join(source, "node_modules")); err != nil {
		return err
	}
	reports, err := filepath.Glob(filepath.Join(source, "data/rows/*/*/*/*/*.json"))
	if err != nil {
		return err
	}
	if len(reports) == 0 {
		report, samples, evidence := rowtest.Report(1, rowtest.Options{})
		if _, err := rowtest.Write(source, report, samples, evidence); err != nil {
			return err
		}
	}
	report, samples, evidence := rowtest.Report(2, rowtest.Options{Recipe: otherLoads, AsItWas: rowtest.Llama8B(), Stamps: "ring", Calibrated: true, Cells: []rowtest.Cell{
		{ISL: 512, OSL: 32, Rate: row.OwnTimes, Prompts: row.PromptsTrace},
		{ISL: 128, OSL: 32, Rate: "4"}, {ISL: 128, OSL: 32, Rate: "8", Concurrency: 4},
	}, Requests: 60})
	otherRow = report.Rows[0].ID
	if _, err := rowtest.Write(source, report, samples, evidence); err != nil {
		return err
	}
	for _, module := range []string{"lean", "full"} {
		err := command(root, []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared",
			"-trimpath", "-gcflags=runtime=-l", "-ldflags=-s -w", "-o", filepath.Join(source, "bin", module+".wasm"), "./wasm/"+module)
		if err != nil {
			return err
		}
	}
	return nil
}

// serve serves h under prefix on loopback; all else is not found.
func serve(h http.Handler, prefix string) (*httptest.Server, string) {
	mux := http.NewServeMux()
	mux.Handle(prefix, h)
	server := httptest.NewServer(mux) // on loopback
	return server, server.URL
}

// url is where a page of the site is served: index.html by its folder.
func (s *site) url(page string) string {
	return s.origin + base + strings.TrimSuffix(page, "index.html")
}

// kinds groups the pages that one template makes: by first folder and depth.
func (s *site) kinds() map[string][]string {
	kinds := map[string][]string{}
	for _, page := range s.pages {
		parts := strings.Split(page, "/")
		kind := parts[0]
		if len(parts) > 1 {
			kind = fmt.Sprintf("%s/%d", parts[0], len(parts))
		}
		kinds[kind] = append(kinds[kind], page)
	}
	return kinds
}

// command runs a program to its end with env added; its output is in the error.
func command(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}
