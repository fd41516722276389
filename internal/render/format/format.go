// Package format writes figures as a reader sees them: one number of decimals a column,
// a thousands comma, a true minus, no-break spaces, whole percents. It is pure; what is
// missing never reaches it.
package format

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// NBSP keeps a figure and its unit on one line.
const NBSP = "\u00a0"

// rangeDash is an en dash at which no line breaks: word joiners hold it on both sides.
const rangeDash = "\u2060–\u2060"

// Column is how one column of a table writes its figures: a unit for its head and
// decimals that all its figures and intervals share.
type Column struct {
	Unit     string
	Scale    float64 // what a recorded value is multiplied by
	Decimals int
}

// NewColumn takes its decimals from the median of the values.
func NewColumn(unit string, values []float64) Column {
	return Column{unit, 1, Decimals(values)}
}

// Milliseconds is a column of times recorded in ms: shown in ms while the median is
// below 10,000, else in s.
func Milliseconds(values []float64) Column {
	if median(values) < 10_000 {
		return Column{"ms", 1, Decimals(values)}
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = v * 1e-3
	}
	return Column{"s", 1e-3, Decimals(scaled)}
}

// Figure writes one value of the column.
func (c Column) Figure(v float64) string { return Fixed(v*c.Scale, c.Decimals) }

// Interval writes a 95% interval of the column, without a unit.
func (c Column) Interval(lo, hi float64) string {
	return Interval(lo*c.Scale, hi*c.Scale, c.Decimals)
}

// Decimals is clamp(2 − ⌊log10(median)⌋, 0, 2); 0 for no values.
func Decimals(values []float64) int {
	m := math.Abs(median(values))
	switch {
	case m == 0 || m >= 100:
		return 0
	case m >= 10:
		return 1
	default:
		return 2
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Fixed writes v with d decimals, a comma from 1,000 and a true minus.
func Fixed(v float64, d int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', d, 64)
	whole, fraction, dotted := strings.Cut(s, ".")
	var b strings.Builder
	if v < 0 && strings.Trim(s, "0.") != "" {
		b.WriteString("−")
	}
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if dotted {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	return b.String()
}

// Interval writes lo–hi with d decimals, unbroken; where both ends print alike, half the last
// place: ±<0.5.
func Interval(lo, hi float64, d int) string {
	a, b := Fixed(lo, d), Fixed(hi, d)
	if a == b {
		return "±<" + strconv.FormatFloat(0.5*math.Pow10(-d), 'f', d+1, 64)
	}
	return a + rangeDash + b
}

// Prose writes a single figure in a sentence: three significant digits, and every
// integer digit above 999.
func Prose(v float64) string {
	a := math.Abs(v)
	if a == 0 {
		return "0"
	}
	d := 0
	for limit := 100.0; d < 12 && round(a, d+1) < limit; limit /= 10 {
		d++
	}
	return Fixed(v, d)
}

func round(v float64, d int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', d, 64), 64)
	return r
}

// Count writes a whole number.
func Count(n int64) string { return Fixed(float64(n), 0) }

// Percent writes a share of 1 as a whole percent, with one decimal from 95 to 105, so
// that 99.6 does not read as 100.
func Percent(share float64) string {
	p := share * 100
	d := 0
	if p >= 95 && p <= 105 {
		d = 1
	}
	return Fixed(p, d) + "%"
}

// Quantity joins a written figure and its unit.
func Quantity(figure, unit string) string { return figure + NBSP + unit }

// Concurrency writes c = 64 on one line.
func Concurrency(c int64) string { return "c" + NBSP + "=" + NBSP + Count(c) }

// Devices writes 8× H200; a single device bears no count.
func Devices(n int64, name string) string {
	name = strings.ReplaceAll(name, " ", NBSP)
	if n <= 1 {
		return name
	}
	return Count(n) + "×" + NBSP + name
}

// Shape writes ISL:OSL bare.
func Shape(isl, osl int64) string {
	return strconv.FormatInt(isl, 10) + ":" + strconv.FormatInt(osl, 10)
}

// Billions writes a parameter count: 69.5 B.
func Billions(n int64) string { return Quantity(Prose(float64(n)/1e9), "B") }

// Bytes writes a size in decimal units: 15.0 GB.
func Bytes(n float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if math.Abs(n) >= u.size {
			return Quantity(Prose(n/u.size), u.name)
		}
	}
	return Quantity(Fixed(n, 0), "bytes")
}

// Date is the day of an RFC 3339 time in UTC, or the text itself when it is none.
func Date(rfc3339 string) string {
	if len(rfc3339) >= 10 && strings.HasSuffix(rfc3339, "Z") {
		return rfc3339[:10]
	}
	return rfc3339
}

// Time is day and minute of an RFC 3339 time in UTC.
func Time(rfc3339 string) string {
	if len(rfc3339) >= 16 && strings.HasSuffix(rfc3339, "Z") {
		return rfc3339[:10] + NBSP + rfc3339[11:16] + NBSP + "UTC"
	}
	return rfc3339
}

// Exact writes a value as it was recorded, in the shortest form that reads back.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Plural writes "1 row", "3 rows".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1" + NBSP + one
	}
	return Count(int64(n)) + NBSP + many
}
