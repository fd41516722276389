package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rowproof/internal/catalog"
	"rowproof/internal/engine"
	"rowproof/internal/host"
	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// sweep is a run under way against one server.
type sweep struct {
	o       *benchOptions
	srv     *server
	cat     *catalog.Catalog
	ref     host.ServerRef
	answer  *row.Sample // of a short request before the first row; nil when none succeeded
	gpus    int64       // 0: unknown
	started string
	untied  string // what keeps the receipt of --receipt from being tied to the run
	stamps  string // ring, ktime or read
	used    prompts.Used
	draw    *prompts.Draw  // of the dataset; nil without one
	extra   []string       // notes that every row carries
	single  map[shape]bool // shapes whose rate at c=1 is known
	bar     *progress
}

// finished is one row with what proves it.
type finished struct {
	row      row.Row
	samples  []row.Sample
	evidence row.Evidence
	seed     row.SeedColumns
	gone     bool // the server could not be reached any more
}

// measure runs one planned row to its end: whatever the server does, there is a row that
// says so. An interrupt of ctx, which work outlives for a while, leaves a row in part if
// a timed request has completed, and else none.
func (s *sweep) measure(ctx, work context.Context, n int, p planned) *finished {
	m := &finished{}
	w := &p.workload
	zero, wall := loadgen.Now(), time.Now().UTC()
	sampler := host.NewSampler(s.ref)
	sampler.Start(work, zero)
	asks := s.requests(&p)
	var broken error
	var stats []row.CaptureStats
	var said []string
	for repeat := range int(w.Repeats) {
		if ctx.Err() != nil {
			break
		}
		spec := s.spec(p, repeat, zero)
		spec.Stop = ctx.Done()
		spec.Build = asks.build(repeat)
		began := time.Now()
		spec.Progress = func(so loadgen.Progress) {
			s.bar.repeat(p, repeat, so, began)
		}
		capture, err := loadgen.Run(work, spec)
		if capture == nil {
			broken = err
			break
		}
		samples := engine.Samples(capture)
		said = append(said, asks.asked(repeat, samples)...)
		m.samples = append(m.samples, samples...)
		capture.Stats.ServerStartedAt = s.started
		stats = append(stats, capture.Stats)
		said = append(said, capture.Notes...)
	}
	m.evidence = sampler.Stop()
	m.evidence.Row = int64(n)
	m.evidence.Zero = wall.Format(time.RFC3339Nano)
	m.evidence.Capture = stats
	if s.o.receipt != "" {
		lasted := row.Lasted(m.samples)
		if f, err := watchedUntil(work, s.o.receipt, wall.Add(time.Duration(lasted)*time.Microsecond)); err != nil {
			m.evidence.Unread["devices"] = err.Error()
		} else {
			rowfile.Watched(f, &m.evidence, lasted)
		}
	}
	cleanAll(&m.evidence, s.o.secrets.clean)
	for i := range m.samples {
		m.samples[i].Reason = s.o.secrets.clean(m.samples[i].Reason)
	}
	if w.Prompts.Kind == row.PromptsDataset {
		stateDataset(w, m.samples)
	}
	if note, err := thin(m.samples, p.seed, mostSamples); err != nil {
		broken = errors.Join(broken, err)
	} else if note != "" {
		said = append(said, note)
	}
	if ctx.Err() != nil && !slices.ContainsFunc(m.samples, func(x row.Sample) bool { return x.Phase == row.PhaseTimed && x.OK() }) {
		return nil
	}
	s.compute(m, w, broken, said)
	switch {
	case ctx.Err() != nil:
		if why := inPart(w, &m.row.Counts); why != "" {
			m.row.Status, m.row.Reason = row.StatusError, why
		}
	case m.row.Status == row.StatusError:
		why := s.srv.gone(goneWithin)
		if m.gone = why != ""; !m.gone {
			break
		}
		if l := s.o.launch.server; l != nil {
			why = cmp.Or(l.soonDied(), why)
		}
		gone := "the server is gone (" + why + ")"
		if len(m.samples) > 0 {
			gone += "; " + m.row.Reason
		}
		m.row.Reason = oneLine(gone)
	}
	return m
}

// compute fills the row from the samples.
func (s *sweep) compute(m *finished, w *row.Workload, broken error, said []string) {
	c := row.Compute(w, s.gpus, m.samples, &m.evidence)
	m.seed = row.Seed(w, m.samples)
	m.row = row.Row{
		Workload: *w, Status: row.StatusOK,
		Figures: c.Figures, Missing: c.Missing, PerRepeat: c.PerRepeat, Counts: c.Counts, Server: c.Server,
	}
	if reason := whyFailed(w, &c.Counts, m.samples, broken); reason != "" {
		m.row.Status, m.row.Reason = row.StatusError, oneLine(s.o.secrets.clean(reason))
	}
	m.row.Notes = notes(&m.row, m.seed, s.stamps, slices.Concat(said, busyNote(m.evidence.Capture), s.alone(w, &m.seed), s.extra))
	cleanAll(&m.row, s.o.secrets.clean)
	m.evidence.Notes = slices.Clone(m.row.Notes[len(row.Notes(&m.row, m.seed, s.stamps)):])
}

// alone remembers the rates at c=1, and says where there is none to divide by.
func (s *sweep) alone(w *row.Workload, seed *row.SeedColumns) []string {
	if w.OpenLoop() {
		return nil
	}
	key := shape{w.ISL, w.OSL}
	if w.Prompts.Kind == row.PromptsDataset {
		key = shape{} // one of all rows, whatever each drew
	}
	if *w.Load.Concurrency == 1 && seed.DecodeTokPerSec != nil {
		if s.single == nil {
			s.single = map[shape]bool{}
		}
		s.single[key] = true
	}
	if s.single[key] {
		return nil
	}
	return []string{"speedup_vs_c1 and batching_efficiency: no rate at c=1 in this run"}
}

// whyFailed says in words what went wrong with a row, or "".
func whyFailed(w *row.Workload, c *row.Counts, samples []row.Sample, broken error) string {
	first := ""
	failed, asked, untimed := 0, 0, 0
	for i := range samples {
		phase := samples[i].Phase
		if phase == row.PhaseDrain {
			continue
		}
		asked++
		if phase != row.PhaseTimed {
			untimed++
		}
		if !samples[i].OK() {
			failed++
			if first == "" {
				first = samples[i].Reason
			}
		}
	}
	requests, unsent := countOf(asked, "request"), ""
	if untimed > 0 {
		requests += fmt.Sprintf(" (%d of them untimed)", untimed)
	}
	if left := int(c.Planned) - (asked - untimed); w.DurationS == nil && left > 0 {
		unsent = fmt.Sprintf(", and %d of %s stayed unsent", left, countOf(int(c.Planned), "timed request"))
	}
	switch {
	case broken != nil && len(samples) == 0:
		return broken.Error()
	case broken != nil:
		return fmt.Sprintf("stopped after %d of %s: %v", repeatsIn(samples), countOf(int(w.Repeats), "repeat"), broken)
	case failed > 0 && failed == asked && failed == 1:
		return fmt.Sprintf("the only request failed%s: %s", unsent, first)
	case failed > 0 && failed == asked:
		return fmt.Sprintf("all %s failed%s; the first: %s", requests, unsent, first)
	case failed > 0:
		return fmt.Sprintf("%d of %s failed%s; the first: %s", failed, requests, unsent, first)
	case c.Completed == 0:
		return "no timed request completed"
	case c.Completed < c.Planned:
		return fmt.Sprintf("%d of %s completed", c.Completed, countOf(int(c.Planned), "timed request"))
	}
	return ""
}

func repeatsIn(samples []row.Sample) int64 {
	var n int64
	for i := range samples {
		n = max(n, samples[i].Repeat+1)
	}
	return n
}

func (s *sweep) spec(p planned, repeat int, zero int64) loadgen.Spec {
	w := &p.workload
	spec := loadgen.Spec{
		Base:        s.srv.base,
		Header:      s.srv.header,
		Protocol:    w.Protocol,
		Concurrency: int(s.o.connections(&p)),
		Open:        p.rate != "",
		Warmup:      int(w.Warmup),
		Repeat:      repeat,
		Timeout:     s.o.timeout,
		Idle:        s.o.idle,
		Connect:     s.o.connect,
		Stamps:      s.o.stamps,
		Insecure:    s.o.insecure,
		Zero:        zero,
	}
	if spec.Open {
		spec.MaxInFlight = int(s.o.maxConcurrency)
	}
	switch {
	case w.Iters != nil:
		spec.Iters = int(*w.Iters)
	case w.Requests != nil:
		spec.Requests = int(*w.Requests)
	default:
		spec.Duration = s.o.duration
	}
	return spec
}
