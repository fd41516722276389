package row

import (
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
)

// Roof is the ceiling question of one of the recipe's replicas that decode: the model on
// the devices that share it, in the recipe's types. why is not "" where it cannot be
// asked: it names what the recipe leaves open.
func (r *Recipe) Roof(m *roofline.Model, t *roofline.Target) (q roofline.Query, replicas int64, why string) {
	q, replicas, why = r.roof(m, t, RoleDecode)
	if s := r.Speculation; s != nil {
		q.Gamma = s.DraftTokens
		q.Acceptance, _ = s.Acceptance.Float()
		q.MTPDrafts = s.readsMTP(m)
	}
	return q, replicas, why
}

// PrefillRoof is the question of one of the replicas that take prompts in: the same as
// Roof, unless these have devices of their own.
func (r *Recipe) PrefillRoof(m *roofline.Model, t *roofline.Target) (q roofline.Query, replicas int64, why string) {
	if !r.Apart() {
		return r.Roof(m, t)
	}
	return r.roof(m, t, RolePrefill)
}

// Apart says whether prompts and decode steps run on devices of their own.
func (r *Recipe) Apart() bool {
	for i := range r.Pools {
		if r.Pools[i].Role == RolePrefill {
			return true
		}
	}
	return false
}

func (r *Recipe) roof(m *roofline.Model, t *roofline.Target, role string) (q roofline.Query, replicas int64, why string) {
	q = roofline.Query{Model: m, Target: t, WeightDtype: r.Weights.Dtype, KVDtype: r.KVDtype, NoMulticast: r.MulticastOff()}
	switch {
	case q.WeightDtype == "":
		return q, 0, "the weights' dtype, which the recipe leaves open"
	case q.KVDtype == "":
		return q, 0, "the KV dtype, which the recipe leaves open"
	}
	var p *Pool
	for i := range r.Pools {
		switch n := &r.Pools[i]; {
		case r.Apart() && n.Role != role:
			continue
		case n.Count < 1 || n.TP < 1 || n.PP < 1 || n.DP < 1:
			return q, 0, "the parallel layout, which the recipe leaves open"
		case p != nil && (n.TP != p.TP || n.PP != p.PP || n.DP != p.DP || n.EP != p.EP):
			return q, 0, "which of the recipe's pools served a request: their layouts differ"
		default:
			p, replicas = n, replicas+n.Count
		}
	}
	if p == nil {
		return q, 0, "the parallel layout, which the recipe leaves open"
	}
	q.TP, q.PP = p.TP, p.PP
	q.DCP, _ = strconv.ParseInt(r.flag("--decode-context-parallel-size", "-dcp", "--dcp-size"), 10, 64)
	q.StateDtype = r.stateDtype(m)
	if !routes(m) {
		return q, replicas * p.DP, ""
	}
	if p.EP > 1 {
		q.EP = p.EP
	}
	if p.DP > 1 && r.sharesExperts(p) {
		q.DP = p.DP
		return q, replicas, ""
	}
	return q, replicas * p.DP, ""
}

// flag is the value that the recipe gives to a flag by one of its names, "" where it gives
// none.
func (r *Recipe) flag(names ...string) string {
	for _, list := range [][]string{r.Flags, r.Launch} {
		for i, f := range list {
			for _, name := range names {
				if value, ok := strings.CutPrefix(f, name+"="); ok {
					return value
				}
				if f == name && i+1 < len(list) {
					return list[i+1]
				}
			}
		}
	}
	return ""
}

// stateDtype is the type of the states' matrices, "" where the model has none. Left to
// itself an engine keeps them in 32 bits or in the weights' 16; a roof takes the least.
func (r *Recipe) stateDtype(m *roofline.Model) string {
	if m == nil || !slices.ContainsFunc(m.Architecture.Layers, func(l roofline.Layer) bool { return l.Attention.State != nil }) {
		return ""
	}
	switch r.flag("--mamba-ssm-cache-dtype", "--mamba-ssm-dtype") {
	case "float32":
		return "fp32"
	case "float16":
		return "fp16"
	}
	return "bf16"
}

// sharesExperts says whether the copies of a pool share their experts: where these are
// spread over more devices than one copy has, and without that in vLLM, and in SGLang
// where attention alone is in parallel on data.
func (r *Recipe) sharesExperts(p *Pool) bool {
	return p.EP > p.TP || r.Engine.Name == "vllm" ||
		r.Engine.Name == "sglang" && (slices.Contains(r.Flags, "--enable-dp-attention") || slices.Contains(r.Launch, "--enable-dp-attention"))
}

// routes says whether the model has layers whose tokens pass a few of many experts.
func routes(m *roofline.Model) bool {
	if m == nil {
		return false
	}
	for i := range m.Architecture.Layers {
		if m.Architecture.Layers[i].FFN.Experts > 0 {
			return true
		}
	}
	return false
}

// readsMTP says whether the model's own modules draft, by the names that engines give
// the method.
func (s *Speculation) readsMTP(m *roofline.Model) bool {
	method := strings.ToLower(s.Method)
	return m != nil && m.Architecture.MTP != nil && (strings.Contains(method, "mtp") || strings.Contains(method, "nextn"))
}

// PerStep is what speculation did in a decode step of a sequence, on average: how many
// tokens were drafted, and how many came. Some methods draft in a few steps only; where
// the server generated more than its drafting steps explain, the others are counted in.
func (s *Spec) PerStep(requests int64) (drafted, yielded float64) {
	steps := s.Drafts
	if all := s.Generated - s.Accepted - requests; float64(all) > float64(1+undrafted)*float64(steps) {
		steps = all // the first token of a request comes of its prompt
	}
	if steps < 1 {
		return 0, 1
	}
	return float64(s.DraftTokens) / float64(steps), 1 + float64(s.Accepted)/float64(steps)
}

// undrafted is how far counters may be apart that are read while tokens come.
const undrafted = 0.05

// Step is a row's decode step: the question of its least time, and the figure that is
// held against it.
type Step struct {
	Query    roofline.Query // of one replica; batch and context rounded down
	Replicas int64
	Batch    float64 // sequences that decode together in a replica, on average
	Context  float64 // tokens in each one's cache
	Drafted  float64 // tokens drafted for a step; 0 without speculation
	Yielded  float64 // tokens that a step brings; 1 without speculation
	TPOT     float64 // ms: p50 or mean
	Name     string  // which: "TPOT p50"
	Mean     bool    // it is the mean
}

// Step asks for the row's decode step. The batch is Little's law, not the concurrency:
// the rate of the tokens that steps bring × the mean time of one. A prompt brings a
// request's first token, so that one a request is left out. Where one request may well
// have had a smaller batch or more luck with its drafts than another, the mean TPOT is
// held against the roof, which it cannot pass unless the hardware did: the median can.
// why is not "" where the question cannot be asked.
func (was *AsItWas) Step(n *Row) (s Step, why string) {
	d := n.Figures.TPOT
	if s.Query, s.Replicas, why = was.Recipe.Roof(&was.Model, &was.Target); why != "" {
		return s, why
	}
	s.Yielded = 1
	switch spec := n.Server.Spec; {
	case spec != nil && spec.Drafts > 0:
		s.Drafted, s.Yielded = spec.PerStep(n.Counts.Retired + n.Counts.Drained)
	case was.Recipe.Speculation != nil:
		return s, "the draft counters: how many tokens a step accepts is unknown"
	}
	switch {
	case d == nil || d.Mean == nil || d.P50 == nil:
		return s, "a TPOT"
	case n.Figures.OutputTokPerSec == nil:
		return s, "an output rate, which tells the batch"
	}
	s.TPOT, s.Name = *d.P50, "TPOT p50"
	if s.Yielded > 1 || s.Replicas > 1 || n.Workload.OpenLoop() {
		s.TPOT, s.Name, s.Mean = *d.Mean, "mean TPOT", true
	}
	rate := *n.Figures.OutputTokPerSec
	if r := n.Figures.RequestPerSec; r != nil {
		rate -= *r
	}
	s.Batch = max(1, rate**d.Mean/1e3/float64(s.Replicas))
	s.Query.Batch = int64(s.Batch)
	s.Context = s.Query.MeanContext(n.Workload.ISL+1, n.Workload.ISL+n.Workload.OSL-1)
	s.Query.Context = int64(s.Context)
	if s.Drafted > 0 {
		s.Query.Gamma = ceil(s.Drafted)
		s.Query.Accepted = s.Yielded
	}
	return s, ""
}

// ceil is the least whole number that is not below v.
func ceil(v float64) int64 {
	n := int64(v)
	if float64(n) < v {
		n++
	}
	return n
}

// Packed is the question with its means as they are, not rounded.
func (s *Step) Packed() []float64 {
	in := roofline.Pack(s.Query)
	in[roofline.SlotBatch], in[roofline.SlotContext] = s.Batch, s.Context
	if s.Drafted > 0 {
		in[roofline.SlotGamma], in[roofline.SlotAccepted] = s.Drafted, s.Yielded
	}
	return in
}
