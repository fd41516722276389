package chart

import (
	"math"
	"testing"
)

func barsSpec() BarsSpec {
	v := func(at, rel float64) *Value { x := val(at, rel); return &x }
	return BarsSpec{ID: "bars", Label: "fp8 has the lowest ITL p99, 22.0 ms.", Name: "ITL p99, ms", Bars: []NamedBar{
		{Name: "8× H200 fp8", Slot: 3, Row: "a", Value: v(22, .04), Text: "22.0"},
		{Name: "8× H200 throughput", Slot: 2, Row: "b", Value: v(27.2, .05), Text: "27.2"},
		{Name: "8× B200 latency", Slot: 4, Row: "c", Value: &Value{At: 12.1}, Text: "12.1"},
		{Name: "8× MI300X latency", Slot: 6, Text: "— fewer than 100 gaps"},
	}}
}

func TestBars(t *testing.T) {
	root := parse(t, Bars(barsSpec()))
	levels := root.class("level")
	if len(levels) != 3 || len(root.class("ci")) != 2 {
		t.Fatalf("%d bars and %d whiskers, want 3 and 2", len(levels), len(root.class("ci")))
	}
	per := levels[0].num(t, "width") / 22
	for i, v := range []float64{22, 27.2, 12.1} {
		if got := levels[i].num(t, "width"); math.Abs(got-per*v) > .02 {
			t.Errorf("bar of %v is %.2f px, want %.2f", v, got, per*v)
		}
	}
}

func TestSpark(t *testing.T) {
	root := parse(t, Spark(SparkSpec{Days: []float64{0, 10, 20}, Values: []Value{{At: 100}, {At: 150}, val(200, .1)}, From: 0, To: 20, Min: 100, Max: 300}))
	line := path(t, root.Nodes[0].attr("d"))
	// 88 px for 20 days, 14 px for 200 units.
	for i, want := range [][2]float64{{4, 17}, {48, 13.5}, {92, 10}} {
		if math.Abs(line[i][0]-want[0]) > .06 || math.Abs(line[i][1]-want[1]) > .06 {
			t.Errorf("value %d lies at %v, want %v", i, line[i], want)
		}
	}
	if c := root.class("ci")[0]; math.Abs(c.num(t, "y1")-11.4) > .06 || math.Abs(c.num(t, "y2")-8.6) > .06 {
		t.Errorf("whisker from %s to %s, want 11.4 to 8.6", c.attr("y1"), c.attr("y2"))
	}
}
