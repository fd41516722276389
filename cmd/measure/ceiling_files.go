package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/checkpoint"
	"rowproof/internal/roofline"
)

// mostText is how long a file of text may be that is read whole: a config.json, an index,
// a device file.
const mostText = 64 << 20

// readText reads a short file whole; why says what is wrong with it.
func readText(name string) (data []byte, why string) {
	switch info, err := os.Stat(name); {
	case err != nil:
		return nil, whyNot(err)
	case info.IsDir():
		return nil, "is a folder"
	case !info.Mode().IsRegular(): // opening a pipe would wait for its writer, and a device has no end
		return nil, "is no regular file, but a pipe, a socket or a device"
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, whyNot(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, mostText+1))
	switch {
	case err != nil:
		return nil, whyNot(err)
	case len(data) > mostText:
		return nil, fmt.Sprintf("is longer than %d MB", mostText>>20)
	}
	return data, ""
}

// whyNot says in words why a file cannot be read.
func whyNot(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read by this user"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return "cannot be read: " + err.Error()
}

// readConfig reads --config. Problems about bytes alone are left out where a file of
// weights answers them.
func readConfig(name string) (*roofline.Model, []checkpoint.Problem, string) {
	data, why := readText(name)
	if why == "is a folder" {
		why += "; want the config.json in it"
	}
	if why != "" {
		return nil, nil, why
	}
	called := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	if folder, err := filepath.Abs(filepath.Dir(name)); err == nil && called == "config" {
		called = filepath.Base(folder)
	}
	var beside [][]byte
	if quant, why := readText(filepath.Join(filepath.Dir(name), "hf_quant_config.json")); why == "" {
		beside = append(beside, quant)
	}
	m, problems := checkpoint.Config(data, called, beside...)
	if slices.ContainsFunc(problems, func(p checkpoint.Problem) bool { return !p.Bytes }) {
		m = nil // what is wrong with it has been said; nothing is asked of the rest
	}
	return m, problems, ""
}

// weightFiles are the files of one checkpoint, open.
type weightFiles struct {
	files  []checkpoint.File
	gguf   bool
	config string // the config.json beside them, "" where there is none
	index  *checkpoint.Index
}

func (w *weightFiles) close() {
	for _, f := range w.files {
		f.ReaderAt.(*os.File).Close()
	}
}

// openWeights finds the files that --weights names: one file, the shards of an index, the
// parts of a split GGUF, or the checkpoint in a folder.
func openWeights(name string) (w weightFiles, why string) {
	info, err := os.Stat(name)
	if err != nil {
		return w, whyNot(err)
	}
	folder, names := filepath.Dir(name), []string{name}
	switch {
	case info.IsDir():
		folder = name
		if names, w.index, why = checkpointIn(name); why != "" {
			return w, why
		}
	case strings.HasSuffix(name, ".index.json"):
		if names, w.index, why = shardsOf(name); why != "" {
			return w, why
		}
	}
	if config := filepath.Join(folder, "config.json"); isFile(config) {
		w.config = config
	}
	if len(names) == 1 {
		if names, why = partsOf(names[0]); why != "" {
			return w, why
		}
	}
	var faults []string
	for _, n := range names {
		info, err := os.Stat(n)
		if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
			err = errors.New("it is no regular file")
		}
		var f *os.File
		if err == nil {
			f, err = os.Open(n)
		}
		if err != nil {
			if why = whyNot(err); n != name {
				why = n + ": " + why
			}
			faults = append(faults, why)
			continue
		}
		w.files = append(w.files, checkpoint.File{Name: n, Size: info.Size(), ReaderAt: f})
	}
	if len(faults) > 0 { // nothing is asked of the others
		w.close()
		w.files = nil
		if more := len(faults) - 3; more > 0 {
			faults = append(faults[:3], fmt.Sprintf("and %d more", more))
		}
		return w, strings.Join(faults, "; ")
	}
	var magic [4]byte
	n, _ := w.files[0].ReadAt(magic[:], 0)
	w.gguf = string(magic[:n]) == "GGUF" || n < len(magic) && strings.EqualFold(filepath.Ext(w.files[0].Name), ".gguf")
	return w, ""
}

// checkpointIn are the weight files of a folder.
func checkpointIn(folder string) (names []string, x *checkpoint.Index, why string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, whyNot(err)
	}
	var index, shards, ggufs []string
	for _, e := range entries {
		switch n := e.Name(); {
		case strings.HasSuffix(n, ".safetensors.index.json"):
			index = append(index, filepath.Join(folder, n))
		case strings.HasSuffix(n, ".safetensors"):
			shards = append(shards, filepath.Join(folder, n))
		case strings.HasSuffix(n, ".gguf") && !laterPart(n):
			ggufs = append(ggufs, filepath.Join(folder, n))
		}
	}
	switch {
	case len(index) == 1:
		return shardsOf(index[0])
	case len(index) > 1:
		return nil, nil, "holds " + countOf(len(index), "index") + ", of several checkpoints: want one of " + strings.Join(index, ", ")
	case len(shards) > 0:
		return shards, nil, ""
	case len(ggufs) == 1:
		return ggufs, nil, ""
	case len(ggufs) > 1:
		return nil, nil, "holds " + countOf(len(ggufs), "GGUF") + "s: want one of " + strings.Join(ggufs, ", ")
	}
	return nil, nil, "holds no .safetensors and no .gguf file"
}

// shardsOf are the files that an index names, which lie beside it.
func shardsOf(index string) (names []string, x *checkpoint.Index, why string) {
	data, why := readText(index)
	if why != "" {
		return nil, nil, why
	}
	x, problems := checkpoint.ReadIndex(data)
	if len(problems) > 0 {
		return nil, nil, index + ": " + problems[0].String()
	}
	for _, n := range x.Files {
		names = append(names, filepath.Join(filepath.Dir(index), n))
	}
	return names, x, ""
}

// part is the end of the name of one part of a split GGUF.
var part = regexp.MustCompile(`-([0-9]{5})-of-([0-9]{5})\.gguf$`)

func laterPart(name string) bool {
	p := part.FindStringSubmatch(name)
	return p != nil && p[1] != "00001"
}

// partsOf are all parts of a GGUF that was split, of which one is named; else the file.
func partsOf(name string) (names []string, why string) {
	p := part.FindStringSubmatch(name)
	if p == nil {
		return []string{name}, ""
	}
	n, err := strconv.Atoi(p[2])
	if err != nil || n < 1 || n > 10_000 {
		return []string{name}, ""
	}
	for i := range n {
		one := fmt.Sprintf("%s-%05d-of-%s.gguf", strings.TrimSuffix(name, p[0]), i+1, p[2])
		if !isFile(one) {
			return nil, "is one of " + p[2] + " parts, and " + one + " is not there"
		}
		names = append(names, one)
	}
	return names, ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// readWeights reads the headers of the files.
func (w *weightFiles) readWeights() (*checkpoint.Header, []checkpoint.Problem) {
	if w.gguf {
		return checkpoint.GGUF("", w.files...)
	}
	if w.index != nil {
		return w.index.Safetensors(w.files...)
	}
	return checkpoint.Safetensors(w.files...)
}

// isDeviceFile says whether --target names a file rather than a device.
func isDeviceFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml" || strings.ContainsRune(name, filepath.Separator)
}

// readDevice reads a device file of the user's own.
func readDevice(name string) (*roofline.Target, []string) {
	data, why := readText(name)
	if why != "" {
		return nil, []string{"--target " + name + ": " + why + "; want a device file, in the form of data/targets, or the name of a device"}
	}
	t, problems := catalog.TargetFile(name, data)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return t, lines
}
