package main

import (
	"context"
	"embed"
	"path/filepath"
	"strconv"
)

// The load: each client asks for the same.
const (
	model       = "tiny"
	promptLen   = 32
	answerLen   = 128
	leastAsked  = 4 // requests, where two waves would be fewer
	waves       = 2
	gapMS       = 20
	firstMS     = 300
	contextSize = 16384
)

// asked is how many requests a run of so many streams makes.
func asked(streams int) int { return max(waves*streams, leastAsked) }

// client is one way to measure a server.
type client struct {
	name, version string
	install       func(ctx context.Context, cache string) error // nil: nothing to install
	command       func(r *call) (args, env []string)
	read          func(r *call) ([]reported, error) // what it wrote of each request
}

func (c *client) String() string {
	if c.version == "" {
		return c.name
	}
	return c.name + " " + c.version
}

// call is one run of one client.
type call struct {
	*options
	tokenizer string // folder
	url       string
	streams   int
	dir       string // where it runs and writes
}

func (r *call) n() string { return strconv.Itoa(asked(r.streams)) }
func (r *call) c() string { return strconv.Itoa(r.streams) }

var (
	isl = strconv.Itoa(promptLen)
	osl = strconv.Itoa(answerLen)
)

// in is a path below the folder of an installed peer.
func (r *call) in(peer string, path ...string) string {
	return filepath.Join(append([]string{r.cache, peer}, path...)...)
}

//go:embed stubs pins
var files embed.FS

// offline keeps the tokenizer library from asking a hub about a local folder.
const offline = "HF_HUB_OFFLINE=1"

// clients, ours first: the others are held against the first that ran.
var clients = []*client{
	ours("ring"), ours("ktime"), ours("read"),
	{
		name: "aiperf", version: "0.13.0",
		install: func(ctx context.Context, cache string) error {
			return install(ctx, cache, peer{folder: "aiperf-0.13.0", pins: "aiperf.txt"})
		},
		command: func(r *call) (args, env []string) {
			return []string{
				r.in("aiperf-0.13.0", "venv/bin/aiperf"), "profile", "--model", model, "--url", r.url,
				"--endpoint-type", "completions", "--streaming", "--tokenizer", r.tokenizer,
				"--concurrency", r.c(), "--request-count", r.n(), "--isl", isl, "--osl", osl,
				"--extra-inputs", "ignore_eos:true", "--ui", "None", "--artifact-dir", "out",
			}, nil
		},
		read: func(r *call) ([]reported, error) { return readAIPerf(filepath.Join(r.dir, "out/profile_export.jsonl")) },
	},
	{
		name: "guidellm", version: "0.8.1",
		install: func(ctx context.Context, cache string) error {
			return install(ctx, cache, peer{folder: "guidellm-0.8.1", pins: "guidellm.txt", stubs: []string{"guidellm/torch.py"}})
		},
		command: func(r *call) (args, env []string) {
			return []string{
				r.in("guidellm-0.8.1", "venv/bin/guidellm"), "run",
				"--backend", "kind=openai_http,target=" + r.url + ",model=" + model + ",request_format=/v1/completions",
				"--profile", "kind=concurrent,streams=" + r.c(),
				"--constraint", "kind=max_requests,count=" + r.n(),
				"--tokenizer", "kind=huggingface_auto,model=" + r.tokenizer,
				"--data", "kind=synthetic_text,prompt_tokens=" + isl + ",output_tokens=" + osl,
				"--output", "kind=json,path=out.json", "--disable-progress",
			}, []string{offline, "USE_TORCH=0", "PYTHONPATH=" + r.in("guidellm-0.8.1", "stubs/guidellm")}
		},
		read: func(r *call) ([]reported, error) { return readGuideLLM(filepath.Join(r.dir, "out.json")) },
	},
	{
		name: "vllm", version: "0.33.0",
		install: func(ctx context.Context, cache string) error {
			return install(ctx, cache, peer{
				folder: "vllm-0.33.0", pins: "vllm.txt", stubs: []string{"vllm_serve.py"}, wheel: "vllm==0.33.0",
				parts: []string{"vllm/benchmarks/*.py", "vllm/benchmarks/datasets/*.py", "vllm/benchmarks/lib/*.py", "vllm/utils/gc_utils.py", "vllm/utils/argparse_utils.py"},
			})
		},
		command: func(r *call) (args, env []string) {
			return []string{
				r.in("vllm-0.33.0", "venv/bin/python"), r.in("vllm-0.33.0", "stubs/vllm_serve.py"),
				"--backend", "openai", "--base-url", r.url, "--dataset-name", "random",
				"--model", model, "--tokenizer", r.tokenizer, "--num-prompts", r.n(),
				"--random-input-len", isl, "--random-output-len", osl, "--random-range-ratio", "0",
				"--max-concurrency", r.c(), "--ignore-eos", "--save-result", "--save-detailed",
				"--result-dir", ".", "--result-filename", "out.json", "--disable-tqdm",
			}, []string{offline, "PYTHONPATH=" + r.in("vllm-0.33.0", "wheel")}
		},
		read: func(r *call) ([]reported, error) { return readLists(filepath.Join(r.dir, "out.json")) },
	},
	{
		name: "sglang", version: "0.5.23",
		install: installSGLang,
		command: func(r *call) (args, env []string) {
			return append([]string{r.in(sglang, "venv/bin/python"), r.in(sglang, "stubs/sglang_serving.py")}, sglangArgs(r)...),
				[]string{offline, "PYTHONPATH=" + r.in(sglang, "wheel")}
		},
		read: func(r *call) ([]reported, error) { return readLists(filepath.Join(r.dir, "out.jsonl")) },
	},
	{
		name: "sglang-rust", version: "0.5.23",
		install: installSGLang,
		command: func(r *call) (args, env []string) {
			return append([]string{r.in(sglang, "venv/bin/python"), r.in(sglang, "stubs/sglang_rust.py"),
				r.in(sglang, "wheel/sglang/srt/rust_extensions")}, sglangArgs(r)...), []string{offline}
		},
		read: func(r *call) ([]reported, error) { return readLists(filepath.Join(r.dir, "out.jsonl")) },
	},
}

const sglang = "sglang-0.5.23"

func installSGLang(ctx context.Context, cache string) error {
	return install(ctx, cache, peer{
		folder: sglang, pins: "sglang.txt", stubs: []string{"sglang_serving.py", "sglang_rust.py"}, wheel: "sglang==0.5.23",
		parts: []string{"sglang/benchmark/*.py", "sglang/benchmark/datasets/*.py", "sglang/srt/rust_extensions/_bench.*.so"},
	})
}

func sglangArgs(r *call) []string {
	return []string{
		"--backend", "sglang-oai", "--base-url", r.url, "--dataset-name", "random-ids",
		"--model", model, "--tokenizer", r.tokenizer, "--num-prompts", r.n(),
		"--random-input-len", isl, "--random-output-len", osl, "--random-range-ratio", "1",
		"--max-concurrency", r.c(), "--warmup-requests", "0",
		"--output-file", "out.jsonl", "--output-details", "--disable-tqdm",
	}
}

// ours is this project's client with one kind of stamps.
func ours(stamps string) *client {
	return &client{
		name: "ours-" + stamps,
		command: func(r *call) (args, env []string) {
			return []string{
				r.measure, "bench", model, "--base-url", r.url, "--engine", "embedded",
				"--cells", isl + ":" + osl, "--concurrency", r.c(), "--num-prompts", r.n(), "--warmup", "0",
				"--stamps", stamps, "--output", "out",
			}, []string{"XDG_CACHE_HOME=" + r.cache}
		},
		read: func(r *call) ([]reported, error) { return readOurs(r.dir) },
	}
}
