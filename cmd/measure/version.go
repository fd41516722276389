package main

import (
	"context"
	"encoding/json"
	"fmt"

	"rowproof/internal/version"
)

func versionVerb(_ context.Context, args []string, s streams) int {
	c := newCollector("version")
	asJSON := c.Bool("json", false, "print as JSON")
	usage(c.FlagSet, "version [--json]", "Say which build this is and which form of report it writes.", "measure version --json")
	if code, done := c.parse(args, s); done {
		return code
	}
	if c.NArg() > 0 && c.allKnown() {
		c.wrong("unexpected %q; it takes flags only", c.Arg(0))
	}
	if len(c.problems) > 0 {
		return c.refuse(s)
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
