package gate

import (
	"slices"
	"strconv"

	"rowproof/internal/row"
)

// tool is the name of the tool that measured an imported row.
func (in *Input) tool() string {
	i := in.Row.Import
	switch {
	case i == nil || i.Tool == "":
		return "another tool"
	case i.Version != "":
		return i.Tool + " " + i.Version
	}
	return i.Tool
}

// lacking is why an imported row has no requests.
func (in *Input) lacking() string {
	if why := in.Row.Missing["samples"]; why != "" {
		return why
	}
	return "none came with it"
}

// unsaid says which fields of the workload an imported file did not say, or "".
func (in *Input) unsaid(fields ...string) string {
	if in.Row.Import == nil {
		return ""
	}
	text := ""
	for _, f := range fields {
		if slices.Contains(in.Row.Import.Unsaid, f) {
			if text != "" {
				text += ", "
			}
			text += f
		}
	}
	if text == "" {
		return ""
	}
	return in.tool() + "'s file does not say " + text
}

// unplaced says that the requests' sending is not known, or "".
func (in *Input) unplaced() string {
	for i := range in.Samples {
		if in.Samples[i].Unplaced {
			return "when each request was sent: " + in.tool() + "'s file does not say it"
		}
	}
	return ""
}

// A time of a request is kept in whole µs, so that a statistic over them is off by at most
// half of one at each end; a rate by as much of its window.
const (
	toolTimeSlack  = 0.002 // ms
	toolShareSlack = 1e-6
)

// stated holds each figure that the tool gives with its rule against what the requests
// give by that rule.
func (d *differences) stated(r *row.Row, samples []row.Sample) {
	if r.Import == nil || samples == nil {
		return
	}
	duration, _ := r.Import.DurationS.Float()
	for i := range r.Import.Stated {
		s := &r.Import.Stated[i]
		if s.Rule == "" {
			continue
		}
		d.compared++
		name := "import.stated " + s.Name
		want, err := strconv.ParseFloat(s.Text, 64)
		got, ok := row.ToolFigure(s.Rule, s.Statistic, samples, duration)
		if err != nil || !ok {
			if err == nil || ok {
				d.add(name, s.Text, "none")
			}
			continue
		}
		if s.Unit == "s" {
			want *= 1e3
		}
		if off := got - want; !(off <= max(toolTimeSlack, toolShareSlack*want) && -off <= max(toolTimeSlack, toolShareSlack*want)) {
			d.add(name, exact(want), exact(got))
		}
	}
}
