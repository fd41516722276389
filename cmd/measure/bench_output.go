package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
	report   *row.Report
	evidence []row.Evidence // the run's own line, then one a row
	seeds    []row.SeedColumns
	samples  [][]row.Sample // of each row, for the verdicts at the end
}

// writable makes the folder of a prefix and says whether files can be put there.
func writable(prefix string) error {
	if prefix == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(prefix), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(prefix), ".partial-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// begin prints the CSV's header and, with a prefix, writes it to the CSV file.
func (o *output) begin() error {
	if _, err := io.WriteString(o.stdout, rowfile.CSVHeader+"\n"); err != nil {
		return err
	}
	if o.prefix == "" {
		return nil
	}
	return rowfile.WriteFile(o.prefix+".csv", []byte(rowfile.CSVHeader+"\n"))
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

// add takes a measured row in, gives it its id, prints its CSV line and writes the files.
func (o *output) add(m *finished) error {
	packed, err := rowfile.EncodeSamples(m.samples)
	if err != nil {
		return err
	}
	o.evidence = append(o.evidence, m.evidence)
	evidence, sums, err := rowfile.EncodeEvidence(o.evidence)
	if err != nil {
		return err
	}
	o.report.Receipt.EvidenceSHA256 = sums[0] // of the run's own line, which stays as it is
	n := len(o.report.Rows)
	sum := rowfile.SHA256(packed)
	m.row.Samples.SHA256 = sum
	m.row.Samples.File = filepath.Base(rowfile.SamplesFile(o.reportFile(), n))
	m.row.Proof = row.Proof{Samples: &sum, Evidence: &sums[n+1]}
	o.report.Rows = append(o.report.Rows, m.row)
	o.seeds = append(o.seeds, m.seed)
	o.samples = append(o.samples, m.samples)
	if o.report.Rows[n].ID, err = rowfile.ID(o.report, n); err != nil {
		return err
	}
	csv := rowfile.CSV(o.report, o.seeds)
	broken := o.write(n, packed, evidence, csv)
	// What is printed is on disk already, where it can be.
	lines := strings.SplitAfter(string(csv), "\n")
	_, err = io.WriteString(o.stdout, lines[n+1])
	return errors.Join(broken, err)
}

// write replaces the files of a run that has grown by row n.
func (o *output) write(n int, samples, evidence, csv []byte) error {
	if o.prefix == "" {
		return nil
	}
	report, err := rowfile.Encode(o.report)
	if err != nil {
		return err
	}
	name := o.reportFile()
	for _, f := range []struct {
		name string
		data []byte
	}{
		{rowfile.SamplesFile(name, n), samples}, {rowfile.EvidenceFile(name), evidence},
		{name, report}, {o.prefix + ".csv", csv},
	} {
		if err := rowfile.WriteFile(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}
