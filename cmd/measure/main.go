// Measure benchmarks a model server on this host and writes rows that prove
// themselves: figures, raw samples, and a receipt of what really ran.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"rowproof/internal/launch"
)

// Exit codes, the same for every verb.
const (
	exitOK          = 0
	exitFailed      = 1 // a row failed, or check or publish refused
	exitUsage       = 2
	exitNoServer    = 3 // no server, or no access to it
	exitNotMet      = 4 // --slo or --require-verified asked for and not met
	exitRegressed   = 5 // --fail-on passed
	exitInterrupted = 130
)

// streams is what a verb may touch of the outside; tests replace it.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// verb is one subcommand. Its function parses its own flags and returns an exit code.
type verb struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, io streams) int
}

func verbs() []verb {
	return []verb{
		{"preflight", "which gates a server lets be judged, and what would open the others", preflight},
		{"bench", "measure a server: a CSV on stdout, rows with their proof under --output", bench},
		{"selftest", "measure this host's own client error, for rows to cite", selftestVerb},
		{"simulate", "run the embedded engine, whose truth is known", simulate},
		{"receipt", "what this host and a server on it say of themselves, for a client elsewhere", receiptVerb},
		{"launch", "the command that starts a recipe's server", launchVerb},
		{"ceiling", "what the hardware could possibly do for a model, with the formula filled in", ceiling},
		{"gaps", "what is not measured, ranked, each with its command", gaps},
		{"import", "turn another tool's result into a report", importVerb},
		{"compare", "two runs side by side, with honest intervals and an exit code", compareVerb},
		{"check", "run every gate over a report", check},
		{"publish", "put a verified report into data/rows", publish},
		{"withdraw", "take published rows out of the rankings, with the reason", withdraw},
		{"version", "say which build this is", versionVerb},
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == launch.KeepVerb {
		os.Exit(launch.Keep(os.Args[2:]))
	}
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		// The first interrupt ends the work in order, a second one at once.
		<-signals
		cancel()
		<-signals
		again := "measure: interrupted again: ended at once"
		if term.IsTerminal(int(os.Stderr.Fd())) {
			again = "\r\x1b[K" + again // in place of a line of progress
		}
		fmt.Fprintln(os.Stderr, again)
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := streams{stdin, stdout, stderr}
	if len(args) == 0 {
		help(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "--help", "-h":
		if len(args) == 1 {
			help(stdout)
			return exitOK
		}
		args = []string{args[1], "--help"}
	case "--version":
		return versionVerb(ctx, nil, s)
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			if len(args) == 2 && args[1] == "help" {
				args = []string{v.name, "--help"}
			}
			return v.run(ctx, args[1:], s)
		}
	}
	names := make([]string, 0, 8)
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	fmt.Fprintf(stderr, "measure: unknown verb %q; there are: %s\n", args[0], strings.Join(names, ", "))
	return exitUsage
}

func help(w io.Writer) {
	fmt.Fprint(w, "Measure a model server and prove the numbers.\n\nUsage: measure VERB [flags]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-10s %s\n", v.name, v.summary)
	}
	fmt.Fprint(w, "\nEach verb has --help with an example.\n")
}

// usage sets a verb's help: what it does, an example, its flags.
func usage(fs *pflag.FlagSet, synopsis, what, example string) {
	fs.Usage = func() {
		w := fs.Output()
		fmt.Fprintf(w, "Usage: measure %s\n\n%s\n\nExample:\n  %s\n", synopsis, what, example)
		if fs.HasFlags() {
			fmt.Fprintf(w, "\nFlags:\n%s", fs.FlagUsages())
		}
	}
}
