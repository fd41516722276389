package main

import (
	"context"
	"fmt"
	"strings"

	"rowproof/internal/launch"
)

const (
	launchWhat = `Print the command that starts a recipe's server, its environment before it, on one
line for a shell. Random weights are served from a folder in the working directory that
is called as the model and holds its config and tokenizer.`
	launchExample = `measure launch llama-3.1-8b/h200-sxm/latency/vllm`
)

func launchVerb(_ context.Context, args []string, s streams) int {
	var root, means string
	var list bool
	var port uint16
	flags := newCollector("launch")
	usage(flags.FlagSet, "launch RECIPE [flags]", launchWhat, launchExample)
	flags.port(&port, defaultPort, 1, "port that the server is to listen on")
	flags.choice("runtime", &means, "", launchMeans, "what is to run it: "+strings.Join(launchMeans, ", ")+"; without it a process, or docker for an image")
	flags.BoolVar(&list, "list", false, "print the name of every recipe, one a line")
	flags.StringVar(&root, "root", "", "folder that holds data/ (default the catalogue in this binary)")
	if code, done := flags.parse(args, s); done {
		return code
	}
	flags.root(root)
	if flags.NArg() != 1 && flags.allKnown() && !list {
		flags.wrong("%s: want one RECIPE, MODEL/TARGET/STRATEGY/ENGINE, or --list", countOf(flags.NArg(), "argument"))
	}
	if flags.NArg() > 0 && flags.allKnown() && list {
		flags.wrong("--list with %s: want one of the two", strings.Join(flags.Args(), " "))
	}
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	known, faults := openCatalog(root)
	if len(faults) > 0 {
		return complain(s, "launch", exitFailed, faults)
	}
	if list {
		fmt.Fprintln(s.out, strings.Join(sortedKeys(known.Recipes), "\n"))
		return exitOK
	}
	recipe := flags.Arg(0)
	r := known.Recipes[recipe]
	if r == nil {
		return complain(s, "launch", exitUsage, []string{noRecipe(known, recipe)})
	}
	switch image := r.Runtime.Image != ""; {
	case means == "" && image:
		means = launch.Docker
	case means == "":
		means = launch.Process
	case !image && means != launch.Process:
		return complain(s, "launch", exitUsage, []string{"--runtime " + means + ": " + recipe + " names packages and no image; want --runtime process"})
	}
	model, _, _ := strings.Cut(recipe, "/")
	fmt.Fprintln(s.out, launch.For(model, r, launch.Options{Means: means, Port: port, Cache: hubCache()}).Line())
	return exitOK
}
