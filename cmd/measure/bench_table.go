package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tableRow is one line of the table that closes a run; a nil prints as —.
type tableRow struct {
	shape         shape
	height        float64 // of the load: streams, or requests a second
	load          string  // streams, or how the requests of an open loop come
	ttft          *float64
	itl50, itl99  *float64
	outputTokPerS *float64
	roof          *float64 // TPOT's hard floor ÷ measured TPOT
	verdict       string
	reason        string
}

// writeTable aligns the rows under heads that carry unit and percentile.
func writeTable(w io.Writer, rows []tableRow) {
	roof := false
	for _, r := range rows {
		roof = roof || r.roof != nil
	}
	heads := [][2]string{{"shape", ""}, {"c", ""}, {"TTFT p50", "ms"}, {"ITL p50", "ms, all gaps"}, {"ITL p99", "ms, all gaps"}, {"output", "tok/s"}}
	if roof {
		heads = append(heads, [2]string{"of roof", "%, TPOT p50"})
	}
	heads = append(heads, [2]string{"verdict", ""})
	column := func(of func(tableRow) *float64) []string {
		var v []*float64
		for _, r := range rows {
			v = append(v, of(r))
		}
		return sameDecimals(v)
	}
	ttft := column(func(r tableRow) *float64 { return r.ttft })
	itl50 := column(func(r tableRow) *float64 { return r.itl50 })
	itl99 := column(func(r tableRow) *float64 { return r.itl99 })
	rate := column(func(r tableRow) *float64 { return r.outputTokPerS })
	percent := column(func(r tableRow) *float64 { return r.roof })
	lines := [][]string{{}, {}}
	for _, h := range heads {
		lines[0], lines[1] = append(lines[0], h[0]), append(lines[1], h[1])
	}
	for i, r := range rows {
		line := []string{r.shape.String(), r.load, ttft[i], itl50[i], itl99[i], rate[i]}
		if roof {
			line = append(line, percent[i])
		}
		verdict := r.verdict
		if r.reason != "" {
			verdict += ": " + r.reason
		}
		lines = append(lines, append(line, verdict))
	}
	align(w, lines)
}

// align prints lines of cells in columns: the first and the last to the left, those
// between to the right.
func align(w io.Writer, lines [][]string) {
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, cell := range l {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range lines {
		var b strings.Builder
		for i, cell := range l {
			gap := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				b.WriteString(cell + gap)
			case i == len(l)-1:
				b.WriteString("  " + cell)
			default:
				b.WriteString("  " + gap + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// sameDecimals prints a column with the decimals that its median calls for, so that
// its figures can be compared by eye.
func sameDecimals(column []*float64) []string {
	var known []float64
	for _, v := range column {
		if v != nil {
			known = append(known, *v)
		}
	}
	decimals := 0
	if len(known) > 0 {
		slices.Sort(known)
		if m := known[(len(known)-1)/2]; m > 0 {
			decimals = min(2, max(0, 2-int(math.Floor(math.Log10(m)))))
		}
	}
	out := make([]string, len(column))
	for i, v := range column {
		out[i] = "—"
		if v != nil {
			out[i] = strconv.FormatFloat(*v, 'f', decimals, 64)
		}
	}
	return out
}
