package main

import (
	"context"
	"fmt"
)

func gaps(_ context.Context, _ []string, s streams) int {
	fmt.Fprintln(s.err, "measure gaps: stub")
	return exitUsage
}
