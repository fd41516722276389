package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
)

// deviceTable lists every device of the catalogue with its figures, and where each stands.
type deviceTable struct {
	Columns []deviceColumn
	Rows    []deviceRow
	Reasons []dash
	Note    string
	Beyond  int // how many columns a phone shows only after scrolling
}

// deviceColumn is the head of a column of figures.
type deviceColumn struct{ Name, Unit string }

// deviceRow is one device.
type deviceRow struct {
	Name, ID, Of string // Of is its maker and its architecture
	Figures      []tableFigure
	Sources      []deviceSource
}

// deviceSource is a figure as its file states it, and where it stands.
type deviceSource struct{ Figure, From string }

// unpublished is why a device has no figure.
const unpublished = "its maker publishes none, or it has no such units or links"

// newDeviceTable builds the table from the targets of one device, by maker, the highest
// bandwidth first.
func newDeviceTable(targets map[string]*roofline.Target) *deviceTable {
	ids := slices.Collect(maps.Keys(targets))
	ids = slices.DeleteFunc(ids, func(id string) bool { return targets[id].Count != 1 })
	slices.SortFunc(ids, func(a, b string) int {
		ours, _ := targets[a].BandwidthGBs.Float()
		theirs, _ := targets[b].BandwidthGBs.Float()
		return cmp.Or(strings.Compare(targets[a].Vendor, targets[b].Vendor), cmp.Compare(theirs, ours), strings.Compare(a, b))
	})
	devices := make([]*roofline.Target, len(ids))
	table := &deviceTable{Rows: make([]deviceRow, len(ids))}
	for i, id := range ids {
		t := targets[id]
		devices[i] = t
		table.Rows[i] = deviceRow{Name: t.Name, ID: id, Of: t.Vendor + ", " + t.Architecture, Sources: sourcesOf(t)}
	}
	table.Note = otherHalves(devices)
	table.Beyond = len(deviceColumns) - 2
	missing := &dash{"b", unpublished}
	for _, c := range deviceColumns {
		values := make([]float64, len(devices))
		var known []float64
		for i, t := range devices {
			if v, ok := c.pick(t); ok {
				values[i], known = v, append(known, v)
			}
		}
		form := format.NewColumn(c.unit, known)
		table.Columns = append(table.Columns, deviceColumn{c.name, c.unit})
		for i, t := range devices {
			f := tableFigure{Dash: missing}
			if values[i] > 0 {
				f = tableFigure{Figure: form.Figure(values[i]), Exact: format.Exact(values[i])}
				if c.note != nil {
					f.Interval = c.note(t)
				}
			} else {
				table.Reasons = []dash{{missing.Letter, capital(unpublished)}}
			}
			table.Rows[i].Figures = append(table.Rows[i].Figures, f)
		}
	}
	return table
}

// deviceColumns are the figures of a device. note stands under one of them.
var deviceColumns = []struct {
	name, unit string
	pick       func(*roofline.Target) (float64, bool)
	note       func(*roofline.Target) string
}{
	{"Bandwidth", "GB/s", func(t *roofline.Target) (float64, bool) { return t.BandwidthGBs.Float() }, nil},
	{"Memory", "GB", memoryOf, func(t *roofline.Target) string {
		if t.MemoryBytes == 0 {
			return "label"
		}
		return ""
	}},
	{"bf16", "TFLOP/s", peakOf("bf16"), nil},
	{"fp8", "TFLOP/s", peakOf("fp8"), nil},
	{"fp4", "TFLOP/s", peakOf("fp4"), nil},
	{"int8", "TOP/s", peakOf("int8"), nil},
	{"Links", "GB/s", func(t *roofline.Target) (float64, bool) { return t.LinkGBs.Float() }, func(t *roofline.Target) string {
		switch {
		case t.LinkReduces:
			return "adds up"
		case t.LinkPeerGBs != "":
			return string(t.LinkPeerGBs) + format.NBSP + "a" + format.NBSP + "peer"
		}
		return ""
	}},
	{"Board", "W", func(t *roofline.Target) (float64, bool) { return t.BoardW.Float() }, nil},
}

func peakOf(kind string) func(*roofline.Target) (float64, bool) {
	return func(t *roofline.Target) (float64, bool) { return t.PeakTFLOPs[kind].Float() }
}

// memoryOf is what the device reports, else its maker's label, in 10⁹ bytes.
func memoryOf(t *roofline.Target) (float64, bool) {
	if t.MemoryBytes > 0 {
		return float64(t.MemoryBytes) / 1e9, true
	}
	return t.MemoryGB.Float()
}

// otherHalves says where fp16 does not compute as bf16 does, which has the column.
func otherHalves(devices []*roofline.Target) string {
	var apart, unknown []string
	for _, t := range devices {
		half, ok := t.PeakTFLOPs["fp16"].Float()
		other, known := t.PeakTFLOPs["bf16"].Float()
		switch {
		case !known:
		case !ok:
			unknown = append(unknown, t.Name)
		case half != other:
			apart = append(apart, t.Name+", at "+format.Quantity(string(t.PeakTFLOPs["fp16"]), "TFLOP/s"))
		}
	}
	s := "fp16 computes at the rate of bf16"
	if len(apart) > 0 {
		s += " but on " + strings.Join(apart, ", ")
	}
	if len(unknown) > 0 {
		s += "; for " + strings.Join(unknown, ", ") + " no rate of fp16 is stated"
	}
	return s + "."
}

// sourcesOf lists a device's figures, each as its file states it with where it stands;
// figures of one source stand together.
func sourcesOf(t *roofline.Target) []deviceSource {
	var peaks []string
	for _, kind := range []string{"bf16", "fp16", "fp8", "fp4", "int8"} {
		if p := t.PeakTFLOPs[kind]; p != "" {
			peaks = append(peaks, kind+format.NBSP+string(p))
		}
	}
	var reduces []string
	for _, n := range slices.Sorted(maps.Keys(t.MeasuredAllReduceGBs)) {
		reduces = append(reduces, format.Quantity(string(t.MeasuredAllReduceGBs[n]), "GB/s")+" on "+strings.TrimPrefix(n, "x"))
	}
	unit := func(d roofline.Decimal, unit string) string {
		if d == "" {
			return ""
		}
		return format.Quantity(string(d), unit)
	}
	whole := func(n int64, unit string) string {
		if n == 0 {
			return ""
		}
		return format.Quantity(format.Count(n), unit)
	}
	var list []deviceSource
	for _, f := range []struct{ key, name, value string }{
		{"device", "name", t.Device},
		{"also", "also named", strings.Join(t.Also, ", ")},
		{"architecture", "architecture", t.Architecture},
		{"memory_gb", "label", unit(t.MemoryGB, "GB")},
		{"memory_bytes", "memory", whole(t.MemoryBytes, "bytes")},
		{"bandwidth_gb_s", "bandwidth", unit(t.BandwidthGBs, "GB/s")},
		{"peak_tflops", "peaks", cmp.Or(strings.Join(peaks, ", "), "none")},
		{"link_gb_s", "links", unit(t.LinkGBs, "GB/s")},
		{"link_peer_gb_s", "link to one peer", unit(t.LinkPeerGBs, "GB/s")},
		{"link_reduces", "the switch adds up", map[bool]string{true: "yes"}[t.LinkReduces]},
		{"board_w", "board", unit(t.BoardW, "W")},
		{"measured_copy_gb_s", "measured copy", unit(t.MeasuredCopyGBs, "GB/s")},
		{"measured_allreduce_gb_s", "measured all-reduce", strings.Join(reduces, ", ")},
		{"max_memory_clock_mhz", "memory clock", whole(t.MaxMemoryClockMHz, "MHz")},
		{"memory_bus_bits", "memory bus", whole(t.MemoryBusBits, "bits")},
		{"cache_bytes", "cache", whole(t.CacheBytes, "bytes")},
	} {
		from := t.Sources[f.key]
		if f.value == "" || from == "" {
			continue
		}
		figure := f.name + format.NBSP + f.value
		if i := slices.IndexFunc(list, func(s deviceSource) bool { return s.From == from }); i >= 0 {
			list[i].Figure += "; " + figure
			continue
		}
		list = append(list, deviceSource{figure, from})
	}
	return list
}
