package recheck

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"rowproof/internal/harness"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Taken is what became of files that a reader handed over: reports of ours, or results of
// other tools.
type Taken struct {
	Problems []string   `json:"problems"` // each begins with its file's name
	Left     []string   `json:"left"`     // what of the files was left out, and why
	Rows     []TakenRow `json:"rows"`
}

// TakenRow is one row of them.
type TakenRow struct {
	Row
	File        string       `json:"file"`
	Workload    row.Workload `json:"workload"`
	Status      string       `json:"status"`
	Reason      string       `json:"reason"`
	Measured    row.Figures  `json:"measured"`
	Model       string       `json:"model"`
	Engine      string       `json:"engine"`
	Recipe      string       `json:"recipe"`
	MeasuredAt  string       `json:"measured_at"` // "" where nobody says
	Import      *row.Import  `json:"import"`      // null of a row of ours
	Concurrency *int64       `json:"concurrency"`
}

// Take reads the files of a folder and judges every row in them; now is the reader's time.
// Files of one run are joined; samples and evidence are read by the report that names them.
func Take(folder fs.FS, now string) *Taken {
	t := &Taken{Problems: []string{}, Left: []string{}, Rows: []TakenRow{}}
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		t.Problems = append(t.Problems, err.Error())
		return t
	}
	type read struct {
		name, sum string
		result    *harness.Result
	}
	var reads []read
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".samples.jsonl.gz") || strings.HasSuffix(name, ".evidence.jsonl.gz") {
			continue
		}
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Problems = append(t.Problems, name+": "+err.Error())
			continue
		}
		r, err := harness.Parse(name, bytes.NewReader(data))
		var torn *harness.Torn
		switch {
		case errors.Is(err, harness.ErrOurs):
			t.ours(folder, name, now)
			continue
		case errors.As(err, &torn):
			t.Problems = append(t.Problems, name+" breaks off: "+err.Error()+"; what was whole before was taken")
		case err != nil:
			t.Problems = append(t.Problems, name+": "+err.Error())
			continue
		}
		sum := sha256.Sum256(data)
		one := read{name, hex.EncodeToString(sum[:]), r}
		at := slices.IndexFunc(reads, func(other read) bool {
			both, err := harness.Join(other.result, r)
			if err == nil {
				one.result = both
			}
			return err == nil
		})
		if at >= 0 {
			pair := sha256.Sum256([]byte(reads[at].sum + one.sum))
			reads[at].result, reads[at].sum = one.result, hex.EncodeToString(pair[:])
			continue
		}
		reads = append(reads, one)
	}
	for _, r := range reads {
		t.theirs(r.name, r.sum, r.result, now)
	}
	return t
}

// ours takes a report of measure with the files beside it.
func (t *Taken) ours(folder fs.FS, name, now string) {
	b, err := rowfile.LoadFS(folder, name)
	if err != nil {
		t.Problems = append(t.Problems, err.Error())
		return
	}
	b.Now = now
	t.add(b, name, b.Report.MeasuredAt)
}

// theirs takes a result of another tool.
func (t *Taken) theirs(name, sum string, r *harness.Result, now string) {
	report, samples, wrong := r.Report(harness.Ask{
		Sum: sum, MeasuredAt: now, MeasuredFrom: "taken in a browser",
		Tool: row.Tool{Command: []string{"measure", "import", path.Base(name)}},
	})
	for _, text := range wrong {
		t.Problems = append(t.Problems, name+": "+text)
	}
	t.Left = append(t.Left, r.Left...)
	if len(wrong) > 0 || len(report.Rows) == 0 {
		return
	}
	b, _, err := rowfile.Made("report.json", report, samples, now)
	if err != nil {
		t.Problems = append(t.Problems, name+": "+err.Error())
		return
	}
	t.add(b, name, r.Runs[0].At)
}

func (t *Taken) add(b *rowfile.Bundle, name, at string) {
	for i := range b.Rows {
		n := b.Rows[i].Row
		t.Rows = append(t.Rows, TakenRow{
			Row: judged(b, i), File: name, Workload: n.Workload, Status: n.Status, Reason: n.Reason, Measured: n.Figures,
			Model: b.Report.Receipt.Engine.Model, Engine: strings.TrimSpace(b.Report.Receipt.Engine.Name + " " + b.Report.Receipt.Engine.Version),
			Recipe: b.Report.Recipe, MeasuredAt: at, Import: n.Import, Concurrency: n.Workload.Load.Concurrency,
		})
	}
}
