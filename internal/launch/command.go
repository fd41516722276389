// Package launch makes the command that starts a recipe's server, as a process or in a
// container, and runs it: in a group of its own, its log kept, and nothing of it left when
// it is stopped or when the program that started it dies.
package launch

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// Means by which a recipe is run.
const (
	Process   = "process"
	Docker    = "docker"
	Podman    = "podman"
	Apptainer = "apptainer"
)

// Containers are the means that run an image, as they are looked for.
var Containers = []string{Docker, Podman, Apptainer}

// Random stands for a repository where the engine makes weights up.
const Random = "random"

// Options are what a recipe leaves open.
type Options struct {
	Means string
	Port  uint16
	// Weights is what is served: a repository, or a folder. Of a recipe with random weights it
	// is by default a folder of the working directory that is called as the model.
	Weights string
	Flags   []string // by default the recipe's
	Name    string   // of the container; "" leaves it to the program
	Cache   string   // the host's folder of HF_HOME, which a container is given; "" gives none
	Folder  string   // the working directory, which a container needs for a folder of weights; "" gives none
}

// Command is what starts a server. Env is set beside the environment of the caller, and so
// is Taken: names whose values are those of variables of that environment, which are
// written down nowhere.
type Command struct {
	Env   map[string]string
	Taken map[string]string
	Argv  []string
}

// apptainerEnv is the prefix of what apptainer takes inside though it clears the rest.
const apptainerEnv = "APPTAINERENV_"

// cache is where a container finds the host's HF_HOME.
const cache = "/hf-cache"

// For makes the command of a recipe; model is its model's id in the catalogue.
func For(model string, r *row.Recipe, o Options) Command {
	weights := o.Weights
	if weights == "" {
		weights = r.Weights.Repository
		if weights == Random {
			weights = model
		}
	}
	flags := o.Flags
	if flags == nil {
		flags = r.Flags
	}
	var own []string
	for _, word := range r.Launch {
		if word == "{flags}" {
			own = append(own, flags...)
			continue
		}
		own = append(own, strings.NewReplacer("{weights}", weights, "{port}", strconv.Itoa(int(o.Port))).Replace(word))
	}
	switch o.Means {
	case Docker, Podman:
		return Command{Env: map[string]string{}, Argv: oci(r, o, own)}
	case Apptainer:
		return Command{Env: map[string]string{}, Taken: map[string]string{apptainerEnv + "HF_TOKEN": "HF_TOKEN"}, Argv: apptainer(r, o, own)}
	}
	return Command{Env: r.Env, Argv: own}
}

// amd says whether a recipe's image is of AMD's devices.
func amd(r *row.Recipe) bool {
	return slices.ContainsFunc(r.Arch, func(a string) bool { return strings.HasPrefix(a, "gfx") })
}

// oci is the command of docker and podman. The token for the Hub goes in by its name, so
// that its value stands in no command.
func oci(r *row.Recipe, o Options, own []string) []string {
	words := []string{o.Means, "run", "--rm"}
	if o.Name != "" {
		words = append(words, "--name", o.Name)
	}
	switch {
	case amd(r):
		words = append(words, "--device=/dev/kfd", "--device=/dev/dri", "--group-add", "video", "--security-opt", "seccomp=unconfined")
	case o.Means == Podman:
		words = append(words, "--device", "nvidia.com/gpu=all")
	default:
		words = append(words, "--gpus", "all")
	}
	words = append(words, "--ipc=host", "--network=host", "-e", "HF_TOKEN")
	if o.Cache != "" {
		words = append(words, "-v", o.Cache+":"+cache, "-e", "HF_HOME="+cache)
	}
	if o.Folder != "" {
		words = append(words, "-v", o.Folder+":"+o.Folder, "-w", o.Folder)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		words = append(words, "-e", name+"="+r.Env[name])
	}
	words = append(words, "--entrypoint", own[0], r.Runtime.Image)
	return append(words, own[1:]...)
}

// apptainer keeps the host's network, and mounts home and working directory by itself.
func apptainer(r *row.Recipe, o Options, own []string) []string {
	words := []string{Apptainer, "exec", "--cleanenv"}
	if amd(r) {
		words = append(words, "--rocm")
	} else {
		words = append(words, "--nv")
	}
	if o.Cache != "" {
		words = append(words, "--bind", o.Cache+":"+cache, "--env", "HF_HOME="+cache)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		words = append(words, "--env", name+"="+r.Env[name])
	}
	return append(append(words, "docker://"+r.Runtime.Image), own...)
}

// Line is the command on one line of a POSIX shell, its environment before it.
func (c Command) Line() string { return strings.Join(c.Words(), " ") }

// Words are the parts of Line, each quoted where a shell needs it.
func (c Command) Words() []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		words = append(words, name+"="+Quote(c.Env[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Taken)) {
		words = append(words, name+`="$`+c.Taken[name]+`"`)
	}
	for _, word := range c.Argv {
		words = append(words, Quote(word))
	}
	return words
}

// Quote writes a word so that a POSIX shell reads it back unchanged.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune("\"'`$\\|&;<>()*?[]{}~#!", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
