//go:build wasip1

package main

import (
	"bytes"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// folder holds the files that the page handed over, by name, all in one folder.
type folder map[string][]byte

func (f folder) Open(name string) (fs.File, error) {
	data, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &held{bytes.NewReader(data), name, int64(len(data))}, nil
}

// ReadDir lists them all.
func (f folder) ReadDir(string) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(f)) {
		out = append(out, fs.FileInfoToDirEntry(&held{name: name, size: int64(len(f[name]))}))
	}
	return out, nil
}

// held is one of them, open.
type held struct {
	*bytes.Reader
	name string
	size int64
}

func (h *held) Stat() (fs.FileInfo, error) { return h, nil }
func (h *held) Close() error               { return nil }
func (h *held) Name() string               { return h.name }
func (h *held) Size() int64                { return h.size }
func (h *held) Mode() fs.FileMode          { return 0o444 }
func (h *held) ModTime() time.Time         { return time.Time{} }
func (h *held) IsDir() bool                { return false }
func (h *held) Sys() any                   { return nil }
