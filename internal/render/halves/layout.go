package halves

import (
	"strconv"

	"rowproof/internal/roofline"
)

// Layout is how a group of devices shares a model: tp, pp, dp, ep as a query has them.
type Layout [4]int64

// What a form offers of each, and of all together: the devices of one rack.
var (
	tps = []int64{1, 2, 4, 8, 16}
	pps = []int64{1, 2, 4, 8}
	dps = []int64{1, 2, 4, 8, 16, 32, 64}
	eps = []int64{0, 2, 4, 8, 16, 32, 64}
)

const mostDevices = 64

// Layouts lists those in which the model can be shared, the fewest devices of each kind
// first: what roofline finds nothing wrong with.
func Layouts(m *roofline.Model) []Layout {
	var list []Layout
	for _, tp := range tps {
		for _, pp := range pps {
			for _, dp := range dps {
				n := tp * pp * dp
				if n > mostDevices {
					continue
				}
				for _, ep := range eps {
					q := roofline.Query{Model: m, Target: device(n), Batch: n, TP: tp, PP: pp, DP: dp, EP: ep}
					if len(q.Wrong()) == 0 {
						list = append(list, Layout{tp, pp, dp, ep})
					}
				}
			}
		}
	}
	return list
}

// device is so many of one of which everything is known.
func device(n int64) *roofline.Target {
	return &roofline.Target{
		Name: "device", Count: n, MemoryGB: "1", BandwidthGBs: "1", LinkGBs: "1",
		PeakTFLOPs: map[string]roofline.Decimal{"bf16": "1", "fp16": "1", "fp8": "1", "fp4": "1", "int8": "1"},
	}
}

// MarshalJSON writes a layout as one short text, "8.1.1.0".
func (l Layout) MarshalJSON() ([]byte, error) {
	b := []byte{'"'}
	for i, n := range l {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, '"'), nil
}
