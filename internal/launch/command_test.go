package launch

import (
	"os/exec"
	"strings"
	"testing"

	"rowproof/internal/row"
)

func TestLaunchLineIsReadBackByAShell(t *testing.T) {
	r := &row.Recipe{
		Weights: row.Weights{Repository: "random"},
		Env:     map[string]string{"A": "it's $HOME"},
		Flags:   []string{"--json", `{"a": "b"}`},
		Launch:  []string{"printf", "%s|", "{weights}", "{flags}", "--port={port}"},
	}
	line := For("llama-3.1-8b", r, Options{Port: 8123}).Line()
	out, err := exec.Command("sh", "-c", line+`; `+strings.SplitAfter(line, "HOME'")[0]+` sh -c 'printf %s "$A"'`).Output()
	if want := `llama-3.1-8b|--json|{"a": "b"}|--port=8123|it's $HOME`; err != nil || string(out) != want {
		t.Errorf("%s\ngave %q, want %q (%v)", line, out, want, err)
	}
}

// What a container is given: the devices of its vendor, the token by its name alone, the
// cache, and the recipe's own environment.
func TestContainerCommands(t *testing.T) {
	r := &row.Recipe{
		Runtime: row.Runtime{Image: "registry.example/vllm@sha256:b2"},
		Weights: row.Weights{Repository: "meta-llama/Llama-3.1-8B-Instruct"},
		Env:     map[string]string{"VLLM_USE_V1": "1"},
		Flags:   []string{"--max-model-len", "4096"},
		Launch:  []string{"vllm", "serve", "{weights}", "{flags}", "--port", "{port}"},
		Arch:    []string{"sm_90"},
	}
	rocm := *r
	rocm.Arch = []string{"gfx942"}
	const served = " vllm registry.example/vllm@sha256:b2 serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096 --port 8000"
	for _, c := range []struct {
		recipe *row.Recipe
		o      Options
		want   string
	}{
		{r, Options{Means: Docker, Port: 8000, Name: "rowproof-8000", Cache: "/data/hf"},
			"docker run --rm --name rowproof-8000 --gpus all --ipc=host --network=host -e HF_TOKEN -v /data/hf:/hf-cache -e HF_HOME=/hf-cache -e VLLM_USE_V1=1 --entrypoint" + served},
		{r, Options{Means: Podman, Port: 8000},
			"podman run --rm --device nvidia.com/gpu=all --ipc=host --network=host -e HF_TOKEN -e VLLM_USE_V1=1 --entrypoint" + served},
		{&rocm, Options{Means: Docker, Port: 8000, Folder: "/work"},
			"docker run --rm --device=/dev/kfd --device=/dev/dri --group-add video --security-opt seccomp=unconfined --ipc=host --network=host -e HF_TOKEN -v /work:/work -w /work -e VLLM_USE_V1=1 --entrypoint" + served},
		{r, Options{Means: Apptainer, Port: 8000, Cache: "/data/hf"},
			`APPTAINERENV_HF_TOKEN="$HF_TOKEN" ` + "apptainer exec --cleanenv --nv --bind /data/hf:/hf-cache --env HF_HOME=/hf-cache --env VLLM_USE_V1=1 docker://registry.example/vllm@sha256:b2 vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096 --port 8000"},
	} {
		if got := For("llama-3.1-8b", c.recipe, c.o).Line(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.o.Means, got, c.want)
		}
	}
}
