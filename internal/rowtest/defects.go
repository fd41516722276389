package rowtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Made is a report of one row with what lies beside it.
type Made struct {
	Report   *row.Report
	Samples  [][]row.Sample
	Evidence []row.Evidence
}

// Write puts a report, its samples and its evidence into dir, as a run would.
func (m *Made) Write(dir string) (file string, err error) {
	file = dir + "/report.json"
	return file, WriteAs(file, m.Report, m.Samples, m.Evidence)
}

// Publish puts it where it would stand below root/data/rows.
func (m *Made) Publish(root string) (file string, err error) {
	return Write(root, m.Report, m.Samples, m.Evidence)
}

// Defect is one that was seen in rows that were really published, made again in a real
// row, whose figures, hashes and id are then as the cheat would have them.
type Defect struct {
	Name   string // for a file or a test
	Gate   string // that answers it
	Answer gate.Answer
	Reason string // part of what the gate says

	// Also are the other gates that it cannot but touch; all that are not named answer as
	// they do of Twin.
	Also map[string]gate.Answer

	// Corpus says that it is seen only where all rows are at hand.
	Corpus bool

	Row, Twin             Made
	Beside, BesideTheTwin []Made // what is published already
	Cell                  []byte // the recipe's file below data/cells, where the catalogue has another
}

const (
	oneGPU  = "llama-3.1-8b/h200-sxm/latency/vllm/2026-11-30-3562c978.json"
	twoGPUs = "llama-3.1-8b/h200-sxm-x2/latency/vllm/2026-11-30-46796f99.json"
	loaded  = "qwen3-32b/h200-sxm-x2/latency/vllm/2026-11-30-5ee76d6d.json"
)

// Defects makes each of the nine, the last in its five kinds, of the rows and the
// catalogue in data.
func Defects(data fs.FS) ([]Defect, error) {
	f := &forge{data: data, bundles: map[string]*rowfile.Bundle{}, lines: map[string][]byte{}, sealed: map[string]Made{}}
	for _, of := range []func() Defect{f.unitDrift, f.copied, f.speculation, f.neighbours, f.queueBound, f.label, f.inverse, f.denominator,
		f.lengths, f.early, f.cached, f.failed, f.empty} {
		d := of()
		if f.err != nil {
			return nil, f.err
		}
		f.list = append(f.list, d)
	}
	return f.list, nil
}

// forge reads each file once.
type forge struct {
	data    fs.FS
	bundles map[string]*rowfile.Bundle
	lines   map[string][]byte // its evidence of the run and of one row, packed
	sealed  map[string]Made
	list    []Defect
	err     error
}

func (f *forge) check(err error) {
	if f.err == nil {
		f.err = err
	}
}

// real is row i of a published report by itself. Who asks twice gets the same.
func (f *forge) real(file string, i int) Made {
	key := file + " " + strconv.Itoa(i)
	m, ok := f.sealed[key]
	if !ok {
		m = f.cut(file, i)
		m.seal()
		f.sealed[key] = m
	}
	return m
}

// cut is the same in memory of its own, to be changed and sealed.
func (f *forge) cut(file string, i int) Made {
	b := f.bundles[file]
	if b == nil {
		var err error
		if b, err = rowfile.LoadFS(f.data, "rows/"+file); err != nil {
			panic(err)
		}
		f.bundles[file] = b
	}
	text, err := rowfile.Encode(b.Report)
	must(err)
	r, _, err := rowfile.Decode(text)
	must(err)
	r.Rows = r.Rows[i : i+1]
	key := file + " " + strconv.Itoa(i)
	if f.lines[key] == nil {
		ev := b.Evidence[i+1]
		ev.Row = 0
		f.lines[key], _, err = rowfile.EncodeEvidence([]row.Evidence{b.Evidence[0], ev})
		must(err)
	}
	evidence, _, err := rowfile.DecodeEvidence(f.lines[key])
	must(err)
	samples := slices.Clone(b.Rows[i].Samples)
	for k := range samples {
		samples[k].T = slices.Clone(samples[k].T)
	}
	return Made{r, [][]row.Sample{samples}, evidence}
}

// seal gives a row the figures, notes, hashes and id that follow.
func (m *Made) seal() {
	Seal(m.Report, m.Samples, m.Evidence)
	r := &m.Report.Rows[0]
	r.Notes = row.Notes(r, row.Seed(&r.Workload, m.Samples[0]), m.Report.Client.Stamps)
	m.name()
}

// name gives a row its id by what it says, whether or not that follows.
func (m *Made) name() {
	var err error
	m.Report.Rows[0].ID, err = rowfile.ID(m.Report, 0)
	must(err)
}

func (m *Made) row() *row.Row { return &m.Report.Rows[0] }

// timed is the first timed request.
func (m *Made) timed() *row.Sample {
	return &m.Samples[0][slices.IndexFunc(m.Samples[0], func(s row.Sample) bool { return s.Phase == row.PhaseTimed })]
}

// command gives a flag of the command that made the row another value.
func (m *Made) command(flag, name, value string) {
	if i := slices.Index(m.Report.Tool.Command, flag); i >= 0 {
		m.Report.Tool.Command[i], m.Report.Tool.Command[i+1] = name, value
	}
}

// planted is a defect in a row that is as published but for it.
func (f *forge) planted(d Defect, file string, i int, change func(m *Made)) Defect {
	d.Twin, d.Row = f.real(file, i), f.cut(file, i)
	change(&d.Row)
	d.Row.seal()
	return d
}

// unitDrift states the requests that each of two GPUs had under way for those of both:
// by Little's law the row's rate is that of half as many devices.
func (f *forge) unitDrift() Defect {
	return f.planted(Defect{Name: "unit-drift", Gate: "little", Answer: gate.Fail, Reason: "makes a GPU count of 1 where it is 2"}, twoGPUs, 1, func(m *Made) {
		w := &m.row().Workload
		c := *w.Load.Concurrency / 2
		w.Load.Concurrency, w.Warmup = &c, w.Warmup*2
		m.command("--concurrency", "--concurrency", strconv.FormatInt(c, 10))
		m.command("--warmup", "--warmup", strconv.FormatInt(w.Warmup, 10))
	})
}

// copied gives a row of an H200 out as one of an H100, on another host and later, under
// other prompts: all that is held against the device's label is as an H100's would be.
func (f *forge) copied() Defect {
	d := Defect{Name: "copied", Gate: "copied", Answer: gate.Fail, Reason: "stands in row", Corpus: true, Twin: f.real(oneGPU, 2), Row: f.cut(oneGPU, 2)}
	d.Beside = []Made{f.real(oneGPU, 2)}
	c, _ := catalog.Load(f.data)
	r := d.Row.Report
	r.Recipe = "llama-3.1-8b/h100-sxm/latency/vllm"
	recipe, _, target := c.Today(r.Recipe)
	if recipe == nil || target == nil {
		panic("no recipe " + r.Recipe)
	}
	r.AsItWas.Recipe, r.AsItWas.Target = *recipe, *target
	for _, at := range []*string{&r.MeasuredAt, &r.Receipt.Engine.StartedAt, &d.Row.Evidence[0].Zero, &d.Row.Evidence[1].Zero} {
		*at = strings.Replace(*at, "T22:", "T23:", 1)
	}
	r.Receipt.Host.CPU = "Another CPU"
	memory := target.MemoryBytes
	for i := range r.Receipt.Devices {
		r.Receipt.Devices[i].Name, r.Receipt.Devices[i].UUID, r.Receipt.Devices[i].MemoryBytes = target.Device, "GPU-00000000", &memory
	}
	used, clock := memory*9/10, target.MaxMemoryClockMHz
	for i := range d.Row.Evidence[1].Devices {
		s := &d.Row.Evidence[1].Devices[i]
		s.MemoryUsed, s.MemoryClock, s.MemoryMax = &used, &clock, &clock
	}
	for i := range d.Row.Samples[0] {
		s := &d.Row.Samples[0][i]
		s.Prompt = s.Prompt[1:] + s.Prompt[:1]
	}
	d.Row.seal()
	return d
}

// speculation has drafts of six tokens in a row that was measured without: the counters
// rise as they would have for the tokens that were generated, one a chunk as they came.
// The twin accepts what the golden run of such a recipe does, 3.61 a step.
func (f *forge) speculation() Defect {
	const drafted = 6
	of := func(length float64) Made {
		m := f.cut(oneGPU, 1)
		m.Report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "eagle3", DraftTokens: drafted}
		for i := range m.Evidence[1].Metrics {
			v := m.Evidence[1].Metrics[i].Values
			tokens := 0.0
			for name, n := range v {
				if strings.HasPrefix(name, "vllm:generation_tokens_total") {
					tokens += n
				}
			}
			drafts := float64(int64(tokens / length))
			v["vllm:spec_decode_num_drafts_total"] = drafts
			v["vllm:spec_decode_num_draft_tokens_total"] = drafts * drafted
			v["vllm:spec_decode_num_accepted_tokens_total"] = float64(int64(drafts * (length - 1)))
		}
		m.seal()
		return m
	}
	return Defect{Name: "speculation", Gate: "speculation", Answer: gate.Fail, Reason: "tokens a step on random prompts, more than 4",
		Row: of(5.96), Twin: of(3.61), Cell: f.cell(oneGPU, "speculation: none", "speculation: {method: eagle3, draft_tokens: 6}")}
}

// cell is the recipe's file with one line changed.
func (f *forge) cell(file, old, new string) []byte {
	text, err := fs.ReadFile(f.data, "cells/"+file[:strings.LastIndexByte(file, '/')]+".yaml")
	f.check(err)
	if !bytes.Contains(text, []byte(old)) {
		f.check(fmt.Errorf("%s: its recipe does not hold %q", file, old))
	}
	return bytes.Replace(text, []byte(old), []byte(new), 1)
}

// neighbours has the row at 64 five times as slow as it was, so that the one at 256, which
// is as published, seems to answer faster under four times its load.
func (f *forge) neighbours() Defect {
	slowed := f.cut(loaded, 3)
	slowed.slow(5)
	slowed.seal()
	return Defect{Name: "neighbours", Gate: "neighbours", Answer: gate.Fail, Reason: "TPOT p50 falls from", Corpus: true,
		Row: f.real(loaded, 4), Twin: f.real(loaded, 4), Beside: []Made{slowed}, BesideTheTwin: []Made{f.real(loaded, 3)}}
}

// slow lets a run by duration take k times as long, by every clock.
func (m *Made) slow(k int64) {
	w := &m.row().Workload
	duration := *w.DurationS * k
	w.DurationS = &duration
	m.command("--duration", "--duration", strconv.FormatInt(duration, 10)+"s")
	for i := range m.Samples[0] {
		s := &m.Samples[0][i]
		s.Enqueued, s.Sent = s.Enqueued*k, s.Sent*k
		for j := range s.T {
			if s.T[j] != row.NoStamp {
				s.T[j] *= k
			}
		}
	}
	m.stretch(float64(k), float64(k))
}

// stretch lets the evidence have been read over k times the time, and the server's own
// sums of seconds be so many times as much.
func (m *Made) stretch(k, sums float64) {
	ev := &m.Evidence[1]
	at := func(us *int64) { *us = int64(float64(*us) * k) }
	for i := range ev.Devices {
		at(&ev.Devices[i].At)
	}
	for i := range ev.Apps {
		at(&ev.Apps[i].At)
	}
	for i := range ev.Metrics {
		at(&ev.Metrics[i].At)
		for name := range ev.Metrics[i].Values {
			if strings.Contains(name, "_seconds_sum") {
				ev.Metrics[i].Values[name] *= sums
			}
		}
	}
	for i := range ev.Capture {
		at(&ev.Capture[i].Wall)
		at(&ev.Capture[i].CPU)
	}
}

// queueBound plays the requests of a row at 16 again on a server that runs four of them at
// once: each is answered as it was, once one of the four has ended.
func (f *forge) queueBound() Defect {
	const slots = 4
	m := f.cut(oneGPU, 2)
	w := &m.row().Workload
	c := *w.Load.Concurrency
	before, sent := row.Lasted(m.Samples[0]), underWay(m.Samples[0])
	var out []row.Sample
	begin := m.Samples[0][0].Enqueued
	for repeat := range w.Repeats {
		var group []row.Sample
		for _, s := range m.Samples[0] {
			if s.Repeat == repeat && s.OK() && !s.Cut() {
				group = append(group, s)
			}
		}
		untimed, all := w.Warmup*c, int64(len(group))
		if w.Requests == nil {
			w.DurationS, w.Requests = nil, new(int64)
			*w.Requests = all
		}
		*w.Requests = min(*w.Requests, all-untimed-c) // the last of each stream keep the others company
		streams, slot := slices.Repeat([]int64{begin}, int(c)), slices.Repeat([]int64{begin}, slots)
		for i := range group {
			s := &group[i]
			free := least(streams)
			s.I, s.Worker = int64(i), int64(free)
			delay := s.Sent - s.Enqueued
			s.Enqueued = streams[free]
			s.Sent = s.Enqueued + delay
			at := least(slot)
			first := s.T[0]
			s.T[0] = max(s.Sent, slot[at]) + first - s.Sent
			end := s.Sent
			for _, gap := range s.T {
				end += max(gap, 0)
			}
			streams[free], slot[at] = end+40, end
			begin = max(begin, end+2_000_000)
		}
		out = append(out, group...)
	}
	for i := range out {
		s := &out[i]
		switch untimed := w.Warmup * c; {
		case s.I == 0 && s.Repeat == 0:
			s.Phase = row.PhaseFirst
		case s.I < untimed:
			s.Phase = row.PhaseWarm
		case s.I < untimed+*w.Requests:
			s.Phase = row.PhaseTimed
		default:
			s.Phase = row.PhaseDrain
		}
	}
	m.Samples[0] = out
	m.command("--duration", "--requests", strconv.FormatInt(*w.Requests, 10))
	m.stretch(float64(row.Lasted(out))/float64(before), underWay(out)/sent)
	for i := range m.Evidence[1].Metrics {
		if s := &m.Evidence[1].Metrics[i]; s.When == row.During {
			for _, name := range slices.Sorted(maps.Keys(s.Values)) {
				switch {
				case strings.HasPrefix(name, "vllm:num_requests_running"):
					s.Values[name] = min(s.Values[name], slots)
				case strings.HasPrefix(name, "vllm:num_requests_waiting{"):
					s.Values[name] = float64(c - slots)
				}
			}
		}
	}
	m.seal()
	return Defect{Name: "queue-bound", Gate: "queue", Answer: gate.Warn, Reason: "queue-bound: at most 4 of 16 streams", Row: m, Twin: f.real(oneGPU, 2)}
}

// underWay is how long the requests took together, in µs.
func underWay(samples []row.Sample) (us float64) {
	for i := range samples {
		if last, ok := samples[i].LastContent(); ok {
			us += float64(last - samples[i].Sent)
		}
	}
	return us
}

func least(of []int64) int { return slices.Index(of, slices.Min(of)) }

// label has the server report another flag than the recipe states.
func (f *forge) label() Defect {
	return f.planted(Defect{Name: "label", Gate: "label", Answer: gate.Fail, Reason: "max-model-len"}, oneGPU, 1, func(m *Made) {
		m.Report.Receipt.Engine.Arguments["max-model-len"] = "2048"
	})
}

// inverse publishes the inverse of a spread for the spread of an inverse.
func (f *forge) inverse() Defect {
	d := f.planted(Defect{Name: "inverse", Gate: "recompute", Answer: gate.Fail, Reason: "intervals.output_tok_s"}, oneGPU, 1, func(*Made) {})
	i := d.Row.row().Figures.Intervals["output_tok_s"]
	d.Row.row().Figures.Intervals["output_tok_s"] = row.Interval{1 / i[1], 1 / i[0]}
	d.Row.name()
	return d
}

// denominator takes a row of two GPUs for one of a prefill and a decode pool with one GPU
// each. In truth the server holds a third, and the figures are over two.
func (f *forge) denominator() Defect {
	apart := func() Made {
		m := f.cut(twoGPUs, 1)
		m.Report.AsItWas.Recipe.Pools = []row.Pool{{Role: "prefill", Count: 1, TP: 1, PP: 1, DP: 1, EP: 1}, {Role: "decode", Count: 1, TP: 1, PP: 1, DP: 1, EP: 1}}
		m.seal()
		return m
	}
	d := Defect{Name: "denominator", Gate: "denominator", Answer: gate.Fail, Reason: "two counts: the server holds 3 GPUs, and the per-GPU figures are over 2", Row: apart(), Twin: apart(),
		Cell: f.cell(twoGPUs, "pools: [{role: all, count: 1, tp: 2, pp: 1, dp: 1, ep: 1}]",
			"pools: [{role: prefill, count: 1, tp: 1, pp: 1, dp: 1, ep: 1}, {role: decode, count: 1, tp: 1, pp: 1, dp: 1, ep: 1}]")}
	devices := &d.Row.Report.Receipt.Devices
	third := (*devices)[1]
	third.Index, third.UUID = 2, "GPU-00000002"
	*devices = append(slices.Clone((*devices)[:2]), third)
	ev := &d.Row.Evidence[1]
	for _, s := range slices.Clone(ev.Devices) {
		if s.Index == 1 {
			s.Index = 2
			ev.Devices = append(ev.Devices, s)
		}
	}
	for _, a := range slices.Clone(ev.Apps) {
		if a.Index == 1 {
			a.Index = 2
			ev.Apps = append(ev.Apps, a)
		}
	}
	d.Row.seal()
	return d
}

// lengths has one prompt that was shorter than the label says.
func (f *forge) lengths() Defect {
	return f.planted(Defect{Name: "lengths", Gate: "lengths", Answer: gate.Fail, Reason: "had prompts of 1000 to 1024 tokens where 1024 were asked"}, oneGPU, 1, func(m *Made) {
		n := int64(1000)
		m.timed().ISL, m.timed().UsageTotal = &n, nil
	})
}

// early has one output that ended before its time.
func (f *forge) early() Defect {
	return f.planted(Defect{Name: "early-end", Gate: "lengths", Answer: gate.Fail, Reason: "brought 250 to 256 tokens where 256 were asked"}, oneGPU, 1, func(m *Made) {
		s, n := m.timed(), int64(250)
		s.OSL, s.UsageTotal = &n, nil
		for s.ChunkTokens() > n {
			s.T = s.T[:len(s.T)-1]
			if s.N != nil {
				s.N = s.N[:len(s.T)]
			}
		}
	})
}

// cached has a prompt in a row that is said to be cold found in the cache.
func (f *forge) cached() Defect {
	return f.planted(Defect{Name: "cached", Gate: "cold", Answer: gate.Fail, Reason: "a request found 992 tokens cached"}, oneGPU, 1, func(m *Made) {
		n := int64(992)
		m.timed().Cached = &n
	})
}

// failed has a request that was planned and did not complete.
func (f *forge) failed() Defect {
	return f.planted(Defect{Name: "incomplete", Gate: "complete", Answer: gate.Fail, Reason: "failed; the first: HTTP 500"}, oneGPU, 1, func(m *Made) {
		s := m.timed()
		s.Status, s.Reason = row.StatusError, "HTTP 500"
	})
}

// empty has a request without a token counted as success. It is off the label's length
// too.
func (f *forge) empty() Defect {
	return f.planted(Defect{Name: "empty", Gate: "complete", Answer: gate.Fail, Reason: "brought 0 tokens",
		Also: map[string]gate.Answer{"lengths": gate.Fail}}, oneGPU, 1, func(m *Made) {
		s := m.timed()
		s.OSL, s.UsageTotal, s.T, s.N = new(int64), nil, row.Gaps{}, nil
	})
}
