package prompts

import (
	"math"
	"math/rand/v2"
	"time"

	"rowproof/internal/stats"
)

// Arrivals are the times at which requests arrive when nobody waits for an answer: the
// gaps between them follow a gamma distribution whose mean is 1/rate and whose shape is
// the burstiness, as vLLM defines it: 1 is a Poisson process, less comes in bursts, more
// is nearer to even steps, and infinity is even steps.
type Arrivals struct {
	rate, burstiness float64
	random           *rand.Rand
	times            []time.Duration
	now              float64 // seconds
}

// NewArrivals are the arrivals of one repeat of a row; rate is in requests a second, and at
// an infinite one all arrive at once.
func NewArrivals(seed uint64, repeat int, rate, burstiness float64) *Arrivals {
	return &Arrivals{rate: rate, burstiness: burstiness, random: source(text(seed) + "/arrivals/" + text(uint64(repeat)))}
}

// At is when the n-th request arrives, from 0, since the load began. Times never
// decrease with n.
func (a *Arrivals) At(n int) time.Duration {
	for len(a.times) <= n {
		if len(a.times) > 0 {
			a.now += a.gap()
		}
		a.times = append(a.times, time.Duration(math.Round(a.now*1e9)))
	}
	return a.times[n]
}

// gap is the seconds to the next arrival.
func (a *Arrivals) gap() float64 {
	if math.IsInf(a.rate, 1) || math.IsInf(a.burstiness, 1) {
		return 1 / a.rate
	}
	return gamma(a.random, a.burstiness) / (a.rate * a.burstiness)
}

// gamma draws from a gamma distribution of this shape and scale 1, by the method of
// Marsaglia and Tsang; below 1 a draw of one shape more is scaled down.
func gamma(r *rand.Rand, shape float64) float64 {
	if shape == 1 {
		return r.ExpFloat64()
	}
	if shape < 1 {
		return gamma(r, shape+1) * stats.Exp(stats.Log(1-r.Float64())/shape)
	}
	// Products are rounded before they are summed, so that every machine accepts the same.
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if stats.Log(1-r.Float64()) < float64(0.5*x*x)+d-float64(d*v)+float64(d*stats.Log(v)) {
			return d * v
		}
	}
}
