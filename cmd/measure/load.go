package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/internal/rowfile"
)

const wantReport = "want the report of a run: the PREFIX.json that measure bench --output PREFIX wrote"

// loadReport reads a report and the files beside it. Where the name is of something else,
// the error says what was wanted and, as far as it can be seen, which file that is.
func loadReport(name string) (*rowfile.Bundle, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		reports := reportsIn(name)
		if len(reports) == 0 {
			return nil, fmt.Errorf("%s: a folder, and no report in it; %s", name, wantReport)
		}
		more := ""
		if n := len(reports); n > 3 {
			reports, more = reports[:3], fmt.Sprintf(" and %d more", n-3)
		}
		return nil, fmt.Errorf("%s: a folder; want a report in it: %s%s", name, strings.Join(reports, ", "), more)
	}
	b, err := rowfile.Load(name)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(name + ".json"); err == nil {
			return nil, fmt.Errorf("%s: no such file; want %s.json", name, name)
		}
		return nil, fmt.Errorf("%w; %s", err, wantReport)
	case filepath.Ext(name) != ".json":
		return nil, fmt.Errorf("%w; %s", err, wantReport)
	}
	return nil, err
}

// reportsIn lists what may be a report in a folder: *.json beside evidence of the name.
func reportsIn(dir string) []string {
	found, err := filepath.Glob(filepath.Join(escaped(dir), "*.json"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(found, func(name string) bool {
		_, err := os.Stat(rowfile.EvidenceFile(name))
		return err != nil
	})
}

// escaped keeps a folder's name from being read as a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}
