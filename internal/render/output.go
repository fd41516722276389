package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// marker is the file by which a folder is known as a site that gen built; it also tells
// GitHub Pages to serve the files as they are.
const marker = ".nojekyll"

// output gathers a site in a folder beside its destination and puts it in place whole.
type output struct {
	dest, temp string

	mu    sync.Mutex
	files map[string]int64 // path → bytes
}

func newOutput(dest string) (*output, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dest)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dest, marker)); err != nil {
			return nil, fmt.Errorf("%s: holds files that gen did not write; name a new or empty folder", dest)
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dest), "."+filepath.Base(dest)+".new-*")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return nil, err
	}
	return &output{dest: dest, temp: temp, files: map[string]int64{}}, nil
}

// write adds one file; its slash-separated path must be new.
func (o *output) write(path string, data []byte) error {
	o.mu.Lock()
	_, twice := o.files[path]
	o.files[path] = int64(len(data))
	o.mu.Unlock()
	if twice {
		return fmt.Errorf("%s: two pages or files want this address", path)
	}
	full := filepath.Join(o.temp, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o644)
}

// size is the number of files and their bytes.
func (o *output) size() (files int, bytes int64) {
	for _, n := range o.files {
		bytes += n
	}
	return len(o.files), bytes
}

// commit replaces the destination by what was gathered.
func (o *output) commit() error {
	old := o.temp + ".old"
	err := os.Rename(o.dest, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(o.temp, o.dest); err != nil {
		return errors.Join(err, os.Rename(old, o.dest))
	}
	return os.RemoveAll(old)
}

// discard leaves the destination as it was.
func (o *output) discard() { os.RemoveAll(o.temp) }
