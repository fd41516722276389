package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/render/kept"
	"rowproof/internal/rowtest"
)

// kit is a site that is built again and again with what earlier builds kept.
type kit struct {
	t         *testing.T
	root, out string
	now       string
}

func newKit(t *testing.T) *kit {
	dir := t.TempDir()
	k := &kit{t: t, root: newRootIn(t, filepath.Join(dir, "root")), out: filepath.Join(dir, "out"), now: now}
	addReport(t, k.root, 1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}})
	o := another()
	o.Cells = []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}, {ISL: 128, OSL: 32, Concurrency: 8}}
	addReport(t, k.root, 2, o)
	return k
}

func (k *kit) cache() string { return filepath.Join(k.root, ".cache", "gen") }

func (k *kit) build() (*Result, error) {
	return Build(context.Background(), Options{Root: k.root, Out: k.out, Base: "/rowproof/", Now: k.now, Cache: k.cache()})
}

// check builds with the cache and without, and holds one to the other: the same refusal,
// or the same files with the same bytes.
func (k *kit) check(after string) *Result {
	k.t.Helper()
	fresh := filepath.Join(k.t.TempDir(), "fresh")
	_, want := Build(context.Background(), Options{Root: k.root, Out: fresh, Base: "/rowproof/", Now: k.now})
	r, err := k.build()
	if fmt.Sprint(err) != fmt.Sprint(want) {
		k.t.Fatalf("%s: with the cache: %v\nwithout: %v", after, err, want)
	}
	if want != nil {
		return nil
	}
	sameTrees(k.t, after, tree(k.t, k.out), tree(k.t, fresh))
	return r
}

func sameTrees(t *testing.T, after string, got, want map[string][]byte) {
	t.Helper()
	for name, data := range want {
		if have, ok := got[name]; !ok {
			t.Errorf("%s: %s is missing", after, name)
		} else if !bytes.Equal(have, data) {
			t.Errorf("%s: %s differs", after, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is left over", after, name)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func (k *kit) edit(name, old, new string) {
	k.t.Helper()
	text := read(k.t, k.root, name)
	if !strings.Contains(text, old) {
		k.t.Fatalf("%s lacks %q", name, old)
	}
	write(k.t, k.root, name, strings.Replace(text, old, new, 1))
}

// files lists the files below a folder, in order.
func (k *kit) files(dir string) []string {
	k.t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, name)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		k.t.Fatal(dir, "holds nothing", err)
	}
	return all
}

// However rows, templates, words and the site itself are changed between builds, and
// whatever becomes of what they kept, the site is the one that a first build makes.
func TestTheCacheNeverMakesAnotherSite(t *testing.T) {
	k := newKit(t)
	random := rand.New(rand.NewPCG(7, 7))
	pick := func(files []string) string { return files[random.IntN(len(files))] }
	k.check("the first build")
	first := k.files(filepath.Join(k.root, "data", "rows"))
	edits := []struct {
		name string
		do   func()
	}{
		{"a row at a lower concurrency of the same recipe", func() {
			addReport(t, k.root, 3, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}, MeasuredAt: "2026-11-28T12:00:00Z"})
		}},
		{"a withdrawn row", func() {
			id := filepath.Base(pick(mustGlob(t, filepath.Join(k.out, "r", "*"))))
			write(t, k.root, "data/withdrawn.yaml", "- {id: \""+id+"\", date: \"2026-11-30\", reason: tried}\n")
		}},
		{"another reason", func() { k.edit("data/withdrawn.yaml", "tried", "tried again") }},
		{"a row's template", func() { k.edit("site/row/row.tmpl", "Gaps between tokens", "Gaps between the tokens") }},
		{"the home page's template", func() { k.edit("site/home/home.tmpl", "<h1", "<h1 data-edited=\"yes\"") }},
		{"words", func() { k.edit("content/methodology.md", "\n\n", "\n\nAnother paragraph.\n\n") }},
		{"a style", func() { k.edit("site/base/base.css", "body", "body.nothing{color:inherit}\nbody") }},
		{"a script", func() {
			write(t, k.root, "site/js/site.ts", read(t, k.root, "site/js/site.ts")+"\nconsole.debug(1);\n")
		}},
		{"the name of a strategy", func() { k.edit("data/strategies/latency.yaml", "Latency", "Lowest latency") }},
		{"the name of a model", func() { k.edit("data/models/llama-3.1-8b.yaml", "Llama 3.1 8B", "Llama 3.1 8 B") }},
		{"a page of the site altered without its size", func() {
			name := pick(mustGlob(t, filepath.Join(k.out, "r", "*", "index.html")))
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		{"a page of the site altered behind its times", func() {
			name := filepath.Join(k.out, "index.html")
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			data, _ := os.ReadFile(name)
			data[len(data)/2] ^= 1
			if err := errors.Join(os.WriteFile(name, data, 0o644), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file and a folder more in the site", func() {
			if err := errors.Join(os.WriteFile(filepath.Join(k.out, "data", "left.txt"), nil, 0o644), os.Mkdir(filepath.Join(k.out, "empty"), 0o755)); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file less in the site", func() {
			if err := os.Remove(pick(k.files(k.out)[1:])); err != nil { // not the marker of a site
				t.Fatal(err)
			}
		}},
		{"the day", func() { k.now = "2027-01-15T08:00:00Z" }},
		{"a row's samples gone", func() {
			for _, name := range first {
				if strings.HasSuffix(name, ".samples.jsonl.gz") {
					if err := os.Rename(name, name+".gone"); err != nil {
						t.Fatal(err)
					}
					return
				}
			}
		}},
		{"they are back", func() {
			for _, name := range k.files(filepath.Join(k.root, "data", "rows")) {
				if back, ok := strings.CutSuffix(name, ".gone"); ok {
					if err := os.Rename(name, back); err != nil {
						t.Fatal(err)
					}
				}
			}
		}},
		{"a report less", func() {
			if err := os.Remove(filepath.Join(k.root, "data/withdrawn.yaml")); err != nil {
				t.Fatal(err)
			}
			for _, name := range first {
				if strings.Contains(name, "throughput") {
					if err := os.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
			}
		}},
	}
	for _, e := range edits {
		e.do()
		k.check(e.name)
		if r, err := k.build(); err == nil && !r.Unchanged {
			t.Errorf("after %s, a build of the same input worked again", e.name)
		}
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatal(pattern, "matches nothing", err)
	}
	return all
}

// A cache that is cut short, altered or emptied in any file is as if it were not there.
func TestADamagedCacheIsNotBelieved(t *testing.T) {
	k := newKit(t)
	if _, err := k.build(); err != nil {
		t.Fatal(err)
	}
	want := tree(t, k.out)
	random := rand.New(rand.NewPCG(8, 8))
	for i, name := range k.files(filepath.Join(k.root, ".cache")) {
		whole, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // replaced by a build since
		} else if err != nil {
			t.Fatal(err)
		}
		data := bytes.Clone(whole)
		switch i % 3 {
		case 0:
			data = data[:random.IntN(len(data))]
		case 1:
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		case 2:
			data = nil
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		// Something else has changed too, so that the file is asked for.
		write(t, k.root, "content/extra.txt", name)
		if i%2 == 0 {
			if err := os.RemoveAll(k.out); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := k.build(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameTrees(t, name, tree(t, k.out), want)
	}
}

// Where nothing would be another, nothing is written: what serves or copies the site sees
// the files that it saw. Where one page is, the others stay.
func TestWhatIsTheSameIsNotWrittenAgain(t *testing.T) {
	k := newKit(t)
	times := func() map[string]time.Time {
		all := map[string]time.Time{}
		for _, name := range k.files(k.out) {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = info.ModTime()
		}
		return all
	}
	if _, err := k.build(); err != nil {
		t.Fatal(err)
	}
	before := times()
	write(t, k.root, "content/nothing.txt", "no page is made of this")
	if _, err := k.build(); err != nil {
		t.Fatal(err)
	}
	if after := times(); !reflect.DeepEqual(after, before) {
		t.Error("files were written again though none would be another")
	}
	k.edit("content/glossary.md", "\n\n", "\n\nAnother paragraph.\n\n")
	if _, err := k.build(); err != nil {
		t.Fatal(err)
	}
	var wrote []string
	for name, at := range times() {
		if rel, _ := filepath.Rel(k.out, name); !at.Equal(before[name]) {
			wrote = append(wrote, rel)
		}
	}
	if !slices.Equal(wrote, []string{"glossary/index.html"}) {
		t.Errorf("a changed word wrote %q", wrote)
	}
}

// A changed input of which the times were set back is still seen.
func TestAnOldTimeDoesNotHideAChange(t *testing.T) {
	k := newKit(t)
	if _, err := k.build(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(k.root, "content/glossary.md")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, name)
	at := strings.LastIndex(text, "e")
	if err := errors.Join(os.WriteFile(name, []byte(text[:at]+"a"+text[at+1:]), 0o644), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	k.check("a letter changed behind its time")
}

// What is kept of the gates' answers reads back whole.
func TestKeptAnswersReadBack(t *testing.T) {
	var want gate.Result
	fill(reflect.ValueOf(&want).Elem())
	file := filepath.Join(t.TempDir(), "x")
	if err := kept.Write(file, &reportKept{Results: [][]gate.Result{{want}}}); err != nil {
		t.Fatal(err)
	}
	var got reportKept
	if !kept.Read(file, &got) || !reflect.DeepEqual(got.Results, [][]gate.Result{{want}}) {
		t.Errorf("kept %+v, read back %+v", want, got.Results)
	}
}

// fill puts something into every field, so that one which is not kept shows.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.String:
		v.SetString("“x”\xff")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Uint8:
		v.SetUint(3)
	case reflect.Int64, reflect.Int:
		v.SetInt(7)
	default:
		panic("no value for a " + v.Type().String())
	}
}
