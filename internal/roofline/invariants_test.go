package roofline_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// each asks questions at random, and says how to ask the one that failed again.
func each(t *testing.T, check func(t *testing.T, r rooftest.Random, q roofline.Query)) {
	t.Helper()
	const questions = 400
	first := rand.Uint64()
	for i := range uint64(questions) {
		r := rooftest.NewRandom(first + i)
		q := r.Query()
		func() {
			defer func() {
				if t.Failed() {
					asked, _ := json.Marshal(q)
					t.Logf("seed %d: %s", first+i, asked)
				}
			}()
			check(t, r, q)
		}()
		if t.Failed() {
			return
		}
	}
}

// answered is the answer, which has its decode step.
func answered(t *testing.T, q roofline.Query) roofline.Answer {
	t.Helper()
	a := roofline.Ceiling(q)
	if a.DecodeStepMS == nil || a.DecodeTokPerSec == nil || a.Parts == nil || a.ReadBytesPerStep == nil {
		t.Fatalf("no decode step: %v", a.Missing)
	}
	return a
}

// atMost holds a figure to another, but for the last digits of long sums.
func atMost(t *testing.T, what string, got, most float64) {
	t.Helper()
	if !(got <= most*(1+1e-12)) {
		t.Errorf("%s: %v; at most %v", what, got, most)
	}
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
		t.Errorf("%s: %v; want %v", what, got, want)
	}
}

// What overlaps at best takes no longer than what overlaps a part at a time, and that no
// longer than what waits its turn.
func TestRoofsAreOrdered(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		a := answered(t, q)
		step := a.DecodeStepMS
		atMost(t, "hard under op-wise", step.Hard, step.OpWise)
		atMost(t, "op-wise under serial", step.OpWise, step.Serial)
		atMost(t, "hard under expected", step.Hard, step.Expected)
		atMost(t, "expected rate under hard", a.DecodeTokPerSec.Expected, a.DecodeTokPerSec.Hard)
		if a.PrefillMS != nil {
			atMost(t, "prefill, hard under expected", a.PrefillMS.Hard, a.PrefillMS.Expected)
		}
		if a.Serving != nil {
			atMost(t, "serving, expected under hard", a.Serving.Expected, a.Serving.OutputTokPerSec)
		}
		for what, part := range map[string]float64{"memory": a.Parts.MemoryMS, "compute": *a.Parts.ComputeMS, "communication": a.Parts.CommunicationMS} {
			atMost(t, what+" under hard", part, step.Hard)
		}
	})
}

// More sequences together: none of them is served sooner, and all of them no later.
func TestRatesAndBatch(t *testing.T) {
	each(t, func(t *testing.T, r rooftest.Random, q roofline.Query) {
		more := q
		more.Batch += r.Int64N(q.Batch + 1)
		a, b := answered(t, q), answered(t, more)
		for name, rate := range map[string]func(roofline.Answer) float64{
			"hard":     func(a roofline.Answer) float64 { return a.DecodeTokPerSec.Hard },
			"expected": func(a roofline.Answer) float64 { return a.DecodeTokPerSec.Expected },
		} {
			atMost(t, name+" rate a user", rate(b)/float64(more.Batch), rate(a)/float64(q.Batch))
			atMost(t, name+" rate in all", rate(a), rate(b))
		}
		if a.Parts.Distinct != nil {
			atMost(t, "expected experts", a.Parts.Distinct.Expected, b.Parts.Distinct.Expected)
		}
	})
}

// chunked says whether a layer attends within chunks: where a new one begins, a step
// reads less, so that times rise and fall with the context.
func chunked(m *roofline.Model) bool {
	return slices.ContainsFunc(m.Architecture.Layers, func(l roofline.Layer) bool { return l.Attention.Chunk > 0 })
}

func TestRatesAndContext(t *testing.T) {
	each(t, func(t *testing.T, r rooftest.Random, q roofline.Query) {
		if chunked(q.Model) {
			return
		}
		more := q
		more.Context += r.Int64N(q.Context + 2)
		a, b := answered(t, q), answered(t, more)
		atMost(t, "rate", b.DecodeTokPerSec.Hard, a.DecodeTokPerSec.Hard)
		atMost(t, "step", a.DecodeStepMS.Serial, b.DecodeStepMS.Serial)
		atMost(t, "cache read", a.Parts.KVBytes, b.Parts.KVBytes)
	})
}

// One sequence with an empty cache: aggregate bandwidth over the bytes of the parameters
// that a token passes, and of the states that stand in a cache's place.
func TestOneSequenceWithoutCache(t *testing.T) {
	each(t, func(t *testing.T, r rooftest.Random, q roofline.Query) {
		q.WeightDtype, q.Batch, q.Context, q.Gamma, q.Acceptance, q.MTPDrafts = "bf16", 1, 0, 0, 0, false
		q.PP, q.DP, q.EP = 0, 0, 0
		a := answered(t, q)
		bandwidth, _ := q.Target.BandwidthGBs.Float()
		bytes := 2*float64(a.ReadParams) + a.Parts.StateBytes
		equal(t, "bytes", *a.ReadBytesPerStep, bytes)
		seconds := bytes / (bandwidth * 1e9 * float64(q.Filled().TP))
		equal(t, "memory", a.Parts.MemoryMS, seconds*1e3)
		if a.Binding == "memory" {
			equal(t, "rate", a.DecodeTokPerSec.Hard, 1/seconds)
		}
	})
}

// The parts are the whole.
func TestPartsAddUp(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		a := answered(t, q)
		p := a.Parts
		equal(t, "bytes read", *a.ReadBytesPerStep, p.WeightBytes+p.ExpertBytes+p.KVBytes+p.StateBytes)
		atMost(t, "expert bytes, hard under expected", p.ExpertBytes, p.ExpertBytesExpected)
		atMost(t, "read params under total", float64(a.ReadParams), float64(a.TotalParams))
		if a.ReadParams <= 0 {
			t.Errorf("%d parameters are read", a.ReadParams)
		}
	})
}

// The distinct experts of T tokens: k of one, never fewer, never more than there are or
// than kT choices name, and in the end all.
func TestDistinctExperts(t *testing.T) {
	first := rand.Uint64()
	t.Logf("seed %d", first)
	r := rooftest.NewRandom(first)
	for range 300 {
		e := 1 + r.Int64N(512)
		k := 1 + r.Int64N(min(e, 16))
		m := &roofline.Model{Weights: []string{"bf16"}, Architecture: roofline.Architecture{Hidden: 64, Vocabulary: 64, MaxContext: 10,
			Layers: []roofline.Layer{{Count: 3, Attention: roofline.Attention{Kind: roofline.None}, FFN: roofline.FFN{Kind: roofline.MoE, Width: 64, Experts: e, TopK: k}}}}}
		target := r.Target()
		distinct := func(tokens int64) (hard, expected float64) {
			d := answered(t, roofline.Query{Model: m, Target: target, TP: 1, Batch: tokens}).Parts.Distinct
			return d.Hard, d.Expected
		}
		one, alone := distinct(1)
		equal(t, "of one token, hard", one, float64(k))
		equal(t, "of one token", alone, float64(k))
		tokens := 1 + r.Int64N(5000)
		hard, expected := distinct(tokens)
		equal(t, "hard", hard, float64(k))
		atMost(t, "k", float64(k), expected)
		atMost(t, "min(E, kT)", expected, math.Min(float64(e), float64(k*tokens)))
		if _, all := distinct(100_000_000); math.Abs(all-float64(e)) > 1e-9*float64(e) {
			t.Errorf("of 10⁸ tokens: %v of %d", all, e)
		}
		if t.Failed() {
			t.Fatalf("%d of %d, %d tokens", k, e, tokens)
		}
	}
}

// Half the bandwidth, twice the step, where the memory binds.
func TestBandwidthBindsMemory(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		q.MTPDrafts = false // its arithmetic may bind while the step's memory does
		a := answered(t, q)
		if a.Binding != "memory" {
			return
		}
		half := *q.Target
		gbs, _ := half.BandwidthGBs.Float()
		half.BandwidthGBs = roofline.Decimal(strconv.FormatFloat(gbs/2, 'g', -1, 64))
		q.Target = &half
		equal(t, "step", answered(t, q).DecodeStepMS.Hard, 2*a.DecodeStepMS.Hard)
	})
}

// Weights and caches in fewer bytes never cost time against bf16: none computes slower.
// GGUF keeps router and norms in 32 bits, so that a model of little else grows.
func TestSmallerFormatsNeverSlow(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		wide := q
		wide.WeightDtype, wide.KVDtype = "bf16", "bf16"
		if q.WeightDtype == "fp32" {
			return // the one wider format
		}
		a, b := answered(t, q), answered(t, wide)
		layers := func(a roofline.Answer, q roofline.Query) float64 { // what each pass of a prompt reads again
			return a.Parts.WeightBytes - roofline.Pack(q)[roofline.SlotHeadBytes]*float64(max(q.DP, 1))
		}
		if gguf := q.WeightDtype[0] == 'q'; gguf && (*a.WeightBytes > *b.WeightBytes || a.Parts.WeightBytes > b.Parts.WeightBytes || layers(a, q) > layers(b, wide)) {
			return // its norms are in 32 bits
		}
		atMost(t, "step", a.DecodeStepMS.Hard, b.DecodeStepMS.Hard)
		atMost(t, "serial step", a.DecodeStepMS.Serial, b.DecodeStepMS.Serial)
		if a.PrefillMS != nil {
			atMost(t, "prefill", a.PrefillMS.Hard, b.PrefillMS.Hard)
		}
		if a.MaxConcurrency != nil && *a.MaxConcurrency < *b.MaxConcurrency {
			t.Errorf("%d sequences fit, %d in bf16", *a.MaxConcurrency, *b.MaxConcurrency)
		}
	})
}

// N devices never do more than N times what one does, where either has room for all.
func TestDevicesNeverMultiplyBeyondTheirNumber(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		roomy := *q.Target
		roomy.MemoryGB, roomy.MemoryBytes = "1000000000", 0
		q.Target = &roomy
		one := q
		one.TP, one.PP, one.DP, one.DCP, one.EP = 1, 1, 1, 1, 0
		devices := float64(q.Filled().TP * max(q.PP, 1) * max(q.DP, 1))
		a, b := answered(t, q), answered(t, one)
		atMost(t, "rate", a.DecodeTokPerSec.Hard, devices*b.DecodeTokPerSec.Hard)
		if a.PrefillMS != nil {
			atMost(t, "prefill", b.PrefillMS.Hard, devices*a.PrefillMS.Hard)
		}
		if a.Serving != nil {
			atMost(t, "serving a device", a.Serving.PerGPU, b.Serving.PerGPU)
		}
	})
}

// As many sequences as are said to fit do, and one more does not.
func TestMaxConcurrencyFits(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		if q.Context == 0 {
			q.Context = 1
		}
		a := roofline.Ceiling(q)
		if a.MaxConcurrency == nil {
			if a.Missing["max_concurrency"] == "" {
				t.Error("missing without a reason")
			}
			return
		}
		n := *a.MaxConcurrency
		if n < 0 {
			t.Fatalf("%d sequences", n)
		}
		if n >= 100_000_000 {
			return // more than can be asked for
		}
		if n > 0 {
			q.Batch = n
			if fits := roofline.Ceiling(q).Fits; fits == nil || !*fits {
				t.Errorf("%d sequences are said to fit and do not", n)
			}
		}
		q.Batch = n + 1
		if fits := roofline.Ceiling(q).Fits; fits == nil || *fits {
			t.Errorf("%d sequences are said to be most, and %d fit", n, n+1)
		}
	})
}

// A longer prompt takes no less time, and more of it in the cache or in one pass no more,
// but for the reading of what is cached.
func TestPrefillIsMonotone(t *testing.T) {
	each(t, func(t *testing.T, r rooftest.Random, q roofline.Query) {
		a := roofline.Ceiling(q)
		if a.PrefillMS == nil {
			t.Fatalf("no prefill: %v", a.Missing)
		}
		longer := q
		longer.ISL += r.Int64N(q.ISL + 1)
		cached := q
		cached.Cached += r.Int64N(q.ISL - q.Cached)
		chunked := q
		chunked.Chunk = 1 + r.Int64N(q.ISL)
		finer := chunked
		finer.Chunk = 1 + r.Int64N(chunked.Chunk)
		fast := *q.Target
		fast.BandwidthGBs = "1000000000000"
		uncached := q
		uncached.Target, cached.Target = &fast, &fast
		for _, c := range []struct {
			what        string
			short, long roofline.Query
		}{{"a longer prompt", q, longer}, {"more from the cache", cached, uncached}, {"smaller chunks", chunked, finer}} {
			short, long := roofline.Ceiling(c.short).PrefillMS, roofline.Ceiling(c.long).PrefillMS
			atMost(t, c.what+", hard", short.Hard, long.Hard)
			atMost(t, c.what+", expected", short.Expected, long.Expected)
		}
	})
}

// Drafting what is never accepted gains nothing; accepting more never costs; no step
// yields more than was drafted and one.
func TestSpeculation(t *testing.T) {
	each(t, func(t *testing.T, r rooftest.Random, q roofline.Query) {
		q.Gamma, q.Acceptance, q.MTPDrafts = 0, 0, false
		none := answered(t, q)
		equal(t, "tokens a step without drafts", none.TokensPerStep, 1)
		q.Gamma = 1 + r.Int64N(8)
		q.MTPDrafts = q.Model.Architecture.MTP != nil && r.IntN(2) == 0
		q.Accepted = 1 // as counted: an acceptance of 0 asks for one that is not known
		never := answered(t, q)
		atMost(t, "rate at acceptance 0", never.DecodeTokPerSec.Hard, none.DecodeTokPerSec.Hard)
		equal(t, "tokens a step at acceptance 0", never.TokensPerStep, 1)
		in := roofline.Pack(q)
		in[roofline.SlotAccepted], in[roofline.SlotAcceptance] = 0, 0
		equal(t, "packed, tokens a step at acceptance 0", roofline.CeilingPacked(in)[roofline.OutTokensPerStep], 1)
		q.Accepted = 0
		low, high := 1-r.Float64(), 1-r.Float64()
		low, high = min(low, high), max(low, high)
		q.Acceptance = low
		l := answered(t, q)
		q.Acceptance = high
		h := answered(t, q)
		atMost(t, "rate rises with acceptance", l.DecodeTokPerSec.Hard, h.DecodeTokPerSec.Hard)
		atMost(t, "tokens a step", h.TokensPerStep, float64(q.Gamma+1))
		q.Acceptance = 1
		equal(t, "tokens a step at acceptance 1", answered(t, q).TokensPerStep, float64(q.Gamma+1))
	})
}

// No request ends sooner than its prompt and one step alone for each further token take,
// so that no load has a rate beyond as many of those as are in flight; and such a step
// lies between the first and the last of the decode steps that a request has.
func TestServingWaitsForEachToken(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		a := answered(t, q)
		further := float64(q.OSL - 1)
		if further == 0 {
			if a.Serving.TPOTMS != nil || a.Missing["serving.tpot_ms"] == "" {
				t.Errorf("a time a token where there is no further token: %v, %v", a.Serving.TPOTMS, a.Missing)
			}
			return
		}
		alone := a.Serving.TTFTMS + further**a.Serving.TPOTMS
		atMost(t, "rate", a.Serving.OutputTokPerSec, float64(q.Concurrency*q.OSL)/alone*1e3)
		atMost(t, "expected rate", a.Serving.Expected, a.Serving.OutputTokPerSec)
		if q.Gamma > 0 || chunked(q.Model) {
			return
		}
		step := func(context int64) float64 {
			one := q
			one.Batch, one.Context, one.PP = 1, context, 0
			one.TP = q.Filled().TP
			return answered(t, one).DecodeStepMS.Hard
		}
		atMost(t, "a first step", step(q.ISL+1), *a.Serving.TPOTMS)
		atMost(t, "a step on average", *a.Serving.TPOTMS, step(q.ISL+q.OSL))
	})
}

// What is packed answers as what was asked, to the last bit, and without allocating.
func TestPackedAnswersAsAsked(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		a := roofline.Ceiling(q)
		in := roofline.Pack(q)
		if !roofline.Packed(in) {
			t.Fatal("a packed question does not have the packed form")
		}
		out := roofline.CeilingPacked(in)
		into := make([]float64, roofline.OutSlots)
		if n := testing.AllocsPerRun(3, func() { roofline.CeilingInto(in, into) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		same(t, "out", into, out)
		parts := a.Parts
		for name, c := range map[string]struct {
			slot int
			want float64
		}{
			"read":             {roofline.OutReadBytesPerStep, *a.ReadBytesPerStep},
			"weights":          {roofline.OutWeightBytesRead, parts.WeightBytes},
			"experts":          {roofline.OutExpertBytesRead, parts.ExpertBytes},
			"experts expected": {roofline.OutExpertBytesExpected, parts.ExpertBytesExpected},
			"KV":               {roofline.OutKVBytesRead, parts.KVBytes},
			"state":            {roofline.OutStateBytesRead, parts.StateBytes},
			"matrix FLOPs":     {roofline.OutMatrixFLOPs, parts.MatrixFLOPs},
			"expert FLOPs":     {roofline.OutExpertFLOPs, parts.ExpertFLOPs},
			"head FLOPs":       {roofline.OutHeadFLOPs, parts.HeadFLOPs},
			"attention FLOPs":  {roofline.OutAttentionFLOPs, parts.AttentionFLOPs},
			"state FLOPs":      {roofline.OutStateFLOPs, parts.StateFLOPs},
			"memory":           {roofline.OutMemoryMS, parts.MemoryMS},
			"compute":          {roofline.OutComputeMS, *parts.ComputeMS},
			"communication":    {roofline.OutCommunicationMS, parts.CommunicationMS},
			"hard":             {roofline.OutDecodeStepHardMS, a.DecodeStepMS.Hard},
			"expected":         {roofline.OutDecodeStepExpectedMS, a.DecodeStepMS.Expected},
			"op-wise":          {roofline.OutDecodeStepOpWiseMS, a.DecodeStepMS.OpWise},
			"serial":           {roofline.OutDecodeStepSerialMS, a.DecodeStepMS.Serial},
			"tok/s":            {roofline.OutDecodeTokPerSecHard, a.DecodeTokPerSec.Hard},
			"tok/s expected":   {roofline.OutDecodeTokPerSecExpected, a.DecodeTokPerSec.Expected},
			"tokens a step":    {roofline.OutTokensPerStep, a.TokensPerStep},
			"prefill":          {roofline.OutPrefillHardMS, a.PrefillMS.Hard},
			"prefill expected": {roofline.OutPrefillExpectedMS, a.PrefillMS.Expected},
			"serving":          {roofline.OutServingTokPerSec, a.Serving.OutputTokPerSec},
			"serving expected": {roofline.OutServingTokPerSecExpected, a.Serving.Expected},
			"serving a device": {roofline.OutServingTokPerSecPerGPU, a.Serving.PerGPU},
			"KV a token":       {roofline.OutKVBytesPerToken, *a.KVBytesPerToken},
			"resident":         {roofline.OutResidentBytes, *a.WeightBytes},
		} {
			if out[c.slot] != c.want {
				t.Errorf("%s: packed %v, asked %v", name, out[c.slot], c.want)
			}
		}
		if p := a.Serving.TPOTMS; p != nil && *p != out[roofline.OutServingTPOTMS] {
			t.Errorf("serving, a token: packed %v, asked %v", out[roofline.OutServingTPOTMS], *p)
		}
		if a.MaxConcurrency != nil && float64(*a.MaxConcurrency) != out[roofline.OutMaxConcurrency] {
			t.Errorf("most: packed %v, asked %v", out[roofline.OutMaxConcurrency], *a.MaxConcurrency)
		}
		if f := roofline.Formula(in); f != a.Formula {
			t.Errorf("formula: packed %q, asked %q", f, a.Formula)
		}
		if f := roofline.PrefillFormula(in); f != a.PrefillFormula {
			t.Errorf("prefill formula: packed %q, asked %q", f, a.PrefillFormula)
		}
	})
}

// A model's half and a target's half join, slot by slot, into the whole.
func TestHalvesJoin(t *testing.T) {
	each(t, func(t *testing.T, _ rooftest.Random, q roofline.Query) {
		whole := roofline.Pack(q)
		q = q.Filled()
		model, target := q, q
		model.Target, target.Model = nil, nil
		in := roofline.Pack(model)
		for i, v := range roofline.Pack(target)[:roofline.HeadSlots] {
			if math.IsNaN(in[i]) {
				in[i] = v
			}
		}
		same(t, "joined", in, whole)
	})
}

func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d slots, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Errorf("%s, slot %d: %v; want %v", what, i, got[i], want[i])
		}
	}
}
