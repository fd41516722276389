package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/rowfile"
)

// recipesScript runs bench/recipes.sh with the given vllm in place of the real one. What
// it answers is the exit code, standard error and the folder of its files.
func recipesScript(t *testing.T, vllm, out, seconds string, env []string, recipes ...string) (int, string) {
	t.Helper()
	script, err := filepath.Abs("../../bench/recipes.sh")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "measure")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "vllm"), []byte(vllm), 0o755); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.Command("bash", append([]string{script, out, seconds}, recipes...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), fmt.Sprintf("PORT=%d", port),
		"CELLS=64:16", "DURATION=1s", "REPEATS=1", "START_SECONDS=5")
	cmd.Env = append(cmd.Env, env...)
	var said strings.Builder
	cmd.Stderr = &said
	err = cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

const (
	twoGPUs = "qwen3-32b/h200-sxm-x2/latency/vllm"

	// standIn is a server that the recipe's command starts, and that keeps what it was
	// started with.
	standIn = `#!/bin/sh
{ echo "$NCCL_NVLS_ENABLE $TORCH_SYMM_MEM_DISABLE_MULTICAST $NVSHMEM_DISABLE_NVLS $VLLM_ALLREDUCE_USE_SYMM_MEM"; echo "$*"; } >started
for word; do port=$word; done
exec measure simulate --port "$port" --model qwen3-32b --gap 1ms
`
)

// Loads that have a row are not measured again, those whose row failed are, and the
// server is started by the recipe's own command, in its environment.
func TestRecipesGoOnWhereTheyStopped(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	name := filepath.Join(out, "qwen3-32b_h200-sxm-x2_latency_vllm-ladder")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	before := rowfile.CSVHeader + "\n64,16,1" + strings.Repeat(",", 15) + `,ok,"","a, b"` + "\n64,16,2" + strings.Repeat(",", 15) + `,error,"ended",""` + "\n"
	if err := os.WriteFile(name+".csv", []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	where := filepath.Join(t.TempDir(), "started")
	vllm := strings.Replace(standIn, ">started", ">"+where, 1)
	code, said := recipesScript(t, vllm, out, "120", []string{"LADDER=1,2"}, twoGPUs)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	started, err := os.ReadFile(where)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(started), "0 1 1 0\nserve qwen3-32b --load-format dummy ") || !strings.Contains(string(started), "--tensor-parallel-size 2") {
		t.Errorf("started with %s", started)
	}
	rows, err := os.ReadFile(name + "-2.csv")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(rows)), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "64,16,2,") {
		t.Errorf("measured\n%s\nwant c = 2 alone", rows)
	}

	code, said = recipesScript(t, "#!/bin/sh\nexit 9\n", out, "120", []string{"LADDER=1,2"}, twoGPUs)
	if code != 0 || !strings.Contains(said, twoGPUs+": has every row") {
		t.Errorf("with every row: exit %d: %s", code, said)
	}
}

// A recipe that there is no time for is named, and one whose server dies keeps none of
// the others from being tried.
func TestRecipesSayWhatIsLeft(t *testing.T) {
	other := "llama-3.3-70b/h200-sxm-x2/latency/vllm"
	code, said := recipesScript(t, standIn, t.TempDir(), "4", nil, twoGPUs, other)
	for _, want := range []string{twoGPUs + ": not started, with", other + ": not started, with"} {
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("exit %d, want 1 and %q: %s", code, want, said)
		}
	}
	code, said = recipesScript(t, "#!/bin/sh\necho out of memory\nexit 9\n", t.TempDir(), "60", nil, twoGPUs, other)
	for _, want := range []string{"the server ended with exit status 9 before it answered", "out of memory", twoGPUs + ": no row at c = 1,4,16,64", other + ": no row at c = 1,4,16,64"} {
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("exit %d, want 1 and %q: %s", code, want, said)
		}
	}
	if code, said = recipesScript(t, standIn, t.TempDir(), "soon", nil, twoGPUs); code != 2 || !strings.Contains(said, "bench/recipes.sh OUT SECONDS RECIPE...") {
		t.Errorf("wrong usage: exit %d: %s", code, said)
	}
}
