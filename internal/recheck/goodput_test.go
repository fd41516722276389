package recheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/rowtest"
)

// A row's goodput without limits is its request rate; samples that are not the row's own,
// a limit that is none and a row that is not there are refused with the reason.
func TestGoodput(t *testing.T) {
	r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}})
	file, err := rowtest.Write(t.TempDir(), r, samples, evidence)
	if err != nil {
		t.Fatal(err)
	}
	dir, name := os.DirFS(filepath.Dir(file)), filepath.Base(file)
	g, err := Goodput(dir, name, 0, "e2e_p99<1000000ms")
	if err != nil || g.PerSec == nil || r.Rows[0].Figures.RequestPerSec == nil {
		t.Fatalf("%+v, %v", g, err)
	}
	if g.Met != g.Of || *g.PerSec != *r.Rows[0].Figures.RequestPerSec {
		t.Errorf("all meet a limit of a quarter of an hour: %+v; the row's request_s is %v", g, *r.Rows[0].Figures.RequestPerSec)
	}
	if g, err := Goodput(dir, name, 0, "e2e_p99<0.001ms"); err != nil || g.Met != 0 {
		t.Errorf("none meets a microsecond: %+v, %v", g, err)
	}
	refuse := func(i int, limits, want string) {
		t.Helper()
		if g, err := Goodput(dir, name, i, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v; want an error that says %q", g, err, want)
		}
	}
	refuse(0, "joy<3ms", "is no limit")
	refuse(1, "ttft_p50<3ms", "row 1 was asked for, and it has 1")
	other, more, evidence2 := rowtest.Report(2, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}})
	foreign, err := rowtest.Write(t.TempDir(), other, more, evidence2)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(foreign), other.Rows[0].Samples.File))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), r.Rows[0].Samples.File), data, 0o644); err != nil {
		t.Fatal(err)
	}
	refuse(0, "ttft_p50<3ms", "its samples are not those that it was made from")
}
