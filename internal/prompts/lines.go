package prompts

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Bounds of a file: its bytes, those of a line, and its requests. A trace of an hour of a
// large service, or the conversations that people benchmark with, is well within.
const (
	LargestFile  = 1 << 30
	LongestLine  = 16 << 20
	MostRequests = 1_000_000
	MostBlocks   = 1 << 22 // hash_ids of a trace
	MostTokens   = 1 << 24 // of one prompt or one output
)

// byteOrderMark begins a text that some editors wrote; it is none of its content.
const byteOrderMark = "\xef\xbb\xbf"

// file reads a file of requests once, bounded, and hashes it on the way.
type file struct {
	*bufio.Reader
	sum  hash.Hash
	left int64
	from io.Reader
}

func newFile(r io.Reader) *file {
	f := &file{sum: sha256.New(), left: LargestFile, from: r}
	f.Reader = bufio.NewReaderSize(readerFunc(f.take), 1<<16)
	if mark, err := f.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = f.Discard(len(mark)) // just peeked at
	}
	return f
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

var errLarge = fmt.Errorf("more than %d MiB; want a smaller file", LargestFile>>20)

func (f *file) take(p []byte) (int, error) {
	n, err := f.from.Read(p)
	f.sum.Write(p[:n])
	if f.left -= int64(n); f.left < 0 {
		return 0, errLarge
	}
	return n, err
}

// sha256 is of all that was read: of the whole file once its end was reached.
func (f *file) sha256() string { return hex.EncodeToString(f.sum.Sum(nil)) }

// lines calls each with every line that is not blank, numbered from 1. A line's bytes
// hold until the next one is read. The error is of reading, or of a file without bounds.
func (f *file) lines(each func(number int, line []byte) error) error {
	var line []byte
	for number := 1; ; number++ {
		line = line[:0]
		for {
			part, err := f.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > LongestLine {
				return fmt.Errorf("line %d: more than %d MiB; want one request a line", number, LongestLine>>20)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
				if err := each(number, trimmed); err != nil {
					return err
				}
			}
			if err != nil {
				return nil
			}
			break
		}
	}
}
