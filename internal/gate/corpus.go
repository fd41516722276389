package gate

import (
	"strings"

	"rowproof/internal/row"
)

// Corpus is what publish and gen know beyond one row. A map left nil is not asked.
type Corpus struct {
	// Prompts maps a prompt hash to the id of the row that used it first.
	Prompts map[string]string
	// Samples maps the hash of a samples file to the id of the row that it proves.
	Samples map[string]string
	// Figures maps a run of figures to the id of the row that measured it.
	Figures map[string]string
	// Loads maps a recipe with a shape to its rows at every concurrency.
	Loads map[string][]Load
}

// Load is what a row says of one concurrency.
type Load struct {
	ID          string
	Concurrency int64
	TPOT        float64       // p50, ms
	Interval    *row.Interval // of TPOT
	Batch       float64       // mean, by Little's law
}

// NewCorpus is a corpus without rows.
func NewCorpus() *Corpus {
	return &Corpus{Prompts: map[string]string{}, Samples: map[string]string{}, Figures: map[string]string{},
		Loads: map[string][]Load{}}
}

// Add takes a row in; what an earlier row has already stays that row's.
func (c *Corpus) Add(report *row.Report, r *row.Row, samples []row.Sample) {
	put := func(m map[string]string, key string) {
		if _, ok := m[key]; !ok && key != "" && m != nil {
			m[key] = r.ID
		}
	}
	for i := range samples {
		put(c.Prompts, samples[i].Prompt)
	}
	put(c.Samples, r.Samples.SHA256)
	put(c.Figures, fingerprint(r))
	if key, load, ok := loadOf(report, r); ok && c.Loads != nil {
		c.Loads[key] = append(c.Loads[key], load)
	}
}

// fingerprint is a run of figures that two honest rows never share: means and rates
// over many requests, to the last digit. It is "" where too few are there.
func fingerprint(r *row.Row) string {
	var parts []string
	for _, d := range r.Figures.Dists() {
		if d.Dist != nil && d.Dist.Mean != nil {
			parts = append(parts, d.Name+"="+exact(*d.Dist.Mean))
		}
	}
	if v := r.Figures.OutputTokPerSec; v != nil {
		parts = append(parts, "output_tok_s="+exact(*v))
	}
	if len(parts) < 4 {
		return ""
	}
	return strings.Join(parts, " ")
}

// copied fails a row whose samples or figures stand under another id already.
func copied(in *Input) Result {
	if in.Corpus == nil || in.Corpus.Samples == nil {
		return notApplicable("judged where all rows are at hand: by publish and gen")
	}
	if id, ok := in.Corpus.Samples[in.SamplesSHA256]; ok && id != in.Row.ID {
		return fail("the same samples file proves row "+id, Compared{"samples", in.SamplesSHA256, "proves one row"})
	}
	if id, ok := in.Corpus.Figures[fingerprint(in.Row)]; ok && id != in.Row.ID {
		return fail("the same run of figures stands in row "+id, Compared{"figures", in.Row.ID, id})
	}
	return pass("neither samples nor figures stand in another row")
}
