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
	// Gaps maps the hash of a timed request's gaps to the id of the row that measured it.
	Gaps map[uint64]string
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
		Gaps: map[uint64]string{}, Loads: map[string][]Load{}}
}

// Add takes a row in; what an earlier row has already stays that row's.
func (c *Corpus) Add(report *row.Report, r *row.Row, samples []row.Sample) {
	put := func(m map[string]string, key string) {
		if _, ok := m[key]; !ok && key != "" && m != nil {
			m[key] = r.ID
		}
	}
	c.AddSamples(r.ID, samples)
	put(c.Samples, r.Samples.SHA256)
	put(c.Figures, fingerprint(r))
	if key, load, ok := loadOf(report, r); ok && c.Loads != nil {
		c.Loads[key] = append(c.Loads[key], load)
	}
}

// AddSamples takes in a row's requests alone: what was sent, and when the answers came.
func (c *Corpus) AddSamples(id string, samples []row.Sample) {
	for i := range samples {
		s := &samples[i]
		if _, ok := c.Prompts[s.Prompt]; !ok && s.Prompt != "" && c.Prompts != nil {
			c.Prompts[s.Prompt] = id
		}
		if s.Phase != row.PhaseTimed || c.Gaps == nil {
			continue
		}
		if hash, enough := gapsOf([]*row.Sample{s}); enough && c.Gaps[hash] == "" {
			c.Gaps[hash] = id
		}
	}
}

// sharedGaps counts the timed requests whose gaps stand in another row, one by one: two
// measured answers never share them, whenever they began.
func (in *Input) sharedGaps() (n int64, other string) {
	for _, s := range in.timed() {
		hash, enough := gapsOf([]*row.Sample{s})
		if !enough {
			continue
		}
		if id, ok := in.Corpus.Gaps[hash]; ok && id != in.Row.ID {
			n, other = n+1, id
		}
	}
	return n, other
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
	if n, id := in.sharedGaps(); n > 0 {
		timed := int64(len(in.timed()))
		return fail(of(n, timed, "timed request")+" came with the very gaps of row "+id, Compared{"requests with gaps of another row", itoa(n), "0"})
	}
	return pass("neither samples nor figures stand in another row")
}
