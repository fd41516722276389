package render

import (
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/render/kept"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// reportKept is what judging a report found out.
type reportKept struct {
	Simulated bool
	Rows      []rowKept

	Judged  kept.Digest // of all that the gates looked at
	Now     string      // when they were asked
	Results [][]gate.Result
}

// rowKept is what the gates of other rows ask of a row's samples, and what its own page
// says of its files.
type rowKept struct {
	ComputedID    string
	SamplesSHA256 string // "" where no samples file was read
	Unread        bool   // the samples could not be read
	Prompts       []string
	Gaps          []uint64
}

// keptRows are the parts of a bundle that outlive its samples.
func keptRows(b *rowfile.Bundle) []rowKept {
	rows := make([]rowKept, len(b.Rows))
	for i := range b.Rows {
		d := &b.Rows[i]
		own := gate.NewCorpus()
		own.AddSamples(d.Row.ID, d.Samples)
		rows[i] = rowKept{d.ComputedID, d.SamplesSHA256, d.NoSamples != "", slices.Sorted(maps.Keys(own.Prompts)), slices.Sorted(maps.Keys(own.Gaps))}
	}
	return rows
}

// join adds a row's requests to those of all rows; what an earlier row has stays its own.
func (r *rowKept) join(corpus *gate.Corpus, id string) {
	for _, p := range r.Prompts {
		if _, ok := corpus.Prompts[p]; !ok {
			corpus.Prompts[p] = id
		}
	}
	for _, g := range r.Gaps {
		if corpus.Gaps[g] == "" {
			corpus.Gaps[g] = id
		}
	}
}

// seen sums up what a row's gates can see of other rows: who else has its requests, files
// and figures, and which loads its recipe was measured at.
func (r *rowKept) seen(corpus *gate.Corpus, report *row.Report, of *row.Row) kept.Digest {
	var parts []any
	other := func(kind string, key any, id string) {
		if id != "" && id != of.ID {
			parts = append(parts, kind, key, id)
		}
	}
	for _, p := range r.Prompts {
		other("prompt", p, corpus.Prompts[p])
	}
	for _, g := range r.Gaps {
		other("gap", g, corpus.Gaps[g])
	}
	other("samples", r.SamplesSHA256, corpus.Samples[r.SamplesSHA256])
	own := gate.NewCorpus()
	own.Add(report, of, nil)
	for f := range own.Figures {
		other("figures", f, corpus.Figures[f])
	}
	for key := range own.Loads {
		for _, l := range corpus.Loads[key] {
			parts = append(parts, "load", l.ID, l.Concurrency, l.TPOT, l.Interval != nil, l.Batch)
			if l.Interval != nil {
				parts = append(parts, l.Interval[0], l.Interval[1])
			}
		}
	}
	return kept.Of(parts...)
}

// reportFiles are the files that a report is read from.
func reportFiles(file string, r *row.Report) []string {
	files := []string{file, rowfile.EvidenceFile(file)}
	for i := range r.Rows {
		files = append(files, path.Join(path.Dir(file), r.Rows[i].Samples.File))
	}
	return files
}

// record names what is kept of a report.
func (c *cache) record(file string, r *row.Report) string {
	parts := []any{c.gen}
	for _, f := range reportFiles(file, r) {
		parts = append(parts, f, c.sum(f))
	}
	place, of := kept.Of(file), kept.Of(parts...)
	name := hex.EncodeToString(place[:8]) + "-" + hex.EncodeToString(of[:16])
	c.mu.Lock()
	c.reports[name] = true
	c.mu.Unlock()
	return "reports/" + name
}

// judgedBy sums up what a report's gates look at: its files, what the catalogue says of
// its recipe now, and what they can see of other rows.
func (s *site) judgedBy(record string, key recipeKey, rows []rowKept, report *row.Report, corpus *gate.Corpus) (kept.Digest, bool) {
	recipe, model, target := s.today.Today(key.String())
	now, ok := jsonDigest(recipe, model, target)
	parts := []any{record, now}
	for i := range rows {
		parts = append(parts, rows[i].seen(corpus, report, &report.Rows[i]))
	}
	return kept.Of(parts...), ok
}

// results are the kept answers of the gates, if they would be the same now. Time moves the
// gate on dates alone, and only from a refusal to a pass.
func (k *reportKept) results(judged kept.Digest, now string) ([][]gate.Result, bool) {
	if k == nil || k.Judged != judged || k.Now > now || len(k.Results) != len(k.Rows) {
		return nil, false
	}
	for _, row := range k.Results {
		for i := range row {
			if row[i].Gate != "dates" {
				continue
			}
			if row[i].Answer == gate.Fail && k.Now != now {
				return nil, false
			}
			for j := range row[i].Figures {
				f := &row[i].Figures[j]
				f.Against = strings.ReplaceAll(f.Against, k.Now, now)
			}
		}
	}
	return k.Results, true
}
