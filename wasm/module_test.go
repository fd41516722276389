package wasm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// builds compile each module as the Makefile does, once.
var builds = map[string]func() ([]byte, error){"lean": builder("lean"), "full": builder("full")}

func builder(name string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "rowproof-"+name+"-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		out := filepath.Join(dir, name+".wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-gcflags=runtime=-l", "-ldflags=-s -w", "-o", out, "./"+name)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, said)
		}
		return os.ReadFile(out)
	})
}

func built(t *testing.T, name string) []byte {
	t.Helper()
	b, err := builds[name]()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// compiled keeps the modules' machine code from one start to the next.
var compiled = wazero.NewCompilationCache()

// module is a running module; query and answer are the lean one's buffers.
type module struct {
	t             *testing.T
	ctx           context.Context
	name          string
	api           api.Module
	query, answer uint64
}

func instance(t *testing.T, name string) *module {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled))
	t.Cleanup(func() { r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	m, err := r.InstantiateWithConfig(ctx, built(t, name), wazero.NewModuleConfig().
		WithStartFunctions("_initialize").WithSysNanotime().WithSysWalltime())
	if err != nil {
		t.Fatal(err)
	}
	return &module{t: t, ctx: ctx, name: name, api: m}
}

func (m *module) call(name string, args ...uint64) uint64 {
	m.t.Helper()
	f := m.api.ExportedFunction(name)
	if f == nil {
		m.t.Fatalf("%s.wasm does not export %s", m.name, name)
	}
	r, err := f.Call(m.ctx, args...)
	if err != nil {
		m.t.Fatal(err)
	}
	return r[0]
}

// text reads the n bytes that the last call wrote.
func (m *module) text(n uint64) string {
	m.t.Helper()
	b, _ := m.api.Memory().Read(uint32(m.call("text")), uint32(n))
	return string(b)
}

// holdContract holds what pages are written against to what the module exports: it names
// each export, and no other.
func holdContract(t *testing.T, m *module) {
	t.Helper()
	contract, err := os.ReadFile(m.name + "/" + m.name + ".d.ts")
	if err != nil {
		t.Fatal(err)
	}
	for name := range m.api.ExportedFunctionDefinitions() {
		if !strings.Contains(string(contract), "  "+name+"(") {
			t.Errorf("%s.d.ts does not name %s", m.name, name)
		}
	}
	for _, line := range strings.Split(string(contract), "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), "("); ok && strings.HasPrefix(line, "  ") && !strings.ContainsAny(name, " */") {
			if m.api.ExportedFunction(name) == nil {
				t.Errorf("%s.d.ts names %s, which the module does not export", m.name, name)
			}
		}
	}
}
