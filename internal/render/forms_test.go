package render

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

const secret = "hf_secretsecretsecret"

// called is one program that a command ran.
type called struct {
	argv  []string
	env   map[string]string
	stdin string
}

// runCommand gives a command to a shell as a reader would, where each program that a form
// names only tells how it was called.
func runCommand(t *testing.T, text string) []called {
	t.Helper()
	dir := t.TempDir()
	const script = `#!/bin/sh
{ printf '%s\0' "${0##*/}" "$@"; printf '\001env\0'; env -0; printf '\001stdin\0'; case $0 in *kubectl) cat;; esac; printf '\002'; } >>"$CALLS"
`
	for _, name := range []string{"docker", "apptainer", "srun", "kubectl", "vllm", "python3", "pip", "measure"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	calls := filepath.Join(dir, "calls")
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "CALLS=" + calls, "HF_TOKEN=" + secret, "HF_HOME=/home/reader/hub"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("a shell refuses the command: %v %s\n%s", err, out, text)
	}
	var all []called
	for _, told := range strings.Split(strings.TrimSuffix(read(t, calls), "\x02"), "\x02") {
		head, rest, _ := strings.Cut(told, "\x00\x01env\x00")
		env, stdin, ok := strings.Cut(rest, "\x00\x01stdin\x00")
		if !ok {
			t.Fatalf("a program told %q", told)
		}
		c := called{argv: strings.Split(head, "\x00"), env: map[string]string{}, stdin: stdin}
		for _, pair := range strings.Split(env, "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			c.env[name] = value
		}
		all = append(all, c)
	}
	return all
}

// started is the server that a call starts, and the environment that it is given.
type started struct {
	image string
	argv  []string
	env   map[string]string
	gpus  string
}

// startedBy reads a call as the program that it names does.
func startedBy(t *testing.T, c called) started {
	t.Helper()
	s := started{env: map[string]string{}}
	set := func(pair string) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			value = c.env[name] // taken over by its name
		}
		s.env[name] = value
	}
	args := c.argv[1:]
	take := func() string {
		word := args[0]
		args = args[1:]
		return word
	}
	switch c.argv[0] {
	case "docker":
		entry := ""
		for take(); strings.HasPrefix(args[0], "-"); {
			switch flag := take(); flag {
			case "-e":
				set(take())
			case "--entrypoint":
				entry = take()
			case "--gpus", "-v", "--group-add", "--security-opt":
				take()
			case "--rm", "--ipc=host", "--network=host", "--device=/dev/kfd", "--device=/dev/dri":
			default:
				t.Fatalf("docker is given %s", flag)
			}
		}
		s.image = take()
		s.argv = append([]string{entry}, args...)
	case "apptainer":
		for take(); strings.HasPrefix(args[0], "-"); {
			switch flag := take(); flag {
			case "--env":
				set(take())
			case "--bind":
				take()
			case "--cleanenv", "--nv", "--rocm":
			default:
				t.Fatalf("apptainer is given %s", flag)
			}
		}
		for name, value := range c.env { // what it takes the prefix from
			if name, ok := strings.CutPrefix(name, "APPTAINERENV_"); ok {
				s.env[name] = value
			}
		}
		s.image = strings.TrimPrefix(take(), "docker://")
		s.argv = args
	case "srun":
		for strings.HasPrefix(args[0], "--") {
			name, value, _ := strings.Cut(take(), "=")
			switch name {
			case "--gpus":
				s.gpus = value
			case "--container-image":
				s.image = value
			case "--container-env":
				for _, name := range strings.Split(value, ",") {
					set(name)
				}
			case "--container-mounts", "--no-container-entrypoint":
			default:
				t.Fatalf("srun is given %s", name)
			}
		}
		s.argv = args
	default:
		s.argv, s.env = c.argv, c.env
	}
	return s
}

// podManifest is as much of the Kubernetes API's v1 Pod as the forms use: a field that it
// does not know is refused.
type podManifest struct {
	APIVersion string                `yaml:"apiVersion"`
	Kind       string                `yaml:"kind"`
	Metadata   struct{ Name string } `yaml:"metadata"`
	Spec       struct {
		RestartPolicy string `yaml:"restartPolicy"`
		Containers    []struct {
			Name    string
			Image   string
			Command []string
			Env     []struct {
				Name      string
				Value     *string
				ValueFrom *struct {
					SecretKeyRef struct {
						Name, Key string
						Optional  bool
					} `yaml:"secretKeyRef"`
				} `yaml:"valueFrom"`
			}
			Ports []struct {
				ContainerPort int `yaml:"containerPort"`
			}
			ReadinessProbe struct {
				HTTPGet struct {
					Path string
					Port int
				} `yaml:"httpGet"`
			} `yaml:"readinessProbe"`
			Resources    struct{ Limits map[string]int }
			VolumeMounts []struct {
				Name      string
				MountPath string `yaml:"mountPath"`
			} `yaml:"volumeMounts"`
		}
		Volumes []struct {
			Name     string
			HostPath *struct{ Path, Type string } `yaml:"hostPath"`
			EmptyDir *struct{ Medium string }     `yaml:"emptyDir"`
		}
	}
}

// startedByPod reads a manifest as a cluster does.
func startedByPod(t *testing.T, manifest string) started {
	t.Helper()
	var p podManifest
	d := yaml.NewDecoder(strings.NewReader(manifest))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	if p.APIVersion != "v1" || p.Kind != "Pod" || p.Spec.RestartPolicy != "Never" || len(p.Spec.Containers) != 1 {
		t.Fatalf("no pod that serves once:\n%s", manifest)
	}
	if name := p.Metadata.Name; !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name) {
		t.Errorf("a pod cannot be called %q", name)
	}
	c := p.Spec.Containers[0]
	s := started{image: c.Image, env: map[string]string{}}
	// A cluster reads $(NAME) as a variable and $$( as what it is.
	literal := func(word string) string {
		if strings.Contains(strings.ReplaceAll(word, "$$(", ""), "$(") {
			t.Errorf("a cluster would expand %q", word)
		}
		return strings.ReplaceAll(word, "$$(", "$(")
	}
	for _, word := range c.Command {
		s.argv = append(s.argv, literal(word))
	}
	for _, e := range c.Env {
		switch {
		case (e.Value == nil) == (e.ValueFrom == nil):
			t.Errorf("variable %s has a value and a source, or neither", e.Name)
		case e.Value != nil:
			s.env[e.Name] = literal(*e.Value)
		case e.ValueFrom.SecretKeyRef.Name == "hf-token" && e.ValueFrom.SecretKeyRef.Key == e.Name:
			s.env[e.Name] = secret
		}
	}
	if len(c.Ports) != 1 || c.Ports[0].ContainerPort != 8000 || c.ReadinessProbe.HTTPGet.Port != 8000 || c.ReadinessProbe.HTTPGet.Path != "/v1/models" {
		t.Errorf("ports %v, probe %v", c.Ports, c.ReadinessProbe)
	}
	for device, n := range c.Resources.Limits {
		s.gpus = device + "=" + strconv.Itoa(n)
	}
	volumes := map[string]bool{}
	for _, v := range p.Spec.Volumes {
		volumes[v.Name] = (v.HostPath != nil) != (v.EmptyDir != nil)
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || !strings.HasPrefix(m.MountPath, "/") {
			t.Errorf("volume %q at %q is none of %v", m.Name, m.MountPath, volumes)
		}
	}
	return s
}

// What a reader copies starts the recipe's server, with its flags and environment word for
// word and the token by its name alone, whatever it is started by.
func TestFormsStartTheRecipe(t *testing.T) {
	known, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	recipes := maps.Clone(known.Recipes)
	digest := "sha256:" + strings.Repeat("ab", 32)
	pinned := row.Recipe{
		Engine: row.EngineRef{Name: "vllm", Version: "0.26.0"}, Runtime: row.Runtime{Image: "ghcr.io/some/vllm:v0.26.0@" + digest},
		Weights: row.Weights{Repository: "some/model", Dtype: "bf16"}, KVDtype: "bf16",
		Pools: []row.Pool{{Role: row.RoleAll, Count: 1, TP: 2, PP: 1, DP: 1, EP: 1}}, Nodes: 1, Arch: []string{"sm_90"},
		Env:    map[string]string{"A": "it's $HOME", "B": `say "x" $(A) & <b>`, "C_1": ""},
		Flags:  []string{"--json", `{"a": "b c", "d": [1, 2]}`, "--odd", "$(HF_TOKEN) `id` \\ *", "--last"},
		Launch: []string{"vllm", "serve", "{weights}", "{flags}", "--port", "{port}"},
	}
	amd := pinned
	amd.Runtime.Image, amd.Arch = "rocm/vllm@"+digest, []string{"gfx942"}
	recipes["llama-3.1-8b/h200-sxm-x2/latency/pinned"] = &pinned
	recipes["llama-3.1-8b/"+strings.Repeat("long-", 20)+"/latency/pinned"] = &amd
	for id, r := range recipes {
		t.Run(id, func(t *testing.T) {
			k, ok := parseKey(id)
			if !ok {
				t.Fatal("no name of a recipe")
			}
			m := known.Models[k.Model]
			forms := runForms(k, r, m, nil)
			if !forms[0].Own || slices.ContainsFunc(forms[1:], func(f runForm) bool { return f.Own }) {
				t.Error("the first form alone is the recipe's own")
			}
			var names []string
			for _, f := range forms {
				names = append(names, strings.Split(f.Name, ", ")...)
				checkForm(t, f, k, r, m)
			}
			slices.Sort(names)
			if want := []string{"Kubernetes", "Packages", "apptainer", "docker", "srun"}; !slices.Equal(names, want) {
				t.Errorf("the forms are %q; want %q, with a reason where there is none", names, want)
			}
		})
	}
}

func checkForm(t *testing.T, f runForm, k recipeKey, r *row.Recipe, m *roofline.Model) {
	t.Helper()
	if f.Missing != "" {
		if len(f.Commands) > 0 {
			t.Errorf("%s is missing (%s) and has commands", f.Name, f.Missing)
		}
		return
	}
	var servers, benches int
	for _, c := range f.Commands {
		if strings.Contains(c.Text, secret) {
			t.Errorf("%s holds the token's value", f.Name)
		}
		calls := runCommand(t, c.Text)
		switch {
		case strings.Contains(c.Text, "bench"):
			benches++
			words := calls[0].argv
			for _, call := range calls {
				if slices.Contains(call.argv, "bench") {
					words = call.argv
				}
			}
			recipe := slices.Index(words, "--recipe")
			if own := r.Weights.Repository != "random" || f.Own; own != (recipe > 0) || own && words[recipe+1] != k.String() {
				t.Errorf("%s measures %q", f.Name, words)
			}
			if at := slices.Index(words, "--base-url"); words[at+1] != "http://127.0.0.1:8000" {
				t.Errorf("%s measures at %s", f.Name, words[at+1])
			}
		case strings.HasPrefix(c.Text, "docker build"), strings.HasPrefix(c.Text, "docker pull"), strings.HasPrefix(c.Text, "pip"):
			for name, version := range r.Runtime.Packages {
				if !strings.Contains(c.Text, name+"=="+version) {
					t.Errorf("%s does not pin %s", f.Name, name)
				}
			}
		default:
			servers++
			var s started
			if f.Name == "Kubernetes" {
				s = startedByPod(t, calls[0].stdin)
			} else {
				s = startedBy(t, calls[0])
			}
			checkStarted(t, f, s, r, m, strings.HasPrefix(c.Name, "As measured"), k)
		}
	}
	if want := 1; benches != want || servers == 0 {
		t.Errorf("%s starts %d servers and measures %d times", f.Name, servers, benches)
	}
}

func checkStarted(t *testing.T, f runForm, s started, r *row.Recipe, m *roofline.Model, measured bool, k recipeKey) {
	t.Helper()
	weights, flags := r.Weights.Repository, r.Flags
	if weights == "random" {
		weights = k.Model
		if !measured {
			weights = m.Repositories[0]
			flags = strings.Split(strings.ReplaceAll(strings.Join(flags, "\x00")+"\x00", "--load-format\x00dummy\x00", ""), "\x00")
			flags = flags[:len(flags)-1]
		}
	}
	var want []string
	for _, word := range r.Launch {
		switch word {
		case "{flags}":
			want = append(want, flags...)
		case "{weights}":
			want = append(want, weights)
		case "{port}":
			want = append(want, "8000")
		default:
			want = append(want, word)
		}
	}
	if !slices.Equal(s.argv, want) {
		t.Errorf("%s starts\n%q\nwant\n%q", f.Name, s.argv, want)
	}
	for name, value := range r.Env {
		if s.env[name] != value {
			t.Errorf("%s: %s is %q, want %q", f.Name, name, s.env[name], value)
		}
	}
	home := "/hf-cache"
	if f.Name == formPackages {
		home = "/home/reader/hub"
	}
	if s.env["HF_TOKEN"] != secret || s.env["HF_HOME"] != home {
		t.Errorf("%s: HF_TOKEN %q, HF_HOME %q", f.Name, s.env["HF_TOKEN"], s.env["HF_HOME"])
	}
	if f.Name != formPackages && len(s.env) != len(r.Env)+2 {
		t.Errorf("%s gives more than the recipe's environment: %v", f.Name, s.env)
	}
	device := "nvidia.com/gpu"
	if slices.ContainsFunc(r.Arch, func(a string) bool { return strings.HasPrefix(a, "gfx") }) {
		device = "amd.com/gpu"
	}
	switch f.Name {
	case "Kubernetes":
		if want := fmt.Sprintf("%s=%d", device, r.GPUs()); s.gpus != want {
			t.Errorf("Kubernetes asks for %s, want %s", s.gpus, want)
		}
	case "srun":
		if want := strconv.FormatInt(r.GPUs(), 10); s.gpus != want {
			t.Errorf("srun asks for %s GPUs, want %s", s.gpus, want)
		}
	}
	if image := r.Runtime.Image; image != "" && f.Name != "srun" && s.image != image {
		t.Errorf("%s runs %s, want %s", f.Name, s.image, image)
	}
}

// Enroot's form of an image has its registry before a #, and no @.
func TestEnrootImages(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai@sha256:b2":            "registry-1.docker.io#vllm/vllm-openai:sha256:b2",
		"python@sha256:b2":                      "registry-1.docker.io#library/python:sha256:b2",
		"rocm/sgl-dev:v1@sha256:b2":             "registry-1.docker.io#rocm/sgl-dev:sha256:b2",
		"localhost:5000/a/b:1@sha256:b2":        "localhost:5000#a/b:sha256:b2",
		"registry.example/vllm:0.26.0":          "registry.example#vllm:0.26.0",
		"nvcr.io/nvidia/tritonserver@sha256:b2": "nvcr.io#nvidia/tritonserver:sha256:b2",
	} {
		if got := enrootImage(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

// A form that one command cannot start says why, and a card still has the others.
func TestFormsOfSeveralNodes(t *testing.T) {
	r := row.Recipe{
		Engine: row.EngineRef{Name: "sglang", Version: "0.5.16"}, Runtime: row.Runtime{Image: "a/b@sha256:b2"}, Weights: row.Weights{Repository: "a/b"},
		Pools: []row.Pool{{Role: row.RoleAll, Count: 1, TP: 16, PP: 1, DP: 1, EP: 1}}, Nodes: 2, Launch: []string{"python3", "{flags}"},
	}
	for _, f := range runForms(recipeKey{Model: "m", Target: "t", Strategy: "s", Engine: "sglang"}, &r, nil, nil) {
		if f.Name != formPackages && !strings.Contains(f.Missing, "spans 2 nodes") {
			t.Errorf("%s: %q", f.Name, f.Missing)
		}
	}
}

// The card says what to set up first, what is not known of its accuracy, and what its own
// rows tell of trouble, once each.
func TestCardsSayWhatSurroundsTheFigures(t *testing.T) {
	s := theSite(t)
	page := plainPage(t, s.out, "recipes/llama-3.1-8b/index.html")
	for _, want := range []string{
		"First: disable NUMA balancing; leave the GPU alone; in a container, mount the HuggingFace cache.",
		"Accuracy— Random weights: speed only; no accuracy figure belongs to this row.",
		"no image is pinned yet, by its digest, for these devices",
		"What hardware allows", "decodes at most",
		"Other batches and contexts in the calculator",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if got := whatWarns("device 0: software power cap; device 1: software power cap."); got != "software power cap" {
		t.Error(got)
	}
	if got := whatWarns("TPOT p50 falls from 2.6 ms at c=1 (row bfbe25b7c83f) to 2.4 ms at c=4"); got != "TPOT p50 falls from 2.6 ms at c=1 to 2.4 ms at c=4" {
		t.Error(got)
	}
	if !bytes.Contains([]byte(read(t, s.out, "recipes/llama-3.1-8b/index.html")), []byte(`href="/rowproof/roofline/?kv=bf16`)) {
		t.Error("no card leads to the calculator with its own question")
	}
}
