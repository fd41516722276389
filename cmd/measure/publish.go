package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

const (
	publishWhat = `Put verified reports into data/rows, each with its samples and evidence, under names
that no other host writes. Nothing is written unless every row of every file is verified,
or imported from another tool with nothing that speaks against it, of a recipe in the
catalogue, and not there yet. Rows at a report's end that failed, as the
last one of an interrupted run does, measured nothing: they are left out, and named.
Published rows are never changed.`
	publishExample = "measure publish out/run.json"
)

// rowsDir is where published rows stand below the root.
const rowsDir = "data/rows"

func publish(_ context.Context, args []string, s streams) int {
	flags := newCollector("publish")
	root := flags.String("root", ".", "folder that holds data/")
	single := flags.Bool("single", false, "take rows with fewer than 3 repeats: they are shown, and not ranked")
	only := flags.Bool("verified-only", false, "leave out rows that are not verified, and name each with what refuses it")
	usage(flags.FlagSet, "publish FILE… [flags]", publishWhat, publishExample)
	if code, done := flags.parse(args, s); done {
		return code
	}
	if flags.NArg() == 0 {
		flags.wrong("no FILE was named; want the PREFIX.json of a run, such as: %s", publishExample)
	}
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	p := publication{root: *root, single: *single, verifiedOnly: *only, code: exitFailed}
	if err := p.open(); err != nil {
		return complain(s, "publish", exitFailed, []string{err.Error()})
	}
	for _, name := range flags.Args() {
		p.add(name)
	}
	if len(p.refusals) > 0 {
		return complain(s, "publish", p.code, p.refusals)
	}
	if err := p.write(); err != nil {
		return complain(s, "publish", exitFailed, []string{err.Error() + "; nothing was published"})
	}
	complain(s, "publish", exitOK, p.leftOut)
	for _, r := range p.reports {
		fmt.Fprintf(s.out, "%s: %s published\n", path.Join(rowsDir, r.place), countOf(r.rows, "row"))
	}
	return exitOK
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// publication gathers what would be written, and every reason not to.
type publication struct {
	root         string
	single       bool
	verifiedOnly bool
	known        *rowfile.Published
	catalogue    fs.FS // the root's data/; this binary's where the root is none
	today        *catalog.Catalog
	reports      []placed
	refusals     []string
	leftOut      []string // rows that are not published though their report is
	code         int      // to exit with when there are refusals
}

// open reads what is published. A root that is none is refused, and the files are judged
// all the same, against the catalogue in this binary.
func (p *publication) open() (err error) {
	defer func() { p.today, _ = catalog.Load(p.catalogue) }() // gen refuses one with problems
	p.catalogue = os.DirFS(filepath.Join(p.root, "data"))
	if info, err := os.Stat(filepath.Join(p.root, "data")); err != nil || !info.IsDir() {
		p.refusals = append(p.refusals, fmt.Sprintf("--root %s: no folder data in it; want the folder that holds data/, content/ and site/", p.root))
		p.code, p.catalogue = exitUsage, data.FS
		p.known = &rowfile.Published{Corpus: gate.NewCorpus(), Files: map[string]string{}}
		return nil
	}
	p.known, err = rowfile.ReadPublished(os.DirFS(p.root), rowsDir)
	return err
}

// placed is one report as it will stand.
type placed struct {
	place string // below data/rows
	rows  int
	files []placedFile // the report last
}

type placedFile struct {
	name string // below data/rows
	data []byte
}

func (p *publication) refuse(where, reason string) {
	p.refusals = append(p.refusals, printable(where+": "+reason))
}

// add judges one file, and prepares it if nothing speaks against it.
func (p *publication) add(name string) {
	b, err := loadReport(name)
	if err != nil {
		p.refusals = append(p.refusals, printable(err.Error()))
		return
	}
	before := len(p.refusals)
	p.leaveOut(name, b)
	p.judgeReport(name, b)
	p.leaveUnverified(name, b)
	for i := range b.Rows {
		p.judgeRow(name, b, i)
	}
	if len(p.refusals) > before {
		return
	}
	r, err := place(name, b)
	if err != nil {
		p.refuse(name, err.Error())
		return
	}
	p.known.Add(b, path.Join(rowsDir, r.place))
	p.reports = append(p.reports, r)
}

// leaveOut drops the failed rows at a report's end behind at least one that did not fail.
// A row's id is not made of the other rows, and the evidence of those that stay keeps its
// lines: what is left is what a run that ended earlier would have written.
func (p *publication) leaveOut(name string, b *rowfile.Bundle) {
	keep := len(b.Rows)
	for keep > 0 && b.Rows[keep-1].Row.Status == row.StatusError {
		keep--
	}
	if keep == 0 {
		return
	}
	for i := keep; i < len(b.Rows); i++ {
		r := b.Rows[i].Row
		p.leftOut = append(p.leftOut, printable(fmt.Sprintf("%s: row %d (%s) is left out: %s", name, i, loadOf(&r.Workload), r.Reason)))
	}
	b.Keep(func(i int) bool { return i < keep })
}

// leaveUnverified drops the rows that are neither verified nor imported, and names them
// with what refuses them.
func (p *publication) leaveUnverified(name string, b *rowfile.Bundle) {
	if !p.verifiedOnly {
		return
	}
	good := make([]bool, len(b.Rows))
	some := false
	for i := range b.Rows {
		results := gate.Judge(b.Input(i, p.known.Corpus))
		if good[i] = gate.VerdictOf(b.Rows[i].Row, results) != gate.Unverified; good[i] {
			some = true
			continue
		}
		r, g := b.Rows[i].Row, gate.Blocking(results)[0]
		p.leftOut = append(p.leftOut, printable(fmt.Sprintf("%s: row %d (%s) is left out: %s %s: %s", name, i, loadOf(&r.Workload), g.Gate, verbOf(g.Answer), g.Head())))
	}
	if some {
		b.Keep(func(i int) bool { return good[i] })
	}
}

func (p *publication) judgeReport(name string, b *rowfile.Bundle) {
	switch {
	case b.Simulated():
		p.refuse(name, "simulated: its rows are of the embedded engine and measure nothing")
	case b.Report.Recipe == "" || b.Report.AsItWas == nil:
		p.refuse(name, "no recipe: its rows belong to no cell; measure again with --recipe MODEL/TARGET/STRATEGY/ENGINE")
	case !rowfile.ValidRecipe(b.Report.Recipe):
		// Told among the problems of its form, with the line.
	default:
		file := path.Join("cells", b.Report.Recipe+".yaml")
		if _, err := fs.Stat(p.catalogue, file); err != nil {
			p.refuse(name, fmt.Sprintf("its recipe %s is not in the catalogue: no data/%s%s", b.Report.Recipe, file, p.near(b.Report.Recipe)))
		}
		b.Today = p.todayOf(b.Report)
		if text := b.Today.Words(); text != "" {
			p.refuse(name, text+"; measure again with a measure that has the catalogue as it is, or correct the catalogue first")
		}
	}
	for _, problem := range b.Problems {
		p.refuse(name, problem)
	}
	if len(b.Rows) == 0 && len(b.Problems) == 0 {
		p.refuse(name, "no rows")
	}
	if b.NoEvidence != "" && !b.Imported() {
		p.refuse(name, "evidence: "+b.NoEvidence)
	}
}

// todayOf is what the root's catalogue says of a report, and of a model or a target that
// this has not, the one in this binary.
func (p *publication) todayOf(r *row.Report) *gate.Today {
	recipe, model, target := p.today.Today(r.Recipe)
	if model == nil || target == nil {
		known, _ := openCatalog("")
		_, ownModel, ownTarget := known.Today(r.Recipe)
		model, target = cmp.Or(model, ownModel), cmp.Or(target, ownTarget)
	}
	return rowfile.Today(r.AsItWas, recipe, model, target)
}

// near names the recipes in the catalogue that are most like one that is not.
func (p *publication) near(recipe string) string {
	files, err := fs.Glob(p.catalogue, "cells/*/*/*/*.yaml")
	if err != nil || len(files) == 0 {
		return ""
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "cells/"), ".yaml")
	}
	nearestFirst(recipe, files)
	return "; nearest: " + strings.Join(files[:min(3, len(files))], ", ")
}

func (p *publication) judgeRow(name string, b *rowfile.Bundle, i int) {
	r := b.Rows[i].Row
	where := fmt.Sprintf("%s: row %d (%s)", name, i, loadOf(&r.Workload))
	if file, ok := p.known.Files[r.ID]; ok {
		p.refuse(where, fmt.Sprintf("the id %s is published already, in %s", r.ID, file))
		return
	}
	results := gate.Judge(b.Input(i, p.known.Corpus))
	for _, g := range gate.Blocking(results) {
		if g.Gate == "schema" && len(b.Problems) > 0 || r.Proof.Source != nil && g.Answer == gate.Unjudged {
			continue // an import that nothing speaks against is shown as one
		}
		reason := fmt.Sprintf("%s %s: %s", g.Gate, verbOf(g.Answer), g.Reason)
		if g.Mend != "" {
			reason += " (" + g.Mend + ")"
		}
		p.refuse(where, reason)
	}
	if n := len(r.PerRepeat); n < 3 && !p.single && r.Proof.Source == nil {
		p.refuse(where, fmt.Sprintf("%s: no interval, no rank; measure with --repeats 3, or publish with --single", countOf(n, "repeat")))
	}
}

func verbOf(a gate.Answer) string {
	if a == gate.Fail {
		return "fails"
	}
	return a.String()
}

// place renames a report's files to where they will stand. Names are no part of the
// hashed forms, so the ids stay; that is checked on the bytes to be written.
func place(name string, b *rowfile.Bundle) (placed, error) {
	report := *b.Report
	report.Rows = slices.Clone(report.Rows)
	where, err := rowfile.Place(&report)
	if err != nil {
		return placed{}, err
	}
	out := placed{place: where, rows: len(report.Rows)}
	dir := filepath.Dir(name)
	take := func(from, to string) error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		out.files = append(out.files, placedFile{to, data})
		return nil
	}
	for i := range report.Rows {
		if report.Rows[i].Samples.File == "" {
			continue // an import without requests
		}
		to := rowfile.SamplesFile(where, i)
		if err := take(filepath.Join(dir, report.Rows[i].Samples.File), to); err != nil {
			return placed{}, err
		}
		if sum := rowfile.SHA256(out.files[len(out.files)-1].data); sum != b.Rows[i].SamplesSHA256 {
			return placed{}, fmt.Errorf("%s changed while it was read", report.Rows[i].Samples.File)
		}
		report.Rows[i].Samples.File = path.Base(to)
	}
	if !b.Imported() {
		if err := take(rowfile.EvidenceFile(name), rowfile.EvidenceFile(where)); err != nil {
			return placed{}, err
		}
	}
	if b.Trimmed {
		evidence, _, err := rowfile.EncodeEvidence(b.Evidence)
		if err != nil {
			return placed{}, err
		}
		out.files[len(out.files)-1].data = evidence
	}
	data, err := rowfile.Encode(&report)
	if err != nil {
		return placed{}, err
	}
	ids, err := rowfile.IDs(data)
	if err != nil {
		return placed{}, err
	}
	for i, id := range ids {
		if id != report.Rows[i].ID {
			return placed{}, fmt.Errorf("row %d: written by another version of the form: its id would become %s", i, id)
		}
	}
	out.files = append(out.files, placedFile{where, data})
	return out, nil
}

// write puts every file in place, reports after the files that they name; on a failure
// what was written is taken back.
func (p *publication) write() (err error) {
	var done []string
	defer func() {
		if err != nil {
			for _, name := range done {
				err = errors.Join(err, os.Remove(name))
			}
		}
	}()
	for _, r := range p.reports {
		for _, f := range r.files {
			name := filepath.Join(p.root, filepath.FromSlash(path.Join(rowsDir, f.name)))
			switch _, err := os.Lstat(name); {
			case err == nil:
				return fmt.Errorf("%s is there already, and published files are never changed", name)
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			if err := rowfile.WriteFile(name, f.data); err != nil {
				return err
			}
			done = append(done, name)
		}
	}
	return nil
}
