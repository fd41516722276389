package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/tradeoff"
)

// argument takes the one argument: a file that describes a model, else a recipe.
func (call *ceilingCall) argument(c collector, arg string) {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".json":
		if call.config != "" {
			c.wrong("--config %s with %s: want one of the two", call.config, arg)
		}
		call.config = arg
	case ".gguf":
		if call.weights != "" {
			c.wrong("--weights %s with %s: want one of the two", call.weights, arg)
		}
		call.weights = arg
	default:
		call.recipe = arg
	}
}

// resolve fills in the query from the catalogue and from files, and lists all that is
// wrong.
func (call *ceilingCall) resolve(known *catalog.Catalog) []string {
	if call.recipe != "" {
		return call.resolveRecipe(known)
	}
	return append(call.resolveModel(known), call.resolveTarget(known)...)
}

func (call *ceilingCall) resolveModel(known *catalog.Catalog) []string {
	q := &call.query
	if call.config != "" && call.model != "" {
		return []string{"--config " + call.config + " with --model " + call.model + ": want one of the two"}
	}
	if call.model == "" {
		return []string{"no model was named: want --model ID, --config FILE of a config.json, or --weights FILE of a GGUF; measure ceiling --list prints every model"}
	}
	if q.Model, _ = known.ModelByName(call.model); q.Model == nil {
		return []string{"--model " + noName(call.model, sortedKeys(known.Models)) + "; measure ceiling --list prints every model"}
	}
	return nil
}

func (call *ceilingCall) resolveTarget(known *catalog.Catalog) []string {
	if call.target == "" {
		return nil
	}
	var ok bool
	if call.query.Target, ok = known.Target(call.target); !ok {
		return []string{"--target " + noName(call.target, devices(known)) + ", or DEVICE-xN for N of a device, or a .yaml file of one; measure ceiling --list prints every device"}
	}
	return nil
}

// devices are the ids of single devices; N of one is DEVICE-xN.
func devices(known *catalog.Catalog) []string {
	return slices.DeleteFunc(sortedKeys(known.Targets), func(id string) bool { return known.Targets[id].Count > 1 })
}

func (call *ceilingCall) resolveRecipe(known *catalog.Catalog) []string {
	var problems []string
	for _, f := range []string{"model", "config", "target", "weights-dtype", "kv-dtype", "tp", "pp", "dp", "ep", "gamma", "mtp"} {
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
	q := call.query
	base.Batch, base.Context, base.ISL, base.OSL = q.Batch, q.Context, q.ISL, q.OSL
	base.Concurrency, base.Cached, base.Chunk = q.Concurrency, q.Cached, q.Chunk
	base.Acceptance, base.Accepted = q.Acceptance, q.Accepted
	call.query = base
	return problems
}

// fields are the words by which the arithmetic names what it was asked, each with the
// flag that says it.
var fields = map[string]string{
	"batch": "batch", "context": "context", "cached": "cached", "chunk": "chunk", "isl": "isl", "osl": "osl", "concurrency": "concurrency",
	"tp": "tp", "pp": "pp", "dp": "dp", "ep": "ep", "gamma": "gamma", "acceptance": "acceptance", "accepted": "accepted",
	"weight dtype": "weights-dtype", "KV dtype": "kv-dtype", "prompt and output": "isl and --osl",
}

// wrong lists what is wrong with the question, naming flags, with what would be accepted
// of a layout.
func (call *ceilingCall) wrong(known *catalog.Catalog) []string {
	q := &call.query
	problems := q.Wrong()
	tp := fmt.Sprintf("tp %d: ", q.Filled().TP)
	for i, p := range problems {
		rest, isLayout := strings.CutPrefix(p, tp)
		_, more := known.Target(call.target + "-x2")
		switch {
		case !isLayout || q.Target == nil || call.recipe != "":
		case !call.changed("tp"):
			p = fmt.Sprintf("%s%s; without --tp it is all %d devices of --target %s", tp, rest, q.Target.Count, call.target)
		case q.TP > q.Target.Count && q.Target.Count == 1 && more:
			p = fmt.Sprintf("%s; want --target %s-x%d, or --tp 1", p, call.target, q.TP)
		case q.TP > q.Target.Count:
			p = fmt.Sprintf("%s; want --tp of at most %d", p, q.Target.Count)
		}
		problems[i] = call.flagged(p)
	}
	return problems
}

// flagged is a problem with the flag named in place of the field that it begins with.
func (call *ceilingCall) flagged(problem string) string {
	for field, flag := range fields {
		if rest, ok := strings.CutPrefix(problem, field+" "); ok && (call.recipe == "" || call.changed(flag)) {
			return "--" + flag + " " + rest
		}
	}
	return problem
}

// ceilingAsked is the question with its defaults filled in.
type ceilingAsked struct {
	Recipe       string   `json:"recipe,omitempty"`
	Config       string   `json:"config,omitempty"`
	Weights      string   `json:"weights,omitempty"`
	Model        string   `json:"model"`
	Target       *string  `json:"target"`
	WeightsDtype string   `json:"weights_dtype"`
	KVDtype      string   `json:"kv_dtype"`
	Batch        int64    `json:"batch"`
	Context      int64    `json:"context"`
	ISL          int64    `json:"isl"`
	OSL          int64    `json:"osl"`
	Concurrency  int64    `json:"concurrency"`
	Cached       int64    `json:"cached"`
	Chunk        int64    `json:"chunk"`
	TP           int64    `json:"tp"`
	PP           int64    `json:"pp"`
	DP           int64    `json:"dp"`
	EP           int64    `json:"ep"`
	Gamma        int64    `json:"gamma"`
	Acceptance   *float64 `json:"acceptance"`
	Accepted     *float64 `json:"accepted"`
	MTP          bool     `json:"mtp"`
}

func (call *ceilingCall) asked() ceilingAsked {
	q := call.query.Filled()
	a := ceilingAsked{
		Recipe: call.recipe, Config: call.config, Weights: call.weights,
		Model: q.Model.Name, WeightsDtype: q.WeightDtype, KVDtype: q.KVDtype,
		Batch: q.Batch, Context: q.Context, ISL: q.ISL, OSL: q.OSL,
		Concurrency: q.Concurrency, Cached: q.Cached, Chunk: q.Chunk,
		TP: q.TP, PP: q.PP, DP: q.DP, EP: q.EP, Gamma: q.Gamma, MTP: q.MTPDrafts,
	}
	if q.Target != nil {
		a.Target = &q.Target.Name
	}
	if call.changed("acceptance") {
		a.Acceptance = &q.Acceptance
	}
	if q.Accepted > 0 {
		a.Accepted = &q.Accepted
	}
	return a
}
