package render

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
	"rowproof/internal/rowfile"
)

// Every device of the catalogue stands in the table with its figures, and each figure of
// its file with where it stands.
func TestDeviceTable(t *testing.T) {
	c, _ := catalog.Load(data.FS)
	table := newDeviceTable(c.Targets)
	byID := map[string]deviceRow{}
	for _, r := range table.Rows {
		byID[r.ID] = r
	}
	for id, target := range c.Targets {
		r, ok := byID[id]
		if ok != (target.Count == 1) {
			t.Errorf("%s of %d devices: %v", id, target.Count, ok)
		}
		if !ok {
			continue
		}
		var said []string
		for _, s := range r.Sources {
			said = append(said, s.From)
		}
		for _, from := range slices.Sorted(maps.Values(target.Sources)) {
			if !slices.Contains(said, from) {
				t.Errorf("%s: no word of %q", id, from)
			}
		}
		for i, f := range r.Figures {
			if f.Figure == "0" || f.Figure == "" && f.Dash == nil {
				t.Errorf("%s: %s is %+v", id, table.Columns[i].Name, f)
			}
		}
	}
	for _, want := range []struct {
		id      string
		figures []string // a dash where it is not published
		under   []string
		source  string
	}{
		{"mi300x", []string{"5,300", "206", "1,307", "2,615", "—", "2,615", "448", "750"}, []string{6: "64\u00a0a\u00a0peer", 7: ""}, "peaks\u00a0bf16\u00a01307.4, fp16\u00a01307.4, fp8\u00a02614.9, int8\u00a02614.9"},
		{"h100-sxm", []string{"3,350", "86", "989", "1,979", "—", "1,979", "450", "700"}, []string{6: "adds up", 7: ""}, "memory\u00a085,520,809,984\u00a0bytes"},
		{"m2-ultra", []string{"800", "192", "—", "—", "—", "—", "—", "—"}, []string{1: "label", 7: ""}, "peaks\u00a0none"},
	} {
		r := byID[want.id]
		for i, f := range r.Figures {
			got := f.Figure
			if f.Dash != nil {
				got = "—"
			}
			if got != want.figures[i] || f.Interval != want.under[i] {
				t.Errorf("%s: %s is %s, %q; want %s, %q", want.id, table.Columns[i].Name, got, f.Interval, want.figures[i], want.under[i])
			}
		}
		if !slices.ContainsFunc(r.Sources, func(s deviceSource) bool { return strings.Contains(s.Figure, want.source) }) {
			t.Errorf("%s: %q stands in none of %+v", want.id, want.source, r.Sources)
		}
	}
	if want := "Gaudi 3, at 459\u00a0TFLOP/s; for TPU7x, TPU v6e, TPU v5e no rate of fp16 is stated."; !strings.Contains(table.Note, want) {
		t.Errorf("%s: want %q", table.Note, want)
	}
}

// A catalogue whose devices publish everything needs no note of what is missing.
func TestDeviceTableWithoutDashes(t *testing.T) {
	whole := &roofline.Target{Name: "A", Vendor: "V", Architecture: "a", Count: 1, MemoryGB: "80", BandwidthGBs: "3350", LinkGBs: "450", BoardW: "700",
		PeakTFLOPs: map[string]roofline.Decimal{"bf16": "1", "fp16": "1", "fp8": "2", "fp4": "4", "int8": "2"}}
	table := newDeviceTable(map[string]*roofline.Target{"a": whole})
	if len(table.Reasons) != 0 || table.Note != "fp16 computes at the rate of bf16." {
		t.Errorf("%+v, %s", table.Reasons, table.Note)
	}
}

// A row's target is another one where a figure that bounds the row has changed, and not
// where one was added or found elsewhere.
func TestWhatOfATargetBoundsARow(t *testing.T) {
	then := roofline.Target{Name: "A", Device: "a", Count: 1, BandwidthGBs: "4800", MemoryBytes: 5, MaxMemoryClockMHz: 3201,
		PeakTFLOPs: map[string]roofline.Decimal{"bf16": "989", "fp8": "1979"}, Sources: map[string]string{"bandwidth_gb_s": "x"}}
	for _, c := range []struct {
		name   string
		change func(*roofline.Target)
		older  bool
	}{
		{"nothing", func(*roofline.Target) {}, false},
		{"a source", func(d *roofline.Target) { d.Sources = map[string]string{"bandwidth_gb_s": "y"} }, false},
		{"a name of the device", func(d *roofline.Target) { d.Also = []string{"b"} }, false},
		{"a measurement", func(d *roofline.Target) { d.MeasuredCopyGBs = "4290" }, false},
		{"bus and cache", func(d *roofline.Target) { d.MemoryBusBits, d.CacheBytes = 6144, 50<<20 }, false},
		{"a peak added", func(d *roofline.Target) { d.PeakTFLOPs["fp16"] = "989" }, false},
		{"a peak changed", func(d *roofline.Target) { d.PeakTFLOPs["bf16"] = "990" }, true},
		{"a peak dropped", func(d *roofline.Target) { delete(d.PeakTFLOPs, "fp8") }, true},
		{"bandwidth", func(d *roofline.Target) { d.BandwidthGBs = "4917" }, true},
		{"clock", func(d *roofline.Target) { d.MaxMemoryClockMHz = 3200 }, true},
		{"links of one alone", func(d *roofline.Target) { d.LinkGBs = "450" }, false},
	} {
		now := then
		now.PeakTFLOPs = maps.Clone(then.PeakTFLOPs)
		c.change(&now)
		if got := differ(rowfile.Bounding(now, &then), rowfile.Bounding(then, &then)); got != c.older {
			t.Errorf("%s: another target %v", c.name, got)
		}
	}
	two := then
	two.Count = 2
	wider := two
	wider.LinkGBs = "450"
	if !differ(rowfile.Bounding(wider, &two), rowfile.Bounding(two, &two)) {
		t.Error("links between two bound what they do together")
	}
}
