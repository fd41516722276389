package rowfile_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/internal/rowfile"
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
