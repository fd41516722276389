package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"rowproof/internal/roofline"
)

// peakTypes are the types for which a device's dense peak may be stated.
var peakTypes = []string{"bf16", "fp16", "fp8", "fp4", "int8"}

// targetKeys are what a device file may state, in the order of the files.
var targetKeys = []string{
	"name", "vendor", "device", "also", "architecture", "count", "memory_gb", "memory_bytes", "bandwidth_gb_s",
	"peak_tflops", "link_gb_s", "link_peer_gb_s", "link_reduces", "board_w", "measured_copy_gb_s",
	"measured_allreduce_gb_s", "max_memory_clock_mhz", "memory_bus_bits", "cache_bytes", "sources",
}

// readTarget reads a device file of the catalogue, which says where each figure stands.
func readTarget(f *file, data []byte, id string) *roofline.Target {
	n := f.parse(data)
	if n == nil {
		return &roofline.Target{}
	}
	d := readDevice(f, n, "name", "vendor", "device", "architecture", "count", "memory_gb", "bandwidth_gb_s", "peak_tflops")
	t, o := d.t, d.object
	// A device's name needs no source, but may have one: a line that the tool printed.
	if sources, ok := o.values["sources"]; ok && slices.ContainsFunc(sources.Content, func(k *yaml.Node) bool { return k.Value == "device" }) {
		d.stated = append([]string{"device"}, d.stated...)
	}
	t.Sources = o.sources(d.stated...)
	if from, ok := t.Sources["peak_tflops"]; ok && len(t.PeakTFLOPs) > 0 && !strings.Contains(from, "dense") {
		o.problem(o.at("sources"), "sources.peak_tflops does not say that the figures are dense: write dense and where they stand; makers print those with sparsity, twice as high, beside or in place of them")
	}
	want := int64(1)
	if part := times.FindStringSubmatch(id); part != nil {
		want, _ = strconv.ParseInt(part[2], 10, 64)
	}
	if t.Count != 0 && t.Count != want {
		o.problem(o.at("count"), "count is %d, but the id %s says %d", t.Count, id, want)
	}
	return t
}

// TargetFile reads a device file of a reader's own, in the form of data/targets. Only a
// name and the bandwidth must be there: what is left out is not known, count is one, and
// no figure needs a source. Problems name the file as it is named here.
func TargetFile(name string, data []byte) (*roofline.Target, []Problem) {
	var problems []Problem
	f := &file{name: name, problems: &problems}
	n := f.parse(data)
	if n == nil {
		return nil, problems
	}
	d := readDevice(f, n, "name", "bandwidth_gb_s")
	if !d.has("count") {
		d.t.Count = 1
	}
	if d.has("sources") {
		d.t.Sources = d.pairs("sources")
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) })
		return nil, problems
	}
	return d.t, nil
}

// deviceFile is a device file while it is read.
type deviceFile struct {
	*object
	t      *roofline.Target
	stated []string // figures that the file states, or should
}

// readDevice reads what a device file states, and holds its figures against each other.
// The keys of must are asked for.
func readDevice(f *file, n *yaml.Node, must ...string) *deviceFile {
	o := f.object(n, "", targetKeys...)
	t := &roofline.Target{PeakTFLOPs: map[string]roofline.Decimal{}, Sources: map[string]string{}}
	d := &deviceFile{o, t, nil}
	stated := func(k string) bool { return o.has(k) || slices.Contains(must, k) }
	figure := func(k string) bool {
		if !stated(k) {
			return false
		}
		d.stated = append(d.stated, k)
		return true
	}
	for _, e := range []struct {
		key string
		to  *string
	}{
		{"name", &t.Name}, {"vendor", &t.Vendor}, {"device", &t.Device},
	} {
		if stated(e.key) {
			*e.to = o.text(e.key)
		}
	}
	if stated("count") {
		t.Count = o.whole("count", 1)
	}
	if figure("also") {
		t.Also = o.texts("also")
	}
	if figure("architecture") {
		t.Architecture = o.text("architecture")
	}
	for _, e := range []struct {
		key string
		to  *roofline.Decimal
	}{
		{"memory_gb", &t.MemoryGB}, {"bandwidth_gb_s", &t.BandwidthGBs},
		{"link_gb_s", &t.LinkGBs}, {"link_peer_gb_s", &t.LinkPeerGBs},
		{"board_w", &t.BoardW}, {"measured_copy_gb_s", &t.MeasuredCopyGBs},
	} {
		if figure(e.key) {
			*e.to = o.decimal(e.key)
		}
	}
	for _, e := range []struct {
		key string
		to  *int64
	}{
		{"memory_bytes", &t.MemoryBytes}, {"max_memory_clock_mhz", &t.MaxMemoryClockMHz},
		{"memory_bus_bits", &t.MemoryBusBits}, {"cache_bytes", &t.CacheBytes},
	} {
		if figure(e.key) {
			*e.to = o.whole(e.key, 1)
		}
	}
	if figure("link_reduces") {
		t.LinkReduces = o.flag("link_reduces")
	}
	if figure("peak_tflops") {
		for _, e := range o.entries("peak_tflops") {
			if !slices.Contains(peakTypes, e.key.Value) {
				o.problem(e.key, "peak_tflops.%s is not a known type; there are: %s", e.key.Value, strings.Join(peakTypes, ", "))
				continue
			}
			t.PeakTFLOPs[e.key.Value] = o.number(e.value, "peak_tflops."+e.key.Value)
		}
	}
	if figure("measured_allreduce_gb_s") {
		t.MeasuredAllReduceGBs = map[string]roofline.Decimal{}
		for _, e := range o.entries("measured_allreduce_gb_s") {
			if n, err := strconv.ParseInt(strings.TrimPrefix(e.key.Value, "x"), 10, 64); err != nil || n < 2 || e.key.Value != "x"+strconv.FormatInt(n, 10) {
				o.problem(e.key, "measured_allreduce_gb_s.%s is not a count of devices; x2 and more are accepted", e.key.Value)
				continue
			}
			t.MeasuredAllReduceGBs[e.key.Value] = o.number(e.value, "measured_allreduce_gb_s."+e.key.Value)
		}
	}
	slices.SortFunc(d.stated, func(a, b string) int {
		return cmp.Compare(slices.Index(targetKeys, a), slices.Index(targetKeys, b))
	})
	d.agree()
	return d
}

// agree holds figures of one device against each other: a slip between units or between
// one direction and two stands out.
func (d *deviceFile) agree() {
	t := d.t
	label, _ := t.MemoryGB.Float()
	if b := float64(t.MemoryBytes); label > 0 && b > 0 && (b < 0.9e9*label || b > 1.08e9*label) {
		// Makers write GB for 10⁹ bytes, and for 2³⁰.
		d.problem(d.at("memory_bytes"), "memory_bytes is %d, but memory_gb is %s: it would be about %s", t.MemoryBytes, t.MemoryGB, roofline.Number(label*1e9))
	}
	link, _ := t.LinkGBs.Float()
	if peer, ok := t.LinkPeerGBs.Float(); ok {
		switch {
		case t.LinkReduces:
			d.problem(d.at("link_peer_gb_s"), "link_peer_gb_s is of a mesh, and link_reduces of a switch: want one of them")
		case t.LinkGBs == "" && !d.has("link_gb_s"):
			d.problem(d.at("link_peer_gb_s"), "link_peer_gb_s is %s without link_gb_s, which is to all peers together", t.LinkPeerGBs)
		case link > 0 && peer > link:
			d.problem(d.at("link_peer_gb_s"), "link_peer_gb_s is %s, more than link_gb_s, %s, which is to all peers together", t.LinkPeerGBs, t.LinkGBs)
		}
	}
	bandwidth, _ := t.BandwidthGBs.Float()
	pins := float64(t.MemoryBusBits) / 8 * 2 * float64(t.MaxMemoryClockMHz) / 1000
	if bandwidth > 0 && pins > 0 && (pins < 0.9*bandwidth || pins > 1.1*bandwidth) {
		d.problem(d.at("memory_bus_bits"), "a bus of %d bits at %d MHz moves %s GB/s twice a clock, but bandwidth_gb_s is %s", t.MemoryBusBits, t.MaxMemoryClockMHz, roofline.Number(pins), t.BandwidthGBs)
	}
}

// TargetOf finds what so many devices of a name make: an id for Target, "" where the
// catalogue has none. name is what the device's own tool calls it.
func (c *Catalog) TargetOf(name string, count int64) string {
	for _, id := range slices.Sorted(maps.Keys(c.Targets)) {
		t := c.Targets[id]
		switch {
		case count < 1 || t == nil || t.Count != 1 || !t.Is(name):
		case count == 1:
			return id
		default:
			return id + "-x" + strconv.FormatInt(count, 10)
		}
	}
	return ""
}
