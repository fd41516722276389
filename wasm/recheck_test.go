package wasm

import (
	"encoding/json"
	"flag"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"testing"
	"time"

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
