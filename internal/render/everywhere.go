package render

import (
	"math"
	"slices"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/render/halves"
	"rowproof/internal/roofline"
)

// everywhere is the question on every device, each time on the fewest devices that hold
// the model and the caches, sharing each matrix.
type everywhere struct {
	Lines   []deviceLine
	Reasons []dash
	Same    bool // expected equals hard on each device
}

type deviceLine struct {
	ID, Name                    string
	Devices                     tableFigure
	Each, All, Expected, PerOne tableFigure // tok/s
	Binding                     string
	Peakless                    *dash // why nothing but memory and links bounds the figures; they are not sorted by
	Current                     bool
}

// heldBy is the fewest devices that hold the question, and its answer there; 0 where as
// many as a model can be shared among do not.
func heldBy(m *roofline.Model, t *roofline.Target, layouts []halves.Layout, q question) (n int64, out []float64) {
	for _, l := range layouts {
		if l[1] != 1 || l[2] != 1 || l[3] != 0 {
			continue
		}
		in := roofline.Pack(q.query(m, t))
		in[roofline.SlotTP] = float64(l[0])
		out = roofline.CeilingPacked(in)
		if out[roofline.OutFits] == 1 || math.IsNaN(out[roofline.OutFits]) {
			return l[0], out
		}
	}
	return 0, out
}

// newEverywhere works the question out. The page's script does the same for others.
func newEverywhere(m *roofline.Model, half halves.Model, targets map[string]*roofline.Target, q question) everywhere {
	v := everywhere{Same: true}
	type result struct {
		n   int64
		out []float64
	}
	results := map[string]result{}
	columns := map[int][]float64{}
	for id, t := range targets {
		n, out := heldBy(m, t, half.Layouts, q)
		results[id] = result{n, out}
		if n > 0 && out[roofline.OutBinding] != roofline.BindingNone {
			hard := out[roofline.OutDecodeTokPerSecHard]
			v.Same = v.Same && hard == out[roofline.OutDecodeTokPerSecExpected]
			for i, f := range []float64{hard / float64(q.Batch), hard, out[roofline.OutDecodeTokPerSecExpected], hard / float64(n)} {
				columns[i] = append(columns[i], f)
			}
		}
	}
	most := half.Layouts[len(half.Layouts)-1][0]
	unpublished := &dash{"b", "A figure of the device is not published"}
	misfit := &dash{"c", "Does not fit on " + format.Plural(int(most), "device", "devices") + ", sharing each matrix"}
	peakless := &dash{"d", "No dense peak for these types is published, so only memory, and links between several, bound the figures; sorted last"}
	note := func(d *dash) *dash {
		if !slices.Contains(v.Reasons, *d) {
			v.Reasons = append(v.Reasons, *d)
			slices.SortFunc(v.Reasons, func(a, b dash) int { return strings.Compare(a.Letter, b.Letter) })
		}
		return d
	}
	for _, g := range grouped(targets, q.Target, func(t *roofline.Target) (string, string) { return t.Vendor, t.Name }) {
		for _, o := range g.Options {
			r := results[o.Value]
			line := deviceLine{ID: o.Value, Name: o.Text, Current: o.Selected}
			line.Devices = tableFigure{Figure: format.Count(r.n), Exact: format.Exact(float64(r.n))}
			figures := []*tableFigure{&line.Each, &line.All, &line.Expected, &line.PerOne}
			if r.n == 0 {
				line.Devices = tableFigure{Figure: ">" + format.NBSP + format.Count(most)}
			}
			if r.n == 0 || r.out[roofline.OutBinding] == roofline.BindingNone {
				why := misfit
				if r.n > 0 {
					why = unpublished
				}
				for _, f := range figures {
					f.Dash = note(why)
				}
				v.Lines = append(v.Lines, line)
				continue
			}
			hard := r.out[roofline.OutDecodeTokPerSecHard]
			for i, value := range []float64{hard / float64(q.Batch), hard, r.out[roofline.OutDecodeTokPerSecExpected], hard / float64(r.n)} {
				*figures[i] = tableFigure{Figure: format.NewColumn("tok/s", columns[i]).Figure(value), Exact: format.Exact(value)}
			}
			line.Binding = roofline.BindingName(r.out[roofline.OutBinding])
			if math.IsNaN(r.out[roofline.OutComputeMS]) {
				line.Peakless = note(peakless)
				for _, f := range figures {
					f.Exact = ""
				}
			}
			v.Lines = append(v.Lines, line)
		}
	}
	return v
}
