package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"rowproof/data"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// reportCommands make reports for scripts.
//
//	report FILE [seed=N] [repeats=N] [slowness=F] [protocol=P] [at=TIME] [simulated] [norecipe] [failed]
//	truncate FILE        cut a file in half
//	edit FILE OLD NEW    replace the first place where OLD stands
//	reseal FILE          give a report's rows the ids that follow from it
//	catalogue DIR        put this binary's models, targets and strategies below DIR/data
var reportCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"report":   reportCommand,
	"truncate": truncateCommand,
	"edit":     editCommand,
	"reseal":   resealCommand,
	"catalogue": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: catalogue DIR")
		}
		for _, kind := range []string{"models", "targets", "strategies"} {
			part, err := fs.Sub(data.FS, kind)
			ts.Check(err)
			ts.Check(os.CopyFS(ts.MkAbs(filepath.Join(args[0], "data", kind)), part))
		}
	},
}

func reportCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: report FILE [option…]")
	}
	seed := uint64(1)
	o := rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 16, Concurrency: 1}, {ISL: 128, OSL: 16, Concurrency: 4}}}
	bare, failed := false, false
	for _, a := range args[1:] {
		name, text, _ := strings.Cut(a, "=")
		number, err := strconv.ParseFloat(text, 64)
		switch name {
		case "seed", "repeats", "slowness":
			ts.Check(err)
		}
		switch name {
		case "seed":
			seed = uint64(number)
		case "repeats":
			o.Repeats = int64(number)
		case "slowness":
			o.Slowness = number
		case "protocol":
			o.Protocol = text
		case "at":
			o.MeasuredAt = text
		case "simulated":
			o.Simulated = true
		case "norecipe":
			bare = true
		case "failed": // its last row
			failed = true
		default:
			ts.Fatalf("report: unknown option %q", a)
		}
	}
	r, samples, evidence := rowtest.Report(seed, o)
	if bare {
		r.Recipe, r.AsItWas = "", (*row.AsItWas)(nil)
		rowtest.Seal(r, samples, evidence)
	}
	if failed {
		last := &r.Rows[len(r.Rows)-1]
		last.Status, last.Reason = row.StatusError, "interrupted after 3 timed requests"
	}
	ts.Check(rowtest.WriteAs(ts.MkAbs(args[0]), r, samples, evidence))
}

func truncateCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: truncate FILE")
	}
	name := ts.MkAbs(args[0])
	info, err := os.Stat(name)
	ts.Check(err)
	ts.Check(os.Truncate(name, info.Size()/2))
}

func editCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, args[1]) == 0 {
		ts.Fatalf("edit: %q does not stand in %s", args[1], args[0])
	}
	ts.Check(rowfile.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1))))
}

func resealCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: reseal FILE")
	}
	r, problems, err := rowfile.Decode([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	if len(problems) > 0 {
		ts.Fatalf("reseal: %q", problems)
	}
	for i := range r.Rows {
		r.Rows[i].ID, err = rowfile.ID(r, i)
		ts.Check(err)
	}
	data, err := rowfile.Encode(r)
	ts.Check(err)
	ts.Check(rowfile.WriteFile(ts.MkAbs(args[0]), data))
}
