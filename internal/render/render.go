// Package render compiles the catalogue and the published rows into the static site:
// it loads and checks everything, judges each row by its gates, writes the pages from
// the templates in site/, and puts the whole folder in place only when nothing is
// wrong. The same input gives the same bytes.
package render

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/html"
	"github.com/tdewolff/minify/v2/svg"

	"rowproof/internal/catalog"
	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/render/kept"
	"rowproof/internal/row"
)

// Options of one build.
type Options struct {
	Root   string // the folder that holds data/, content/ and site/
	Out    string // the folder to write; replaced whole
	Base   string // the path that the site is served under: "/" or "/name/"
	Origin string // scheme and host, where known: "https://owner.github.io"
	Demo   bool   // admit rows of the embedded engine; every page then says so
	Now    string // RFC 3339 in UTC: no row may be of later
	Cache  string // the folder where a build keeps what the next need not work out again; "" keeps nothing

	Seen func(kind, address string, page any) // is told each page before it is drawn, where given: for benchmarks; several at once
}

// Sizes of a site: what GitHub Pages serves at most, and where a build begins to warn.
const (
	mostBytes = 1_000_000_000
	WarnBytes = 700_000_000
)

// MostRows is how many rows a site is made for: each has its page, and all are held in
// memory without their samples while the pages that compare them are written.
const MostRows = 10_000

// Result of a build.
type Result struct {
	Dir   string
	Pages int
	Files int
	Rows  int
	Bytes int64

	Unchanged bool // nothing was written since the last build, so nothing was done
}

// Refused is the answer to input that may not become a site: every reason, each with
// its file, line and column where it has one.
type Refused struct{ Reasons []string }

func (r *Refused) Error() string { return strings.Join(r.Reasons, "\n") }

// site is one build at work.
type site struct {
	opts     Options
	fsys     fs.FS
	out      *output
	links    *links
	minifier *minify.M
	assets   assets
	pages    map[string]*template.Template // by page kind
	reasons  []string
	frame    frame

	mu    sync.Mutex
	pageN int
	built []string // addresses for the site map

	strategies map[string]*row.Strategy
	today      *catalog.Catalog // before rows bring in what they were measured against
	charts     *chart.Engine

	severalEngines map[recipeKey]bool // cells that rank with more than one

	cache    *cache      // nil: nothing is kept
	rowPages kept.Digest // of all that rows' pages are made from beside the rows
}

// Build writes the site. An error of type *Refused lists what is wrong with the input.
func Build(ctx context.Context, opts Options) (*Result, error) {
	dest, err := filepath.Abs(opts.Out)
	if err != nil {
		return nil, err
	}
	cache := openCache(opts, dest)
	if r := cache.unchanged(opts, dest); r != nil {
		return r, nil
	}
	out, err := newOutput(dest)
	if err != nil {
		return nil, err
	}
	defer out.discard()
	if cache = cache.read(); cache != nil {
		out.had = cache.old
	}
	s := &site{
		opts:     opts,
		fsys:     os.DirFS(opts.Root),
		out:      out,
		links:    newLinks(opts.Base),
		minifier: newMinifier(),
		pages:    map[string]*template.Template{},
		charts:   chart.NewEngine(opts.Root, filepath.Join(opts.Root, ".cache", "charts")),
		cache:    cache,
	}
	w := s.load()
	if err := s.parseTemplates(); err != nil {
		s.refuse(err)
	}
	if err := s.buildAssets(); err != nil {
		s.refuse(err)
	}
	s.frame = s.newFrame()
	s.rowPages = s.rowPagesOf()
	if err := s.readRows(ctx, w); err != nil {
		return nil, err
	}
	if len(s.reasons) > 0 {
		return nil, &Refused{s.reasons}
	}
	s.frame.Newest = newest(w.rows)
	if err := s.writePages(w); err != nil {
		return nil, err
	}
	if problems := s.links.check(out.files); len(problems) > 0 {
		return nil, &Refused{problems}
	}
	files, size := out.size()
	if size > mostBytes {
		return nil, &Refused{[]string{fmt.Sprintf("the site would be %s; GitHub Pages serves up to %s", format.Bytes(float64(size)), format.Bytes(mostBytes))}}
	}
	if err := out.commit(); err != nil {
		return nil, err
	}
	result := &Result{Dir: out.dest, Pages: s.pageN, Files: files, Rows: len(w.rows), Bytes: size}
	s.cache.done(opts, out, result)
	return result, nil
}

// rowPagesOf sums up what each row's page is made from beside its row: gen, the options,
// the catalogue, the templates and the addresses of what pages load.
func (s *site) rowPagesOf() kept.Digest {
	if s.cache == nil {
		return kept.Digest{}
	}
	base := s.cache.sumUnder("site/base", func(path string) bool { return !strings.HasSuffix(path, ".tmpl") })
	own := s.cache.sumUnder("site/row", func(path string) bool { return !strings.HasSuffix(path, ".tmpl") })
	data := s.cache.sumUnder("data", func(path string) bool {
		return strings.HasPrefix(path, "data/rows/") || path == "data/withdrawn.yaml"
	})
	return kept.Of(s.cache.gen, base, own, data, fmt.Sprintf("%+v", s.frame), s.opts.Demo, s.assets.full, s.scriptsOf("row"))
}

// refuse notes reasons; the build goes on, to find them all.
func (s *site) refuse(errs ...error) {
	for _, err := range errs {
		s.reasons = append(s.reasons, strings.Split(err.Error(), "\n")...)
	}
}

func newMinifier() *minify.M {
	m := minify.New()
	m.AddFunc("text/css", css.Minify)
	m.AddFunc("image/svg+xml", svg.Minify)
	m.Add("text/html", &html.Minifier{
		KeepDefaultAttrVals: true, KeepDocumentTags: true, KeepEndTags: true, KeepQuotes: true,
	})
	return m
}

func (s *site) minify(mediatype string, data []byte) ([]byte, error) {
	return s.minifier.Bytes(mediatype, data)
}

// frame is what the layout says on every page.
type frame struct {
	Base    string
	Demo    bool
	Policy  string
	Style   string
	Icon    string
	Lean    string // the module that loads by itself
	Held    string // the hash that it is held against
	Nav     []navItem
	Version string
	Origin  string
	Newest  string // the day of the newest row; on a row's page its own
}

type navItem struct{ Text, Address string }

// policy is the site's content policy: nothing from elsewhere, nothing inline.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"

// page is one page to write: the layout takes it whole, its template takes Main.
type page struct {
	frame
	Address     string // without base; "" is the home page
	Kind        string // names its folder under site/
	Section     string // the navigation item it stands under, or elsewhere
	Title       string
	Description string
	Wide        bool
	Scripts     []string
	Main        any
	Of          kept.Digest // of all that it is made from; nothing where each build makes it again
}

// elsewhere is the section of pages that stand under no navigation item.
const elsewhere = "elsewhere"

// Current is the aria-current value of a navigation item.
func (p *page) Current(n navItem) string {
	switch n.Address {
	case p.Address:
		return "page"
	case p.Section:
		return "true"
	}
	return ""
}

// parseTemplates reads one set a page kind: the shared parts and its own.
func (s *site) parseTemplates() error {
	own, err := fs.Glob(s.fsys, "site/*/*.tmpl")
	if err != nil {
		return err
	}
	funcs := template.FuncMap{
		"url":      func(address string) string { return s.opts.Base + address },
		"more":     func(columns int) string { return more(columns) + " to the right." },
		"noLetter": func(reason string) dash { return dash{Reason: reason} },
	}
	base, err := template.New("layout.tmpl").Funcs(funcs).ParseFS(s.fsys, "site/base/*.tmpl")
	if err != nil {
		return err
	}
	for _, name := range own {
		kind := path.Base(path.Dir(name))
		if kind == "base" {
			continue
		}
		t := s.pages[kind]
		if t == nil {
			if t, err = base.Clone(); err != nil {
				return err
			}
		}
		if s.pages[kind], err = t.ParseFS(s.fsys, name); err != nil {
			return err
		}
	}
	return nil
}

// write renders one page, minifies it, notes its links and puts it into the output.
func (s *site) write(p *page) error {
	day := p.Newest
	p.frame = s.frame
	p.Newest = cmp.Or(day, p.Newest)
	p.Scripts = s.scriptsOf(p.Kind)
	t := s.pages[p.Kind]
	if t == nil {
		return fmt.Errorf("site/%s: no template for /%s", p.Kind, p.Address)
	}
	if s.opts.Seen != nil {
		s.opts.Seen(p.Kind, p.Address, p)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout.tmpl", p); err != nil {
		return fmt.Errorf("/%s: %w", p.Address, err)
	}
	small, err := s.minify("text/html", b.Bytes())
	if err != nil {
		return fmt.Errorf("/%s: %w", p.Address, err)
	}
	l := s.links.read(small)
	file := s.wrote(p.Address, l)
	if p.Of != (kept.Digest{}) && s.cache != nil {
		s.cache.puts(file, p.Of, l)
	}
	return s.out.write(file, small)
}

// wrote counts a page in, and tells its file.
func (s *site) wrote(address string, l *pageLinks) (file string) {
	s.links.add(address, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageN++
	if address == "" || strings.HasSuffix(address, "/") {
		s.built = append(s.built, address)
	}
	return pageFile(address)
}

// pageFile is where the page of an address lies.
func pageFile(address string) string {
	if address == "" || strings.HasSuffix(address, "/") {
		return address + "index.html"
	}
	return address
}

// takePage takes a page over from the last build, if it was made of the same.
func (s *site) takePage(address string, of kept.Digest) bool {
	file := pageFile(address)
	k := s.out.had[file]
	if k == nil || k.Links == nil || !s.out.take(file, of) {
		return false
	}
	s.cache.puts(file, of, k.Links)
	s.wrote(address, k.Links)
	return true
}

// siteMap lists every page where the origin is known: its form takes whole addresses alone.
func (s *site) siteMap() error {
	slices.Sort(s.built)
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for _, address := range s.built {
		fmt.Fprintf(&b, "<url><loc>%s%s%s</loc></url>\n", s.opts.Origin, s.opts.Base, template.HTMLEscapeString(address))
	}
	b.WriteString("</urlset>\n")
	robots := "User-agent: *\nAllow: /\n"
	if s.opts.Origin != "" {
		robots += "Sitemap: " + s.opts.Origin + s.opts.Base + "sitemap.xml\n"
		if err := s.out.write("sitemap.xml", b.Bytes()); err != nil {
			return err
		}
	}
	if err := s.out.write("robots.txt", []byte(robots)); err != nil {
		return err
	}
	return s.out.write(marker, nil)
}
