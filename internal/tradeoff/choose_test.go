package tradeoff

import (
	"math"
	"slices"
	"testing"

	"rowproof/internal/row"
)

func rungs(spread float64, values ...float64) []Rung {
	var r []Rung
	for i, v := range values {
		r = append(r, Rung{float64(int64(1) << i), v, v * (1 - spread), v * (1 + spread)})
	}
	return r
}

// Two ladders that are straight on logarithmic axes cross where their lines do.
func TestCrossover(t *testing.T) {
	// a = 100·c⁰, b = 25·c: equal at c = 4, which is no measured load when c = 1, 2, 8 …
	var a, b []Rung
	for _, c := range []float64{1, 2, 8, 16} {
		a = append(a, Rung{c, 100, 98, 102})
		b = append(b, Rung{c, 25 * c, 24.5 * c, 25.5 * c})
	}
	got, ok := Crossover(a, b)
	if !ok || math.Abs(got.At-4) > 1e-9 || !got.Before {
		t.Fatalf("%+v, %v", got, ok)
	}
	// The least reading of a/b is 98/25.5/c, the greatest 102/24.5/c.
	if math.Abs(got.Lo-98/25.5) > 1e-9 || math.Abs(got.Hi-102/24.5) > 1e-9 {
		t.Errorf("between %v and %v, on paper %v and %v", got.Lo, got.Hi, 98/25.5, 102/24.5)
	}
	other, ok := Crossover(b, a)
	if !ok || math.Abs(other.At-4) > 1e-9 || other.Before {
		t.Errorf("seen from the other: %+v, %v", other, ok)
	}
	if math.Abs(other.Lo-got.Lo) > 1e-9 || math.Abs(other.Hi-got.Hi) > 1e-9 {
		t.Errorf("seen from the other: %v to %v", other.Lo, other.Hi)
	}
}

// Loads may be rates below 1: a = 10 throughout, b = 20 ÷ rate, equal at 2.
func TestCrossoverOfRates(t *testing.T) {
	var a, b []Rung
	for _, rate := range []float64{0.25, 0.5, 4, 8} {
		a = append(a, Rung{rate, 10, 9.9, 10.1})
		b = append(b, Rung{rate, 20 / rate, 19.9 / rate, 20.1 / rate})
	}
	if c, ok := Crossover(a, b); !ok || math.Abs(c.At-2) > 1e-9 || c.Before {
		t.Errorf("%+v, %v", c, ok)
	}
}

func TestNoCrossover(t *testing.T) {
	for name, pair := range map[string][2][]Rung{
		"one leads throughout":        {rungs(0.01, 9, 9, 9), rungs(0.01, 5, 6, 7)},
		"never shown to differ":       {rungs(0.5, 10, 10, 9), rungs(0.5, 9, 10, 10)},
		"shown only below":            {rungs(0.2, 20, 10, 9), rungs(0.2, 9, 9.5, 10)},
		"no load in common":           {[]Rung{{1, 9, 8, 10}}, []Rung{{2, 9, 8, 10}}},
		"one load":                    {rungs(0.1, 9), rungs(0.1, 5)},
		"nothing":                     {nil, nil},
		"figures that are no figures": {[]Rung{{1, 0, 0, 0}, {2, math.NaN(), 1, 2}}, rungs(0.1, 1, 1)},
	} {
		if c, ok := Crossover(pair[0], pair[1]); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Loads at which the two are not shown to differ widen the interval, they do not hide
// the crossing.
func TestCrossoverWidens(t *testing.T) {
	a := []Rung{{1, 200, 195, 205}, {4, 110, 90, 130}, {8, 95, 80, 110}, {32, 50, 48, 52}}
	b := []Rung{{1, 100, 98, 102}, {4, 100, 85, 115}, {8, 100, 90, 115}, {32, 100, 97, 103}}
	c, ok := Crossover(a, b)
	if !ok || !(1 < c.Lo && c.Lo < 4 && 4 < c.At && c.At < 8 && 8 < c.Hi && c.Hi < 32) {
		t.Errorf("%+v, %v", c, ok)
	}
}

// Lines that meet at a measured load cross there, from whichever side they are seen.
func TestCrossoverAtAMeasuredLoad(t *testing.T) {
	a, b := rungs(0.01, 100, 100, 100), rungs(0.01, 50, 100, 200)
	for name, pair := range map[string][2][]Rung{"one": {a, b}, "other": {b, a}} {
		c, ok := Crossover(pair[0], pair[1])
		if !ok || math.Abs(c.At-2) > 1e-9 || !(c.Lo < 2 && 2 < c.Hi) || c.Before != (name == "one") {
			t.Errorf("seen from the %s: %+v, %v", name, c, ok)
		}
	}
}

// One that leads, loses and leads again crosses twice; what is not shown does not count.
func TestCrossings(t *testing.T) {
	// b/a is ½, 2, ½, each 4 loads apart: equal where the line is half way up, at 2 and 8.
	a := []Rung{{1, 100, 99, 101}, {4, 100, 99, 101}, {16, 100, 99, 101}}
	b := []Rung{{1, 50, 49, 51}, {4, 200, 199, 201}, {16, 50, 49, 51}}
	got := Crossings(a, b)
	if len(got) != 2 || math.Abs(got[0].At-2) > 1e-9 || math.Abs(got[1].At-8) > 1e-9 || !got[0].Before || got[1].Before {
		t.Errorf("%+v", got)
	}
	b[1] = Rung{4, 104, 90, 120}
	if got := Crossings(a, b); len(got) != 0 {
		t.Errorf("that b leads anywhere is not shown: %+v", got)
	}
}

// The widest reading of a ratio takes an interval's low end over the other's high end.
func TestAgainst(t *testing.T) {
	reference := []Rung{{16, 50, 48, 52}, {1, 100, 95, 105}, {4, 0, 0, 0}}
	other := []Rung{{1, 110, 100, 120}, {16, 100, 96, 104}, {4, 1, 1, 1}, {64, 1, 1, 1}}
	got := Against(reference, other)
	want := []Pair{{1, 1.1, 100. / 105, 120. / 95}, {16, 2, 96. / 52, 104. / 48}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, p := range got {
		w := want[i]
		if p.Load != w.Load || math.Abs(p.Ratio-w.Ratio) > 1e-12 || math.Abs(p.Lo-w.Lo) > 1e-12 || math.Abs(p.Hi-w.Hi) > 1e-12 {
			t.Errorf("%+v, on paper %+v", p, w)
		}
	}
	if got[0].Apart() || !got[1].Apart() {
		t.Errorf("the intervals overlap at 1 and part at 16: %+v", got)
	}
}

// A GPU at 3.60 an hour that gives 100 output tokens and takes 900 in each second makes
// 360,000 and 3,240,000 an hour.
func TestCost(t *testing.T) {
	c := CostOf(3.6, 100, 1000)
	for name, v := range map[string][2]float64{"output": {c.Output, 10}, "input": {c.Input, 3.6 / 3.24}, "blended": {c.Blended, 1}} {
		if math.Abs(v[0]-v[1]) > 1e-12 {
			t.Errorf("%s %v a million, on paper %v", name, v[0], v[1])
		}
	}
	if c := CostOf(3.6, 0, 10); !math.IsNaN(c.Output) || math.IsNaN(c.Input) {
		t.Errorf("no output: %+v", c)
	}
}

func dist(p50, p99 float64) *row.Dist {
	d := &row.Dist{P50: &p50, P99: &p99}
	if p99 < 0 {
		d.P99 = nil
	}
	return d
}

func TestHold(t *testing.T) {
	f := &row.Figures{TTFT: dist(50, 180), ITL: dist(5, -1)}
	held := Hold(f, []Limit{{Figure: "ttft_ms", Permille: 990, Max: 200}, {Figure: "itl_ms", Permille: 990, Max: 4}, {Figure: "e2e_ms", Permille: 500, Max: 9}, {Figure: "ttft_ms", Permille: 500, Max: 25}})
	if !held[0].Met || held[0].Permille != 990 || held[0].Over() != 0 {
		t.Errorf("%+v", held[0])
	}
	if held[1].Met || held[1].Permille != 500 || *held[1].Found != 5 || held[1].Over() != 0.25 {
		t.Errorf("too few samples for p99: held against the p50 that it has: %+v", held[1])
	}
	if held[2].Met || held[2].Found != nil {
		t.Errorf("a missing figure meets nothing: %+v", held[2])
	}
	if held[3].Over() != 1 {
		t.Errorf("%+v", held[3])
	}
}

func TestHoldAMean(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	f := &row.Figures{TTFA: &row.Dist{Mean: v(40), P50: v(10)}, ITL: &row.Dist{P50: v(1)}}
	held := Hold(f, []Limit{{Figure: "ttfa_ms", Permille: row.Mean, Max: 30}, {Figure: "ttfa_ms", Permille: 990, Max: 30}, {Figure: "itl_ms", Permille: row.Mean, Max: 30}})
	if h := held[0]; h.Met || !h.Known() || *h.Found != 40 {
		t.Errorf("%+v", h)
	}
	// A percentile that the row has not is never answered by the mean, nor a mean by a percentile.
	if h := held[1]; !h.Met || h.Known() || *h.Found != 10 || h.Permille != 500 {
		t.Errorf("%+v", h)
	}
	if h := held[2]; h.Met || h.Found != nil {
		t.Errorf("%+v", h)
	}
}

func TestChoose(t *testing.T) {
	rank := func(v float64) *float64 { return &v }
	rows := []Candidate{
		{&row.Figures{TTFT: dist(50, 180), ITL: dist(5, 9)}, rank(100)},
		{&row.Figures{TTFT: dist(60, 190), ITL: dist(6, 9)}, rank(300)},
		{&row.Figures{TTFT: dist(60, 400), ITL: dist(6, 12)}, rank(900)},
		{&row.Figures{TTFT: dist(60, 150)}, nil},
	}
	limits := []Limit{{Figure: "ttft_ms", Permille: 990, Max: 200}, {Figure: "itl_ms", Permille: 990, Max: 10}}
	if c := Choose(rows, limits); !slices.Equal(c.Met, []int{1, 0}) || c.Nearest != -1 {
		t.Errorf("%+v", c)
	}
	tight := []Limit{{Figure: "ttft_ms", Permille: 990, Max: 100}, {Figure: "itl_ms", Permille: 990, Max: 10}}
	if c := Choose(rows, tight); len(c.Met) != 0 || c.Nearest != 0 || c.Worst != 0 {
		t.Errorf("nearest is over by 0.8 of the TTFT limit: %+v", c)
	}
	if c := Choose(nil, limits); len(c.Met) != 0 || c.Nearest != -1 {
		t.Errorf("%+v", c)
	}
	// A row without the p99 never comes before one that has it, however much it gives.
	few := append(slices.Clone(rows), Candidate{&row.Figures{TTFT: dist(50, -1), ITL: dist(5, 9)}, rank(5000)})
	if c := Choose(few, limits); !slices.Equal(c.Met, []int{1, 0}) || !slices.Equal(c.Lower, []int{4}) || c.Answer() != 1 || c.Known != 3 {
		t.Errorf("%+v", c)
	}
	if c := Choose(few, tight); len(c.Met) != 0 || !slices.Equal(c.Lower, []int{4}) || c.Answer() != -1 || c.Nearest != 0 {
		t.Errorf("where rows have the p99, one that has not is no answer: %+v", c)
	}
	if c := Choose(few[4:], limits); !slices.Equal(c.Lower, []int{0}) || c.Answer() != 0 || c.Nearest != -1 {
		t.Errorf("none has the p99: the one that meets it as far as it is known: %+v", c)
	}
	over := []Candidate{{&row.Figures{TTFT: dist(101, -1)}, rank(1)}, {&row.Figures{TTFT: dist(50, 400)}, rank(1)}}
	if c := Choose(over, []Limit{{Figure: "ttft_ms", Permille: 990, Max: 100}}); c.Nearest != 1 {
		t.Errorf("the nearest is one whose p99 is known: %+v", c)
	}
	if c := Choose(rows, nil); !slices.Equal(c.Met, []int{2, 1, 0, 3}) {
		t.Errorf("without limits all are met, the best first: %+v", c)
	}
}

// What is likely to meet the limits goes before what only its roof allows; what the roof
// forbids is no hope.
func TestPromising(t *testing.T) {
	hopes := []Hope{
		{TTFT: Outlook{60, 110}, TPOT: Outlook{4, 7}, GPUMinutes: 5},  // the roof allows 100 and 10, not likely
		{TTFT: Outlook{20, 40}, TPOT: Outlook{12, 20}, GPUMinutes: 1}, // the roof forbids 10
		{TTFT: Outlook{30, 50}, TPOT: Outlook{5, 8}, GPUMinutes: 50},  // likely
		{TTFT: Outlook{30, 80}, TPOT: Outlook{5, 6}, GPUMinutes: 20},  // as likely, and cheaper
	}
	limits := []Limit{{Figure: "ttft_ms", Permille: 990, Max: 100}, {Figure: "itl_ms", Permille: 990, Max: 10}}
	if i, likely := Promising(hopes, limits); i != 3 || !likely {
		t.Errorf("%d, likely %v", i, likely)
	}
	if i, likely := Promising(hopes[:2], limits); i != 0 || likely {
		t.Errorf("%d, likely %v", i, likely)
	}
	if i, _ := Promising(hopes[1:2], limits); i != -1 {
		t.Errorf("a roof above the limit is hope %d", i)
	}
}

// A hope's figures, on paper: one stream reads the weights once a token.
func TestHopes(t *testing.T) {
	c := known()
	gaps := Gaps(c, nil)
	hopes := Hopes(c, gaps, "m", "1024:256")
	if len(hopes) != 16 {
		t.Fatalf("%d hopes of 4 recipes at 4 loads", len(hopes))
	}
	for _, h := range hopes {
		if gaps[h.Gap].Recipe != "m/t/latency/vllm" || h.Concurrency != 1 {
			continue
		}
		step := (2*7504924672 + 1152*131072) / 3350e9 * 1e3
		if math.Abs(h.TPOT.Hard/step-1) > 1e-3 || math.Abs(h.TPOT.Likely/(step/0.6)-1) > 1e-3 {
			t.Errorf("TPOT %+v, on paper %v ms", h.TPOT, step)
		}
		if e2e := h.TTFT.Hard + 255*h.TPOT.Hard; math.Abs(h.E2E.Hard/e2e-1) > 1e-9 {
			t.Errorf("E2E %+v, on paper %v ms", h.E2E, e2e)
		}
	}
	if got := Hopes(c, gaps, "m", "1:1"); got != nil {
		t.Errorf("hopes of a shape without gaps: %+v", got)
	}
}
