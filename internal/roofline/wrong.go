package roofline

import (
	"math"
	"slices"
	"strconv"
)

// Groups of figures that one missing input takes away together.
var (
	timed = []string{"decode_step_ms", "decode_tok_s", "binding", "formula", "parts", "prefill_ms", "serving"}
	sized = []string{"read_bytes_per_step", "fits", "max_concurrency"}
	bytes = []string{"weight_bytes", "kv_bytes_per_token"}
)

// fault is one reason why figures cannot be computed.
type fault struct {
	reason  string
	figures []string // JSON names
	asked   bool     // the question itself is wrong, not merely something unknown
}

// reasons says, by JSON name, why a figure cannot be computed. The first reason stands.
func reasons(q Query) map[string]string {
	missing := map[string]string{}
	for _, f := range faults(q) {
		for _, name := range f.figures {
			if missing[name] == "" {
				missing[name] = f.reason
			}
		}
	}
	return missing
}

// Wrong lists what is wrong with the question itself, such as a type that nobody knows
// or a layout that the target cannot hold. Nothing is wrong with asking for a figure
// whose inputs nobody has published.
func (q Query) Wrong() []string {
	var wrong []string
	for _, f := range faults(q.Filled()) {
		if f.asked {
			wrong = append(wrong, f.reason)
		}
	}
	return wrong
}

// mostCount bounds each count of a question: products beyond it would leave the whole
// numbers that a float64 holds.
const mostCount = 100_000_000

// mostGamma bounds the tokens drafted for a step.
const mostGamma = 1000

func faults(q Query) []fault {
	all := append(append([]string{}, timed...), sized...)
	var list []fault
	wrong := func(reason string, figures ...string) { list = append(list, fault{reason, figures, true}) }
	unknown := func(reason string, figures ...string) { list = append(list, fault{reason, figures, false}) }
	sound := q.Model != nil
	if q.Model == nil {
		unknown("no model", append(append([]string{"read_params", "total_params"}, bytes...), all...)...)
	} else {
		for _, f := range architectureFaults(&q.Model.Architecture) {
			sound = false
			wrong(f, append(append([]string{"read_params", "total_params"}, bytes...), all...)...)
		}
	}
	if q.Target == nil {
		unknown("no target", append(append([]string{}, timed...), "fits", "max_concurrency")...)
	} else {
		for _, f := range q.Target.faults() {
			wrong(f, all...)
		}
	}
	f, weightKnown := formatOf(q.WeightDtype)
	switch {
	case weightKnown || q.Model == nil && q.WeightDtype == "":
	case q.WeightDtype == "":
		unknown("no weight format is known for "+q.Model.Name, append([]string{"weight_bytes"}, all...)...)
	default:
		wrong(unknownDtype("weight", q.WeightDtype, WeightDtypes()), append([]string{"weight_bytes"}, all...)...)
	}
	kv, kvKnown := kvFormatOf(q.KVDtype)
	if !kvKnown {
		wrong(unknownDtype("KV", q.KVDtype, KVDtypes()), append([]string{"kv_bytes_per_token"}, all...)...)
	}
	if q.Model != nil && kv.name == MLAFP8 && !q.Model.Architecture.latent() {
		wrong("KV dtype "+MLAFP8+" holds compressed latents (MLA) alone, and not every cache of "+q.Model.Name+" is one; fp8 would do",
			append([]string{"kv_bytes_per_token"}, all...)...)
	}
	list = append(list, countFaults(q, all)...)
	if q.Model == nil {
		return list
	}
	if limit := q.Model.Architecture.MaxContext; limit > 0 {
		if q.Context > limit {
			wrong("context "+itoa(q.Context)+": the model ends at "+itoa(limit)+" tokens", all...)
		}
		if q.ISL >= 0 && q.OSL >= 0 && q.ISL+q.OSL > limit {
			wrong("prompt and output of "+itoa(q.ISL+q.OSL)+" tokens: the model ends at "+itoa(limit), "prefill_ms", "serving", "max_concurrency")
		}
	}
	if q.Target == nil {
		return list
	}
	if sound {
		if r := layout(q); r != "" {
			wrong(r, all...)
		}
	}
	if _, ok := q.Target.BandwidthGBs.Float(); !ok {
		unknown("no memory bandwidth is known for "+q.Target.Name, timed...)
	}
	if weightKnown && kvKnown {
		needed := [][]string{f.peaks, kv.peaks}
		if !f.whole {
			needed = append(needed, []string{plainPeak(q.WeightDtype)})
		}
		for _, types := range needed {
			if name, _ := q.Target.peak(types); name == "" {
				unknown("no dense peak is known for "+types[0]+" on "+q.Target.Name, "prefill_ms", "serving")
			}
		}
	}
	if q.Target.linkMissing(q) {
		unknown("no link bandwidth is known for "+q.Target.Name, timed...)
	}
	if _, ok := q.Target.MemoryGB.Float(); !ok && q.Target.MemoryBytes == 0 {
		unknown("no memory size is known for "+q.Target.Name, "fits", "max_concurrency")
	}
	if q.Context <= 0 && q.ISL+q.OSL <= 0 {
		unknown("no length was given: --context, or --isl and --osl", "max_concurrency")
	}
	if q.ISL <= 0 {
		unknown("no prompt length was given: --isl", "prefill_ms", "serving")
	}
	if q.OSL <= 0 || q.Concurrency <= 0 {
		unknown("no load was given: --isl, --osl and --concurrency", "serving")
	}
	return list
}

// countFaults are those of the numbers asked for, whatever the model and the target.
func countFaults(q Query, all []string) []fault {
	var list []fault
	wrong := func(reason string, figures ...string) { list = append(list, fault{reason, figures, true}) }
	drafted := int64(mostGamma) // and those of a step lie in the cache beside the token before them
	if q.Model != nil && q.Model.Architecture.MaxContext > 0 {
		drafted = max(0, min(drafted, q.Model.Architecture.MaxContext-1))
	}
	for _, c := range []struct {
		name        string
		n           int64
		least, most int64
		of          string
	}{
		{"batch", q.Batch, 1, mostCount, "sequences that decode together"}, {"context", q.Context, 0, mostCount, "cached tokens"},
		{"isl", q.ISL, 0, mostCount, "prompt tokens"}, {"osl", q.OSL, 0, mostCount, "output tokens"},
		{"chunk", q.Chunk, 0, mostCount, "prompt tokens a pass, where 0 is all"}, {"concurrency", q.Concurrency, 0, mostCount, "requests in flight"},
		{"gamma", q.Gamma, 0, drafted, "drafted tokens a step"}, {"ep", q.EP, 0, mostCount, "devices with experts of their own, where 0 splits each expert"},
	} {
		if c.n < c.least || c.n > c.most {
			wrong(c.name+" "+itoa(c.n)+": want "+itoa(c.least)+" to "+itoa(c.most)+" "+c.of, all...)
		}
	}
	if q.Cached != 0 && (q.Cached < 0 || q.Cached >= q.ISL) {
		figures := []string{"prefill_ms", "serving"}
		if q.Cached < 0 || q.Cached > mostCount {
			figures = all
		}
		wrong("cached "+itoa(q.Cached)+" of a prompt of "+itoa(q.ISL)+": at least one token is computed", figures...)
	}
	if !(q.Acceptance >= 0 && q.Acceptance <= 1) {
		wrong("acceptance "+number(q.Acceptance)+": the chance of a drafted token is 0 to 1", timed...)
	}
	if q.Accepted != 0 && !(q.Accepted >= 1 && q.Accepted <= float64(q.Gamma)+1) {
		wrong("accepted "+number(q.Accepted)+" tokens a step: with gamma "+itoa(q.Gamma)+" a step yields 1 to "+itoa(max(q.Gamma, 0)+1), timed...)
	}
	switch {
	case q.Gamma <= 0 && (q.Acceptance > 0 || q.MTPDrafts):
		wrong("gamma "+itoa(q.Gamma)+": acceptance and drafting need at least 1 drafted token a step", timed...)
	case q.Gamma > 0 && q.Acceptance == 0 && q.Accepted == 0:
		list = append(list, fault{"acceptance: how many of " + plural(q.Gamma, "drafted token") + " a step keeps is unknown",
			[]string{"decode_step_ms", "decode_tok_s", "binding", "formula", "parts", "serving"}, false})
	}
	if q.StateDtype != "" && stateBytes[q.StateDtype] == 0 {
		wrong("state dtype "+strconv.Quote(q.StateDtype)+" is not known; there are: fp32, bf16, fp16", append([]string{"fits"}, all...)...)
	}
	if q.MTPDrafts && q.Model != nil && q.Model.Architecture.MTP == nil {
		wrong("MTP drafts: "+q.Model.Name+" has no MTP module", timed...)
	}
	return list
}

// number writes what was asked for as it was, even if it is no number.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// faults lists what no device can have. The readers of files say it with its place; this
// keeps a device of one's own from being asked about nonsense.
func (t *Target) faults() []string {
	const greatest = 1e12
	var list []string
	check := func(name string, d Decimal) {
		if v, ok := d.Float(); d != "" && (!ok || !(v > 0 && v <= greatest)) {
			list = append(list, "target: "+name+" "+string(d)+": want a number above 0, at most "+number(greatest))
		}
	}
	if t.Count < 1 || t.Count > mostCount {
		list = append(list, "target: count "+itoa(t.Count)+": want 1 to "+itoa(mostCount)+" devices")
	}
	if t.MemoryBytes < 0 {
		list = append(list, "target: memory_bytes "+itoa(t.MemoryBytes)+": want a number above 0, or 0 where unknown")
	}
	check("memory_gb", t.MemoryGB)
	check("bandwidth_gb_s", t.BandwidthGBs)
	check("link_gb_s", t.LinkGBs)
	check("link_peer_gb_s", t.LinkPeerGBs)
	types := make([]string, 0, len(t.PeakTFLOPs))
	for name := range t.PeakTFLOPs {
		types = append(types, name)
	}
	slices.Sort(types)
	for _, name := range types {
		check("peak_tflops."+name, t.PeakTFLOPs[name])
	}
	return list
}

// linkMissing says whether devices must add up over links whose speed nobody states.
func (t *Target) linkMissing(q Query) bool {
	_, ok := t.LinkGBs.Float()
	return !ok && q.TP*q.DP > 1
}

// latent says whether every cache is of a compressed latent, and there is one.
func (a *Architecture) latent() bool {
	latent := false
	for i := range a.Layers {
		switch a.Layers[i].Attention.Kind {
		case MLA:
			latent = true
		case GQA:
			return false
		}
	}
	return latent
}

// experts is the number of routed experts of a layer that has some, 0 where none has.
func (a *Architecture) experts() int64 {
	for i := range a.Layers {
		if n := a.Layers[i].FFN.Experts; n > 0 {
			return n
		}
	}
	return 0
}

// layout says why the matrices cannot be shared so, "" when they can.
func layout(q Query) string {
	a := &q.Model.Architecture
	for _, c := range []struct {
		name, what string
		n          int64
	}{{"tp", "device computes", q.TP}, {"pp", "stage computes", q.PP}, {"dp", "copy computes", q.DP}, {"dcp", "device holds each cache", q.DCP}} {
		if c.n < 1 {
			return c.name + " " + itoa(c.n) + ": at least 1 " + c.what
		}
	}
	count := q.Target.Count
	switch {
	case q.TP > count && q.PP == 1 && q.DP == 1:
		return "tp " + itoa(q.TP) + ": the target has " + plural(count, "device")
	case q.TP > count || q.PP > count || q.DP > count || q.TP*q.PP*q.DP > count:
		return sharing(q) + ": the target has " + plural(count, "device")
	case q.PP > a.count():
		return "pp " + itoa(q.PP) + ": the model has " + plural(a.count(), "layer")
	}
	for i := range a.Layers {
		if n := a.Layers[i].Attention.partsOver(); n%q.TP != 0 {
			return "tp " + itoa(q.TP) + ": " + itoa(n) + " heads do not part so; tp of " + parts(&q) + " would"
		}
	}
	experts := a.experts()
	switch {
	case q.TP%q.DCP != 0:
		return "dcp " + itoa(q.DCP) + ": a cache is dealt out over devices of one tp group of " + itoa(q.TP) + ", which dcp must divide"
	case q.EP > 1 && experts == 0:
		return "ep " + itoa(q.EP) + ": " + q.Model.Name + " has no experts to spread; leave ep out"
	case q.EP > 0 && q.TP*q.DP%q.EP != 0:
		return "ep " + itoa(q.EP) + ": tp × dp are " + plural(q.TP*q.DP, "device") + ", over which ep must divide"
	case q.EP > 0 && experts%q.EP != 0:
		return "ep " + itoa(q.EP) + ": " + itoa(experts) + " experts do not part so"
	case q.DP > 1 && experts == 0:
		return "dp " + itoa(q.DP) + ": copies of a model without experts share nothing; ask for one of them, with dp 1"
	}
	return ""
}

// sharing names a layout of several dimensions.
func sharing(q Query) string {
	s := "tp " + itoa(q.TP)
	if q.PP > 1 {
		s += " × pp " + itoa(q.PP)
	}
	if q.DP > 1 {
		s += " × dp " + itoa(q.DP)
	}
	return s
}

// parts lists the layouts of so many devices as the target has, or of fewer, into which
// every layer's heads part.
func parts(q *Query) string {
	s := ""
	for tp := int64(1); tp <= q.Target.Count && tp <= 1024; tp++ {
		even := true
		for i := range q.Model.Architecture.Layers {
			even = even && q.Model.Architecture.Layers[i].Attention.partsOver()%tp == 0
		}
		if !even {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += itoa(tp)
	}
	return s
}

// architectureFaults lists what no model can have: counts below one or beyond reach, and
// experts that are fewer than a token passes. The readers of files say it with its place;
// this keeps arithmetic from being asked about nonsense.
func architectureFaults(a *Architecture) []string {
	var list []string
	check := func(name string, n, least int64) {
		if n < least || n > mostCount {
			list = append(list, "architecture: "+name+" "+itoa(n)+": want "+itoa(least)+" to "+itoa(mostCount))
		}
	}
	check("hidden", a.Hidden, 1)
	check("vocabulary", a.Vocabulary, 1)
	check("kinds of layers", int64(len(a.Layers)), 1)
	if len(a.Layers) > mostKinds {
		return append(list, "architecture: "+itoa(int64(len(a.Layers)))+" kinds of layers: want at most "+itoa(mostKinds))
	}
	layers := a.Layers
	if a.MTP != nil {
		check("MTP modules", a.MTP.Modules, 1)
		layers = append(append([]Layer{}, layers...), a.MTP.Layer)
	}
	for i := range layers {
		l := &layers[i]
		check("layers", l.Count, 1)
		check("norms", l.Norms, 0)
		list = append(list, attentionFaults(&l.Attention)...)
		list = append(list, ffnFaults(&l.FFN)...)
	}
	if len(list) == 0 {
		if total := magnitude(a); !(total < 1e16) {
			list = append(list, "architecture: about "+Number(total)+" parameters: want fewer than 10¹⁶")
		}
	}
	return list
}

func attentionFaults(a *Attention) []string {
	var list []string
	check := func(name string, n, least int64) {
		if n < least || n > mostCount {
			list = append(list, "architecture: "+a.Kind+" "+name+" "+itoa(n)+": want "+itoa(least)+" to "+itoa(mostCount))
		}
	}
	check("window", a.Window, 0)
	check("chunk", a.Chunk, 0)
	check("selected", a.Selected, 0)
	check("value_dim", a.ValueDim, 0)
	if x := a.Indexer; x != nil {
		check("indexer heads", x.Heads, 1)
		check("indexer head_dim", x.HeadDim, 1)
	}
	switch a.Kind {
	case GQA:
		check("heads", a.Heads, 1)
		check("kv_heads", a.KVHeads, 1)
		check("head_dim", a.HeadDim, 1)
	case MLA:
		check("heads", a.Heads, 1)
		check("q_rank", a.QRank, 0)
		check("kv_rank", a.KVRank, 1)
		check("nope_dim", a.NopeDim, 0)
		check("rope_dim", a.RopeDim, 0)
		check("value_dim", a.ValueDim, 1)
	case Linear, Mamba, Conv:
		s := a.State
		if s == nil {
			return append(list, "architecture: "+a.Kind+" has no state: its heads and dimensions are needed")
		}
		check("key_heads", s.KeyHeads, 0)
		check("key_dim", s.KeyDim, 0)
		check("value_heads", s.ValueHeads, 1)
		check("value_dim", s.ValueDim, 1)
		check("conv", s.Conv, 0)
		check("state_bytes", s.Bytes, 0)
		check("conv_bytes", s.ConvBytes, 0)
	case None:
	default:
		list = append(list, "architecture: attention "+strconv.Quote(a.Kind)+" is not known; there are: gqa, mla, linear, mamba, conv, none")
	}
	return list
}

func ffnFaults(f *FFN) []string {
	var list []string
	check := func(name string, n, least, most int64) {
		if n < least || n > most {
			list = append(list, "architecture: "+f.Kind+" "+name+" "+itoa(n)+": want "+itoa(least)+" to "+itoa(most))
		}
	}
	switch f.Kind {
	case Dense:
		check("width", f.Width, 1, mostCount)
	case MoE:
		check("width", f.Width, 1, mostCount)
		check("experts", f.Experts, 1, mostCount)
		check("top_k", f.TopK, 1, max(f.Experts, 1))
		check("shared_width", f.SharedWidth, 0, mostCount)
	case None:
	default:
		list = append(list, "architecture: network "+strconv.Quote(f.Kind)+" is not known; there are: dense, moe, none")
	}
	return list
}

// magnitude is about how many parameters an architecture has, in numbers that do not
// overflow.
func magnitude(a *Architecture) float64 {
	h := float64(a.Hidden)
	n := float64(float64(2*h) * float64(a.Vocabulary))
	for i := range a.Layers {
		l := &a.Layers[i]
		t, f := &l.Attention, &l.FFN
		wide := float64(float64(t.Heads+2*t.KVHeads) * float64(t.HeadDim+t.ValueDim+t.NopeDim+t.RopeDim))
		if s := t.State; s != nil {
			wide += float64(float64(s.KeyHeads)*float64(s.KeyDim)) + float64(float64(s.ValueHeads)*float64(s.ValueDim))
			wide += float64(float64(s.ValueHeads) * float64(s.KeyDim) * float64(s.ValueDim))
		}
		if x := t.Indexer; x != nil {
			wide += float64(float64(x.Heads) * float64(x.HeadDim))
		}
		wide += float64(float64(f.Width)*math.Max(1, float64(f.Experts))) + float64(f.SharedWidth)
		n += float64(float64(l.Count) * float64(4*float64(h+float64(t.QRank+t.KVRank))) * wide)
	}
	return n
}

func unknownDtype(what, found string, accepted []string) string {
	if found == "q4_k_m" {
		return what + " dtype q4_k_m is a mix whose size only the file's tensors tell"
	}
	s := what + " dtype " + strconv.Quote(found) + " is not known; there are: "
	for i, a := range accepted {
		if i > 0 {
			s += ", "
		}
		s += a
	}
	return s
}
