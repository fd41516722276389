package roofline

import (
	"math"
	"strconv"
)

// Formula writes the decode roof of a packed query with its numbers filled in, the way
// a person would on paper: the roof that binds, and what follows for the reader.
func Formula(in []float64) string {
	out := CeilingPacked(in)
	b, devices := in[SlotBatch], in[SlotTP]*in[SlotPP]
	if alone := stepOf(in, 1, in[SlotTP]); in[SlotPP] > 1 && passes(out, alone) {
		one := make([]float64, len(in))
		copy(one, in)
		one[SlotBatch], one[SlotPP] = 1, 1
		return "a token passes " + Number(in[SlotPP]) + " stages in turn, alone " + Formula(one) +
			"; " + Number(b) + " sequences at most as often = " + Number(out[OutDecodeTokPerSecHard]) + " tok/s"
	}
	switch out[OutBinding] {
	case BindingMemory:
		bytes := gigabytes(out[OutWeightBytesRead]) + " weights"
		if out[OutKVBytesRead] > 0 {
			bytes = "(" + bytes + " + " + gigabytes(out[OutKVBytesRead]) + " KV)"
		}
		return sequences(b) + timesOf(devices) + given(in[SlotBandwidth]/1e9) + " GB/s ÷ " + bytes +
			" = " + Number(out[OutDecodeTokPerSecHard]) + " tok/s"
	case BindingCompute:
		s := "2 × " + Number(b) + " × " + billions(in[SlotReadParams]) + " parameters"
		if in[SlotContext] > 0 {
			s = "(" + s + " + " + tera(float64(float64(b*in[SlotContext])*in[SlotAttentionFLOPs])) + "FLOP attention)"
		}
		return s + " at " + timesOf(devices) + peaks(in) + " = " + Number(out[OutDecodeStepHardMS]) + " ms a step; " +
			Number(b) + " ÷ " + Number(out[OutDecodeStepHardMS]) + " ms = " + Number(out[OutDecodeTokPerSecHard]) + " tok/s"
	case BindingCommunication:
		return communicationFormula(in, b) + " = " + Number(out[OutDecodeStepHardMS]) + " ms a step; " +
			Number(b) + " ÷ " + Number(out[OutDecodeStepHardMS]) + " ms = " + Number(out[OutDecodeTokPerSecHard]) + " tok/s"
	}
	return ""
}

// PrefillFormula writes the prefill roof of a packed query with its numbers filled in.
func PrefillFormula(in []float64) string {
	out := CeilingPacked(in)
	fresh := in[SlotISL] - in[SlotCached]
	result := " = " + Number(out[OutPrefillHardMS]) + " ms"
	switch out[OutPrefillBinding] {
	case BindingMemory:
		return gigabytes(in[SlotWeightRead]) + " weights ÷ " + timesOf(in[SlotTP]) + given(in[SlotBandwidth]/1e9) + " GB/s" + result
	case BindingCompute:
		pairs := float64(fresh*in[SlotCached]) + float64(fresh*(fresh+1))/2
		return "(" + tera(float64(2*in[SlotLayerParams]*fresh)) + "FLOP layers + " +
			tera(float64(2*in[SlotHeadParams])) + "FLOP head + " +
			tera(float64(in[SlotAttentionFLOPs]*pairs)) + "FLOP attention) ÷ " +
			timesOf(in[SlotTP]*in[SlotPP]) + peaks(in) + result
	case BindingCommunication:
		return communicationFormula(in, fresh) + result
	}
	return ""
}

// LinkFormula writes what the links alone ask of a pass over so many tokens, whether or
// not they bind; "" where nothing is shared between devices.
func LinkFormula(in []float64, tokens float64) string {
	if !(in[SlotTP] > 1) || math.IsNaN(in[SlotLink]) {
		return ""
	}
	return communicationFormula(in, tokens) + " = " + Number(allReduces(in, tokens)/in[SlotPP]*1e3) + " ms"
}

// communicationFormula writes the all-reduce bound over so many tokens.
func communicationFormula(in []float64, tokens float64) string {
	t := in[SlotTP]
	link := in[SlotLink]
	if in[SlotLinkPeer] > 0 {
		link = in[SlotLinkPeer] * (t - 1)
	}
	share, how := "2 × "+Number(t-1)+"/"+Number(t)+" × ", " (ring all-reduce)"
	if in[SlotLinkReduces] == 1 {
		share, how = "", " (all-reduce in the switch)"
	}
	message := tokens * in[SlotHidden] * activationBytes
	layers := in[SlotLayers] / in[SlotPP] // of a stage, if they are spread evenly
	return "2 × " + Number(layers) + " layers × " + share + gigabytes(message) + " ÷ " +
		given(link/1e9) + " GB/s" + how
}

// peaks writes a device's peak, or both where layers and head or attention differ.
func peaks(in []float64) string {
	s := given(in[SlotPeakLayers]/1e12) + " TFLOP/s"
	if in[SlotPeakHead] != in[SlotPeakLayers] {
		s += " (head at " + given(in[SlotPeakHead]/1e12) + ")"
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

// passes says whether a token's way through the stages of a pipeline binds, rather than
// the work of all sequences on all devices.
func passes(out []float64, alone times) bool {
	hard := out[OutDecodeStepHardMS]
	return hard == alone.memory*1e3 || hard == alone.compute*1e3 || hard == alone.communication*1e3
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
	c := []string{"read parameters: all layers, the final norm and the head; the embedding table is a lookup"}
	if q.Model.Architecture.TiedHead {
		c = []string{"read parameters: all layers, the final norm and the head, which is the embedding table: stored once, read once"}
	}
	if f, ok := formatOf(q.WeightDtype); ok {
		c = append(c, q.WeightDtype+" weights: "+f.says)
	}
	if q.Target != nil {
		if q.Target.MemoryBytes > 0 {
			c = append(c, "what fits: "+Number(float64(q.Target.MemoryBytes))+" bytes a device, as it reports itself")
		} else if q.Target.MemoryGB != "" {
			c = append(c, "what fits: the maker's label of "+string(q.Target.MemoryGB)+" GB a device, taken as 10⁹ bytes each")
		}
		if q.PP > 1 {
			c = append(c, "pipeline: a step takes at least what one sequence alone takes through all stages in turn, and what all sequences take with every device busy; expected: sequences in "+itoa(q.PP)+" groups, each passing all stages")
		}
		if q.TP > 1 {
			c = append(c, "communication: two all-reduces a layer in 16 bits, "+reduced(&q))
		}
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
		if q.TP > 1 {
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
