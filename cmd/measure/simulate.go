package main

import (
	"context"
	"fmt"
)

func simulate(_ context.Context, _ []string, s streams) int {
	fmt.Fprintln(s.err, "measure simulate: stub")
	return exitUsage
}
