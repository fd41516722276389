package chart

import (
	"fmt"
	"math"
	"math/rand/v2"

	"rowproof/internal/row"
)

func val(at, rel float64) Value {
	return Value{At: at, Interval: &row.Interval{at * (1 - rel), at * (1 + rel)}}
}

// cells are nine invented cells, a front among them.
func cells() []Series {
	make := func(cell string, slot int, top, fast float64, cs []int, label string) Series {
		s := Series{Cell: cell, Name: cell, Slot: slot}
		for i, c := range cs {
			share := float64(i) / float64(len(cs)-1)
			p := Point{Row: fmt.Sprintf("%s-%d", cell, c), C: fmt.Sprint(c), X: val(fast*(1-.8*share), .02), Y: val(top*(0.05+.95*math.Pow(share, 1.1)), .04)}
			s.Points = append(s.Points, p)
			_ = label
		}
		return s
	}
	ladder := []int{1, 2, 4, 8, 16, 32, 64, 128, 256}
	out := []Series{
		make("8xh200/latency", 1, 365, 158, ladder, ""),
		make("8xh200/throughput", 2, 700, 118, ladder, ""),
		make("8xh200/fp8", 3, 909, 134, ladder, ""),
		make("8xb200/latency", 4, 497, 225, ladder, ""),
		make("8xmi300x/throughput", 5, 744, 95, ladder, ""),
		make("8xmi300x/latency", 6, 394, 119, ladder, ""),
		make("8xh100/a", 0, 463, 70, ladder, ""),
		make("8xh100/b", 0, 320, 86, ladder, ""),
		make("8xh100/c", 0, 141, 43, ladder, ""),
	}
	for i := range out {
		for j := range out[i].Points {
			p := &out[i].Points[j]
			p.Front = true
			for _, o := range out {
				for _, q := range o.Points {
					if q.X.At >= p.X.At && q.Y.At >= p.Y.At && (q.X.At > p.X.At || q.Y.At > p.Y.At) {
						p.Front = false
					}
				}
			}
			if p.Front && p.C == "64" {
				p.Label = out[i].Name + ", c=64"
			}
			if p.Front && p.C == "16" {
				p.Label = out[i].Name + ", c=16"
			}
		}
	}
	out[1].Points[3].Imported = true
	out[2].Points[4].QueueBound = true
	return out
}

func scatterSpec() ScatterSpec {
	return ScatterSpec{ID: "cells", Label: "fp8 gives most per GPU; B200 is fastest for each user.", XName: "tok/s per user, median → faster for each", YName: "↑ output tok/s per GPU", Series: cells()}
}

func gaps(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(7500 + 900*r.NormFloat64())
		if r.Float64() < .011 {
			out[i] = int64(13000 + 9000*r.ExpFloat64())
		}
	}
	return out
}

func ptr(v float64) *float64 { return &v }

func gauges() []GaugeSpec {
	return []GaugeSpec{
		{ID: "g1", Name: "Decode, c = 1", Figure: "135 tok/s", Percent: ptr(24.4), Roof: "550 tok/s", Expected: ptr(71)},
		{ID: "g2", Name: "Prefill, 2048 tokens", Figure: "39,400 tok/s", Percent: ptr(34.6), Roof: "113,800 tok/s", Expected: ptr(78)},
		{ID: "g3", Name: "Decode, c = 1, imported row", Figure: "574 tok/s", Percent: ptr(104.4), Roof: "550 tok/s", Expected: ptr(71)},
		{ID: "g4", Figure: "2,480 tok/s", Percent: ptr(451), Roof: "550 tok/s", Expected: ptr(96)},
		{ID: "g5", Name: "Decode, c = 1", Missing: "KV dtype unknown"},
		{ID: "g6", Figure: "9 tok/s", Percent: ptr(1.6), Roof: "550 tok/s", Expected: ptr(4)},
	}
}

func histograms() map[string]HistogramSpec {
	return map[string]HistogramSpec{
		"itl":      {ID: "itl", Label: "Half of the gaps are at most 7.5 ms.", Gaps: gaps(5868), P50: ptr(7.5), P99: ptr(12.9)},
		"itl-few":  {ID: "itl-few", Label: "Half of the gaps are at most 7.5 ms.", Gaps: gaps(60), P50: ptr(7.5), P99: ptr(9.2)},
		"itl-one":  {ID: "itl-one", Label: "One gap.", Gaps: []int64{9600}, P50: ptr(9.6)},
		"itl-none": {ID: "itl-none", Label: "No gap."},
	}
}

// linearSpec is small enough to be worked out by hand: x ends at 100 and y at 500.
func linearSpec() ScatterSpec {
	at := func(row, c string, x, y float64, front bool) Point {
		return Point{Row: row, C: c, X: Value{At: x}, Y: Value{At: y}, Front: front}
	}
	return ScatterSpec{
		ID: "small", Label: "Two cells.", XName: "tok/s per user, median → faster for each", YName: "↑ output tok/s per GPU",
		Series: []Series{
			{Cell: "m/t/latency", Slot: 1, Points: []Point{at("a1", "1", 100, 50, true), at("a2", "2", 75, 125, true), at("a4", "4", 25, 200, false)}},
			{Cell: "m/t/throughput", Slot: 2, Points: []Point{at("b1", "1", 50, 100, false), at("b2", "2", 40, 500, true)}},
		},
	}
}

// ladderSpec has three cells whose ratios cross 1 between measured concurrencies.
func ladderSpec() LadderSpec {
	s := LadderSpec{
		ID: "ladder", Label: "Latency leads up to c = 6 (5–8), then fp8.", XName: "concurrency, log", YName: "↑ output tok/s per GPU", RatioName: "÷ latency",
		Crossovers: []Crossover{{Slot: 3, At: 6, Lo: 5, Hi: 8}, {Slot: 2, At: 15, Lo: 12, Hi: 19}},
	}
	tops := [][]float64{{19, 37, 70, 122, 184, 250, 310, 345, 365}, {14, 28, 55, 104, 187, 300, 450, 590, 700}, {17, 33, 64, 124, 220, 370, 565, 760, 909}}
	for i, name := range []string{"latency", "throughput", "fp8"} {
		c := Series{Cell: "m/t/" + name, Name: name, Slot: i + 1}
		for j, v := range tops[i] {
			r := val(v/tops[0][j], .03)
			c.Points = append(c.Points, Point{Row: fmt.Sprint(name, j), C: fmt.Sprint(1 << j), X: Value{At: float64(int(1) << j)}, Y: val(v, .03), Ratio: &r})
		}
		s.Series = append(s.Series, c)
	}
	return s
}
