package harness

import (
	"math"
	"strings"

	"rowproof/internal/row"
)

// metric is one thing that a tool measures, of which its file gives several statistics.
type metric struct {
	name   string // in the file
	unit   string // of the file
	figure string // ours, without the statistic: ttft_ms; or a whole one, as output_tok_s
	rule   string
	means  string // where it is another thing than ours
}

// statistic is what a file calls one, and what we do.
type statistic struct{ theirs, ours string }

// state adds a figure of the file to a run, and to its own figures where it stands for one
// of ours.
func (t *taker) state(run *Run, v *value, name string, m *metric, statistic string) {
	if v == nil {
		return
	}
	s := row.Stated{Name: name, Text: v.text, Unit: m.unit, Means: m.means, Rule: m.rule, Statistic: statistic}
	switch v.kind {
	case '0':
	case 'n':
		s.Text = "null"
	default:
		t.wrong(v, name, "a number, NaN, Infinity or null")
		return
	}
	if s.Figure = figureOf(m.figure, statistic); s.Figure != "" {
		run.set(s.Figure, v, m.unit)
	}
	if s.Figure == "" && m.figure != "" && statistic != "" && strings.HasSuffix(m.figure, "_ms") {
		s.Figure = m.figure // a statistic that we do not publish
	}
	run.Stated = append(run.Stated, s)
}

// figureOf is the name of our figure; "" where we have none of that statistic.
func figureOf(figure, statistic string) string {
	if figure == "" || !strings.HasSuffix(figure, "_ms") {
		return figure
	}
	switch statistic {
	case row.StatMean, "p50", "p90", "p95", "p99":
		return figure + "." + statistic
	case row.StatMedian:
		return figure + ".p50"
	}
	return ""
}

// set puts one of the tool's figures in the place of ours, or its reason.
func (run *Run) set(figure string, v *value, unit string) {
	if run.Missing == nil {
		run.Missing = map[string]string{}
	}
	scale := 1.0
	if unit == "s" && strings.Contains(figure, "_ms") {
		scale = 1e3
	}
	name, statistic, dist := strings.Cut(figure, ".")
	why := ""
	switch n := v.num; {
	case v.kind == 'n':
		why = "the file has null"
	case math.IsNaN(n) || math.IsInf(n, 0):
		why = "the file has " + v.text + ", which is no figure"
	case n < 0:
		why = "the file has " + cut(v.text, 30) + ": below 0, which cannot be measured"
	case n == 0:
		why = "the file has 0, which no server reaches"
	}
	if why != "" {
		run.Missing[figure] = why
		return
	}
	x := v.num * scale
	if !dist {
		for _, s := range run.scalars() {
			if s.name == name {
				*s.at = &x
			}
		}
		return
	}
	for _, d := range run.dists() {
		if d.name != name {
			continue
		}
		if *d.at == nil {
			*d.at = &row.Dist{}
		}
		switch statistic {
		case row.StatMean:
			(*d.at).Mean = &x
		case "p50":
			(*d.at).P50 = &x
		case "p90":
			(*d.at).P90 = &x
		case "p95":
			(*d.at).P95 = &x
		case "p99":
			(*d.at).P99 = &x
		}
	}
}

type distAt struct {
	name string
	at   **row.Dist
}

func (run *Run) dists() []distAt {
	f := &run.Figures
	return []distAt{{"ttft_ms", &f.TTFT}, {"send_ttft_ms", &f.SendTTFT}, {"tpot_ms", &f.TPOT}, {"itl_ms", &f.ITL}, {"chunk_gap_ms", &f.ChunkGap}, {"e2e_ms", &f.E2E}}
}

type scalarAt struct {
	name string
	at   **float64
}

func (run *Run) scalars() []scalarAt {
	f := &run.Figures
	return []scalarAt{
		{"prefill_tok_s", &f.PrefillTokPerSec}, {"decode_tok_s", &f.DecodeTokPerSec}, {"output_tok_s", &f.OutputTokPerSec},
		{"total_tok_s", &f.TotalTokPerSec}, {"request_s", &f.RequestPerSec}, {"output_tok_s_per_gpu", &f.OutputTokPerSecPerGPU},
		{"total_tok_s_per_gpu", &f.TotalTokPerSecPerGPU}, {"energy_j_per_output_tok", &f.EnergyPerOutputTok}, {"power_w", &f.Power},
	}
}

// count takes a whole number that is not below 0; 0 where there is none.
func (t *taker) count(v *value, name string) int64 {
	switch {
	case v.null():
		return 0
	case v.kind != '0' || !(v.num >= 0 && v.num <= 1e15) || v.num != math.Trunc(v.num):
		t.wrong(v, name, "a whole number from 0")
		return 0
	}
	return int64(v.num)
}

// words takes a text; "" where there is none.
func (t *taker) words(v *value, name string) string {
	switch {
	case v.null():
		return ""
	case v.kind != '"':
		t.wrong(v, name, "a text")
		return ""
	}
	return cut(v.text, 1000)
}

// numbers takes a list of numbers, or of numbers and nulls, which become NaN.
func (t *taker) numbers(v *value, name string) []float64 {
	switch {
	case v.null():
		return nil
	case v.kind == 'N':
		return v.nums
	case v.kind != '[':
		t.wrong(v, name, "a list of numbers")
		return nil
	}
	out := make([]float64, 0, len(v.vals))
	for _, e := range v.vals {
		switch e.kind {
		case '0':
			out = append(out, e.num)
		case 'n':
			out = append(out, math.NaN())
		default:
			t.wrong(e, "an element of "+name, "a number")
			return nil
		}
	}
	return out
}

// micros is a time in seconds as whole µs; ok is false where it is no time.
func micros(seconds float64) (int64, bool) {
	if !(seconds >= 0 && seconds < 1e7) {
		return 0, false
	}
	return int64(math.Round(seconds * 1e6)), true
}

// chunks are the arrivals of a request's chunks as differences in whole µs, each rounded
// from the sum so that the last is as true as the first. ok is false where one is no time.
func chunks(ttft float64, gaps []float64) (t row.Gaps, ok bool) {
	at, ok := micros(ttft)
	if !ok {
		return nil, false
	}
	t = append(t, at)
	sum := ttft
	for _, g := range gaps {
		if !(g >= 0) {
			return nil, false
		}
		sum += g
		now, ok := micros(sum)
		if !ok {
			return nil, false
		}
		t = append(t, now-at)
		at = now
	}
	return t, true
}
