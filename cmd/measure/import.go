package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/harness"
	"rowproof/internal/launch"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/version"
)

const (
	importWhat = `Turn the result of another benchmark tool into a report: the tool's own figures with its
own definitions, and beside them ours, computed from its requests where the file holds
them. A row that nothing speaks against and something cannot be judged of is "imported":
it is shown with its tool's name, and stands in no ranking.

Two files of one run are joined: aiperf's profile_export_aiperf.json with its
profile_export.jsonl, inference-perf's summary with its per_request_lifecycle_metrics.json.
A report of measure itself is taken too, to name its recipe afterwards; that makes new ids,
so it comes before publish.

Two lines at the end of a script of yours are enough:
  measure import result.json --recipe MODEL/TARGET/STRATEGY/ENGINE --output out/run
  measure check out/run.json

A receipt that was taken beside the server (measure receipt) is attached by --receipt, to a
report of ours or to another tool's.

Formats:`
	importExample = `measure import result.json --output out/imported`
)

// importing is what a call of import asks for.
type importing struct {
	files              []string
	output, recipe     string
	receipt            string // a file of measure receipt
	root, at           string
	isl, osl, streams  int64
	rate               string
	asJSON             bool
	command            []string
	now                time.Time
	reports            []*imported
	problems, warnings []string
}

// imported is one report as it will be written.
type imported struct {
	from    string // the file that it was made of
	prefix  string
	bundle  *rowfile.Bundle
	files   []rowfile.File
	left    []string
	torn    error
	results [][]gate.Result
}

func importVerb(_ context.Context, args []string, s streams) int {
	im := importing{now: time.Now().UTC(), command: append([]string{"measure", "import"}, args...)}
	flags := newCollector("import")
	var what strings.Builder
	what.WriteString(importWhat)
	for _, k := range harness.Formats {
		fmt.Fprintf(&what, "\n  %-24s %s", k.Name, k.What)
	}
	fmt.Fprintf(&what, "\n  %-24s %s", "bench-csv", "a CSV that measure bench printed, or another tool with its columns")
	usage(flags.FlagSet, "import FILE… [flags]", what.String(), importExample)
	flags.StringVar(&im.output, "output", "", "write `PREFIX`.json and what belongs to it (default beside the file: FILE.imported)")
	flags.StringVar(&im.recipe, "recipe", "", "MODEL/TARGET/STRATEGY/ENGINE of the catalogue that the server ran")
	flags.StringVar(&im.receipt, "receipt", "", "`FILE` that measure receipt wrote beside the server")
	flags.StringVar(&im.root, "root", "", "folder that holds data/ with the catalogue of recipes (default the one in this binary)")
	flags.add("measured-at", "", "TIME", "when it was measured, where the file does not say; without it the file's own time", func(text string) string {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "a time such as 2026-11-30T18:20:00Z"
		}
		im.at = at.UTC().Format(time.RFC3339)
		return ""
	})
	flags.count("isl", &im.isl, 1, "prompt length that was asked for, where the file does not say")
	flags.count("osl", &im.osl, 1, "output length that was asked for, where the file does not say")
	flags.count("concurrency", &im.streams, 1, "streams that were kept full, where the file does not say")
	flags.StringVar(&im.rate, "request-rate", "", "requests a `RATE` second, or inf, where the file does not say")
	flags.BoolVar(&im.asJSON, "json", false, "for a program: the reports with every gate's answer")
	for _, name := range []string{"isl", "osl", "concurrency"} {
		flags.Lookup(name).DefValue = ""
	}
	im.isl, im.osl, im.streams = 0, 0, 0
	if code, done := flags.parse(args, s); done {
		return code
	}
	// Where the files lay on this host is nobody's business.
	for i, a := range im.command {
		if slices.Contains(flags.Args(), a) || i > 0 && slices.Contains([]string{"--output", "--receipt", "--root"}, im.command[i-1]) {
			im.command[i] = filepath.Base(a)
		}
	}
	if im.files = flags.Args(); len(im.files) == 0 && flags.allKnown() {
		flags.wrong("no FILE was named; want a result, such as: %s", importExample)
	}
	if im.rate != "" && im.rate != "inf" {
		if v, err := strconv.ParseFloat(im.rate, 64); err != nil || !(v > 0) {
			flags.wrong("--request-rate %s: want requests a second above 0, or inf", im.rate)
		}
	}
	flags.root(im.root)
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	return im.run(s)
}

func (im *importing) run(s streams) int {
	asItWas, err := im.cell()
	if err != nil {
		return complain(s, "import", exitUsage, []string{err.Error()})
	}
	im.take(asItWas)
	if len(im.problems) > 0 {
		return complain(s, "import", exitFailed, im.problems)
	}
	code := exitOK
	var all []rowfile.File
	for _, r := range im.reports {
		if old := already(r.prefix); len(old) > 0 {
			return complain(s, "import", exitUsage, []string{fmt.Sprintf("%s: the files of an earlier run are there and would be lost: %s; want another --output, such as %s", r.prefix, strings.Join(old, ", "), freePrefix(r.prefix))})
		}
		if err := writable(r.prefix); err != nil {
			return complain(s, "import", exitUsage, []string{fmt.Sprintf("--output %s: %v", r.prefix, err)})
		}
		all = append(all, r.files...)
	}
	if err := rowfile.WriteFiles(all); err != nil {
		return complain(s, "import", exitFailed, []string{err.Error() + "; nothing was written"})
	}
	known, _ := openCatalog(im.root)
	for _, r := range im.reports {
		r.bundle.Today = todayOf(known, r.bundle.Report)
		r.results = r.bundle.Judge(nil)
		if r.torn != nil {
			im.warnings = append(im.warnings, fmt.Sprintf("%s breaks off: %v; what was whole before was taken", printable(r.from), r.torn))
			code = exitFailed
		}
		for i, results := range r.results {
			if gate.VerdictOf(r.bundle.Rows[i].Row, results) == gate.Unverified {
				code = exitFailed
			}
		}
	}
	complain(s, "import", exitFailed, im.warnings)
	if im.asJSON {
		if printJSON(s, im.lines()) != exitOK {
			return exitFailed
		}
		return code
	}
	im.print(s.out)
	return code
}

// cell is the recipe that is named, as it stands; nil of none.
func (im *importing) cell() (*row.AsItWas, error) {
	if im.recipe == "" {
		return nil, nil
	}
	if !rowfile.ValidRecipe(im.recipe) {
		return nil, fmt.Errorf("--recipe %s: want MODEL/TARGET/STRATEGY/ENGINE such as llama-3.1-8b/h200-sxm/latency/vllm", plain(im.recipe))
	}
	cat, err := readCatalog(im.root)
	if err != nil {
		return nil, err
	}
	return takeRecipe(cat, &benchOptions{recipe: im.recipe})
}

// take reads every file, joins those of one run, and makes the reports.
func (im *importing) take(asItWas *row.AsItWas) {
	type read struct {
		name, sum string
		result    *harness.Result
		torn      error
	}
	var reads []read
	for _, name := range im.files {
		sum := sha256.New()
		info, err := os.Stat(name) // before it is opened: a pipe would be waited for
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("not a plain file")
		}
		var f *os.File
		if err == nil {
			f, err = os.Open(name)
		}
		if err != nil {
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			im.problem(name, err)
			continue
		}
		r, err := harness.Parse(filepath.Base(name), io.TeeReader(f, sum))
		_, _ = io.Copy(sum, f) // what a torn end left
		f.Close()
		var torn *harness.Torn
		switch {
		case errors.Is(err, harness.ErrOurs):
			im.attach(name, asItWas)
			continue
		case err != nil && !errors.As(err, &torn):
			im.problem(name, err)
			continue
		}
		one := read{name: name, sum: hex.EncodeToString(sum.Sum(nil)), result: r}
		if torn != nil {
			one.torn = torn
		}
		joined := false
		for i := range reads {
			both, err := harness.Join(reads[i].result, r)
			if err != nil {
				if harness.Pair(reads[i].result, r) {
					im.problems = append(im.problems, fmt.Sprintf("%s and %s are of one tool and make no run: %v", printable(reads[i].name), printable(name), err))
				}
				continue
			}
			pair := sha256.Sum256([]byte(reads[i].sum + one.sum))
			reads[i].result, reads[i].sum, joined = both, hex.EncodeToString(pair[:]), true
			break
		}
		if !joined {
			reads = append(reads, one)
		}
	}
	for _, r := range reads {
		im.report(r.name, r.sum, r.result, r.torn, asItWas, len(reads) > 1)
	}
}

func (im *importing) problem(name string, err error) {
	im.problems = append(im.problems, printable(name)+": "+spelled(err.Error()))
}

// report makes the files of one result.
func (im *importing) report(name, sum string, r *harness.Result, torn error, asItWas *row.AsItWas, several bool) {
	v := version.Read()
	ask := harness.Ask{
		Sum: sum, Recipe: im.recipe, AsItWas: asItWas, MeasuredAt: im.at, MeasuredFrom: "stated with --measured-at",
		Tool: row.Tool{Version: v.Version, Revision: v.Revision, Go: v.Go, Command: im.command},
		ISL:  im.isl, OSL: im.osl, Concurrency: im.streams,
	}
	if im.rate != "" {
		ask.Rate = &im.rate
	}
	if im.at == "" {
		info, err := os.Stat(name)
		if err != nil {
			im.problem(name, err)
			return
		}
		ask.MeasuredAt, ask.MeasuredFrom = info.ModTime().UTC().Format(time.RFC3339), "the time of the file"
	}
	for _, text := range ask.Against(r) {
		im.warnings = append(im.warnings, printable(name)+": "+text)
	}
	report, samples, wrong := r.Report(ask)
	for _, text := range wrong {
		im.problems = append(im.problems, printable(name)+": "+text)
	}
	if len(wrong) > 0 {
		return
	}
	if im.receipt != "" {
		f, sum, err := readReceipt(im.receipt)
		if err != nil {
			im.problems = append(im.problems, "--receipt "+printable(err.Error()))
			return
		}
		report.Receipt = rowfile.Taken(f, sum)
	}
	out := &imported{from: name, prefix: im.prefix(name, several), left: r.Left, torn: torn}
	b, files, err := rowfile.Made(out.prefix+".json", report, samples, im.now.Format(time.RFC3339))
	if err != nil {
		im.problem(name, err)
		return
	}
	out.bundle, out.files = b, files
	im.reports = append(im.reports, out)
}

// finish writes the report into its form and makes it ready for the gates.
func (im *importing) finish(name string, out *imported, b *rowfile.Bundle, samples [][]row.Sample) {
	data, err := rowfile.Encode(b.Report)
	if err != nil {
		im.problem(name, err)
		return
	}
	if _, b.Problems, err = rowfile.Decode(data); err != nil {
		im.problem(name, err)
		return
	}
	for i := range b.Report.Rows {
		n := &b.Report.Rows[i]
		d := rowfile.RowData{Row: n, ComputedID: n.ID, SamplesSHA256: n.Samples.SHA256, Samples: samples[i]}
		b.Rows = append(b.Rows, d)
	}
	out.bundle = b
	out.files = append(out.files, rowfile.File{Path: b.Path, Data: data}) // last: it names the others
	im.reports = append(im.reports, out)
}

// prefix is where a report goes.
func (im *importing) prefix(name string, several bool) string {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), filepath.Ext(strings.TrimSuffix(name, ".gz")))
	switch {
	case im.output == "":
		return base + ".imported"
	case several:
		return im.output + "-" + filepath.Base(base)
	}
	return im.output
}

// attach names the recipe of a report of ours afterwards, or gives it a receipt that was
// taken beside its server.
func (im *importing) attach(name string, asItWas *row.AsItWas) {
	b, err := loadReport(name)
	switch {
	case err != nil:
		im.problems = append(im.problems, printable(err.Error()))
		return
	case len(b.Report.Rows) > 0 && b.Report.Rows[0].Import != nil:
		im.problems = append(im.problems, printable(name)+": an import already, which holds no evidence of ours to build on; import the tool's own file again, with --recipe or --receipt")
		return
	case asItWas == nil && im.receipt == "":
		im.problems = append(im.problems, printable(name)+": a report of measure already; want --recipe to name what its server ran, or --receipt of it")
		return
	case asItWas != nil && b.Report.Recipe != "":
		im.problems = append(im.problems, printable(name)+": it names a recipe already, "+b.Report.Recipe)
		return
	case len(b.Problems) > 0:
		im.problems = append(im.problems, printable(name)+": "+b.Problems[0])
		return
	}
	out := &imported{prefix: im.prefix(name, false)}
	report := *b.Report
	report.Rows = slices.Clone(report.Rows)
	if asItWas != nil {
		report.Recipe, report.AsItWas = im.recipe, asItWas
	} else {
		asItWas = report.AsItWas
	}
	if im.receipt != "" {
		im.attachReceipt(name, out, b, &report)
		return
	}
	c := &rowfile.Bundle{Path: out.prefix + ".json", Report: &report, Now: im.now.Format(time.RFC3339), Evidence: b.Evidence, EvidenceSums: b.EvidenceSums, NoEvidence: b.NoEvidence}
	dir := filepath.Dir(name)
	add := func(from, to string) {
		data, err := os.ReadFile(from)
		if err != nil {
			im.problem(from, err)
			return
		}
		out.files = append(out.files, rowfile.File{Path: to, Data: data})
	}
	samples := make([][]row.Sample, len(b.Rows))
	for i := range b.Rows {
		d, n := &b.Rows[i], &report.Rows[i]
		if d.Samples == nil {
			im.problems = append(im.problems, printable(name)+": row "+strconv.Itoa(i)+": "+d.NoSamples)
			return
		}
		samples[i] = d.Samples
		computed := row.Compute(&n.Workload, asItWas.Recipe.GPUs(), d.Samples, d.Evidence)
		n.Figures, n.Missing = computed.Figures, computed.Missing
		to := rowfile.SamplesFile(c.Path, i)
		add(filepath.Join(dir, n.Samples.File), to)
		n.Samples.File = filepath.Base(to)
	}
	add(rowfile.EvidenceFile(name), rowfile.EvidenceFile(c.Path))
	if len(im.problems) > 0 {
		return
	}
	for i := range report.Rows {
		id, err := rowfile.ID(&report, i)
		if err != nil {
			im.problem(name, err)
			return
		}
		report.Rows[i].ID = id
	}
	im.finish(name, out, c, samples)
	for i := range c.Rows {
		c.Rows[i].Evidence, c.Rows[i].EvidenceSHA256 = b.Rows[i].Evidence, b.Rows[i].EvidenceSHA256
	}
}

// attachReceipt puts a receipt from beside the server into a report, and what its watch
// read into each row's evidence.
func (im *importing) attachReceipt(name string, out *imported, b *rowfile.Bundle, named *row.Report) {
	f, sum, err := readReceipt(im.receipt)
	if err != nil {
		im.problems = append(im.problems, "--receipt "+printable(err.Error()))
		return
	}
	with := *b
	with.Report = named
	report, evidence, err := with.WithReceipt(f, sum)
	if err != nil {
		im.problem(name, err)
		return
	}
	path := out.prefix + ".json"
	samples := make([][]row.Sample, len(b.Rows))
	for i := range b.Rows {
		n := &report.Rows[i]
		samples[i] = b.Rows[i].Samples
		data, err := os.ReadFile(filepath.Join(filepath.Dir(name), n.Samples.File))
		if err != nil {
			im.problem(name, err)
			return
		}
		to := rowfile.SamplesFile(path, i)
		out.files = append(out.files, rowfile.File{Path: to, Data: data})
		n.Samples.File = filepath.Base(to)
	}
	packed, err := rowfile.Seal(report, evidence)
	if err != nil {
		im.problem(name, err)
		return
	}
	out.files = append(out.files, rowfile.File{Path: rowfile.EvidenceFile(path), Data: packed})
	c := &rowfile.Bundle{Path: path, Report: report, Now: im.now.Format(time.RFC3339)}
	if c.Evidence, c.EvidenceSums, err = rowfile.DecodeEvidence(packed); err != nil {
		im.problem(name, err)
		return
	}
	im.finish(name, out, c, samples)
	for i := range c.Rows {
		for k := range c.Evidence {
			if want := c.Rows[i].Row.Proof.Evidence; want != nil && c.EvidenceSums[k] == *want {
				c.Rows[i].Evidence, c.Rows[i].EvidenceSHA256 = &c.Evidence[k], *want
			}
		}
	}
}

// importedReport is a report for a program.
type importedReport struct {
	File string        `json:"file"`
	Left []string      `json:"left"`
	Torn string        `json:"torn,omitempty"`
	Rows []importedRow `json:"rows"`
}

type importedRow struct {
	checkedRow
	Row *row.Row `json:"row"`
}

func (im *importing) lines() []importedReport {
	out := []importedReport{}
	for _, r := range im.reports {
		one := importedReport{File: r.bundle.Path, Left: append([]string{}, r.left...), Rows: []importedRow{}}
		if r.torn != nil {
			one.Torn = r.torn.Error()
		}
		for i, results := range r.results {
			n := r.bundle.Rows[i].Row
			one.Rows = append(one.Rows, importedRow{checkedRow{n.ID, loadOf(&n.Workload), gate.VerdictOf(n, results), checkedGates(results)}, n})
		}
		out = append(out, one)
	}
	return out
}

// print writes what was taken of each file, the tool's own figures beside ours.
func (im *importing) print(w io.Writer) {
	for i, r := range im.reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		first := r.bundle.Report.Rows[0].Import
		head := r.prefix + ".json"
		if first != nil {
			head += ": " + printable(strings.TrimSpace(first.Tool+" "+first.Version)) + "; its clock: " + first.Clock
		}
		fmt.Fprintln(w, head)
		for _, text := range r.left {
			fmt.Fprintf(w, "  left out: %s\n", printable(text))
		}
		for k, results := range r.results {
			n := r.bundle.Rows[k].Row
			fmt.Fprintf(w, "\n%s %s: %s\n", n.ID, loadOf(&n.Workload), gate.VerdictOf(n, results))
			for _, f := range []struct {
				name string
				v    *float64
				unit string
			}{
				{"TTFT p50", p50Of(n.Figures.TTFT), "ms"}, {"TPOT p50", p50Of(n.Figures.TPOT), "ms"}, {"ITL p50", p50Of(n.Figures.ITL), "ms"},
				{"E2E p50", p50Of(n.Figures.E2E), "ms"}, {"output", n.Figures.OutputTokPerSec, "tok/s"}, {"prefill", n.Figures.PrefillTokPerSec, "tok/s"}, {"decode", n.Figures.DecodeTokPerSec, "tok/s"},
			} {
				if f.v != nil {
					fmt.Fprintf(w, "  %-10s %s %s\n", f.name, roofline.Number(*f.v), f.unit)
				}
			}
			if n.Import != nil {
				fmt.Fprintln(w, "  as the tool states it:")
				said, more := map[string]bool{}, 0
				for _, s := range n.Import.Stated {
					if s.Figure == "" {
						more++
						continue
					}
					means := ""
					if s.Means != "" && !said[s.Means] {
						means = "  (" + s.Means + ")"
						said[s.Means] = true
					}
					fmt.Fprintf(w, "    %-32s %s %s%s\n", printable(s.Name), printable(s.Text), s.Unit, means)
				}
				if more > 0 {
					fmt.Fprintf(w, "    and %s that stand for none of ours; --json has all\n", countOf(more, "figure"))
				}
			}
			for _, g := range gate.Blocking(results) {
				fmt.Fprintf(w, "  %s %s: %s\n", g.Gate, verbOf(g.Answer), printable(g.Head()))
			}
		}
		fmt.Fprintf(w, "\nEvery gate's reason: measure check %s\n", launch.Quote(r.bundle.Path))
	}
}

func p50Of(d *row.Dist) *float64 {
	if d == nil {
		return nil
	}
	return d.P50
}
