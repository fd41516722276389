package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
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
	"rowproof/internal/render/kept"
	"rowproof/internal/row"
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
	known := map[string]*loadedReport{}
	inOrder(ctx, files, s.learn, func(l *loadedReport) {
		if l.report == nil {
			return // what is wrong with the file is told when it is read whole
		}
		for i := range l.report.Rows {
			if withdrawn[l.report.Rows[i].ID] == nil {
				corpus.Add(l.report, &l.report.Rows[i], nil)
			}
		}
		if l.record != "" {
			known[l.file] = l
		}
	})
	// The next reports are read while one is judged: one a processor, and no more.
	var failed error
	inOrder(ctx, files, func(file string) *loadedReport { return s.loadReport(file, known[file]) }, func(l *loadedReport) {
		if failed == nil {
			failed = s.readReport(l, w, seen, withdrawn, corpus)
		}
	})
	if failed != nil {
		return failed
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

// inOrder gives what read makes of each file to use, in the files' order, one after
// another; as many are read ahead as there are processors.
func inOrder[T any](ctx context.Context, files []string, read func(string) T, use func(T)) {
	next := make(chan chan T, max(1, runtime.GOMAXPROCS(0)-1))
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(next)
		for _, file := range files {
			one := make(chan T, 1)
			select {
			case next <- one:
				go func() { one <- read(file) }()
			case <-reading.Done():
				return
			}
		}
	}()
	for one := range next {
		use(<-one)
	}
}

// loadedReport is a report as its files hold it.
type loadedReport struct {
	file   string
	record string      // of what is kept of it; "" where nothing is
	report *row.Report // without samples
	kept   *reportKept
	bundle *rowfile.Bundle // nil where what is kept may do
	err    error           // the report cannot be read at all
}

// learn reads a report's rows without their samples. The report is held in memory only
// where they may not have to be read at all.
func (s *site) learn(file string) *loadedReport {
	l := &loadedReport{file: file}
	data, err := rowfile.ReadFile(s.fsys, file, rowfile.LargestReport)
	if err != nil {
		return l
	}
	if l.report, _, err = rowfile.Decode(data); err != nil {
		l.report = nil
		return l
	}
	if s.cache != nil {
		if name := s.cache.record(file, l.report); s.cache.has(name) {
			l.record = name
		}
	}
	return l
}

// loadReport reads a report with the files beside it, or what is kept of it.
func (s *site) loadReport(file string, known *loadedReport) *loadedReport {
	if known != nil {
		last := &reportKept{}
		if kept.Read(s.cache.file(known.record), last) && len(last.Rows) == len(known.report.Rows) {
			known.kept = last
			return known
		}
	}
	l := &loadedReport{file: file}
	s.readBundle(l)
	return l
}

// readBundle reads a report whole, where it was not yet.
func (s *site) readBundle(l *loadedReport) {
	if l.bundle != nil || l.err != nil {
		return
	}
	if l.bundle, l.err = rowfile.LoadFS(s.fsys, l.file); l.err != nil {
		return
	}
	l.report = l.bundle.Report
	if s.cache != nil {
		l.record = s.cache.record(l.file, l.report)
	}
}

// readReport refuses what does not belong, judges the rows side by side and has each
// one's page written.
func (s *site) readReport(l *loadedReport, w *world, seen map[string]string, withdrawn map[string]*withdrawal, corpus *gate.Corpus) error {
	file := l.file
	unreadable := func() error {
		s.refuse(fmt.Errorf("%s:1:1: %w", file, unprefixed(l.err, file)))
		return nil
	}
	if l.err != nil {
		return unreadable()
	}
	key, ok := parseKey(strings.TrimPrefix(path.Dir(file), "data/rows/"))
	if !ok {
		s.refuse(fmt.Errorf("%s:1:1: a report lies in data/rows/MODEL/TARGET/STRATEGY/ENGINE/", file))
		return nil
	}
	if l.kept == nil {
		l.kept = &reportKept{Simulated: l.bundle.Simulated(), Rows: keptRows(l.bundle)}
	}
	simulated := l.kept.Simulated
	if simulated && !s.opts.Demo {
		s.refuse(fmt.Errorf("%s:1:1: its rows are of the embedded engine and measure nothing; they are shown with --demo alone", file))
		return nil
	}
	if r := l.report.Recipe; r != key.String() && !(simulated && r == "") {
		s.refuse(fmt.Errorf("%s:1:1: its recipe is %q, which belongs in another folder than this, of %q", file, r, key))
	}
	for i := range l.kept.Rows {
		l.kept.Rows[i].join(corpus, l.report.Rows[i].ID)
	}
	judged, keepable := kept.Digest{}, false
	if s.cache != nil {
		judged, keepable = s.judgedBy(l.record, key, l.kept.Rows, l.report, corpus)
	}
	results, ok := l.kept.results(judged, s.opts.Now)
	if !ok || !keepable {
		if s.readBundle(l); l.err != nil {
			return unreadable()
		}
		b := l.bundle
		b.Now = s.opts.Now
		recipe, model, target := s.today.Today(key.String())
		b.Today = rowfile.Today(b.Report.AsItWas, recipe, model, target)
		results = make([][]gate.Result, len(b.Rows))
		parallel(len(b.Rows), func(i int) { results[i] = gate.Judge(b.Input(i, corpus)) })
		if keepable && s.cache.still(reportFiles(file, l.report)...) {
			l.kept.Judged, l.kept.Now, l.kept.Results = judged, s.opts.Now, results
			// Without it, the next build only judges again.
			_ = kept.Write(s.cache.file(l.record), l.kept)
		}
	}
	at := rowPlacer(s.fsys, file)
	var rows []*measured
	for i := range results {
		r := &l.report.Rows[i]
		m := &measured{Row: r, Report: l.report, Key: key, File: file, Index: i, Gates: results[i], Verdict: gate.VerdictOf(r, results[i]), Withdrawn: withdrawn[r.ID]}
		m.Listed = m.Verdict == gate.Verified || simulated
		if was := l.report.AsItWas; was != nil {
			m.Model, m.Target = &was.Model, &was.Target
		}
		if id := l.kept.Rows[i].ComputedID; id != r.ID {
			s.refuse(fmt.Errorf("%s: the row says that its id is %q, and what it holds has the id %q", at(i), r.ID, id))
		}
		if first, twice := seen[r.ID]; twice {
			s.refuse(fmt.Errorf("%s: the row %s stands in %s already", at(i), r.ID, first))
			continue
		}
		seen[r.ID] = file
		if !simulated {
			for _, g := range gate.Blocking(results[i]) {
				// A withdrawn row may fail what it was withdrawn for, and still says what was
				// measured.
				if m.Verdict == gate.Imported {
					continue // nothing speaks against it; what cannot be judged is shown
				}
				if m.Withdrawn == nil || g.Gate == "schema" || g.Gate == "recompute" {
					s.refuse(fmt.Errorf("%s: row %s: gate %s: %s: %s", at(i), r.ID, g.Gate, g.Answer, closed(g.Reason)+mend(g)))
				}
			}
		}
		w.rows = append(w.rows, m)
		w.byID[m.ID] = m
		w.adopt(m)
		rows = append(rows, m)
	}
	if len(s.reasons) > 0 {
		return nil
	}
	return s.writeRows(l, rows, judged)
}

// writeRows publishes the files of a report and has the pages of its rows written, or
// taken over from the last build where they would be the same.
func (s *site) writeRows(l *loadedReport, rows []*measured, judged kept.Digest) error {
	copied := map[string]bool{}
	var pages []func() error
	for _, m := range rows {
		samples := ""
		if !l.kept.Rows[m.Index].Unread {
			samples = m.Row.Samples.File
		}
		downloads, err := s.copyProof(l.file, samples, copied)
		if err != nil {
			return err
		}
		var of kept.Digest
		if s.cache != nil {
			of = kept.Of(s.rowPages, judged, m.Index, m.Withdrawn != nil)
			if m.Withdrawn != nil {
				of = kept.Of(of, m.Withdrawn.Date, m.Withdrawn.Reason)
			}
			if s.takePage(m.address(), of) {
				continue
			}
			if s.readBundle(l); l.err != nil {
				return l.err
			}
		}
		d := &l.bundle.Rows[m.Index]
		pages = append(pages, func() error { return s.writeRow(m, d.Samples, d.Evidence, downloads, of) })
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
func (s *site) copyProof(report, samples string, copied map[string]bool) ([]download, error) {
	var out []download
	for _, f := range []struct {
		name, path string
		largest    int64
	}{
		{reportDownload, report, rowfile.LargestReport},
		{samplesDownload, path.Join(path.Dir(report), samples), rowfile.LargestPacked},
		{evidenceDownload, rowfile.EvidenceFile(report), rowfile.LargestPacked},
	} {
		if f.path == path.Dir(report) {
			continue // no samples that can be read
		}
		of, known := s.cache.known(f.path)
		if known && (copied[f.path] || s.out.take(f.path, of.Sum)) {
			s.cache.puts(f.path, of.Sum, nil)
			copied[f.path] = true
			out = append(out, download{f.name, f.path, format.Bytes(float64(of.Stamp.Size)), hex.EncodeToString(of.Sum[:]), of.Stamp.Size})
			continue
		}
		data, err := rowfile.ReadFile(s.fsys, f.path, f.largest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		out = append(out, download{f.name, f.path, format.Bytes(float64(len(data))), rowfile.SHA256(data), int64(len(data))})
		if copied[f.path] {
			continue
		}
		copied[f.path] = true
		if err := s.out.write(f.path, data); err != nil {
			return nil, err
		}
		if known {
			s.cache.puts(f.path, of.Sum, nil)
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

// rowPlacer tells the file and place of a row for a complaint; most builds never ask.
func rowPlacer(fsys fs.FS, file string) func(i int) string {
	places := sync.OnceValue(func() places {
		source, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil
		}
		return rowPlaces(source)
	})
	return func(i int) string { return file + ":" + places().row(i) }
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
