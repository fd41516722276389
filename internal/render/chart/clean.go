package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// roles that the axes have in every plot.
var axisRoles = map[string][]string{
	"grid": {"class", "grid", "stroke", "var(--grid)"},
	"axis": {"class", "axis", "stroke", "var(--edge)"},
}

// clean turns ECharts' drawing into ours: roles become tokens and classes, marks take
// our shapes and their rows' attributes, and nothing else of what ECharts writes stays
// (ids, styles, hover rules, metadata). What it does not know is an error, so that a
// new ECharts cannot bring something in unseen.
func (p *plot) clean(raw string) (string, error) {
	names := p.order()
	var s svg
	d := xml.NewDecoder(strings.NewReader(raw))
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return s.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("ECharts' SVG: %w", err)
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		at := map[string]string{}
		for _, a := range start.Attr {
			at[a.Name.Local] = a.Value
		}
		switch start.Name.Local {
		case "svg", "g": // g clips to the axes, and nothing here lies outside them
		case "rect":
			if at["fill"] != "none" {
				return "", fmt.Errorf("ECharts drew a ground in %q", at["fill"])
			}
		case "defs", "style":
			if err := d.Skip(); err != nil {
				return "", err
			}
		case "path":
			if at["ecmeta_series_index"] != "" {
				err = p.cleanMark(names, at)
			} else {
				err = p.cleanLine(&s, at)
			}
		case "text":
			var body string
			if err := d.DecodeElement(&body, &start); err != nil {
				return "", err
			}
			err = cleanText(&s, at, body)
		default:
			err = fmt.Errorf("ECharts drew <%s>, which no chart here asks for", start.Name.Local)
		}
		if err != nil {
			return "", err
		}
	}
}

// order lists the series as ECharts numbers them.
func (p *plot) order() []string {
	var names []string
	for i := range p.lines {
		names = append(names, "line-"+strconv.Itoa(i))
	}
	for i := range p.dots {
		names = append(names, "dots-"+strconv.Itoa(i))
	}
	return names
}

var coordinate = regexp.MustCompile(`\d+\.\d+`)

func (p *plot) cleanLine(s *svg, at map[string]string) error {
	attrs, ok := p.paint[at["stroke"]]
	if !ok {
		attrs, ok = axisRoles[at["stroke"]]
	}
	if !ok {
		return fmt.Errorf("ECharts drew a line in %q, which is no role", at["stroke"])
	}
	d := coordinate.ReplaceAllStringFunc(at["d"], func(v string) string {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return v
		}
		return px(f)
	})
	s.el("path", append([]string{"d", d}, attrs...)...)
	return nil
}

func (p *plot) cleanMark(names []string, at map[string]string) error {
	i, err := strconv.Atoi(at["ecmeta_series_index"])
	if err != nil || i >= len(names) {
		return fmt.Errorf("ECharts drew a mark of series %q", at["ecmeta_series_index"])
	}
	marks := p.marks[names[i]]
	j, err := strconv.Atoi(at["ecmeta_data_index"])
	if err != nil || j >= len(marks) {
		return fmt.Errorf("ECharts drew mark %q of series %s", at["ecmeta_data_index"], names[i])
	}
	m := marks[j]
	_, inside, ok := strings.Cut(at["transform"], "matrix(")
	v := strings.Split(strings.TrimSuffix(inside, ")"), ",")
	if !ok || len(v) != 6 {
		return fmt.Errorf("ECharts placed a mark by %q", at["transform"])
	}
	var place [2]float64
	for k := range place {
		if place[k], err = strconv.ParseFloat(v[4+k], 64); err != nil {
			return fmt.Errorf("ECharts placed a mark by %q", at["transform"])
		}
	}
	s := &p.dotted
	move := "translate(" + px(place[0]) + " " + px(place[1]) + ")"
	if m.ring {
		s.el("circle", "class", "ring", "r", px(m.r+3), "transform", move, "fill", "none", "stroke", "var(--ink)", "stroke-width", "1.2")
	}
	rule := ""
	if m.hollow {
		rule = "evenodd"
	}
	s.el("path", append([]string{"class", "mark", "d", Shape(m.slot, m.r, m.hollow), "transform", move, "fill", Colour(m.slot), "fill-rule", rule}, m.data...)...)
	return nil
}

func cleanText(s *svg, at map[string]string, body string) error {
	if at["fill"] != "tick" {
		return fmt.Errorf("ECharts wrote %q in %q, which is no role", body, at["fill"])
	}
	_, inside, ok := strings.Cut(at["transform"], "translate(")
	v := strings.Fields(strings.TrimSuffix(inside, ")"))
	if !ok || len(v) != 2 {
		return fmt.Errorf("ECharts placed %q by %q", body, at["transform"])
	}
	var place [2]float64
	for k, rest := range []string{at["x"], at["y"]} {
		f, err := strconv.ParseFloat(v[k], 64)
		if err != nil {
			return fmt.Errorf("ECharts placed %q by %q", body, at["transform"])
		}
		if rest != "" {
			g, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				return fmt.Errorf("ECharts placed %q at %q", body, rest)
			}
			f += g
		}
		place[k] = f
	}
	// ECharts centres a text on its y; here it stands on its base line.
	s.text(body, "x", px(place[0]), "y", px(place[1]+4), "text-anchor", at["text-anchor"], "fill", "var(--ink-3)")
	return nil
}
