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

// WriteFile puts a whole file in place, or nothing.
func WriteFile(path string, data []byte) error {
	return WriteFiles([]File{{path, data}})
}

// File is a file to be written.
type File struct {
	Path string
	Data []byte
}

// WriteFiles puts whole files in place, in their order, or none of them: all are written
// and on the disk, beside their places, before the first takes its own. Files that point
// at one another are apart only from one renaming to the next.
func WriteFiles(files []File) error {
	staged := make([]string, 0, len(files))
	fail := func(path string, err error) error {
		for _, name := range staged {
			os.Remove(name)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range files {
		name, err := stage(f)
		if name != "" {
			staged = append(staged, name)
		}
		if err != nil {
			return fail(f.Path, err)
		}
	}
	for _, f := range files {
		if err := os.Rename(staged[0], f.Path); err != nil {
			return fail(f.Path, err)
		}
		staged = staged[1:]
	}
	return nil
}

// stage writes a file beside its place and returns its name there, if it has one.
func stage(file File) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(file.Path), ".rowproof-partial-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(file.Data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return f.Name(), err
}
