package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/rowtest"
)

// Each defect that was seen in published rows ends check and publish with the name and
// the reason of the gate that was made for it, where the same row without it passes both.
func TestDefectsAreRefused(t *testing.T) {
	catalogue := os.DirFS("../../data")
	defects, err := rowtest.Defects(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defects {
		t.Run(d.Name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(filepath.Join(root, "data/cells"), os.DirFS("../../data/cells")); err != nil {
				t.Fatal(err)
			}
			written := func(dir string, m rowtest.Made) string {
				file, err := m.Write(filepath.Join(root, dir))
				if err != nil {
					t.Fatal(err)
				}
				return file
			}
			bad, good := written("bad", d.Row), written("good", d.Twin)
			if d.Cell != nil {
				if err := os.WriteFile(filepath.Join(root, "data/cells", d.Row.Report.Recipe+".yaml"), d.Cell, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			refused := !d.Corpus && d.Answer == gate.Fail
			code, found := checked(t, bad)
			if (code == exitFailed) != refused {
				t.Errorf("check exits with %d", code)
			}
			code, want := checked(t, good)
			if code != exitOK {
				t.Errorf("check of the twin exits with %d: %v", code, want)
			}
			if !d.Corpus {
				want[d.Gate] = d.Answer.String()
				for name, a := range d.Also {
					want[name] = a.String()
				}
			}
			if !maps.Equal(found, want) {
				t.Errorf("check answers %v, want %v", found, want)
			}

			for i, m := range d.Beside {
				if _, err := m.Publish(root); err != nil {
					t.Fatal(i, err)
				}
			}
			code, told := published(bad, root)
			if d.Answer == gate.Warn {
				if code != exitOK {
					t.Errorf("publish exits with %d: %s", code, told)
				}
				return
			}
			lines := strings.Split(strings.TrimSpace(told), "\n")
			if code != exitFailed || len(lines) != 1+len(d.Also) || !strings.Contains(told, ": "+d.Gate+" fails: ") || !strings.Contains(told, d.Reason) {
				t.Errorf("publish exits with %d: %s", code, told)
			}
			if err := os.RemoveAll(filepath.Join(root, "data/rows")); err != nil {
				t.Fatal(err)
			}
			for _, m := range d.BesideTheTwin {
				if _, err := m.Publish(root); err != nil {
					t.Fatal(err)
				}
			}
			if code, told := published(good, root); code != exitOK {
				t.Errorf("publish of the twin exits with %d: %s", code, told)
			}
		})
	}
}

// checked is how measure check exits, and what each gate answers of the file's one row.
func checked(t *testing.T, file string) (code int, answers map[string]string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = check(context.Background(), []string{"--json", file}, streams{nil, &out, &errs})
	var said []checkedFile
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || len(said) != 1 || len(said[0].Rows) != 1 {
		t.Fatalf("%v %s%s", err, &out, &errs)
	}
	answers = map[string]string{}
	for _, g := range said[0].Rows[0].Gates {
		answers[g.Gate] = g.Answer
	}
	return code, answers
}

// published is how measure publish exits, and what it tells.
func published(file, root string) (code int, told string) {
	var out, errs bytes.Buffer
	code = publish(context.Background(), []string{"--root", root, file}, streams{nil, &out, &errs})
	return code, errs.String()
}
