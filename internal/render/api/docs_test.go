package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs.json anew from the sources")

// sources are the packages whose structs the schemas describe.
var sources = []string{"../../row", "../../roofline", "."}

// What the schemas say of a field is what its struct says of it today.
func TestDocsAreThoseOfTheSources(t *testing.T) {
	all := map[string]map[string]string{}
	for _, dir := range sources {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					for _, spec := range g.Specs {
						gather(all, parsed.Name.Name, g, spec.(*ast.TypeSpec))
					}
				}
			}
		}
	}
	want, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("docs.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, docsFile) {
		t.Error("docs.json is not what the sources say now; write it anew: go test ./internal/render/api -update")
	}
}

// gather notes what is said of a struct and of each of its fields that JSON has.
func gather(all map[string]map[string]string, pkg string, g *ast.GenDecl, spec *ast.TypeSpec) {
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	said := map[string]string{}
	for _, f := range st.Fields.List {
		if f.Tag == nil || !strings.Contains(f.Tag.Value, "json:") {
			continue
		}
		text := line(f.Comment)
		if text == "" {
			text = line(f.Doc)
		}
		for _, name := range f.Names {
			if text != "" {
				said[name.Name] = text
			}
		}
	}
	tagged := false
	for _, f := range st.Fields.List {
		tagged = tagged || f.Tag != nil && strings.Contains(f.Tag.Value, "json:")
	}
	if !tagged {
		return
	}
	doc := spec.Doc
	if doc == nil {
		doc = g.Doc
	}
	if text := line(doc); text != "" {
		said[""] = text
	}
	all[pkg+"."+spec.Name.Name] = said
}

// line is a comment in one line.
func line(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
