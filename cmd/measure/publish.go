package main

import (
	"context"
	"fmt"
)

func publish(_ context.Context, _ []string, s streams) int {
	fmt.Fprintln(s.err, "measure publish: stub")
	return exitUsage
}
