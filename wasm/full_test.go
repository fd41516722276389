package wasm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/checkpoint"
	"rowproof/internal/render/halves"
)

// config hands over a file and gives what the module makes of it.
func (m *module) config(file []byte) string {
	m.t.Helper()
	at := m.call("file", uint64(len(file)))
	if at == 0 {
		m.t.Fatalf("the module takes no file of %d bytes", len(file))
	}
	if !m.api.Memory().Write(uint32(at), file) {
		m.t.Fatalf("a file of %d bytes at %d lies outside the memory", len(file), at)
	}
	return m.text(m.call("config"))
}

// natively is the same answer by the same code, compiled for this machine.
func natively(t *testing.T, file []byte) string {
	t.Helper()
	type problem struct {
		Where string `json:"where"`
		Text  string `json:"text"`
	}
	answer := struct {
		Model    *halves.Model `json:"model"`
		Problems []problem     `json:"problems"`
	}{Problems: []problem{}}
	model, problems := checkpoint.Config(file, "")
	for _, p := range problems {
		answer.Problems = append(answer.Problems, problem{p.Where, p.Text})
	}
	if len(problems) == 0 {
		m := halves.NewModel(model)
		answer.Model = &m
	}
	b, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A reader's config.json makes the same model in the page as in measure, to the last
// digit, and the same complaints where it makes none.
func TestFullReadsAsNative(t *testing.T) {
	m := instance(t, "full")
	files, err := filepath.Glob("../internal/checkpoint/testdata/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, want := m.config(file), natively(t, file)
		if got != want {
			t.Errorf("%s: full   %s\nnative %s", path, got, want)
		}
		if strings.HasPrefix(got, `{"model":{`) {
			read++
		}
		for _, broken := range [][]byte{file[:len(file)/2], []byte(strings.Replace(string(file), `"model_type"`, `"model_typo"`, 1))} {
			if got, want := m.config(broken), natively(t, broken); got != want {
				t.Errorf("%s, broken: full   %s\nnative %s", path, got, want)
			}
		}
	}
	if read < 20 {
		t.Errorf("%d files of %d were read as models; the field has at least 20", read, len(files))
	}
	for _, nothing := range []string{"", "null", "[]", "{}", "\x00\xff", `{"model_type": 7}`} {
		if got, want := m.config([]byte(nothing)), natively(t, []byte(nothing)); got != want || !strings.Contains(got, `"text"`) {
			t.Errorf("%q: full   %s\nnative %s", nothing, got, want)
		}
	}
	if at := m.call("file", 64<<20+1); at != 0 {
		t.Errorf("a file above 64 MiB is taken, at %d", at)
	}
}

// full.d.ts names each export, and no other.
func TestFullContract(t *testing.T) { holdContract(t, instance(t, "full")) }
