package recheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/internal/gate"
	"rowproof/internal/rowtest"
)

const now = "2026-12-02T00:00:00Z"

// A reader's files are judged whatever they are called: reports with what belongs to them,
// results of other tools, two files of one run joined, and what is neither is told of.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 16, Concurrency: 1}}})
	if err := rowtest.WriteAs(filepath.Join(dir, "ours.json"), r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"vllm-0.33.0/v.json": "a result", "aiperf-0.13.0/profile_export_aiperf.json": "b.json", "aiperf-0.13.0/profile_export.jsonl": "c.jsonl",
	} {
		data, err := os.ReadFile(filepath.Join("../harness/testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := Take(os.DirFS(dir), now)
	if len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0], "notes.txt: ") {
		t.Errorf("problems: %q", got.Problems)
	}
	verdicts := map[string]string{}
	for _, row := range got.Rows {
		verdicts[row.File] = row.Verdict
		if row.File == "b.json" && (row.Import == nil || row.Import.Version != "0.13.0" || row.Measured.TPOT == nil) {
			t.Errorf("the joined run: %+v", row)
		}
	}
	want := map[string]string{"ours.json": gate.Verified, "a result": gate.Imported, "b.json": gate.Imported}
	if len(verdicts) != len(want) {
		t.Errorf("rows of %v, want of %v", verdicts, want)
	}
	for file, verdict := range want {
		if verdicts[file] != verdict {
			t.Errorf("%s is %q, want %s", file, verdicts[file], verdict)
		}
	}
	if got := Take(fstest.MapFS{}, now); len(got.Rows)+len(got.Problems) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}
