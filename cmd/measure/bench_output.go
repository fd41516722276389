package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// output keeps a run as it grows: the report, and what the files beside it hold. Each
// finished row is on disk before the next begins. Files are replaced whole, samples and
// evidence before the report that points at them, so that a run killed at any moment
// leaves files that read back.
type output struct {
	prefix   string // "" writes no files
	stdout   io.Writer
	asJSON   bool // stdout gets a line of JSON for each row, not the CSV
	report   *row.Report
	evidence []row.Evidence // the run's own line, then one a row
	seeds    []row.SeedColumns
	samples  [][]row.Sample // of each row, for the verdicts at the end

	proof     []byte         // the evidence as it is stored
	written   int            // rows whose files are on disk
	unwritten []rowfile.File // samples files that are not, for want of room perhaps
	broken    error          // of the latest write of the files
	unprinted error          // of the first line that could not be printed
}

// writable says whether files can be put under a prefix, and hold the CSV of no row. Its
// folder is made where it alone is missing: several that are would be a slip of the pen.
func writable(prefix string) error {
	if prefix == "" {
		return nil
	}
	dir := filepath.Dir(prefix)
	switch err := os.Mkdir(dir, 0o755); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such folder, and more than the last is missing", dir)
	case !isDir(dir) && errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is no folder", dir)
	case !isDir(dir):
		return err
	}
	clearPartial(dir)
	f, err := os.CreateTemp(dir, ".rowproof-partial-*")
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, rowfile.CSVHeader+"\n")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// partialFor is longer than a file takes to be written whole.
const partialFor = 10 * time.Minute

// clearPartial removes what runs that were killed had half written in a folder.
func clearPartial(dir string) {
	left, err := filepath.Glob(filepath.Join(escaped(dir), ".rowproof-partial-*"))
	if err != nil {
		return
	}
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > partialFor {
			os.Remove(name)
		}
	}
}

// begin prints the CSV's header. Files come with the first row: a run that ends before it
// leaves none, and its prefix free.
func (o *output) begin() error {
	if o.asJSON {
		return nil
	}
	_, err := io.WriteString(o.stdout, rowfile.CSVHeader+"\n")
	return err
}

// reportFile is the report's file; without a prefix, the name that a judge of the rows
// in memory is given.
func (o *output) reportFile() string { return cmp.Or(o.prefix, "run") + ".json" }

// already lists the files of an earlier run under a prefix: a run replaces none, and its
// samples would lie beside a report that is not theirs.
func already(prefix string) []string {
	if prefix == "" {
		return nil
	}
	var found []string
	for _, name := range []string{prefix + ".csv", prefix + ".json", rowfile.EvidenceFile(prefix + ".json")} {
		if _, err := os.Lstat(name); err == nil {
			found = append(found, name)
		}
	}
	beside, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return found // no folder yet, or one that writable complains of
	}
	for _, e := range beside {
		number, isOurs := strings.CutPrefix(e.Name(), filepath.Base(prefix)+".")
		number, isSamples := strings.CutSuffix(number, ".samples.jsonl.gz")
		if _, err := strconv.Atoi(number); isOurs && isSamples && err == nil {
			found = append(found, filepath.Join(filepath.Dir(prefix), e.Name()))
		}
	}
	return found
}

// freePrefix is the first of prefix, prefix-2, prefix-3 and so on without files.
func freePrefix(prefix string) string {
	free := prefix
	for n := 2; len(already(free)) > 0; n++ {
		free = prefix + "-" + strconv.Itoa(n)
	}
	return free
}

// add takes a measured row in, gives it its id, writes the files and prints its CSV line.
// Files that could not be written are tried again with each row that follows and at the
// end; what was written before stays as it was.
func (o *output) add(m *finished, w io.Writer) {
	told := o.broken != nil
	csv, err := o.take(m)
	if err == nil {
		err = o.write()
	}
	switch o.broken = err; {
	case err != nil && !told:
		fmt.Fprintf(w, "measure bench: %v; measuring goes on, and what was written before stays; the files are tried again with each row\n", err)
	case err == nil && told:
		fmt.Fprintln(w, "measure bench: the files could be written again, and nothing is missing from them")
	}
	// What is printed is on disk already, where it can be.
	if o.asJSON {
		o.print(map[string]any{"row": m.row}, w)
	} else if _, err := io.WriteString(o.stdout, csv); err != nil {
		o.unprintable(err, w)
	}
}

// print puts a line of JSON on stdout.
func (o *output) print(v any, w io.Writer) {
	e := json.NewEncoder(o.stdout)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		o.unprintable(err, w)
	}
}

func (o *output) unprintable(err error, w io.Writer) {
	if o.unprinted == nil {
		o.unprinted = err
		fmt.Fprintf(w, "measure bench: what was measured cannot be printed: %v\n", err)
	}
}

// take adds a row to the report and returns its line of CSV.
func (o *output) take(m *finished) (line string, err error) {
	packed, err := rowfile.EncodeSamples(m.samples)
	if err != nil {
		return "", err
	}
	evidence := append(slices.Clone(o.evidence), m.evidence)
	proof, sums, err := rowfile.EncodeEvidence(evidence)
	if err != nil {
		return "", err
	}
	o.evidence, o.proof = evidence, proof
	o.report.Receipt.EvidenceSHA256 = sums[0] // of the run's own line, which stays as it is
	n := len(o.report.Rows)
	sum := rowfile.SHA256(packed)
	m.row.Samples.SHA256 = sum
	file := rowfile.SamplesFile(o.reportFile(), n)
	m.row.Samples.File = filepath.Base(file)
	m.row.Proof = row.Proof{Samples: &sum, Evidence: &sums[n+1]}
	o.report.Rows = append(o.report.Rows, m.row)
	o.seeds = append(o.seeds, m.seed)
	o.samples = append(o.samples, m.samples)
	if o.prefix != "" {
		o.unwritten = append(o.unwritten, rowfile.File{Path: file, Data: packed})
	}
	o.report.Rows[n].ID, err = rowfile.ID(o.report, n)
	m.row.ID = o.report.Rows[n].ID
	return strings.SplitAfter(string(rowfile.CSV(o.report, o.seeds)), "\n")[n+1], err
}

// write replaces the files of a run that has grown: samples first, so that the report
// points at nothing that is not there.
func (o *output) write() error {
	if o.prefix == "" {
		return nil
	}
	report, err := rowfile.Encode(o.report)
	if err != nil {
		return err
	}
	name := o.reportFile()
	files := append(slices.Clone(o.unwritten),
		rowfile.File{Path: rowfile.EvidenceFile(name), Data: o.proof},
		rowfile.File{Path: name, Data: report},
		rowfile.File{Path: o.prefix + ".csv", Data: rowfile.CSV(o.report, o.seeds)})
	if err := rowfile.WriteFiles(files); err != nil {
		return err
	}
	o.unwritten, o.written = nil, len(o.report.Rows)
	return nil
}

// leaves says what an interrupt leaves of the run.
func (o *output) leaves() string {
	switch {
	case len(o.report.Rows) == 0:
		return "no row was finished, in part or whole"
	case o.prefix == "":
		return "finished rows are printed"
	}
	return "finished rows are kept"
}

// settle tries once more what could not be written, and says what is lost.
func (o *output) settle() error {
	if o.broken != nil {
		o.broken = o.write()
	}
	if o.broken != nil {
		n := len(o.report.Rows)
		o.broken = fmt.Errorf("%w; the files hold the first %d of %s", o.broken, o.written, countOf(n, "row"))
	}
	return errors.Join(o.broken, o.unprinted)
}
