package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/checkpoint"
	"rowproof/internal/roofline"
)

// needed adds what is wrong with flags that ask for nothing as they stand.
func (call *ceilingCall) needed(c collector) {
	for _, f := range []string{"model", "config", "weights", "target"} {
		if flag := call.flags.Lookup(f); flag.Changed && flag.Value.String() == "" {
			c.wrong("--%s: want a name; leave it out otherwise", f)
		}
	}
	q := &call.query
	if isl := call.flags.Lookup("isl").Value.String(); q.ISL != 0 || isl != "0" {
		return // there, or told of
	}
	for _, f := range []struct {
		name string
		n    int64
	}{{"osl", q.OSL}, {"concurrency", q.Concurrency}, {"cached", q.Cached}, {"chunk", q.Chunk}} {
		if f.n != 0 {
			c.wrong("--%s %d without --isl: want --isl N too, the prompt's length", f.name, f.n)
		}
	}
	q.Cached = 0 // told of
}

// argument takes the one argument: a file or folder that describes a model, else a recipe.
func (call *ceilingCall) argument(c collector, arg string) {
	flag, to := "weights", &call.weights
	switch ext := strings.ToLower(filepath.Ext(arg)); {
	case ext == ".json" && !strings.HasSuffix(arg, ".index.json"):
		flag, to = "config", &call.config
	case ext == ".gguf" || ext == ".safetensors" || ext == ".json" || exists(arg):
	default:
		call.recipe = arg
		return
	}
	switch {
	case *to == arg:
		c.wrong("%s is named twice, as an argument and by --%s: want it once", arg, flag)
	case *to != "":
		c.wrong("--%s %s with %s: want one of the two", flag, *to, arg)
	}
	*to = arg
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// resolve fills in the query from the catalogue and from files, and lists all that is
// wrong.
func (call *ceilingCall) resolve(known *catalog.Catalog) []string {
	q := &call.query
	if call.flags.Changed("acceptance") && q.Acceptance == 0 && q.Accepted == 0 {
		q.Accepted = 1 // no draft is kept, and each step yields the token after them
	}
	if call.recipe != "" {
		return call.resolveRecipe(known)
	}
	return append(call.resolveModel(known), call.resolveTarget(known)...)
}

// resolveModel finds the model, and what a file says of its weights.
func (call *ceilingCall) resolveModel(known *catalog.Catalog) (problems []string) {
	q := &call.query
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if call.config != "" && call.model != "" {
		wrong("--model %s with %s: want one of the two", call.model, call.named("config", call.config))
	}
	var files weightFiles
	if call.weights != "" {
		var why string
		if files, why = openWeights(call.weights); why != "" {
			wrong("%s: %s; want a .safetensors file, its index or folder, or a .gguf file", call.named("weights", call.weights), why)
		}
		defer files.close()
	}
	config := call.config
	if config == "" && call.model == "" && !files.gguf {
		config = files.config
	}
	var doubts []checkpoint.Problem // of the model's config.json
	switch {
	case config != "":
		var why string
		if q.Model, doubts, why = readConfig(config); why != "" {
			wrong("%s: %s", call.named("config", config), why)
		} else if q.Model != nil && q.KVDtype == "" {
			q.KVDtype = q.Model.KV[0] // a checkpoint may state what it was calibrated for
		}
	case call.model != "":
		if q.Model, _ = known.ModelByName(call.model); q.Model == nil {
			wrong("--model %s; measure ceiling --list prints every model", noName(call.model, modelNames(known)))
		}
	case call.weights == "":
		wrong("no model was named: want --model ID, --config FILE of a config.json, or --weights FILE of a GGUF; measure ceiling --list prints every model")
	case len(files.files) > 0 && !files.gguf:
		wrong("%s: tensors alone do not say how the model computes; want --model ID or --config FILE too", call.named("weights", call.weights))
	}
	if len(files.files) > 0 {
		header, faults := files.readWeights()
		for _, p := range faults {
			wrong("%s: %s", call.named("weights", call.weights), p)
		}
		if header != nil && len(faults) == 0 {
			doubts = call.settle(header, doubts, wrong)
		}
	}
	for _, p := range doubts {
		also := ""
		if p.Bytes && call.weights == "" {
			also = "; --weights FILE reads those"
		}
		wrong("%s: %s%s", call.named("config", config), p, also)
	}
	return problems
}

// settle puts the bytes of a checkpoint's tensors in place of what the format alone would
// say, and returns which of the model's problems are left.
func (call *ceilingCall) settle(h *checkpoint.Header, doubts []checkpoint.Problem, wrong func(string, ...any)) []checkpoint.Problem {
	q := &call.query
	call.header = h
	doubts = slices.DeleteFunc(doubts, func(p checkpoint.Problem) bool { return p.Bytes })
	switch {
	case q.Model == nil && h.Model != nil && call.model == "" && call.config == "":
		q.Model = h.Model
	case q.Model == nil && call.model == "" && call.config == "":
		for _, p := range h.Doubts {
			wrong("%s: %s; --model or --config would say it", call.named("weights", call.weights), p)
		}
	case q.Model != nil && len(doubts) == 0:
		m := *q.Model
		m.Sources = maps.Clone(m.Sources)
		for _, p := range h.Settle(&m, nil) {
			wrong("%s: %s", call.named("weights", call.weights), p)
		}
		q.Model = &m
	}
	if h.Params == 0 {
		return doubts // metadata alone: what the weights weigh is not in the file
	}
	stored := h.Stored
	q.Stored = &stored
	if h.Dtype != "" && q.WeightDtype != "" && q.WeightDtype != h.Dtype {
		wrong("--weights-dtype %s with %s, whose tensors are %s: want one of the two", q.WeightDtype, call.named("weights", call.weights), h.Dtype)
	}
	return doubts
}

// named is how a problem names a file: with its flag, or alone where it is the argument.
func (call *ceilingCall) named(flag, file string) string {
	if call.flags.Changed(flag) {
		return "--" + flag + " " + file
	}
	return file
}

func (call *ceilingCall) resolveTarget(known *catalog.Catalog) (problems []string) {
	q := &call.query
	switch {
	case call.target == "":
	case isDeviceFile(call.target):
		q.Target, problems = readDevice(call.target)
	default:
		if q.Target, call.device = known.TargetByName(call.target); q.Target == nil {
			return []string{"--target " + noDevice(known, call.target) + ", or DEVICE-xN for N of a device, or a .yaml file of one; measure ceiling --list prints every device"}
		}
	}
	return problems
}

// devices are the ids of single devices; N of one is DEVICE-xN.
func devices(known *catalog.Catalog) []string {
	return slices.DeleteFunc(sortedKeys(known.Targets), func(id string) bool { return known.Targets[id].Count > 1 })
}

func (call *ceilingCall) resolveRecipe(known *catalog.Catalog) []string {
	var problems []string
	for _, f := range []string{"model", "config", "weights", "target", "weights-dtype", "kv-dtype", "tp", "pp", "dp", "dcp", "ep", "state-dtype", "gamma", "mtp"} {
		if call.flags.Changed(f) {
			problems = append(problems, "--"+f+" with a RECIPE, which states it: want one of the two")
		}
	}
	if m, _ := known.ModelByName(call.recipe); m != nil {
		return []string{call.recipe + " is a model, not a recipe: want --model " + call.recipe}
	}
	r := known.Recipes[call.recipe]
	if r == nil {
		return append(problems, noRecipe(known, call.recipe))
	}
	id := strings.Split(call.recipe, "/")
	m, t := known.Models[id[0]], known.Targets[id[1]]
	base, _, why := r.Roof(m, t)
	if why == "" && r.Apart() {
		var fill roofline.Query
		fill, _, why = r.PrefillRoof(m, t)
		fill.Batch, fill.ISL, fill.Cached, fill.Chunk = 1, call.query.ISL, call.query.Cached, call.query.Chunk
		call.fill = &fill
	}
	if why != "" {
		return append(problems, call.recipe+": not computable: missing "+why)
	}
	q := call.query
	base.Batch, base.Context, base.ISL, base.OSL = q.Batch, q.Context, q.ISL, q.OSL
	base.Concurrency, base.Cached, base.Chunk = q.Concurrency, q.Cached, q.Chunk
	base.Accepted = q.Accepted
	if call.flags.Changed("acceptance") {
		base.Acceptance = q.Acceptance
	}
	call.query = base
	return problems
}

// fields are the words by which the arithmetic names what it was asked, where these are
// not the flag's own.
var fields = map[string]string{
	"weight dtype ": "--weights-dtype ", "state dtype ": "--state-dtype ", "KV dtype ": "--kv-dtype ", "prompt and output ": "--isl and --osl ", "MTP drafts: ": "--mtp: ",
}

// wrong lists what is wrong with the question, naming flags, with what would be accepted
// of a layout.
func (call *ceilingCall) wrong(known *catalog.Catalog) []string {
	q := &call.query
	problems := q.Wrong()
	if q.Gamma > 0 && q.Acceptance == 0 && q.Accepted == 0 {
		problems = append(problems, fmt.Sprintf("gamma %d: of drafted tokens it must be known how many are kept: want --acceptance or --accepted", q.Gamma))
	}
	if call.flags.Changed("acceptance") && call.flags.Changed("accepted") {
		problems = append(problems, "--acceptance with --accepted, which says what came of it: want one of the two")
	}
	if call.flags.Changed("state-dtype") && q.Model != nil && call.recipe == "" && call.stateBytes() == 0 {
		problems = append(problems, fmt.Sprintf("--state-dtype %s: %s keeps no states; leave it out", q.StateDtype, q.Model.Name))
	}
	tp := fmt.Sprintf("tp %d: ", q.Filled().TP)
	for i, p := range problems {
		rest, isLayout := strings.CutPrefix(p, tp)
		_, more := known.Target(call.device + "-x2")
		switch {
		case !isLayout || q.Target == nil || call.recipe != "":
		case !call.flags.Changed("tp"):
			p = fmt.Sprintf("%s%s; without --tp it is all %d devices of --target %s", tp, rest, q.Target.Count, call.target)
		case q.TP > q.Target.Count && q.Target.Count == 1 && more:
			p = fmt.Sprintf("%s; want --target %s-x%d, or --tp 1", p, call.device, q.TP)
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
		if rest, ok := strings.CutPrefix(problem, field); ok && call.recipe == "" {
			return flag + rest
		}
	}
	field, _, _ := strings.Cut(problem, " ")
	if call.flags.Lookup(field) != nil && (call.recipe == "" || call.flags.Changed(field)) {
		return "--" + problem
	}
	return problem
}
