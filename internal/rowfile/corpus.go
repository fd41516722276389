package rowfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"rowproof/internal/gate"
)

// Published are the rows below a data/rows folder.
type Published struct {
	Corpus *gate.Corpus
	Files  map[string]string // row id → its report, below the folder
}

// ReadPublished reads every report below dir; a dir that is not there holds none.
func ReadPublished(fsys fs.FS, dir string) (*Published, error) {
	p := &Published{Corpus: gate.NewCorpus(), Files: map[string]string{}}
	err := fs.WalkDir(fsys, dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		if err := Plain(file, d); err != nil {
			return err
		}
		if d.IsDir() || !strings.HasSuffix(file, ".json") || strings.HasPrefix(path.Base(file), ".") {
			return nil
		}
		b, err := LoadFS(fsys, file)
		if err != nil {
			return fmt.Errorf("a published report cannot be read: %w", err)
		}
		p.Add(b, file)
		return nil
	})
	return p, err
}

// Plain refuses anything but folders and files below data/rows: a link would bring rows
// in from where nobody looks, and copy any file of the machine into the site.
func Plain(file string, d fs.DirEntry) error {
	if d.IsDir() || d.Type().IsRegular() {
		return nil
	}
	what := "not a regular file"
	if d.Type()&fs.ModeSymlink != 0 {
		what = "a symbolic link"
	}
	return fmt.Errorf("%s:1:1: it is %s; reports and what lies beside them are plain files in plain folders", file, what)
}

// Add takes in the rows of a report that stands at file.
func (p *Published) Add(b *Bundle, file string) {
	for i := range b.Rows {
		d := &b.Rows[i]
		if _, ok := p.Files[d.Row.ID]; !ok {
			p.Files[d.Row.ID] = file
		}
		p.Corpus.Add(b.Report, d.Row, d.Samples)
	}
}
