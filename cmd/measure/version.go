package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"

	"rowproof/internal/version"
)

func versionVerb(_ context.Context, args []string, s streams) int {
	fs := pflag.NewFlagSet("version", pflag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print as JSON")
	usage(fs, "version [--json]", "Say which build this is and which form of report it writes.", "measure version --json")
	if code, done := parse(fs, args, s); done {
		return code
	}
	v := version.Read()
	if *asJSON {
		e := json.NewEncoder(s.out)
		e.SetIndent("", " ")
		if e.Encode(v) != nil {
			return exitFailed
		}
		return exitOK
	}
	revision := v.Revision
	if revision == "" {
		revision = "unknown revision"
	}
	fmt.Fprintf(s.out, "measure %s (%s, %s, writes %s)\n", v.Version, revision, v.Go, v.Schema)
	return exitOK
}
