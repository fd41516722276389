package chart

import (
	"math"
	"slices"
	"testing"
)

func TestLinear(t *testing.T) {
	for _, c := range []struct {
		greatest float64
		n        int
		end      float64
		ticks    []float64
		labels   []string
	}{
		{greatest: 909, n: 6, end: 1000, ticks: []float64{0, 200, 400, 600, 800, 1000}, labels: []string{"0", "200", "400", "600", "800", "1,000"}},
		{greatest: 909, n: 3, end: 1000, ticks: []float64{0, 500, 1000}, labels: []string{"0", "500", "1,000"}},
		{greatest: 230, n: 6, end: 250, ticks: []float64{0, 50, 100, 150, 200, 250}, labels: []string{"0", "50", "100", "150", "200", "250"}},
		{greatest: 230, n: 3, end: 250, ticks: []float64{0, 100, 200}, labels: []string{"0", "100", "200"}},
		{greatest: 1.8, n: 6, end: 2, ticks: []float64{0, .5, 1, 1.5, 2}, labels: []string{"0.0", "0.5", "1.0", "1.5", "2.0"}},
		{greatest: 1, n: 6, end: 1, ticks: []float64{0, .2, .4, .6, .8, 1}, labels: []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{greatest: 0, n: 3, end: 1, ticks: []float64{0, .5, 1}, labels: []string{"0.0", "0.5", "1.0"}},
	} {
		s := linear(c.greatest, c.n)
		if s.min != 0 || math.Abs(s.max-c.end) > 1e-9 || !near(s.ticks, c.ticks) || !slices.Equal(s.labels(), c.labels) {
			t.Errorf("linear(%v, %d) ends at %v with ticks %v %q, want %v, %v %q", c.greatest, c.n, s.max, s.ticks, s.labels(), c.end, c.ticks, c.labels)
		}
	}
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(y) })
}

func TestLogarithmic(t *testing.T) {
	for _, c := range []struct {
		least, greatest float64
		n               int
		lo, hi          float64
		ticks           []float64
	}{
		{9, 909, 6, 3, 1000, []float64{3, 10, 30, 100, 300, 1000}},
		{9, 909, 3, 3, 1000, []float64{10, 100, 1000}},
		{10, 300, 6, 10, 300, []float64{10, 30, 100, 300}},
		{.25, 40, 6, .1, 100, []float64{.1, 1, 10, 100}},
		{1, 1e6, 3, 1, 1e6, []float64{1, 1e3, 1e6}},
	} {
		s := logarithmic(c.least, c.greatest, c.n)
		if !near([]float64{s.min, s.max}, []float64{c.lo, c.hi}) || !near(s.ticks, c.ticks) {
			t.Errorf("logarithmic(%v, %v, %d) = %v to %v, ticks %v, want %v to %v, %v", c.least, c.greatest, c.n, s.min, s.max, s.ticks, c.lo, c.hi, c.ticks)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		d    int
		want string
	}{{1234567.4, 0, "1,234,567"}, {999, 0, "999"}, {1000, 1, "1,000.0"}, {-0.04, 1, "0.0"}, {-12, 0, "−12"}, {.125, 2, "0.13"}} {
		if got := number(c.v+1e-12, c.d); got != c.want {
			t.Errorf("number(%v, %d) = %q, want %q", c.v, c.d, got, c.want)
		}
	}
}
