package host

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	headerBytes = 100 << 20 // of one file; the safetensors format allows no more
	headerFiles = 2000
)

// headersOf is the SHA-256 in hex over the headers of the files that hold weights, in the
// order of their names, and how many these are. A header names every tensor with its type
// and shape: it tells one quantization from another without reading gigabytes. path is a
// folder of *.safetensors or *.gguf, or one such file, with which all parts of a split one
// are taken.
func headersOf(path string) (sum string, files int64, err error) {
	names, err := weightFiles(path)
	if err != nil {
		return "", 0, err
	}
	all := sha256.New()
	for _, name := range names {
		if err := addHeader(all, name); err != nil {
			return "", 0, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return hex.EncodeToString(all.Sum(nil)), int64(len(names)), nil
}

var splitGGUF = regexp.MustCompile(`-\d{5}-of-(\d{5})\.gguf$`)

func weightFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if of := splitGGUF.FindStringSubmatch(path); of != nil {
			stem := path[:len(path)-len(of[0])]
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				return nil, err
			}
			var out []string
			for _, e := range entries {
				name := filepath.Join(filepath.Dir(path), e.Name())
				if m := splitGGUF.FindStringSubmatch(name); m != nil && m[1] == of[1] && name[:len(name)-len(m[0])] == stem {
					out = append(out, name)
				}
			}
			return out, nil
		}
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{".safetensors", ".gguf"} {
		var out []string
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), kind) {
				out = append(out, filepath.Join(path, e.Name()))
			}
		}
		if len(out) > headerFiles {
			return nil, fmt.Errorf("%d files of weights, want at most %d", len(out), headerFiles)
		}
		if len(out) > 0 {
			slices.Sort(out)
			return out, nil
		}
	}
	return nil, errors.New("there is no *.safetensors and no *.gguf in " + path)
}

// addHeader adds one file's header to a hash.
func addHeader(sum hash.Hash, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := &headerReader{in: bufio.NewReader(f), sum: sum}
	start, err := h.in.Peek(4)
	if err != nil {
		return errors.New("it is too short to hold a header")
	}
	if string(start) == "GGUF" {
		h.gguf()
	} else {
		// A safetensors header: its length in 8 bytes, then JSON.
		n := h.u64()
		if next, err := h.in.Peek(1); err == nil && next[0] != '{' {
			return errors.New("it begins as neither safetensors nor GGUF does")
		}
		h.skip(n)
	}
	return h.err
}

// headerReader reads a header's fields, each into the hash too. After its first error it
// reads nothing.
type headerReader struct {
	in   *bufio.Reader
	sum  hash.Hash
	read uint64
	err  error
}

func (h *headerReader) skip(n uint64) {
	if h.err != nil {
		return
	}
	if n > headerBytes || h.read+n > headerBytes {
		h.err = fmt.Errorf("its header is longer than %d bytes", headerBytes)
		return
	}
	h.read += n
	if _, err := io.CopyN(h.sum, h.in, int64(n)); err != nil {
		h.err = errors.New("it ends inside its header")
	}
}

func (h *headerReader) number(size int) uint64 {
	b, err := h.in.Peek(size)
	if h.err == nil && err != nil {
		h.err = errors.New("it ends inside its header")
	}
	if h.err != nil {
		return 0
	}
	var whole [8]byte
	copy(whole[:], b)
	h.skip(uint64(size))
	return binary.LittleEndian.Uint64(whole[:])
}

func (h *headerReader) u32() uint32 { return uint32(h.number(4)) }
func (h *headerReader) u64() uint64 { return h.number(8) }

// gguf reads up to where the tensors' data begins.
func (h *headerReader) gguf() {
	h.skip(4)
	if v := h.u32(); h.err == nil && v != 2 && v != 3 {
		h.err = fmt.Errorf("it is of GGUF version %d, want 2 or 3", v)
	}
	tensors, pairs := h.u64(), h.u64()
	for i := uint64(0); i < pairs && h.err == nil; i++ {
		h.skip(h.u64()) // the key
		h.value(h.u32(), 0)
	}
	for i := uint64(0); i < tensors && h.err == nil; i++ {
		h.skip(h.u64()) // the name
		dims := h.u32()
		if dims > 8 {
			h.err = fmt.Errorf("a tensor has %d dimensions", dims)
		}
		h.skip(8*uint64(dims) + 4 + 8) // dimensions, type, offset
	}
}

// ggufSizes are those of the types of values that have a fixed one.
var ggufSizes = map[uint32]uint64{0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

func (h *headerReader) value(kind uint32, depth int) {
	switch size, fixed := ggufSizes[kind]; {
	case h.err != nil:
	case fixed:
		h.skip(size)
	case kind == 8:
		h.skip(h.u64())
	case kind == 9 && depth < 4:
		of, n := h.u32(), h.u64()
		if size, fixed := ggufSizes[of]; fixed {
			if n > headerBytes {
				n = headerBytes + 1 // so that the product cannot overflow
			}
			h.skip(n * size)
			return
		}
		for i := uint64(0); i < n && h.err == nil; i++ {
			h.value(of, depth+1)
		}
	default:
		h.err = fmt.Errorf("a value of its header is of an unknown type %d", kind)
	}
}
