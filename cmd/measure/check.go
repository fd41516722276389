package main

import (
	"context"
	"fmt"
)

func check(_ context.Context, _ []string, s streams) int {
	fmt.Fprintln(s.err, "measure check: stub")
	return exitUsage
}
