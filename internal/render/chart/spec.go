package chart

import "rowproof/internal/row"

// Widths of the two drawings of a chart with axes, in px.
const (
	Narrow = 296
	Wide   = 720
)

// Value is a measured figure and its 95% interval; a nil Interval draws no whisker.
type Value struct {
	At       float64
	Interval *row.Interval
}

// ends are the least and the greatest place that v reaches.
func (v Value) ends() (lo, hi float64) {
	lo, hi = v.At, v.At
	if v.Interval != nil {
		lo, hi = min(lo, v.Interval[0]), max(hi, v.Interval[1])
	}
	return lo, hi
}

// Point is one measured row in a scatter or a ladder.
type Point struct {
	Row   string // row id: data-row on the mark
	C     string // load as shown, such as 64: data-c on the mark
	X, Y  Value  // in a ladder X.At is the concurrency
	Front bool   // nothing measured beats it on both axes

	Imported   bool // hollow mark
	QueueBound bool // ring around the mark

	Label string // direct label, such as "8× H200 fp8, c=64"; "": none
	Short string // the label at 296 px; "": Label

	// Ratio is Y over the reference's Y at the same X, in a ladder; nil: no mark in
	// the lower panel.
	Ratio *Value
}

// Series is a cell's rows in ladder order, joined by straight lines.
type Series struct {
	Cell   string // MODEL/TARGET/STRATEGY: data-cell on its marks
	Name   string // direct label at the line's end, in a ladder
	Slot   int    // 1 to 8: colour, shape and dash of that slot; 0: context
	Points []Point
}

// ScatterSpec is rows of many cells: x faster for each user, y cheaper. Both axes are
// linear from 0, or both logarithmic where either spans more than 50×.
type ScatterSpec struct {
	ID           string // unique in the page; ids inside the drawing begin with it
	Label        string // the finding as a sentence: the drawing's accessible name
	XName, YName string // as shown, such as "↑ output tok/s per GPU"
	Series       []Series
}

// Crossover is where one series passes the reference: an estimate and an interval on
// the x axis, with the slot of the series that passes.
type Crossover struct {
	Slot       int
	At, Lo, Hi float64
}

// LadderSpec is one metric over a load, a concurrency or a rate, and below it the ratio of each series to
// the reference.
type LadderSpec struct {
	ID         string
	Label      string
	XName      string // such as "concurrency, log"
	YName      string // without the word log, which is added where the axis is logarithmic
	RatioName  string // such as "÷ latency"
	Series     []Series
	Reference  int // index in Series
	Crossovers []Crossover
	Rate       bool // the load is a rate, not a concurrency
}

// GaugeSpec says how near a figure comes to its roof.
type GaugeSpec struct {
	ID       string
	Name     string   // such as "Decode, c = 1"; "": the page says it
	Figure   string   // with its unit, such as "135 tok/s"
	Percent  *float64 // of the hard roof; nil: not computable
	Of       string   // which roof that is, such as "the empty-context roof"; "": the hard roof
	Missing  string   // what is missing, where Percent is nil, such as "KV dtype unknown"
	Roof     string   // the hard roof's value, such as "550 tok/s"
	Expected *float64 // the expected roof, percent of the hard one
}

// HistogramSpec is the distribution of the gaps between tokens.
type HistogramSpec struct {
	ID       string
	Label    string   // accessible name
	Gaps     []int64  // whole µs in any order; below 0: not stamped, left out
	P50, P99 *float64 // ms, as the row publishes them; P99 is not drawn under 100 gaps
}

// BarSpec is a figure's bar within a table row.
type BarSpec struct {
	Value Value
	Max   float64 // end of the column's one scale, which begins at 0
}
