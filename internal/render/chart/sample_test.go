package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

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

// TestSamples writes the drawings into the folder CHART_SAMPLES, to be looked at.
func TestSamples(t *testing.T) {
	dir := os.Getenv("CHART_SAMPLES")
	if dir == "" {
		dir = t.TempDir()
	}
	css, err := os.ReadFile("testdata/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine("../../..", "")
	narrow, wide, err := e.Scatter(scatterSpec())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fig := func(s string) { b.WriteString("<figure>" + s + "</figure>") }
	fig(narrow + wide)
	for _, g := range gauges() {
		fig(Gauge(g))
	}
	fig(Histogram(HistogramSpec{ID: "h", Label: "ITL", Gaps: gaps(5868), P50: ptr(7.5), P99: ptr(12.9)}))
	fig(Histogram(HistogramSpec{ID: "h2", Label: "ITL", Gaps: gaps(60), P50: ptr(7.5), P99: ptr(11.9)}))
	b.WriteString("<table><tr><td width=130>")
	b.WriteString(Bar(BarSpec{Value: val(565, .05), Max: 600}) + "<tr><td>" + Bar(BarSpec{Value: Value{At: 282}, Max: 600}) + "</table>")
	for i := 0; i <= 8; i++ {
		b.WriteString(Swatch(i))
	}
	for _, theme := range []string{"light", "dark"} {
		page := `<!doctype html><html data-theme=` + theme + `><meta charset=utf-8><style>` + string(css) + `body{padding:8px}</style>` + b.String()
		if err := os.WriteFile(dir+"/"+theme+".html", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
