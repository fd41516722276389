package roofline

import "math"

// Ceiling answers a query, with its working and with a reason for each figure that
// cannot be computed.
func Ceiling(q Query) Answer {
	q = q.Filled()
	if q.Target == nil && q.TP == 0 {
		q.TP = 1 // the model's own sizes need no device
	}
	a := Answer{Missing: reasons(q)}
	in := Pack(q)
	out := CeilingPacked(in)
	if q.Model != nil && a.Missing["total_params"] == "" {
		p := q.Model.Params()
		a.TotalParams, a.ReadParams, a.MTPParams = p.Total, p.Read, p.MTP
		a.Conventions = conventions(q)
	}
	a.Sources = sources(q)
	told := func(name string, slot int) *float64 {
		if a.Missing[name] == "" && math.IsNaN(out[slot]) {
			a.Missing[name] = firstFault(q)
		}
		if a.Missing[name] != "" {
			return nil
		}
		v := out[slot]
		return &v
	}
	a.WeightBytes = told("weight_bytes", OutResidentBytes)
	a.KVBytesPerToken = told("kv_bytes_per_token", OutKVBytesPerToken)
	a.ReadBytesPerStep = told("read_bytes_per_step", OutReadBytesPerStep)
	if a.Missing["decode_step_ms"] == "" {
		a.DecodeStepMS = &Roofs{out[OutDecodeStepHardMS], out[OutDecodeStepExpectedMS], out[OutDecodeStepOpWiseMS], out[OutDecodeStepSerialMS]}
		a.DecodeTokPerSec = &Pair{out[OutDecodeTokPerSecHard], out[OutDecodeTokPerSecExpected]}
		a.TokensPerStep = out[OutTokensPerStep]
		a.Parts = partsOf(in, out)
		a.Binding = BindingName(out[OutBinding])
		a.Formula = Formula(in)
		a.LinkFormula = LinkFormula(in, float64(in[SlotBatch]*(in[SlotGamma]+1)))
	}
	if a.Missing["prefill_ms"] == "" {
		a.PrefillMS = &Pair{out[OutPrefillHardMS], out[OutPrefillExpectedMS]}
		a.PrefillFormula = PrefillFormula(in)
	}
	if a.Missing["serving"] == "" {
		a.Serving = &Serving{
			TTFTMS: out[OutPrefillHardMS], TPOTMS: known(out[OutServingTPOTMS]),
			OutputTokPerSec: out[OutServingTokPerSec], Expected: out[OutServingTokPerSecExpected],
			PerGPU: out[OutServingTokPerSecPerGPU],
		}
	}
	if a.Serving != nil && a.Serving.TPOTMS == nil {
		a.Missing["serving.tpot_ms"] = "one output token has none after it: --osl of 2 or more"
	}
	if a.Missing["fits"] == "" {
		fits := out[OutFits] == 1
		a.Fits = &fits
	}
	if a.Missing["max_concurrency"] == "" && math.IsNaN(out[OutMaxConcurrency]) {
		a.Missing["max_concurrency"] = "no layer keeps anything of a sequence"
	} else if a.Missing["max_concurrency"] == "" {
		n := int64(out[OutMaxConcurrency])
		a.MaxConcurrency = &n
	}
	return a
}

func partsOf(in, out []float64) *Parts {
	p := &Parts{
		WeightBytes: out[OutWeightBytesRead], ExpertBytes: out[OutExpertBytesRead],
		ExpertBytesExpected: out[OutExpertBytesExpected],
		KVBytes:             out[OutKVBytesRead], StateBytes: out[OutStateBytesRead],
		MatrixFLOPs: out[OutMatrixFLOPs], ExpertFLOPs: out[OutExpertFLOPs], HeadFLOPs: out[OutHeadFLOPs],
		AttentionFLOPs: out[OutAttentionFLOPs], StateFLOPs: out[OutStateFLOPs],
		MemoryMS: out[OutMemoryMS], ComputeMS: known(out[OutComputeMS]), CommunicationMS: out[OutCommunicationMS],
	}
	if !math.IsNaN(out[OutDistinctExpected]) {
		p.Distinct = &Pair{distinctHard(in), out[OutDistinctExpected]}
	}
	return p
}

// firstFault is why a figure is lacking that nothing speaks of by name: what is wrong
// with the question as a whole.
func firstFault(q Query) string {
	for _, f := range faults(q) {
		return f.reason
	}
	return "not computed"
}

// distinctHard is the least number of experts that a step reads of a layer that has some.
func distinctHard(in []float64) float64 {
	sum, layers := 0.0, 0.0
	for i := range int(in[SlotKinds]) {
		if k := kind(in, i); k[KindExperts] > 0 {
			sum += float64(k[KindLayers] * k[KindTopK])
			layers += k[KindLayers]
		}
	}
	return sum / layers
}

func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
