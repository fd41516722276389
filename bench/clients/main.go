// Command clients holds this project's client and its peers against one truth server:
// the embedded engine, which logs when each token really left. Each client measures the
// same load as its users would run it; what it reported of each request is then joined
// to the log. Peers are installed into a cache folder at pinned versions, and one that
// cannot be is left out with the reason. It runs on Linux.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// options is what one call measures.
type options struct {
	measure string // this project's program
	cache   string // where peers, their runs and the results are kept
	peers   []string
	levels  []int // streams at once
	loads   []string
	rounds  int
	timeout time.Duration
}

// What else happens meanwhile.
const (
	quiet   = "quiet"
	starved = "starved" // a busy loop on each core
	stopped = "stopped" // the client stands still for half a second in mid-run
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] { // this program again, beside the one that measures
		case "supervise":
			os.Exit(supervise(os.Args[2:]))
		case "spin":
			spin()
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "clients: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := parse(args)
	if err != nil || o == nil {
		return err
	}
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return err
	}
	build, err := exec.CommandContext(ctx, o.measure, "version").Output()
	if err != nil {
		return fmt.Errorf("%s version: %w; make measure builds it", o.measure, err)
	}
	var ready []*client
	var leftOut []string
	for _, c := range clients {
		if !o.wants(c) {
			continue
		}
		if c.install != nil {
			fmt.Fprintf(log, "%s: installing, where that is not done\n", c)
			if err := c.install(ctx, o.cache); err != nil {
				leftOut = append(leftOut, fmt.Sprintf("left out: %s: %v", c, err))
				fmt.Fprintln(log, leftOut[len(leftOut)-1])
				continue
			}
		}
		ready = append(ready, c)
	}
	if len(ready) == 0 {
		return fmt.Errorf("no client is left to run")
	}
	tokenizer, err := writeTokenizer(filepath.Join(o.cache, "tokenizer"))
	if err != nil {
		return err
	}
	if err := liftFileLimit(2*slices.Max(o.levels) + 256); err != nil {
		return err
	}
	results, err := os.OpenFile(filepath.Join(o.cache, "results.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	b := bench{options: o, build: strings.TrimSpace(string(build)), tokenizer: tokenizer, log: log, results: results}
	// What was measured until an error is worth its lines.
	err = b.all(ctx, ready)
	printTable(out, ready, b.rows)
	for _, l := range leftOut {
		fmt.Fprintln(out, l)
	}
	return errors.Join(err, results.Close())
}

// all runs every client under every load at every level.
func (b *bench) all(ctx context.Context, ready []*client) error {
	for _, load := range b.loads {
		for _, streams := range b.levels {
			// Interleaved: what the host does besides falls on all alike.
			for round := range b.rounds {
				for i := range ready {
					c := ready[(i+round)%len(ready)]
					if err := b.one(ctx, c, streams, load); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func parse(args []string) (*options, error) {
	fs := pflag.NewFlagSet("clients", pflag.ContinueOnError)
	o := &options{}
	var names []string
	for _, c := range clients {
		names = append(names, c.name)
	}
	fs.StringVar(&o.measure, "measure", "bin/measure", "this project's program")
	fs.StringVar(&o.cache, "cache", ".cache/clients", "folder of installed peers, runs and results")
	peers := fs.String("peers", "", "clients to run, separated by commas; all when empty: "+strings.Join(names, ", "))
	levels := fs.String("levels", "", "streams at once, separated by commas (1,64,256,1024 when empty)")
	loads := fs.String("loads", "", "what else happens, separated by commas: quiet, starved (a busy loop on each core), stopped (the client, for half a second); the first two when empty")
	fs.IntVar(&o.rounds, "rounds", 1, "runs of each client at each level; the table shows medians")
	fs.DurationVar(&o.timeout, "timeout", 8*time.Minute, "longest that one run may take")
	if err := fs.Parse(args); err != nil {
		if err == pflag.ErrHelp {
			return nil, nil
		}
		return nil, err
	}
	var problems []string
	o.peers = list(*peers, strings.Join(names, ","))
	for _, p := range o.peers {
		if !slices.Contains(names, p) {
			problems = append(problems, fmt.Sprintf("there is no client %q; there are %s", p, strings.Join(names, ", ")))
		}
	}
	for _, l := range list(*levels, "1,64,256,1024") {
		n, err := strconv.Atoi(l)
		if err != nil || n < 1 || n > 16384 {
			problems = append(problems, fmt.Sprintf("level %q; whole numbers from 1 to 16384 are accepted", l))
		}
		o.levels = append(o.levels, n)
	}
	o.loads = list(*loads, quiet+","+starved)
	for _, l := range o.loads {
		if l != quiet && l != starved && l != stopped {
			problems = append(problems, fmt.Sprintf("load %q; %s, %s and %s are known", l, quiet, starved, stopped))
		}
	}
	if o.rounds < 1 {
		problems = append(problems, fmt.Sprintf("%d rounds; 1 or more are accepted", o.rounds))
	}
	if fs.NArg() > 0 {
		problems = append(problems, fmt.Sprintf("unexpected %q; it takes flags only", fs.Arg(0)))
	}
	if problems != nil {
		return nil, fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	// Programs are started in folders of their own.
	for _, p := range []*string{&o.measure, &o.cache} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return nil, err
		}
		*p = abs
	}
	return o, nil
}

func list(s, otherwise string) []string {
	if s == "" {
		s = otherwise
	}
	return strings.Split(s, ",")
}

func (o *options) wants(c *client) bool { return slices.Contains(o.peers, c.name) }
