package chart

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// axes reads from a drawing alone how it maps data to px: from the places of two tick
// labels on each axis.
func axes(t *testing.T, root node, log bool) (x, y func(float64) float64) {
	t.Helper()
	var at [2][][2]float64 // value, px
	for _, n := range root.all() {
		if n.Name.Local != "text" || n.attr("class") != "" {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Text, ",", ""), 64)
		if err != nil {
			t.Fatalf("tick %q", n.Text)
		}
		if n.attr("text-anchor") == "middle" {
			at[0] = append(at[0], [2]float64{v, n.num(t, "x")})
		} else {
			at[1] = append(at[1], [2]float64{v, n.num(t, "y") - 4})
		}
	}
	var out [2]func(float64) float64
	for k, ticks := range at {
		if len(ticks) < 2 {
			t.Fatalf("axis %d has ticks %v", k, ticks)
		}
		a, b := ticks[0], ticks[len(ticks)-1]
		f := func(v float64) float64 { return v }
		if log {
			f = math.Log
		}
		out[k] = func(v float64) float64 { return a[1] + (b[1]-a[1])*(f(v)-f(a[0]))/(f(b[0])-f(a[0])) }
	}
	return out[0], out[1]
}

var translated = regexp.MustCompile(`^translate\(([0-9.-]+) ([0-9.-]+)\)$`)

func place(t *testing.T, n node) (x, y float64) {
	t.Helper()
	m := translated.FindStringSubmatch(n.attr("transform"))
	if m == nil {
		t.Fatalf("mark lies at %q", n.attr("transform"))
	}
	x, errX := strconv.ParseFloat(m[1], 64)
	y, errY := strconv.ParseFloat(m[2], 64)
	if errX != nil || errY != nil {
		t.Fatalf("mark lies at %q", n.attr("transform"))
	}
	return x, y
}

func TestMarksStandAtTheirValues(t *testing.T) {
	for _, c := range []struct {
		name string
		spec ScatterSpec
		log  bool
	}{
		{"scatter-linear", linearSpec(), false},
		{"scatter", scatterSpec(), true}, // its rates span 130×
	} {
		all, err := drawings()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{"narrow", "wide"} {
			root := parse(t, all[c.name+"-"+w])
			if root.attr("class") != w {
				t.Errorf("%s has class %q", w, root.attr("class"))
			}
			x, y := axes(t, root, c.log)
			marks := map[string]node{}
			for _, n := range root.class("mark") {
				marks[n.attr("data-row")] = n
			}
			for _, s := range c.spec.Series {
				for _, p := range s.Points {
					n, ok := marks[p.Row]
					if !ok {
						t.Fatalf("%s %s: row %s has no mark", c.name, w, p.Row)
					}
					gx, gy := place(t, n)
					if math.Abs(gx-x(p.X.At)) > .2 || math.Abs(gy-y(p.Y.At)) > .2 {
						t.Errorf("%s %s: row %s stands at %.1f,%.1f, want %.1f,%.1f", c.name, w, p.Row, gx, gy, x(p.X.At), y(p.Y.At))
					}
					if n.attr("fill") != Colour(s.Slot) || n.attr("data-cell") != s.Cell || n.attr("data-c") != p.C {
						t.Errorf("%s %s: row %s has %v", c.name, w, p.Row, n.Attrs)
					}
				}
			}
		}
	}
}

func TestTicksAreFew(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]int{"scatter-linear-narrow": 3, "scatter-linear-wide": 6, "scatter-narrow": 3, "scatter-wide": 6} {
		root := parse(t, all[name])
		var x, y int
		for _, n := range root.all() {
			if n.Name.Local == "text" && n.attr("class") == "" {
				if n.attr("text-anchor") == "middle" {
					x++
				} else {
					y++
				}
			}
		}
		if x < 2 || x > most || y < 2 || y > most {
			t.Errorf("%s has %d and %d ticks, want 2 to %d", name, x, y, most)
		}
		if got := len(root.class("label")); got > map[int]int{3: 2, 6: 4}[most] {
			t.Errorf("%s has %d direct labels", name, got)
		}
	}
}

// An axis says so where it is logarithmic, at both widths, and where both ends and the
// middle fit a narrow drawing has three ticks.
func TestAxesOfTheScatter(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]bool{"scatter-linear-narrow": false, "scatter-linear-wide": false, "scatter-narrow": true, "scatter-wide": true} {
		names := parse(t, all[name]).class("name")
		if len(names) != 2 {
			t.Fatalf("%s has %d axis names", name, len(names))
		}
		for _, n := range names {
			if got := strings.Contains(n.Text, ", log"); got != log {
				t.Errorf("%s: axis name %q; logarithmic: %v", name, n.Text, log)
			}
			if w := width(n.Text, bold); w > widthOf(name) {
				t.Errorf("%s: axis name %q is %.0f px wide", name, n.Text, w)
			}
		}
	}
	for _, c := range []struct {
		s    scale
		want []float64
	}{
		{linear(7900, 3), []float64{0, 4000, 8000}}, {linear(282, 3), []float64{0, 150, 300}},
		{logarithmic(40, 900, 3), []float64{30, 100, 1000}}, {logarithmic(1, 100, 3), []float64{1, 10, 100}},
	} {
		if !slices.EqualFunc(c.s.ticks, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6*b+1e-9 }) {
			t.Errorf("ticks %v, want %v", c.s.ticks, c.want)
		}
	}
}

func widthOf(name string) float64 {
	if strings.HasSuffix(name, "narrow") {
		return Narrow
	}
	return Wide
}

// path reads a path of M and L alone.
func path(t *testing.T, d string) (out [][2]float64) {
	t.Helper()
	for _, f := range strings.FieldsFunc(d, func(r rune) bool { return r == 'M' || r == 'L' }) {
		x, y, _ := strings.Cut(strings.TrimSpace(f), " ")
		a, errA := strconv.ParseFloat(x, 64)
		b, errB := strconv.ParseFloat(y, 64)
		if errA != nil || errB != nil {
			t.Fatalf("path %q", d)
		}
		out = append(out, [2]float64{a, b})
	}
	return out
}

func TestFrontIsAStaircase(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, all["scatter-linear-wide"])
	x, y := axes(t, root, false)
	fronts := root.class("front")
	if len(fronts) != 1 {
		t.Fatalf("%d fronts", len(fronts))
	}
	got := path(t, fronts[0].attr("d"))
	// Through 40,500 then 75,125 then 100,50, each the corner of what it beats.
	want := [][2]float64{{0, 500}, {40, 500}, {40, 125}, {75, 125}, {75, 50}, {100, 50}, {100, 0}}
	ok := slices.EqualFunc(got, want, func(g, w [2]float64) bool {
		return math.Abs(g[0]-x(w[0])) < .6 && math.Abs(g[1]-y(w[1])) < .6
	})
	if !ok {
		t.Errorf("the front runs %v; its corners are %v in data units", got, want)
	}
}

func TestSeriesDifferInColourShapeAndDash(t *testing.T) {
	seen := map[string]int{}
	for slot := 1; slot <= Slots; slot++ {
		for what, v := range map[string]string{"colour": Colour(slot), "shape": Shape(slot, 4, false), "dash": Dash(slot)} {
			if other, ok := seen[what+v]; ok {
				t.Errorf("slots %d and %d have the same %s %q", other, slot, what, v)
			}
			seen[what+v] = slot
		}
	}
	if Dash(1) != "" {
		t.Errorf("slot 1 is not solid: %q", Dash(1))
	}
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	lines := parse(t, all["scatter-wide"]).class("series")
	if len(lines) != 6 {
		t.Fatalf("%d coloured lines, want 6", len(lines))
	}
	for _, n := range lines {
		slot, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(n.attr("stroke"), "var(--c"), ")"))
		if err != nil || n.attr("stroke-dasharray") != Dash(slot) {
			t.Errorf("line of %s has stroke %q and dash %q", n.attr("data-cell"), n.attr("stroke"), n.attr("stroke-dasharray"))
		}
	}
}

func TestWhiskersReachTheInterval(t *testing.T) {
	s := linearSpec()
	s.Series[0].Points[1].Y = val(125, .2) // 100 to 150, on the front
	_, wide, err := shared.Scatter(s)
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, wide)
	x, y := axes(t, root, false)
	whiskers := root.class("ci")
	if len(whiskers) != 1 {
		t.Fatalf("%d whiskers, want the one of the one interval", len(whiskers))
	}
	got := path(t, whiskers[0].attr("d"))
	for i, v := range []float64{100, 150} {
		if math.Abs(got[i][0]-x(75)) > .6 || math.Abs(got[i][1]-y(v)) > .6 {
			t.Errorf("whisker ends at %v, want %.1f,%.1f", got[i], x(75), y(v))
		}
	}
}

func TestImportedIsHollowAndQueueBoundHasARing(t *testing.T) {
	s := linearSpec()
	s.Series[0].Points[0].Imported = true
	s.Series[0].Points[1].QueueBound = true
	narrow, _, err := shared.Scatter(s)
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, narrow)
	for _, n := range root.class("mark") {
		if got, want := n.attr("fill-rule") == "evenodd", n.attr("data-row") == "a1"; got != want {
			t.Errorf("row %s hollow: %v", n.attr("data-row"), got)
		}
	}
	if n := len(root.class("ring")); n != 1 {
		t.Errorf("%d rings, want 1", n)
	}
}

func TestScatterWithoutRows(t *testing.T) {
	narrow, wide, err := shared.Scatter(ScatterSpec{ID: "none", Label: "No rows.", XName: "x", YName: "y"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{narrow, wide} {
		if n := len(parse(t, s).class("mark")); n != 0 {
			t.Errorf("%d marks", n)
		}
	}
}
