package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// packageNames are the distributions whose versions decide how an engine runs.
var packageNames = []string{
	"vllm", "sglang", "sgl-kernel", "torch", "flashinfer-python", "triton", "transformers", "tokenizers",
	"nvidia-nccl-cu12", "nvidia-nccl-cu13", "xformers", "flash-attn", "llama-cpp-python",
	"compressed-tensors", "xgrammar", "numpy",
	"nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-cublas-cu12", "nvidia-cublas",
	"amd-aiter", "aiter", "pytorch-triton-rocm", "triton-rocm", "rocm-sdk-core", "tensorrt-llm", "sglang-kernel",
}

// askVersions prints a line for each distribution that is installed.
const askVersions = `import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    try:
        print(name + "==" + version(name))
    except PackageNotFoundError:
        pass
`

// packages returns the versions of the packages that a Python server runs from. It
// asks the server's own interpreter, and where that cannot be run from here, the folder
// that its libraries are loaded from.
func (m *machine) packages(ctx context.Context, p *process) (map[string]string, error) {
	program, err := m.interpreter(p)
	if err == nil {
		var out string
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		out, err = m.run(ctx, "/", pythonEnvironment(p.env), program, append([]string{"-c", askVersions}, packageNames...)...)
		if err == nil {
			found := map[string]string{}
			for line := range strings.Lines(out) {
				if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok && version != "" {
					found[name] = version
				}
			}
			return found, nil
		}
	}
	if found := m.distributions(p); len(found) > 0 {
		return found, nil
	}
	return nil, err
}

// vendorLibraries are those whose versions decide how a device runs: of the CUDA and the
// HIP runtime, of the drivers' own parts, and of what moves data between devices.
var vendorLibraries = regexp.MustCompile(`/(libcudart|libcuda|libnccl|libcublas|libcudnn|libamdhip64|libhsa-runtime64|librccl|libhipblaslt|librocblas)(?:-[0-9a-f]{8})?\.so\.([0-9][0-9.]*)$`)

// libraries are the versions in the names of the vendor's libraries that a process, or one
// below it, has loaded; nil with the reason in unread.
func (m *machine) libraries(p *process, unread map[string]string) map[string]string {
	out := map[string]string{}
	for _, pid := range append([]int64{p.pid}, p.tree...) {
		maps, err := m.read("proc", fmt.Sprint(pid), "maps")
		if err != nil && pid == p.pid {
			unread["runtime.libraries"] = err.Error()
		}
		for line := range strings.Lines(maps) {
			if f := strings.Fields(line); len(f) >= 6 {
				// The longest: a process may have loaded libcudart.so.12 and libcudart.so.12.8.90.
				if l := vendorLibraries.FindStringSubmatch(f[5]); l != nil && len(l[2]) > len(out[l[1]]) {
					out[l[1]] = l[2]
				}
			}
		}
	}
	if len(out) == 0 {
		if unread["runtime.libraries"] == "" {
			unread["runtime.libraries"] = "the server's processes have loaded none of CUDA or ROCm that tells its version"
		}
		return nil
	}
	return out
}

// errNotPython is a server that runs from no Python packages.
var errNotPython = errors.New("the server is no Python program")

// interpreter is the Python that a process runs in: as it was called, since the link
// of a virtual environment is what finds its packages.
func (m *machine) interpreter(p *process) (string, error) {
	exe, err := os.Readlink(m.path("proc", fmt.Sprint(p.pid), "exe"))
	if err != nil {
		return "", err
	}
	if !isPython(exe) {
		return "", errNotPython
	}
	if p.inside {
		return "", errors.New("the server runs in a container: its interpreter cannot be run from here")
	}
	called := ""
	if len(p.argv) > 0 && isPython(p.argv[0]) {
		called = p.argv[0]
	}
	if called != "" && !strings.Contains(called, "/") {
		for _, dir := range filepath.SplitList(p.env["PATH"]) {
			if f := filepath.Join(dir, called); executable(m.file(p, f)) {
				return f, nil
			}
		}
		called = ""
	}
	if called != "" {
		if f := m.file(p, called); executable(f) {
			return f, nil
		}
	}
	if f := filepath.Join(p.env["VIRTUAL_ENV"], "bin", "python"); p.env["VIRTUAL_ENV"] != "" && executable(m.file(p, f)) {
		return f, nil
	}
	return exe, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// pythonEnvironment is what finds packages, and nothing else of the server's.
func pythonEnvironment(env map[string]string) []string {
	out := []string{}
	for _, name := range []string{"PYTHONPATH", "PYTHONHOME", "PATH", "HOME", "LD_LIBRARY_PATH"} {
		if v, ok := env[name]; ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// distributions reads versions from the names of the *.dist-info folders beside the
// libraries that a process has mapped.
func (m *machine) distributions(p *process) map[string]string {
	maps, err := m.read("proc", fmt.Sprint(p.pid), "maps")
	if err != nil {
		return nil
	}
	var folders []string
	for line := range strings.Lines(maps) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		for _, kind := range []string{"/site-packages/", "/dist-packages/"} {
			if i := strings.LastIndex(f[5], kind); i >= 0 {
				if folder := f[5][:i+len(kind)-1]; !slices.Contains(folders, folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	out := map[string]string{}
	for _, folder := range folders {
		entries, _ := os.ReadDir(m.file(p, folder))
		for _, e := range entries {
			base, ok := strings.CutSuffix(e.Name(), ".dist-info")
			if !ok {
				continue
			}
			name, version, ok := strings.Cut(base, "-")
			name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
			if ok && slices.Contains(packageNames, name) && out[name] == "" {
				out[name] = version
			}
		}
	}
	return out
}

// isPython says whether a path is that of a Python interpreter.
func isPython(path string) bool { return strings.HasPrefix(filepath.Base(path), "python") }
