package catalog

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/data"
	"rowproof/internal/roofline"
)

// devices are the shipped targets of one device, by id.
func devices(t *testing.T) map[string]*roofline.Target {
	t.Helper()
	c, problems := Load(data.FS)
	for _, p := range problems {
		if strings.HasPrefix(p.File, "data/targets/") {
			t.Error(p)
		}
	}
	single := map[string]*roofline.Target{}
	for id, d := range c.Targets {
		if d.Count == 1 {
			single[id] = d
		}
	}
	if len(single) < 27 {
		t.Fatalf("only %d devices", len(single))
	}
	return single
}

// readCases reads a CSV of cases, its head first.
func readCases(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	lines, err := r.ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%s: %d lines, %v", name, len(lines), err)
	}
	return lines
}

// What fits is decided by the bytes that a device's own tool prints.
func TestMemoryAsDevicesReportIt(t *testing.T) {
	all := devices(t)
	units := map[string]int64{"B": 1, "KB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	for _, line := range readCases(t, "testdata/memory.csv")[1:] {
		t.Run(line[0]+"/"+line[1], func(t *testing.T) {
			figure, unit, _ := strings.Cut(line[2], " ")
			n, err := strconv.ParseInt(figure, 10, 64)
			if err != nil || units[unit] == 0 {
				t.Fatalf("%q: %v", line[2], err)
			}
			if got := all[line[0]].MemoryBytes; got != n*units[unit] {
				t.Errorf("%d bytes, %s prints %s (%s)", got, line[1], line[2], line[3])
			}
		})
	}
}

// Each device has the published figures, digit for digit.
func TestDevicesAgainstPublished(t *testing.T) {
	lines := readCases(t, "testdata/devices.csv")
	head, lines := lines[0], lines[1:]
	left := devices(t)
	for _, line := range lines {
		id := line[0]
		t.Run(id, func(t *testing.T) {
			d := left[id]
			if d == nil {
				t.Fatal("no such target")
			}
			delete(left, id)
			got := map[string]roofline.Decimal{"memory_gb": d.MemoryGB, "bandwidth_gb_s": d.BandwidthGBs, "link_gb_s": d.LinkGBs, "board_w": d.BoardW}
			maps.Copy(got, d.PeakTFLOPs)
			for i := 1; i < len(head); i++ {
				want := strings.TrimPrefix(line[i], "-")
				if _, greatest, ranged := strings.Cut(want, "–"); ranged {
					want = greatest // a roof takes the greatest that is published
				}
				if string(got[head[i]]) != want {
					t.Errorf("%s is %q, published %q", head[i], got[head[i]], line[i])
				}
			}
		})
	}
	for id := range left {
		t.Errorf("%s: its published figures are not in testdata/devices.csv", id)
	}
}

// sparse are figures that makers print with sparsity, by type: twice what a dense matrix
// gets, so none of them is a peak of ours.
var sparse = map[string][]string{
	"bf16": {"1979", "1513", "4500", "5000", "624", "733", "242", "140", "330.3", "419", "1007", "2614.9", "4614", "5033"},
	"fp16": {"1979", "1513", "4500", "5000", "624", "733", "242", "140", "330.3", "419", "1007", "2614.9", "4614", "5033"},
	"fp8":  {"3958", "3026", "9000", "10000", "1466", "485", "660.6", "838", "5229.8", "9228", "10066", "10100"},
	"fp4":  {"18000", "20000", "30000", "3352", "4000", "18450", "20100", "20132"},
	"int8": {"3958", "3026", "9000", "10000", "1248", "1466", "485", "280", "1321.2", "1676", "5229.8", "9228", "10066", "307", "330"},
}

// steep are peaks more than twice those of the type of twice the width, each with why.
var steep = map[string]string{
	"b300 fp4":      "Blackwell Ultra has more fp4 units, and no more of the others",
	"gb300 fp4":     "Blackwell Ultra has more fp4 units, and no more of the others",
	"rtx-4090 int8": "a GeForce sums fp16 and fp8 products in fp32 at half rate, and int8 at full rate",
	"rtx-5090 int8": "a GeForce sums fp16 and fp8 products in fp32 at half rate, and int8 at full rate",
	"rtx-5090 fp4":  "a GeForce sums fp16 and fp8 products in fp32 at half rate, and fp4 at full rate",
}

// wires are what all of a device's links carry in one direction, by architecture: NVLink
// of a generation or the host's PCI Express for cards without it.
var wires = map[string][]string{
	"sm_80": {"300", "32"}, "sm_86": {"32"}, "sm_89": {"32"}, "sm_90": {"450", "64"},
	"sm_100": {"900"}, "sm_103": {"900"}, "sm_120": {"64"}, "gfx942": {"448"}, "gfx950": {"535.5"},
	"tpu-v5e": {"200"}, "tpu-v6e": {"400"}, "tpu7x": {"600"}, "gaudi3": {"600"},
	"apple-m2": {""}, "apple-m3": {""}, "apple-m4": {""},
}

// No file repeats a mistake that other sites made: sparse peaks for dense ones, both
// directions of a link for one, GB for GiB.
func TestDeviceFiles(t *testing.T) {
	for id, d := range devices(t) {
		t.Run(id, func(t *testing.T) {
			peak := map[string]float64{}
			for k, p := range d.PeakTFLOPs {
				peak[k], _ = p.Float()
				if slices.Contains(sparse[k], string(p)) {
					t.Errorf("%s %s is a figure with sparsity", k, p)
				}
			}
			for _, c := range [][2]string{{"fp8", "bf16"}, {"int8", "bf16"}, {"fp4", "fp8"}} {
				if half := peak[c[1]]; half > 0 && peak[c[0]] > 2.1*half && steep[id+" "+c[0]] == "" {
					t.Errorf("%s %g is %.2f times %s: dense is twice", c[0], peak[c[0]], peak[c[0]]/half, c[1])
				}
			}
			if half, ok := peak["fp16"]; ok && half != peak["bf16"] && id != "gaudi-3" {
				t.Errorf("fp16 %g, bf16 %g", half, peak["bf16"])
			}
			if want := wires[d.Architecture]; !slices.Contains(want, string(d.LinkGBs)) {
				t.Errorf("%s links carry %q GB/s in one direction; known of it: %q", d.Architecture, d.LinkGBs, want)
			}
			if peer, ok := d.LinkPeerGBs.Float(); ok {
				if all, _ := d.LinkGBs.Float(); strings.HasPrefix(d.Architecture, "gfx") && peer*7 != all {
					t.Errorf("%g GB/s to each of 7 peers is not %g", peer, all)
				}
			}
			// An NVSwitch adds up from its third generation on.
			if want := slices.Contains([]string{"450", "900"}, string(d.LinkGBs)); d.LinkReduces != want {
				t.Errorf("link_reduces %v behind a link of %s GB/s", d.LinkReduces, d.LinkGBs)
			}
			if d.MemoryBytes > 0 && d.Vendor != "AMD" && d.MemoryBytes%(1<<20) != 0 {
				t.Errorf("memory_bytes %d: tools print whole MiB", d.MemoryBytes)
			}
			if label, _ := d.MemoryGB.Float(); d.MemoryBytes > 0 && math.Abs(float64(d.MemoryBytes)-1e9*label) < 1e6 {
				t.Errorf("memory_bytes %d is the label, not an answer of the device", d.MemoryBytes)
			}
			if d.CacheBytes > 300<<20 {
				t.Errorf("cache_bytes %d", d.CacheBytes)
			}
		})
	}
	// MI350X and MI355X are one chip at 2200 and 2400 MHz.
	all := devices(t)
	slow, fast := all["mi350x"], all["mi355x"]
	for k, p := range fast.PeakTFLOPs {
		a, _ := slow.PeakTFLOPs[k].Float()
		b, _ := p.Float()
		if r := b / a; math.Abs(r-2400.0/2200) > 0.001 {
			t.Errorf("%s: MI355X over MI350X is %.4f, their clocks 2400 over 2200", k, r)
		}
	}
}

// A name that a tool prints means one device, and a group of them its -xN.
func TestTargetOf(t *testing.T) {
	c, _ := Load(data.FS)
	for _, k := range []struct {
		name  string
		count int64
		want  string
	}{
		{"NVIDIA H200", 1, "h200-sxm"},
		{"NVIDIA H200", 2, "h200-sxm-x2"},
		{"NVIDIA H100 80GB HBM3", 8, "h100-sxm-x8"},
		{"NVIDIA H100 PCIe", 1, "h100-pcie"},
		{"NVIDIA H100 NVL", 1, ""},
		{"NVIDIA A100-SXM4-80GB", 4, "a100-80-sxm-x4"},
		{"A100-SXM4-80GB", 1, "a100-80-sxm"},
		{"NVIDIA A100-SXM4-40GB", 1, "a100-40-sxm"},
		{"NVIDIA A100-PCIE-40GB", 1, ""},
		{"NVIDIA A100 80GB PCIe", 1, "a100-80-pcie"},
		{"NVIDIA B300 SXM6 AC", 1, "b300"},
		{"NVIDIA GB10", 1, ""},
		{"NVIDIA GeForce RTX 4090", 1, "rtx-4090"},
		{"NVIDIA GeForce RTX 4090 D", 1, ""},
		{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 2, "rtx-pro-6000-ws-x2"},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", 1, ""},
		{"AMD Instinct MI300X OAM", 8, "mi300x-x8"},
		{"AMD Instinct MI300X", 1, "mi300x"},
		{"AMD Instinct MI350 OAM", 1, "mi350x"},
		{"TPU v6 lite", 4, "tpu-v6e-x4"},
		{"HL-325L", 8, "gaudi-3-x8"},
		{"Apple M3 Ultra", 1, "m3-ultra"},
		{"", 1, ""},
		{"NVIDIA H200", 0, ""},
	} {
		if got := c.TargetOf(k.name, k.count); got != k.want {
			t.Errorf("%d × %q is %q, want %q", k.count, k.name, got, k.want)
		} else if got != "" {
			if d, ok := c.Target(got); !ok || d.Count != k.count || !d.Is(k.name) {
				t.Errorf("%s is %+v, %v", got, d, ok)
			}
		}
	}
	of := map[string]string{}
	for id, d := range devices(t) {
		for _, name := range append([]string{d.Device}, d.Also...) {
			if other := of[name]; other != "" {
				t.Errorf("%q is %s and %s", name, id, other)
			}
			of[name] = id
		}
	}
}

// device is a file that states every figure.
const device = `name: MI000
vendor: AMD
device: AMD Instinct MI000
also: [AMD Instinct MI000 OAM]
architecture: gfx000
count: 1
memory_gb: "80"
memory_bytes: 85899345920
bandwidth_gb_s: "3350"
peak_tflops: {bf16: "989", fp8: "1979", int8: "1979"}
link_gb_s: "448"
link_peer_gb_s: "64"
board_w: "700"
max_memory_clock_mhz: 2619
memory_bus_bits: 5120
cache_bytes: 52428800
sources:
  device: amd-smi
  also: amd-smi
  architecture: the maker
  memory_gb: the maker
  memory_bytes: amd-smi
  bandwidth_gb_s: the maker
  peak_tflops: the maker, dense
  link_gb_s: the maker
  link_peer_gb_s: the maker
  board_w: the maker
  max_memory_clock_mhz: amd-smi
  memory_bus_bits: amd-smi
  cache_bytes: the maker
`

// Each mistake of a device file, with the place and words that its writer is told.
func TestDeviceFileProblems(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []string // after "data/targets/mi000.yaml:"
	}{
		{"none", "", "", nil},
		{"no source for the name", "  device: amd-smi\n", "", nil},
		{"no peaks", `{bf16: "989", fp8: "1979", int8: "1979"}`, "{}", nil},
		{"source", "  board_w: the", "  board: the",
			[]string{"18:3: sources.board_w is missing: say where board_w stands",
				"27:3: sources.board: no such figure in this file; accepted here: device, also, architecture, memory_gb, memory_bytes, bandwidth_gb_s, peak_tflops, link_gb_s, link_peer_gb_s, board_w, max_memory_clock_mhz, memory_bus_bits, cache_bytes"}},
		{"all-reduce", "count: 1", "count: 1\nmeasured_allreduce_gb_s: {x1: \"300\", x2: \"-1\"}",
			[]string{`7:27: measured_allreduce_gb_s.x1 is not a count of devices; x2 and more are accepted`,
				`7:42: measured_allreduce_gb_s.x2 is "-1"; a number above 0 such as 1307.4 is accepted`,
				"19:3: sources.measured_allreduce_gb_s is missing: say where measured_allreduce_gb_s stands"}},
		{"peak", `fp8: "1979", int8`, `fp8: "-3", int8`, []string{`10:33: peak_tflops.fp8 is "-3"; a number above 0 such as 1307.4 is accepted`}},
		{"peak type", `fp8: "1979", int8`, `fp7: "1979", int8`, []string{"10:28: peak_tflops.fp7 is not a known type; there are: bf16, fp16, fp8, fp4, int8"}},
		{"not said to be dense", "the maker, dense", "the maker", []string{"18:3: sources.peak_tflops does not say that the figures are dense: write dense and where they stand; makers print those with sparsity, twice as high, beside or in place of them"}},
		{"count", "count: 1", "count: 2", []string{"6:8: count is 2, but the id mi000 says 1"}},
		{"missing", "bandwidth_gb_s: \"3350\"\n", "", []string{"1:1: bandwidth_gb_s is missing"}},
		{"megabytes", "85899345920", "81920", []string{"8:15: memory_bytes is 81920, but memory_gb is 80: it would be about 80,000,000,000"}},
		{"twice too much", "85899345920", "171798691840", []string{"8:15: memory_bytes is 171798691840, but memory_gb is 80: it would be about 80,000,000,000"}},
		{"peer", `link_peer_gb_s: "64"`, `link_peer_gb_s: "640"`, []string{"12:17: link_peer_gb_s is 640, more than link_gb_s, 448, which is to all peers together"}},
		{"peer alone", "link_gb_s: \"448\"\n", "", []string{"11:17: link_peer_gb_s is 64 without link_gb_s, which is to all peers together", "24:3: sources.link_gb_s: no such figure in this file"}},
		{"mesh and switch", "board_w: \"700\"", "link_reduces: true\nboard_w: \"700\"",
			[]string{"12:17: link_peer_gb_s is of a mesh, and link_reduces of a switch: want one of them", "19:3: sources.link_reduces is missing: say where link_reduces stands"}},
		{"one transfer a clock", "memory_bus_bits: 5120", "memory_bus_bits: 2560", []string{"15:18: a bus of 2560 bits at 2619 MHz moves 1,676 GB/s twice a clock, but bandwidth_gb_s is 3350"}},
		{"unknown key", "board_w: \"700\"", "board_watts: \"700\"",
			[]string{`13:1: key "board_watts" is not known; accepted here: name, vendor, device, also, architecture, count, memory_gb, memory_bytes, bandwidth_gb_s, peak_tflops, link_gb_s, link_peer_gb_s, link_reduces, board_w, measured_copy_gb_s, measured_allreduce_gb_s, max_memory_clock_mhz, memory_bus_bits, cache_bytes, sources`,
				"27:3: sources.board_w: no such figure in this file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := fstest.MapFS{"targets/mi000.yaml": {Data: []byte(device)}}
			if c.old != "" {
				with(t, m, "targets/mi000.yaml", c.old, c.new)
			}
			_, problems := Load(m)
			var got []string
			for _, p := range problems {
				if s, ok := strings.CutPrefix(p.String(), "data/targets/mi000.yaml:"); ok {
					got = append(got, s)
				}
			}
			ok := len(got) == len(c.want)
			for i := range min(len(got), len(c.want)) {
				ok = ok && strings.HasPrefix(got[i], c.want[i])
			}
			if !ok {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// A reader's own device needs a name and a bandwidth, and its figures no sources.
func TestTargetFile(t *testing.T) {
	d, problems := TargetFile("mine.yaml", []byte("name: Mine\nbandwidth_gb_s: 546\n"))
	if len(problems) > 0 || d.Name != "Mine" || d.BandwidthGBs != "546" || d.Count != 1 || d.PeakTFLOPs == nil || d.Sources == nil {
		t.Errorf("%+v, %v", d, problems)
	}
	d, problems = TargetFile("all.yaml", []byte(strings.Replace(device, "count: 1", "count: 8", 1)))
	if len(problems) > 0 || d.Count != 8 || d.MemoryBusBits != 5120 || d.CacheBytes != 52428800 || d.Sources["board_w"] != "the maker" || !slices.Equal(d.Also, []string{"AMD Instinct MI000 OAM"}) {
		t.Errorf("%+v, %v", d, problems)
	}
	for _, c := range []struct{ text, want string }{
		{"", "dir/mine.yaml:1:1: the file is empty"},
		{"name: Mine", "dir/mine.yaml:1:1: bandwidth_gb_s is missing"},
		{"name: Mine\nbandwidth: 3", `dir/mine.yaml:1:1: bandwidth_gb_s is missing
dir/mine.yaml:2:1: key "bandwidth" is not known; accepted here: ` + strings.Join(targetKeys, ", ")},
		{"name: Mine\nbandwidth_gb_s: 0", `dir/mine.yaml:2:17: bandwidth_gb_s is "0"; a number above 0 such as 1307.4 is accepted`},
		{"name: Mine\nbandwidth_gb_s: NaN", `dir/mine.yaml:2:17: bandwidth_gb_s is "NaN"; a number above 0 such as 1307.4 is accepted`},
		{"name: Mine\nbandwidth_gb_s: 1e3\ncount: 0", `dir/mine.yaml:2:17: bandwidth_gb_s is "1e3"; a number above 0 such as 1307.4 is accepted
dir/mine.yaml:3:8: count is 0; at least 1 is accepted`},
		{"name: Mine\nbandwidth_gb_s: 500\npeak_tflops: {tf32: 3}", "dir/mine.yaml:3:15: peak_tflops.tf32 is not a known type; there are: bf16, fp16, fp8, fp4, int8"},
	} {
		d, problems := TargetFile("dir/mine.yaml", []byte(c.text))
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if d != nil || strings.Join(got, "\n") != c.want {
			t.Errorf("%q: %+v\ngot\n%s\nwant\n%s", c.text, d, strings.Join(got, "\n"), c.want)
		}
	}
}

// Every device of the catalogue is a device file of one's own as well.
func TestShippedAsOwn(t *testing.T) {
	for id, d := range devices(t) {
		b, err := data.FS.ReadFile(path.Join("targets", id+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		own, problems := TargetFile(id+".yaml", b)
		if len(problems) > 0 || fmt.Sprint(own) != fmt.Sprint(d) {
			t.Errorf("%s: %v\n%+v\n%+v", id, problems, own, d)
		}
	}
}

// A roof is hard only if no kernel beats it, and every packed weight can be turned into
// bf16 and computed there: a B300's int8 units are slower than that.
func TestNoFormatComputesBelowBF16(t *testing.T) {
	for id, target := range devices(t) {
		bf16, known := target.PeakTFLOPs["bf16"].Float()
		for _, dtype := range roofline.WeightDtypes() {
			if !known || dtype == "fp16" {
				continue
			}
			of := target.ComputeType(dtype)
			if peak, ok := target.PeakTFLOPs[of].Float(); !ok || peak < bf16 {
				t.Errorf("%s: %s weights compute at %q, %v TFLOP/s; turned into bf16 they would at %v", id, dtype, of, peak, bf16)
			}
		}
	}
}
