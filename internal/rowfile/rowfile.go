// Package rowfile holds the written forms of package row: the report as JSON, read
// strictly and hashed in its canonical form; the samples and the evidence as gzipped
// lines; and the CSV. It ties them together: a Bundle is a report with the files beside
// it, every hash recomputed, ready for the gates. Every problem of a file is told at
// once, with its place.
package rowfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"rowproof/internal/row"
)

// Encode writes a report as it stands in data/rows: indented by one space, one final
// newline, floats in the shortest form that reads back.
func Encode(r *row.Report) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

// WriteFile puts a whole file in place, or nothing: it writes beside it and renames.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".partial-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
