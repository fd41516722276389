package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"rowproof/internal/catalog"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/gate"
	"rowproof/internal/host"
	"rowproof/internal/launch"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
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
	s.out, s.err = &cleanWriter{w: s.out, secrets: &o.secrets}, &cleanWriter{w: s.err, secrets: &o.secrets}
	code, err := runBench(ctx, o, s)
	switch r := new(refusal); {
	case ctx.Err() != nil && code != exitInterrupted:
		fmt.Fprintln(s.err, "measure bench: interrupted before the first row")
		return exitInterrupted
	case errors.As(err, &r):
		fmt.Fprintf(s.err, "measure bench: %s\n", r.text)
		return r.code
	case err != nil:
		fmt.Fprintf(s.err, "measure bench: %v\n", err)
		return exitFailed
	}
	return code
}

// runBench measures every planned row and returns the exit code; an error is told by
// the caller.
func runBench(ctx context.Context, o *benchOptions, s streams) (int, error) {
	cat, err := readCatalog(o.root)
	if err != nil {
		return exitFailed, err
	}
	if o.base == nil && o.model != "" {
		return exitUsage, refuse(exitUsage, "%s", withoutServer(cat, o.model, host.Devices(ctx)))
	}
	asItWas, err := takeRecipe(cat, o)
	if err != nil {
		return exitUsage, err
	}
	if old := already(o.output); len(old) > 0 {
		return exitUsage, refuse(exitUsage, "--output %s: the files of an earlier run are there and would be lost: %s; want another PREFIX, such as %s",
			o.output, strings.Join(old, ", "), freePrefix(o.output))
	}
	if err := writable(o.output); err != nil {
		return exitUsage, refuse(exitUsage, "--output %s: %v; want a file prefix in a folder that can be written to", o.output, err)
	}
	if err := o.checkLimits(); err != nil {
		return exitUsage, err
	}
	if o.launch.wanted {
		l, err := o.start(ctx, &asItWas.Recipe, s.err)
		if err != nil {
			return exitFailed, err
		}
		defer l.finish(s.err)
	}
	srv, stop, err := reach(ctx, o, cat, s.err)
	if err != nil {
		return exitFailed, err
	}
	defer stop()
	sw, report, evidence, err := prepare(ctx, o, srv, cat, asItWas, s.err)
	if err != nil {
		return exitFailed, err
	}
	out := &output{prefix: o.output, stdout: s.out, asJSON: o.json, report: report, evidence: []row.Evidence{evidence}}
	plan := o.course()
	sw.announce(s.err, plan, report)
	if err := out.begin(); err != nil {
		return exitFailed, err
	}
	broken := sw.rows(ctx, plan, out, s.err)
	verdicts := sw.close(s.err, out)
	answers := plan.answers()
	for i := range answers {
		answers[i].tell(s.err)
		if o.json {
			out.print(map[string]any{"slo": answers[i]}, s.err)
		}
	}
	switch {
	case ctx.Err() != nil && broken == nil:
		return exitInterrupted, refuse(exitInterrupted, "interrupted; %s", out.leaves())
	case ctx.Err() != nil:
		return exitInterrupted, refuse(exitInterrupted, "interrupted; %v", broken)
	case broken != nil:
		return exitFailed, broken
	case len(answers) > 0:
		return sloCode(answers)
	case slices.ContainsFunc(report.Rows, func(r row.Row) bool { return r.Status != row.StatusOK }):
		return exitFailed, nil
	case o.requireVerified && slices.ContainsFunc(verdicts, func(v string) bool { return v != gate.Verified }):
		return exitNotMet, refuse(exitNotMet, "--require-verified: not every row is verified")
	}
	return exitOK, nil
}

// reach finds the server, or starts the embedded engine where none is named. stop ends
// what was started.
func reach(ctx context.Context, o *benchOptions, cat *catalog.Catalog, w io.Writer) (srv *server, stop func(), err error) {
	stop = func() {}
	own := o.base == nil
	if own {
		child, err := simulator.StartChild(ctx, simulator.Default())
		if err != nil {
			return nil, nil, fmt.Errorf("%w; or name a server with --base-url", err)
		}
		stop = func() {
			child.Stop()
			child.Forget()
		}
		if o.base, err = url.Parse(child.BaseURL); err != nil {
			stop()
			return nil, nil, err
		}
		fmt.Fprintf(w, "%s: this drives the embedded engine; name a server with --base-url\n", simulatedNote)
	}
	if srv, err = findServer(ctx, o, cat); err != nil {
		stop()
		return nil, nil, err
	}
	srv.own = own
	if srv.simulated() && !own {
		fmt.Fprintf(w, "%s: that server is the embedded engine\n", simulatedNote)
	}
	switch {
	case o.recipe == "":
	case srv.simulated():
		fmt.Fprintf(w, "measure bench: warning: --recipe %s: its label cannot hold: the embedded engine runs no model\n", o.recipe)
	default:
		if err := holdRecipe(cat, o.recipe, srv); err != nil {
			stop()
			return nil, nil, err
		}
	}
	return srv, stop, nil
}

// prepare learns all that must be known before the first row: how the server takes
// prompts, what it and its host say of themselves, and how far the client is off.
func prepare(ctx context.Context, o *benchOptions, srv *server, cat *catalog.Catalog, asItWas *row.AsItWas, w io.Writer) (*sweep, *row.Report, row.Evidence, error) {
	none := row.Evidence{}
	cal, err := srv.calibrate(ctx, o)
	if err != nil {
		return nil, nil, none, err
	}
	if cal.answer == nil {
		fmt.Fprintf(w, "measure bench: the server refuses a first short request to %s: %s\n", o.endpoint, oneLine(cal.refused))
	}
	if cal.noRing != "" {
		fmt.Fprintf(w, "measure bench: no packet ring (%s), so arrivals are stamped as the kernel hands them over: give this program the right with sudo setcap cap_net_raw+ep %s, or its container NET_RAW\n", cal.noRing, thisProgram())
	}
	sw := &sweep{o: o, srv: srv, cat: cat, ref: srv.ref(), answer: cal.answer, extra: cal.notes}
	sw.ref.Before = o.before
	if o.dataset != nil {
		sw.draw = prompts.NewDraw(o.dataset)
		if n := o.dataset.Skipped; n > 0 {
			fmt.Fprintf(w, "measure bench: --dataset %s: without a question at the beginning, and passed over: %s\n", o.datasetFile, countOf(n, "conversation"))
		}
	}
	receipt, evidence, err := sw.receipt(ctx, w)
	if err != nil {
		return nil, nil, none, err
	}
	if srv.unknown != "" {
		receipt.Unread["engine.name"] = srv.unknown
	}
	if err := sw.checkDevice(&receipt); err != nil {
		return nil, nil, none, err
	}
	if srv.simulated() {
		sw.extra = append(sw.extra, simulatedNote)
	}
	sw.started = receipt.Engine.StartedAt
	if asItWas != nil {
		sw.gpus = asItWas.Recipe.GPUs()
	}
	sw.stamps = cal.stamps
	client := row.Client{Stamps: cal.stamps, Boot: bootID()}
	if !srv.own {
		var why string
		if client.Selftest, why = clientError(ctx, w, o.mostStreams(), cal.stamps); why != "" && ctx.Err() == nil {
			fmt.Fprintf(w, "measure bench: no selftest of the client, so gate client cannot be judged: %s\n", why)
		}
	}
	cleanAll(&receipt, o.secrets.clean)
	cleanAll(&evidence, o.secrets.clean)
	v := version.Read()
	return sw, &row.Report{
		Schema:     row.Schema,
		Recipe:     o.recipe,
		AsItWas:    asItWas,
		MeasuredAt: time.Now().UTC().Format(time.RFC3339),
		Tool:       row.Tool{Version: v.Version, Revision: v.Revision, Go: v.Go, Command: o.command},
		Receipt:    receipt,
		Client:     client,
		Rows:       []row.Row{},
	}, evidence, ctx.Err()
}

// receipt is what host and server say of themselves: as this host reads it, or as a file
// holds it that was taken beside the server.
func (s *sweep) receipt(ctx context.Context, w io.Writer) (row.Receipt, row.Evidence, error) {
	if s.o.receipt == "" {
		receipt, evidence := host.Receipt(ctx, s.ref)
		evidence.Zero = time.Now().UTC().Format(time.RFC3339Nano)
		return receipt, evidence, nil
	}
	f, sum, err := readReceipt(s.o.receipt)
	if err != nil {
		return row.Receipt{}, row.Evidence{}, refuse(exitUsage, "--receipt %v", err)
	}
	if theirs := f.Receipt.Engine.Name; theirs != "" && s.srv.engine != "" && theirs != s.srv.engine {
		return row.Receipt{}, row.Evidence{}, refuse(exitUsage, "--receipt %s: it is of %s, and the server at %s is %s", s.o.receipt, row.EngineName(theirs), s.srv.base.Redacted(), row.EngineName(s.srv.engine))
	}
	s.ref.Remote, s.untied = true, untiedBy(f)
	s.tell(w, clocksAt(f, time.Now()))
	receipt := rowfile.Taken(f, sum)
	receipt.Engine.Model = cmp.Or(oneLine(s.srv.model), receipt.Engine.Model)
	return receipt, rowfile.TakenEvidence(f), nil
}

// thisProgram is the path of this program, for a shell.
func thisProgram() string {
	if exe, err := os.Executable(); err == nil {
		return launch.Quote(exe)
	}
	return "measure"
}

// rows measures the plan strictly one row at a time, until its end, an interrupt, or a
// failed row that the run is to stop at. The error is that of files or a CSV that could
// not be written to the end.
func (s *sweep) rows(ctx context.Context, plan course, out *output, w io.Writer) error {
	s.bar = newProgress(w, plan.known())
	work, end := draining(ctx, drainFor, s.tellInterrupt)
	defer end()
	for n := 0; ctx.Err() == nil; n++ {
		p, ok := plan.next()
		if !ok {
			break
		}
		if n > 0 {
			if left := host.Settle(work, s.ref); left > 0 {
				fmt.Fprintf(w, "measure bench: the server still runs %s that were asked for before; the next row begins beside them\n", countOf(int(left), "request"))
			}
		}
		s.bar.begin(p)
		m := s.measure(ctx, work, n, p)
		if m == nil {
			s.bar.clear()
			break // interrupted, and nothing of the row in hand had ended
		}
		if s.o.slo == nil { // a search goes where it goes
			m.evidence.Planned = int64(len(plan.known()))
		}
		s.bar.end(p, &m.row)
		s.tell(w, clocksOver(&m.evidence))
		out.add(m, w)
		plan.took(p, m)
		if m.row.Status == row.StatusOK {
			continue
		}
		fmt.Fprintf(w, "measure bench: %s: %s\n", p, m.row.Reason)
		if s.o.onFailure == failStop && ctx.Err() == nil {
			plan.stop(w)
		}
	}
	return out.settle()
}

// readCatalog loads the catalogue and refuses one with problems.
func readCatalog(root string) (*catalog.Catalog, error) {
	c, problems := openCatalog(root)
	if len(problems) > 0 {
		return nil, errors.New("the catalogue has problems:\n" + strings.Join(problems, "\n"))
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
		return nil, refuse(exitUsage, "--recipe %s: model %s; measure launch --list prints every recipe", o.recipe, noName(parts[0], modelNames(c)))
	}
	if r == nil {
		return nil, refuse(exitUsage, "--recipe %s: not in the catalogue; want one of these, %s", o.recipe, nearRecipes(o.recipe, recipesOf(c, parts[0])))
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
