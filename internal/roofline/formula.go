package roofline

import (
	"math"
	"strconv"
)

// Formula writes the decode roof of a packed query with its numbers filled in, the way
// a person would on paper: the roof that binds, and what follows for the reader.
func Formula(in []float64) string {
	out := CeilingPacked(in)
	if out[OutBinding] == BindingNone || math.IsNaN(out[OutDecodeTokPerSecHard]) {
		return ""
	}
	b, stage := in[SlotBatch], float64(in[SlotTP]*in[SlotDP])
	rate := " = " + Number(out[OutDecodeTokPerSecHard]) + " tok/s"
	if alone := stepOf(in, 1, in[SlotContext], false); in[SlotPP] > 1 && alonePasses(in, out, &alone, stage) {
		one := append([]float64{}, in...)
		one[SlotBatch], one[SlotPP] = 1, 1
		return "a token passes " + Number(in[SlotPP]) + " stages in turn, alone " + Formula(one) +
			"; " + Number(b) + " sequences at most as often" + rate
	}
	devices := float64(stage * in[SlotPP])
	drafts := float64(draftTime(in, b, devices) * 1e3)
	if out[OutBinding] == BindingMemory && drafts == 0 {
		return sequences(b) + yields(in) + timesOf(devices) + given(in[SlotBandwidth]/1e9) + " GB/s ÷ " + bytesRead(in, out) + rate
	}
	step := ""
	switch out[OutBinding] {
	case BindingMemory:
		step = bytesRead(in, out) + " ÷ " + timesOf(devices) + given(in[SlotBandwidth]/1e9) + " GB/s"
	case BindingCompute:
		step = flopsOf(in, out) + " at " + timesOf(devices) + peaks(in)
	case BindingCommunication:
		step = communicationFormula(in, float64(b*(in[SlotGamma]+1)))
	}
	step += " = " + Number(out[OutDecodeStepHardMS]-drafts) + " ms"
	if drafts > 0 {
		step += ", and " + plural(int64(in[SlotGamma]), "draft") + " of " + gigabytes(in[SlotDraftBytes]) + ", " + Number(drafts) + " ms: "
	} else {
		step += " "
	}
	per := Number(out[OutDecodeStepHardMS]) + " ms"
	if drafts > 0 {
		step += per + " a step; "
	} else {
		step += "a step; "
	}
	return step + Number(b) + multiplied(in) + " ÷ " + per + rate
}

// yields writes the tokens that a step yields a sequence as a factor, "" without
// speculation.
func yields(in []float64) string {
	if in[SlotGamma] == 0 {
		return ""
	}
	return Number(tokensPerStep(in)) + " tokens a step × "
}

func multiplied(in []float64) string {
	if in[SlotGamma] == 0 {
		return ""
	}
	return " × " + Number(tokensPerStep(in)) + " tokens"
}

// bytesRead writes what a step reads, part by part.
func bytesRead(in, out []float64) string {
	parts := []string{gigabytes(out[OutWeightBytesRead]) + " weights"}
	if in[SlotDP] > 1 {
		parts[0] = Number(in[SlotDP]) + " × " + gigabytes(out[OutWeightBytesRead]/in[SlotDP]) + " weights"
	}
	if out[OutExpertBytesRead] > 0 {
		parts = append(parts, gigabytes(out[OutExpertBytesRead])+" experts, "+routing(in))
	}
	own := func(bytes float64, what string) {
		switch {
		case !(bytes > 0):
		case in[SlotBatch] < in[SlotDP]: // some copy has a whole sequence
			parts = append(parts, Number(in[SlotDP])+" × "+gigabytes(bytes/in[SlotBatch])+" "+what)
		default:
			parts = append(parts, gigabytes(bytes)+" "+what)
		}
	}
	own(out[OutKVBytesRead], "KV")
	own(out[OutStateBytesRead], "state")
	s := parts[0]
	for _, p := range parts[1:] {
		s += " + " + p
	}
	if len(parts) > 1 || in[SlotDP] > 1 {
		s = "(" + s + ")"
	}
	return s
}

// routing says how many experts of each layer are read.
func routing(in []float64) string {
	for i := range int(in[SlotKinds]) {
		if k := kind(in, i); k[KindExperts] > 0 {
			return Number(k[KindTopK]) + " of " + Number(k[KindExperts]) + " a layer"
		}
	}
	return ""
}

// flopsOf writes a step's arithmetic.
func flopsOf(in, out []float64) string {
	s := "2 × " + Number(in[SlotBatch])
	if in[SlotGamma] > 0 {
		s += " × " + Number(in[SlotGamma]+1) + " tokens"
	}
	s += " × " + billions(in[SlotReadParams]) + " parameters"
	extra := ""
	if out[OutAttentionFLOPs] > 0 {
		extra += " + " + tera(out[OutAttentionFLOPs]) + "FLOP attention"
	}
	if out[OutStateFLOPs] > 0 {
		extra += " + " + tera(out[OutStateFLOPs]) + "FLOP state"
	}
	if extra == "" {
		return s
	}
	return "(" + s + extra + ")"
}

// alonePasses says whether a token's way through the stages of a pipeline binds, rather
// than the work of all sequences on all devices.
func alonePasses(in, out []float64, alone *step, stage float64) bool {
	hard := out[OutDecodeStepHardMS]
	if d := draftTime(in, in[SlotBatch], float64(stage*in[SlotPP])); d > 0 {
		hard = max(out[OutMemoryMS], known0(0, out[OutComputeMS]), out[OutCommunicationMS])
	}
	return hard == alone.memory(in, stage)*1e3 || hard == alone.compute(in, stage)*1e3 || hard == alone.links*1e3
}

// PrefillFormula writes the prefill roof of a packed query with its numbers filled in.
func PrefillFormula(in []float64) string {
	out := CeilingPacked(in)
	fresh := in[SlotISL] - in[SlotCached]
	result := " = " + Number(out[OutPrefillHardMS]) + " ms"
	switch out[OutPrefillBinding] {
	case BindingMemory:
		return promptRead(in, fresh) + " ÷ " + timesOf(in[SlotTP]) + given(in[SlotBandwidth]/1e9) + " GB/s" + result
	case BindingCompute:
		w := prompt(in, fresh, fresh, false)
		devices := float64(float64(in[SlotTP]*in[SlotPP]) * in[SlotDP])
		if alone := w; in[SlotDP] > 1 {
			alone.expertFLOPs = 0
			if own := float64(in[SlotTP] * in[SlotPP]); alone.compute(in, own) > w.compute(in, devices) {
				w, devices = alone, own
				result = " without the experts, which all copies compute" + result
			}
		}
		s := "(" + tera(w.matrix+w.plain+w.expertFLOPs) + "FLOP layers + " + tera(w.head) + "FLOP head"
		if n := w.attention + w.index; n > 0 {
			s += " + " + tera(n) + "FLOP attention"
		}
		if w.updates > 0 {
			s += " + " + tera(w.updates) + "FLOP state"
		}
		return s + ") ÷ " + timesOf(devices) + peaks(in) + result
	case BindingCommunication:
		return communicationFormula(in, fresh) + result
	}
	return ""
}

// promptRead writes what one copy reads for a prompt, part by part.
func promptRead(in []float64, fresh float64) string {
	w := prompt(in, fresh, fresh, false)
	dp := in[SlotDP]
	s, terms := gigabytes(w.weights/dp)+" weights", 1
	experts := ""
	if w.experts > 0 {
		experts = " + " + gigabytes(w.experts/dp) + " experts, " + routing(in)
	}
	if c := in[SlotChunk]; c > 0 && c < fresh {
		layers := gigabytes(w.weights/dp-in[SlotHeadBytes]) + " layers" + experts
		if experts != "" {
			layers = "(" + layers + ")"
		}
		s, terms = Number(math.Ceil(fresh/c))+" passes × "+layers+" + "+gigabytes(in[SlotHeadBytes])+" head", 2
	} else if experts != "" {
		s, terms = s+experts, 2
	}
	if w.kv > 0 {
		s, terms = s+" + "+gigabytes(w.kv/dp)+" KV of the cached prefix", 2
	}
	if terms > 1 {
		s = "(" + s + ")"
	}
	return s
}

// LinkFormula writes what the links alone ask of a pass over so many tokens, whether or
// not they bind; "" where nothing is shared between devices.
func LinkFormula(in []float64, tokens float64) string {
	if !Packed(in) || !(in[SlotTP]*in[SlotDP] > 1) || math.IsNaN(in[SlotLink]) {
		return ""
	}
	var w step
	w.pass(in, tokens, tokens, false)
	return communicationFormula(in, tokens) + " = " + Number(w.links/in[SlotPP]*1e3) + " ms"
}

// communicationFormula writes the bound of the links over so many tokens of the group.
func communicationFormula(in []float64, tokens float64) string {
	t, dp := in[SlotTP], in[SlotDP]
	layers, sums, shared := 0.0, 0.0, 0.0 // layers of a copy; all-reduces among a copy's devices; layers whose experts are shared by all copies
	var moe *packedKind
	for i := range int(in[SlotKinds]) {
		k := kind(in, i)
		layers += k[KindLayers]
		sums += float64(k[KindLayers] * k[KindReduces])
		if dp > 1 && k[KindExperts] > 0 {
			sums -= k[KindLayers]
			shared += k[KindLayers]
			moe = k
		}
	}
	s := ""
	if t > 1 && sums > 0 {
		s = Number(sums/in[SlotPP]) + " all-reduces × "
		if sums == 2*layers {
			s = "2 × " + Number(layers/in[SlotPP]) + " layers × " // of a stage, if they are spread evenly
		}
		s += reduceFormula(in, t, tokens/dp)
	}
	if shared == 0 {
		return s
	}
	if s != "" {
		s += " + "
	}
	s += Number(shared/in[SlotPP]) + " layers × "
	if in[SlotEP] == 0 {
		return s + reduceFormula(in, float64(t*dp), tokens)
	}
	each := tokens / float64(t*dp)
	if allToAll(in, moe, each, false) == 0 {
		return s + "0 (experts at best on a token's own device)"
	}
	others := math.Ceil(moe[KindTopK]/(moe[KindExperts]/in[SlotEP])) - 1
	message := float64(float64(each*in[SlotHidden]) * (dispatchBytes + activationBytes))
	return s + Number(others) + " other devices × " + gigabytes(message) + " ÷ " + given(linkOf(in, in[SlotEP])/1e9) + " GB/s (there and back)"
}

// reduceFormula writes one all-reduce over t devices.
func reduceFormula(in []float64, t, tokens float64) string {
	share, how := "2 × "+Number(t-1)+"/"+Number(t)+" × ", " (ring all-reduce)"
	if in[SlotLinkReduces] == 1 {
		share, how = "", " (all-reduce in the switch)"
	}
	message := float64(float64(tokens*in[SlotHidden]) * activationBytes)
	return share + gigabytes(message) + " ÷ " + given(linkOf(in, t)/1e9) + " GB/s" + how
}

// peaks writes a device's peak, or both where layers and others or attention differ.
func peaks(in []float64) string {
	s := given(in[SlotPeakLayers]/1e12) + " TFLOP/s"
	if in[SlotPeakPlain] != in[SlotPeakLayers] {
		what := "head"
		for i := range int(in[SlotKinds]) {
			if kind(in, i)[KindPlainParams] > 0 {
				what = "head and 16-bit parts"
			}
		}
		s += " (" + what + " at " + given(in[SlotPeakPlain]/1e12) + ")"
	}
	if in[SlotPeakAttention] != in[SlotPeakLayers] {
		s += " (attention at " + given(in[SlotPeakAttention]/1e12) + ")"
	}
	return s
}

func timesOf(devices float64) string {
	if devices == 1 {
		return ""
	}
	return Number(devices) + "× "
}

func sequences(b float64) string {
	if b == 1 {
		return ""
	}
	return Number(b) + " sequences × "
}

// gigabytes writes bytes as GB (10⁹), or as MB below a tenth of one.
func gigabytes(b float64) string {
	if b < 1e8 {
		return Number(b/1e6) + " MB"
	}
	return Number(b/1e9) + " GB"
}

func billions(n float64) string { return Number(n/1e9) + " B" }

// tera writes a count of operations with the prefix of its unit.
func tera(f float64) string {
	if f < 1e12 {
		return Number(f/1e9) + " G"
	}
	return Number(f/1e12) + " T"
}

// Number writes a figure with four significant digits, all whole digits, and commas
// from 1,000 on. Trailing zeros of a fraction are dropped.
func Number(v float64) string { return significant(v, 4) }

// given writes a figure that a source states, such as 1307.4 TFLOP/s, without loss.
func given(v float64) string { return significant(v, 6) }

func significant(v float64, digits int) string {
	if math.IsNaN(v) {
		return "—"
	}
	if v < 0 {
		return "−" + significant(-v, digits)
	}
	decimals := digits - 1
	for limit := 10.0; decimals > 0 && v >= limit; limit *= 10 {
		decimals--
	}
	for limit := 1.0; v > 0 && v < limit && decimals < 12; limit /= 10 {
		decimals++
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	whole, fraction := s, ""
	for i := 0; i < len(s); i++ {
		if s[i] == '.' {
			whole, fraction = s[:i], s[i+1:]
			break
		}
	}
	for len(fraction) > 0 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	grouped := ""
	for i := 0; i < len(whole); i++ {
		if i > 0 && (len(whole)-i)%3 == 0 {
			grouped += ","
		}
		grouped += whole[i : i+1]
	}
	if fraction != "" {
		grouped += "." + fraction
	}
	return grouped
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// conventions states in words what the figures count.
func conventions(q Query) []string {
	a := &q.Model.Architecture
	head := "the head; the embedding table is a lookup"
	if a.TiedHead {
		head = "the head, which is the embedding table: stored once, read once"
	}
	layers := "all layers"
	if n := a.experts(); n > 0 {
		layers = "all layers, each with the experts of one token"
	}
	c := []string{"read parameters: " + layers + ", the final norm and " + head}
	if a.experts() > 0 {
		c = append(c, "experts: hard where all tokens of a step choose the same; expected where each chooses evenly for itself, E(1−(1−k/E)^T)")
	}
	switch f, ok := formatOf(q.WeightDtype); {
	case q.Stored != nil:
		c = append(c, "weights: bytes of the tensors in "+q.Stored.From+", computed as "+q.WeightDtype)
	case ok:
		c = append(c, q.WeightDtype+" weights: "+f.says+scopeSays(q.Model.WeightScope[q.WeightDtype]))
	}
	c = append(c, cacheSays(a, q.KVDtype, q.StateDtype)...)
	if q.Gamma > 0 {
		how := "drafting itself is not charged"
		if q.MTPDrafts {
			how = "the MTP module and the head are read for each"
		}
		c = append(c, "speculation: a step checks "+plural(q.Gamma, "drafted token")+" and one more of each sequence; "+how)
	}
	if q.Target == nil {
		return c
	}
	if q.Target.MemoryBytes > 0 {
		c = append(c, "what fits: "+Number(float64(q.Target.MemoryBytes))+" bytes a device, as it reports itself")
	} else if q.Target.MemoryGB != "" {
		c = append(c, "what fits: the maker's label of "+string(q.Target.MemoryGB)+" GB a device, taken as 10⁹ bytes each")
	}
	if f, ok := formatOf(q.WeightDtype); ok {
		if name, _ := q.Target.peak(f.peaks); name == "" {
			c = append(c, "arithmetic bounds nothing here: no dense "+f.peaks[0]+" peak of "+q.Target.Name+" is published; the roof is memory's alone")
		}
	}
	if fit := q.inCache(); fit != "" {
		c = append(c, fit)
	}
	if q.DCP > 1 {
		c = append(c, "context parallel: the tokens of each cache are dealt out over "+itoa(q.DCP)+" devices of those that share its heads")
	}
	if q.Cached > 0 {
		c = append(c, "cached prefix: the hard serving line reads one prefix for all requests, as if they shared it; the expected line and what fits count each one's own")
	}
	if q.PP > 1 {
		c = append(c, "pipeline: a step takes at least what one sequence alone takes through all stages in turn, and what all sequences take with every device busy; expected: sequences in "+itoa(q.PP)+" groups, each passing all stages")
	}
	if q.TP > 1 {
		c = append(c, "communication: two all-reduces a layer in 16 bits, "+reduced(&q))
	}
	if q.DP > 1 {
		how := "each expert is split over all of them"
		if q.EP > 0 {
			how = "tokens travel to their experts in 8 bits and back in 16; hard: a token's experts lie together, as far as they can, and with the token"
		}
		c = append(c, "data parallel: "+itoa(q.DP)+" copies of all but the experts, which "+itoa(q.TP*q.DP)+" devices share; "+how)
	}
	return c
}

// inCache says that the weights may stay in the devices' last level of cache, beside which
// the memory's bandwidth need not bound; "" where they cannot.
func (q *Query) inCache() string {
	cache := q.Target.CacheBytes * q.TP * q.PP * q.DP
	in := Pack(*q)
	w := CeilingPacked(in)[OutWeightBytesRead] + in[SlotResidentExperts]
	if cache == 0 || !(w <= float64(cache)) {
		return ""
	}
	return "the " + gigabytes(w) + " of weights that a step reads could stay in " + gigabytes(float64(cache)) +
		" of last-level cache, which is faster than the memory: a step may then take less than memory's roof"
}

func scopeSays(scope string) string {
	switch scope {
	case ScopeExperts:
		return "; of this model the routed experts alone"
	case ScopeFFN:
		return "; of this model the feed-forward networks alone"
	}
	return ""
}

// cacheSays states what a step reads of the cache where that is not simply all of it.
func cacheSays(a *Architecture, kv, state string) []string {
	var windows, chunks, latents, selected, states bool
	for i := range a.Layers {
		l := &a.Layers[i].Attention
		windows = windows || l.Window > 0
		chunks = chunks || l.Chunk > 0
		latents = latents || l.Kind == MLA
		selected = selected || l.Selected > 0
		states = states || l.State != nil
	}
	var c []string
	if windows {
		c = append(c, "sliding layers read and keep no more than their window")
	}
	if chunks {
		c = append(c, "chunked layers read from the start of the current chunk")
	}
	if latents {
		c = append(c, "MLA caches one latent a token, key and value at once, on every device that shares the heads; decoding works on it directly, a prompt's is unfolded")
	}
	if selected {
		s := "sparse attention reads the tokens selected, and the indexer all of its own keys (8 bits and a 4-byte scale each)"
		if kv != "bf16" && kv != "fp16" {
			s += "; latents in 8 bits carry a 4-byte scale on each 128 and 16-bit positions"
		}
		c = append(c, s)
	}
	if states {
		s := "a state is read and written in each step"
		if state != "" {
			s += ", its matrices in " + state
		}
		c = append(c, s)
	}
	return c
}

// reduced says what bounds an all-reduce. Without the switch's help every partial sum
// but one crosses a link, and every sum returns over as many: 2(t−1) messages over t
// devices, which the ring reaches and nothing beats.
func reduced(q *Query) string {
	switch {
	case !q.Target.LinkReduces:
		return "ring bound"
	case q.NoMulticast:
		return "ring bound: multicast is off, so the switch that could add up does not"
	}
	return "added up in the switch"
}

// sources lists where the figures that an answer rests on stand.
func sources(q Query) []string {
	var s []string
	add := func(of, what string, from map[string]string, key string) {
		if from[key] != "" {
			s = append(s, of+" "+what+": "+from[key])
		}
	}
	if q.Model != nil {
		add(q.Model.Name, "architecture", q.Model.Sources, "architecture")
	}
	if t := q.Target; t != nil {
		add(t.Name, "bandwidth", t.Sources, "bandwidth_gb_s")
		add(t.Name, "peaks", t.Sources, "peak_tflops")
		if q.TP*q.DP > 1 {
			add(t.Name, "link", t.Sources, "link_gb_s")
		}
		if t.MemoryBytes > 0 {
			add(t.Name, "memory", t.Sources, "memory_bytes")
		} else {
			add(t.Name, "memory", t.Sources, "memory_gb")
		}
	}
	return s
}
