package catalog

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// The most that a dimension may be. No model comes near, and the products of any of them
// stay within 63 bits, so that a slip of the hand is an error and never a wrong count.
const (
	mostLayers  = 1 << 12
	mostExperts = 1 << 13
	mostHeads   = 1 << 12
	mostHeadDim = 1 << 12
	mostHidden  = 1 << 17
	mostWidth   = 1 << 18
	mostWords   = 1 << 24
	mostContext = 1 << 30
)

// readModel reads a model, whose repositories no other may have: names says, in small
// letters, whose each repository is.
func readModel(f *file, data []byte, names map[string]string) *roofline.Model {
	m := &roofline.Model{}
	n := f.parse(data)
	if n == nil {
		return m
	}
	o := f.object(n, "", "name", "publisher", "licence", "repositories", "architecture", "weights", "weight_scope", "kv", "published", "sources")
	m.Name = o.text("name")
	m.Publisher = o.text("publisher")
	m.Licence = o.text("licence")
	m.Repositories = o.texts("repositories")
	for i, r := range m.Repositories {
		if !repository.MatchString(r) {
			o.problem(o.values["repositories"].Content[i], "repositories[%d] is %q; owner/name is accepted", i, r)
			continue
		}
		if other, twice := names[strings.ToLower(r)]; twice {
			o.problem(o.values["repositories"].Content[i], "repositories[%d] %s stands in %s too; a checkpoint has one architecture", i, r, other)
		}
		names[strings.ToLower(r)] = f.name
	}
	before := len(*f.problems)
	m.Architecture = readArchitecture(o.under("architecture", "hidden", "vocabulary", "tied_head", "max_context", "layers", "mtp"))
	whole := len(*f.problems) == before
	m.Weights = o.dtypes("weights", roofline.WeightDtypes())
	m.WeightScope = readScopes(o, m)
	m.KV = o.dtypes("kv", roofline.KVDtypes())
	m.Published = readPublished(o.under("published", "total_params", "total_exact", "total_counts", "active_params", "active_counts", "mtp_params", "within"), m, whole)
	needed := []string{"architecture", "weights", "kv", "published"}
	if o.has("weight_scope") {
		needed = append(needed, "weight_scope")
	}
	m.Sources = o.sources(needed...)
	return m
}

func readArchitecture(o *object) roofline.Architecture {
	a := roofline.Architecture{
		Hidden:     o.within("hidden", 1, mostHidden),
		Vocabulary: o.within("vocabulary", 1, mostWords),
		TiedHead:   o.flag("tied_head"),
		MaxContext: o.within("max_context", 1, mostContext),
	}
	layers := o.items("layers")
	if o.has("layers") && len(layers) == 0 {
		o.problem(o.at("layers"), "%s is empty; at least one kind of layer is needed", o.key("layers"))
	}
	var count int64
	for _, n := range layers {
		l := o.file.object(n, o.key("layers[]"), "count", "attention", "ffn", "norms")
		layer := readLayer(l)
		layer.Count = l.within("count", 1, mostLayers)
		count += layer.Count
		a.Layers = append(a.Layers, layer)
	}
	if count > mostLayers {
		o.problem(o.at("layers"), "%s are %d together; at most %d are accepted", o.key("layers"), count, mostLayers)
	}
	a.MTP = readMTP(o)
	readIndexers(o, &a, layers)
	return a
}

func readMTP(o *object) *roofline.MTP {
	if !o.has("mtp") {
		return nil
	}
	mtp := o.under("mtp", "modules", "layer")
	m := &roofline.MTP{Modules: mtp.within("modules", 1, 64)}
	m.Layer = readLayer(mtp.under("layer", "attention", "ffn", "norms"))
	m.Layer.Count = 1
	return m
}

func readLayer(o *object) roofline.Layer {
	l := roofline.Layer{Norms: o.within("norms", 0, 64)}
	l.Attention = readAttention(o)
	l.FFN = readFFN(o)
	if l.Attention.Kind == roofline.None && l.FFN.Kind == roofline.None {
		o.problem(o.node, "%s has neither attention nor a feed-forward network; a layer has one of them at least", o.name())
	}
	return l
}

// The fields that count in each kind of attention and of feed-forward network. Any other
// would be read by nothing, and whoever wrote it meant something.
var (
	attentionKeys = []variant{
		{roofline.GQA, []string{"heads", "kv_heads", "head_dim", "value_dim", "qkv_bias", "qk_norm", "qk_norm_wide", "output_bias", "output_gate", "sinks", "window", "chunk"}},
		{roofline.MLA, []string{"heads", "q_rank", "kv_rank", "nope_dim", "rope_dim", "value_dim", "selected", "indexer"}},
		{roofline.Linear, []string{"state"}},
		{roofline.Mamba, []string{"state"}},
		{roofline.Conv, []string{"state"}},
		{roofline.None, nil},
	}
	ffnKeys = []variant{
		{roofline.Dense, []string{"width", "ungated", "bias"}},
		{roofline.MoE, []string{"width", "ungated", "bias", "experts", "top_k", "shared_width", "shared_gate", "router_bias"}},
		{roofline.None, nil},
	}
)

func readAttention(l *object) roofline.Attention {
	o := l.variant("attention", attentionKeys)
	a := roofline.Attention{Kind: o.kind}
	switch a.Kind {
	case roofline.GQA:
		a.Heads = o.within("heads", 1, mostHeads)
		a.KVHeads = o.within("kv_heads", 1, mostHeads)
		a.HeadDim = o.within("head_dim", 1, mostHeadDim)
		a.ValueDim = o.optionalWithin("value_dim", 1, mostHeadDim)
		a.QKVBias = o.flag("qkv_bias")
		a.QKNormWide = o.optionalFlag("qk_norm_wide")
		if o.has("qk_norm") || !a.QKNormWide {
			a.QKNorm = o.flag("qk_norm")
		}
		a.OutputBias = o.optionalFlag("output_bias")
		a.OutputGate = o.optionalFlag("output_gate")
		a.Sinks = o.optionalFlag("sinks")
		a.Window = o.optionalWithin("window", 1, mostContext)
		a.Chunk = o.optionalWithin("chunk", 1, mostContext)
		if a.Heads > 0 && a.KVHeads > 0 && a.Heads%a.KVHeads != 0 {
			o.problem(o.at("kv_heads"), "%d heads cannot share %d key-value heads evenly", a.Heads, a.KVHeads)
		}
		if a.QKNormWide && a.QKNorm {
			o.problem(o.at("qk_norm_wide"), "%s is true, and so is qk_norm; a norm spans one head or all, and one of them is accepted", o.key("qk_norm_wide"))
		}
		if a.Window > 0 && a.Chunk > 0 {
			o.problem(o.at("chunk"), "%s and window bound the same tokens; one of them is accepted", o.key("chunk"))
		}
		if a.ValueDim > 0 && a.ValueDim == a.HeadDim {
			o.problem(o.at("value_dim"), "%s equals head_dim; it is accepted where it differs", o.key("value_dim"))
		}
	case roofline.MLA:
		a.Heads = o.within("heads", 1, mostHeads)
		a.QRank = o.optionalWithin("q_rank", 1, mostHidden)
		a.KVRank = o.within("kv_rank", 1, mostHidden)
		a.NopeDim = o.within("nope_dim", 1, mostHeadDim)
		a.RopeDim = o.within("rope_dim", 1, mostHeadDim)
		a.ValueDim = o.within("value_dim", 1, mostHeadDim)
		a.Selected = o.optionalWithin("selected", 1, mostContext)
		if o.has("indexer") {
			x := o.under("indexer", "heads", "head_dim")
			a.Indexer = &roofline.Indexer{Heads: x.within("heads", 1, mostHeads), HeadDim: x.within("head_dim", 1, mostHeadDim)}
			if !o.has("selected") {
				o.problem(o.at("indexer"), "%s selects tokens, but selected is missing: say how many it selects at most", o.key("indexer"))
			}
		}
	case roofline.Linear, roofline.Mamba, roofline.Conv:
		a.State = readState(o.object, a.Kind)
	}
	return a
}

func readState(o *object, kind string) *roofline.State {
	keys := []string{"key_heads", "key_dim", "value_heads", "value_dim", "conv", "state_bytes", "conv_bytes", "conv_bias"}
	if kind == roofline.Conv {
		keys = []string{"value_dim", "conv", "conv_bytes", "conv_bias"}
	}
	x := o.under("state", keys...)
	s := &roofline.State{
		ValueHeads: 1,
		Conv:       x.within("conv", 1, 1<<10),
		ConvBytes:  x.optionalWithin("conv_bytes", 1, 8),
		ConvBias:   x.optionalFlag("conv_bias"),
	}
	if kind == roofline.Conv {
		s.ValueDim = x.within("value_dim", 1, mostHidden)
		return s
	}
	s.KeyHeads = x.within("key_heads", 1, mostHeads)
	s.KeyDim = x.within("key_dim", 1, mostHeadDim)
	s.ValueHeads = x.within("value_heads", 1, mostHeads)
	s.ValueDim = x.within("value_dim", 1, mostHeadDim)
	s.Bytes = x.optionalWithin("state_bytes", 1, 8)
	if s.KeyHeads > 0 && s.ValueHeads > 0 && s.ValueHeads%s.KeyHeads != 0 {
		x.problem(x.at("key_heads"), "%d value heads cannot share %d key heads evenly", s.ValueHeads, s.KeyHeads)
	}
	return s
}

func readFFN(l *object) roofline.FFN {
	o := l.variant("ffn", ffnKeys)
	f := roofline.FFN{Kind: o.kind}
	if f.Kind != roofline.Dense && f.Kind != roofline.MoE {
		return f
	}
	f.Width = o.within("width", 1, mostWidth)
	f.Ungated = o.optionalFlag("ungated")
	f.Bias = o.optionalFlag("bias")
	if f.Kind == roofline.Dense {
		return f
	}
	f.Experts = o.within("experts", 1, mostExperts)
	f.TopK = o.within("top_k", 1, mostExperts)
	f.SharedWidth = o.optionalWithin("shared_width", 1, mostWidth)
	f.SharedGate = o.optionalFlag("shared_gate")
	f.RouterBias = o.optionalFlag("router_bias")
	if f.Experts > 0 && f.TopK > f.Experts {
		o.problem(o.at("top_k"), "%s is %d, but there are %d experts; at most as many are accepted", o.key("top_k"), f.TopK, f.Experts)
	}
	if f.SharedGate && !o.has("shared_width") {
		o.problem(o.at("shared_gate"), "%s gates a shared expert, but shared_width is missing", o.key("shared_gate"))
	}
	return f
}

// readIndexers holds the sparse layers against each other: one without an indexer reads
// what another's selected, so that there must be another, and as many tokens.
func readIndexers(o *object, a *roofline.Architecture, nodes []*yaml.Node) {
	var selected int64
	for i := range a.Layers {
		if x := &a.Layers[i].Attention; x.Indexer != nil {
			selected = x.Selected
		}
	}
	for i := range a.Layers {
		switch x := &a.Layers[i].Attention; {
		case x.Selected == 0:
		case selected == 0:
			o.problem(nodes[i], "%s selects %d tokens, but no layer has an indexer that selects them", o.key("layers[].attention"), x.Selected)
		case x.Selected != selected:
			o.problem(nodes[i], "%s selects %d tokens, but another kind of layer selects %d; all read the same selection", o.key("layers[].attention"), x.Selected, selected)
		}
	}
}

// readScopes reads which matrices a format covers, where not all of the layers'.
func readScopes(o *object, m *roofline.Model) map[string]string {
	if !o.has("weight_scope") {
		return nil
	}
	scopes := map[string]string{}
	moe := hasExperts(m)
	for _, e := range o.entries("weight_scope") {
		format, scope := e.key.Value, o.exact(e.value, "weight_scope."+e.key.Value)
		switch {
		case scope == "":
			continue
		case !slices.Contains(m.Weights, format):
			o.problem(e.key, "weight_scope.%s: weights has no such format; accepted here: %s", format, strings.Join(m.Weights, ", "))
		case scope != roofline.ScopeExperts && scope != roofline.ScopeFFN:
			o.problem(e.value, "weight_scope.%s %q is not known%s; there are: %s, %s", format, scope,
				meant(scope, []string{roofline.ScopeExperts, roofline.ScopeFFN}), roofline.ScopeExperts, roofline.ScopeFFN)
		case scope == roofline.ScopeExperts && !moe:
			o.problem(e.value, "weight_scope.%s is experts, but no layer has experts; ffn is accepted", format)
		}
		scopes[format] = scope
	}
	return scopes
}

// readPublished holds the publisher's counts against ours: equal to one unit of the last
// published digit, since some round and some cut off, or within a stated tolerance that
// says why it is needed.
func readPublished(o *object, m *roofline.Model, whole bool) roofline.Published {
	var p roofline.Published
	var mtp roofline.Decimal
	if o.has("total_params") {
		p.TotalParams = o.decimal("total_params")
	}
	if o.has("total_exact") {
		p.TotalExact = o.whole("total_exact", 1)
	}
	before := len(*o.problems)
	p.TotalCounts = o.counts("total_counts", "total_params", m)
	if o.has("active_params") {
		p.ActiveParams = o.decimal("active_params")
	}
	p.ActiveCounts = o.counts("active_counts", "active_params", m)
	whole = whole && len(*o.problems) == before
	if o.has("mtp_params") {
		mtp = o.decimal("mtp_params")
	}
	tolerances := o.tolerances("within", "total_params", "active_params", "mtp_params")
	if !whole {
		return p
	}
	params := m.Params()
	o.compare("total_params", p.TotalParams, m.Counted(p.TotalCounts, false), tolerances)
	if o.has("active_params") && !hasExperts(m) {
		o.problem(o.at("active_params"), "%s is given, but no layer has experts: every parameter is active", o.key("active_params"))
	} else {
		o.compare("active_params", p.ActiveParams, m.Counted(p.ActiveCounts, true), tolerances)
	}
	if o.has("mtp_params") && m.Architecture.MTP == nil {
		o.problem(o.at("mtp_params"), "%s is given, but architecture.mtp is missing", o.key("mtp_params"))
	} else {
		o.compare("mtp_params", mtp, params.MTP, tolerances)
	}
	if p.TotalExact != 0 && p.TotalExact != params.Total {
		o.problem(o.at("total_exact"), "published %d parameters, but the architecture has %d; correct the one that is wrong", p.TotalExact, params.Total)
	}
	return p
}

// compare notes a published count, in billions, that differs from ours.
func (o *object) compare(k string, published roofline.Decimal, computed int64, tolerances map[string]float64) {
	v, ok := published.Float()
	if !ok {
		return
	}
	unit := 1.0
	if _, fraction, ok := strings.Cut(string(published), "."); ok {
		for range fraction {
			unit /= 10
		}
	}
	diff := float64(computed)/1e9 - v
	if diff < 0 {
		diff = -diff
	}
	percent, stated := tolerances[k]
	switch {
	case stated && diff < unit:
		o.problem(o.values["within"], "%s.%s is not needed: published %s billion parameters, and the architecture has %s",
			o.key("within"), k, published, roofline.Number(float64(computed)/1e9))
	case stated && diff > v*percent/100:
		o.problem(o.at(k), "published %s billion parameters, but the architecture has %s, which is not within %s %%; correct the one that is wrong",
			published, roofline.Number(float64(computed)/1e9), roofline.Number(percent))
	case !stated && diff >= unit:
		o.problem(o.at(k), "published %s billion parameters, but the architecture has %s; correct the one that is wrong",
			published, roofline.Number(float64(computed)/1e9))
	}
}

// counts reads what a published count holds besides the layers.
func (o *object) counts(k, of string, m *roofline.Model) []string {
	if !o.has(k) {
		return nil
	}
	accepted := []string{roofline.CountEmbedding, roofline.CountHead, roofline.CountMTP}
	list := o.texts(k)
	if n := o.values[k]; n.Kind == yaml.SequenceNode && len(list) == 0 {
		o.problem(n, "%s is empty; leave it out where %s counts what is usual", o.key(k), of)
	}
	if !o.has(of) {
		o.problem(o.at(k), "%s says what %s counts, but that is missing", o.key(k), of)
	}
	for i, c := range list {
		n := o.values[k].Content[i]
		switch {
		case c == "":
		case !slices.Contains(accepted, c):
			o.problem(n, "%s[%d] %q is not known%s; there are: %s", o.key(k), i, c, meant(c, accepted), strings.Join(accepted, ", "))
		case slices.Contains(list[:i], c):
			o.problem(n, "%s[%d] %q stands twice", o.key(k), i, c)
		case c == roofline.CountMTP && m.Architecture.MTP == nil:
			o.problem(n, "%s[%d] is mtp, but architecture.mtp is missing", o.key(k), i)
		}
	}
	return list
}

// tolerances reads, by count, by how many percent it may differ from ours, and asks why.
func (o *object) tolerances(k string, of ...string) map[string]float64 {
	if !o.has(k) {
		return nil
	}
	m := map[string]float64{}
	t := o.under(k, of...)
	for _, count := range of {
		if !t.has(count) {
			continue
		}
		one := t.under(count, "percent", "because")
		v, _ := one.decimal("percent").Float()
		one.text("because")
		if v > 10 {
			one.problem(one.at("percent"), "%s is %s; at most 10 is accepted", one.key("percent"), roofline.Number(v))
		}
		if !o.has(count) {
			t.problem(t.at(count), "%s is a tolerance of a count that is missing", t.key(count))
		}
		m[count] = v
	}
	return m
}

func hasExperts(m *roofline.Model) bool {
	return slices.ContainsFunc(m.Architecture.Layers, func(l roofline.Layer) bool { return l.FFN.Kind == roofline.MoE })
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
