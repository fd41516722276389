package catalog

import (
	"slices"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

func readModel(f *file, data []byte) *roofline.Model {
	m := &roofline.Model{}
	n := f.parse(data)
	if n == nil {
		return m
	}
	o := f.object(n, "", "name", "publisher", "licence", "repositories", "architecture", "weights", "kv", "published", "sources")
	m.Name = o.text("name")
	m.Publisher = o.text("publisher")
	m.Licence = o.text("licence")
	m.Repositories = o.texts("repositories")
	for i, r := range m.Repositories {
		if !repository.MatchString(r) {
			o.problem(o.values["repositories"].Content[i], "repositories[%d] is %q; owner/name is accepted", i, r)
		}
	}
	before := len(*f.problems)
	m.Architecture = readArchitecture(o.under("architecture", "hidden", "vocabulary", "tied_head", "max_context", "layers"))
	whole := len(*f.problems) == before
	m.Weights = o.dtypes("weights", roofline.WeightDtypes())
	m.KV = o.dtypes("kv", roofline.KVDtypes())
	m.Published = readPublished(o.under("published", "total_params", "total_exact"), m, whole)
	m.Sources = o.sources("architecture", "weights", "kv", "published")
	return m
}

func readArchitecture(o *object) roofline.Architecture {
	a := roofline.Architecture{
		Hidden:     o.whole("hidden", 1),
		Vocabulary: o.whole("vocabulary", 1),
		TiedHead:   o.flag("tied_head"),
		MaxContext: o.whole("max_context", 1),
	}
	layers := o.items("layers")
	if o.has("layers") && len(layers) == 0 {
		o.problem(o.at("layers"), "%s is empty; at least one kind of layer is needed", o.key("layers"))
	}
	for _, n := range layers {
		l := o.file.object(n, o.key("layers[]"), "count", "attention", "ffn", "norms")
		att := l.under("attention", "kind", "heads", "kv_heads", "head_dim", "qkv_bias", "qk_norm")
		ffn := l.under("ffn", "kind", "width")
		layer := roofline.Layer{
			Count: l.whole("count", 1),
			Norms: l.whole("norms", 0),
			Attention: roofline.Attention{
				Kind:    att.oneOf("kind", "gqa"),
				Heads:   att.whole("heads", 1),
				KVHeads: att.whole("kv_heads", 1),
				HeadDim: att.whole("head_dim", 1),
				QKVBias: att.flag("qkv_bias"),
				QKNorm:  att.flag("qk_norm"),
			},
			FFN: roofline.FFN{Kind: ffn.oneOf("kind", "dense"), Width: ffn.whole("width", 1)},
		}
		if a := layer.Attention; a.Heads > 0 && a.KVHeads > 0 && a.Heads%a.KVHeads != 0 {
			att.problem(att.at("kv_heads"), "%d heads cannot share %d key-value heads evenly", a.Heads, a.KVHeads)
		}
		a.Layers = append(a.Layers, layer)
	}
	return a
}

// readPublished holds the publisher's counts against ours: equal to one unit of the last
// published digit, since some round and some cut off.
func readPublished(o *object, m *roofline.Model, whole bool) roofline.Published {
	p := roofline.Published{TotalParams: o.decimal("total_params")}
	if o.has("total_exact") {
		p.TotalExact = o.whole("total_exact", 1)
	}
	if !whole {
		return p
	}
	total := m.Params().Total
	if v, ok := p.TotalParams.Float(); ok {
		unit := 1.0
		if _, fraction, ok := strings.Cut(string(p.TotalParams), "."); ok {
			for range fraction {
				unit /= 10
			}
		}
		if diff := float64(total)/1e9 - v; diff >= unit || diff <= -unit {
			o.problem(o.at("total_params"), "published %s billion parameters, but the architecture has %s; correct the one that is wrong",
				p.TotalParams, roofline.Number(float64(total)/1e9))
		}
	}
	if p.TotalExact != 0 && p.TotalExact != total {
		o.problem(o.at("total_exact"), "published %d parameters, but the architecture has %d; correct the one that is wrong", p.TotalExact, total)
	}
	return p
}

func readStrategy(f *file, data []byte) *row.Strategy {
	s := &row.Strategy{}
	n := f.parse(data)
	if n == nil {
		return s
	}
	o := f.object(n, "", "name", "for", "best_by")
	s.Name = o.text("name")
	if _, ok := o.need("for"); ok {
		s.For = o.prose("for")
	}
	s.BestBy = o.oneOf("best_by", row.BestPerUser, row.BestPerGPU)
	return s
}

// oneOf reads a word out of a closed list.
func (o *object) oneOf(k string, accepted ...string) string {
	before := len(*o.problems)
	s := o.text(k)
	if len(*o.problems) > before || !o.has(k) {
		return s
	}
	if !slices.Contains(accepted, s) {
		o.problem(o.at(k), "%s %q is not known%s; there are: %s", o.key(k), s, meant(s, accepted), strings.Join(accepted, ", "))
	}
	return s
}

// dtypes reads a list of formats, at least one, each known.
func (o *object) dtypes(k string, known []string) []string {
	list := o.texts(k)
	if o.has(k) && len(list) == 0 {
		o.problem(o.at(k), "%s is empty; at least one is needed, the published checkpoint's first", o.key(k))
	}
	for i, d := range list {
		if d != "" && !slices.Contains(known, d) {
			o.problem(o.values[k].Content[i], "%s[%d] %q is not known%s; there are: %s", o.key(k), i, d, meant(d, known), strings.Join(known, ", "))
		}
	}
	return list
}

// sources reads where each figure stands, and asks for one for each of the given.
func (o *object) sources(needed ...string) map[string]string {
	m := map[string]string{}
	entries := o.entries("sources")
	for _, e := range entries {
		m[e.key.Value] = o.exact(e.value, "sources."+e.key.Value)
	}
	if !o.has("sources") {
		return m
	}
	for _, k := range needed {
		if _, ok := m[k]; !ok {
			o.problem(o.at("sources"), "sources.%s is missing: say where %s stands", k, k)
		}
	}
	for _, e := range entries {
		if !slices.Contains(needed, e.key.Value) {
			o.problem(e.key, "sources.%s: no such figure in this file; accepted here: %s", e.key.Value, strings.Join(needed, ", "))
		}
	}
	return m
}
