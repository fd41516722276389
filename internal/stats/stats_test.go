package stats

import (
	"math"
	"slices"
	"testing"
)

// Values of numpy.percentile's documentation and of its default method by hand.
func TestPercentileIsLinear(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[i] = float64(i)
	}
	for _, c := range []struct {
		values   []float64
		permille int
		want     float64
		ok       bool
	}{
		{nil, 500, 0, false},
		{[]float64{7}, 500, 7, true},
		{[]float64{1, 2}, 500, 1.5, true},
		{[]float64{2, 3, 10}, 500, 3, true},
		{ten, 900, 9.1, true},
		{ten[:9], 900, 0, false},
		{ten, 950, 0, false},
		{hundred[:20], 950, 18.05, true},
		{hundred, 990, 99, true},
		{hundred[:100], 990, 98.01, true},
		{hundred[:99], 990, 0, false},
		{ten, 0, 1, true},
		{ten, 1000, 10, true},
	} {
		got, ok := Percentile(c.values, c.permille)
		if ok != c.ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Percentile(%v, %d) = %v, %v; want %v, %v", c.values, c.permille, got, ok, c.want, c.ok)
		}
	}
}

// numpy.percentile of ten values, and scipy's 95% interval of four rates on their
// logarithm, with the median of an even number between the two in the middle.
func TestAgainstNumpyAndScipy(t *testing.T) {
	values := []float64{3.5, 1, 2, 9, 7, 7, 0.25, 4, 11, 2.5}
	slices.Sort(values)
	for permille, want := range map[int]float64{0: 0.25, 250: 2.125, 500: 3.75, 900: 9.2, 1000: 11} {
		if got, ok := Percentile(values, permille); !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("percentile %d: %v, %v", permille, got, ok)
		}
	}
	rates := []float64{812.5, 799.25, 841, 826.75}
	lo, hi, ok := TInterval(rates, true)
	if !ok || math.Abs(lo-791.569385545661) > 1e-6 || math.Abs(hi-848.8855046565458) > 1e-6 {
		t.Errorf("%v to %v, %v", lo, hi, ok)
	}
	if m, _ := Median(rates); m != 819.625 {
		t.Errorf("median %v", m)
	}
	for df, want := range map[int]float64{29: 2.045229642132703, 30: 2.0422724563012378, 31: 2.039513446396408, 45: 2.014103388880846, 99: 1.9842169515864174, 200: 1.9718962236339088} {
		if got := StudentT975(df); math.Abs(got-want) > 3e-7 {
			t.Errorf("t(0.975, %d) = %v, scipy %v", df, got, want)
		}
	}
}

func TestNeeded(t *testing.T) {
	for permille, want := range map[int]int{500: 1, 900: 10, 950: 20, 990: 100, 999: 1000} {
		if got := Needed(permille); got != want {
			t.Errorf("Needed(%d) = %d, want %d", permille, got, want)
		}
	}
}

func TestMedianLeavesItsArgument(t *testing.T) {
	values := []float64{3, 1, 2, 9}
	got, ok := Median(values)
	if !ok || got != 2.5 || values[0] != 3 {
		t.Errorf("Median = %v, %v; values %v", got, ok, values)
	}
}

// Quantiles as printed in the NIST/SEMATECH e-Handbook, table 1.3.6.7.2, and for the
// interpolated ones from the same table's rows for 35, 50 and 100.
func TestStudentAgainstThePublishedTable(t *testing.T) {
	for df, want := range map[int]float64{
		1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
		10: 2.228, 11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110, 18: 2.101,
		19: 2.093, 20: 2.086, 21: 2.080, 22: 2.074, 23: 2.069, 24: 2.064, 25: 2.060, 26: 2.056, 27: 2.052,
		28: 2.048, 29: 2.045, 30: 2.042, 35: 2.030, 40: 2.021, 50: 2.009, 60: 2.000, 80: 1.990, 100: 1.984,
		120: 1.980, 1000: 1.962, 1 << 40: 1.960,
	} {
		if got := StudentT975(df); math.Abs(got-want) > 0.0006 {
			t.Errorf("t(0.975, %d) = %.6f, published %.3f", df, got, want)
		}
	}
}

// Worked by hand: mean 67/6, s = √(19/12), half width 4.3026527·s/√3 = 3.125805; on the
// logarithm of 100, 110, 121 the mean is log 110 and s is log 1.1.
func TestTInterval(t *testing.T) {
	lo, hi, ok := TInterval([]float64{10, 11, 12.5}, false)
	if !ok || math.Abs(lo-(67.0/6-3.125805)) > 1e-6 || math.Abs(hi-(67.0/6+3.125805)) > 1e-6 {
		t.Errorf("plain: %v %v %v", lo, hi, ok)
	}
	lo, hi, ok = TInterval([]float64{100, 110, 121}, true)
	half := 4.3026527299 * math.Log(1.1) / math.Sqrt(3)
	if !ok || math.Abs(lo-110*math.Exp(-half)) > 1e-9 || math.Abs(hi-110*math.Exp(half)) > 1e-9 {
		t.Errorf("log: %v %v %v", lo, hi, ok)
	}
	if _, _, ok := TInterval([]float64{5}, true); ok {
		t.Error("one estimate gave an interval")
	}
	if _, _, ok := TInterval([]float64{5, 0}, true); ok {
		t.Error("a zero has no logarithm, yet an interval came")
	}
	if lo, hi, ok := TInterval([]float64{5, 5, 5}, true); !ok || math.Abs(lo-5) > 1e-14 || math.Abs(hi-5) > 1e-14 {
		t.Errorf("equal estimates: %v %v %v", lo, hi, ok)
	}
}

func TestLogAndExpAgainstTheLibrary(t *testing.T) {
	worst := 0.0
	for i := range 4000 {
		x := math.Ldexp(1+float64(i%997)/997, i/20-100)
		got, want := Log(x), math.Log(x)
		if e := math.Abs(got-want) / math.Max(math.Abs(want), 1e-300); e > worst {
			worst = e
		}
	}
	if worst > 1e-15 {
		t.Errorf("Log differs from the library by %g relative", worst)
	}
	for _, x := range []float64{1, 1 + 1e-15, 1 - 1e-15, 0.9999, 1.0001} {
		if want := math.Log(x); math.Abs(Log(x)-want) > 1e-15*math.Abs(want) {
			t.Errorf("Log(%v) = %v, want %v", x, Log(x), want)
		}
	}
	worst = 0
	for i := -7000; i <= 7000; i++ {
		x := float64(i) / 10.01
		got, want := Exp(x), math.Exp(x)
		if e := math.Abs(got-want) / want; e > worst {
			worst = e
		}
	}
	if worst > 1e-15 {
		t.Errorf("Exp differs from the library by %g relative", worst)
	}
	if Exp(800) != math.Inf(1) || Exp(-800) != 0 || !math.IsInf(Log(0), -1) || !math.IsNaN(Log(-1)) || Exp(0) != 1 || Log(1) != 0 {
		t.Error("a limit is off")
	}
}
