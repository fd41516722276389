package render

import (
	"math"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
)

// clientView is what the client says of its own clock: where its stamps come from, its
// error by a selftest, and what each repeat lost or did late.
type clientView struct {
	Stamps  string
	Tested  string // how the selftest was made, or why there is none
	Levels  []levelView
	Heads   []column // of Repeats
	More    string
	Repeats []lagView
	Reasons []dash
}

// levelView is the client's error with so many streams, in µs.
type levelView struct {
	Streams string
	Judged  bool // the level that gate client holds the row to
	ITL     [3]string
	TTFT    [3]string
	Gaps    string
}

type lagView struct {
	N       string
	Figures []tableFigure
}

var stampWords = map[string]string{
	"ring":  "Stamps: ring, the kernel's of each segment as it came in, whatever the client was doing",
	"ktime": "Stamps: ktime, the kernel's of each read; chunks that one read brought share it",
	"read":  "Stamps: read, the time at which each read returned",
}

// newClientView is nil for an import, which has a clock of its own.
func newClientView(m *measured, samples []row.Sample, ev *row.Evidence) *clientView {
	if m.Proof.Source != nil {
		return nil
	}
	c := &m.Report.Client
	v := &clientView{Stamps: stampWords[c.Stamps]}
	if v.Stamps == "" {
		v.Stamps = "Stamps: not stated"
	}
	v.selftest(m, row.Streams(&m.Workload, samples))
	if ev != nil {
		v.repeats(ev.Capture)
	}
	return v
}

func (v *clientView) selftest(m *measured, streams int64) {
	t := m.Report.Client.Selftest
	if t == nil {
		v.Tested = "No selftest: the client's own error is not known."
		return
	}
	levels := t.Levels
	v.Tested = "Its error is against an engine whose truth is known, on this host, just before the run."
	if len(levels) == 0 {
		levels = []row.SelftestLevel{{Streams: t.Streams, ITLErrorNS: t.ITLErrorNS, TTFTErrorNS: t.TTFTErrorNS, Gaps: t.Gaps}}
	} else {
		v.Tested = "Its error is against an engine whose truth is known, on this host and boot, by the same build with the same stamps, " + format.Time(t.MeasuredAt) + "."
	}
	judged := int64(-1)
	if l, ok := t.At(streams); ok {
		judged = l.Streams
	}
	micros := func(d row.ErrorDist) (out [3]string) {
		for i, ns := range []int64{d.P50, d.P99, d.Max} {
			out[i] = format.Prose(float64(ns) / 1e3)
		}
		return out
	}
	for _, l := range levels {
		v.Levels = append(v.Levels, levelView{format.Count(l.Streams), l.Streams == judged, micros(l.ITLErrorNS), micros(l.TTFTErrorNS), format.Count(l.Gaps)})
	}
}

// repeats are what each repeat's capture counted. A column that no repeat can fill is
// left out.
func (v *clientView) repeats(capture []row.CaptureStats) {
	const older = "the build that measured did not say"
	some := func(of func(*row.CaptureStats) int64) bool {
		for i := range capture {
			if of(&capture[i]) != 0 {
				return true
			}
		}
		return false
	}
	type part struct {
		name, unit string
		value      func(*row.CaptureStats) float64
		known      bool
	}
	whole := func(of func(*row.CaptureStats) int64) func(*row.CaptureStats) float64 {
		return func(k *row.CaptureStats) float64 { return float64(of(k)) }
	}
	lag := some(func(k *row.CaptureStats) int64 { return k.Wall })
	ring := some(func(k *row.CaptureStats) int64 { return k.Blocks })
	parts := []part{
		{"Sent late, p50", "µs", whole(func(k *row.CaptureStats) int64 { return k.DispatchP50 }), lag},
		{"Sent late, p99", "µs", whole(func(k *row.CaptureStats) int64 { return k.DispatchP99 }), true},
		{"Sent late, max", "µs", whole(func(k *row.CaptureStats) int64 { return k.DispatchMax }), lag},
		{"Woken late, p99", "µs", whole(func(k *row.CaptureStats) int64 { return k.SweepP99 }), lag},
		{"CPU", "% of a core", func(k *row.CaptureStats) float64 {
			if k.Wall == 0 {
				return 0
			}
			return 100 * float64(k.CPU) / float64(k.Wall)
		}, lag},
		{"No stamp", "chunks", whole(func(k *row.CaptureStats) int64 { return k.Unstamped }), true},
		{"Shared", "stamps", whole(func(k *row.CaptureStats) int64 { return k.SharedStamps }), true},
	}
	if ring {
		parts = append(parts,
			part{"Dropped", "packets", whole(func(k *row.CaptureStats) int64 { return k.Drops }), true},
			part{"Ring filled", "blocks", whole(func(k *row.CaptureStats) int64 { return k.BlocksUsed }), true})
	}
	parts = append(parts, part{"Clock steps", "", whole(func(k *row.CaptureStats) int64 { return k.ClockSteps }), true})
	if some(func(k *row.CaptureStats) int64 { return k.LateConnections }) {
		parts = append(parts, part{"Opened late", "connections", whole(func(k *row.CaptureStats) int64 { return k.LateConnections }), true})
	}
	if some(func(k *row.CaptureStats) int64 { return k.SpilledBytes }) {
		parts = append(parts, part{"Kept in a file", "MB", func(k *row.CaptureStats) float64 { return float64(k.SpilledBytes) / 1e6 }, true})
	}
	var missing letters
	v.Repeats = make([]lagView, len(capture))
	for i := range capture {
		v.Repeats[i].N = format.Count(capture[i].Repeat + 1)
	}
	for _, p := range parts {
		var values []float64
		for i := range capture {
			values = append(values, p.value(&capture[i]))
		}
		form := format.NewColumn(p.unit, values)
		v.Heads = append(v.Heads, column{Name: p.name, Unit: form.Unit})
		for i := range capture {
			f := tableFigure{}
			if p.known {
				f.Figure = form.Figure(values[i])
				if p.unit != "MB" {
					f.Figure = format.Count(int64(math.Round(values[i])))
				}
			} else {
				f.Dash = missing.dash(older)
			}
			v.Repeats[i].Figures = append(v.Repeats[i].Figures, f)
		}
	}
	v.Reasons = missing.Reasons()
	v.More = more(len(v.Heads) - 2)
}
