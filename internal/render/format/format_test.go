package format

import "testing"

func TestDecimalsAreOneAColumn(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   int
	}{
		{"hundreds", []float64{565, 456, 9}, 0},
		{"thousands", []float64{15650, 1000}, 0},
		{"tens", []float64{70.6, 57.1, 128.3, 12}, 1},
		{"ones", []float64{7.5, 3.2, 12}, 2},
		{"below one", []float64{0.04}, 2},
		{"exactly ten", []float64{10}, 1},
		{"exactly one hundred", []float64{100}, 0},
		{"none", nil, 0},
	} {
		if got := Decimals(c.values); got != c.want {
			t.Errorf("%s: Decimals(%v) = %d, want %d", c.name, c.values, got, c.want)
		}
	}
}

func TestColumnsShareUnitAndDecimals(t *testing.T) {
	c := Milliseconds([]float64{135, 159, 43})
	if got := c.Figure(135.4) + " " + c.Interval(131.2, 139.3) + " " + c.Unit; got != "135 131\u2060–\u2060139 ms" {
		t.Error(got)
	}
	s := Milliseconds([]float64{12_000, 1_899_000, 14_500})
	if got := s.Figure(1_899_000) + " " + s.Unit; got != "1,899.0 s" {
		t.Error(got)
	}
	if c := Milliseconds([]float64{9_999}); c.Unit != "ms" {
		t.Errorf("a median of 9,999 ms is shown in %s", c.Unit)
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Fixed(1000, 0), "1,000"},
		{Fixed(999.4, 0), "999"},
		{Fixed(113800, 0), "113,800"},
		{Fixed(1234567.891, 2), "1,234,567.89"},
		{Fixed(-2.04, 1), "−2.0"},
		{Fixed(-0.001, 1), "0.0"},
		{Interval(539, 593, 0), "539\u2060–\u2060593"},
		{Interval(9.1, 9.2, 0), "±<0.5"},
		{Interval(9.11, 9.12, 1), "±<0.05"},
		{Interval(7.501, 7.502, 2), "±<0.005"},
		{Prose(69.503), "69.5"},
		{Prose(7.5), "7.50"},
		{Prose(39400.4), "39,400"},
		{Prose(565.2), "565"},
		{Prose(0.04261), "0.0426"},
		{Prose(99.96), "100"},
		{Prose(99.7), "99.7"},
		{Prose(9.996), "10.0"},
		{Prose(999.6), "1,000"},
		{Prose(0), "0"},
		{Percent(0.66), "66%"},
		{Percent(0.996), "99.6%"},
		{Percent(1.04), "104.0%"},
		{Percent(1.2), "120%"},
		{Concurrency(64), "c\u00a0=\u00a064"},
		{Devices(8, "H200"), "8×\u00a0H200"},
		{Devices(1, "H200 SXM"), "H200\u00a0SXM"},
		{Shape(2048, 128), "2048:128"},
		{Billions(69_503_000_000), "69.5\u00a0B"},
		{Bytes(150_754_820_096), "151\u00a0GB"},
		{Bytes(131072), "131\u00a0kB"},
		{Bytes(512), "512\u00a0bytes"},
		{Quantity("14", "ms"), "14\u00a0ms"},
		{Date("2026-11-30T18:20:00Z"), "2026-11-30"},
		{Time("2026-11-30T18:20:00Z"), "2026-11-30\u00a018:20\u00a0UTC"},
		{Exact(135.4321), "135.4321"},
		{Plural(1, "row", "rows"), "1\u00a0row"},
		{Plural(1200, "row", "rows"), "1,200\u00a0rows"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
