package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rowproof/data"
	"rowproof/internal/rowtest"
)

// checkout copies the catalogue to a folder, as a clone of the repository has it.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "data"), data.FS); err != nil {
		t.Fatal(err)
	}
	return root
}

func gapsOf(t *testing.T, root string) []gapLine {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"gaps", "--root", root, "--json"}, nil, &out, &errs); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var list []gapLine
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Rows that rank close their loads; what is left of the recipe is other loads and other
// shapes.
func TestGapsCountRows(t *testing.T) {
	const recipe = "llama-3.1-8b/h200-sxm/latency/vllm"
	root := checkout(t)
	of := func(list []gapLine) map[string][]int64 {
		open := map[string][]int64{}
		for _, g := range list {
			if g.Recipe == recipe {
				open[g.Shape] = g.Concurrency
			}
		}
		return open
	}
	before := of(gapsOf(t, root))
	if len(before) != 1 || !slices.Equal(before["1024:256"], []int64{1, 4, 16, 64}) {
		t.Fatalf("before: %v", before)
	}
	r, samples, evidence := rowtest.Report(7, rowtest.Options{Cells: []rowtest.Cell{{ISL: 1024, OSL: 256, Concurrency: 1}, {ISL: 1024, OSL: 256, Concurrency: 4}}})
	if _, err := rowtest.Write(root, r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	after := of(gapsOf(t, root))
	if len(after) != 3 || !slices.Equal(after["1024:256"], []int64{16, 64}) || !slices.Equal(after["128:1024"], []int64{1, 4, 16, 64}) {
		t.Errorf("after: %v", after)
	}

	// Withdrawn, the rows count no more.
	list := "- {id: " + r.Rows[0].ID + ", date: 2026-12-01, reason: a test}\n- {id: " + r.Rows[1].ID + ", date: 2026-12-01, reason: a test}\n"
	if err := os.WriteFile(filepath.Join(root, "data", "withdrawn.yaml"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	if open := of(gapsOf(t, root)); len(open) != 1 || len(open["1024:256"]) != 4 {
		t.Errorf("withdrawn: %v", open)
	}
}
