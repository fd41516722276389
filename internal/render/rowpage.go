package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/render/chart"
	"rowproof/internal/render/format"
	"rowproof/internal/render/kept"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// rowView is the page of one row: /r/ID/.
type rowView struct {
	ID         string
	Model      string
	ModelLink  string
	Cell       string
	CellLink   string
	Load       string
	Workload   string
	Sign       string
	Verdict    sentence
	Notes      []string
	Six        []bigFigure
	Reasons    []dash
	Gauge      gaugeView
	Histogram  histogramView
	Offered    []fact // how requests came and how long they were, where it is not the usual load
	Client     *clientView
	Gates      []gateView
	Labels     []labelView
	Recipe     []fact // as it was
	Receipt    []fact
	Server     []fact
	Commands   []command
	Repeats    []repeatView
	RepeatHead []column
	Starts     string // what the intervals cannot see; "" where there is none, or nobody says
	All        []figureLine
	Rates      []rateLine
	Downloads  []download
	Stated     *statedView
	Verify     *verifyView
}

// verifyView is what a reader's browser needs to make the row again; nil where its samples
// cannot be fetched.
type verifyView struct {
	Index           int
	Report          string // addresses
	Samples         string
	Evidence        string
	Full, Integrity string
	Size            string // of what is fetched
}

// verifyHere is nil where a file of the row is not published.
func (s *site) verifyHere(m *measured, downloads []download) *verifyView {
	v := &verifyView{Index: m.Index, Full: s.assets.full.address, Integrity: s.assets.full.integrity}
	var bytes int64
	for _, d := range downloads {
		switch bytes += d.bytes; d.Name {
		case reportDownload:
			v.Report = d.Address
		case samplesDownload:
			v.Samples = d.Address
		case evidenceDownload:
			v.Evidence = d.Address
		}
	}
	if v.Report == "" || v.Samples == "" {
		return nil
	}
	v.Size = format.Bytes(float64(bytes))
	return v
}

// bigFigure is one of the six figures that a row opens with.
type bigFigure struct {
	Name, Unit string
	Field      string // as recorded; "" of one that is derived
	tableFigure
}

type gateView struct {
	Name    string
	Answer  string
	Class   string
	Reason  string
	Mend    string
	Figures []gate.Compared
}

// labelView is one thing that the recipe claims beside what the server reported.
type labelView struct {
	Name, Claimed, Reported string
	Equal                   bool
	Known                   bool // it was reported at all
}

type fact struct {
	Name, Text, Note string
	Code             bool
	Long             bool     // takes the width of a phone
	Parts            []string // of Text, where lines break between them only
}

type command struct{ Name, Text string }

type repeatView struct {
	N       string
	Started string
	Figures []tableFigure
}

// figureLine is one latency with all its percentiles, as recorded.
type figureLine struct {
	Name, Field string
	Values      []exactValue
	N           string
}

type rateLine struct {
	Name, Field, Unit string
	Value, Interval   string
	Reason            string
}

type exactValue struct{ Field, Value, Reason string }

type download struct {
	Name, Address, Size, SHA256 string
	bytes                       int64
}

// What a row's downloads are called.
const (
	reportDownload   = "Report"
	samplesDownload  = "Samples of this row"
	evidenceDownload = "Evidence of the run"
)

type gaugeView struct {
	SVG       template.HTML
	Note      string
	Causes    []string   // what could explain a figure above its roof, tried
	Working   []fact     // how the roof came about
	Links     []string   // what the links between devices ask, where several share a model
	Recompute *recompute // for the page to compute again; nil: nothing to
}

type histogramView struct {
	Title string
	SVG   template.HTML
	Note  string
}

// ofAnyHost is a command as another host would run it: its output goes where that host's
// reader is, not into a folder of the host that measured.
func ofAnyHost(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok && name == "--output" && strings.HasPrefix(value, "/") {
			words[i] = "--output=" + shownOutput
		} else if i > 0 && words[i-1] == "--output" && strings.HasPrefix(word, "/") {
			words[i] = shownOutput
		}
	}
	return words
}

const shownOutput = "out/run"

// writeRow draws the page of one row; samples and evidence are those of the row, and of
// sums up all that the page is made from.
func (s *site) writeRow(m *measured, samples []row.Sample, ev *row.Evidence, downloads []download, of kept.Digest) error {
	v := &rowView{
		ID:        m.ID,
		Model:     m.modelName(),
		ModelLink: "recipes/" + m.Key.Model + "/",
		Cell:      onDevices(m.targetName(), m.recipe()) + " · " + s.strategyName(m.Key.Strategy),
		CellLink:  "recipes/" + m.Key.Model + "/#" + m.Key.anchor(),
		Load:      shapeWords(&m.Workload) + ", " + m.load(),
		Workload:  workload(&m.Workload),
		Sign:      m.sign(),
		Verdict:   verdict(m),
		Notes:     s.notes(m),
		Gauge:     s.decodeGauge(m, "roof"),
		Histogram: histogram(m, samples),
		Offered:   append(offeredFacts(m), goodputFact(m, samples)...),
		Client:    newClientView(m, samples, ev),
		Gates:     gateViews(m.Gates),
		Labels:    labels(m.Report),
		Receipt:   receiptFacts(m),
		Server:    serverFacts(&m.Row.Server, &m.Counts, m.Notes),
		Downloads: downloads,
		Stated:    stated(m),
		Verify:    s.verifyHere(m, downloads),
	}
	if was := m.Report.AsItWas; was != nil {
		v.Recipe = recipeFacts(&was.Recipe)
	}
	v.Commands = s.reproduce(m, downloads)
	var missing letters
	one := []*measured{m}
	for _, c := range []struct {
		field string
		column
	}{
		{"ttft_ms.p50", latencyColumn("TTFT p50", "ttft_ms", p50, one, ttft)},
		{"ttft_ms.p99", latencyColumn("TTFT p99", "ttft_ms", p99, one, ttft)},
		{"itl_ms.p50", latencyColumn("ITL p50", "itl_ms", p50, one, itl)},
		{"itl_ms.p99", latencyColumn("ITL p99", "itl_ms", p99, one, itl)},
		{"", newColumn("Per user, median", "tok/s", one, (*measured).perUser)},
		{"output_tok_s_per_gpu", newColumn("Per GPU", "output tok/s/GPU", one, (*measured).perGPU)},
	} {
		v.Six = append(v.Six, bigFigure{c.Name, c.Unit, c.field, c.figure(m, &missing)})
	}
	v.Repeats, v.RepeatHead = repeatViews(m, &missing)
	v.Starts = starts(m)
	v.Reasons = missing.Reasons()
	v.All, v.Rates = figureLines(m)
	return s.write(&page{
		Address: m.address(), Kind: "row", Section: "recipes/",
		Title:       fmt.Sprintf("%s, %s, %s, %s", v.Model, v.Cell, v.Load, m.ID),
		Description: v.Verdict.String(),
		Main:        v,
		frame:       frame{Newest: format.Date(m.Report.MeasuredAt)},
		Of:          of,
	})
}

func (m *measured) modelName() string {
	if m.Model != nil && m.Model.Name != "" {
		return m.Model.Name
	}
	return m.Key.Model
}

// sign is the verdict that the row's sign shows.
func (m *measured) sign() string {
	if m.Withdrawn != nil {
		return gate.Withdrawn
	}
	return m.Verdict
}

// notes are what a reader must know before the figures.
func (s *site) notes(m *measured) []string {
	var notes []string
	if s.olderRecipe(m) {
		notes = append(notes, "Older recipe: the recipe has changed since this row was measured. The gates judge the row by the recipe as it was.")
	}
	if m.Report.Receipt.Weights.Source == "random" {
		notes = append(notes, randomWeights)
	}
	if m.queueBound() {
		notes = append(notes, "Queue-bound: fewer streams were served at once than were offered, so the row stands in no front.")
	}
	switch words := kindOf(&m.Workload).words; {
	case words != "":
		notes = append(notes, capital(words)+": the row stands in no front and no ranking, which are of streams kept full with fresh random prompts.")
	case m.Workload.Protocol == row.Passes:
		notes = append(notes, "Measured in passes: the row stands in no ranking, which are of sustained rows.")
	}
	return notes
}

// olderRecipe says whether today's recipe, its model or its target is another than the
// row was measured with.
func (s *site) olderRecipe(m *measured) bool {
	today, was := s.today.Recipes[m.Key.String()], m.Report.AsItWas
	if today == nil || was == nil {
		return false
	}
	if differ(today, &was.Recipe) {
		return true
	}
	if model := s.today.Models[m.Key.Model]; model != nil {
		// Where a figure was found changes nothing.
		a, b := *model, was.Model
		a.Sources, b.Sources = nil, nil
		if differ(a, b) {
			return true
		}
	}
	if target, ok := s.today.Target(m.Key.Target); ok {
		return differ(rowfile.Bounding(*target, &was.Target), rowfile.Bounding(was.Target, &was.Target))
	}
	return false
}

func differ(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && !bytes.Equal(x, y)
}

const randomWeights = "Random weights: speed only; no accuracy figure belongs to this row."

// gateViews puts what failed first, then what could not be judged, then what warned.
func gateViews(results []gate.Result) []gateView {
	order := map[gate.Answer]int{gate.Fail: 0, gate.Unjudged: 1, gate.Warn: 2, gate.Pass: 3, gate.NotApplicable: 4, gate.NotAsked: 5}
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b gate.Result) int { return cmp.Compare(order[a.Answer], order[b.Answer]) })
	views := make([]gateView, len(sorted))
	for i, g := range sorted {
		class := ""
		switch g.Answer {
		case gate.Fail, gate.Unjudged:
			class = "bad"
		case gate.Warn:
			class = "warn"
		}
		// What was tried stands beside the gauge, one a line.
		views[i] = gateView{g.Gate, g.Answer.String(), class, g.Head(), g.Mend, g.Figures}
	}
	return views
}

// labels are what gate label compared: claimed by the recipe, reported by the server.
func labels(r *row.Report) []labelView {
	all := gate.Labels(r)
	views := make([]labelView, len(all))
	for i, l := range all {
		views[i] = labelView{l.Name, l.Stated, cmp.Or(l.Reported, "not reported"), l.Equal, l.Reported != ""}
	}
	return views
}

func receiptFacts(m *measured) []fact {
	r := &m.Report.Receipt
	var facts []fact
	add := func(name, value, field string) {
		if value == "" {
			facts = append(facts, fact{Name: name, Text: "—", Note: cmp.Or(r.Unread[field], "not reported")})
			return
		}
		facts = append(facts, fact{Name: name, Text: value})
	}
	add("Engine", strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version), "engine.version")
	add("Serves", r.Engine.Model, "engine.model")
	add("Server started", format.Time(r.Engine.StartedAt), "engine.started_at")
	if len(r.Engine.CommandLine) > 0 {
		facts = append(facts, fact{Name: "Command line", Text: quoted(r.Engine.CommandLine), Parts: flagParts(r.Engine.CommandLine)})
	} else {
		add("Command line", "", "engine.command_line")
	}
	add("Arguments from", r.Engine.ArgumentsFrom, "engine.arguments")
	add("Weights", strings.TrimSpace(r.Weights.Source+" "+r.Weights.Revision), "weights.source")
	if sum := r.Weights.HeadersSHA256; sum != "" || r.Unread["weights.headers_sha256"] != "" {
		if sum != "" {
			sum = "sha256 " + sum + " of " + format.Plural(int(r.Weights.Files), "file", "files")
		}
		add("Headers of the weights", sum, "weights.headers_sha256")
	}
	if len(r.Devices) == 0 {
		add("Devices", "", "devices")
	}
	for _, d := range r.Devices {
		var parts []string
		parts = append(parts, d.Name)
		if d.MemoryBytes != nil {
			parts = append(parts, format.Bytes(float64(*d.MemoryBytes)))
		}
		if d.Driver != "" {
			parts = append(parts, "driver "+d.Driver)
		}
		if d.Partition != "" {
			parts = append(parts, d.Partition)
		}
		if d.ECC == "Disabled" {
			parts = append(parts, "ECC off")
		}
		if !d.Used {
			parts = append(parts, "not used by the server")
		}
		parts = append(parts, d.Processes...)
		add(fmt.Sprintf("Device %d", d.Index), strings.Join(parts, ", "), "devices")
	}
	if b := r.BeforeLaunch; b != nil {
		facts = append(facts, beforeLaunchFact(b))
	}
	add("Runtime", strings.TrimSpace(r.Runtime.Kind+" "+r.Runtime.Image), "runtime.kind")
	if len(r.Runtime.Packages) > 0 {
		facts = append(facts, packagesFact(r.Runtime.Packages))
	} else {
		add("Packages", "", "runtime.packages")
	}
	if len(r.Runtime.Libraries) > 0 {
		f := packagesFact(r.Runtime.Libraries)
		f.Name = "Libraries"
		facts = append(facts, f)
	}
	add("Kernel", r.Host.Kernel, "host.kernel")
	cpu := r.Host.CPU
	if r.Host.Cores > 0 && cpu != "" {
		cpu += ", " + format.Plural(int(r.Host.Cores), "core", "cores")
	}
	add("CPU", cpu, "host.cpu")
	numa := ""
	if r.Host.NUMABalancing != nil {
		numa = format.Count(*r.Host.NUMABalancing)
	}
	add("NUMA balancing", numa, "host.numa_balancing")
	swapped := ""
	if r.Host.SwapUsedBytes != nil {
		swapped = format.Bytes(float64(*r.Host.SwapUsedBytes)) + " in use"
	}
	// Reports from before these were read say nothing of them, nor why.
	for _, f := range []struct{ name, value, field string }{
		{"CPU governor", r.Host.Governor, "host.governor"},
		{"Transparent huge pages", r.Host.HugePages, "host.huge_pages"},
		{"Swap", swapped, "host.swap_used_bytes"},
		{"Open files allowed", r.Host.OpenFiles, "host.open_files"},
	} {
		if f.value != "" || r.Unread[f.field] != "" {
			add(f.name, f.value, f.field)
		}
	}
	add("Tool", strings.TrimSpace("measure "+m.Report.Tool.Version+" "+m.Report.Tool.Revision), "tool")
	return facts
}

// beforeLaunchFact is what of the devices' memory was another's before the run started its
// server.
func beforeLaunchFact(b *row.BeforeLaunch) fact {
	const name = "In use before the launch"
	var parts []string
	for _, d := range b.Devices {
		if d.MemoryUsed == nil {
			parts = append(parts, fmt.Sprintf("device %d: not told", d.Index))
			continue
		}
		parts = append(parts, fmt.Sprintf("device %d: %s", d.Index, format.Bytes(float64(*d.MemoryUsed))))
	}
	if parts == nil {
		return fact{Name: name, Text: "—", Note: cmp.Or(b.Unread, "no device was listed")}
	}
	return fact{Name: name, Text: strings.Join(parts, ", ")}
}

func packagesFact(p map[string]string) fact {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, name+"=="+p[name])
	}
	return fact{Name: "Packages", Text: strings.Join(parts, " "), Parts: parts}
}

// flagParts are flags as a shell takes them, each with its value.
func flagParts(flags []string) []string {
	var parts []string
	for i, f := range flags {
		if i > 0 && !strings.HasPrefix(f, "-") && strings.HasPrefix(flags[i-1], "-") {
			parts[len(parts)-1] += " " + shellQuote(f)
			continue
		}
		parts = append(parts, shellQuote(f))
	}
	return parts
}

// serverFacts are counts of the client and the engine's own counters.
func serverFacts(sv *row.Server, c *row.Counts, notes []string) []fact {
	facts := []fact{
		{Name: "Requests", Text: fmt.Sprintf("%s planned, %s completed, %s failed", format.Count(c.Planned), format.Count(c.Completed), format.Count(c.Failed))},
		{Name: "Tokens counted by", Text: cmp.Or(c.TokensFrom, "—")},
		{Name: "Chunks", Text: fmt.Sprintf("%s, of which %s carried several tokens and %s had no stamp", format.Count(c.Chunks), format.Count(c.MultiTokenChunks), format.Count(c.Unstamped))},
	}
	add := func(name string, v *int64) {
		f := fact{Name: name, Text: "—", Note: "the engine does not say"}
		if v != nil {
			f = fact{Name: name, Text: format.Count(*v)}
		}
		facts = append(facts, f)
	}
	add("Prompt tokens from cache", c.CachedTokens)
	add("Running at most", sv.RunningMax)
	add("Waiting at most", sv.WaitingMax)
	add("Preemptions", sv.Preemptions)
	if sv.KVUsageMax != nil {
		facts = append(facts, fact{Name: "KV cache used at most", Text: format.Percent(*sv.KVUsageMax)})
	}
	if c.Reasoning != nil {
		facts = append(facts, fact{Name: "Reasoning", Text: format.Plural(int(*c.Reasoning), "token", "tokens") + " of the output"})
	}
	if sv.Clock != nil {
		facts = append(facts, fact{Name: "By the server's own clock", Text: clockWords(sv.Clock)})
	}
	if len(notes) > 0 {
		facts = append(facts, fact{Name: "Notes", Text: strings.Join(notes, "; "), Long: true})
	}
	return facts
}

// clockWords are the figures that the server's own clock gives.
func clockWords(c *row.Clock) string {
	var words []string
	for _, w := range []struct {
		name, unit string
		value      *float64
	}{{"prefill", "tok/s", c.PrefillTokPerSec}, {"decode", "tok/s", c.DecodeTokPerSec}, {"whole request, loading left out", "ms", c.TotalLessLoad}} {
		if w.value != nil {
			words = append(words, w.name+" "+format.Quantity(format.Prose(*w.value), w.unit))
		}
	}
	return strings.Join(words, ", ")
}

// repeatViews are the row's repeats beside each other.
func repeatViews(m *measured, missing *letters) ([]repeatView, []column) {
	type part struct {
		name, unit, missing string
		pick                func(*row.Repeat) *float64
	}
	dist := func(d *row.Dist, q quantile) *float64 {
		if d == nil {
			return nil
		}
		return q.value(d)
	}
	parts := []part{
		{"TTFT p50", "ms", "ttft_ms.p50", func(r *row.Repeat) *float64 { return dist(r.TTFT, p50) }},
		{"TTFT p99", "ms", "ttft_ms.p99", func(r *row.Repeat) *float64 { return dist(r.TTFT, p99) }},
		{"TPOT p50", "ms", "tpot_ms.p50", func(r *row.Repeat) *float64 { return dist(r.TPOT, p50) }},
		{"ITL p50", "ms", "itl_ms.p50", func(r *row.Repeat) *float64 { return dist(r.ITL, p50) }},
		{"ITL p99", "ms", "itl_ms.p99", func(r *row.Repeat) *float64 { return dist(r.ITL, p99) }},
		{"Output", "tok/s", "output_tok_s", func(r *row.Repeat) *float64 { return r.OutputTokPerSec }},
	}
	views := make([]repeatView, len(m.PerRepeat))
	for i := range m.PerRepeat {
		views[i] = repeatView{N: format.Count(int64(i + 1)), Started: cmp.Or(format.Time(m.PerRepeat[i].ServerStartedAt), "not reported")}
	}
	var heads []column
	for _, p := range parts {
		var values []float64
		for i := range m.PerRepeat {
			if v := p.pick(&m.PerRepeat[i]); v != nil {
				values = append(values, *v)
			}
		}
		form := format.NewColumn(p.unit, values)
		if p.unit == "ms" {
			form = format.Milliseconds(values)
		}
		heads = append(heads, column{Name: p.name, Unit: form.Unit})
		for i := range m.PerRepeat {
			f := tableFigure{}
			if v := p.pick(&m.PerRepeat[i]); v != nil {
				f.Figure = form.Figure(*v)
			} else {
				f.Dash = missing.dash(cmp.Or(m.Missing[p.missing], "not enough samples a repeat"))
			}
			views[i].Figures = append(views[i].Figures, f)
		}
	}
	return views, heads
}

// starts says how many starts of the server the intervals are over.
func starts(m *measured) string {
	switch n := m.Starts(); {
	case n == 0 || len(m.PerRepeat) < 2:
		return ""
	case n == 1:
		return "All are of one start of the server: the intervals do not see what differs between starts."
	default:
		return fmt.Sprintf("The intervals are over %d starts of the server.", n)
	}
}

// figureLines give every figure of the row exactly as recorded.
func figureLines(m *measured) ([]figureLine, []rateLine) {
	f := &m.Figures
	var all []figureLine
	for _, l := range []struct {
		name, field string
		dist        *row.Dist
	}{
		{"TTFT", "ttft_ms", f.TTFT}, {"TTFA", "ttfa_ms", f.TTFA}, {"Send to first token", "send_ttft_ms", f.SendTTFT},
		{"TPOT", "tpot_ms", f.TPOT}, {"ITL", "itl_ms", f.ITL}, {"Decode ITL", "itl_decode_ms", f.ITLDecode},
		{"Ingest gap", "ingest_gap_ms", f.IngestGap}, {"Chunk gap", "chunk_gap_ms", f.ChunkGap}, {"E2E", "e2e_ms", f.E2E},
	} {
		line := figureLine{Name: l.name, Field: l.field, N: "0"}
		if l.dist != nil {
			line.N = format.Count(l.dist.N)
		}
		for _, q := range []quantile{mean, p50, p90, p95, p99} {
			e := latency(l.dist, q, m.Missing, l.field)
			if e.Value == nil {
				line.Values = append(line.Values, exactValue{Field: l.field + "." + q.name, Reason: e.Reason})
				continue
			}
			line.Values = append(line.Values, exactValue{Field: l.field + "." + q.name, Value: format.Exact(*e.Value)})
		}
		all = append(all, line)
	}
	var rates []rateLine
	for _, r := range []struct {
		name, field, unit string
		value             *float64
	}{
		{"First call", "first_call_ms", "ms", f.FirstCall},
		{"Prefill", "prefill_tok_s", "tok/s", f.PrefillTokPerSec},
		{"Prefill, uncached", "uncached_prefill_tok_s", "tok/s", f.UncachedPrefillTokPerSec},
		{"Decode", "decode_tok_s", "tok/s", f.DecodeTokPerSec},
		{"Decode, window", "decode_window_tok_s", "tok/s", f.DecodeWindowTokPerSec},
		{"Output", "output_tok_s", "tok/s", f.OutputTokPerSec},
		{"Input + output", "total_tok_s", "tok/s", f.TotalTokPerSec},
		{"Output per GPU", "output_tok_s_per_gpu", "output tok/s/GPU", f.OutputTokPerSecPerGPU},
		{"Input + output per GPU", "total_tok_s_per_gpu", "input+output tok/s/GPU", f.TotalTokPerSecPerGPU},
		{"Requests", "request_s", "requests/s", f.RequestPerSec},
		{"Energy", "energy_j_per_output_tok", "J per output token", f.EnergyPerOutputTok},
		{"Power", "power_w", "W", f.Power},
		{"Peak memory", "peak_memory_bytes", "bytes", f.PeakMemory},
	} {
		e := m.rate(r.value, r.field)
		line := rateLine{Name: r.name, Field: r.field, Unit: r.unit, Reason: e.Reason}
		if e.Value != nil {
			line.Value = format.Exact(*e.Value)
		}
		if e.Interval != nil {
			line.Interval = format.Exact(e.Interval[0]) + "–" + format.Exact(e.Interval[1])
		}
		rates = append(rates, line)
	}
	return all, rates
}

// histogram draws the gaps between tokens of the timed requests.
func histogram(m *measured, samples []row.Sample) histogramView {
	gaps, ofTokens := row.TokenGaps(samples)
	if len(gaps) == 0 {
		return histogramView{Note: "No gap between tokens was kept, so there is no histogram."}
	}
	slices.Sort(gaps) // once, for all that bins them
	longest := gaps[len(gaps)-1]
	spec := chart.HistogramSpec{ID: "itl", Gaps: gaps}
	if d := m.Figures.ITL; d != nil && ofTokens {
		spec.P50, spec.P99 = d.P50, d.P99
	}
	spec.Label = "How long the gaps between chunks were, with the median and the 99th percentile of ITL."
	if spec.P50 != nil && spec.P99 != nil {
		spec.Label = fmt.Sprintf("Half of the gaps between tokens are at most %s, and 99 in 100 at most %s.",
			format.Quantity(format.Prose(*spec.P50), "ms"), format.Quantity(format.Prose(*spec.P99), "ms"))
	}
	lines := "lines at p50 and p99 of ITL over all gaps"
	if spec.P99 != nil && !chart.OnAxis(gaps, *spec.P99) {
		lines = "the line at p50 of ITL over all gaps; p99, " + format.Quantity(format.Prose(*spec.P99), "ms") + ", lies in the bin beyond the break"
	}
	switch {
	case !ofTokens:
		lines = "between chunks: those between tokens can't be told"
	case m.Counts.MultiTokenChunks > 0:
		lines += fmt.Sprintf("; the gap before a chunk of several tokens, as %s were, is spread over them", format.Count(m.Counts.MultiTokenChunks))
	}
	return histogramView{
		Title: spec.Label,
		SVG:   template.HTML(chart.Histogram(spec)),
		Note: fmt.Sprintf("%s gaps of %s, %s. The longest gap took %s.",
			format.Count(int64(len(gaps))), m.load(), lines, format.Quantity(format.Prose(float64(longest)/1e3), "ms")),
	}
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
