package chart

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestBins counts by hand: 1,000 gaps of which 990 are spread evenly over 10.000 to
// 13.959 ms, 4 µs apart, and 10 took a second.
func TestBins(t *testing.T) {
	var gaps []int64
	for i := range int64(990) {
		gaps = append(gaps, 10_000+4*i)
	}
	for range 10 {
		gaps = append(gaps, 1_000_000)
	}
	gaps = append(gaps, -1) // not stamped
	b := binned(gaps)
	// p99.5 is a second, so the bins must take in everything: 40 of 50 ms at most.
	if b.total != 1000 || b.over != 0 || b.width != 50_000 || b.start != 0 {
		t.Errorf("with 1%% outliers: %+v", b)
	}
	b = binned(gaps[:994])
	if b.total != 994 || b.over != 4 || b.width != 100 || b.start != 10_000 || len(b.counts) != 40 {
		t.Fatalf("with 4 outliers: %+v", b)
	}
	for i, n := range b.counts[:39] {
		if n != 25 {
			t.Errorf("bin %d holds %d, want 25", i, n)
		}
	}
	if b.counts[39] != 15 {
		t.Errorf("the last bin holds %d, want 15", b.counts[39])
	}
}

// Forty-five of 1,000 gaps wait for a prefill: the bins are of the rest, by hand 40 of
// 100 µs from 10 ms on, and all that waited stand beyond the break.
func TestBinsShowTheBody(t *testing.T) {
	var gaps []int64
	for i := range int64(955) {
		gaps = append(gaps, 10_000+4*i)
	}
	for i := range int64(45) {
		gaps = append(gaps, 100_000+1000*i)
	}
	b := binned(gaps)
	if b.start != 10_000 || b.width != 100 || b.over < 45 || b.over > 50 {
		t.Errorf("%+v", b)
	}
	if OnAxis(gaps, 144) || !OnAxis(gaps, 12) {
		t.Error("p99 of 144 ms is said to be on the axis, or p50 not to be")
	}
}

func TestBinsAreTwentyToForty(t *testing.T) {
	for _, span := range []int64{1, 19, 39, 40, 41, 79, 80, 81, 99, 101, 199, 399, 401, 999, 12345, 98765432} {
		var gaps []int64
		for i := range int64(1000) {
			gaps = append(gaps, 1_000_000+i*span/1000)
		}
		b := binned(gaps)
		sum := b.over
		for _, n := range b.counts {
			sum += n
		}
		lead := b.width
		for lead%10 == 0 {
			lead /= 10
		}
		if n := len(b.counts); n < 20 || n > 40 || sum != 1000 || (lead != 1 && lead != 2 && lead != 5) {
			t.Errorf("span %d: %d bins of %d hold %d gaps", span, n, b.width, sum)
		}
	}
}

func TestHistogram(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range histograms() {
		for _, w := range []string{"narrow", "wide"} {
			root := parse(t, all[name+"-"+w])
			sum, most, per := 0, 0, 0.0
			for _, n := range root.class("bin") {
				if count, err := strconv.Atoi(n.attr("data-n")); err == nil && count > most {
					most, per = count, n.num(t, "height")/float64(count)
				}
			}
			for _, n := range root.class("bin") {
				count, err := strconv.Atoi(n.attr("data-n"))
				if err != nil {
					t.Fatal(err)
				}
				sum += count
				if got, want := n.num(t, "height"), per*float64(count); math.Abs(got-want) > .02 {
					t.Errorf("%s %s: %d gaps are %.2f px high, want %.2f as the tallest bar is", name, w, count, got, want)
				}
			}
			if sum != len(spec.Gaps) {
				t.Errorf("%s %s: bars hold %d gaps of %d", name, w, sum, len(spec.Gaps))
			}
			if got, want := len(root.class("p99")), map[bool]int{true: 1}[len(spec.Gaps) >= 100]; got != want {
				t.Errorf("%s %s: %d gaps and %d lines at p99, want %d", name, w, len(spec.Gaps), got, want)
			}
		}
	}
	said, _ := texts(t, parse(t, all["itl-wide"]))
	var over, edge float64
	for _, s := range said {
		if n, ok := strings.CutSuffix(s, " over"); ok {
			over, _ = strconv.ParseFloat(n, 64)
		}
		if ms, ok := strings.CutPrefix(s, "> "); ok {
			edge, _ = strconv.ParseFloat(ms, 64)
		}
	}
	beyond := 0.0
	for _, g := range histograms()["itl"].Gaps {
		if float64(g) >= edge*1000 {
			beyond++
		}
	}
	if over == 0 || over != beyond {
		t.Errorf("says %v gaps lie over %v ms, and %v do", over, edge, beyond)
	}
}

// TestPercentileLabels: p50 stands left of its line where the axis leaves room, and
// right of it only where no line of p99 would cross it.
func TestPercentileLabels(t *testing.T) {
	for _, c := range []struct {
		name     string
		p50, p99 float64
		anchor50 string
		lines    int
	}{
		{"room on the left", 40, 90, "end", 2},
		{"p50 at the axis", 10.5, 90, "start", 2},
		{"both at the axis", 10.5, 12, "end", 2},
		{"p99 beyond the bins", 40, 400, "end", 1},
	} {
		var gaps []int64
		for i := range int64(1000) {
			gaps = append(gaps, 10_000+90*i)
		}
		narrow, _, _ := strings.Cut(Histogram(HistogramSpec{ID: "h", Label: "ITL", Gaps: gaps, P50: &c.p50, P99: &c.p99}), "</svg>")
		root := parse(t, narrow+"</svg>")
		labels := root.class("label")
		if n := len(root.class("p50")) + len(root.class("p99")); n != c.lines {
			t.Fatalf("%s: %d lines, want %d", c.name, n, c.lines)
		}
		for _, l := range labels {
			if strings.HasPrefix(l.Text, "p50") && l.attr("text-anchor") != c.anchor50 {
				t.Errorf("%s: %q is anchored at its %s, want %s", c.name, l.Text, l.attr("text-anchor"), c.anchor50)
			}
		}
	}
}
