package gate

import (
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// label holds what the recipe states against what the server and its host reported:
// the row must be of the configuration whose name it carries.
func label(in *Input) Result {
	if in.Report.AsItWas == nil {
		return notApplicable("no recipe is named, so there is no label to hold")
	}
	if r, ok := in.tied(); !ok {
		return r
	}
	l := held(in.Report)
	switch {
	case len(l.wrong) > 0:
		first := l.wrong[0]
		text := first.Name + " is " + first.Found + ", the recipe states " + first.Against
		if n := len(l.wrong); n > 1 {
			text += "; and " + count(int64(n-1), "other difference")
		}
		return fail(text, l.wrong...)
	case len(l.unknown) > 0:
		return missing("what the server reports of: "+strings.Join(l.unknown, ", "), labelMend(&in.Report.Receipt, l.unknown))
	}
	if text := commandApart(&in.Report.Receipt.Engine); text != "" {
		return fail(text)
	}
	another, besides := unstated(in.Report)
	if len(another) > 0 {
		return fail("the server ran with " + strings.Join(another, ", ") + ", which the recipe does not state: it is another server")
	}
	if text := in.Today.anotherTarget(); text != "" {
		return fail(text, in.Today.Differ...)
	}
	if text := in.Today.Words(); text != "" {
		return warning(count(l.held, "statement")+" of the recipe hold; "+text, in.Today.Differ...)
	}
	if len(besides) > 0 {
		return warning(count(l.held, "statement") + " of the recipe hold; the server also ran with " + strings.Join(besides, ", ") + ", which it does not state")
	}
	return pass(count(l.held, "statement") + " of the recipe hold")
}

// labelMend says how the statements that nothing was reported of could be read: where
// measure did not see the server's process, by moving; else by what the receipt says
// stood in the way.
func labelMend(r *row.Receipt, unknown []string) string {
	if elsewhere(r) {
		return "run measure on the server's own host, where it can read the server's process"
	}
	var why []string
	for _, name := range unknown {
		field := map[string]string{
			"engine": "engine.name", "engine version": "engine.version", "flags": "engine.arguments",
			"image": "runtime.image", "weights": "weights.source", "weights revision": "weights.revision",
		}[name]
		if strings.HasPrefix(name, "package ") {
			field = "runtime.packages"
		}
		if text := r.Unread[field]; text != "" {
			why = once(why, field+": "+text)
		}
	}
	return strings.Join(why, "; ")
}

// Label is one statement of a recipe beside what the server or its host reported of it.
type Label struct {
	Name     string
	Stated   string
	Reported string // "" where nothing was reported
	Equal    bool
}

// Labels are all that gate label compares of a report, in its order; nil where no recipe
// is named.
func Labels(r *row.Report) []Label {
	if r.AsItWas == nil {
		return nil
	}
	return held(r).all
}

// held compares the report's recipe with its receipt.
func held(report *row.Report) *labels {
	was, receipt := report.AsItWas, &report.Receipt
	l := &labels{arguments: normal(receipt.Engine.Arguments)}
	l.equal("engine", receipt.Engine.Name, was.Recipe.Engine.Name)
	l.version("engine version", receipt.Engine.Version, was.Recipe.Engine.Version)
	l.model(report)
	l.flags(was.Recipe.Flags)
	l.environment(was.Recipe.Env, receipt.Engine.Environment)
	l.runtime(&was.Recipe.Runtime, &receipt.Runtime)
	l.weights(&was.Recipe.Weights, &receipt.Weights)
	if e := was.Recipe.Engine.Name; (e == "vllm" || e == "sglang") && len(l.arguments) > 0 {
		published := len(was.Model.Weights) > 0 && was.Recipe.Weights.Dtype == was.Model.Weights[0]
		l.dtypes(&was.Recipe, published)
		l.layout(&was.Recipe)
	}
	l.ranks(&was.Recipe, receipt.Devices)
	for _, d := range receipt.Devices {
		switch name := "device " + itoa(d.Index); {
		case !d.Used:
		case was.Target.Is(d.Name):
			l.hold(name, d.Name, was.Target.Device)
		default:
			l.equal(name, d.Name, was.Target.Device)
		}
	}
	return l
}

// model asks that the server served the recipe's model: by the model's id, a repository
// of it, or a path that ends in either. A server may serve under a name of its own
// choice, if its arguments say which model that is.
func (l *labels) model(report *row.Report) {
	was, engine := report.AsItWas, &report.Receipt.Engine
	id, _, _ := strings.Cut(report.Recipe, "/")
	names := slices.Concat([]string{id, was.Recipe.Weights.File}, was.Model.Repositories)
	if r := was.Recipe.Weights.Repository; r != "random" {
		names = append(names, r)
	}
	stated := id
	if stated == "" && len(was.Model.Repositories) > 0 {
		stated = was.Model.Repositories[0]
	}
	loaded := l.argument("model", "model-path", "model-tag")
	// The command line is the process's own, wherever the arguments came from.
	typed := labels{arguments: normal(row.ArgumentsOf(engine.CommandLine))}
	onLine := typed.argument("model", "model-path", "model-tag")
	renamed := loaded != "" && l.arguments["served-model-name"] != ""
	for _, m := range []struct{ name, found string }{{"served model", engine.Model}, {"model argument", loaded}} {
		switch {
		case m.found == "" && m.name == "served model":
			l.unread(m.name, stated)
		case m.found == "" || renamed && m.name == "served model" && slices.Contains(strings.Fields(l.arguments["served-model-name"]), m.found):
		case !namesModel(m.found, names):
			l.differ(m.name, m.found, stated)
		default:
			l.hold(m.name, m.found, stated)
		}
	}
	if onLine != "" && !strings.Contains(onLine, "(masked)") && !namesModel(onLine, names) {
		l.differ("model on the command line", onLine, stated)
	}
}

// namesModel says whether a name or a path ends in one of the names, whole.
func namesModel(found string, names []string) bool {
	found = "/" + strings.ToLower(strings.TrimRight(found, "/"))
	for _, n := range names {
		if n = strings.ToLower(n); n == "" {
			continue
		}
		// Hugging Face's cache keeps a repository under snapshots of it.
		if strings.HasSuffix(found, "/"+n) || strings.Contains(found, "/models--"+strings.ReplaceAll(n, "/", "--")+"/snapshots/") {
			return true
		}
	}
	return false
}

// labels gathers what was compared.
type labels struct {
	arguments map[string]string
	held      int64
	wrong     []Compared
	unknown   []string
	all       []Label
}

func (l *labels) hold(name, found, stated string) {
	l.held++
	l.all = append(l.all, Label{name, stated, found, true})
}

func (l *labels) differ(name, found, stated string) {
	l.wrong = append(l.wrong, Compared{name, found, stated})
	l.all = append(l.all, Label{name, stated, found, false})
}

func (l *labels) unread(name, stated string) {
	l.unknown = append(l.unknown, name)
	l.all = append(l.all, Label{name, stated, "", false})
}

func (l *labels) equal(name, found, stated string) {
	switch {
	case stated == "":
	case found == "" || found == "(masked)":
		l.unread(name, stated)
	case !sameValue(found, stated):
		l.differ(name, found, stated)
	default:
		l.hold(name, found, stated)
	}
}

// version compares as pins do: one without a local label, such as 2.11.0, takes
// 2.11.0+cu130 (PEP 440).
func (l *labels) version(name, found, stated string) {
	if !strings.Contains(stated, "+") {
		found, _, _ = strings.Cut(found, "+")
	}
	l.equal(name, found, stated)
}

// sameValue compares two written values: as text, as numbers, or as truth values of
// either spelling.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return x == y
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b && (a == "true" || a == "false")
}

// normal gives arguments one spelling of names.
func normal(arguments map[string]string) map[string]string {
	out := make(map[string]string, len(arguments))
	for _, name := range keys(arguments, nil) {
		out[strings.ReplaceAll(name, "_", "-")] = arguments[name]
	}
	return out
}

// flags asks for every flag that the recipe states, with its value.
func (l *labels) flags(stated []string) {
	if len(stated) == 0 {
		return
	}
	if len(l.arguments) == 0 {
		l.unread("flags", strings.Join(stated, " "))
		return
	}
	for _, f := range splitFlags(stated) {
		found, ok := l.arguments[f.name]
		if !ok {
			l.differ("--"+f.name, "not given", f.value)
			continue
		}
		l.equal("--"+f.name, found, f.value)
	}
}

// environment asks for every variable that the recipe states, with its value.
func (l *labels) environment(stated, found map[string]string) {
	for _, name := range keys(stated, nil) {
		value, set := found[name]
		switch label := "variable " + name; {
		case !set && found != nil && row.KeptVariable(name):
			l.differ(label, "not set", stated[name])
		default:
			l.equal(label, value, stated[name])
		}
	}
}

type flag struct{ name, value string }

// splitFlags reads --name value, --name=value, and a name alone as "true".
func splitFlags(argv []string) []flag {
	var out []flag
	for _, a := range argv {
		if len(a) > 1 && a[0] == '-' && (a[1] < '0' || a[1] > '9') && a[1] != '.' {
			name, value, assigned := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if !assigned {
				value = "true"
			}
			out = append(out, flag{strings.ReplaceAll(name, "_", "-"), value})
			continue
		}
		if n := len(out); n > 0 {
			if out[n-1].value == "true" {
				out[n-1].value = a
			} else {
				out[n-1].value += " " + a
			}
		}
	}
	return out
}

func (l *labels) runtime(stated *row.Runtime, found *row.RuntimeReceipt) {
	l.equal("image", untagged(found.Image), untagged(stated.Image))
	have := normal(found.Packages)
	for _, name := range keys(stated.Packages, nil) {
		l.version("package "+name, have[strings.ReplaceAll(name, "_", "-")], stated.Packages[name])
	}
}

func (l *labels) weights(stated *row.Weights, found *row.WeightsReceipt) {
	random := stated.Repository == "random"
	switch source := found.Source; {
	case source == "" || source == "unknown":
		l.unread("weights", stated.Repository)
	case random != (source == "random"):
		l.differ("weights", source, stated.Repository)
	default:
		l.hold("weights", source, stated.Repository)
	}
	if !random {
		l.equal("weights revision", found.Revision, stated.Revision)
	}
}

// argument is the first of several names that is given; "" where none is, or where the
// engine was left to choose.
func (l *labels) argument(names ...string) string {
	for _, n := range names {
		switch v := l.arguments[n]; strings.ToLower(v) {
		case "", "auto", "none", "null":
		default:
			return v
		}
	}
	return ""
}

// dtypes holds how weights and cache are stored: left to the engine, weights are as
// published and the cache is as the weights compute.
func (l *labels) dtypes(recipe *row.Recipe, published bool) {
	quantization := l.argument("quantization")
	// An engine's word for a format does not say how its scales stand: vLLM calls both
	// fp8 and fp8-tensor "fp8".
	family, _, _ := strings.Cut(recipe.Weights.Dtype, "-")
	switch dtype := recipe.Weights.Dtype; {
	case dtype == "":
	case published && quantization == "", !published && strings.HasPrefix(quantization, family):
		l.hold("weights dtype", orNone("quantization ", quantization), dtype)
	default:
		l.differ("weights dtype", orNone("quantization ", quantization), dtype)
	}
	kv := l.argument("kv-cache-dtype")
	switch dtype := recipe.KVDtype; {
	case dtype == "":
	case dtype == "bf16" && (kv == "" || kv == "bfloat16" || kv == "bf16"), dtype != "bf16" && strings.HasPrefix(kv, dtype):
		l.hold("KV dtype", orNone("kv-cache-dtype ", kv), dtype)
	default:
		l.differ("KV dtype", orNone("kv-cache-dtype ", kv), dtype)
	}
	if dtype := l.argument("dtype"); dtype != "" && recipe.Weights.Dtype == "bf16" && !slices.Contains([]string{"bfloat16", "bf16"}, dtype) {
		l.differ("dtype", dtype, "bf16")
	}
}

func orNone(name, value string) string {
	if value == "" {
		return "no " + strings.TrimSpace(name)
	}
	return name + value
}

// layout holds how the devices share the model, where one pool serves all.
func (l *labels) layout(recipe *row.Recipe) {
	if len(recipe.Pools) != 1 {
		return
	}
	pool := recipe.Pools[0]
	found := func(flags ...string) string {
		if v := l.argument(flags...); v != "" {
			return v
		}
		return "1"
	}
	experts := found("expert-parallel-size", "ep-size", "ep")
	if v := l.arguments["enable-expert-parallel"]; recipe.Engine.Name == "vllm" && strings.EqualFold(v, "true") {
		experts = itoa(pool.TP * pool.DP) // it shares them over all devices that hold a part of a layer
	}
	for _, d := range []struct {
		name   string
		found  string
		stated int64
	}{
		{"tensor parallel size", found("tensor-parallel-size", "tp-size", "tp"), l.tensorRanks(recipe)},
		{"pipeline parallel size", found("pipeline-parallel-size", "pp-size", "pp"), pool.PP},
		{"data parallel size", found("data-parallel-size", "dp-size", "dp"), pool.DP},
		{"expert parallel size", experts, pool.EP},
	} {
		l.equal(d.name, d.found, itoa(max(d.stated, 1)))
	}
}

// tensorRanks are how many ranks the engine counts in tensor parallelism, of a recipe
// with one pool: SGLang's attention in parallel on data counts those of all copies.
func (l *labels) tensorRanks(recipe *row.Recipe) int64 {
	p := &recipe.Pools[0]
	if recipe.Engine.Name == "sglang" && strings.EqualFold(l.arguments["enable-dp-attention"], "true") {
		return p.TP * max(p.DP, 1)
	}
	return p.TP
}

// ranks holds which part of the model each device computes, where the titles of the
// server's processes on it tell: of n that share a dimension, each of 0 to n−1 is there.
func (l *labels) ranks(recipe *row.Recipe, devices []row.Device) {
	pools := recipe.Pools
	if len(pools) != 1 {
		return
	}
	for _, d := range []struct {
		name, mark string
		n          int64
	}{{"tensor parallel ranks", "_TP", l.tensorRanks(recipe)}, {"pipeline parallel ranks", "_PP", pools[0].PP}, {"data parallel ranks", "_DP", pools[0].DP}} {
		found := ""
		seen := map[int64]bool{}
		for i := range devices {
			for _, title := range devices[i].Processes {
				rank, ok := rankIn(title, d.mark)
				if !ok {
					continue
				}
				if found != "" {
					found += ", "
				}
				found += itoa(rank) + " on device " + itoa(devices[i].Index)
				seen[rank] = true
			}
		}
		if found == "" {
			continue // an engine need not say
		}
		whole := int64(len(seen)) == max(d.n, 1)
		for r := range max(d.n, 1) {
			whole = whole && seen[r]
		}
		stated := "0"
		if d.n > 1 {
			stated = "0 to " + itoa(d.n-1)
		}
		if whole {
			l.hold(d.name, found, stated)
		} else {
			l.differ(d.name, found, stated)
		}
	}
}

// rankIn reads a rank out of a process title such as VLLM::Worker_PP1_TP0.
func rankIn(title, mark string) (rank int64, ok bool) {
	_, rest, found := strings.Cut(title, mark)
	for found && rest != "" && rest[0] >= '0' && rest[0] <= '9' && rank < 1<<20 {
		rank, ok = 10*rank+int64(rest[0]-'0'), true
		rest = rest[1:]
	}
	return rank, ok
}

// untagged drops the tag of an image that is given by digest: the digest alone names it.
func untagged(image string) string {
	name, digest, ok := strings.Cut(image, "@")
	if !ok {
		return image
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	return name + "@" + digest
}
