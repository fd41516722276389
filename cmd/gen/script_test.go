package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rowproof/internal/rowtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gen": func() {
			os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// TestScripts runs each testdata/script/*.txtar as a user at a shell would. The command
// root puts the checkout's catalogue, content and site and one healthy report into the
// working directory.
func TestScripts(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"root": func(ts *testscript.TestScript, _ bool, _ []string) {
				for _, dir := range []string{"data/models", "data/targets", "data/strategies", "data/cells", "content", "site"} {
					ts.Check(os.CopyFS(ts.MkAbs(dir), os.DirFS(filepath.Join(repository, dir))))
				}
				ts.Check(os.Symlink(filepath.Join(repository, "node_modules"), ts.MkAbs("node_modules")))
				ts.Check(os.Mkdir(ts.MkAbs("bin"), 0o755))
				for _, module := range []string{"lean", "full"} {
					ts.Check(os.WriteFile(ts.MkAbs("bin/"+module+".wasm"), []byte("\x00asm"), 0o644))
				}
				r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
				_, err := rowtest.Write(ts.MkAbs("."), r, samples, evidence)
				ts.Check(err)
			},
		},
	})
}
