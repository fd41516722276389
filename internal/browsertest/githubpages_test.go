package browsertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// served are the types that GitHub Pages gives files, by their names' ends; what it does
// not know is application/octet-stream, which no page can use.
var served = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "application/javascript; charset=utf-8",
	".json": "application/json; charset=utf-8", ".xml": "application/xml", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".wasm": "application/wasm",
	".png": "image/png", ".gz": "application/gzip",
}

// githubPages serves a folder under a base as GitHub Pages does: a folder's address gets
// its slash by a redirect, nothing else is rewritten, what isn't there is 404.html, texts
// and modules are packed with gzip and nothing else, and a packed file is a file of its
// own, not the packed form of another.
func githubPages(dir, base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "405", http.StatusMethodNotAllowed)
			return
		}
		status := http.StatusOK
		name, ok := strings.CutPrefix(r.URL.Path, base)
		file := filepath.Join(dir, filepath.FromSlash(path.Clean("/"+name)))
		info, err := os.Stat(file)
		if ok && err == nil && info.IsDir() {
			if !strings.HasSuffix(r.URL.Path, "/") {
				http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
				return
			}
			file = filepath.Join(file, "index.html")
			info, err = os.Stat(file)
		} else if strings.HasSuffix(r.URL.Path, "/") {
			err = fs.ErrNotExist
		}
		if !ok || err != nil || info.IsDir() {
			status, file = http.StatusNotFound, filepath.Join(dir, "404.html")
		}
		data, err := os.ReadFile(file)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		kind := served[filepath.Ext(file)]
		head := w.Header()
		head.Set("Content-Type", kind)
		if kind == "" {
			head.Set("Content-Type", "application/octet-stream")
		}
		head.Set("Cache-Control", "max-age=600")
		head.Set("Access-Control-Allow-Origin", "*")
		head.Set("Vary", "Accept-Encoding")
		switch filepath.Ext(file) {
		case ".gz", ".png", "":
		default:
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				var packed bytes.Buffer
				z := gzip.NewWriter(&packed)
				z.Write(data)
				z.Close()
				data = packed.Bytes()
				head.Set("Content-Encoding", "gzip")
			}
		}
		head.Set("Content-Length", fmt.Sprint(len(data)))
		w.WriteHeader(status)
		if r.Method == http.MethodGet {
			w.Write(data)
		}
	})
}

// ask is what the site answers under its base.
func ask(t *testing.T, h http.Handler, address string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
	return w.Result()
}

// Everything that a page loads or leads to is there at once, without a redirect, in a type
// that a browser takes for what it is, however deep the page and whatever the host's name
// for the folder.
func TestEveryAddressWorksAsGitHubPagesServesIt(t *testing.T) {
	s := theSite(t)
	h := githubPages(s.dir, base)
	asked := map[string]string{} // address → the page that wants it
	for _, page := range s.pages {
		data, err := os.ReadFile(filepath.Join(s.dir, page))
		if err != nil {
			t.Fatal(err)
		}
		here, err := url.Parse(base + strings.TrimSuffix(page, "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		root, err := html.Parse(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				switch a.Key {
				case "href", "src", "data-full", "data-report", "data-samples", "data-evidence":
				default:
					continue
				}
				to, err := here.Parse(a.Val)
				if err != nil {
					t.Errorf("%s: %q is no address", page, a.Val)
				} else if to.Scheme == "" {
					asked[to.Path] = page
				}
			}
		}
	}
	if len(asked) < 100 {
		t.Fatalf("the pages ask for %d addresses in all", len(asked))
	}
	for address, page := range asked {
		r := ask(t, h, address)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s leads to %s, which answers %d", page, address, r.StatusCode)
		} else if kind := r.Header.Get("Content-Type"); kind == "application/octet-stream" {
			t.Errorf("%s leads to %s, of which GitHub Pages knows no type", page, address)
		}
	}
	// The address without its slash, as people type it.
	if r := ask(t, h, base+"gaps"); r.StatusCode != http.StatusMovedPermanently || r.Header.Get("Location") != base+"gaps/" {
		t.Errorf("%sgaps answers %d to %s", base, r.StatusCode, r.Header.Get("Location"))
	}
	r := ask(t, h, base+"no/such/page/")
	if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusNotFound || !bytes.Contains(text, []byte("No such page")) {
		t.Errorf("an address without a page answers %d", r.StatusCode)
	}
}

// A page deep below the base that isn't there is still one of the site: its style and its
// ways on work.
func TestAMissingPageIsStyledHoweverDeep(t *testing.T) {
	s := theSite(t)
	h := githubPages(s.dir, base)
	text, err := io.ReadAll(ask(t, h, base+"no/such/page/").Body)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") {
				loaded++
				if !strings.HasPrefix(a.Val, base) || ask(t, h, a.Val).StatusCode != http.StatusOK {
					t.Errorf("the missing page's <%s %s=%q> does not work from a deep address", n.Data, a.Key, a.Val)
				}
			}
		}
	}
	if loaded < 5 {
		t.Errorf("the missing page has %d links in all", loaded)
	}
}
