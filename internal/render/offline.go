package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"golang.org/x/net/html"
)

// offlineFile is the explorer as one file: its rows, its script, its style and the module
// stand inside it, so that it works from a disk without a network.
const offlineFile = "rowproof.html"

// exploreAddress is the page that the file is made from.
const exploreAddress = "explore/"

// writeOffline makes the file out of the explorer's built page.
func (s *site) writeOffline(w *world) error {
	page, err := s.out.read(exploreAddress + "index.html")
	if err != nil {
		return err
	}
	script, err := s.standalone()
	if err != nil {
		return err
	}
	style, err1 := s.out.read(s.assets.style)
	icon, err2 := s.out.read(s.assets.icon)
	lean, err3 := s.out.read(s.assets.lean.address)
	index, err4 := s.out.read(searchFile)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	module, err := packedText(lean)
	if err != nil {
		return err
	}
	o := &alone{base: s.opts.Base, home: s.homeAddress(), style: style, script: script, icon: icon}
	o.policy = "default-src 'none'; script-src '" + sourceHash(script) + "' 'wasm-unsafe-eval'; style-src '" + sourceHash(style) + "'; img-src data:; base-uri 'none'; form-action 'none'"
	o.hold("lean-wasm", "application/gzip", module)
	o.hold("search-index", "application/json", string(index))
	o.note = "A copy of " + html.EscapeString(o.home) + " that needs no network"
	if day := newest(w.rows); day != "" {
		o.note += ", newest row of " + day
	}
	o.note += ". What is not in it, as a row’s own page, opens there."
	if err := o.rewrite(page, func(file string) ([]byte, error) { return s.out.read(file) }); err != nil {
		return fmt.Errorf("%s: %w", offlineFile, err)
	}
	return s.out.write(offlineFile, o.out.Bytes())
}

// homeAddress is where the site stands, or where make serves it.
func (s *site) homeAddress() string {
	if s.opts.Origin == "" {
		return elsewhereServed + s.opts.Base
	}
	return s.opts.Origin + s.opts.Base
}

// standalone is the script of every page and the explorer's in one piece.
func (s *site) standalone() ([]byte, error) {
	root, err := filepath.Abs(s.opts.Root)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		Stdin:         &api.StdinOptions{Contents: "import \"./site/js/site\";\nimport \"./site/explore/explore\";\n", ResolveDir: root, Loader: api.LoaderTS},
		Bundle:        true, Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LogLevel: api.LogLevelSilent,
	})
	for _, m := range append(result.Errors, result.Warnings...) {
		return nil, errors.New(offlineFile + ": " + m.Text)
	}
	return result.OutputFiles[0].Contents, nil
}

// sourceHash names what a policy lets stand inline.
func sourceHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// packedText is a file packed by gzip, in base64.
func packedText(data []byte) (string, error) {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z := gzip.NewWriter(text)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := errors.Join(z.Close(), text.Close()); err != nil {
		return "", err
	}
	return b.String(), nil
}

// alone rewrites a page so that it asks nothing of its site.
type alone struct {
	base, home    string
	policy, note  string
	style, script []byte
	icon          []byte
	blocks        bytes.Buffer // what it holds, each under its id
	out           bytes.Buffer
}

// hold puts a file inside the page. A data block ends at the first </script, so in JSON
// each < is written as its code; base64 has none.
func (o *alone) hold(id, kind, text string) {
	fmt.Fprintf(&o.blocks, "<script type=%q id=%q>%s</script>\n", kind, id, strings.ReplaceAll(text, "<", `\u003c`))
}

// rewrite copies the page with what it loads put inside, and what it links to called by
// its whole address.
func (o *alone) rewrite(page []byte, file func(string) ([]byte, error)) error {
	z := html.NewTokenizer(bytes.NewReader(page))
	inData, scripted, ended := false, false, false
	for {
		kind := z.Next()
		raw := bytes.Clone(z.Raw())
		switch kind {
		case html.ErrorToken:
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			switch {
			case tag.Data == "link" && valueOf(tag, "rel") == "stylesheet":
				fmt.Fprintf(&o.out, "<style>%s</style>", o.style)
				continue
			case tag.Data == "link" && valueOf(tag, "rel") == "alternate", tag.Data == "meta" && strings.HasPrefix(valueOf(tag, "property"), "og:"):
				continue
			case tag.Data == "script" && valueOf(tag, "src") != "":
				if !scripted { // both are in one
					fmt.Fprintf(&o.out, "<script type=\"module\">%s</script>", o.script)
				}
				scripted, ended = true, true
				continue
			}
			inData = tag.Data == "script" && valueOf(tag, "id") == "explore-data"
			if o.changes(&tag) {
				raw = []byte(tag.String())
			}
			if tag.Data == "main" {
				raw = fmt.Appendf(raw, "<p class=\"note\" id=\"copy\">%s</p>", o.note)
			}
		case html.TextToken:
			if inData {
				text, err := o.inside(string(raw), file)
				if err != nil {
					return err
				}
				raw, inData = []byte(text), false
			}
		case html.EndTagToken:
			if ended {
				ended = false
				continue
			}
			if name, _ := z.TagName(); string(name) == "body" {
				o.out.Write(o.blocks.Bytes())
			}
		}
		o.out.Write(raw)
	}
}

func valueOf(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// changes makes a tag's addresses whole and says whether it had any.
func (o *alone) changes(tag *html.Token) bool {
	changed := false
	for i := range tag.Attr {
		a := &tag.Attr[i]
		was := a.Val
		switch {
		case a.Key == "content" && valueOf(*tag, "http-equiv") == "Content-Security-Policy":
			a.Val = o.policy
		case a.Key == "content" && valueOf(*tag, "name") == "lean-wasm":
			a.Val = "#lean-wasm"
		case a.Key == "href" && valueOf(*tag, "rel") == "icon":
			a.Val = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(o.icon)
		case a.Key == "data-index":
			a.Val = "#search-index"
		case a.Key == "data-base", a.Key == "href" && strings.HasPrefix(a.Val, o.base):
			a.Val = o.home + strings.TrimPrefix(a.Val, o.base)
		}
		changed = changed || a.Val != was
	}
	return changed
}

// inside puts the explorer's rows into the page, and has its data name them there.
func (o *alone) inside(data string, file func(string) ([]byte, error)) (string, error) {
	_, rest, ok := strings.Cut(data, `"file":"`+o.base)
	name, _, ends := strings.Cut(rest, `"`)
	if !ok || !ends {
		return "", errors.New("the explorer's data name no file of rows")
	}
	rows, err := file(name)
	if err != nil {
		return "", err
	}
	whole := strings.NewReplacer(`"`+o.base+name+`"`, `"#cells"`, `"`+o.base, `"`+o.home)
	o.hold("cells", "application/json", whole.Replace(string(rows)))
	return whole.Replace(data), nil
}

// read is a file that was written before, or stays as the last build left it.
func (o *output) read(path string) ([]byte, error) {
	name := filepath.FromSlash(path)
	data, err := os.ReadFile(filepath.Join(o.temp, name))
	if _, added := o.files[path]; added && errors.Is(err, fs.ErrNotExist) {
		return os.ReadFile(filepath.Join(o.dest, name))
	}
	return data, err
}
