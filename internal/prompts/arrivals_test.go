package prompts

import (
	"math"
	"slices"
	"testing"
	"time"
)

func gapsOf(a *Arrivals, n int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, (a.At(i+1) - a.At(i)).Seconds())
	}
	return out
}

// The moments of a gamma distribution of shape k and mean 1/rate: its variance is the
// squared mean over k. At k = 1 the median is that of the exponential, ln 2 / rate.
func TestArrivalsFollowTheBurstiness(t *testing.T) {
	const rate, n = 40, 100_000
	for _, k := range []float64{0.25, 1, 4, 30} {
		gaps := gapsOf(NewArrivals(11, 0, rate, k), n)
		var sum, squares float64
		for _, g := range gaps {
			sum += g
		}
		mean := sum / n
		for _, g := range gaps {
			squares += (g - mean) * (g - mean)
		}
		if math.Abs(mean*rate-1) > 0.03 {
			t.Errorf("burstiness %v: a mean gap of %v s, want %v", k, mean, 1.0/rate)
		}
		if cv2 := squares / n / (mean * mean); math.Abs(cv2*k-1) > 0.05 {
			t.Errorf("burstiness %v: variance ÷ squared mean is %v, want %v", k, cv2, 1/k)
		}
		if slices.Sort(gaps); k == 1 && math.Abs(gaps[n/2]*rate/math.Ln2-1) > 0.03 {
			t.Errorf("median gap %v s, want %v", gaps[n/2], math.Ln2/rate)
		}
	}
}

func TestArrivalsAreMadeAgainFromTheirSeed(t *testing.T) {
	a := NewArrivals(1, 2, 5, 1)
	late := a.At(1000)
	b := NewArrivals(1, 2, 5, 1)
	if b.At(3) > b.At(4) || b.At(0) != 0 || b.At(1000) != late {
		t.Error("the same seed and repeat gave other times, or times fall")
	}
	for name, other := range map[string]*Arrivals{"repeat": NewArrivals(1, 3, 5, 1), "seed": NewArrivals(2, 2, 5, 1)} {
		if other.At(1000) == late {
			t.Errorf("another %s gave the same times", name)
		}
	}
}

func TestArrivalsWithoutChance(t *testing.T) {
	if at := NewArrivals(1, 0, math.Inf(1), 1).At(50); at != 0 {
		t.Errorf("at an infinite rate request 50 comes after %v", at)
	}
	if at := NewArrivals(1, 0, 8, math.Inf(1)).At(10); at != 1250*time.Millisecond {
		t.Errorf("in even steps request 10 comes after %v", at)
	}
}
