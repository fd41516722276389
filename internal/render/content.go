package render

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// article is one Markdown page: its first h1 is the title, the rest its body.
type article struct {
	Title    string
	Lead     string    // the first paragraph as plain text, for search results
	Sections []section // its contents list; none of a short page
	Headings []section // of the second level, each with its id
	Terms    []term    // of the glossary
	Body     template.HTML
}

// section is a heading of an article and those below it.
type section struct {
	Name, ID string
	Sections []section
}

// Fewer sections than this need no contents list.
const fewSections = 6

// readArticle renders content/NAME.md. A link without a scheme is an address of the
// site, such as methodology/#gates, and gets the base.
func readArticle(fsys fs.FS, name, base string) (*article, error) {
	path := "content/" + name + ".md"
	source, err := fs.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&blocks{}, 100))),
	)
	doc := md.Parser().Parse(text.NewReader(source))
	title, ok := doc.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		return nil, fmt.Errorf("%s:1:1: the page must begin with its title, a line that starts with \"# \"", path)
	}
	a := &article{Title: plain(title, source)}
	if p, ok := title.NextSibling().(*ast.Paragraph); ok {
		a.Lead = plain(p, source)
	}
	doc.RemoveChild(doc, title)
	all := sectionsOf(doc, source)
	a.Headings = all
	if len(all) >= fewSections {
		a.Sections = all
	}
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering && !outward.Match(l.Destination) {
			l.Destination = append([]byte(base), bytes.TrimPrefix(l.Destination, []byte("/"))...)
		}
		if c, ok := n.(*tables.TableCell); ok && entering && c.Parent().Kind() == tables.KindTableHeader {
			c.SetAttributeString("scope", []byte("col"))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, doc); err != nil {
		return nil, err
	}
	a.Body = template.HTML(b.String())
	if name == "glossary" {
		a.Body, a.Terms = termsOf(a.Body)
	}
	return a, nil
}

// sectionsOf are the headings of the second level with those of the third below them.
func sectionsOf(doc ast.Node, source []byte) []section {
	var all []section
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Level > 3 {
			continue
		}
		p := section{Name: plain(h, source)}
		if id, ok := h.AttributeString("id"); ok {
			p.ID = string(id.([]byte))
		}
		if last := len(all) - 1; h.Level == 3 && last >= 0 {
			all[last].Sections = append(all[last].Sections, p)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// outward destinations leave the site, or stay on the page.
var outward = regexp.MustCompile(`^([a-z]+:|#)`)

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// blocks writes code blocks as commands that can be copied, and tables inside a region
// that scrolls by itself.
type blocks struct{}

func (*blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		w.WriteString(`<div class="cmd"><p><span></span><button type="button" class="copy" hidden>Copy</button></p><pre tabindex="0"><code>`)
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			w.Write(util.EscapeHTML(line.Value(source)))
		}
		w.WriteString("</code></pre></div>\n")
		return ast.WalkSkipChildren, nil
	})
	r.Register(tables.KindTable, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			w.WriteString("</table></section>\n")
			return ast.WalkContinue, nil
		}
		w.WriteString(`<section class="scroll" tabindex="0" aria-label="`)
		w.Write(util.EscapeHTML([]byte(heading(n, source))))
		w.WriteString("\"><table>\n")
		return ast.WalkContinue, nil
	})
}

// heading is the text of the last heading before a block, which names its region.
func heading(n ast.Node, source []byte) string {
	for ; n != nil; n = n.PreviousSibling() {
		if h, ok := n.(*ast.Heading); ok {
			return "Table: " + plain(h, source)
		}
	}
	return "Table"
}
