package imports

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// differing are functions of math whose last digit depends on the machine.
var differing = map[string]bool{"Exp": true, "Exp2": true, "Pow": true, "Pow10": true, "Log": true, "Log2": true,
	"Log10": true, "Log1p": true, "Expm1": true, "Sin": true, "Cos": true, "FMA": true}

// The same row must give the same digits on amd64, arm64 and in the browser: no function
// whose last digit depends on the machine, and no product that a compiler may fuse into
// the sum it feeds. Such a product is written float64(a*b).
func TestPurePackagesUsePortableMath(t *testing.T) {
	for _, name := range pure {
		matches, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, file := range matches {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if len(files) == 0 {
			t.Fatalf("no file in %s", name)
		}
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		config := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
		if _, err := config.Check(module+name, set, files, &info); err != nil {
			t.Fatal(err)
		}
		fused := func(e ast.Expr) bool {
			for {
				p, ok := e.(*ast.ParenExpr)
				if !ok {
					break
				}
				e = p.X
			}
			b, ok := e.(*ast.BinaryExpr)
			if !ok || b.Op != token.MUL {
				return false
			}
			tv := info.Types[b]
			basic, ok := tv.Type.Underlying().(*types.Basic)
			return ok && basic.Info()&types.IsFloat != 0 && tv.Value == nil
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "math" && differing[n.Sel.Name] {
						t.Errorf("%s: math.%s differs between machines", set.Position(n.Pos()), n.Sel.Name)
					}
				case *ast.BinaryExpr:
					if (n.Op == token.ADD || n.Op == token.SUB) && (fused(n.X) || fused(n.Y)) {
						t.Errorf("%s: a product feeds a sum; write float64(a*b)", set.Position(n.Pos()))
					}
				case *ast.AssignStmt:
					if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && fused(n.Rhs[0]) {
						t.Errorf("%s: a product feeds a sum; write float64(a*b)", set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}
