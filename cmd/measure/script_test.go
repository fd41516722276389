package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "measure" { // as which a script calls it
		// A calibration of this host is none of the tests' business, nor theirs its own.
		os.Setenv("XDG_CACHE_HOME", "/dev/null")
	}
	testscript.Main(m, map[string]func(){
		"measure": main,
	})
}

// TestScripts runs each testdata/script/*.txtar as a user at a shell would.
func TestScripts(t *testing.T) {
	// Files that are no text: the checkpoints that the reader of their headers is tested with.
	checkpoints, err := filepath.Abs("../../internal/checkpoint/testdata/field")
	if err != nil {
		t.Fatal(err)
	}
	results, err := filepath.Abs("../../internal/harness/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: reportCommands, Setup: func(e *testscript.Env) error {
		e.Setenv("CHECKPOINTS", checkpoints)
		e.Setenv("HARNESS", results) // real files of other tools
		return nil
	}})
}
