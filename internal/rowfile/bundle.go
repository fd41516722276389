package rowfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

// Bundle is a report with the files beside it.
type Bundle struct {
	Path         string
	Report       *row.Report
	Problems     []string // of the report's own form
	Rows         []RowData
	Evidence     []row.Evidence
	EvidenceSums []string // SHA-256 of each evidence line
	NoEvidence   string   // why Evidence is nil
	Trimmed      bool     // the evidence file holds more lines, see Load and Cut
	Now          string   // when it was loaded, RFC 3339 in UTC, for the gate on dates

	Today *gate.Today // what the catalogue says now; nil where the caller has none
}

// RowData is one row with what was recomputed about it.
type RowData struct {
	Row            *row.Row
	ComputedID     string // "" where no id can be computed; Problems says why
	SamplesSHA256  string // of the samples file as stored; "" when absent
	EvidenceSHA256 string // of the row's evidence line; "" when absent
	Samples        []row.Sample
	Evidence       *row.Evidence
	NoSamples      string // why Samples is nil
}

// EvidenceFile is the name of the evidence file beside a report.
func EvidenceFile(report string) string {
	return strings.TrimSuffix(report, ".json") + ".evidence.jsonl.gz"
}

// SamplesFile is the name of the samples file of row i beside a report.
func SamplesFile(report string, i int) string {
	return fmt.Sprintf("%s.%d.samples.jsonl.gz", strings.TrimSuffix(report, ".json"), i)
}

// LoadError says why there is no report to judge in a file.
type LoadError struct {
	Path string
	Err  error
}

func (e *LoadError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *LoadError) Unwrap() error { return e.Err }

// Load reads a report and the files beside it from disk, as a run left them. One that was
// killed while it wrote may have left the evidence of a row that its report does not hold
// yet; that line is left out.
func Load(file string) (*Bundle, error) {
	b, err := load(os.DirFS(filepath.Dir(file)), filepath.Base(file), true)
	if err != nil {
		var path *fs.PathError
		var form *LoadError
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &form):
			err = form.Err
		}
		return nil, &LoadError{Path: file, Err: err}
	}
	b.Path = file
	return b, nil
}

// LoadFS reads a report and the files beside it. An error means that there is no report
// to judge; anything less stands in the bundle, where the gates find it.
func LoadFS(fsys fs.FS, file string) (*Bundle, error) { return load(fsys, file, false) }

func load(fsys fs.FS, file string, killed bool) (*Bundle, error) {
	data, err := ReadFile(fsys, file, LargestReport)
	if err != nil {
		return nil, err
	}
	root, r, problems, err := decode(data)
	if err != nil {
		return nil, &LoadError{Path: file, Err: err}
	}
	b := &Bundle{Path: file, Report: r, Problems: problems, Now: time.Now().UTC().Format(time.RFC3339)}
	b.loadEvidence(fsys, EvidenceFile(file))
	if last := len(b.Evidence) - 1; killed && last > 0 && b.Evidence[last].Row == int64(len(r.Rows)) && !b.states(b.EvidenceSums[last]) {
		b.Evidence, b.EvidenceSums, b.Trimmed = b.Evidence[:last], b.EvidenceSums[:last], true
	}
	b.holdEvidence()
	read := map[string]int{} // samples file → its first row
	for i := range r.Rows {
		d := b.row(root, i)
		if k, twice := read[d.Row.Samples.File]; twice {
			from := &b.Rows[k]
			d.Samples, d.SamplesSHA256, d.NoSamples = from.Samples, from.SamplesSHA256, from.NoSamples
		} else {
			d.load(fsys, path.Dir(file))
			read[d.Row.Samples.File] = i
		}
		b.Rows = append(b.Rows, d)
	}
	return b, nil
}

// With is the bundle as it would load with another text of its report, the files beside
// it as they were read.
func (b *Bundle) With(report []byte) (*Bundle, error) {
	root, r, problems, err := decode(report)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	c := &Bundle{Path: b.Path, Report: r, Problems: problems, Now: b.Now,
		Evidence: b.Evidence, EvidenceSums: b.EvidenceSums, NoEvidence: b.NoEvidence, Trimmed: b.Trimmed}
	c.holdEvidence()
	for i := range r.Rows {
		d := c.row(root, i)
		d.NoSamples = fmt.Sprintf("%s: not there", clip(d.Row.Samples.File))
		for k := range b.Rows {
			if from := &b.Rows[k]; from.Row.Samples.File == d.Row.Samples.File {
				d.Samples, d.SamplesSHA256, d.NoSamples = from.Samples, from.SamplesSHA256, from.NoSamples
			}
		}
		c.Rows = append(c.Rows, d)
	}
	return c, nil
}

// tell adds a problem beside those of the report's form, which are as many at most.
func (b *Bundle) tell(text string) {
	if len(b.Problems) < 2*mostProblems {
		b.Problems = append(b.Problems, text)
	}
}

// row is row i with its id and its evidence, without its samples.
func (b *Bundle) row(root *node, i int) RowData {
	d := RowData{Row: &b.Report.Rows[i]}
	var err error
	if d.ComputedID, err = idOf(root, i); err != nil {
		b.tell(err.Error())
	}
	if k := b.lineOf(i); k >= 0 {
		d.Evidence, d.EvidenceSHA256 = &b.Evidence[k], b.EvidenceSums[k]
	}
	return d
}

// states says whether a row states the hash of a line of evidence.
func (b *Bundle) states(sum string) bool {
	return slices.ContainsFunc(b.Report.Rows, func(r row.Row) bool { return r.Proof.Evidence != nil && *r.Proof.Evidence == sum })
}

// lineOf is the line of evidence of row i: the one whose hash the row states. A report of
// which rows were left out keeps the lines of the others as they were written, with the
// places that these had. Where no line has the hash it is the one of the row's own place,
// which a gate then refuses; -1 where there is none.
func (b *Bundle) lineOf(i int) int {
	own := -1
	for k := range b.Evidence {
		if want := b.Report.Rows[i].Proof.Evidence; want != nil && b.EvidenceSums[k] == *want {
			return k
		}
		if b.Evidence[k].Row == int64(i) {
			own = k
		}
	}
	return own
}

func (b *Bundle) loadEvidence(fsys fs.FS, file string) {
	data, err := ReadFile(fsys, file, LargestPacked)
	if errors.Is(err, fs.ErrNotExist) {
		b.NoEvidence = file + ": not there"
		return
	}
	if err == nil {
		b.Evidence, b.EvidenceSums, err = DecodeEvidence(data)
	}
	if err != nil {
		b.NoEvidence = told(file, err)
		b.Evidence, b.EvidenceSums = nil, nil
	}
}

// holdEvidence asks for one line of the run, with the hash that the receipt states, and at
// most one a row; any other line would lie beside the report with nothing to hold it.
func (b *Bundle) holdEvidence() {
	add := func(text string) {
		b.tell(path.Base(filepath.ToSlash(EvidenceFile(b.Path))) + ": " + text)
	}
	stated := b.Report.Receipt.EvidenceSHA256
	if b.NoEvidence != "" {
		if stated != "" {
			add("receipt.evidence_sha256 states its first line, and it cannot be read: " + b.NoEvidence)
		}
		return
	}
	first := map[int64]int{} // row → line
	of := map[int]bool{}     // lines that a row states the hash of
	for i := range b.Report.Rows {
		of[b.lineOf(i)] = true
	}
	for i := range b.Evidence {
		n := b.Evidence[i].Row
		line, again := first[n]
		switch {
		case again:
			add(fmt.Sprintf("line %d: it is of row %d, as line %d is", i+1, n, line))
		case n < -1 || n >= 0 && !of[i]:
			add(fmt.Sprintf("line %d: it is of row %d, and none of the report's %d rows states its hash; -1 is the run", i+1, n, len(b.Report.Rows)))
		default:
			first[n] = i + 1
		}
	}
	b.inOrder(add)
	line, ok := first[-1]
	switch {
	case !ok:
		add("the run's own line, of row -1, is missing")
	case stated != "" && b.EvidenceSums[line-1] != stated:
		add(fmt.Sprintf("line %d: its SHA-256 is %s, receipt.evidence_sha256 states %s", line, b.EvidenceSums[line-1], stated))
	}
}

// orderSlack is how far a host's clock may be set back between two rows.
const orderSlack = 2 * time.Second

// inOrder asks that the rows began one after the other, as they are measured: lines that
// change places are of other rows than they say.
func (b *Bundle) inOrder(add func(string)) {
	var latest time.Time
	of := -1
	for i := range b.Report.Rows {
		line := b.lineOf(i) + 1
		if line == 0 {
			continue
		}
		zero, err := time.Parse(time.RFC3339, b.Evidence[line-1].Zero)
		if err != nil {
			continue // the gate on dates tells of it
		}
		if of >= 0 && zero.Before(latest.Add(-orderSlack)) {
			add(fmt.Sprintf("line %d: row %d began at %s, before row %d", line, i, b.Evidence[line-1].Zero, of))
			return
		}
		latest, of = zero, i
	}
}

// load reads the row's samples, from the report's own folder only.
func (d *RowData) load(fsys fs.FS, dir string) {
	name := d.Row.Samples.File
	if !fileForm.MatchString(name) {
		d.NoSamples = fmt.Sprintf("samples.file %q is not a file name beside the report", clip(name))
		return
	}
	data, err := ReadFile(fsys, path.Join(dir, name), LargestPacked)
	if errors.Is(err, fs.ErrNotExist) {
		d.NoSamples = name + ": not there"
		return
	}
	if err == nil {
		d.SamplesSHA256 = SHA256(data)
		d.Samples, err = DecodeSamples(data)
	}
	if err != nil {
		d.NoSamples = told(name, err)
		d.Samples = nil
	}
}

// told is an error behind the name of its file, once.
func told(name string, err error) string {
	text := err.Error()
	if i := strings.Index(text, name+": "); i >= 0 {
		text = text[i+len(name)+2:]
	}
	return name + ": " + text
}

// Simulated says whether the run drove the embedded engine: by the name that the report
// gives the server, or by the series that only that engine exposes, whatever its name.
func (b *Bundle) Simulated() bool {
	if b.Report.Simulated() {
		return true
	}
	for i := range b.Evidence {
		if b.Evidence[i].Simulated() {
			return true
		}
	}
	return false
}

// Imported says whether every row was measured by another tool, whose file brings no
// evidence with it.
func (b *Bundle) Imported() bool {
	for i := range b.Report.Rows {
		if b.Report.Rows[i].Proof.Source == nil {
			return false
		}
	}
	return len(b.Report.Rows) > 0
}

// Keep leaves out the rows that keep does not name, and their evidence. A row's id is made
// of its own line of evidence and not of its place, so that the others' stay.
func (b *Bundle) Keep(keep func(i int) bool) {
	gone := map[int]bool{} // lines
	var data []RowData
	var rows []row.Row
	for i := range b.Rows {
		if keep(i) {
			data, rows = append(data, b.Rows[i]), append(rows, b.Report.Rows[i])
		} else {
			gone[b.lineOf(i)] = true
		}
	}
	// New lists: the rows that stay point into the old ones.
	report := *b.Report
	report.Rows, b.Report, b.Rows = rows, &report, data
	evidence, sums := b.Evidence, b.EvidenceSums
	b.Evidence, b.EvidenceSums = nil, nil
	for i := range evidence {
		if !gone[i] {
			b.Evidence, b.EvidenceSums = append(b.Evidence, evidence[i]), append(b.EvidenceSums, sums[i])
		}
	}
	b.Trimmed = b.Trimmed || len(b.Evidence) < len(evidence)
}

// Judge runs every gate over every row; corpus is nil outside publish and gen.
func (b *Bundle) Judge(corpus *gate.Corpus) [][]gate.Result {
	out := make([][]gate.Result, len(b.Rows))
	for i := range b.Rows {
		out[i] = gate.Judge(b.Input(i, corpus))
	}
	return out
}

// Input is what the gates are given about row i.
func (b *Bundle) Input(i int, corpus *gate.Corpus) gate.Input {
	d := &b.Rows[i]
	return gate.Input{
		Report: b.Report, Row: d.Row,
		FormProblems: b.Problems, ComputedID: d.ComputedID,
		SamplesSHA256: d.SamplesSHA256, EvidenceSHA256: d.EvidenceSHA256,
		Samples: d.Samples, Evidence: d.Evidence, NoSamples: d.NoSamples,
		Now: b.Now, Corpus: corpus, Today: b.Today,
	}
}
