package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// layoutWords say how several devices share a model: "tp 2", "tp 4, dp 2"; "" on one.
func layoutWords(r *row.Recipe) string {
	if r == nil || len(r.Pools) != 1 {
		return ""
	}
	p := r.Pools[0]
	var words []string
	for _, d := range []struct {
		name string
		n    int64
	}{{"tp", p.TP}, {"pp", p.PP}, {"dp", p.DP}, {"ep", p.EP}} {
		if d.n > 1 {
			words = append(words, d.name+format.NBSP+format.Count(d.n))
		}
	}
	if p.Count > 1 {
		words = append(words, format.Plural(int(p.Count), "server", "servers"))
	}
	return strings.Join(words, ", ")
}

// onDevices puts a recipe's layout after the target's name, where there is one to tell.
func onDevices(target string, r *row.Recipe) string {
	if words := layoutWords(r); words != "" {
		return target + " (" + words + ")"
	}
	return target
}

// linkWords are what the links ask of a step and of a prompt, with the formula, and what
// all-reduces were measured to reach; none where nothing is shared between devices.
func (s *site) linkWords(m *measured, in []float64) []string {
	step := roofline.LinkFormula(in, in[roofline.SlotBatch]*(in[roofline.SlotGamma]+1))
	if step == "" {
		return nil
	}
	out := roofline.CeilingPacked(in)
	words := []string{
		fmt.Sprintf("Of a step of %s, %s, memory takes at least %s, arithmetic %s, the links %s.", m.shape(), m.load(), milli(out[roofline.OutMemoryMS]),
			milli(out[roofline.OutComputeMS]), milli(out[roofline.OutCommunicationMS])),
		"The links, decode: " + step + ". Prefill: " + roofline.LinkFormula(in, float64(m.Workload.ISL)) + ".",
	}
	t, ok := s.today.Target(m.Key.Target)
	if !ok {
		return words
	}
	tp := int64(in[roofline.SlotTP])
	if bus, ok := t.MeasuredAllReduceGBs["x"+strconv.FormatInt(tp, 10)].Float(); ok {
		link, _ := t.LinkGBs.Float()
		words = append(words, fmt.Sprintf("Measured on %d such devices: the largest all-reduces reach %s of the link’s %s in each direction (%s).",
			tp, format.Quantity(format.Prose(bus), "GB/s"), format.Quantity(format.Prose(link), "GB/s"), t.Sources["measured_allreduce_gb_s"]))
	}
	return words
}

// linksOf says what the links ask of a recipe at the heaviest load that it was ranked at.
func (s *site) linksOf(rows []*measured) []string {
	var most *measured
	for _, m := range rows {
		if m.ranks() && (most == nil || m.concurrency() > most.concurrency()) {
			most = m
		}
	}
	if most == nil {
		return nil
	}
	r := most.decodeRoof()
	if r.Missing != "" {
		return nil
	}
	return s.linkWords(most, r.Query)
}

func milli(ms float64) string { return format.Quantity(format.Prose(ms), "ms") }

// besideView holds a recipe of several devices against those of one, load by load: output
// tok/s for each GPU.
type besideView struct {
	ID, Note string
	More     string // how many columns a phone shows only after scrolling
	Heads    []besideHead
	Rows     []besideRow
}

type besideHead struct{ Name, Address string }

type besideRow struct {
	Load  string
	Here  tableFigure
	Cells []besideCell
}

// besideCell is one GPU's figure at the load, and this recipe's share of it.
type besideCell struct {
	tableFigure
	Share   string
	Address string
}

// besides are the tables of a recipe, one a shape; none where it takes one device, or where
// nothing of the model ranks on one.
func (s *site) besides(w *world, r *recipeOf) []besideView {
	if r.recipe == nil || r.recipe.GPUs() < 2 {
		return nil
	}
	single := slices.DeleteFunc(slices.Clone(w.rows), func(m *measured) bool {
		return m.Key.Model != r.key.Model || !m.ranks() || m.Report.AsItWas == nil || m.Report.AsItWas.Recipe.GPUs() != 1
	})
	here := slices.DeleteFunc(slices.Clone(r.rows), func(m *measured) bool { return !m.ranks() })
	slices.SortStableFunc(here, func(a, b *measured) int { return cmp.Compare(a.concurrency(), b.concurrency()) })
	var views []besideView
	var shapes []shape
	for _, m := range here {
		if !slices.Contains(shapes, m.shape()) {
			shapes = append(shapes, m.shape())
		}
	}
	for _, sh := range shapes {
		v := besideView{ID: r.key.anchor() + "-one-gpu-" + sh.slug(),
			Note: "Output tok/s for each GPU at " + sh.String() + "; below each, this recipe’s as a share of it. More GPUs serve one user faster; what each of them yields is the price."}
		var keys []recipeKey
		for _, m := range single {
			if m.shape() == sh && !slices.Contains(keys, m.Key) {
				keys = append(keys, m.Key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.SortFunc(keys, func(a, b recipeKey) int { return strings.Compare(a.String(), b.String()) })
		var shown []*measured
		for _, m := range slices.Concat(here, single) {
			if m.shape() == sh {
				shown = append(shown, m)
			}
		}
		column := newColumn("", "", shown, (*measured).perGPU)
		var missing letters
		for _, k := range keys {
			t, _ := w.catalog.Target(k.Target)
			v.Heads = append(v.Heads, besideHead{nameOfTarget(t, k.Target) + " · " + s.strategyName(k.Strategy) + " · " + engineName(k.Engine), "recipes/" + k.Model + "/#" + k.anchor()})
		}
		for _, m := range here {
			if m.shape() != sh {
				continue
			}
			line := besideRow{Load: m.load(), Here: column.figure(m, &missing)}
			for _, k := range keys {
				var cell besideCell
				i := slices.IndexFunc(single, func(o *measured) bool { return o.Key == k && o.shape() == sh && o.concurrency() == m.concurrency() })
				if i < 0 {
					cell.Dash = &dash{Reason: "not measured at this load"}
				} else {
					cell.tableFigure = column.figure(single[i], &missing)
					cell.Share = format.Percent(*m.perGPU().Value / *single[i].perGPU().Value)
					cell.Address = single[i].address()
				}
				line.Cells = append(line.Cells, cell)
			}
			v.Rows = append(v.Rows, line)
		}
		v.More = more(len(v.Heads))
		views = append(views, v)
	}
	return views
}
