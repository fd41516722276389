package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/render/format"
	"rowproof/internal/rowfile"
	"rowproof/internal/tradeoff"
)

// world is everything that pages are made from.
type world struct {
	catalog  *catalog.Catalog
	articles map[string]*article
	rows     []*measured // by file, then place in it
	byID     map[string]*measured
	gaps     []tradeoff.Gap
}

// articles are the Markdown pages, by name and address.
var articles = []string{"before-you-launch", "methodology", "roofs", "other-tools", "glossary"}

// load reads everything but the rows and notes every problem.
func (s *site) load() *world {
	w := &world{articles: map[string]*article{}, byID: map[string]*measured{}}
	data, err := fs.Sub(s.fsys, "data")
	if err != nil {
		s.refuse(err)
		return w
	}
	c, problems := catalog.Load(data)
	for _, p := range problems {
		s.reasons = append(s.reasons, p.String())
	}
	w.catalog = c
	s.strategies = c.Strategies
	// Rows bring in what they were measured against; this stays the catalogue's own.
	s.today = &catalog.Catalog{Models: maps.Clone(c.Models), Targets: maps.Clone(c.Targets), Recipes: maps.Clone(c.Recipes)}
	for _, name := range articles {
		a, err := readArticle(s.fsys, name, s.opts.Base)
		if err != nil {
			s.refuse(err)
			continue
		}
		w.articles[name] = a
	}
	return w
}

// withdrawals reads which rows are out of every ranking, for good.
func (s *site) withdrawals() map[string]*withdrawal {
	data, err := fs.Sub(s.fsys, "data")
	if err != nil {
		s.refuse(err)
		return nil
	}
	list, problems := catalog.Withdrawn(data)
	for _, p := range problems {
		s.reasons = append(s.reasons, p.String())
	}
	out := map[string]*withdrawal{}
	for id, w := range list {
		out[id] = &withdrawal{w.Date, w.Reason}
	}
	return out
}

// readRows goes through data/rows one report at a time: it judges each row, refuses
// what does not belong, and has each row's page written while its samples are in
// memory.
func (s *site) readRows(ctx context.Context, w *world) error {
	withdrawn := s.withdrawals()
	seen := map[string]string{} // row id → file
	corpus := gate.NewCorpus()
	var files []string
	err := fs.WalkDir(s.fsys, "data/rows", func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == "data/rows" {
			return fs.SkipAll
		}
		if err == nil {
			if odd := rowfile.Plain(p, d); odd != nil {
				s.refuse(odd)
				return nil
			}
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".json") {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	// Each row is judged beside all others, so their figures come first; prompts are in
	// the samples, and are held against the rows that were read before.
	for _, file := range files {
		s.learn(file, corpus, withdrawn)
	}
	// The next report is read while one is judged; no more than two are in memory.
	loaded := make(chan *loadedReport)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(loaded)
		for _, file := range files {
			select {
			case loaded <- s.loadReport(file):
			case <-reading.Done():
				return
			}
		}
	}()
	for l := range loaded {
		if err := s.readReport(l, w, seen, withdrawn, corpus); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(withdrawn)) {
		if _, ok := seen[id]; !ok {
			s.refuse(fmt.Errorf("data/withdrawn.yaml:1:1: no row has the id %s", id))
		}
	}
	return nil
}

// learn adds a report's rows to the corpus, without their samples. What is wrong with the
// file is told when it is read whole.
func (s *site) learn(file string, corpus *gate.Corpus, withdrawn map[string]*withdrawal) {
	data, err := rowfile.ReadFile(s.fsys, file, rowfile.LargestReport)
	if err != nil {
		return
	}
	r, _, err := rowfile.Decode(data)
	if err != nil {
		return
	}
	for i := range r.Rows {
		if withdrawn[r.Rows[i].ID] == nil {
			corpus.Add(r, &r.Rows[i], nil)
		}
	}
}

// loadedReport is a report as its file holds it.
type loadedReport struct {
	file   string
	source []byte
	bundle *rowfile.Bundle
	err    error // the report cannot be read at all
}

func (s *site) loadReport(file string) *loadedReport {
	l := &loadedReport{file: file}
	if l.source, l.err = rowfile.ReadFile(s.fsys, file, rowfile.LargestReport); l.err == nil {
		l.bundle, l.err = rowfile.LoadFS(s.fsys, file)
	}
	return l
}

// readReport refuses what does not belong, judges the rows side by side and has each
// one's page written.
func (s *site) readReport(l *loadedReport, w *world, seen map[string]string, withdrawn map[string]*withdrawal, corpus *gate.Corpus) error {
	file, b := l.file, l.bundle
	if l.err != nil {
		s.refuse(fmt.Errorf("%s:1:1: %w", file, unprefixed(l.err, file)))
		return nil
	}
	b.Now = s.opts.Now
	key, ok := parseKey(strings.TrimPrefix(path.Dir(file), "data/rows/"))
	if !ok {
		s.refuse(fmt.Errorf("%s:1:1: a report lies in data/rows/MODEL/TARGET/STRATEGY/ENGINE/", file))
		return nil
	}
	simulated := b.Simulated()
	if simulated && !s.opts.Demo {
		s.refuse(fmt.Errorf("%s:1:1: its rows are of the embedded engine and measure nothing; they are shown with --demo alone", file))
		return nil
	}
	if r := b.Report.Recipe; r != key.String() && !(simulated && r == "") {
		s.refuse(fmt.Errorf("%s:1:1: its recipe is %q, which belongs in another folder than this, of %q", file, r, key))
	}
	for i := range b.Rows {
		corpus.AddSamples(b.Rows[i].Row.ID, b.Rows[i].Samples)
	}
	recipe, model, target := s.today.Today(key.String())
	b.Today = rowfile.Today(b.Report.AsItWas, recipe, model, target)
	places := rowPlaces(l.source)
	results := make([][]gate.Result, len(b.Rows))
	parallel(len(b.Rows), func(i int) { results[i] = gate.Judge(b.Input(i, corpus)) })
	copied := map[string]bool{}
	var pages []func() error
	for i := range b.Rows {
		d := &b.Rows[i]
		m := &measured{Row: d.Row, Report: b.Report, Key: key, File: file, Index: i, Gates: results[i], Verdict: gate.VerdictOf(d.Row, results[i]), Withdrawn: withdrawn[d.Row.ID]}
		m.Listed = m.Verdict == gate.Verified || simulated
		if b.Report.AsItWas != nil {
			m.Model, m.Target = &b.Report.AsItWas.Model, &b.Report.AsItWas.Target
		}
		at := file + ":" + places.row(i)
		if d.ComputedID != d.Row.ID {
			s.refuse(fmt.Errorf("%s: the row says that its id is %q, and what it holds has the id %q", at, d.Row.ID, d.ComputedID))
		}
		if first, twice := seen[d.Row.ID]; twice {
			s.refuse(fmt.Errorf("%s: the row %s stands in %s already", at, d.Row.ID, first))
			continue
		}
		seen[d.Row.ID] = file
		if !simulated {
			for _, g := range gate.Blocking(results[i]) {
				// A withdrawn row may fail what it was withdrawn for, and still says what was
				// measured.
				if m.Verdict == gate.Imported {
					continue // nothing speaks against it; what cannot be judged is shown
				}
				if m.Withdrawn == nil || g.Gate == "schema" || g.Gate == "recompute" {
					s.refuse(fmt.Errorf("%s: row %s: gate %s: %s: %s", at, d.Row.ID, g.Gate, g.Answer, closed(g.Reason)+mend(g)))
				}
			}
		}
		w.rows = append(w.rows, m)
		w.byID[m.ID] = m
		w.adopt(m)
		if len(s.reasons) > 0 {
			continue
		}
		samples := ""
		if d.NoSamples == "" {
			samples = d.Row.Samples.File
		}
		downloads, err := s.copyProof(file, l.source, samples, copied)
		if err != nil {
			return err
		}
		pages = append(pages, func() error { return s.writeRow(m, d.Samples, d.Evidence, downloads) })
	}
	errs := make([]error, len(pages))
	parallel(len(pages), func(i int) { errs[i] = pages[i]() })
	return errors.Join(errs...)
}

// parallel calls f for each of 0 … n−1, as many at once as there are processors.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wait.Wait()
}

// copyProof puts the report and what lies beside it into the site, each once, under the
// path that it has in the repository.
func (s *site) copyProof(file string, report []byte, samples string, copied map[string]bool) ([]download, error) {
	var out []download
	add := func(name, path string, data []byte) error {
		out = append(out, download{name, path, format.Bytes(float64(len(data))), rowfile.SHA256(data), int64(len(data))})
		if copied[path] {
			return nil
		}
		copied[path] = true
		return s.out.write(path, data)
	}
	if err := add(reportDownload, file, report); err != nil {
		return nil, err
	}
	for _, beside := range []struct{ name, path string }{
		{samplesDownload, path.Join(path.Dir(file), samples)},
		{evidenceDownload, rowfile.EvidenceFile(file)},
	} {
		if beside.path == path.Dir(file) {
			continue // no samples that can be read
		}
		data, err := rowfile.ReadFile(s.fsys, beside.path, rowfile.LargestPacked)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if err := add(beside.name, beside.path, data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unprefixed drops a path that the caller is about to say itself.
func unprefixed(err error, file string) error {
	return errors.New(strings.TrimPrefix(err.Error(), file+": "))
}

// places are line and column of each row in a report's text.
type places []string

func (p places) row(i int) string {
	if i < len(p) {
		return p[i]
	}
	return "1:1"
}

// rowPlaces finds where each entry of "rows" begins.
func rowPlaces(source []byte) places {
	var out places
	d := json.NewDecoder(bytes.NewReader(source))
	depth, key := 0, "" // key of the report's own object whose value is being read
	for {
		t, err := d.Token()
		if err != nil {
			return out
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if key == "rows" && depth == 2 {
				out = append(out, place(source, int(d.InputOffset())-1))
			}
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			if name, ok := t.(string); ok && depth == 1 && key == "" {
				key = name
				continue
			}
		}
		if depth == 1 {
			key = "" // its value has ended
		}
	}
}

func place(source []byte, offset int) string {
	before := source[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("%d:%d", line, offset-bytes.LastIndexByte(before, '\n'))
}

// newest is the day of the newest row.
func newest(rows []*measured) string {
	if len(rows) == 0 {
		return ""
	}
	return format.Date(slices.MaxFunc(rows, func(a, b *measured) int {
		return cmp.Compare(a.Report.MeasuredAt, b.Report.MeasuredAt)
	}).Report.MeasuredAt)
}
