package rowfile

import (
	"path/filepath"

	"rowproof/internal/row"
)

// Made gives an import its form: the samples of each row as a file beside the report at
// path, nil of a row without requests, then every hash and id. The bundle is as Load would
// read it, and the files are those to write, the report last.
func Made(path string, report *row.Report, samples [][]row.Sample, now string) (*Bundle, []File, error) {
	b := &Bundle{Path: path, Report: report, Now: now, NoEvidence: "an import has none"}
	var files []File
	for i := range report.Rows {
		if samples[i] == nil {
			continue
		}
		packed, err := EncodeSamples(samples[i])
		if err != nil {
			return nil, nil, err
		}
		n, name, sum := &report.Rows[i], SamplesFile(path, i), SHA256(packed)
		n.Samples, n.Proof.Samples = row.SamplesRef{File: filepath.Base(name), SHA256: sum}, &sum
		files = append(files, File{name, packed})
	}
	for i := range report.Rows {
		id, err := ID(report, i)
		if err != nil {
			return nil, nil, err
		}
		report.Rows[i].ID = id
	}
	data, err := Encode(report)
	if err != nil {
		return nil, nil, err
	}
	if _, b.Problems, err = Decode(data); err != nil {
		return nil, nil, err
	}
	for i := range report.Rows {
		n := &report.Rows[i]
		b.Rows = append(b.Rows, RowData{Row: n, ComputedID: n.ID, SamplesSHA256: n.Samples.SHA256, Samples: samples[i]})
	}
	return b, append(files, File{path, data}), nil
}
