package chart

import (
	"math"
	"strings"
	"testing"
)

func TestGauge(t *testing.T) {
	for _, c := range []struct {
		percent, expected float64
		end               float64
		said              string
		over              bool
	}{
		{24.4, 71, 125, "24% of the hard roof", false},
		{99.6, 71, 125, "99.6% of the hard roof", false},
		{99.96, 71, 125, "100.0% of the hard roof", false},
		{100, 71, 125, "100% of the hard roof", false},
		{104, 71, 125, "104% ↑ of the hard roof: unexplained", true},
		{104.4, 71, 125, "104.4% ↑ of the hard roof: unexplained", true},
		{126, 71, 150, "126% ↑ of the hard roof: unexplained", true},
		{150, 71, 175, "150% ↑ of the hard roof: unexplained", true},
		{451, 96, 475, "451% ↑ of the hard roof: unexplained", true},
	} {
		root := parse(t, Gauge(GaugeSpec{ID: "g", Figure: "574 tok/s", Percent: &c.percent, Roof: "550 tok/s", Expected: &c.expected}))
		at := func(p float64) float64 { return p / c.end * Narrow }
		check := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > .01 {
				t.Errorf("%v%%: %s is at %.2f of %d px, want %.2f", c.percent, what, got, Narrow, want)
			}
		}
		check("roof", root.class("roof")[0].num(t, "x1"), at(100))
		check("expected", root.class("expected")[0].num(t, "x1"), at(c.expected))
		check("bar", root.class("level")[0].num(t, "width"), at(min(c.percent, 100)))
		over := root.class("over")
		if c.over {
			if len(over) != 1 {
				t.Fatalf("%v%%: %d hatched parts, want 1", c.percent, len(over))
			}
			check("start of what exceeds", over[0].num(t, "x"), at(100))
			check("what exceeds", over[0].num(t, "width"), at(c.percent-100))
		} else if len(over) != 0 {
			t.Errorf("%v%% is hatched", c.percent)
		}
		said, _ := texts(t, root)
		if all := strings.Join(said, "|"); !strings.Contains(all, c.said) || !strings.Contains(all, "hard roof 550 tok/s") {
			t.Errorf("%v%%: says %q, want %q", c.percent, all, c.said)
		}
	}
}

func TestGaugeWithoutItsInputs(t *testing.T) {
	root := parse(t, Gauge(GaugeSpec{ID: "g", Name: "Decode, c = 1", Missing: "KV dtype unknown"}))
	for _, n := range root.all() {
		if n.Name.Local == "rect" || n.Name.Local == "line" {
			t.Errorf("draws a %s", n.Name.Local)
		}
	}
	if want := "Decode, c = 1: Not computable: KV dtype unknown"; root.attr("aria-label") != want {
		t.Errorf("says %q, want %q", root.attr("aria-label"), want)
	}
}

func TestBar(t *testing.T) {
	root := parse(t, Bar(BarSpec{Value: val(300, .1), Max: 600}))
	var got []string
	for _, n := range root.Nodes {
		got = append(got, n.attr("width")+n.attr("x1")+" "+n.attr("x2"))
	}
	// 300 of 600, its interval 270 to 330.
	if want := "50% |45%55%|45%45%|55%55%"; strings.ReplaceAll(strings.Join(got, "|"), "% ", "%") != strings.ReplaceAll(want, "% ", "%") {
		t.Errorf("bar and whisker lie at %q, want %q", got, want)
	}
	if n := len(parse(t, Bar(BarSpec{Value: Value{At: 282}, Max: 600})).Nodes); n != 1 {
		t.Errorf("a figure without interval has %d parts, want its bar alone", n)
	}
}
