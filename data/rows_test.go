package data

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/internal/gate"
	"rowproof/internal/rowfile"
)

// reports lists the published reports; an empty list would make every test here pass.
func reports(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS("."), "rows", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".json") {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no report under data/rows")
	}
	return found
}

// Every published row is verified by its own evidence, alone and beside all the others.
func TestPublishedRowsAreVerified(t *testing.T) {
	corpus := gate.NewCorpus()
	bundles := map[string]*rowfile.Bundle{}
	rows := 0
	for _, name := range reports(t) {
		b, err := rowfile.LoadFS(os.DirFS("."), name)
		if err != nil {
			t.Fatal(err)
		}
		bundles[name] = b
		for i := range b.Report.Rows {
			rows++
			corpus.Add(b.Report, &b.Report.Rows[i], b.Rows[i].Samples)
		}
	}
	for name, b := range bundles {
		t.Run(name, func(t *testing.T) {
			for i, results := range b.Judge(corpus) {
				if verdict := gate.Verdict(results); verdict != gate.Verified {
					t.Errorf("row %d is %s", i, verdict)
				}
				for _, r := range results {
					if r.Answer.Blocks() {
						t.Errorf("row %d: %s %s: %s", i, r.Gate, r.Answer, r.Reason)
					}
				}
			}
		})
	}
	if rows < 20 {
		t.Errorf("%d published rows; at least 20 stand here since the first publication", rows)
	}
}

// A changed digit, wherever it stands in a report, makes some gate refuse a row of it.
func TestAChangedDigitIsSeen(t *testing.T) {
	for _, name := range reports(t) {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := fstest.MapFS{}
			folder, prefix := path.Dir(name), strings.TrimSuffix(path.Base(name), "json")
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), prefix) {
					file := path.Join(folder, e.Name())
					content, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					files[file] = &fstest.MapFile{Data: content}
				}
			}
			var digits []int
			for i, c := range whole {
				if c >= '0' && c <= '9' {
					digits = append(digits, i)
				}
			}
			random := rand.New(rand.NewPCG(1, uint64(len(whole))))
			for range 4 {
				at := digits[random.IntN(len(digits))]
				changed := bytes.Clone(whole)
				changed[at] = '0' + (changed[at]-'0'+1+byte(random.IntN(9)))%10
				files[name] = &fstest.MapFile{Data: changed}
				if verified(files, name) {
					line := 1 + bytes.Count(whole[:at], []byte("\n"))
					t.Errorf("line %d: %q became %q and every row is still verified", line, whole[at], changed[at])
				}
			}
		})
	}
}

func verified(files fs.FS, name string) bool {
	b, err := rowfile.LoadFS(files, name)
	if err != nil {
		return false
	}
	for _, results := range b.Judge(nil) {
		if gate.Verdict(results) != gate.Verified {
			return false
		}
	}
	return true
}
