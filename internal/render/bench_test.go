package render

import (
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/render/kept"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// Pages of what real row pages hold, from a judged row in memory to minified files whose
// links are checked. Samples are read and gates run before: those cost what measuring
// a row again would, not what a page does.
func BenchmarkRowPages(b *testing.B) {
	r, samples, evidence := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 4}}})
	dir := b.TempDir()
	file, err := rowtest.Write(dir, r, samples, evidence)
	if err != nil {
		b.Fatal(err)
	}
	bundle, err := rowfile.Load(file)
	if err != nil {
		b.Fatal(err)
	}
	bundle.Now = now
	results := gate.Judge(bundle.Input(0, gate.NewCorpus()))
	for _, pages := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(pages), func(b *testing.B) {
			for range b.N {
				out, err := newOutput(filepath.Join(b.TempDir(), "out"))
				if err != nil {
					b.Fatal(err)
				}
				s := &site{
					opts: Options{Root: repository, Base: "/"}, fsys: os.DirFS(repository), out: out,
					links: newLinks("/"), minifier: newMinifier(), pages: map[string]*template.Template{},
				}
				s.load()
				if err := s.parseTemplates(); err != nil || len(s.reasons) > 0 {
					b.Fatal(err, s.reasons)
				}
				s.frame = s.newFrame()
				key, _ := parseKey(r.Recipe)
				errs := make([]error, pages)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				parallel(pages, func(i int) {
					one := *bundle.Rows[0].Row
					one.ID = fmt.Sprintf("%012x", i)
					errs[i] = s.writeRow(&measured{
						Row: &one, Report: r, Key: key, File: "data/rows/x.json", Gates: results, Verdict: gate.Verified, Listed: true,
						Model: &r.AsItWas.Model, Target: &r.AsItWas.Target,
					}, samples[0], &evidence[1], nil, kept.Digest{})
				})
				runtime.ReadMemStats(&after)
				for _, err := range errs {
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(after.HeapAlloc)/1e6, "MB-heap")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*pages), "µs/page")
				out.discard()
			}
		})
	}
}
