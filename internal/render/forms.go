package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/launch"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// runForm is one way to start a recipe's server and to measure it: what a reader opens
// for the machine at hand.
type runForm struct {
	Name     string
	Own      bool // what the recipe pins, so what its rows ran; stands open
	Note     string
	Missing  string // why there is none; then nothing else
	Commands []command
}

const formPackages = "Packages"

// What the written commands assume of a reader's host.
const (
	hubFolder = "/data/hf-cache" // the host's HF_HOME, as on the page on launching
	hubMount  = "/hf-cache"
	registry  = "registry.example" // stands for the reader's own
)

// runForms are the ways to run a recipe: what it pins first, then the others.
func runForms(k recipeKey, r *row.Recipe, m *roofline.Model, rows []*measured) []runForm {
	f := former{key: k, recipe: *r, rows: rows, weights: r.Weights.Repository, flags: r.Flags}
	f.engine = engineName(r.Engine.Name) + " " + r.Engine.Version
	if f.random = r.Weights.Repository == launch.Random; f.random {
		f.flags = loading(r.Flags)
		if f.weights = ""; m != nil && len(m.Repositories) > 0 {
			f.weights = m.Repositories[0]
		}
	}
	if r.Runtime.Image == "" {
		forms := []runForm{f.packages()}
		if why := f.noImage(); why != "" {
			return append(forms, runForm{Name: "docker, apptainer, srun, Kubernetes", Missing: why})
		}
		f.recipe.Runtime.Image = registry + "/" + r.Engine.Name + ":" + r.Engine.Version
		docker := f.docker()
		docker.Commands = slices.Insert(docker.Commands, 0, command{"An image of the pinned packages, for " + registry + ", which stands for yours", containerfile(r, f.recipe.Runtime.Image)})
		docker.Note = "an image of the pinned packages; the rows ran without one"
		forms = append(forms, docker, f.apptainer(), f.srun(), f.kubernetes())
		for i := 2; i < len(forms); i++ {
			forms[i].Note = "of the image that docker builds"
		}
		return forms
	}
	docker := f.docker()
	docker.Own = true
	docker.Commands = slices.Insert(docker.Commands, 0, command{"Fetch the pinned image", wrapped([]string{"docker", "pull", r.Runtime.Image}, narrowCommand)})
	forms := []runForm{docker, f.apptainer(), f.srun(), f.kubernetes()}
	return append(forms, runForm{Name: formPackages, Missing: "the recipe pins an image, and nobody has listed what is in it"})
}

// former makes the forms of one recipe.
type former struct {
	key     recipeKey
	recipe  row.Recipe
	rows    []*measured
	engine  string
	weights string   // what is served; "" where the model has none on the Hub
	flags   []string // with which it is served
	random  bool     // so not what was measured
}

// Characters of a line: of a command that stands beside another, and of one that starts
// or measures.
const (
	narrowCommand = 36
	wideCommand   = 62
)

// inside is a command that another runs, which begins on a line of its own.
func inside(outer, inner []string) string {
	return wrapped(outer, wideCommand) + " \\\n" + wrapped(inner, wideCommand)
}

// noImage says why no container can run what the recipe pins, "" where one can.
func (f *former) noImage() string {
	switch {
	case slices.ContainsFunc(f.recipe.Arch, func(a string) bool { return strings.HasPrefix(a, "gfx") }):
		return "no image is pinned yet, by its digest, for these devices"
	case len(f.recipe.Runtime.Packages) == 0:
		return "neither an image nor packages are pinned"
	case f.weights == "":
		return "the model's weights have no repository"
	}
	return f.severalNodes()
}

func (f *former) severalNodes() string {
	if f.recipe.Nodes > 1 {
		return "the recipe spans " + format.Count(f.recipe.Nodes) + " nodes, and one such command starts one"
	}
	return ""
}

func (f *former) launchName() string {
	if f.random {
		return "To serve · " + f.engine + " · the published weights; not what was measured"
	}
	return "Launch · " + f.engine
}

// own measures the server that the recipe names, other any that serves its model: with
// other weights than the recipe's it makes no row of it.
func (f *former) bench() (name string, words []string) {
	if f.random {
		return "Measure what you serve", benchWords(recipeKey{Model: f.key.Model}, f.rows)
	}
	return "Measure it yourself", benchWords(f.key, f.rows)
}

func (f *former) packages() runForm {
	form := runForm{Name: formPackages, Own: true, Note: "HF_TOKEN and HF_HOME are taken from your shell"}
	if c, ok := install(&f.recipe); ok {
		form.Commands = append(form.Commands, c)
	}
	if f.weights != "" {
		form.Commands = append(form.Commands, command{f.launchName(), launched(f.key.Model, &f.recipe, f.weights, f.flags)})
	}
	if f.random {
		form.Commands = append(form.Commands, command{"As measured: random weights, which serve nonsense · " + f.engine + " · " + f.key.Model + " is a folder with the model's configuration and tokenizer",
			launched(f.key.Model, &f.recipe, "", f.recipe.Flags)})
	}
	form.Commands = append(form.Commands, command{"Measure it yourself, against the server as measured", wrapped(benchWords(f.key, f.rows), wideCommand)})
	return form
}

func (f *former) docker() runForm {
	form := runForm{Name: "docker"}
	if form.Missing = f.severalNodes(); form.Missing != "" {
		return form
	}
	name, bench := f.bench()
	form.Commands = []command{{f.launchName(), launched(f.key.Model, &f.recipe, f.weights, f.flags)}, {name, wrapped(bench, wideCommand)}}
	return form
}

func (f *former) apptainer() runForm {
	form := runForm{Name: "apptainer"}
	if form.Missing = f.severalNodes(); form.Missing != "" {
		return form
	}
	c := launch.For(f.key.Model, &f.recipe, launch.Options{Means: launch.Apptainer, Port: port, Weights: f.weights, Flags: f.flags, Cache: hubFolder})
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(c.Taken)) {
		taken = append(taken, name+`="$`+c.Taken[name]+`"`)
	}
	own := slices.Index(c.Argv, "docker://"+f.recipe.Runtime.Image) + 1
	name, bench := f.bench()
	form.Commands = []command{
		{f.launchName(), strings.Join(append(taken, inside(c.Argv[:own], c.Argv[own:])), " \\\n")},
		{name, wrapped(bench, wideCommand)},
	}
	return form
}

// served is the server's own command, and the environment that it is given.
func (f *former) served() ([]string, map[string]string) {
	plain := f.recipe
	plain.Runtime.Image = ""
	c := launch.For(f.key.Model, &plain, launch.Options{Means: launch.Process, Port: port, Weights: f.weights, Flags: f.flags})
	return c.Argv, c.Env
}

// srun is Slurm's, with the container plugin pyxis. The environment of the caller goes
// in, and what is named takes the place of the image's own.
func (f *former) srun() runForm {
	form := runForm{Name: "srun"}
	if form.Missing = f.severalNodes(); form.Missing != "" {
		return form
	}
	argv, env := f.served()
	lines := []string{"HF_HOME=" + hubMount}
	names := []string{"HF_HOME", "HF_TOKEN"}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		lines = append(lines, name+"="+launch.Quote(env[name]))
		names = append(names, name)
	}
	mounts := hubFolder + ":" + hubMount
	if f.amd() {
		mounts += ",/dev/kfd:/dev/kfd,/dev/dri:/dev/dri"
	}
	words := []string{"srun", "--gpus=" + strconv.FormatInt(f.recipe.GPUs(), 10), "--container-image=" + enrootImage(f.recipe.Runtime.Image),
		"--container-mounts=" + mounts, "--container-env=" + strings.Join(names, ","), "--no-container-entrypoint"}
	lines = append(lines, inside(words, argv))
	name, bench := f.bench()
	form.Commands = []command{
		{f.launchName() + " · in an allocation, by salloc", strings.Join(lines, " \\\n")},
		{name + ", in the same allocation", inside([]string{"srun", "--overlap"}, bench)},
	}
	return form
}

func (f *former) amd() bool {
	return slices.ContainsFunc(f.recipe.Arch, func(a string) bool { return strings.HasPrefix(a, "gfx") })
}

// enrootImage is an image as enroot reads it: its registry before a #, and a digest in
// the place of the tag, since its form of a name has no @ behind the image.
func enrootImage(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	host, rest, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, rest = "registry-1.docker.io", name
		if !ok {
			rest = "library/" + name
		}
	}
	if pinned {
		if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
			rest = rest[:i]
		}
		rest += ":" + digest
	}
	return host + "#" + rest
}

// kubernetes is a pod that serves, and the client inside it, where it reads the server's
// process and the device.
func (f *former) kubernetes() runForm {
	form := runForm{Name: "Kubernetes"}
	if form.Missing = f.severalNodes(); form.Missing != "" {
		return form
	}
	pod := podName(f.key.String())
	name, bench := f.bench()
	bench[0] = "/tmp/measure"
	at := slices.Index(bench, "--output") + 1
	bench[at] = "/tmp/out/" + bench[at]
	form.Commands = []command{
		{f.launchName() + " · the secret hf-token holds HF_TOKEN", "kubectl apply -f - <<'END'\n" + f.pod(pod) + "END"},
		{name + ", inside the pod", "kubectl cp bin/measure " + pod + ":/tmp/measure\n" +
			inside([]string{"kubectl", "exec", pod, "--"}, bench) + "\nkubectl cp " + pod + ":/tmp/out out"},
	}
	return form
}

// podName is a recipe's name as a pod may be called: letters, digits and hyphens, 63 at
// most.
func podName(recipe string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(recipe) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	name := b.String()
	return strings.Trim(name[:min(len(name), 63)], "-")
}

// pod is the manifest. Each text of the recipe is quoted as JSON quotes it, which YAML
// reads as it is.
func (f *former) pod(name string) string {
	argv, env := f.served()
	device := "nvidia.com/gpu"
	if f.amd() {
		device = "amd.com/gpu"
	}
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent))
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line(0, "apiVersion: v1")
	line(0, "kind: Pod")
	line(0, "metadata:")
	line(1, "name: %s", name)
	line(0, "spec:")
	line(1, "restartPolicy: Never")
	line(1, "containers:")
	line(1, "- name: server")
	line(2, "image: %s", yamlText(f.recipe.Runtime.Image))
	line(2, "command:")
	for _, word := range argv {
		line(2, "- %s", yamlText(unexpanded(word)))
	}
	line(2, "env:")
	line(2, "- name: HF_TOKEN")
	line(3, "valueFrom: {secretKeyRef: {name: hf-token, key: HF_TOKEN, optional: true}}")
	line(2, "- name: HF_HOME")
	line(3, "value: %s", hubMount)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		line(2, "- name: %s", name)
		line(3, "value: %s", yamlText(unexpanded(env[name])))
	}
	line(2, "ports:")
	line(2, "- containerPort: %d", port)
	line(2, "readinessProbe:")
	line(3, "httpGet: {path: /v1/models, port: %d}", port)
	line(2, "resources:")
	line(3, "limits: {%s: %d}", device, f.recipe.GPUs())
	line(2, "volumeMounts:")
	line(2, "- {name: hub, mountPath: %s}", hubMount)
	line(2, "- {name: shm, mountPath: /dev/shm}")
	line(1, "volumes:")
	line(1, "- name: hub")
	line(2, "hostPath: {path: %s, type: DirectoryOrCreate}", hubFolder)
	line(1, "- name: shm")
	line(2, "emptyDir: {medium: Memory}")
	return b.String()
}

// unexpanded keeps Kubernetes from reading $(NAME) in a word as a variable.
func unexpanded(word string) string { return strings.ReplaceAll(word, "$(", "$$(") }

func yamlText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // an ampersand stays one to a reader
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s) // text always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// containerfile builds the pinned packages into an image and pushes it. The full Python
// image has the compiler that kernels are built with at start; the two variables are what
// the container runtimes give devices by.
func containerfile(r *row.Recipe, image string) string {
	var pins []string
	for _, name := range slices.Sorted(maps.Keys(r.Runtime.Packages)) {
		pins = append(pins, launch.Quote(name+"=="+r.Runtime.Packages[name]))
	}
	return "docker build -t " + image + " - <<'END'\n" +
		"FROM python:3.12\n" +
		"ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility\n" +
		"RUN pip install --no-cache-dir " + strings.Join(pins, " ") + "\n" +
		"END\n" +
		"docker push " + image
}

// benchWords measure the recipe, or the model alone where the key names no more: the
// shapes and loads of its rows that rank or were measured in passes of the same, else the
// default.
func benchWords(k recipeKey, rows []*measured) []string {
	var shapes, loads []string
	for _, m := range rows {
		if kindOf(&m.Workload).key != "" {
			continue
		}
		if sh := m.shape().String(); !slices.Contains(shapes, sh) {
			shapes = append(shapes, sh)
		}
		if c := m.concurrency(); c > 0 && !slices.Contains(loads, strconv.FormatInt(c, 10)) {
			loads = append(loads, strconv.FormatInt(c, 10))
		}
	}
	slices.SortFunc(loads, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if len(shapes) == 0 {
		shapes = []string{"1024:256"}
	}
	if len(loads) == 0 {
		loads = []string{"1", "4", "16", "64"}
	}
	words := []string{"measure", "bench", k.Model}
	output := k.Model
	if k.Target != "" {
		words = append(words, "--recipe", k.String())
		output = strings.ReplaceAll(k.String(), "/", "-")
	}
	return append(words, "--base-url", "http://127.0.0.1:"+strconv.Itoa(port),
		"--cells", strings.Join(shapes, ","), "--concurrency", strings.Join(loads, ","), "--num-prompts", "auto", "--repeats", "3",
		"--output", output)
}
