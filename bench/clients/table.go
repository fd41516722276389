package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// printTable prints a line a client, level and load: the medians of its runs, and beside
// them by how much ours is better, where it ran first.
func printTable(out io.Writer, ready []*client, rows []result) {
	type cell struct {
		load    string
		streams int
	}
	var cells []cell
	for _, r := range rows {
		if c := (cell{r.Load, r.Streams}); !slices.Contains(cells, c) {
			cells = append(cells, c)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\tc\tload\tTTFT error p50\tp99\tmax\tITL error p50\tp99\tmax\tCPU\tin load\tmemory\theld\tserver\tTTFT p99\tITL p99\tCPU\t")
	fmt.Fprintln(w, "\t\t\tms\tms\tms\tms\tms\tms\ts\tµs/token\tMB\tat once\tlate, ms\t÷ ours\t÷ ours\t÷ ours\t")
	var notes, verdicts []string
	for _, c := range cells {
		var best *result
		var all []result
		for i, one := range ready {
			var runs, good []result
			for _, r := range rows {
				if r.Client == one.name && r.Streams == c.streams && r.Load == c.load {
					if runs = append(runs, r); r.Failed == "" {
						good = append(good, r)
					}
				}
			}
			where := fmt.Sprintf("%s, %d streams, %s: ", one, c.streams, c.load)
			for _, r := range runs {
				notes = append(notes, r.notes(where)...)
			}
			if len(good) == 0 {
				if len(runs) > 0 {
					fmt.Fprintf(w, "%s\t%d\t%s\tfailed\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n", one.name, c.streams, c.load)
				}
				continue
			}
			m := median(good)
			all = append(all, m)
			if i == 0 && strings.HasPrefix(one.name, "ours-") {
				best = &m
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t", one.name, c.streams, c.load, ms(m.First.P50), ms(m.First.P99), ms(m.First.Max))
			if m.Gap.N > 0 {
				fmt.Fprintf(w, "%s\t%s\t%s\t", ms(m.Gap.P50), ms(m.Gap.P99), ms(m.Gap.Max))
			} else {
				fmt.Fprint(w, "writes\tno\tgaps\t")
			}
			late := ms(m.LateP99)
			if !m.kept() {
				late += " spoiled"
			}
			fmt.Fprintf(w, "%.1f\t%.1f\t%.0f\t%d\t%s\t", m.CPU, m.perChunk(m.CPULoad), float64(m.Memory)/1e6, m.Held, late)
			if best == nil || i == 0 {
				fmt.Fprint(w, "\t\t\t\n")
				continue
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t\n", ratio(float64(m.First.P99), float64(best.First.P99)), ratio(float64(m.Gap.P99), float64(best.Gap.P99)),
				ratio(m.perChunk(m.CPULoad), best.perChunk(best.CPULoad)))
		}
		if len(all) > 0 {
			if v := verdict(all); v != "" {
				verdicts = append(verdicts, v)
			}
		}
	}
	w.Flush()
	for _, n := range append(notes, verdicts...) {
		fmt.Fprintln(out, n)
	}
}

// verdict holds the first client of a cell, where it is ours, against the best peer at
// each of two figures.
func verdict(cell []result) string {
	us := &cell[0]
	if !strings.HasPrefix(us.Client, "ours-") {
		return ""
	}
	var said []string
	for _, f := range []struct {
		name string
		of   func(*result) spread
	}{
		{"ITL", func(r *result) spread { return r.Gap }},
		{"TTFT", func(r *result) spread { return r.First }},
	} {
		var best *result
		for i := range cell {
			r := &cell[i]
			if !strings.HasPrefix(r.Client, "ours-") && f.of(r).N > 0 && r.kept() && (best == nil || f.of(r).P99 < f.of(best).P99) {
				best = r
			}
		}
		if best != nil {
			said = append(said, fmt.Sprintf("%s p99 error %s ms, the best peer's %s (%s): %s times as much",
				f.name, ms(f.of(us).P99), ms(f.of(best).P99), best.Client, ratio(float64(f.of(best).P99), float64(f.of(us).P99))))
		}
	}
	if said == nil {
		return ""
	}
	return fmt.Sprintf("%d streams, %s, %s: %s", us.Streams, us.Load, us.Client, strings.Join(said, "; "))
}

// notes are what the table's figures leave out.
func (r *result) notes(where string) (out []string) {
	add := func(format string, args ...any) { out = append(out, where+fmt.Sprintf(format, args...)) }
	if r.Failed != "" {
		add("failed: %s", r.Failed)
		return out
	}
	if !r.kept() {
		add("spoiled: the server could not keep pace, its p99 lateness was %s ms", ms(r.LateP99))
	}
	if r.Mean.N > 0 {
		add("writes no gaps; its mean gap of a request errs by p50 %s, p99 %s, max %s ms", ms(r.Mean.P50), ms(r.Mean.P99), ms(r.Mean.Max))
	}
	if r.Joined < r.Asked {
		add("%d of %d requests are not among its successes", r.Asked-r.Joined, r.Asked)
	}
	if r.Lost > 0 {
		add("%d figures have no stamp and were left out", r.Lost)
	}
	if r.Uneven > 0 {
		add("%d of %d requests have more or fewer gaps than were sent; their gaps were left out", r.Uneven, r.Joined)
	}
	if r.Wrong > 0 {
		add("%d of %d requests count other tokens than were sent", r.Wrong, r.Joined)
	}
	if r.Held < r.Streams {
		add("held at most %d of %d streams at once", r.Held, r.Streams)
	}
	return out
}

// median takes each figure's median over runs.
func median(runs []result) result {
	m := runs[0]
	middle := func(figure func(*result) float64) float64 {
		v := make([]float64, len(runs))
		for i := range runs {
			v[i] = figure(&runs[i])
		}
		slices.Sort(v)
		return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	whole := func(figure func(*result) int64) int64 {
		return int64(middle(func(r *result) float64 { return float64(figure(r)) }))
	}
	m.First.P50 = whole(func(r *result) int64 { return r.First.P50 })
	m.First.P99 = whole(func(r *result) int64 { return r.First.P99 })
	m.First.Max = whole(func(r *result) int64 { return r.First.Max })
	m.Gap.P50 = whole(func(r *result) int64 { return r.Gap.P50 })
	m.Gap.P99 = whole(func(r *result) int64 { return r.Gap.P99 })
	m.Gap.Max = whole(func(r *result) int64 { return r.Gap.Max })
	m.CPU = middle(func(r *result) float64 { return r.CPU })
	m.CPULoad = middle(func(r *result) float64 { return r.CPULoad })
	m.Memory = whole(func(r *result) int64 { return r.Memory })
	m.Held = int(whole(func(r *result) int64 { return int64(r.Held) }))
	m.LateP99 = whole(func(r *result) int64 { return r.LateP99 })
	m.Tokens = int(whole(func(r *result) int64 { return int64(r.Tokens) }))
	return m
}

func ms(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }

// ratio is by how much ours is better; nothing where one of the two is not known.
func ratio(theirs, ours float64) string {
	switch r := theirs / ours; {
	case ours == 0 || theirs == 0:
		return ""
	case r < 10:
		return fmt.Sprintf("%.1f", r)
	default:
		return fmt.Sprintf("%.0f", r)
	}
}
