package data

import (
	"encoding/csv"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

// Every model file counts what was counted apart from this program, and what its publisher
// counts by the publisher's own convention.
func TestModelsCountWhatWasCountedApart(t *testing.T) {
	c, problems := catalog.Load(FS)
	for _, p := range problems {
		t.Error(p)
	}
	counted := map[string]bool{}
	for _, line := range lines(t, "testdata/architectures.csv") {
		id, total, read, publishedTotal, publishedActive, percent := line[0], line[1], line[2], line[3], line[4], line[5]
		counted[id] = true
		t.Run(id, func(t *testing.T) {
			m := c.Models[id]
			if m == nil {
				t.Fatalf("no data/models/%s.yaml", id)
			}
			p := m.Params()
			near(t, "in all", p.Total, total, 0.5, "")
			near(t, "read", p.Read, read, 0.5, "")
			near(t, "published in all", m.Counted(m.Published.TotalCounts, false), publishedTotal, 1, percent)
			near(t, "published active", m.Counted(m.Published.ActiveCounts, true), publishedActive, 1, "")
		})
	}
	files, err := fs.Glob(FS, "models/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d model files, %v", len(files), err)
	}
	for _, f := range files {
		if id := strings.TrimSuffix(path.Base(f), ".yaml"); !counted[id] {
			t.Errorf("%s was never counted apart: testdata/architectures.csv has no %s", f, id)
		}
	}
}

// A model's weights in a format weigh what its published checkpoint does, and never more:
// a roof that reads more than there is would be too low.
func TestModelsWeighWhatTheirCheckpointsDo(t *testing.T) {
	c, _ := catalog.Load(FS)
	for _, line := range lines(t, "testdata/checkpoints.csv") {
		id, dtype, source := line[0], line[1], line[4]
		t.Run(id+" "+dtype, func(t *testing.T) {
			published, err := strconv.ParseFloat(line[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			ppm, err := strconv.ParseFloat(line[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			m := c.Models[id]
			if m == nil || !slices.Contains(m.Weights, dtype) {
				t.Fatalf("data/models/%s.yaml offers no %s", id, dtype)
			}
			a := roofline.Ceiling(roofline.Query{Model: m, WeightDtype: dtype, Batch: 1})
			if a.WeightBytes == nil {
				t.Fatal(a.Missing)
			}
			if short := published - *a.WeightBytes; short < 0 || short > published*ppm*1e-6 {
				t.Errorf("%.0f bytes, but %s holds %.0f", *a.WeightBytes, source, published)
			}
		})
	}
}

// near fails where a count is further from a figure in billions than so many units of the
// figure's last digit, or than so many percent of it.
func near(t *testing.T, what string, count int64, figure string, units float64, percent string) {
	t.Helper()
	if figure == "" {
		return
	}
	want, err := strconv.ParseFloat(figure, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, fraction, _ := strings.Cut(figure, ".")
	most := units
	for range fraction {
		most /= 10
	}
	if percent != "" {
		p, err := strconv.ParseFloat(percent, 64)
		if err != nil {
			t.Fatal(err)
		}
		most = want * p / 100
	}
	if diff := float64(count)/1e9 - want; diff > most*(1+1e-9) || -diff > most*(1+1e-9) {
		t.Errorf("%s %d parameters, but %s billion stand there (within %g)", what, count, figure, most)
	}
}

// lines reads a CSV file under its comments, without its header.
func lines(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	var list [][]string
	for {
		line, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, line)
	}
	if len(list) < 2 {
		t.Fatalf("%s has no lines", name)
	}
	return list[1:]
}
