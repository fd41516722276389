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
			all := elements(t, Draw(query(t, q[0], q[1]), width, `a &quot;label&quot; &amp; more`, "bf16", nil))
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

// Both axes are of one device: however many share the model, the roof stays where it is.
func TestTheRoofIsOfOneDevice(t *testing.T) {
	hard := func(in []float64) string {
		for _, e := range elements(t, Draw(in, Wide, "", "bf16", nil))["path"] {
			if e["class"] == "hard" {
				return e["d"]
			}
		}
		t.Fatal("no roof is drawn")
		return ""
	}
	one := query(t, 1, 0)
	four := query(t, 4, 0)
	four[roofline.SlotTP], four[roofline.SlotLink] = 4, math.Inf(1)
	if _, peak, _ := strings.Cut(hard(one), "L"); !strings.HasSuffix(hard(four), peak[strings.LastIndex(peak, "H"):]) {
		t.Errorf("on one device the roof is %s, on four %s", hard(one), hard(four))
	}
	for _, in := range [][]float64{one, four} {
		if got := Draw(in, Wide, "", "bf16", nil); !strings.Contains(got, ">bf16 989 TFLOP/s<") || !strings.Contains(got, ">295 FLOP/B<") {
			t.Errorf("on %v devices the roofs are not those of one", in[roofline.SlotTP])
		}
	}
}

// Measured rows stand where they were measured, each with its place in the list; those of
// the question's layout and types, and those above their roof, are told apart.
func TestRowsStandWhereTheyWereMeasured(t *testing.T) {
	in := query(t, 1, 0)
	in[roofline.SlotISL] = 2048
	out := roofline.CeilingPacked(in)
	here := Decode(in, out, out[roofline.OutDecodeStepHardMS])
	half := Decode(in, out, 2*out[roofline.OutDecodeStepHardMS])
	rows := []Row{{half, RowAlike}, {half, RowOther}, {Place{here.Intensity, 2 * here.Rate}, RowAbove}, {Place{math.NaN(), 1}, RowOther}}
	all := elements(t, Draw(in, Wide, "", "", rows))
	var asked map[string]string
	for _, c := range all["circle"] {
		if c["class"] == "asked" {
			asked = c
		}
	}
	var marks []map[string]string
	prompts := 0
	for _, e := range all["path"] {
		if e["data-row"] != "" {
			marks = append(marks, e)
		}
		if e["class"] == "prefill" {
			prompts++
		}
	}
	if len(marks) != 3 || prompts != 1 {
		t.Fatalf("%d rows and %d prompts drawn of 3 that can be and one", len(marks), prompts)
	}
	at := func(m map[string]string) (x, y float64) {
		a, b, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(m["transform"], "translate("), ")"), " ")
		return number(t, a), number(t, b)
	}
	decade := number(t, all["svg"][0]["height"]) // any length: half and double are equally far from the step
	x, y := at(marks[0])
	x2, y2 := at(marks[2])
	cx, cy := number(t, asked["cx"]), number(t, asked["cy"])
	if math.Abs(x-cx) > 0.11 || math.Abs(x2-cx) > 0.11 || math.Abs((y-cy)-(cy-y2)) > 0.21 || y-cy < decade/100 {
		t.Errorf("the step stands at %v, %v; half as fast at %v, %v; twice as fast at %v, %v", cx, cy, x, y, x2, y2)
	}
	for i, want := range []struct{ row, fill string }{{"0", "var(--c2)"}, {"1", "var(--rest)"}, {"2", "var(--bad)"}} {
		if marks[i]["data-row"] != want.row || marks[i]["fill"] != want.fill {
			t.Errorf("row %d is %v", i, marks[i])
		}
	}
}

// Where no peak is published memory's roof goes on, and no arithmetic roof is named.
func TestWithoutAPeakMemoryAloneBounds(t *testing.T) {
	in := query(t, 8, 512)
	for _, s := range []int{roofline.SlotPeakLayers, roofline.SlotPeakPlain, roofline.SlotPeakAttention} {
		in[s] = math.NaN()
	}
	got := Draw(in, Wide, "", "", nil)
	if !strings.Contains(got, ">3,350 GB/s<") || strings.Contains(got, "TFLOP/s<") || strings.Contains(got, "NaN") {
		t.Errorf("it draws %s", got)
	}
}

// Whatever is asked of any model on any device, labels stand 15 px apart at least, lie on no
// line and no mark, and never leave the drawing; a narrow one has two at most.
func TestLabelsStandClear(t *testing.T) {
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	drawn := 0
	try := func(q roofline.Query, compute string) {
		for _, width := range []int{Narrow, Wide} {
			in := roofline.Pack(q)
			out := roofline.CeilingPacked(in)
			here := Decode(in, out, 1.5*out[roofline.OutDecodeStepHardMS])
			rows := []Row{{here, RowAlike}, {Place{here.Intensity * 3, here.Rate * 1.4}, RowOther}}
			svg := Draw(in, width, "", compute, rows)
			if svg == "" {
				continue
			}
			drawn++
			for _, problem := range crossed(t, svg, width) {
				t.Errorf("%s on %s, batch %d, tp %d, dp %d, %d px: %s", q.Model.Name, q.Target.Name, q.Batch, q.TP, q.DP, width, problem)
			}
		}
	}
	for _, m := range c.Models {
		for _, on := range c.Targets {
			for i, batch := range []int64{1, 48, 3000} {
				try(roofline.Query{Model: m, Target: on, Batch: batch, Context: min(4096, m.Architecture.MaxContext), ISL: []int64{0, 512, 1024}[i], TP: 1}, on.ComputeType(m.Weights[0]))
			}
			try(roofline.Query{Model: m, Target: on, Batch: 64, Context: 1024, ISL: 1024, TP: 8}, on.ComputeType(m.Weights[0]))
			try(roofline.Query{Model: m, Target: on, Batch: 512, Context: 1024, ISL: 1024, TP: 1, DP: 16, EP: 16}, on.ComputeType(m.Weights[0]))
		}
	}
	if drawn < 100 {
		t.Errorf("only %d plots were drawn", drawn)
	}
}

// area is a rectangle in px.
type area struct {
	x0, y0, x1, y1 float64
	what           string
}

func (a area) meets(b area) bool { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 }

// crossed says what is wrong with a drawing's labels.
func crossed(t *testing.T, svg string, width int) (problems []string) {
	t.Helper()
	all := elements(t, svg)
	var things []area // marks, and short pieces of lines
	line := func(x0, y0, x1, y1 float64, what string) {
		for i := range 161 {
			x, y := x0+(x1-x0)*float64(i)/160, y0+(y1-y0)*float64(i)/160
			things = append(things, area{x - 1, y - 1, x + 1, y + 1, what})
		}
	}
	for _, m := range all["circle"] {
		x, y, r := number(t, m["cx"]), number(t, m["cy"]), number(t, m["r"])
		things = append(things, area{x - r, y - r, x + r, y + r, "the " + m["class"] + " mark"})
	}
	coordinates := regexp.MustCompile(`-?[0-9.]+`)
	for _, p := range all["path"] {
		var at []float64
		for _, v := range coordinates.FindAllString(p["d"], -1) {
			at = append(at, number(t, v))
		}
		switch {
		case p["class"] == "hard":
			line(at[0], at[1], at[2], at[3], "memory's roof")
			if len(at) == 5 {
				line(at[2], at[3], at[4], at[3], "the arithmetic roof")
			}
		case p["class"] == "prefill":
			things = append(things, area{at[0] - 5, at[1], at[0] + 5, at[3], "the prompt's mark"})
		case p["stroke-dasharray"] != "":
			line(at[0], at[1], at[2], at[3], "the expected line")
		case p["stroke"] == "var(--edge)" && p["stroke-width"] != "":
			line(at[0], at[1], at[2], at[1], "the lower peak")
		case p["data-row"] != "":
			of := coordinates.FindAllString(p["transform"], -1)
			x, y := number(t, of[0]), number(t, of[1])
			things = append(things, area{x - 4, y - 4, x + 4, y + 4, "a row's mark"})
		}
	}
	var labels []area
	for _, l := range regexp.MustCompile(`<text ([^>]*font-weight="600"[^>]*)>([^<]*)<`).FindAllStringSubmatch(svg, -1) {
		attribute := func(name string) string {
			_, value, _ := strings.Cut(" "+l[1], " "+name+`="`)
			value, _, _ = strings.Cut(value, `"`)
			return value
		}
		x, y, w := number(t, attribute("x")), number(t, attribute("y")), 7.2*float64(len([]rune(l[2])))
		if attribute("text-anchor") == "end" {
			x -= w
		}
		if x < -1 || x+w > float64(width)+1 {
			problems = append(problems, strconv.Quote(l[2])+" leaves the drawing")
		}
		name := area{x, y - 9, x + w, y + 2, strconv.Quote(l[2])}
		if attribute("class") != "peak" && attribute("paint-order") == "" {
			things = append(things, name) // of an axis
		} else {
			labels = append(labels, name)
		}
	}
	if width == Narrow && len(labels) > 2 {
		problems = append(problems, strconv.Itoa(len(labels))+" labels on a narrow plot")
	}
	for i, a := range labels {
		for _, b := range labels[i+1:] {
			if wide := (area{a.x0 - 14, a.y0, a.x1 + 14, a.y1, ""}); wide.meets(b) {
				problems = append(problems, a.what+" stands too near to "+b.what)
			}
		}
		halo := area{a.x0 - 1, a.y0 - 1, a.x1 + 1, a.y1 + 1, ""}
		said := ""
		for _, o := range things {
			if halo.meets(o) && said != o.what {
				said = o.what
				problems = append(problems, a.what+" lies on "+o.what)
			}
		}
	}
	return problems
}

// A batch that the memory does not hold is no promise of what it would gain.
func TestBatchesThatDoNotFitAreLeftOut(t *testing.T) {
	for _, k := range []struct {
		context int64
		fit     int
	}{{0, 11}, {131_072, 3}} { // 85.5 GB hold 16.1 of weights and 4 caches of 17.2: batches of 1, 2 and 4
		drawn := 0
		for _, c := range elements(t, Draw(query(t, 1, k.context), Wide, "", "", nil))["circle"] {
			if c["r"] == "3.2" {
				drawn++
			}
		}
		if drawn != k.fit {
			t.Errorf("at a context of %d tokens %d batches are drawn; %d fit", k.context, drawn, k.fit)
		}
	}
}
