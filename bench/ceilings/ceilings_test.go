// Package ceilings times 100,000 ceilings: in the published module, in JavaScript written
// by hand, and natively. It holds benchmarks only.
package ceilings

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

const rows = 100_000

// questions are those of the page: each case that is known from outside, and as many at
// random.
func questions(b *testing.B) [][]float64 {
	b.Helper()
	var list [][]float64
	r := rooftest.NewRandom(1)
	for _, c := range rooftest.Cases(b) {
		if c.Query.Target != nil {
			list = append(list, roofline.Pack(c.Query), roofline.Pack(r.Query()))
		}
	}
	return list
}

// The module against JavaScript, each asked 100,000 times in one run: what the module
// takes of the other's time, its size gzipped, and what a ceiling takes in each.
func BenchmarkModuleAgainstJavaScript(b *testing.B) {
	dir := b.TempDir()
	module := filepath.Join(dir, "lean.wasm")
	build := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-trimpath", "-gcflags=runtime=-l", "-ldflags=-s -w", "-o", module, "../../wasm/lean")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, said)
	}
	wasm, err := os.ReadFile(module)
	if err != nil {
		b.Fatal(err)
	}
	var small bytes.Buffer
	w, _ := gzip.NewWriterLevel(&small, 6)
	_, _ = w.Write(wasm)
	w.Close()

	var asked []float64
	for _, q := range questions(b) {
		asked = append(append(asked, float64(len(q))), q...)
	}
	file := filepath.Join(dir, "questions")
	if err := os.WriteFile(file, rooftest.Bytes(asked), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		run := exec.Command("node", "compare.mjs", module, file)
		run.Stderr = os.Stderr
		said, err := run.Output()
		if err != nil {
			b.Fatalf("node: %v", err)
		}
		var times struct {
			ScriptMS float64 `json:"script_ms"`
			ModuleMS float64 `json:"module_ms"`
			Ratio    float64 `json:"ratio"`
		}
		if err := json.Unmarshal(said, &times); err != nil {
			b.Fatalf("%v: %s", err, said)
		}
		b.ReportMetric(times.ScriptMS, "js-ms/100k")
		b.ReportMetric(times.ModuleMS, "wasm-ms/100k")
		b.ReportMetric(times.Ratio, "wasm/js")
		b.ReportMetric(float64(small.Len()), "gzip-bytes")
	}
	b.ReportMetric(0, "ns/op")
}

// The same ceilings natively.
func BenchmarkNative(b *testing.B) {
	list := questions(b)
	out := make([]float64, roofline.OutSlots)
	for b.Loop() {
		for i := range rows {
			in := list[i%len(list)]
			in[roofline.SlotBatch], in[roofline.SlotContext] = float64(1+i%512), float64(1+i%8192)
			roofline.CeilingInto(in, out)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/100k")
	b.ReportMetric(0, "ns/op")
}
