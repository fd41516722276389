package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func safetensors(header string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
}

// gguf is a header with a text, a number, an array of texts and one tensor.
func gguf(name string) []byte {
	b := []byte("GGUF")
	le := binary.LittleEndian
	text := func(s string) {
		b = le.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = le.AppendUint32(b, 3)
	b = le.AppendUint64(b, 1) // tensors
	b = le.AppendUint64(b, 3) // pairs
	text("general.name")
	b = le.AppendUint32(b, 8)
	text(name)
	text("general.file_type")
	b = le.AppendUint32(b, 4)
	b = le.AppendUint32(b, 15)
	text("tokenizer.ggml.tokens")
	b = le.AppendUint32(b, 9)
	b = le.AppendUint32(b, 8)
	b = le.AppendUint64(b, 2)
	text("a")
	text("bc")
	text("blk.0.attn_q.weight")
	b = le.AppendUint32(b, 2)
	b = le.AppendUint64(b, 64)
	b = le.AppendUint64(b, 64)
	b = le.AppendUint32(b, 12)
	return le.AppendUint64(b, 0)
}

func shaOf(parts ...[]byte) string {
	sum := sha256.Sum256(bytes.Join(parts, nil))
	return hex.EncodeToString(sum[:])
}

// The headers alone tell the weights apart: what follows them is not read.
func TestHeadersOfWeights(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Join(parts, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := safetensors(`{"a":{"dtype":"BF16"}}`), safetensors(`{"b":{"dtype":"F8_E4M3"}}`)
	data := bytes.Repeat([]byte{7}, 4096)
	write("st/model-00002-of-00002.safetensors", two, data)
	write("st/model-00001-of-00002.safetensors", one, data)
	write("st/config.json", []byte("{}"))
	write("st/old.gguf", gguf("x"))
	single := write("x.gguf", gguf("x"), data)
	split := write("y-00001-of-00002.gguf", gguf("y1"), data)
	write("y-00002-of-00002.gguf", gguf("y2"), data)
	write("z-00001-of-00002.gguf", gguf("z"), data)
	for path, want := range map[string][]string{
		filepath.Join(dir, "st"): {shaOf(one, two), "2"},
		single:                   {shaOf(gguf("x")), "1"},
		split:                    {shaOf(gguf("y1"), gguf("y2")), "2"},
	} {
		sum, files, err := headersOf(path)
		if err != nil || sum != want[0] || files != int64(want[1][0]-'0') {
			t.Errorf("%s: %s of %d files, %v; want %s of %s", path, sum, files, err, want[0], want[1])
		}
	}

	long := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	array := gguf("x")
	at := bytes.Index(array, []byte("tokens")) + len("tokens") + 4 + 4
	binary.LittleEndian.PutUint64(array[at:], 1<<62)
	binary.LittleEndian.PutUint32(array[at-4:], 12)
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty":       {nil, "too short"},
		"cut":         {one[:12], "ends inside its header"},
		"cut.gguf":    {gguf("x")[:40], "ends inside its header"},
		"text":        {[]byte("version https://git-lfs.example/spec/v1\n"), "neither safetensors nor GGUF"},
		"long":        {append(long, '{'), "longer than"},
		"long.gguf":   {array, "longer than"},
		"future.gguf": {append([]byte("GGUF\x63\x00\x00\x00"), data...), "GGUF version 99"},
	} {
		if _, _, err := headersOf(write(name, c.data)); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, _, err := headersOf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no *.safetensors and no *.gguf") {
		t.Error(err)
	}
}
