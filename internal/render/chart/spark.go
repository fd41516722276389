package chart

// Sizes of a sparkline, in px.
const (
	sparkWide = 96
	sparkTall = 20
)

// Spark is a word-sized line over time with a mark and a whisker at its last value. Its
// scales are the column's, so that its neighbours compare; the figure beside it is the
// content, and it is hidden from screen readers.
func Spark(k SparkSpec) string {
	x := scale{min: k.From, max: k.To, from: 4, to: sparkWide - 4}
	y := scale{min: k.Min, max: k.Max, from: sparkTall - 3, to: 3}
	if k.From == k.To {
		x.min, x.max = k.From-1, k.To+1
	}
	if k.Min == k.Max {
		y.min, y.max = k.Min-1, k.Max+1
	}
	var s svg
	s.open("svg", "class", "spark", "width", px(sparkWide), "height", px(sparkTall), "viewBox", "0 0 "+px(sparkWide)+" "+px(sparkTall), "aria-hidden", "true")
	d := ""
	for i, v := range k.Values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		d += command + px(x.at(k.Days[i])) + " " + px(y.at(v.At))
	}
	s.el("path", "d", d, "fill", "none", "stroke", "var(--edge)", "stroke-width", "1.3")
	if n := len(k.Values); n > 0 {
		last := k.Values[n-1]
		at := px(x.at(k.Days[n-1]))
		if last.Interval != nil {
			lo, hi := last.ends()
			s.el("line", "class", "ci", "x1", at, "x2", at, "y1", px(y.at(max(lo, y.min))), "y2", px(y.at(min(hi, y.max))), "stroke", "var(--ink)", "stroke-width", "1.6")
		}
		s.el("circle", "class", "mark", "cx", at, "cy", px(y.at(last.At)), "r", "2.5", "fill", "var(--ink)")
	}
	s.close("svg")
	return s.String()
}
