package roofplot

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

func query(t *testing.T, batch, context int64) []float64 {
	t.Helper()
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return roofline.Pack(roofline.Query{Model: c.Models["llama-3.1-8b"], Target: c.Targets["h100-sxm"], Batch: batch, Context: context, TP: 1})
}

// elements reads a drawing back: name → attributes of each such element, in order.
func elements(t *testing.T, drawing string) map[string][]map[string]string {
	t.Helper()
	all := map[string][]map[string]string{}
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			attrs := map[string]string{}
			for _, a := range e.Attr {
				attrs[a.Name.Local] = a.Value
			}
			all[e.Name.Local] = append(all[e.Name.Local], attrs)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Nothing is drawn where nothing is known, and everything drawn lies inside the drawing,
// at both widths, for the smallest and the largest question.
func TestDrawStaysInside(t *testing.T) {
	for _, q := range [][2]int64{{1, 0}, {32, 2048}, {100_000, 0}, {7, 131_072}} {
		for _, width := range []int{Narrow, Wide} {
			all := elements(t, Draw(query(t, q[0], q[1]), width, `a "label" & more`, "bf16", nil))
			svg := all["svg"][0]
			if svg["aria-label"] != `a "label" & more` || svg["width"] != strconv.Itoa(width) {
				t.Errorf("the element is %v", svg)
			}
			for _, c := range all["circle"] {
				x, y := number(t, c["cx"]), number(t, c["cy"])
				if x < 0 || x > float64(width) || y < 0 || y > number(t, svg["height"]) {
					t.Errorf("batch %d, context %d, %d px: a mark at %v, %v lies outside", q[0], q[1], width, x, y)
				}
			}
			for _, e := range all["text"] {
				if number(t, e["font-size"]) < 12 {
					t.Errorf("text of %s px", e["font-size"])
				}
			}
		}
	}
	unknown := query(t, 1, 0)
	unknown[roofline.SlotBandwidth] = math.NaN()
	if got := Draw(unknown, Wide, "", "", nil); got != "" {
		t.Errorf("without a bandwidth it draws %s", got)
	}
	if got := Draw(unknown[:3], Wide, "", "", nil); got != "" {
		t.Errorf("of half a query it draws %s", got)
	}
}

// The memory roof rises at 45°, and a step that memory binds stands on it: doubling the
// batch moves it right and up by the same length.
func TestMemoryRoofRisesAt45Degrees(t *testing.T) {
	marks := elements(t, Draw(query(t, 1, 0), Wide, "", "", nil))["circle"]
	for i := 1; i < 6; i++ {
		dx := number(t, marks[i]["cx"]) - number(t, marks[i-1]["cx"])
		dy := number(t, marks[i-1]["cy"]) - number(t, marks[i]["cy"])
		if math.Abs(dx-dy) > 0.21 || dx < 10 {
			t.Errorf("from batch %v to %v the mark moves %v right and %v up", batches[i-1], batches[i], dx, dy)
		}
	}
}

// Both roofs and the ridge are named, and no number on the axes is cut off or touches
// the next, whatever is asked.
func TestRoofsAreNamed(t *testing.T) {
	const digit = 7.632 // px of one in DejaVu Sans at 12 px
	for _, q := range [][2]int64{{32, 2048}, {200_000, 1}} {
		for _, width := range []int{Narrow, Wide} {
			drawing := Draw(query(t, q[0], q[1]), width, "", "bf16", nil)
			for _, want := range []string{">bf16 989 TFLOP/s<", ">295 FLOP/B<"} {
				if !strings.Contains(drawing, want) {
					t.Errorf("batch %d, %d px: no %s", q[0], width, want)
				}
			}
			below := regexp.MustCompile(`<text x="([0-9.]+)" y="[0-9.]+" text-anchor="middle"[^>]*>([0-9,]+)<`).FindAllStringSubmatch(drawing, -1)
			beside := regexp.MustCompile(`<text x="([0-9.]+)" y="[0-9.]+" dy="4" text-anchor="end"[^>]*>([0-9,]+)<`).FindAllStringSubmatch(drawing, -1)
			if len(below) < 3 || len(beside) < 2 {
				t.Errorf("batch %d, %d px: %d and %d numbers", q[0], width, len(below), len(beside))
			}
			before := 0.0
			for _, m := range below {
				x, half := number(t, m[1]), digit*float64(len(m[2]))/2
				if x-half < before || x+half > float64(width) {
					t.Errorf("batch %d, %d px: %s spans %.1f to %.1f; the one before ends at %.1f", q[0], width, m[2], x-half, x+half, before)
				}
				before = x + half
			}
			for _, m := range beside {
				if number(t, m[1]) < digit*float64(len("10,000")) {
					t.Errorf("at %s there is no room for 10,000", m[1])
				}
			}
		}
	}
}
