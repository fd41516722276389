package rowfile_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// Files that would take a reader's time or memory are refused by what they are.
func TestHostileFiles(t *testing.T) {
	report := fstest.MapFS{"r.json": {Data: []byte("{}"), Mode: fs.ModeNamedPipe}}
	if _, err := rowfile.LoadFS(report, "r.json"); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := rowfile.ReadFile(os.DirFS("/dev"), "zero", 1<<20); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("/dev/zero: %v", err)
	}

	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(`{"t":[` + strings.Repeat("1,", 14_000_000) + "1]}\n"))
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	if _, err := rowfile.DecodeSamples(packed.Bytes()); err == nil || !strings.Contains(err.Error(), "more than 2097152 values") {
		t.Errorf("a request of 14 million gaps: %v", err)
	}

	_, problems, err := rowfile.Decode([]byte(`{"rows": [` + strings.Repeat(`{},`, 3000) + `{}]}`))
	if err != nil || len(problems) != 51 || !strings.HasPrefix(problems[50], "and ") {
		t.Errorf("3001 empty rows: %d problems, the last %q; %v", len(problems), problems[len(problems)-1], err)
	}
}

// Two lines of evidence that changed places are found by the times at which their rows
// began, though all hashes follow.
func TestRowsAreMeasuredInTheirOrder(t *testing.T) {
	r, samples, evidence := rowtest.Report(1, rowtest.Options{})
	evidence[1].Zero, evidence[2].Zero = "2026-11-30T12:00:40Z", "2026-11-30T12:00:01.5Z"
	rowtest.Seal(r, samples, evidence)
	file := filepath.Join(t.TempDir(), "r.json")
	if err := rowtest.WriteAs(file, r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	b, err := rowfile.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = "r.evidence.jsonl.gz: line 3: row 1 began at 2026-11-30T12:00:01.5Z, before row 0"
	if len(b.Problems) != 1 || b.Problems[0] != want {
		t.Errorf("%q, want %q", b.Problems, want)
	}
}
