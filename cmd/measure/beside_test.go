package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/engine/simulator"
)

// bench/beside/beside.sh gives an engine's own client and measure the same load at the same
// server, and sets their results beside each other.
func TestBesideAnEnginesClient(t *testing.T) {
	script, err := filepath.Abs("../../bench/beside/beside.sh")
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.Abs("../../internal/harness/testdata")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child, err := simulator.StartChild(context.Background(), simulator.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer child.Forget()
	defer child.Stop()
	for engine, c := range map[string]struct {
		program, client, result string
		args                    []string
	}{
		"vllm": {"vllm", `while [ "$1" != --result-dir ]; do shift; done; cp "$RESULT" "$2/$4"`, "vllm-0.26.0/vllm-serve.json",
			[]string{"bench serve", "--random-input-len 1024", "--random-output-len 256", "--num-prompts 16", "--max-concurrency 16"}},
		"sglang": {"python3", `while [ "$1" != --output-file ]; do shift; done; cp "$RESULT" "$2"`, "sglang-0.5.16/sglang-bench-serving.jsonl",
			[]string{"-m sglang.bench_serving", "--random-input-len 1024", "--random-output-len 256", "--random-range-ratio 1 ", "--num-prompts 16", "--max-concurrency 16"}},
	} {
		t.Run(engine, func(t *testing.T) {
			bin, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
			if err := os.Symlink(self, filepath.Join(bin, "measure")); err != nil {
				t.Fatal(err)
			}
			asked := filepath.Join(bin, "asked")
			if err := os.WriteFile(filepath.Join(bin, c.program), []byte("#!/bin/sh\necho \"$*\" >>"+asked+"\n"+c.client+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) (string, error) {
				cmd := exec.Command("bash", append([]string{script}, args...)...)
				cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "RESULT="+filepath.Join(real, c.result), "STREAMS=16", "EACH=1")
				text, err := cmd.CombinedOutput()
				return string(text), err
			}
			said, err := run(engine, child.BaseURL, "embedded", out)
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			words, err := os.ReadFile(asked)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range append(c.args, "--base-url "+child.BaseURL, "--model embedded") {
				if !strings.Contains(string(words), want) {
					t.Errorf("the client was given %s; want %q among it", words, want)
				}
			}
			for _, want := range []string{"ttft_p50", "tpot_p50"} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not compared:\n%s", want, said)
				}
			}
			if _, err := os.Stat(filepath.Join(out, "measure-c16.0.samples.jsonl.gz")); err != nil {
				t.Error(err)
			}
			if said, err = run(engine, child.BaseURL, "embedded", out); err == nil || !strings.Contains(said, "holds an earlier run") {
				t.Errorf("a second run into the same folder: %v, %s", err, said)
			}
		})
	}
}
