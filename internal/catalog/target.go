package catalog

import (
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
)

// peakTypes are the types for which a device's dense peak may be stated.
var peakTypes = []string{"bf16", "fp16", "fp8", "fp4", "int8"}

func readTarget(f *file, data []byte, id string) *roofline.Target {
	t := &roofline.Target{}
	n := f.parse(data)
	if n == nil {
		return t
	}
	o := f.object(n, "", "name", "vendor", "device", "architecture", "count", "memory_gb", "memory_bytes",
		"bandwidth_gb_s", "peak_tflops", "link_gb_s", "link_peer_gb_s", "link_reduces", "board_w",
		"measured_copy_gb_s", "measured_allreduce_gb_s", "max_memory_clock_mhz", "sources")
	t.Name = o.text("name")
	t.Vendor = o.text("vendor")
	t.Device = o.text("device")
	t.Architecture = o.text("architecture")
	t.Count = o.whole("count", 1)
	t.MemoryGB = o.decimal("memory_gb")
	t.BandwidthGBs = o.decimal("bandwidth_gb_s")
	t.PeakTFLOPs = map[string]roofline.Decimal{}
	for _, e := range o.entries("peak_tflops") {
		if !slices.Contains(peakTypes, e.key.Value) {
			o.problem(e.key, "peak_tflops.%s is not a known type; there are: %s", e.key.Value, strings.Join(peakTypes, ", "))
			continue
		}
		t.PeakTFLOPs[e.key.Value] = o.number(e.value, "peak_tflops."+e.key.Value)
	}
	needed := []string{"architecture", "memory_gb", "bandwidth_gb_s", "peak_tflops"}
	figure := func(k string, read func()) {
		if o.has(k) {
			read()
			needed = append(needed, k)
		}
	}
	figure("memory_bytes", func() { t.MemoryBytes = o.whole("memory_bytes", 1) })
	figure("link_gb_s", func() { t.LinkGBs = o.decimal("link_gb_s") })
	figure("link_peer_gb_s", func() { t.LinkPeerGBs = o.decimal("link_peer_gb_s") })
	figure("link_reduces", func() { t.LinkReduces = o.flag("link_reduces") })
	figure("board_w", func() { t.BoardW = o.decimal("board_w") })
	figure("measured_copy_gb_s", func() { t.MeasuredCopyGBs = o.decimal("measured_copy_gb_s") })
	figure("measured_allreduce_gb_s", func() {
		t.MeasuredAllReduceGBs = map[string]roofline.Decimal{}
		for _, e := range o.entries("measured_allreduce_gb_s") {
			if n, err := strconv.ParseInt(strings.TrimPrefix(e.key.Value, "x"), 10, 64); err != nil || n < 2 || e.key.Value != "x"+strconv.FormatInt(n, 10) {
				o.problem(e.key, "measured_allreduce_gb_s.%s is not a count of devices; x2 and more are accepted", e.key.Value)
				continue
			}
			t.MeasuredAllReduceGBs[e.key.Value] = o.number(e.value, "measured_allreduce_gb_s."+e.key.Value)
		}
	})
	figure("max_memory_clock_mhz", func() { t.MaxMemoryClockMHz = o.whole("max_memory_clock_mhz", 1) })
	t.Sources = o.sources(needed...)

	want := int64(1)
	if part := times.FindStringSubmatch(id); part != nil {
		want, _ = strconv.ParseInt(part[2], 10, 64)
	}
	if t.Count != 0 && t.Count != want {
		o.problem(o.at("count"), "count is %d, but the id %s says %d", t.Count, id, want)
	}
	return t
}
