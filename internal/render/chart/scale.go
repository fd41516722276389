package chart

import "math"

// scale maps data to px along one axis, and says where its ticks stand.
type scale struct {
	min, max float64
	log      bool
	ticks    []float64
	from, to float64 // px at min and at max
}

// at gives the px of v.
func (s scale) at(v float64) float64 {
	share := (v - s.min) / (s.max - s.min)
	if s.log {
		share = math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return s.from + share*(s.to-s.from)
}

// tick writes a tick's value.
func (s scale) tick(v float64) string {
	if s.log {
		return number(v, decimals(v))
	}
	step := s.max
	if len(s.ticks) > 1 {
		step = s.ticks[1] - s.ticks[0]
	}
	return number(v, decimals(step))
}

// labels are the ticks as shown.
func (s scale) labels() []string {
	out := make([]string, len(s.ticks))
	for i, v := range s.ticks {
		out[i] = s.tick(v)
	}
	return out
}

// linear runs from 0 to at least greatest; its end does not depend on n, the most
// ticks it may have, so that both widths show the same range.
func linear(greatest float64, n int) scale {
	if !(greatest > 0) {
		greatest = 1
	}
	end := stepped(greatest, 6)
	step := nice(end / 1e3)
	for math.Floor(end/step+1e-9)+1 > float64(n) {
		step = nice(step * 1.5)
	}
	if end/step < 2 && n > 2 { // both ends and the middle say more than one step
		step = end / 2
	}
	s := scale{max: end}
	for i := 0; float64(i)*step <= end*(1+1e-9); i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// between runs from a step at or below least to one at or above greatest, with at most
// n ticks; it need not begin at 0, so bars must not use it.
func between(least, greatest float64, n int) scale {
	step := nice((greatest - least) / 1e3)
	ends := func() (lo, hi float64) {
		return math.Floor(least/step + 1e-9), math.Ceil(greatest/step - 1e-9)
	}
	lo, hi := ends()
	for hi-lo+1 > float64(n) {
		step = nice(step * 1.5)
		lo, hi = ends()
	}
	s := scale{min: lo * step, max: hi * step}
	for i := lo; i <= hi; i++ {
		s.ticks = append(s.ticks, i*step)
	}
	return s
}

// stepped is the least end at or above v that n ticks of a nice step reach from 0.
func stepped(v float64, n int) float64 {
	step := nice(v / 1e3)
	for math.Ceil(v/step-1e-9)+1 > float64(n) {
		step = nice(step * 1.5)
	}
	return math.Ceil(v/step-1e-9) * step
}

// nice is the least 1, 2 or 5 × 10ⁿ at or above v.
func nice(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// logarithmic runs between steps of 1–3–10 around least and greatest, with at most n
// ticks: all steps, else the decades, else each second decade and so on.
func logarithmic(least, greatest float64, n int) scale {
	i := int(math.Floor(2*math.Log10(least))) - 1
	for third(i+1) <= least*(1+1e-9) {
		i++
	}
	j := i + 1
	for third(j) < greatest*(1-1e-9) {
		j++
	}
	s := scale{min: third(i), max: third(j), log: true}
	for every := 1; ; every++ {
		s.ticks = s.ticks[:0]
		for k := i; k <= j; k++ {
			if every == 1 || k%(2*(every-1)) == 0 {
				s.ticks = append(s.ticks, third(k))
			}
		}
		if len(s.ticks) <= n {
			s.ticks = s.withEnds(min(n, 3))
			return s
		}
	}
}

// withEnds adds the axis' ends to fewer than n ticks.
func (s scale) withEnds(n int) []float64 {
	ticks := s.ticks
	if len(ticks) < n && (len(ticks) == 0 || ticks[0] > s.min*(1+1e-9)) {
		ticks = append([]float64{s.min}, ticks...)
	}
	if len(ticks) < n && ticks[len(ticks)-1] < s.max*(1-1e-9) {
		ticks = append(ticks, s.max)
	}
	return ticks
}

// third counts the steps 1, 3, 10, 30 …: third(0) is 1, third(-1) is 0.3.
func third(k int) float64 {
	d := k >> 1
	v := math.Pow(10, math.Abs(float64(d)))
	if d < 0 {
		if k&1 == 1 {
			return 3 / v
		}
		return 1 / v
	}
	if k&1 == 1 {
		v *= 3
	}
	return v
}
