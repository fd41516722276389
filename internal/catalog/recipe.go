package catalog

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// engines that measure speaks to.
var engines = []string{"vllm", "sglang", "llamacpp", "ollama", "tgi", "trtllm", "openai"}

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	image      = regexp.MustCompile(`^[^\s@]+@sha256:[0-9a-f]{64}$`)
	pinned     = regexp.MustCompile(`^[0-9][0-9A-Za-z.!+_-]*$`)
	word       = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]*$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secretName = regexp.MustCompile(`(?i)(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?)$`)
	hole       = regexp.MustCompile(`\{[^{}]*\}`)
)

// readCell reads a recipe and holds it against the files that its path names.
func (l *loader) readCell(ids []string, f *file, data []byte) *row.Recipe {
	model, target, strategy, engine := ids[0], ids[1], ids[2], ids[3]
	if _, ok := l.c.Models[model]; !ok {
		f.problem(nil, "no model %q%s; there are: %s", model, meant(model, keys(l.c.Models)), strings.Join(keys(l.c.Models), ", "))
	}
	if _, ok := l.c.Strategies[strategy]; !ok {
		f.problem(nil, "no strategy %q%s; there are: %s", strategy, meant(strategy, keys(l.c.Strategies)), strings.Join(keys(l.c.Strategies), ", "))
	}
	t, ok := l.c.Target(target)
	if !ok {
		f.problem(nil, "no target %q%s; there are: %s, each also as ID-xN for N devices", target, meant(target, keys(l.c.Targets)), strings.Join(keys(l.c.Targets), ", "))
	} else {
		l.c.Targets[target] = t
	}
	r := &row.Recipe{}
	n := f.parse(data)
	if n == nil {
		return r
	}
	o := f.object(n, "", "engine", "runtime", "weights", "kv_dtype", "pools", "nodes", "router", "kv_offload",
		"adapters", "speculation", "env", "flags", "launch", "arch", "notes")
	readRecipe(o, r)
	if name := r.Engine.Name; name != "" && name != engine {
		o.problem(o.at("engine"), "engine.name is %q, but the file is called %s.yaml", name, engine)
	}
	if ok {
		fitTarget(o, r, t)
	}
	return r
}

func keys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func readRecipe(o *object, r *row.Recipe) {
	e := o.under("engine", "name", "version")
	r.Engine = row.EngineRef{Name: e.oneOf("name", engines...), Version: e.text("version")}
	r.Runtime = readRuntime(o, r.Engine)
	r.Weights = readWeights(o.under("weights", "repository", "revision", "file", "dtype"))
	r.KVDtype = o.oneOf("kv_dtype", roofline.KVDtypes()...)
	r.Pools = readPools(o)
	r.Nodes = o.whole("nodes", 1)
	r.Router = o.text("router")
	r.KVOffload = o.text("kv_offload")
	r.Adapters = o.texts("adapters")
	r.Speculation = readSpeculation(o)
	r.Env = readEnv(o)
	r.Flags = o.texts("flags")
	r.Launch = readLaunch(o)
	r.Arch = o.texts("arch")
	r.Notes = o.prose("notes")
	checkFlags(o, r)
}

// readRuntime reads an image with its digest or packages with their versions, one of
// the two: a tag can be moved, and a range is not what ran.
func readRuntime(o *object, engine row.EngineRef) row.Runtime {
	u := o.under("runtime", "image", "packages")
	r := row.Runtime{Packages: map[string]string{}}
	switch {
	case u.has("image") && u.has("packages"):
		u.problem(u.at("packages"), "runtime has an image and packages; one of the two is accepted")
	case u.has("image"):
		r.Image = u.text("image")
		if r.Image != "" && !image.MatchString(r.Image) {
			u.problem(u.at("image"), "runtime.image is %q; name@sha256:… with its 64 hex digits is accepted, since a tag alone can be moved", r.Image)
		}
	case u.has("packages"):
		r.Packages = u.pairs("packages")
		if len(r.Packages) == 0 {
			u.problem(u.at("packages"), "runtime.packages is empty; at least the engine's own package with its version is needed")
		}
		for _, name := range keys(r.Packages) {
			if v := r.Packages[name]; v != "" && !pinned.MatchString(v) {
				u.problem(u.at("packages"), "runtime.packages.%s is %q; one exact version such as 0.26.0 is accepted", name, v)
			}
		}
		if v, ok := r.Packages[engine.Name]; ok && v != engine.Version && v != "" && engine.Version != "" {
			u.problem(u.at("packages"), "runtime.packages.%s is %s, but engine.version is %s", engine.Name, v, engine.Version)
		}
	case o.has("runtime"):
		u.problem(o.at("runtime"), "runtime names neither an image nor packages; image: name@sha256:… or packages: {NAME: VERSION} is accepted")
	}
	return r
}

func readWeights(o *object) row.Weights {
	w := row.Weights{
		Repository: o.text("repository"),
		Revision:   o.optional("revision"),
		File:       o.optional("file"),
		Dtype:      o.oneOf("dtype", roofline.WeightDtypes()...),
	}
	switch {
	case w.Repository == "random":
		if o.has("revision") {
			o.problem(o.at("revision"), "weights.revision: random weights have none; leave it out")
		}
	case w.Repository != "" && !repository.MatchString(w.Repository):
		o.problem(o.at("repository"), "weights.repository is %q; owner/name or random is accepted", w.Repository)
	case w.Repository != "" && !o.has("revision"):
		o.problem(o.at("repository"), "weights.revision is missing: a repository changes; name the commit")
	case o.has("revision") && w.Revision != "" && !word.MatchString(w.Revision):
		o.problem(o.at("revision"), "weights.revision is %q; a commit or tag is accepted", w.Revision)
	}
	if w.File != "" && (path.Clean(w.File) != w.File || path.IsAbs(w.File) || strings.HasPrefix(w.File, "..")) {
		o.problem(o.at("file"), "weights.file is %q; a path inside the repository is accepted", w.File)
	}
	return w
}

func readPools(o *object) []row.Pool {
	var pools []row.Pool
	roles := map[string]int{}
	for _, n := range o.items("pools") {
		p := o.file.object(n, "pools[]", "role", "count", "tp", "pp", "dp", "ep")
		pool := row.Pool{
			Role:  p.oneOf("role", "all", "prefill", "decode"),
			Count: p.whole("count", 1),
			TP:    p.whole("tp", 1),
			PP:    p.whole("pp", 1),
			DP:    p.whole("dp", 1),
			EP:    p.whole("ep", 1),
		}
		if pool.EP > pool.TP*pool.DP {
			p.problem(p.at("ep"), "ep is %d, but the pool shares experts over tp × dp = %d devices", pool.EP, pool.TP*pool.DP)
		}
		roles[pool.Role]++
		pools = append(pools, pool)
	}
	if !o.has("pools") {
		return pools
	}
	switch {
	case len(pools) == 0:
		o.problem(o.at("pools"), "pools is empty; at least one is needed")
	case roles["all"] > 0 && len(roles) > 1 || roles["prefill"] > 0 != (roles["decode"] > 0):
		o.problem(o.at("pools"), "pools are either all of role all, or prefill and decode together")
	}
	return pools
}

// readSpeculation reads the word none, or a method with how many tokens it drafts.
func readSpeculation(o *object) *row.Speculation {
	n, ok := o.need("speculation")
	if !ok {
		return nil
	}
	if n.Value == "none" && len(n.Content) == 0 {
		return nil
	}
	if len(n.Content) == 0 {
		o.problem(n, "speculation is %s; none or {method: …, draft_tokens: …} is accepted", kind(n))
		return nil
	}
	s := o.under("speculation", "method", "draft_tokens", "acceptance")
	spec := &row.Speculation{Method: s.text("method"), DraftTokens: s.whole("draft_tokens", 1)}
	if s.has("acceptance") {
		spec.Acceptance = s.decimal("acceptance")
	}
	return spec
}

func readEnv(o *object) map[string]string {
	m := map[string]string{}
	for _, e := range o.entries("env") {
		name := e.key.Value
		switch {
		case !envName.MatchString(name):
			o.problem(e.key, "env.%s is no name that a shell takes; letters, digits and _ are accepted", name)
		case secretName.MatchString(name):
			o.problem(e.key, "env.%s looks like a secret, and recipes are published; leave it to the host's own environment", name)
		}
		m[name] = o.exact(e.value, "env."+name)
	}
	return m
}

// readLaunch reads the command; its holes are filled when it is started or shown.
func readLaunch(o *object) []string {
	list := o.texts("launch")
	if !o.has("launch") {
		return list
	}
	if len(list) == 0 {
		o.problem(o.at("launch"), "launch is empty; the command that starts the server is needed")
		return list
	}
	all := strings.Join(list, " ")
	for i, w := range list {
		for _, h := range hole.FindAllString(w, -1) {
			switch {
			case h != "{weights}" && h != "{flags}" && h != "{port}":
				o.problem(o.values["launch"].Content[i], "launch[%d] holds %s; {weights}, {flags} and {port} are accepted", i, h)
			case h == "{flags}" && w != h:
				o.problem(o.values["launch"].Content[i], "launch[%d] holds {flags} inside a word; it stands alone, since it becomes several", i)
			}
		}
	}
	for _, h := range []string{"{weights}", "{flags}", "{port}"} {
		if !strings.Contains(all, h) {
			o.problem(o.at("launch"), "launch does not use %s", h)
		}
	}
	return list
}

// checkFlags holds the command against what the recipe states beside it: a layout, a
// type or random weights that no flag asks for is not what would run.
func checkFlags(o *object, r *row.Recipe) {
	if r.Engine.Name != "vllm" && r.Engine.Name != "sglang" || !o.has("flags") || !o.has("launch") {
		return
	}
	value := func(names ...string) (string, bool) {
		words := append(slices.Clone(r.Launch), r.Flags...)
		for i, w := range words {
			name, v, joined := strings.Cut(w, "=")
			if slices.Contains(names, name) {
				if !joined && i+1 < len(words) {
					v = words[i+1]
				}
				return v, true
			}
		}
		return "", false
	}
	say := func(format string, args ...any) { o.problem(o.at("flags"), format, args...) }
	if load, _ := value("--load-format"); (load == "dummy") != (r.Weights.Repository == "random") && r.Weights.Repository != "" {
		say("weights.repository is %q, but the flags load %q; random and --load-format dummy go together", r.Weights.Repository, load)
	}
	if len(r.Pools) != 1 {
		return
	}
	experts := []string{"--expert-parallel-size", "--ep-size", "--ep"}
	if r.Engine.Name == "vllm" { // it has no size: the experts are over all devices that share a layer
		all := r.Pools[0].TP * r.Pools[0].DP
		_, on := value("--enable-expert-parallel")
		switch ep := r.Pools[0].EP; {
		case on && ep != all:
			say("pools say ep %d, but --enable-expert-parallel shares experts over tp × dp; ep %d is accepted", ep, all)
		case !on && ep > 1:
			say("pools say ep %d, but no flag shares experts; --enable-expert-parallel with ep %d is accepted", ep, all)
		}
		experts = nil
	}
	tp := r.Pools[0].TP
	if _, on := value("--enable-dp-attention"); on && r.Engine.Name == "sglang" { // its tp counts the devices of all copies
		tp *= r.Pools[0].DP
	}
	for _, size := range []struct {
		what  string
		value int64
		flags []string
	}{
		{"tp", tp, []string{"--tensor-parallel-size", "-tp", "--tp", "--tp-size"}},
		{"pp", r.Pools[0].PP, []string{"--pipeline-parallel-size", "-pp", "--pp", "--pp-size"}},
		{"dp", r.Pools[0].DP, []string{"--data-parallel-size", "-dp", "--dp", "--dp-size"}},
		{"ep", r.Pools[0].EP, experts},
	} {
		if size.flags == nil {
			continue
		}
		got, ok := value(size.flags...)
		if !ok {
			got = "1"
		}
		if got != strconv.FormatInt(size.value, 10) && size.value > 0 {
			say("pools say %s %d, but the flags say %s; %s %d is accepted", size.what, size.value, got, size.flags[0], size.value)
		}
	}
}

// fitTarget holds a recipe against the devices it is meant for.
func fitTarget(o *object, r *row.Recipe, t *roofline.Target) {
	if gpus := r.GPUs(); len(r.Pools) > 0 && gpus > 0 && gpus != t.Count {
		o.problem(o.at("pools"), "pools take %d devices, but the target has %d", gpus, t.Count)
	}
	if o.has("arch") && t.Architecture != "" && !slices.Contains(r.Arch, t.Architecture) {
		o.problem(o.at("arch"), "arch covers %s, but %s is %s", strings.Join(r.Arch, ", "), t.Name, t.Architecture)
	}
}
