package wasm

import (
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"rowproof/internal/harness/hostile"
	"rowproof/internal/recheck"
	"rowproof/internal/rowfile"
)

// put writes bytes where an export made room for them.
func (m *module) hand(export string, b []byte) {
	m.t.Helper()
	at := m.call(export, uint64(len(b)))
	if at == 0 || !m.api.Memory().Write(uint32(at), b) {
		m.t.Fatalf("%s makes no room for %d bytes", export, len(b))
	}
}

// check hands over a row's files and gives what the module makes of it.
func (m *module) check(files map[string][]byte, report string, i int, now time.Time) string {
	m.t.Helper()
	for name, data := range files {
		m.hand("name", []byte(name))
		m.hand("file", data)
		if _, err := m.api.ExportedFunction("keep").Call(m.ctx); err != nil {
			m.t.Fatal(err)
		}
	}
	m.hand("name", []byte(report))
	return m.text(m.call("check", uint64(i), math.Float64bits(float64(now.Unix()))))
}

// take hands over a reader's files and gives what the module makes of them.
func (m *module) take(files []handed, now time.Time) string {
	m.t.Helper()
	for _, f := range files {
		m.hand("name", []byte(f.name))
		m.hand("file", f.data)
		if _, err := m.api.ExportedFunction("keep").Call(m.ctx); err != nil {
			m.t.Fatal(err)
		}
	}
	return m.text(m.call("take", math.Float64bits(float64(now.Unix()))))
}

type handed struct {
	name string
	data []byte
}

// A reader's files come out in the page as they do natively, to the last digit and letter:
// every tool's real files, alone and with those beside them, and files that are meant to
// break a reader.
func TestFullTakesFilesAsNative(t *testing.T) {
	const real = "../internal/harness/testdata"
	m := instance(t, "full")
	now := time.Now()
	var all []handed
	folders := map[string][]handed{}
	err := filepath.WalkDir(real, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		f := handed{d.Name(), data}
		all = append(all, f)
		folders[filepath.Dir(name)] = append(folders[filepath.Dir(name)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("%d files under %s", len(all), real)
	}
	for _, f := range hostile.Files() {
		data, err := io.ReadAll(io.LimitReader(f.Open(), 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, handed{"hostile.json", data})
	}
	same := func(files []handed) (rows int) {
		t.Helper()
		folder := fstest.MapFS{}
		for _, f := range files {
			folder[f.name] = &fstest.MapFile{Data: f.data}
		}
		taken := recheck.Take(folder, now.UTC().Format(time.RFC3339))
		want, err := json.Marshal(taken)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.take(files, now); got != string(want) {
			t.Errorf("%s: the page says\n%.2000s\nand natively it is\n%.2000s", files[0].name, got, want)
		}
		return len(taken.Rows)
	}
	rows := 0
	for _, f := range all {
		rows += same([]handed{f})
	}
	for _, files := range folders {
		rows += same(files)
	}
	if rows < 30 {
		t.Errorf("%d rows were taken", rows)
	}
}

var every = flag.Bool("every", false, "check every published row, not the smallest of each report: two minutes")

// A published row comes out in the page as it does natively, to the last digit and
// letter, and verified; and with a changed byte of its samples it does not.
func TestFullChecksRowsAsNative(t *testing.T) {
	m := instance(t, "full")
	now := time.Now()
	root := os.DirFS("../data")
	rows := 0
	err := fs.WalkDir(root, "rows", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".json") {
			return err
		}
		dir, err := fs.Sub(root, path.Dir(name))
		if err != nil {
			return err
		}
		report := path.Base(name)
		read := func(name string) []byte {
			b, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		text := read(report)
		r, _, err := rowfile.Decode(text)
		if err != nil {
			return err
		}
		smallest, least := 0, math.MaxInt
		for i := range r.Rows {
			if n := len(read(r.Rows[i].Samples.File)); n < least {
				smallest, least = i, n
			}
		}
		for i := range r.Rows {
			if i != smallest && !*every {
				continue
			}
			native, err := recheck.One(dir, report, i, now.UTC().Format(time.RFC3339))
			if err != nil {
				return err
			}
			want, err := json.Marshal(struct {
				Row   *recheck.Row `json:"row"`
				Error string       `json:"error"`
			}{Row: native})
			if err != nil {
				return err
			}
			samples := r.Rows[i].Samples.File
			files := map[string][]byte{report: text, samples: read(samples), rowfile.EvidenceFile(report): read(rowfile.EvidenceFile(report))}
			if got := m.check(files, report, i, now); got != string(want) {
				t.Errorf("%s, row %d: the page says\n%.2000s\nand natively it is\n%.2000s", name, i, got, want)
			}
			if native.Verdict != "verified" {
				t.Errorf("%s, row %d is %s", name, i, native.Verdict)
			}
			if rows++; rows > 1 {
				continue
			}
			spoilt := append([]byte{}, files[samples]...)
			spoilt[len(spoilt)/2] ^= 1
			files[samples] = spoilt
			var answer struct{ Row *recheck.Row }
			if err := json.Unmarshal([]byte(m.check(files, report, i, now)), &answer); err != nil || answer.Row == nil || answer.Row.Verdict != "unverified" {
				t.Errorf("spoilt samples: %+v, %v", answer.Row, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows < 10 {
		t.Errorf("%d rows were checked", rows)
	}
	var none struct {
		Row   *recheck.Row
		Error string
	}
	if err := json.Unmarshal([]byte(m.check(map[string][]byte{"r.json": []byte(`{"schema"`)}, "r.json", 0, now)), &none); err != nil || none.Row != nil || none.Error == "" {
		t.Errorf("half a report: %+v, %v", none, err)
	}
}
