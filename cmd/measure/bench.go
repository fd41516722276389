package main

import (
	"context"
	"fmt"
)

func bench(_ context.Context, _ []string, s streams) int {
	fmt.Fprintln(s.err, "measure bench: stub")
	return exitUsage
}
