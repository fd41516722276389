package row

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ToolFigure makes a figure of another tool again from its requests, by the tool's own
// rule: times in ms, rates a second. durationS is the time that the tool divides by; ok is
// false where the rule or the statistic is not known, or no request has a value.
func ToolFigure(rule, statistic string, samples []Sample, durationS float64) (v float64, ok bool) {
	var values []float64
	add := func(v float64) { values = append(values, v) }
	var tokens, prompts, completed float64
	for i := range samples {
		s := &samples[i]
		if !s.OK() {
			continue
		}
		completed++
		if s.OSL != nil {
			tokens += float64(*s.OSL)
		}
		if s.ISL != nil {
			prompts += float64(*s.ISL)
		}
		first, okFirst := s.FirstContent()
		last, okLast := s.LastContent()
		if !okFirst || !okLast {
			continue
		}
		ttft, e2e := ms(first-s.Sent), ms(last-s.Sent)
		switch rule {
		case RuleTTFT:
			add(ttft)
		case RuleE2E:
			add(e2e)
		case RuleTPOT, RuleTPOTOrZero, RuleUserRate:
			if s.OSL == nil || *s.OSL < 2 {
				if rule == RuleTPOTOrZero {
					add(0)
				}
				continue
			}
			tpot := (e2e - ttft) / float64(*s.OSL-1)
			if rule == RuleUserRate {
				if tpot > 0 {
					add(1e3 / tpot)
				}
				continue
			}
			add(tpot)
		case RuleTPOTWhole:
			if s.OSL != nil && *s.OSL > 0 {
				add(e2e / float64(*s.OSL))
			}
		case RuleChunkGap:
			for _, g := range s.T[min(1, len(s.T)):] {
				if g != NoStamp {
					add(ms(g))
				}
			}
		case RuleGapMean:
			if n := len(s.T); n > 1 {
				add((e2e - ttft) / float64(n-1))
			}
		case RuleInput:
			if s.ISL != nil {
				add(float64(*s.ISL))
			}
		case RuleOutput:
			if s.OSL != nil {
				add(float64(*s.OSL))
			}
		}
	}
	rate := func(n float64) (float64, bool) { return n / durationS, durationS > 0 }
	switch rule {
	case RuleOutputRate:
		return rate(tokens)
	case RuleInputRate:
		return rate(prompts)
	case RuleTotalRate:
		return rate(tokens + prompts)
	case RuleRequests:
		return rate(completed)
	case RuleCompleted:
		return completed, true
	}
	return statisticOf(statistic, values)
}

// statisticOf is one statistic of some values.
func statisticOf(statistic string, values []float64) (float64, bool) {
	n := float64(len(values))
	if n == 0 {
		return 0, false
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch statistic {
	case StatSum:
		return sum, true
	case StatMean:
		return sum / n, true
	case StatMin:
		return slices.Min(values), true
	case StatMax:
		return slices.Max(values), true
	case StatStd, StatStd1:
		mean, squares := sum/n, 0.0
		for _, v := range values {
			squares += float64((v - mean) * (v - mean))
		}
		if statistic == StatStd1 {
			n--
		}
		if n == 0 {
			return 0, false
		}
		return math.Sqrt(squares / n), true
	}
	if statistic == StatMedian {
		statistic = "p50"
	}
	text, found := strings.CutPrefix(statistic, "p")
	p, err := strconv.ParseFloat(text, 64)
	if !found || err != nil || !(p >= 0 && p <= 100) {
		return 0, false
	}
	slices.Sort(values)
	// Linear, as numpy does by default, of however few values: tools give it so.
	at := float64(p / 100 * (n - 1))
	i := int(at)
	if i+1 >= len(values) {
		return values[len(values)-1], true
	}
	return values[i] + float64((values[i+1]-values[i])*(at-float64(i))), true
}
