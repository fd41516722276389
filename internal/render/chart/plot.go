package chart

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// plot is a chart with axes at one width: panels one under another, and what lies in
// them. ECharts is told where things lie and in which role; the roles' colours and
// classes are put in afterwards (clean), since an option can carry no token.
type plot struct {
	id, label string
	w, h      int
	panels    []panel
	lines     []*charts.Line
	dots      []*charts.Scatter
	depth     map[string]int      // series name → z
	paint     map[string][]string // role → attributes of its path
	marks     map[string][]mark   // series name → its marks
	under     svg                 // bands, below the rest
	dotted    svg                 // the marks as cleaned, above the lines
	over      svg                 // names and labels, above the rest
}

// panel is a pair of axes and the px that they run between.
type panel struct {
	x, y scale
	bare bool   // no line and no tick labels on x: the panel below has them
	unit string // after each tick label on y
}

// mark is what stands at one measured value.
type mark struct {
	slot   int
	r      float64
	hollow bool
	ring   bool
	data   []string // attributes: data-row and its like
}

func newPlot(id, label string, w, h int) *plot {
	return &plot{id: id, label: label, w: w, h: h, depth: map[string]int{}, paint: map[string][]string{}, marks: map[string][]mark{}}
}

func (p *plot) class() string {
	if p.w == Narrow {
		return "narrow"
	}
	return "wide"
}

// gap parts two pieces of one line.
var gap = [2]float64{math.NaN(), math.NaN()}

// line adds a path through points in data units, painted with attrs; z orders lines.
func (p *plot) line(panel, z int, points [][2]float64, attrs ...string) {
	role := "line-" + strconv.Itoa(len(p.lines))
	data := make([]opts.LineData, len(points))
	for i, v := range points {
		if math.IsNaN(v[0]) {
			data[i].Value = []string{"-", "-"}
		} else {
			data[i].Value = v
		}
	}
	c := charts.NewLine()
	c.AddSeries(role, data,
		charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false), XAxisIndex: panel, YAxisIndex: panel}),
		charts.WithLineStyleOpts(opts.LineStyle{Color: role}))
	p.lines = append(p.lines, c)
	p.depth[role] = z
	p.paint[role] = append([]string{"fill", "none"}, attrs...)
}

// points adds marks at places in data units.
func (p *plot) points(panel, z int, at [][2]float64, marks []mark) {
	if len(at) == 0 {
		return
	}
	name := "dots-" + strconv.Itoa(len(p.dots))
	data := make([]opts.ScatterData, len(at))
	for i, v := range at {
		data[i].Value = v
	}
	c := charts.NewScatter()
	c.AddSeries(name, data, charts.WithScatterChartOpts(opts.ScatterChart{XAxisIndex: panel, YAxisIndex: panel}))
	p.dots = append(p.dots, c)
	p.depth[name] = z
	p.marks[name] = marks
}

// options are what ECharts is given.
func (p *plot) options() ([]byte, error) {
	c := charts.NewLine()
	c.ChartID = p.id // go-echarts would draw lots for one
	c.AssetsHost = "/"
	c.XAxisList, c.YAxisList = nil, nil
	var grids []opts.Grid
	for i, q := range p.panels {
		grids = append(grids, opts.Grid{
			Left: px(q.x.from), Right: px(float64(p.w) - q.x.to),
			Top: px(q.y.to), Bottom: px(float64(p.h) - q.y.from),
		})
		none := &opts.SplitLine{Show: opts.Bool(false)}
		c.XAxisList = append(c.XAxisList, opts.XAxis{
			GridIndex: i, Type: kind(q.x), Min: q.x.min, Max: q.x.max, SplitLine: none,
			AxisLine:  &opts.AxisLine{Show: opts.Bool(!q.bare), OnZero: opts.Bool(false), LineStyle: &opts.LineStyle{Color: "axis"}},
			AxisLabel: &opts.AxisLabel{Show: opts.Bool(!q.bare), Color: "tick", FontSize: textPx},
		})
		c.YAxisList = append(c.YAxisList, opts.YAxis{
			GridIndex: i, Type: kind(q.y), Min: q.y.min, Max: q.y.max,
			SplitLine: &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: "grid"}},
			AxisLine:  &opts.AxisLine{Show: opts.Bool(false)},
			AxisLabel: &opts.AxisLabel{Show: opts.Bool(true), Color: "tick", FontSize: textPx},
		})
	}
	c.SetGlobalOptions(charts.WithGridOpts(grids...), charts.WithAnimation(false))
	for _, l := range p.lines {
		c.Overlap(l)
	}
	for _, d := range p.dots {
		c.Overlap(d)
	}
	c.Validate()
	return p.amend(c.JSON())
}

func kind(s scale) string {
	if s.log {
		return "log"
	}
	return "value"
}

// amend sets what go-echarts has no field for, and leaves out what it adds for pages:
// title, legend and tooltip stand in the page itself.
func (p *plot) amend(all map[string]any) ([]byte, error) {
	text, err := json.Marshal(map[string]any{
		"animation": false, "grid": all["grid"], "xAxis": all["xAxis"], "yAxis": all["yAxis"], "series": all["series"],
	})
	if err != nil {
		return nil, err
	}
	var o struct {
		Animation bool             `json:"animation"`
		Grid      []map[string]any `json:"grid"`
		X         []map[string]any `json:"xAxis"`
		Y         []map[string]any `json:"yAxis"`
		Series    []map[string]any `json:"series"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("go-echarts' options: %w", err)
	}
	for i, q := range p.panels {
		o.Grid[i]["outerBoundsMode"] = "none" // the margins here already hold the labels
		ticks(o.X[i], q.x, "")
		ticks(o.Y[i], q.y, q.unit)
	}
	for _, s := range o.Series {
		name := s["name"].(string)
		s["z"] = p.depth[name]
		s["clip"] = false
		s["emphasis"] = map[string]any{"disabled": true}
	}
	return json.Marshal(o)
}

// ticks sets where an axis has its ticks, and so its lines of the grid, and what they say.
func ticks(axis map[string]any, s scale, unit string) {
	label := axis["axisLabel"].(map[string]any)
	words := s.labels()
	for i := range words {
		words[i] += unit
	}
	label["customValues"], label["ticks"] = s.ticks, words
	axis["axisTick"] = map[string]any{"show": false, "customValues": s.ticks}
}

// draw gives the finished SVG.
func (p *plot) draw(e *Engine) (string, error) {
	o, err := p.options()
	if err != nil {
		return "", err
	}
	raw, err := e.draw(o, p.w, p.h)
	if err != nil {
		return "", err
	}
	body, err := p.clean(raw)
	if err != nil {
		return "", fmt.Errorf("chart %s: %w", p.id, err)
	}
	var s svg
	s.open("svg", "class", p.class(), "id", p.id+"-"+p.class(), "width", strconv.Itoa(p.w), "height", strconv.Itoa(p.h),
		"viewBox", "0 0 "+strconv.Itoa(p.w)+" "+strconv.Itoa(p.h), "role", "img", "aria-label", p.label)
	s.WriteString(p.under.String())
	s.WriteString(body)
	s.open("g", "stroke", "var(--bg)", "stroke-width", "1.2")
	s.WriteString(p.dotted.String())
	s.close("g")
	s.WriteString(p.over.String())
	s.close("svg")
	return s.String(), nil
}

// margin is the room that tick labels need left of an axis.
func margin(y scale, unit string) float64 {
	var widest float64
	for _, l := range y.labels() {
		widest = max(widest, width(l+unit, regular))
	}
	return math.Ceil(widest) + 8
}
