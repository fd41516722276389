// Package rowtest makes healthy synthetic reports for tests: a small engine is played
// in whole µs, above its roofline, and every figure comes from row.Compute as a
// measured row's does. The same seed gives the same bytes.
package rowtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Cell is one row to make.
type Cell struct {
	ISL, OSL, Concurrency int64

	// Rate makes it an open loop of so many requests a second, or with row.OwnTimes of those
	// of a trace; Concurrency is then the most under way, 0 for no limit.
	Rate string
	// Prompts is "" for random ones. Of a dataset or a trace ISL and OSL are the medians, and
	// the prompts of a trace have blocks in common.
	Prompts string
}

// Options shape a report; the zero value is a sustained run of Llama 3.1 8B under vLLM
// on one H200 at concurrency 1 and 4, three repeats.
type Options struct {
	Recipe     string       // MODEL/TARGET/STRATEGY/ENGINE
	AsItWas    *row.AsItWas // goes with Recipe
	Cells      []Cell
	Protocol   string
	Repeats    int64
	Requests   int64 // timed requests a repeat; sustained. 0: max(20, 10 × c)
	Warmup     int64 // 0: two
	Iters      int64 // timed passes a repeat; 0: one
	MeasuredAt string
	Simulated  bool    // the row is of the embedded engine and names no recipe
	Slowness   float64 // over the hard roof; 0: 1.3
	Slots      int64   // requests that the engine runs at once; 0: all
	Chunk      int64   // tokens that the engine sends at once, but for the first; 0: one
	Stamps     string  // "": ktime
	Calibrated bool    // the selftest was made beforehand, at several stream counts
}

func (o Options) withDefaults() Options {
	if o.AsItWas == nil {
		o.AsItWas = Llama8B()
		o.Recipe = "llama-3.1-8b/h200-sxm/latency/vllm"
	}
	if len(o.Cells) == 0 {
		o.Cells = []Cell{{ISL: 128, OSL: 64, Concurrency: 1}, {ISL: 128, OSL: 64, Concurrency: 4}}
	}
	if o.Protocol == "" {
		o.Protocol = row.Sustained
	}
	if o.Repeats == 0 {
		o.Repeats = 3
	}
	if o.Warmup == 0 {
		o.Warmup = 2
	}
	if o.Iters == 0 {
		o.Iters = 1
	}
	if o.MeasuredAt == "" {
		o.MeasuredAt = "2026-11-30T12:00:00Z"
	}
	if o.Slowness == 0 {
		o.Slowness = 1.3
	}
	if o.Chunk == 0 {
		o.Chunk = 1
	}
	if o.Stamps == "" {
		o.Stamps = "ktime"
	}
	return o
}

// Report makes a report, its samples a row, and its evidence: the run's own record
// first, then one a row. It panics where the report cannot be written, which only a
// defect of this package or of rowfile can cause.
func Report(seed uint64, options Options) (*row.Report, [][]row.Sample, []row.Evidence) {
	o := options.withDefaults()
	r := header(o)
	random := rand.New(rand.NewPCG(seed, 0x726f77))
	evidence := []row.Evidence{{Row: -1, Zero: o.MeasuredAt, Process: process(r)}}
	samples := make([][]row.Sample, len(o.Cells))
	for i, c := range o.Cells {
		w := workload(o, c, random.Uint64())
		samples[i] = play(o, &w, random)
		evidence = append(evidence, observe(o, int64(i), &w, samples[i], random))
		r.Rows = append(r.Rows, row.Row{Workload: w, Status: row.StatusOK, Notes: []string{}})
	}
	Seal(r, samples, evidence)
	return r, samples, evidence
}

// Seal recomputes figures, hashes and ids after a test has changed samples, evidence or
// a hashed part.
func Seal(r *row.Report, samples [][]row.Sample, evidence []row.Evidence) {
	_, sums, err := rowfile.EncodeEvidence(evidence)
	must(err)
	r.Receipt.EvidenceSHA256 = sums[0]
	for i := range r.Rows {
		n := &r.Rows[i]
		packed, err := rowfile.EncodeSamples(samples[i])
		must(err)
		var gpus int64
		if r.AsItWas != nil {
			gpus = r.AsItWas.Recipe.GPUs()
		}
		c := row.Compute(&n.Workload, gpus, samples[i], &evidence[i+1])
		n.Figures, n.Missing, n.PerRepeat, n.Counts, n.Server = c.Figures, c.Missing, c.PerRepeat, c.Counts, c.Server
		n.Notes = append(row.Notes(n, row.Seed(&n.Workload, samples[i]), r.Client.Stamps), evidence[i+1].Notes...)
		sum := rowfile.SHA256(packed)
		n.Samples.SHA256 = sum
		n.Proof.Samples, n.Proof.Evidence = &sum, &sums[i+1]
	}
	for i := range r.Rows {
		r.Rows[i].ID, err = rowfile.ID(r, i)
		must(err)
	}
	name := "report.json"
	if place, err := rowfile.Place(r); err == nil {
		name = filepath.Base(place)
	}
	for i := range r.Rows {
		r.Rows[i].Samples.File = rowfile.SamplesFile(name, i)
	}
}

// Write puts a report with its samples and evidence below root/data/rows, and tells its
// path. A report without a recipe stands in root itself.
func Write(root string, r *row.Report, samples [][]row.Sample, evidence []row.Evidence) (string, error) {
	file := filepath.Join(root, "report.json")
	if place, err := rowfile.Place(r); err == nil {
		file = filepath.Join(root, "data", "rows", filepath.FromSlash(place))
	}
	return file, WriteAs(file, r, samples, evidence)
}

// WriteAs writes a report to a file, its samples and evidence beside it, as a run with
// --output does. The report's samples files take the names written.
func WriteAs(file string, r *row.Report, samples [][]row.Sample, evidence []row.Evidence) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	for i := range samples {
		packed, err := rowfile.EncodeSamples(samples[i])
		if err != nil {
			return err
		}
		name := rowfile.SamplesFile(file, i)
		r.Rows[i].Samples.File = filepath.Base(name)
		if err := rowfile.WriteFile(name, packed); err != nil {
			return err
		}
	}
	packed, _, err := rowfile.EncodeEvidence(evidence)
	if err != nil {
		return err
	}
	if err := rowfile.WriteFile(rowfile.EvidenceFile(file), packed); err != nil {
		return err
	}
	data, err := rowfile.Encode(r)
	if err != nil {
		return err
	}
	return rowfile.WriteFile(file, data)
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("rowtest: %v", err))
	}
}
