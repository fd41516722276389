package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const (
	launchWhat = `Print the command that starts a recipe's server, its environment before it, on one
line for a shell. Random weights are served from a folder in the working directory that
is called as the model and holds its config and tokenizer.`
	launchExample = `measure launch llama-3.1-8b/h200-sxm/latency/vllm`
)

func launch(_ context.Context, args []string, s streams) int {
	var root string
	var port uint16
	flags := pflag.NewFlagSet("launch", pflag.ContinueOnError)
	usage(flags, "launch RECIPE [flags]", launchWhat, launchExample)
	flags.Uint16Var(&port, "port", defaultPort, "port that the server is to listen on")
	flags.StringVar(&root, "root", "", "folder that holds data/ (default the catalogue in this binary)")
	if code, done := parse(flags, args, s); done {
		return code
	}
	if flags.NArg() != 1 {
		return complain(s, "launch", exitUsage, []string{fmt.Sprintf("%s: want one RECIPE, MODEL/TARGET/STRATEGY/ENGINE", countOf(flags.NArg(), "argument")), "See: measure launch --help"})
	}
	known, faults := openCatalog(root)
	if len(faults) > 0 {
		return complain(s, "launch", exitFailed, faults)
	}
	recipe := flags.Arg(0)
	r := known.Recipes[recipe]
	if r == nil {
		there := sortedKeys(known.Recipes)
		nearestFirst(recipe, there)
		return complain(s, "launch", exitUsage, []string{"no recipe " + recipe + "; there are, nearest first:\n  " + strings.Join(there, "\n  ")})
	}
	if r.Runtime.Image != "" {
		return complain(s, "launch", exitFailed, []string{recipe + " runs from an image: start " + r.Runtime.Image + " as the recipe's page says"})
	}
	model, _, _ := strings.Cut(recipe, "/")
	fmt.Fprintln(s.out, launchLine(model, r, port))
	return exitOK
}
