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
	o.mu.Lock()
	_, twice := o.files[path]
	o.files[path] = 0
	o.mu.Unlock()
	if twice {
		return fmt.Errorf("%s: two pages or files want this address", path)
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
	o.mu.Lock()
	o.files[path] = info.Size()
	o.mu.Unlock()
	return nil
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
