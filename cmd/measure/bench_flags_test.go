package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
)

// parsed reads a command line that must be right.
func parsed(t *testing.T, args ...string) *benchOptions {
	t.Helper()
	var stderr bytes.Buffer
	o, code, done := parseBench(args, streams{err: &stderr, out: &stderr})
	if done {
		t.Fatalf("%v: exit %d: %s", args, code, stderr.String())
	}
	return o
}

func TestBenchDefaultsAreTheSeeds(t *testing.T) {
	o := parsed(t)
	if o.protocol != row.Passes || o.warmup != 2 || o.iters != 1 || o.repeats != 1 {
		t.Errorf("protocol %s, warm-up %d, iterations %d, repeats %d", o.protocol, o.warmup, o.iters, o.repeats)
	}
	var got []string
	for _, p := range o.plan() {
		got = append(got, p.shape.String()+"@"+string('0'+rune(p.concurrency)))
	}
	want := strings.Fields("128:128@1 128:128@4 128:128@8 2048:128@1 2048:128@4 2048:128@8 128:1024@1 128:1024@4 128:1024@8")
	if !slices.Equal(got, want) {
		t.Errorf("plan %v, want %v", got, want)
	}
}

func TestBenchReadsEachFlag(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-environment")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := "http://127.0.0.1:8000"
	for _, c := range []struct {
		args string
		got  func(*benchOptions) any
		want any
	}{
		{"--cells 512:256,4096:64", func(o *benchOptions) any { return o.shapes }, []shape{{512, 256}, {4096, 64}}},
		{"--isl 512 --osl 64", func(o *benchOptions) any { return o.shapes }, []shape{{512, 64}}},
		{"--isl 512", func(o *benchOptions) any { return o.shapes }, []shape{{512, 128}}},
		{"--osl 7", func(o *benchOptions) any { return o.shapes }, []shape{{128, 7}}},
		{"--concurrency 16,1,4", func(o *benchOptions) any { return o.ladder }, []int64{1, 4, 16}},
		{"--shared-prefix 100", func(o *benchOptions) any { return o.plan()[0].workload.Prompts.SharedPrefix }, int64(100)},
		{"--unique-prompts", func(o *benchOptions) any { return o.plan()[0].workload.Prompts.State }, row.Cold},
		{"--repeat-prompts", func(o *benchOptions) any { return o.plan()[0].workload.Prompts.State }, row.Warm},
		{"--warmup 0 --iters 3", func(o *benchOptions) any { return []int64{o.warmup, *o.plan()[0].workload.Iters} }, []int64{0, 3}},
		{"--num-prompts 64", func(o *benchOptions) any { return *o.plan()[0].workload.Requests }, int64(64)},
		{"--num-prompts auto", func(o *benchOptions) any { return *o.plan()[0].workload.Requests }, int64(20)},
		{"--num-prompts auto", func(o *benchOptions) any { return *o.plan()[2].workload.Requests }, int64(80)},
		{"--num-prompts auto", func(o *benchOptions) any { return o.protocol }, row.Sustained},
		{"--duration 30s", func(o *benchOptions) any { return *o.plan()[0].workload.DurationS }, int64(30)},
		{"--repeats 3", func(o *benchOptions) any { return o.plan()[0].workload.Repeats }, int64(3)},
		{"--seed 42", func(o *benchOptions) any { return o.plan()[0].workload.Seed }, "42"},
		{"--timeout 90s", func(o *benchOptions) any { return o.timeout }, 90 * time.Second},
		{"--stamps read", func(o *benchOptions) any { return o.stamps }, "read"},
		{"--output out/run -v", func(o *benchOptions) any { return []any{o.output, o.verbose} }, []any{"out/run", true}},
		{"--device cpu", func(o *benchOptions) any { return o.device }, "cpu"},
		{"--endpoint /v1/chat/completions", func(o *benchOptions) any { return o.plan()[0].workload.Endpoint }, "/v1/chat/completions"},
		{`--extra-body {"top_k":20,"temperature":0.7}`, func(o *benchOptions) any {
			w := o.plan()[0].workload
			return []any{w.ExtraBody, string(w.Sampling.Temperature)}
		}, []any{map[string]string{"top_k": "20"}, "0.7"}},
		{"qwen3-8b --base-url " + server, func(o *benchOptions) any { return o.model }, "qwen3-8b"},
		{"--base-url " + server + "/v1/", func(o *benchOptions) any { return o.base.String() }, server},
		{"--base-url http://[::1]:8000/api/v1", func(o *benchOptions) any { return o.base.String() }, "http://[::1]:8000/api"},
		{"--base-url " + server + " --insecure --require-verified", func(o *benchOptions) any { return []bool{o.insecure, o.requireVerified} }, []bool{true, true}},
		{"--base-url " + server + " --header X-Tenant:bench", func(o *benchOptions) any { return o.header.Get("X-Tenant") }, "bench"},
		{"--base-url " + server, func(o *benchOptions) any { return o.header.Get("Authorization") }, "Bearer sk-from-environment"},
		{"--base-url " + server + " --api-key-file " + key, func(o *benchOptions) any { return o.header.Get("Authorization") }, "Bearer sk-from-file"},
		{"--cells 1:1", func(o *benchOptions) any { return o.header.Get("Authorization") }, ""}, // never to the embedded engine
		{"--base-url " + server + " --recipe llama-3.1-8b/h200-sxm/latency/vllm --engine vllm", func(o *benchOptions) any { return []string{o.recipe, o.engine} },
			[]string{"llama-3.1-8b/h200-sxm/latency/vllm", "vllm"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			if got := c.got(parsed(t, strings.Fields(c.args)...)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestBenchTellsEveryWrongFlagAtOnce(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	var stderr bytes.Buffer
	_, code, done := parseBench([]string{
		"--cells", "12x,0:5,8:8,8:8", "--concurrency", "0,4", "--warmup", "-1", "--iters=0", "--kvcache", "--concurency=3", "--num-prompts", "few",
		"--duration", "1.5s", "--base-url", "localhost:8000", "--header", "sk-verysecret", "--extra-body", `{"stream":false}`,
		"--recipe", "llama", "--stamps", "tsc", "--endpoint", "/generat", "--seed", "-4", "--timeout", "soon", "--device", "tpu",
		"--api-key-file", "/no/such/file", "--unique-prompts", "--repeat-prompts", "--isl", "5", "--output", "out/",
	}, streams{err: &stderr, out: &stderr})
	if !done || code != exitUsage {
		t.Fatalf("exit %d, done %v", code, done)
	}
	for _, want := range []string{
		"measure bench: --cells 12x,0:5,8:8,8:8: want ISL:OSL such as 128:128, each from 1 to 1000000 tokens, several parted by commas, none twice; \"12x\" is no ISL:OSL; \"0:5\" is no ISL:OSL; 8:8 stands twice",
		"--concurrency 0,4: want whole numbers from 1 to 1000000 such as 1,4,16, none twice; \"0\" is no number of streams",
		"--warmup -1: want a whole number from 0",
		"--iters 0: want a whole number from 1",
		"--kvcache: no such flag; see measure bench --help",
		"--concurency: no such flag; --concurrency may be meant; see measure bench --help",
		"--num-prompts few: want auto or a whole number",
		"--duration 1.5s: want whole seconds",
		"--base-url localhost:8000: want http://HOST:PORT",
		`--header (masked): want NAME:VALUE`,
		"stream is set by bench itself",
		"--recipe llama: want MODEL/TARGET/STRATEGY/ENGINE",
		"--stamps tsc: want ring or ktime or read",
		"--endpoint /generat: want /v1/completions or /v1/chat/completions or /generate",
		"--seed -4: want a whole number",
		"--timeout soon: want a time above zero",
		"--device tpu: want auto or cuda or rocm or cpu",
		"--api-key-file /no/such/file: no such file or directory",
		"--unique-prompts with --repeat-prompts: want one of them",
		"--cells with --isl or --osl: want one of them",
		"--output out/: want a file prefix",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if strings.Contains(stderr.String(), "verysecret") {
		t.Errorf("a secret was printed: %s", stderr.String())
	}
}

func TestBenchRefusesWhatCannotStandTogether(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for args, want := range map[string]string{
		"--num-prompts 8 --duration 5s":               "--num-prompts with --duration: want one of them",
		"--num-prompts 20 --iters 2":                  "want --repeats",
		"--shared-prefix 128":                         "want fewer tokens than the prompt of shape 128:128",
		"--device cuda":                               "the embedded engine runs on the CPU",
		"--recipe a/b/c/d":                            "--recipe without --base-url",
		"a b":                                         "want at most one MODEL",
		"--base-url http://::1:8000":                  "brackets round an IPv6 address",
		"--base-url http://u:hunter2@h:1":             "without a user and password",
		"--base-url http://h:99999":                   "want http://HOST:PORT",
		"--base-url ftp://h":                          "want http://HOST:PORT",
		"--cells 1:1,1:1":                             "none twice",
		"--concurrency 4,4":                           "none twice",
		"--base-url http://127.0.0.1:1 --engine nope": "--engine nope: want",
	} {
		t.Run(args, func(t *testing.T) {
			var stderr bytes.Buffer
			if _, code, done := parseBench(strings.Fields(args), streams{err: &stderr, out: &stderr}); !done || code != exitUsage {
				t.Fatalf("accepted: exit %d", code)
			}
			if !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "hunter2") {
				t.Errorf("said %q, want %q", stderr.String(), want)
			}
		})
	}
}

func TestReportedCommandHoldsNoSecret(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	o := parsed(t, "--base-url", "http://127.0.0.1:8000", "--header", "Authorization: Bearer sk-123456789",
		"--header=X-Api-Key: abcdefgh", "--extra-body", `{"user_token":"tok-987654"}`)
	command := strings.Join(o.command, " ")
	for _, s := range []string{"sk-123456789", "abcdefgh", "tok-987654"} {
		if strings.Contains(command, s) {
			t.Errorf("command holds %s: %s", s, command)
		}
		if got := o.secrets.scrub("Incorrect key " + s); strings.Contains(got, s) {
			t.Errorf("a server's words still hold it: %s", got)
		}
	}
	if body := o.plan()[0].workload.ExtraBody["user_token"]; body != `"(masked)"` {
		t.Errorf("workload holds %s", body)
	}
	if o.extraBody["user_token"] != `"tok-987654"` {
		t.Errorf("the server would be sent %s", o.extraBody["user_token"])
	}
	if !strings.HasPrefix(command, "measure bench --base-url http://127.0.0.1:8000 --header Authorization: (masked)") {
		t.Errorf("command %s", command)
	}
}
