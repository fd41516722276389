package checkpoint

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"rowproof/internal/roofline"
)

// part is a family of a layer's matrices that a list can leave in 16 bits.
type part int

const (
	attention part = iota
	denseFFN
	sharedFFN
	routedFFN
	parts
)

var partNames = [parts]string{"attention", "dense feed-forward networks", "shared experts", "routed experts"}

// modules are the names that the matrices of a part have in one implementation or
// another, below their layer.
var modules = [parts][]string{
	attention: nil, // by its kind
	denseFFN:  {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
	sharedFFN: {"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj", "mlp.shared_experts.down_proj"},
	routedFFN: {"mlp.experts.0.gate_proj", "mlp.experts.0.up_proj", "mlp.experts.0.down_proj"},
}

var attentionModules = map[string][]string{
	roofline.GQA:    {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"},
	roofline.MLA:    {"self_attn.q_b_proj", "self_attn.kv_a_proj_with_mqa", "self_attn.kv_b_proj", "self_attn.o_proj"},
	roofline.Linear: {"linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.out_proj"},
	roofline.Mamba:  {"mamba.in_proj", "mamba.out_proj"},
	roofline.Conv:   {"conv.in_proj", "conv.out_proj"},
}

// renames are other names of the same modules.
var renames = []*strings.Replacer{
	strings.NewReplacer(),
	strings.NewReplacer("mlp.", "block_sparse_moe.", "gate_proj", "w1", "down_proj", "w2", "up_proj", "w3"),
	strings.NewReplacer("mlp.", "feed_forward.", "shared_experts", "shared_expert"),
	strings.NewReplacer("shared_experts", "shared_expert", "in_proj_qkv", "in_proj_qkvz"),
	strings.NewReplacer("mlp.", "mixer.", "self_attn.", "mixer.", "mamba.", "mixer."),
	strings.NewReplacer("q_proj", "qkv_proj", "k_proj", "qkv_proj", "v_proj", "qkv_proj", "gate_proj", "gate_up_proj", "up_proj", "gate_up_proj",
		"o_proj", "out_proj", "q_b_proj", "q_proj"),
}

// names lists what the matrices of a part of a layer may be called, below the layer: one
// list a matrix.
func names(l *roofline.Layer, p part) [][]string {
	base := modules[p]
	if p == attention {
		base = attentionModules[l.Attention.Kind]
	}
	all := make([][]string, 0, len(base))
	for _, b := range base {
		var one []string
		for _, r := range renames {
			if name := r.Replace(b); !slices.Contains(one, name) {
				one = append(one, name)
			}
		}
		all = append(all, one)
	}
	return all
}

// outer are what may stand before "layers." in the name of a module.
var outer = []string{"model.language_model.", "language_model.model.", "language_model.", "model.", "backbone."}

func withoutOuter(name string) string {
	for _, o := range outer {
		if rest, ok := strings.CutPrefix(name, o); ok {
			return rest
		}
	}
	return name
}

type layerParts [parts]bool

func partsOf(l *roofline.Layer) layerParts {
	return layerParts{
		attention: l.Attention.Kind != roofline.None,
		denseFFN:  l.FFN.Kind == roofline.Dense,
		sharedFFN: l.FFN.Kind == roofline.MoE && l.FFN.SharedWidth > 0,
		routedFFN: l.FFN.Kind == roofline.MoE,
	}
}

// matcher holds the names and patterns of a list of modules.
type matcher struct {
	plain   map[string]bool // a module, one above it, or a run of its path
	globs   []glob
	regexps []*regexp.Regexp
	all     bool // "Linear": every matrix
}

// glob is a pattern with the text before its first wildcard.
type glob struct{ pattern, fixed string }

// Bounds of a list: layers × patterns, and wildcards in one.
const (
	mostTests     = 1 << 16
	mostWildcards = 8
)

// matches reads a list of modules: names, globs, and what begins with "re:" as regular
// expressions that match from the start of a name.
func (d *decoder) matches(q *object, k string) matcher {
	m := matcher{plain: map[string]bool{}}
	for i, v := range q.list(k, -1, "") {
		at := k + "[" + itoa(int64(i)) + "]"
		switch text, isExpression := strings.CutPrefix(v.text, "re:"); {
		case v.kind != '"':
			q.wrong(at, "is "+v.kindName()+"; the name of a module is accepted")
		case isExpression:
			r, err := regexp.Compile("^(?:" + text + ")")
			if err != nil {
				q.inBytes(at, "is an expression that is not understood: "+shown(text))
				continue
			}
			m.regexps = append(m.regexps, r)
		case text == "Linear":
			m.all = true
		case strings.ContainsAny(text, "*?["):
			if _, err := path.Match(text, ""); err != nil || strings.Count(text, "*") > mostWildcards {
				q.inBytes(at, "is a pattern that is not understood: "+shown(text))
				continue
			}
			text = withoutOuter(text)
			m.globs = append(m.globs, glob{text, text[:strings.IndexAny(text, "*?[")]})
		default:
			m.plain[withoutOuter(text)] = true
		}
		if d.depth*int64(len(m.regexps)+len(m.globs)) > mostTests {
			q.inBytes(k, "has more patterns than can be tested on "+itoa(d.depth)+" layers")
			return matcher{}
		}
	}
	return m
}

// match says whether the list holds a module under one of its names: "layers.3." and what
// stands below.
func (m *matcher) match(names []string) bool {
	if m.all {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		for _, r := range m.regexps {
			if r.MatchString(name) || r.MatchString("model."+name) || r.MatchString("language_model.model."+name) {
				return true
			}
		}
		for to := len(name); to > 0; to = strings.LastIndexByte(name[:to], '.') {
			if m.holds(name[:to]) {
				return true
			}
		}
		return false
	})
}

// holds says whether the list names a module, by a pattern or by the end of its path.
func (m *matcher) holds(name string) bool {
	for _, g := range m.globs {
		if strings.HasPrefix(name, g.fixed) {
			if ok, _ := path.Match(g.pattern, name); ok {
				return true
			}
		}
	}
	for {
		if m.plain[name] {
			return true
		}
		_, below, more := strings.Cut(name, ".")
		if !more {
			return false
		}
		name = below
	}
}

// readScope says which matrices are in the format, where that is not all of the layers'.
// Embedding, head, norms, routers and towers are in 16 bits whatever the lists say.
func (d *decoder) readScope(q *object, format string, m *roofline.Model) {
	k := "ignore"
	for _, other := range []string{"modules_to_not_convert", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"} {
		if q.has(other) {
			k = other
		}
	}
	before := len(q.p.list)
	ignore := d.matches(q, k)
	targets := d.targets(q)
	if len(q.p.list) > before {
		return
	}
	if q.text("quant_method") == "mxfp4" && !q.has(k) {
		m.WeightScope = map[string]string{format: roofline.ScopeExperts}
		return
	}
	if q.text("quant_method") == "compressed-tensors" && targets.all && !d.a.TiedHead &&
		!ignore.match([]string{"lm_head"}) {
		q.inBytes(k, "does not name lm_head, so the head is quantized too, whose bytes are not known")
	}
	var in, out [parts]int
	example := ""
	for i, kind := range d.kinds {
		l := &d.a.Layers[kind]
		for p, has := range partsOf(l) {
			if !has {
				continue
			}
			for _, below := range names(l, part(p)) {
				names := make([]string, len(below))
				for j, b := range below {
					names[j] = "layers." + itoa(int64(i)) + "." + b
				}
				if targets.match(names) && !ignore.match(names) {
					in[p]++
				} else {
					out[p]++
					example = names[0]
				}
			}
		}
	}
	d.setScope(q, k, format, m, in, out, example)
	if d.a.MTP != nil && d.leavesMTP(&ignore) {
		m.Sources["weights"] += "; the modules that predict further tokens stay in 16 bits, of which the format gives a floor"
	}
}

// leavesMTP says whether a list leaves out the modules that predict further tokens, which
// stand after the last layer or by themselves.
func (d *decoder) leavesMTP(ignore *matcher) bool {
	l := &d.a.MTP.Layer
	p := denseFFN
	if l.FFN.Kind == roofline.MoE {
		p = routedFFN
	}
	for _, below := range names(l, p) {
		for _, b := range below {
			if ignore.match([]string{"layers." + itoa(d.depth) + "." + b, "mtp.layers.0." + b}) {
				return true
			}
		}
	}
	return false
}

// targets are the matrices that are quantized, before any is left out.
func (d *decoder) targets(q *object) matcher {
	if !q.has("config_groups") {
		return matcher{all: true}
	}
	union := matcher{plain: map[string]bool{}}
	for _, g := range d.groups(q) {
		if !g.has("targets") {
			return matcher{all: true}
		}
		one := d.matches(g, "targets")
		union.all = union.all || one.all
		union.globs = append(union.globs, one.globs...)
		union.regexps = append(union.regexps, one.regexps...)
		maps.Copy(union.plain, one.plain)
	}
	return union
}

func (d *decoder) setScope(q *object, k, format string, m *roofline.Model, in, out [parts]int, example string) {
	floor := ""
	for p := range parts { // a few first and last layers that a list spares make the bytes a floor
		if n := out[p]; n > 0 && n*20 <= in[p]+n {
			floor += "; " + itoa(int64(n)) + " of " + itoa(int64(in[p]+n)) + " matrices of the " + partNames[p] + " stay in 16 bits, of which the format gives a floor"
			in[p], out[p] = in[p]+n, 0
		}
	}
	defer func() {
		if floor != "" {
			d.note(k + floor)
		}
	}()
	whole := func(which ...part) bool {
		for p := range parts {
			if inside := slices.Contains(which, p); inside && out[p] > 0 || !inside && in[p] > 0 {
				return false
			}
		}
		return true
	}
	switch {
	case whole(attention, denseFFN, sharedFFN, routedFFN):
	case in[routedFFN] > 0 && whole(routedFFN):
		m.WeightScope = map[string]string{format: roofline.ScopeExperts}
	case in[routedFFN]+in[denseFFN] > 0 && whole(denseFFN, sharedFFN, routedFFN):
		m.WeightScope = map[string]string{format: roofline.ScopeFFN}
	default:
		var some []string
		for p := range parts {
			if out[p] > 0 {
				some = append(some, partNames[p])
			}
		}
		q.inBytes(k, "leaves in 16 bits all or some of the "+strings.Join(some, ", ")+" ("+example+"), a mix that no format of ours is; understood: all matrices, feed-forward networks alone, or routed experts alone")
	}
}
