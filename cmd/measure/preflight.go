package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

const (
	preflightWhat = `Ask a server what it says of itself, by a request or two, and foretell which gates could
not judge a row of it, each with the flag, receipt or command that would open it. bench says
the same in one line before it measures. Exit codes: 0 every gate can be judged, 1 some
cannot, 3 no server.`
	preflightExample = `measure preflight --base-url http://127.0.0.1:8000 --recipe llama-3.1-8b/h200-sxm/latency/vllm`
)

// preflightAnswer is what the server lets be judged, for a program.
type preflightAnswer struct {
	Server string            `json:"server"`
	Model  string            `json:"model"`
	Judged []string          `json:"judged"`
	Closed []closedGate      `json:"closed"`
	Unread map[string]string `json:"unread"`
}

func preflight(ctx context.Context, args []string, s streams) int {
	o := &benchOptions{
		header: http.Header{}, extraBody: map[string]string{}, shapes: []shape{{128, 16}}, ladder: []int64{1}, protocol: row.Passes,
		warmup: 1, iters: 1, repeats: 1, timeout: time.Minute, idle: time.Minute, connect: 10 * time.Second, sampling: row.Sampling{Temperature: "0", IgnoreEOS: true},
	}
	var keyFile string
	flags := newCollector("preflight")
	usage(flags.FlagSet, "preflight --base-url URL [flags]", preflightWhat, preflightExample)
	flags.add("base-url", "", "URL", "the server, with or without /v1", o.setBase)
	flags.add("recipe", "", "CELL", "MODEL/TARGET/STRATEGY/ENGINE that it runs", o.setRecipe)
	flags.StringVar(&o.root, "root", "", "folder that holds data/ with the catalogue of recipes (default the one in this binary)")
	flags.StringVar(&o.receipt, "receipt", "", "`FILE` that measure receipt wrote beside the server")
	o.declareAccess(flags, &keyFile)
	flags.BoolVar(&o.json, "json", false, "for a program")
	if code, done := flags.parse(args, s); done {
		return code
	}
	switch {
	case flags.NArg() > 0 && flags.allKnown():
		flags.wrong("%s: want none; --base-url names the server", strings.Join(flags.Args(), " "))
	case !flags.Changed("base-url") && flags.allKnown():
		flags.wrong("no --base-url; want the server to ask, such as: %s", preflightExample)
	}
	o.readKey(keyFile, flags.wrong)
	flags.root(o.root)
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	s.out, s.err = &cleanWriter{w: s.out, secrets: &o.secrets}, &cleanWriter{w: s.err, secrets: &o.secrets}
	a, err := o.foretell(ctx, s)
	switch r := new(refusal); {
	case errors.As(err, &r):
		return complain(s, "preflight", r.code, []string{r.text})
	case err != nil:
		return complain(s, "preflight", exitFailed, []string{err.Error()})
	}
	if o.json {
		if code := printJSON(s, a); code != exitOK {
			return code
		}
	} else {
		a.print(s)
	}
	if len(a.Closed) > 0 {
		return exitFailed
	}
	return exitOK
}

// foretell asks the server all that bench asks before its first row.
func (o *benchOptions) foretell(ctx context.Context, s streams) (*preflightAnswer, error) {
	cat, err := readCatalog(o.root)
	if err != nil {
		return nil, err
	}
	asItWas, err := takeRecipe(cat, o)
	if err != nil {
		return nil, err
	}
	srv, stop, err := reach(ctx, o, cat, s.err)
	if err != nil {
		return nil, err
	}
	defer stop()
	sw, report, _, err := prepare(ctx, o, srv, cat, asItWas, s.err)
	if err != nil {
		return nil, err
	}
	engine := strings.TrimSpace(report.Receipt.Engine.Name + " " + report.Receipt.Engine.Version)
	a := &preflightAnswer{Server: engine + " at " + srv.base.Redacted(), Model: oneLine(srv.model), Closed: sw.closedGates(report), Unread: report.Receipt.Unread}
	for _, name := range gate.Names {
		if !slices.ContainsFunc(a.Closed, func(c closedGate) bool { return slices.Contains(c.Gates, name) }) {
			a.Judged = append(a.Judged, name)
		}
	}
	return a, nil
}

func (a *preflightAnswer) print(s streams) {
	fmt.Fprintf(s.out, "%s, serving %s\n", oneLine(a.Server), a.Model)
	fmt.Fprintf(s.out, "can be judged: %s\n", strings.Join(a.Judged, ", "))
	for _, c := range a.Closed {
		fmt.Fprintf(s.out, "cannot be judged: %s\n  since %s\n  to open: %s\n", strings.Join(c.Gates, ", "), oneLine(c.Why), c.Open)
	}
	for _, name := range sortedKeys(a.Unread) {
		fmt.Fprintf(s.out, "not read: %s: %s\n", name, oneLine(a.Unread[name]))
	}
}
