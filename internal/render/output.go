package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"rowproof/internal/render/kept"
)

// marker is the file by which a folder is known as a site that gen built; it also tells
// GitHub Pages to serve the files as they are.
const marker = ".nojekyll"

// output gathers a site in a folder beside its destination and puts it in place whole.
type output struct {
	dest, temp string

	mu    sync.Mutex
	files map[string]int64     // path → bytes
	taken []string             // those that stay as the destination has them
	had   map[string]*standing // what the last build put there
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

// write adds one file; its slash-separated path must be new. What stands there already
// with the same bytes stays.
func (o *output) write(path string, data []byte) error {
	if err := o.add(path, int64(len(data))); err != nil {
		return err
	}
	if o.stands(path, data) {
		o.mu.Lock()
		o.taken = append(o.taken, path)
		o.mu.Unlock()
		return nil
	}
	full := filepath.Join(o.temp, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o644)
}

func (o *output) add(path string, size int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.files[path]; twice {
		return fmt.Errorf("%s: two pages or files want this address", path)
	}
	o.files[path] = size
	return nil
}

// stands says whether the destination holds a file with these bytes.
func (o *output) stands(path string, data []byte) bool {
	name := filepath.Join(o.dest, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(data)) {
		return false
	}
	was, err := os.ReadFile(name)
	return err == nil && bytes.Equal(was, data)
}

// take keeps a file of the destination that the last build made of the same, if it is as
// that build left it; its path must be new.
func (o *output) take(path string, key kept.Digest) bool {
	k := o.had[path]
	if k == nil || k.Key != key {
		return false
	}
	info, err := os.Lstat(filepath.Join(o.dest, filepath.FromSlash(path)))
	if err != nil {
		return false
	}
	if st, ok := stampOf(info); !ok || st != k.Stamp {
		return false
	}
	if o.add(path, info.Size()) != nil {
		return false
	}
	o.mu.Lock()
	o.taken = append(o.taken, path)
	o.mu.Unlock()
	return true
}

// size is the number of files and their bytes.
func (o *output) size() (files int, bytes int64) {
	for _, n := range o.files {
		bytes += n
	}
	return len(o.files), bytes
}

// commit replaces the destination by what was gathered. A site that is the same already
// is left as it is.
func (o *output) commit() error {
	if len(o.taken) == len(o.files) && o.holdsNothingElse() {
		return nil
	}
	if err := o.link(); err != nil {
		return err
	}
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

// link brings what stays into the new folder, as the same files.
func (o *output) link() error {
	errs := make([]error, len(o.taken))
	parallel(len(o.taken), func(i int) {
		path := filepath.FromSlash(o.taken[i])
		to := filepath.Join(o.temp, path)
		if errs[i] = os.MkdirAll(filepath.Dir(to), 0o755); errs[i] == nil {
			errs[i] = linkOrCopy(filepath.Join(o.dest, path), to)
		}
	})
	return errors.Join(errs...)
}

// linkOrCopy copies where the file system has no links.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// holdsNothingElse says whether the destination has no file beside those gathered, and no
// folder without one.
func (o *output) holdsNothingElse() bool {
	folders := map[string]bool{".": true}
	for path := range o.files {
		for dir := filepath.Dir(filepath.FromSlash(path)); !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	err := filepath.WalkDir(o.dest, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(o.dest, name)
		if err != nil {
			return err
		}
		if _, file := o.files[filepath.ToSlash(rel)]; d.IsDir() && !folders[rel] || !d.IsDir() && !file {
			return fs.ErrExist
		}
		return nil
	})
	return err == nil
}

// discard leaves the destination as it was.
func (o *output) discard() { os.RemoveAll(o.temp) }
