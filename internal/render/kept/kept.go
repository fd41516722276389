// Package kept writes and reads what one build of the site leaves for the next: each file
// stands behind its own hash, so that a damaged one is as if it were not there.
package kept

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// Of sums up parts, each with its type and where it ends.
func Of(parts ...any) Digest {
	h := sha256.New()
	for _, p := range parts {
		text := fmt.Sprint(p)
		fmt.Fprintf(h, "%T %d\n%s", p, len(text), text)
	}
	return Digest(h.Sum(nil))
}

// form stands before all that is kept; another form has another number.
const form = "rowproof gen 1\n"

// Write puts v into a file of the cache, behind its own hash, whole or not at all.
func Write(file string, v any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return err
	}
	sum := sha256.Sum256(b.Bytes())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".kept-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(append(append([]byte(form), sum[:]...), b.Bytes()...))
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp.Name()))
	}
	return err
}

// Read reads what Write wrote. A file that is not there, cut short, altered or of another
// form is not read.
func Read(file string, v any) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	rest, ok := bytes.CutPrefix(data, []byte(form))
	if !ok || len(rest) < sha256.Size {
		return false
	}
	body := rest[sha256.Size:]
	if sha256.Sum256(body) != Digest(rest[:sha256.Size]) {
		return false
	}
	return gob.NewDecoder(bytes.NewReader(body)).Decode(v) == nil
}
