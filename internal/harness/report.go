package harness

import (
	"fmt"
	"slices"
	"strconv"

	"rowproof/internal/row"
)

// Ask is what a report of other tools' runs needs besides their file.
type Ask struct {
	Sum          string // SHA-256 of the file, in hex
	Tool         row.Tool
	Recipe       string // "" where none is named
	AsItWas      *row.AsItWas
	MeasuredAt   string // for runs whose file does not say when; RFC 3339 in UTC
	MeasuredFrom string // where MeasuredAt comes from, in words

	// What the file does not say of the load, as whoever imports it states it; nil, 0: nothing.
	ISL, OSL, Concurrency int64
	Rate                  *string
}

// Report makes a report of the runs, its rows without ids, and the samples of each row;
// nil of one whose file holds no requests. problems are all that stands in the way.
func (r *Result) Report(a Ask) (report *row.Report, samples [][]row.Sample, problems []string) {
	first := &r.Runs[0]
	report = &row.Report{
		Schema: row.Schema, Recipe: a.Recipe, AsItWas: a.AsItWas, MeasuredAt: first.At, Tool: a.Tool,
		Receipt: receipt(first, r.Tool), Client: row.Client{}, Rows: []row.Row{},
	}
	if report.MeasuredAt == "" {
		report.MeasuredAt = a.MeasuredAt
		report.Receipt.Unread["measured_at"] = "the file does not say when; " + a.MeasuredFrom
	}
	gpus := int64(0)
	if a.AsItWas != nil {
		gpus = a.AsItWas.Recipe.GPUs()
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		w, unsaid, wrong := a.workload(run)
		if wrong != "" {
			problems = append(problems, fmt.Sprintf("run %d: %s", run.Place, wrong))
			continue
		}
		source := a.Sum + "#" + strconv.FormatInt(run.Place, 10)
		n := row.Row{
			Workload: w, Status: run.Status, Reason: run.Reason, Notes: []string{}, PerRepeat: []row.Repeat{},
			Figures: run.Figures, Missing: run.Missing,
			Proof:  row.Proof{Source: &source},
			Import: &row.Import{Tool: r.Tool, Version: r.Version, Format: r.Format, Clock: r.Clock, Stated: run.Stated, DurationS: run.DurationS, Unsaid: unsaid},
		}
		if n.Import.Stated == nil {
			n.Import.Stated = []row.Stated{}
		}
		if run.Samples != nil {
			c := row.Compute(&w, gpus, run.Samples, nil)
			n.Figures, n.Missing, n.PerRepeat, n.Counts, n.Server = c.Figures, c.Missing, c.PerRepeat, c.Counts, c.Server
			if n.Counts.Completed == 0 && n.Status == row.StatusOK {
				n.Status, n.Reason = row.StatusError, "no request completed"
			}
		} else {
			unmeasured(&n, run)
		}
		report.Rows = append(report.Rows, n)
		samples = append(samples, run.Samples)
	}
	return report, samples, problems
}

// workload is that of a run, with what was stated beside the file.
func (a *Ask) workload(run *Run) (w row.Workload, unsaid []string, wrong string) {
	w, unsaid = run.Workload, slices.Clone(run.Unsaid)
	for _, of := range []struct {
		field string
		to    *int64
		said  int64
	}{{"isl", &w.ISL, a.ISL}, {"osl", &w.OSL, a.OSL}} {
		if of.said > 0 && slices.Contains(unsaid, of.field) {
			*of.to = of.said
			unsaid = slices.DeleteFunc(unsaid, func(f string) bool { return f == of.field })
		}
	}
	if w.Load.Concurrency == nil && a.Concurrency > 0 {
		w.Load.Concurrency = &a.Concurrency
	}
	if w.Load.RequestRate == nil && a.Rate != nil {
		w.Load.RequestRate = a.Rate
	}
	switch {
	case w.Load.Concurrency == nil && w.Load.RequestRate == nil:
		wrong = "the file does not say how the requests were sent; want --concurrency N of streams kept full, or --request-rate R"
	case w.Load.Concurrency != nil && *w.Load.Concurrency == 0:
		wrong = "the file says that 0 requests were under way"
	case w.ISL == 0 && w.OSL == 0:
		wrong = "the file does not say how long prompts and outputs are; want --isl and --osl"
	}
	return w, unsaid, wrong
}

// Against says where what is stated beside a file is not what the file says itself.
func (a *Ask) Against(r *Result) (wrong []string) {
	for i := range r.Runs {
		w := &r.Runs[i].Workload
		for _, of := range []struct {
			field      string
			file, said int64
		}{
			{"isl", w.ISL, a.ISL}, {"osl", w.OSL, a.OSL}, {"concurrency", pointed(w.Load.Concurrency), a.Concurrency},
		} {
			if of.said > 0 && of.file > 0 && of.said != of.file && !slices.Contains(r.Runs[i].Unsaid, of.field) {
				wrong = append(wrong, "--"+of.field+" says "+strconv.FormatInt(of.said, 10)+", the file "+strconv.FormatInt(of.file, 10)+"; the file's stands")
			}
		}
		if rate := w.Load.RequestRate; rate != nil && a.Rate != nil && *rate != *a.Rate {
			wrong = append(wrong, "--request-rate says "+*a.Rate+", the file "+*rate+"; the file's stands")
		}
	}
	return wrong
}

func pointed(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

// receipt is what the file repeats of the server; the rest was read by nobody.
func receipt(run *Run, tool string) row.Receipt {
	const unread = "not read: imported from a file of "
	r := row.Receipt{
		Engine:  row.EngineReceipt{Name: run.Engine, Version: first(run.Server, "version"), Model: run.Model, Arguments: map[string]string{}},
		Weights: row.WeightsReceipt{Source: "unknown"}, Devices: []row.Device{},
		Runtime: row.RuntimeReceipt{Kind: "unknown", Packages: map[string]string{}},
		Unread:  map[string]string{},
	}
	for _, field := range []string{"engine.command_line", "engine.started_at", "weights.source", "devices", "host.kernel", "host.cpu", "host.numa_balancing", "runtime.kind", "runtime.packages"} {
		r.Unread[field] = unread + tool
	}
	if len(run.Server) > 0 {
		r.Engine.Arguments, r.Engine.ArgumentsFrom = run.Server, "server_info in the file of "+tool
	} else {
		r.Unread["engine.arguments"] = unread + tool
	}
	if r.Engine.Name == "" {
		r.Unread["engine.name"] = "the file names a protocol, not an engine"
	}
	if r.Engine.Version == "" {
		r.Unread["engine.version"] = unread + tool
	}
	return r
}

// unmeasured fills in the reasons of a row whose figures are the tool's own.
func unmeasured(n *row.Row, run *Run) {
	const says = "the file does not give it"
	f := &n.Figures
	f.Intervals = map[string]row.Interval{}
	missing := n.Missing
	n.Missing = map[string]string{}

	if n.Workload.Requests != nil {
		n.Counts.Planned = *n.Workload.Requests
	}
	for _, d := range f.Dists() {
		if d.Dist == nil {
			n.Missing[d.Name] = says
			for _, stat := range []string{"p50", "mean", "p99"} {
				if why := missing[d.Name+"."+stat]; why != "" {
					n.Missing[d.Name] = why
					break
				}
			}
			continue
		}
		for _, p := range []struct {
			stat string
			v    *float64
		}{{"mean", d.Dist.Mean}, {"p50", d.Dist.P50}, {"p90", d.Dist.P90}, {"p95", d.Dist.P95}, {"p99", d.Dist.P99}} {
			if p.v == nil {
				name := d.Name + "." + p.stat
				n.Missing[name] = says
				if missing[name] != "" {
					n.Missing[name] = missing[name]
				}
			}
		}
	}
	for _, s := range f.Scalars() {
		if s.Value == nil {
			n.Missing[s.Name] = says
			if missing[s.Name] != "" {
				n.Missing[s.Name] = missing[s.Name]
			}
		}
	}

	if run.NoSamples != "" {
		n.Missing["samples"] = run.NoSamples
	}
}
