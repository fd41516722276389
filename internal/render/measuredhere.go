package render

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"rowproof/internal/render/format"
	"rowproof/internal/render/halves"
	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// measuredHere are the rows of a model on a device, of every layout: marks of the plot and
// lines of the table under it.
type measuredHere struct{ Points []rowPoint }

// Best is the row nearest to its hard roof; nil where there is none. One above its roof is
// not near it.
func (h measuredHere) Best() *rowPoint {
	for i := range h.Points {
		if h.Points[i].Best {
			return &h.Points[i]
		}
	}
	return nil
}

// rowPoint is one row as the calculator shows it; data.ts reads it as JSON. Figures are
// written as gen writes them.
type rowPoint struct {
	ID      string        `json:"id"`
	Address string        `json:"address"`
	Name    string        `json:"name"` // strategy and engine
	Load    string        `json:"load"`
	Verdict string        `json:"verdict"`
	Types   string        `json:"types"`  // "WEIGHTS/KV"
	Layout  string        `json:"layout"` // "tp.pp.dp.ep"
	On      string        `json:"on"`     // devices and layout in words
	Batch   string        `json:"batch"`  // mean sequences decoding together
	Context string        `json:"context"`
	Step    string        `json:"step"` // TPOT p50, ms
	Hard    string        `json:"hard"` // ms
	Share   string        `json:"share"`
	Above   bool          `json:"above,omitempty"`
	Best    bool          `json:"best,omitempty"` // nearest to its roof of all of its model on its device
	At      halves.Values `json:"at"`             // FLOP per byte read, FLOP/s of one device

	share float64
	order [4]int64
}

// kind is what a row has in common with a question.
func (p *rowPoint) kind(types, layout string) float64 {
	switch {
	case p.Above:
		return roofplot.RowAbove
	case p.Types == types && p.Layout == layout:
		return roofplot.RowAlike
	}
	return roofplot.RowOther
}

// several is the id of several of a device.
var several = regexp.MustCompile(`-x\d+$`)

// deviceOf is the device of a target of one or of several.
func deviceOf(target string) string { return several.ReplaceAllString(target, "") }

// measuredOn lists the rows of a model on a device.
func (s *site) measuredOn(w *world, model, device string) measuredHere {
	var here measuredHere
	for _, m := range w.rows {
		if m.Key.Model == model && deviceOf(m.Key.Target) == device {
			if p, ok := s.point(m); ok {
				here.Points = append(here.Points, p)
			}
		}
	}
	sortPoints(here.Points)
	return here
}

// sortPoints puts the rows of a model on a device in order, and marks the best.
func sortPoints(points []rowPoint) {
	slices.SortStableFunc(points, func(a, b rowPoint) int {
		return cmp.Or(cmp.Compare(a.Types, b.Types), slices.Compare(a.order[:], b.order[:]), cmp.Compare(a.ID, b.ID))
	})
	best := -1
	for i, p := range points {
		if !p.Above && (best < 0 || p.share > points[best].share) {
			best = i
		}
	}
	if best >= 0 {
		points[best].Best = true
	}
}

// point is a row as the calculator shows it; not ok where its step has no roof.
func (s *site) point(m *measured) (rowPoint, bool) {
	if !m.Listed || m.Withdrawn != nil || m.Status != row.StatusOK {
		return rowPoint{}, false
	}
	r := m.decodeRoof()
	if r.Missing != "" {
		return rowPoint{}, false
	}
	in := r.Query
	at := roofplot.Decode(in, roofline.CeilingPacked(in), r.TPOT)
	layout := ""
	for i, slot := range []int{roofline.SlotTP, roofline.SlotPP, roofline.SlotDP, roofline.SlotEP} {
		if i > 0 {
			layout += "."
		}
		layout += strconv.FormatInt(int64(in[slot]), 10)
	}
	recipe := m.recipe()
	p := rowPoint{
		ID: m.ID, Address: s.opts.Base + m.address(), Name: s.strategyName(m.Key.Strategy) + " · " + engineName(m.Key.Engine),
		Load: m.shape().String() + ", " + m.load(), Verdict: m.sign(),
		Types: recipe.Weights.Dtype + "/" + recipe.KVDtype, Layout: layout, On: onDevices(m.targetName(), recipe),
		Batch: format.Prose(r.Batch), Context: format.Count(int64(r.Context)),
		Step: format.Prose(r.TPOT), Hard: format.Prose(r.Hard), Share: format.Percent(r.Share), Above: r.Share > 1,
		At:    halves.Values{significant(at.Intensity), significant(at.Rate)},
		share: r.Share,
		order: [4]int64{recipe.GPUs(), m.Workload.ISL, m.Workload.OSL, m.concurrency()},
	}
	return p, true
}

// significant keeps as many digits as a drawing shows.
func significant(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	return short
}
