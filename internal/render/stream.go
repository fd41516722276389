package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// stream adds a file that is too long to be held at once; fill writes it.
func (o *output) stream(path string, fill func(io.Writer) error) (err error) {
	if err := o.add(path, 0); err != nil {
		return err
	}
	full := filepath.Join(o.temp, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(full, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	if err := fill(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stays, err := sameFile(full, filepath.Join(o.dest, filepath.FromSlash(path)), info.Size())
	if err == nil && stays {
		err = os.Remove(full)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files[path] = info.Size()
	if stays {
		o.taken = append(o.taken, path)
	}
	return err
}

// sameFile says whether was holds the bytes of name, which are so many.
func sameFile(name, was string, size int64) (bool, error) {
	if info, err := os.Lstat(was); err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false, nil
	}
	a, err := hashFile(name)
	if err != nil {
		return false, err
	}
	b, err := hashFile(was)
	return err == nil && a == b, nil
}

// array writes values as a JSON array, one a line, each made only when its turn comes.
func array[T any](w io.Writer, n int, value func(int) T) error {
	before := "[\n"
	for i := range n {
		text, err := json.Marshal(value(i))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", before, text); err != nil {
			return err
		}
		before = ",\n"
	}
	end := "\n]"
	if n == 0 {
		end = "[]"
	}
	_, err := io.WriteString(w, end)
	return err
}
