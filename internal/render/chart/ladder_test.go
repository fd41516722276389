package chart

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// panels reads from a ladder how it maps concurrency, the metric and the ratio to px.
func panels(t *testing.T, root node) (x, y, ratio func(float64) float64) {
	t.Helper()
	var at [3][][2]float64
	for _, n := range root.all() {
		if n.Name.Local != "text" || n.attr("class") != "" {
			continue
		}
		text, isRatio := strings.CutSuffix(strings.ReplaceAll(n.Text, ",", ""), "×")
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("tick %q", n.Text)
		}
		switch {
		case n.attr("text-anchor") == "middle":
			at[0] = append(at[0], [2]float64{math.Log(v), n.num(t, "x")})
		case isRatio:
			at[2] = append(at[2], [2]float64{v, n.num(t, "y") - 4})
		default:
			at[1] = append(at[1], [2]float64{math.Log(v), n.num(t, "y") - 4})
		}
	}
	var f [3]func(float64) float64
	for k, ticks := range at {
		if len(ticks) < 2 {
			t.Fatalf("axis %d has ticks %v", k, ticks)
		}
		a, b := ticks[0], ticks[len(ticks)-1]
		f[k] = func(v float64) float64 { return a[1] + (b[1]-a[1])*(v-a[0])/(b[0]-a[0]) }
	}
	return func(v float64) float64 { return f[0](math.Log(v)) }, func(v float64) float64 { return f[1](math.Log(v)) }, f[2]
}

func TestLadder(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	spec := ladderSpec()
	for _, w := range []string{"narrow", "wide"} {
		root := parse(t, all["ladder-"+w])
		x, y, ratio := panels(t, root)
		marks := map[string][]node{}
		for _, n := range root.class("mark") {
			marks[n.attr("data-row")] = append(marks[n.attr("data-row")], n)
		}
		for i, s := range spec.Series {
			for _, p := range s.Points {
				want := [][2]float64{{x(p.X.At), y(p.Y.At)}}
				if i != spec.Reference {
					want = append(want, [2]float64{x(p.X.At), ratio(p.Ratio.At)})
				}
				if len(marks[p.Row]) != len(want) {
					t.Fatalf("%s: row %s has %d marks, want %d", w, p.Row, len(marks[p.Row]), len(want))
				}
				for k, v := range want {
					if gx, gy := place(t, marks[p.Row][k]); math.Abs(gx-v[0]) > .3 || math.Abs(gy-v[1]) > .3 {
						t.Errorf("%s: row %s stands at %.1f,%.1f, want %.1f", w, p.Row, gx, gy, v)
					}
				}
			}
		}
		bands, lines := root.class("band"), root.class("crossover")
		if len(bands) != len(spec.Crossovers) || len(lines) != len(spec.Crossovers) {
			t.Fatalf("%s: %d bands and %d lines", w, len(bands), len(lines))
		}
		for i, c := range spec.Crossovers {
			from, wide := bands[i].num(t, "x"), bands[i].num(t, "width")
			if math.Abs(from-x(c.Lo)) > .3 || math.Abs(from+wide-x(c.Hi)) > .3 || math.Abs(lines[i].num(t, "x1")-x(c.At)) > .3 {
				t.Errorf("%s: crossover %v is drawn from %.1f to %.1f, want %.1f to %.1f", w, c, from, from+wide, x(c.Lo), x(c.Hi))
			}
		}
		if unit := path(t, root.class("unit")[0].attr("d")); math.Abs(unit[0][1]-ratio(1)) > .6 {
			t.Errorf("%s: the line at 1× lies at %.1f, want %.1f", w, unit[0][1], ratio(1))
		}
	}
	said, _ := texts(t, parse(t, all["ladder-wide"]))
	for _, want := range []string{"c = 6 (5–8)", "c = 15 (12–19)", "fp8 909", "throughput 700", "latency 365", "↑ output tok/s per GPU, log", "1", "2", "4", "8", "16", "32", "64", "128", "256"} {
		if !strings.Contains("|"+strings.Join(said, "|")+"|", "|"+want+"|") {
			t.Errorf("does not say %q: %q", want, said)
		}
	}
}

func TestLabelsSpread(t *testing.T) {
	y := scale{min: 0, max: 100, from: 100, to: 0}
	for _, c := range []struct {
		at, want []float64
	}{
		{[]float64{90, 50}, []float64{10, 50}},
		{[]float64{90, 88, 86}, []float64{10, 25, 40}},
		{[]float64{4, 3, 2}, []float64{70, 85, 100}},
	} {
		var ends []end
		for _, v := range c.at {
			ends = append(ends, end{y: v})
		}
		if got := spread(ends, y, 0, 100); !near(got, c.want) {
			t.Errorf("labels at %v lie at %v, want %v", c.at, got, c.want)
		}
	}
}
