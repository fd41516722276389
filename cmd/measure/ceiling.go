package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
	"rowproof/internal/tradeoff"
)

const (
	ceilingWhat = `Say how fast hardware could possibly run a model: the hard roof, which nothing beats,
with the formula filled in. Nothing is derated. expected equals hard for a dense model;
serial is a step whose attention waits for its matrices.

RECIPE (MODEL/TARGET/STRATEGY/ENGINE) states model, target, types and layout by itself;
its answer is for one replica.`
	ceilingExample = `measure ceiling --model llama-3.1-8b --target h200-sxm --batch 16 --context 1152 --isl 1024`
)

// ceilingCall is one call of the verb, checked as far as its own flags go.
type ceilingCall struct {
	root, recipe, model, target string
	query                       roofline.Query
	json                        bool
	changed                     func(flag string) bool
}

func ceiling(_ context.Context, args []string, s streams) int {
	call := ceilingCall{}
	q := &call.query
	q.Batch = 1
	c := newCollector("ceiling")
	fs := c.FlagSet
	usage(fs, "ceiling --model M --target T [flags]\n       measure ceiling RECIPE [flags]", ceilingWhat, ceilingExample)
	fs.StringVar(&call.model, "model", "", "catalogue id, name or Hugging Face id")
	fs.StringVar(&call.target, "target", "", "device, or DEVICE-xN for N of them")
	fs.StringVar(&q.WeightDtype, "weights-dtype", "", "how weights are stored (default the published checkpoint's)")
	fs.StringVar(&q.KVDtype, "kv-dtype", "", "how keys and values are cached (default bf16)")
	c.count("batch", &q.Batch, 1, "sequences decoding together")
	c.length("context", &q.Context, "tokens in each sequence's cache")
	c.length("isl", &q.ISL, "prompt length, for prefill")
	c.length("osl", &q.OSL, "output length, with --isl for what fits")
	c.length("concurrency", &q.Concurrency, "requests in flight, with --isl and --osl for a serving bound")
	c.length("tp", &q.TP, "devices that share each matrix (default all of the target)")
	c.length("cached", &q.Cached, "prompt tokens that a prefix cache serves")
	fs.StringVar(&call.root, "root", "", "folder that holds data/ (default the catalogue in this binary)")
	fs.BoolVar(&call.json, "json", false, "for a program")
	if code, done := c.parse(args, s); done {
		return code
	}
	call.changed = fs.Changed
	switch n := fs.NArg(); {
	case n == 0 || !c.allKnown():
	case n == 1:
		call.recipe = fs.Arg(0)
	default:
		c.wrong("%d arguments: want one RECIPE, or --model and --target", n)
	}
	if !c.root(call.root) {
		call.root = "" // the rest is judged by this binary's
	}
	known, faults := openCatalog(call.root)
	if len(faults) > 0 {
		return complain(s, "ceiling", exitFailed, faults)
	}
	c.problems = append(c.problems, call.resolve(known)...)
	if q.Model != nil && q.Target != nil || call.recipe == "" {
		c.problems = append(c.problems, call.wrong(known)...)
	}
	if len(c.problems) > 0 {
		return c.refuse(s)
	}
	answer := roofline.Ceiling(*q)
	if call.json {
		return printJSON(s, struct {
			Query map[string]any `json:"query"`
			roofline.Answer
		}{call.echo(), answer})
	}
	call.print(s.out, answer)
	return exitOK
}

// wrong lists what is wrong with the question, with what would be accepted of a layout.
func (call *ceilingCall) wrong(known *catalog.Catalog) []string {
	q := &call.query
	problems := q.Wrong()
	if q.Model == nil || q.Target == nil || call.recipe != "" {
		return problems
	}
	tp := fmt.Sprintf("tp %d: ", q.Filled().TP)
	for i, p := range problems {
		rest, isLayout := strings.CutPrefix(p, tp)
		_, more := known.Target(call.target + "-x2")
		switch {
		case !isLayout:
		case !call.changed("tp"):
			problems[i] = fmt.Sprintf("%s%s; without --tp it is all %d devices of --target %s", tp, rest, q.Target.Count, call.target)
		case q.TP > q.Target.Count && q.Target.Count == 1 && more:
			problems[i] = fmt.Sprintf("%s; want --target %s-x%d, or --tp 1", p, call.target, q.TP)
		case q.TP > q.Target.Count:
			problems[i] = fmt.Sprintf("%s; want --tp of at most %d", p, q.Target.Count)
		}
	}
	return problems
}

// length is a count that may be 0 and as long as any context.
func (c collector) length(name string, p *int64, help string) {
	c.add(name, "0", "N", help, func(s string) string {
		n, ok := parseWhole(s)
		if !ok {
			return "a whole number from 0 to 100000000"
		}
		*p = n
		return ""
	})
}

func parseWhole(s string) (int64, bool) {
	var n int64
	for _, r := range s {
		if r < '0' || r > '9' || n > 10_000_000 {
			return 0, false
		}
		n = n*10 + int64(r-'0')
	}
	return n, s != ""
}

// openCatalog reads the catalogue of a checkout, or the one in this binary.
func openCatalog(root string) (*catalog.Catalog, []string) {
	var fsys fs.FS = data.FS
	if root != "" {
		fsys = os.DirFS(filepath.Join(root, "data"))
	}
	known, problems := catalog.Load(fsys)
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = filepath.Join(root, p.String())
	}
	return known, lines
}

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

// resolve fills in the query from the catalogue and lists all that is wrong.
func (call *ceilingCall) resolve(known *catalog.Catalog) []string {
	if call.recipe != "" {
		return call.resolveRecipe(known)
	}
	var problems []string
	q := &call.query
	if q.Model, _ = known.ModelByName(call.model); q.Model == nil {
		problems = append(problems, "--model "+unknownName(call.model, sortedKeys(known.Models))+"there are: "+strings.Join(sortedKeys(known.Models), ", "))
	}
	var ok bool
	if q.Target, ok = known.Target(call.target); !ok {
		problems = append(problems, "--target "+unknownName(call.target, sortedKeys(known.Targets))+"there are: "+strings.Join(sortedKeys(known.Targets), ", ")+", and DEVICE-xN for N of a device")
	}
	return problems
}

// unknownName says that a name is none of there, and which of them may be meant.
func unknownName(name string, there []string) string {
	if name == "" {
		return "is missing; "
	}
	return name + " is not known; " + mayBe("", name, there)
}

func (call *ceilingCall) resolveRecipe(known *catalog.Catalog) []string {
	var problems []string
	for _, f := range []string{"model", "target", "weights-dtype", "kv-dtype", "tp"} {
		if call.changed(f) {
			problems = append(problems, "--"+f+" with a RECIPE, which states it: want one of the two")
		}
	}
	if known.Recipes[call.recipe] == nil {
		return append(problems, noRecipe(known, call.recipe))
	}
	base, _, why := tradeoff.Query(tradeoff.Catalog(*known), call.recipe)
	if why != "" {
		return append(problems, call.recipe+": not computable: "+why)
	}
	q := &call.query
	q.Model, q.Target, q.TP, q.PP = base.Model, base.Target, base.TP, base.PP
	q.WeightDtype, q.KVDtype, q.NoMulticast = base.WeightDtype, base.KVDtype, base.NoMulticast
	return problems
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// echo is the question with its defaults filled in.
func (call *ceilingCall) echo() map[string]any {
	q := call.query.Filled()
	m := map[string]any{
		"model": q.Model.Name, "target": q.Target.Name, "weights_dtype": q.WeightDtype, "kv_dtype": q.KVDtype,
		"batch": q.Batch, "context": q.Context, "isl": q.ISL, "osl": q.OSL,
		"concurrency": q.Concurrency, "tp": q.TP, "cached": q.Cached,
	}
	if call.recipe != "" {
		m["recipe"] = call.recipe
	}
	return m
}

// print answers a person: the sentence, the figures, how they come about.
func (call *ceilingCall) print(w io.Writer, a roofline.Answer) {
	q := call.query.Filled()
	where := q.Target.Name
	if q.TP != q.Target.Count {
		where = fmt.Sprintf("%d of %s", q.TP, q.Target.Name)
	}
	load := fmt.Sprintf("%s with %s cached tokens each", count(q.Batch, "sequence"), roofline.Number(float64(q.Context)))
	if a.Fits != nil && !*a.Fits {
		fmt.Fprint(w, "Does not fit. ")
	}
	fmt.Fprintf(w, "%s on %s, %s weights, %s KV, %s: ", q.Model.Name, where, q.WeightDtype, q.KVDtype, load)
	if a.DecodeStepMS == nil {
		fmt.Fprintf(w, "not computable: %s.\n", a.Missing["decode_step_ms"])
	} else {
		fmt.Fprintf(w, "at most %s tok/s; %s binds.\n", roofline.Number(a.DecodeTokPerSec.Hard), a.Binding)
	}
	fmt.Fprintln(w)
	line := func(name string, values ...float64) {
		fmt.Fprintf(w, "%-22s", name)
		for _, v := range values {
			fmt.Fprintf(w, " %10s", roofline.Number(v))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-22s %10s %10s %10s\n", "", "hard", "expected", "serial")
	if r := a.DecodeStepMS; r != nil {
		line("decode step, ms", r.Hard, r.Expected, r.Serial)
		line("decode, tok/s", a.DecodeTokPerSec.Hard, a.DecodeTokPerSec.Expected)
	}
	if r := a.PrefillMS; r != nil {
		line(fmt.Sprintf("prefill of %s, ms", roofline.Number(float64(q.ISL))), r.Hard, r.Expected)
	}
	fmt.Fprintln(w)
	say := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	if a.Formula != "" {
		say("Decode", "%s", a.Formula)
	}
	if a.PrefillFormula != "" {
		say("Prefill", "%s", a.PrefillFormula)
	}
	if a.LinkFormula != "" {
		say("Links", "%s a step", a.LinkFormula)
		if bus, ok := q.Target.MeasuredAllReduceGBs[fmt.Sprintf("x%d", q.TP)].Float(); ok {
			say("", "the largest all-reduces measured on %d such devices reached %s GB/s of %s", q.TP, roofline.Number(bus), q.Target.LinkGBs)
		}
	}
	if p := a.Parts; p != nil {
		say("Roofs", "memory %s ms, compute %s ms, communication %s ms a step", roofline.Number(p.MemoryMS), roofline.Number(p.ComputeMS), roofline.Number(p.CommunicationMS))
	}
	say("Parameters", "%s B, of which a step reads %s B", roofline.Number(float64(a.TotalParams)/1e9), roofline.Number(float64(a.ReadParams)/1e9))
	if a.WeightBytes != nil && a.KVBytesPerToken != nil {
		say("Bytes", "%s GB of weights, %s of KV a token", roofline.Number(*a.WeightBytes/1e9), roofline.Number(*a.KVBytesPerToken))
	}
	if a.Fits != nil {
		fits := "does not fit"
		if *a.Fits {
			fits = "fits"
		}
		if a.MaxConcurrency != nil {
			length := q.Context
			if length == 0 {
				length = q.ISL + q.OSL
			}
			fits += fmt.Sprintf("; at most %s of %s tokens", count(*a.MaxConcurrency, "sequence"), roofline.Number(float64(length)))
		}
		say("Memory", "%s", fits)
	}
	if r := a.Serving; r != nil {
		say("Serving", "%d:%d at c = %d: TTFT at least %s ms, at most %s output tok/s, %s output tok/s per GPU", q.ISL, q.OSL, q.Concurrency,
			roofline.Number(r.TTFTMS), roofline.Number(r.OutputTokPerSec), roofline.Number(r.PerGPU))
	}
	for _, c := range a.Conventions {
		say("Counted", "%s", c)
	}
	for _, src := range a.Sources {
		say("Source", "%s", src)
	}
	for _, name := range sortedKeys(a.Missing) {
		say("Missing", "%s: %s", name, a.Missing[name])
	}
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return roofline.Number(float64(n)) + " " + noun + "s"
}
