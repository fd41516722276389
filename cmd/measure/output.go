package main

import (
	"encoding/json"
	"fmt"

	"rowproof/internal/roofline"
)

// complain writes every problem, one a line, and returns the code.
func complain(s streams, verb string, code int, problems []string) int {
	for _, p := range problems {
		fmt.Fprintf(s.err, "measure %s: %s\n", verb, p)
	}
	return code
}

func printJSON(s streams, v any) int {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		fmt.Fprintln(s.err, "measure:", err)
		return exitFailed
	}
	return exitOK
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return roofline.Number(float64(n)) + " " + noun + "s"
}
