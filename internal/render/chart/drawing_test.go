package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// shared draws for all tests, so that ECharts is loaded once.
var shared = NewEngine("../../..", "")

// drawings are one of each kind, by name; a chart with axes gives two.
var drawings = sync.OnceValues(func() (map[string]string, error) {
	out := map[string]string{}
	var failed error
	both := func(name string, draw func() (narrow, wide string, err error)) {
		narrow, wide, err := draw()
		out[name+"-narrow"], out[name+"-wide"] = narrow, wide
		failed = errors.Join(failed, err)
	}
	both("scatter", func() (string, string, error) { return shared.Scatter(scatterSpec()) })
	both("scatter-linear", func() (string, string, error) { return shared.Scatter(linearSpec()) })
	both("ladder", func() (string, string, error) { return shared.Ladder(ladderSpec()) })
	for _, g := range gauges() {
		out["gauge-"+g.ID] = Gauge(g)
	}
	for name, h := range histograms() {
		narrow, wide, _ := strings.Cut(Histogram(h), "</svg>")
		out[name+"-narrow"], out[name+"-wide"] = narrow+"</svg>", wide
	}
	out["bar"] = Bar(BarSpec{Value: val(565, .05), Max: 600})
	out["bar-plain"] = Bar(BarSpec{Value: Value{At: 282}, Max: 600})
	for i := range Slots + 1 {
		out["swatch-"+strconv.Itoa(i)] = Swatch(i)
	}
	return out, failed
})

// node is an element of a drawing.
type node struct {
	Name  xml.Name
	Attrs []xml.Attr `xml:",any,attr"`
	Text  string     `xml:",chardata"`
	Nodes []node     `xml:",any"`
}

func (n *node) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	type plain node
	n.Name = start.Name
	return d.DecodeElement((*plain)(n), &start)
}

func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// num is a length in px, where a percentage counts on a drawing 296 px wide.
func (n node) num(t *testing.T, name string) float64 {
	t.Helper()
	s := n.attr(name)
	if s == "" {
		return 0
	}
	s, isPercent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatalf("%s=%q: %v", name, s, err)
	}
	if isPercent {
		v *= Narrow / 100.
	}
	return v
}

// all lists n and what lies in it.
func (n node) all() []node {
	out := []node{n}
	for _, c := range n.Nodes {
		out = append(out, c.all()...)
	}
	return out
}

// class lists the elements of a class.
func (n node) class(name string) []node {
	return slices.DeleteFunc(n.all(), func(e node) bool { return !slices.Contains(strings.Fields(e.attr("class")), name) })
}

func parse(t *testing.T, text string) node {
	t.Helper()
	var n node
	d := xml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&n); err != nil {
		t.Fatalf("no XML: %v\n%s", err, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("more than one element: %s", text)
	}
	return n
}

func TestDrawings(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	colours := regexp.MustCompile(`^(none|var\(--[a-z0-9-]+\)|url\(#[a-z0-9-]+\))$`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			root := parse(t, all[name])
			if root.Name.Local != "svg" {
				t.Fatalf("is a <%s>", root.Name.Local)
			}
			if root.attr("aria-hidden") != "true" && (root.attr("role") != "img" || root.attr("aria-label") == "") {
				t.Error("is neither hidden nor an image with a name")
			}
			for _, n := range root.all() {
				if n.Name.Local == "style" || n.Name.Local == "script" || n.Name.Local == "foreignObject" {
					t.Errorf("holds <%s>", n.Name.Local)
				}
				for _, a := range n.Attrs {
					switch {
					case a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || strings.HasPrefix(a.Name.Local, "ecmeta"):
						t.Errorf("<%s> has %s=%q", n.Name.Local, a.Name.Local, a.Value)
					case a.Name.Local == "id" && n.Name.Local != "svg" && !strings.HasPrefix(a.Value, root.attr("id")):
						t.Errorf("<%s> has id %q outside of the drawing's %q", n.Name.Local, a.Value, root.attr("id"))
					case (a.Name.Local == "fill" || a.Name.Local == "stroke") && !colours.MatchString(a.Value):
						t.Errorf("<%s> has %s=%q, which is no token", n.Name.Local, a.Name.Local, a.Value)
					case a.Name.Local == "font-size" && n.num(t, "font-size") < textPx:
						t.Errorf("text of %s px", a.Value)
					}
				}
				if n.Name.Local == "text" && n.attr("font-size") == "" {
					t.Errorf("text %q has no size of its own", n.Text)
				}
			}
		})
	}
}

// texts are a drawing's texts with the boxes that they may fill.
func texts(t *testing.T, root node) (out []string, boxes []box) {
	for _, n := range root.all() {
		if n.Name.Local != "text" {
			continue
		}
		body := n.Text
		for _, c := range n.Nodes {
			body += c.Text
		}
		each := regular
		if n.attr("font-weight") == "600" {
			each = bold
		}
		x, y, w := n.num(t, "x")+n.num(t, "dx"), n.num(t, "y")+n.num(t, "dy"), width(body, each)
		switch n.attr("text-anchor") {
		case "middle":
			x -= w / 2
		case "end":
			x -= w
		}
		out, boxes = append(out, body), append(boxes, box{x, y - 9, x + w, y + 3})
	}
	return out, boxes
}

func TestTextsKeepApart(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		root := parse(t, all[name])
		said, boxes := texts(t, root)
		whole := box{-3, 0, root.num(t, "width") + 3, root.num(t, "height") + 1}
		if root.attr("width") == "100%" {
			whole.x1 = Narrow + 3
		}
		for i, b := range boxes {
			if !whole.holds(b) {
				t.Errorf("%s: %q at %.0f is not within %.0f", name, said[i], b, whole)
			}
			for j := range i {
				if b.overlaps(boxes[j]) {
					t.Errorf("%s: %q at %.0f and %q at %.0f overlap", name, said[i], b, said[j], boxes[j])
				}
			}
		}
	}
}

func TestSameBytesEachTime(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	narrow, wide, err := NewEngine("../../..", "").Scatter(scatterSpec())
	if err != nil {
		t.Fatal(err)
	}
	if narrow != all["scatter-narrow"] || wide != all["scatter-wide"] {
		t.Error("a second engine draws another scatter")
	}
	for _, g := range gauges() {
		if Gauge(g) != all["gauge-"+g.ID] {
			t.Errorf("gauge %s differs at the second drawing", g.ID)
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	s := linearSpec()
	s.Label = `a < b & "c"`
	s.YName = "↑ <script>alert(1)</script>"
	s.Series[0].Cell = `x" onload="y`
	_, wide, err := shared.Scatter(s)
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, wide)
	if got := root.attr("aria-label"); got != s.Label {
		t.Errorf("label %q came out as %q", s.Label, got)
	}
	if names := root.class("name"); names[0].Text != s.YName {
		t.Errorf("axis name %q came out as %q", s.YName, names[0].Text)
	}
	i := slices.IndexFunc(root.class("mark"), func(n node) bool { return n.attr("data-row") == "a1" })
	if got := root.class("mark")[i].attr("data-cell"); got != s.Series[0].Cell {
		t.Errorf("cell %q came out as %q", s.Series[0].Cell, got)
	}
	if g := Gauge(GaugeSpec{ID: "g", Name: "<b>", Missing: "a & b"}); strings.Contains(g, "<b>") {
		t.Errorf("gauge holds its name as markup: %s", g)
	}
}
