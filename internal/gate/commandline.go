package gate

import (
	"slices"
	"strings"

	"rowproof/internal/row"
)

// fromCommandLine is where a receipt's arguments came from that a server's process was
// asked for.
const fromCommandLine = "process command line"

// commandApart says where a receipt's arguments are not those of the command line that they
// were read from; "" where they are. The model, which may stand there without a flag, is
// held apart.
func commandApart(e *row.EngineReceipt) string {
	if e.ArgumentsFrom != fromCommandLine {
		return ""
	}
	if len(e.CommandLine) == 0 {
		return "the arguments were read from the process's command line, and there is none in the receipt"
	}
	said, arguments := normal(row.ArgumentsOf(e.CommandLine)), normal(e.Arguments)
	names := keys(said, nil)
	for _, name := range keys(arguments, nil) {
		if _, ok := said[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if slices.Contains(ownChoice, name) {
			continue
		}
		a, given := arguments[name]
		b, there := said[name]
		if given != there || a != b {
			return "--" + name + " is " + givenOr(a, given) + " among the arguments and " + givenOr(b, there) + " on the command line that they were read from"
		}
	}
	return ""
}

func givenOr(value string, there bool) string {
	if !there {
		return "not given"
	}
	return value
}

// Arguments that say where a server answers and what it serves, which each run chooses.
var ownChoice = []string{"model", "model-path", "model-tag", "tokenizer", "tokenizer-path", "served-model-name", "host", "port", "api-key", "uvicorn-log-level", "log-level", "disable-log-requests", "download-dir"}

// Parts of the names of arguments by which a server measures another model, or guesses: no
// row of a recipe that does not state them.
var another = []string{"override", "speculative", "draft"}

// unstated are the arguments on the server's command line that its recipe does not state:
// those by which it is another server, and the others.
func unstated(r *row.Report) (wrong, besides []string) {
	e := &r.Receipt.Engine
	if len(e.CommandLine) == 0 {
		return nil, nil
	}
	stated := slices.Clone(ownChoice)
	for _, f := range splitFlags(slices.Concat(r.AsItWas.Recipe.Flags, r.AsItWas.Recipe.Launch)) {
		stated = append(stated, f.name)
	}
	said := normal(row.ArgumentsOf(e.CommandLine))
	for _, name := range keys(said, nil) {
		if slices.Contains(stated, name) {
			continue
		}
		text := "--" + name + " " + said[name]
		if slices.ContainsFunc(another, func(part string) bool { return strings.Contains(name, part) }) {
			wrong = append(wrong, text)
		} else {
			besides = append(besides, text)
		}
	}
	return wrong, besides
}
