package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/gate"
	"rowproof/internal/host"
	"rowproof/internal/row"
	"rowproof/internal/version"
)

// refusal is an error with the exit code that it calls for.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

func refuse(code int, format string, a ...any) error {
	return &refusal{code, fmt.Sprintf(format, a...)}
}

func bench(ctx context.Context, args []string, s streams) int {
	o, code, done := parseBench(args, s)
	if done {
		return code
	}
	code, err := runBench(ctx, o, s)
	switch r := new(refusal); {
	case ctx.Err() != nil:
		fmt.Fprintln(s.err, "measure bench: interrupted; finished rows are kept")
		return exitInterrupted
	case errors.As(err, &r):
		fmt.Fprintf(s.err, "measure bench: %s\n", o.secrets.scrub(r.text))
		return r.code
	case err != nil:
		fmt.Fprintf(s.err, "measure bench: %s\n", o.secrets.scrub(err.Error()))
		return exitFailed
	}
	return code
}

// runBench measures every planned row and returns the exit code; an error is told by
// the caller.
func runBench(ctx context.Context, o *benchOptions, s streams) (int, error) {
	cat, err := readCatalog(data.FS)
	if err != nil {
		return exitFailed, err
	}
	if o.base == nil && o.model != "" {
		return exitUsage, refuse(exitUsage, "%s", withoutServer(cat, o.model))
	}
	asItWas, err := takeRecipe(cat, o)
	if err != nil {
		return exitUsage, err
	}
	own := o.base == nil
	if own {
		child, err := simulator.StartChild(ctx, simulator.Default())
		if err != nil {
			return exitFailed, err
		}
		defer os.Remove(child.TruthPath)
		defer child.Stop()
		if o.base, err = url.Parse(child.BaseURL); err != nil {
			return exitFailed, err
		}
		fmt.Fprintf(s.err, "%s: this drives the embedded engine; name a server with --base-url\n", simulatedNote)
	}
	srv, err := findServer(ctx, o, cat)
	if err != nil {
		return exitNoServer, err
	}
	if srv.simulated() && !own {
		fmt.Fprintf(s.err, "%s: that server is the embedded engine\n", simulatedNote)
	}
	cal, err := srv.calibrate(ctx, o)
	if err != nil {
		return exitFailed, err
	}

	sw := &sweep{o: o, srv: srv, cat: cat, ref: srv.ref(), answer: cal.answer, extra: cal.notes}
	receipt, runEvidence := host.Receipt(ctx, sw.ref)
	runEvidence.Zero = time.Now().UTC().Format(time.RFC3339Nano)
	if srv.simulated() {
		receipt.Engine.Name = engine.Embedded
		sw.extra = append(sw.extra, simulatedNote)
	}
	if err := sw.checkDevice(&receipt); err != nil {
		return exitUsage, err
	}
	sw.started = receipt.Engine.StartedAt
	if asItWas != nil {
		sw.gpus = asItWas.Recipe.GPUs()
	}

	plan := o.plan()
	client := row.Client{Stamps: cal.stamps}
	if !own {
		most := 0
		for _, p := range plan {
			most = max(most, int(p.concurrency))
		}
		if client.Selftest, err = selftest(ctx, most, o.stamps); err != nil && ctx.Err() == nil {
			fmt.Fprintf(s.err, "measure bench: the selftest of the client failed, so gate client cannot be judged: %v\n", err)
		}
	}
	if ctx.Err() != nil {
		return exitInterrupted, ctx.Err()
	}
	v := version.Read()
	out := &output{prefix: o.output, stdout: s.out, evidence: []row.Evidence{runEvidence}, report: &row.Report{
		Schema:     row.Schema,
		Recipe:     o.recipe,
		AsItWas:    asItWas,
		MeasuredAt: time.Now().UTC().Format(time.RFC3339),
		Tool:       row.Tool{Version: v.Version, Revision: v.Revision, Go: v.Go, Command: o.command},
		Receipt:    receipt,
		Client:     client,
		Rows:       []row.Row{},
	}}
	sw.announce(s.err, plan, out.report)
	if err := out.begin(); err != nil {
		return exitFailed, err
	}
	sw.bar = newProgress(s.err, len(plan))
	var broken error
	for n, p := range plan {
		sw.bar.draw(fmt.Sprintf("%s at c=%d", p.shape, p.concurrency))
		m, err := sw.measure(ctx, n, p)
		sw.bar.clear()
		if err != nil {
			break // interrupted: the row in hand is given up
		}
		sw.bar.done++
		if err := out.add(m); err != nil {
			if broken == nil {
				fmt.Fprintf(s.err, "measure bench: %v; measuring goes on, without files that can't be written\n", err)
			}
			broken = err
		}
		if m.row.Status != row.StatusOK {
			fmt.Fprintf(s.err, "measure bench: %s at c=%d: %s\n", p.shape, p.concurrency, m.row.Reason)
		}
	}
	verdicts := sw.close(s.err, out)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, ctx.Err()
	case broken != nil:
		return exitFailed, broken
	case anyFailed(out.report):
		return exitFailed, nil
	case o.requireVerified && !allVerified(verdicts):
		return exitNotMet, refuse(exitNotMet, "--require-verified: not every row is verified")
	}
	return exitOK, nil
}

func anyFailed(r *row.Report) bool {
	for i := range r.Rows {
		if r.Rows[i].Status != row.StatusOK {
			return true
		}
	}
	return false
}

func allVerified(verdicts []string) bool {
	for _, v := range verdicts {
		if v != gate.Verified {
			return false
		}
	}
	return len(verdicts) > 0
}

// readCatalog loads the catalogue and refuses one with problems.
func readCatalog(fsys fs.FS) (*catalog.Catalog, error) {
	c, problems := catalog.Load(fsys)
	if len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.String()
		}
		return nil, errors.New("the catalogue in this binary has problems:\n" + strings.Join(lines, "\n"))
	}
	return c, nil
}

// takeRecipe finds the recipe with the model and target it is for, as they stand now.
func takeRecipe(c *catalog.Catalog, o *benchOptions) (*row.AsItWas, error) {
	if o.recipe == "" {
		return nil, nil
	}
	parts := strings.Split(o.recipe, "/")
	r := c.Recipes[o.recipe]
	if r == nil && c.Models[parts[0]] == nil {
		return nil, refuse(exitUsage, "--recipe %s: no model %s in the catalogue; want a recipe of one of: %s", o.recipe, parts[0], strings.Join(slices.Sorted(maps.Keys(c.Models)), ", "))
	}
	if r == nil {
		return nil, refuse(exitUsage, "--recipe %s: not in the catalogue; want one of: %s", o.recipe, strings.Join(recipesOf(c, parts[0]), ", "))
	}
	if _, id := c.ModelByName(o.model); id != "" && id != parts[0] {
		return nil, refuse(exitUsage, "MODEL %s with --recipe %s: that recipe is of %s; want one of the two", o.model, o.recipe, parts[0])
	}
	target, ok := c.Target(parts[1])
	m := c.Models[parts[0]]
	if !ok || m == nil {
		return nil, refuse(exitUsage, "--recipe %s: its model or target is not in the catalogue", o.recipe)
	}
	return &row.AsItWas{Recipe: *r, Model: *m, Target: *target}, nil
}
