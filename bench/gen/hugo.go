package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"rowproof/internal/render"
)

// hugoVersion is the release that is compared with.
const hugoVersion = "v0.152.2"

// installHugo builds Hugo from its module into a folder, once.
func installHugo(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(dir, hugoVersion))
	if err != nil {
		return "", err
	}
	hugo := filepath.Join(dir, "hugo")
	if _, err := os.Stat(hugo); err == nil {
		return hugo, nil
	}
	install := exec.CommandContext(ctx, "go", "install", "github.com/gohugoio/hugo@"+hugoVersion)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "CGO_ENABLED=0")
	install.Stdout, install.Stderr = os.Stderr, os.Stderr
	if err := install.Run(); err == nil {
		return hugo, nil
	}
	// Debian packages it too.
	if found, err := exec.LookPath("hugo"); err == nil {
		return found, nil
	}
	return "", errors.New("hugo: go install could not build it; apt-get install hugo gives another release")
}

// kinds are the pages that Hugo is given: all that grow with the rows.
var kinds = map[string]bool{"row": true, "model": true}

// makeHugo lays out the same pages for Hugo: our own templates in its dialect, and for
// each page all that its template shows, ready made, graphics too, as front matter. It
// tells how many there are.
func makeHugo(ctx context.Context, root, site string) (int, error) {
	var mu sync.Mutex
	pages := 0
	var failed error
	seen := func(kind, address string, page any) {
		if !kinds[kind] {
			return
		}
		err := func() error {
			text, err := json.Marshal(page)
			if err != nil {
				return err
			}
			var view map[string]any
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(&view); err != nil {
				return err
			}
			// What a method would say of each navigation item.
			section, _ := view["Section"].(string)
			for _, item := range view["Nav"].([]any) {
				item := item.(map[string]any)
				item["Current"] = ""
				if item["Address"] == section {
					item["Current"] = "true"
				}
			}
			front, err := json.Marshal(map[string]any{"title": view["Title"], "url": "/" + address, "layout": kind, "page": []any{view}})
			if err != nil {
				return err
			}
			dir := filepath.Join(site, "content", filepath.FromSlash(strings.TrimSuffix(address, "/")))
			if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
				return err
			}
			return os.WriteFile(dir+".md", append(front, '\n'), 0o644)
		}()
		mu.Lock()
		defer mu.Unlock()
		pages++
		failed = errors.Join(failed, err)
	}
	if _, err := render.Build(ctx, render.Options{Root: root, Out: filepath.Join(site, "..", "first"), Base: "/", Now: now(), Seen: seen}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	config := `baseURL = "/"
disableKinds = ["home", "section", "taxonomy", "term", "RSS", "404"]
[minify]
  minifyOutput = true
  [minify.tdewolff.html]
    keepDefaultAttrVals = true
    keepDocumentTags = true
    keepEndTags = true
    keepQuotes = true
    keepComments = false
`
	if err := os.WriteFile(filepath.Join(site, "hugo.toml"), []byte(config), 0o644); err != nil {
		return 0, err
	}
	for kind := range kinds {
		text, err := hugoLayout(root, kind)
		if err != nil {
			return 0, err
		}
		name := filepath.Join(site, "layouts", "_default", kind+".html")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return 0, err
		}
	}
	return pages, nil
}

var (
	graphics = regexp.MustCompile(`\{\{(\.(?:[A-Za-z]+\.)*(?:SVG|Narrow|Wide|Swatch|Strip|Bar))\}\}`)
	urlVar   = regexp.MustCompile(`\{\{url (\S+)\}\}`)
	noLetter = regexp.MustCompile(`\(noLetter (\S+)\)`)
	current  = regexp.MustCompile(`\{\{with \$page\.Current \.\}\}`)
	query    = regexp.MustCompile(`(id="ceiling-query">)\{\{\.\}\}`)
	defines  = regexp.MustCompile(`\{\{define "([^"]+)"\}\}`)
	uses     = regexp.MustCompile(`\{\{(-? ?)template "([^"]+)"`)
)

// hugoLayout is the template of one kind of page in Hugo's dialect.
func hugoLayout(root, kind string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "site", "base", "*.tmpl"))
	if err != nil {
		return "", err
	}
	own, err := filepath.Glob(filepath.Join(root, "site", kind, "*.tmpl"))
	if err != nil {
		return "", err
	}
	var layout, parts string
	for _, file := range append(files, own...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if filepath.Base(file) == "layout.tmpl" {
			layout = string(data)
		} else {
			parts += string(data)
		}
	}
	text := `{{template "layout" (index .Params.page 0)}}` + "\n" + `{{define "layout"}}` + layout + "{{end}}\n" + parts
	text = graphics.ReplaceAllString(text, `{{$1 | safeHTML}}`)
	text = urlVar.ReplaceAllString(text, `{{printf "/%s" $1}}`)
	text = noLetter.ReplaceAllString(text, `(dict "Letter" "" "Reason" $1)`)
	text = current.ReplaceAllString(text, `{{with .Current}}`)
	text = query.ReplaceAllString(text, `$1{{. | jsonify | safeJS}}`)
	// Definitions of all layouts share one space of names.
	text = defines.ReplaceAllString(text, `{{define "`+kind+`-$1"}}`)
	text = uses.ReplaceAllString(text, `{{${1}template "`+kind+`-$2"`)
	return text, nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// sameText compares what two pages say, without the space between their tags.
func sameText(ours, theirs []byte) error {
	a, b := squeeze(ours), squeeze(theirs)
	if a == b {
		return nil
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return fmt.Errorf("at %d of %d and %d bytes: …%s… and …%s…", i, len(a), len(b), clip(a, i), clip(b, i))
}

func clip(s string, at int) string { return s[max(0, at-60):min(len(s), at+60)] }

var space = regexp.MustCompile(`\s+`)

// asked is the JSON that a script reads, of which only the order of names may differ.
var asked = regexp.MustCompile(`(?s)<script type="?application/json"? id="?ceiling-query"?>.*?</script>`)

func squeeze(page []byte) string {
	page = asked.ReplaceAll(page, nil)
	return strings.NewReplacer(" <", "<", "> ", ">").Replace(space.ReplaceAllString(string(page), " "))
}
