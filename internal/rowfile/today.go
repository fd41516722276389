package rowfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Today holds a report's own copies of its recipe, model and target against what a
// catalogue has now. Each may be nil where the catalogue has none: the row's copy then
// stands for it. It is nil where the report has no copies, or the catalogue nothing of it.
func Today(was *row.AsItWas, recipe *row.Recipe, model *roofline.Model, target *roofline.Target) *gate.Today {
	if was == nil || recipe == nil && model == nil && target == nil {
		return nil
	}
	t := &gate.Today{AsItIs: *was}
	d := differing{}
	if model != nil {
		t.AsItIs.Model = *model
		d.compare("model", boundingModel(was.Model, &was.Model, model), boundingModel(*model, &was.Model, model))
	}
	if target != nil {
		t.AsItIs.Target = *target
		d.compare("target", Bounding(was.Target, &was.Target), Bounding(*target, &was.Target))
	}
	if recipe != nil {
		t.AsItIs.Recipe = *recipe
		before := len(d.found)
		d.compare("recipe", boundingRecipe(&was.Recipe), boundingRecipe(recipe))
		if len(d.found) == before && asked(&was.Recipe, was) != asked(recipe, was) {
			d.found = append(d.found, gate.Compared{Name: "recipe.flags", Found: strings.Join(flags(&was.Recipe), " "), Against: strings.Join(flags(recipe), " ")})
		}
	}
	t.Differ = d.found
	return t
}

// Bounding is what of a target bounds a row that was measured when the target was then:
// not where a figure was found, nor what somebody measured of the device, nor what only
// explains a figure above its roof or names the device, nor the peaks of types that were
// not stated then, nor the links of a device that has no other to talk to.
func Bounding(t roofline.Target, then *roofline.Target) roofline.Target {
	t.Sources, t.Also = nil, nil
	t.MeasuredCopyGBs, t.MeasuredAllReduceGBs = "", nil
	t.MemoryBusBits, t.CacheBytes = 0, 0
	if t.Count == 1 {
		t.LinkGBs, t.LinkPeerGBs, t.LinkReduces = "", "", false
	}
	t.PeakTFLOPs = maps.Clone(t.PeakTFLOPs)
	maps.DeleteFunc(t.PeakTFLOPs, func(kind string, _ roofline.Decimal) bool { return then.PeakTFLOPs[kind] == "" })
	return t
}

// boundingModel is what of a model bounds a row, or tells whether the server served it. A
// repository that the catalogue has learned of since changes nothing.
func boundingModel(m roofline.Model, was, is *roofline.Model) roofline.Model {
	m.Name, m.Publisher, m.Licence = "", "", ""
	m.KV, m.Published, m.Sources = nil, roofline.Published{}, nil
	m.Weights = m.Weights[:min(1, len(m.Weights))]
	if !slices.ContainsFunc(was.Repositories, func(r string) bool { return !slices.Contains(is.Repositories, r) }) {
		m.Repositories = nil
	}
	return m
}

// boundingRecipe is what of a recipe bounds a row as it is written; flags may besides.
func boundingRecipe(r *row.Recipe) any {
	return struct {
		Engine      string           `json:"engine"`
		Dtype       string           `json:"weights.dtype"`
		KVDtype     string           `json:"kv_dtype"`
		Pools       []row.Pool       `json:"pools"`
		Speculation *row.Speculation `json:"speculation"`
	}{r.Engine.Name, r.Weights.Dtype, r.KVDtype, r.Pools, r.Speculation}
}

// asked are the questions that a recipe's flags have a part in.
func asked(r *row.Recipe, was *row.AsItWas) [2]roofline.Query {
	decode, _, _ := r.Roof(&was.Model, &was.Target)
	prefill, _, _ := r.PrefillRoof(&was.Model, &was.Target)
	return [2]roofline.Query{decode, prefill}
}

func flags(r *row.Recipe) []string { return append(slices.Clone(r.Launch), r.Flags...) }

// differing gathers where two values differ, by their JSON.
type differing struct{ found []gate.Compared }

func (d *differing) compare(name string, was, is any) {
	a, okA := generic(was)
	b, okB := generic(is)
	if okA && okB {
		d.walk(name, a, b)
	}
}

func (d *differing) walk(name string, was, is any) {
	switch a := was.(type) {
	case map[string]any:
		b, ok := is.(map[string]any)
		if !ok {
			break
		}
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			d.walk(name+"."+key, a[key], b[key])
		}
		return
	case []any:
		b, ok := is.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			d.walk(name+"["+strconv.Itoa(i)+"]", a[i], b[i])
		}
		return
	}
	if x, y := written(was), written(is); x != y {
		d.found = append(d.found, gate.Compared{Name: name, Found: x, Against: y})
	}
}

// generic is a value as its JSON has it.
func generic(v any) (out any, ok bool) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return out, decoder.Decode(&out) == nil
}

// written is a value in a sentence. A name left out and an empty one say the same.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return "not stated"
	case string:
		if v == "" {
			return "not stated"
		}
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "unreadable"
	}
	return clip(string(data))
}
