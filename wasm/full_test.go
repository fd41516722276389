package wasm

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"rowproof/internal/checkpoint"
	"rowproof/internal/render/halves"
)

// startFull compiles the full module as the Makefile does and starts it.
func startFull(t *testing.T) (context.Context, api.Module) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "full.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", file, "./full")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled))
	t.Cleanup(func() { r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	m, err := r.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().WithStartFunctions("_initialize").WithSysNanotime().WithSysWalltime())
	if err != nil {
		t.Fatal(err)
	}
	return ctx, m
}

// The page reads a config.json as measure does: for every published one it gets, byte for
// byte, the model that gen would write, and of what is no config.json every problem with
// the key that it lies in.
func TestFullReadsConfigsAsNative(t *testing.T) {
	ctx, m := startFull(t)
	call := func(name string, args ...uint64) uint64 {
		t.Helper()
		r, err := m.ExportedFunction(name).Call(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		return r[0]
	}
	read := func(file []byte) string {
		t.Helper()
		if !m.Memory().Write(uint32(call("file", uint64(len(file)))), file) {
			t.Fatal("there is no room for the file")
		}
		n := call("config")
		b, _ := m.Memory().Read(uint32(call("text")), uint32(n))
		return string(b)
	}
	names, err := filepath.Glob("../internal/checkpoint/testdata/models/*.json")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d configurations to read, %v", len(names), err)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		model, problems := checkpoint.Config(file, "")
		if len(problems) > 0 {
			continue // refused natively: the words are compared below
		}
		want, err := json.Marshal(map[string]any{"model": halves.NewModel(model), "problems": []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(file); got != string(want) {
			t.Errorf("%s:\nfull   %.300s\nnative %.300s", name, got, want)
		}
	}
	for _, text := range []string{"", "{", "[1]", `{"model_type": "llama", "hidden_size": "wide"}`, `{"model_type": "no such"}`, strings.Repeat("[", 1000)} {
		var got struct {
			Model    any
			Problems []struct{ Where, Text string }
		}
		if err := json.Unmarshal([]byte(read([]byte(text))), &got); err != nil {
			t.Fatal(err)
		}
		_, want := checkpoint.Config([]byte(text), "")
		if got.Model != nil || len(want) == 0 || len(got.Problems) != len(want) {
			t.Fatalf("%.40q: %d problems; natively %d", text, len(got.Problems), len(want))
		}
		for i, p := range want {
			if got.Problems[i].Where != p.Where || got.Problems[i].Text != p.Text {
				t.Errorf("%.40q: %v; natively %v", text, got.Problems[i], p)
			}
		}
	}
	if at := call("file", 65<<20); at != 0 {
		t.Errorf("a file of 65 MiB gets room at %d", at)
	}
}

// full.d.ts is what pages are written against: it names each export, and no other.
func TestFullContract(t *testing.T) {
	contract, err := os.ReadFile("full/full.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, m := startFull(t)
	named := 0
	for name := range m.ExportedFunctionDefinitions() {
		if !strings.Contains(string(contract), "  "+name+"(") {
			t.Errorf("full.d.ts does not name %s", name)
		}
		named++
	}
	if said := strings.Count(string(contract), "): "); said != named {
		t.Errorf("full.d.ts states %d functions; full.wasm exports %d", said, named)
	}
}
