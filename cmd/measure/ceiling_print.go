package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"rowproof/internal/roofline"
)

// print answers a person: the sentence, the figures, how they come about.
func (call *ceilingCall) print(w io.Writer, a roofline.Answer) {
	q := call.query.Filled()
	fmt.Fprintln(w, plain(sentence(q, a)))
	fmt.Fprintln(w)
	printTimes(w, q, a)
	call.work().print(w, q)
	say := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, plain(fmt.Sprintf(format, args...)))
	}
	if a.Formula != "" {
		say("Decode", "%s", a.Formula)
	}
	if a.PrefillFormula != "" {
		say("Prefill", "%s", a.PrefillFormula)
	}
	if a.LinkFormula != "" {
		say("Links", "%s a step", a.LinkFormula)
		if bus, ok := q.Target.MeasuredAllReduceGBs[fmt.Sprintf("x%d", q.TP)].Float(); ok {
			say("", "the largest all-reduces measured on %d such devices reached %s GB/s of %s", q.TP, roofline.Number(bus), q.Target.LinkGBs)
		}
	}
	if p := a.Parts; p != nil {
		compute := "unbounded"
		if p.ComputeMS != nil {
			compute = roofline.Number(*p.ComputeMS) + " ms"
		}
		say("Roofs", "memory %s ms, compute %s, communication %s ms a step", roofline.Number(p.MemoryMS), compute, roofline.Number(p.CommunicationMS))
		if d := p.Distinct; d != nil {
			say("Experts", "%s of a layer are read at the least, %s expected", roofline.Number(d.Hard), roofline.Number(d.Expected))
		}
	}
	if q.Gamma > 0 && a.TokensPerStep > 0 {
		say("Speculation", "%s a step, of which it yields %s", count(q.Gamma+1, "token"), roofline.Number(a.TokensPerStep))
	}
	mtp := ""
	if a.MTPParams > 0 {
		mtp = "; " + inBillions(a.MTPParams) + " besides predict further tokens"
	}
	say("Parameters", "%s, of which a step reads %s%s", inBillions(a.TotalParams), inBillions(a.ReadParams), mtp)
	if a.KVBytesPerToken != nil {
		weights := "weights of unknown size"
		if a.WeightBytes != nil {
			weights = inBytes(*a.WeightBytes) + " of weights"
		}
		state := ""
		if n := call.stateBytes(); n > 0 {
			state = ", " + roofline.Number(n) + " bytes of state a sequence"
		}
		say("Bytes", "%s, %s bytes of KV a token%s", weights, roofline.Number(*a.KVBytesPerToken), state)
	}
	if f := newWeightsFile(call.header); f != nil {
		say("File", "%s", f)
	}
	if a.Fits != nil {
		say("Memory", "%s", call.memory(a))
	}
	if r := a.Serving; r != nil {
		expected := ""
		if r.Expected != r.OutputTokPerSec {
			expected = " (" + roofline.Number(r.Expected) + " expected)"
		}
		tpot := ""
		if r.TPOTMS != nil {
			tpot = ", TPOT at least " + roofline.Number(*r.TPOTMS) + " ms"
		}
		say("Serving", "%d:%d at c = %d: TTFT at least %s ms%s, at most %s output tok/s%s, %s output tok/s per GPU", q.ISL, q.OSL, q.Concurrency,
			roofline.Number(r.TTFTMS), tpot, roofline.Number(r.OutputTokPerSec), expected, roofline.Number(r.PerGPU))
	}
	for _, c := range a.Conventions {
		say("Counted", "%s", c)
	}
	for _, src := range a.Sources {
		say("Source", "%s", src)
	}
	reasons := map[string][]string{}
	for _, name := range sortedKeys(a.Missing) {
		reasons[a.Missing[name]] = append(reasons[a.Missing[name]], name)
	}
	for _, reason := range sortedKeys(reasons) {
		say("Missing", "%s: %s", strings.Join(reasons[reason], ", "), reason)
	}
}

// memory says what is resident, on how much, and how many sequences fit.
func (call *ceilingCall) memory(a roofline.Answer) string {
	q := call.query.Filled()
	r := call.resident(a)
	s := "does not fit"
	if *a.Fits {
		s = "fits"
	}
	s += ": " + inBytes(*r.Weights) + " of weights"
	if *r.Sequences > 0 {
		s += " + " + inBytes(*r.Sequences) + " of " + count(q.Batch, "sequence")
	}
	s += " on " + inBytes(*r.Memory)
	if a.MaxConcurrency == nil {
		return s
	}
	length := q.Context
	if length == 0 {
		length = q.ISL + q.OSL
	}
	s += fmt.Sprintf("; at most %s of %s tokens", count(*a.MaxConcurrency, "sequence"), roofline.Number(float64(length)))
	if q.Concurrency > *a.MaxConcurrency {
		s += ", and " + roofline.Number(float64(q.Concurrency)) + " are asked for"
	}
	return s
}

// sentence is the answer in words.
func sentence(q roofline.Query, a roofline.Answer) string {
	where := ""
	if q.Target != nil {
		where = " on " + q.Target.Name
		if n := q.TP * q.PP * q.DP; n != q.Target.Count {
			where = fmt.Sprintf(" on %d of %s", n, q.Target.Name)
		}
	}
	weights := q.WeightDtype
	if weights == "" {
		weights = "unknown"
	}
	s := fmt.Sprintf("%s%s, %s weights, %s KV, %s with %s cached tokens each: ", q.Model.Name, where, weights, q.KVDtype,
		count(q.Batch, "sequence"), roofline.Number(float64(q.Context)))
	switch {
	case q.Target == nil && a.ReadBytesPerStep != nil:
		s += "a step reads " + inBytes(*a.ReadBytesPerStep) + "; how long that takes depends on the --target."
	case a.DecodeStepMS == nil:
		s += "not computable: " + a.Missing["decode_step_ms"] + "."
	default:
		s += "at most " + roofline.Number(a.DecodeTokPerSec.Hard) + " tok/s"
		if a.DecodeTokPerSec.Expected != a.DecodeTokPerSec.Hard {
			s += ", " + roofline.Number(a.DecodeTokPerSec.Expected) + " expected"
		}
		s += "; " + binds(q, a) + "."
	}
	if a.Fits != nil && !*a.Fits {
		s = "Does not fit. " + s
	}
	return s
}

// binds names the binding roof; of a device without a dense peak, that nothing but what is
// known does.
func binds(q roofline.Query, a roofline.Answer) string {
	switch {
	case a.Parts == nil || a.Parts.ComputeMS != nil:
		return a.Binding + " binds"
	case q.TP*q.DP > 1:
		return "memory and links alone bind: no dense peak is published"
	}
	return "memory alone binds: no dense peak is published"
}

// printTimes is the table of times and rates, a roof in each column.
func printTimes(w io.Writer, q roofline.Query, a roofline.Answer) {
	if a.DecodeStepMS == nil && a.PrefillMS == nil {
		return
	}
	t := table{w}
	t.line("", "hard", "expected", "op-wise", "serial")
	if r := a.DecodeStepMS; r != nil {
		t.line("decode step, ms", roofline.Number(r.Hard), roofline.Number(r.Expected), roofline.Number(r.OpWise), roofline.Number(r.Serial))
		t.line("decode, tok/s", roofline.Number(a.DecodeTokPerSec.Hard), roofline.Number(a.DecodeTokPerSec.Expected))
	}
	if r := a.PrefillMS; r != nil {
		t.line(fmt.Sprintf("prefill of %s, ms", roofline.Number(float64(q.ISL-q.Cached))), roofline.Number(r.Hard), roofline.Number(r.Expected))
	}
	fmt.Fprintln(w)
}

// work is what a step reads and computes, part by part, whatever the device; NaN where it
// is not known.
type work []float64

func (call *ceilingCall) work() work { return roofline.CeilingPacked(call.packed()) }

// packed is the question as numbers; without a target one device holds it all.
func (call *ceilingCall) packed() []float64 {
	q := call.query.Filled()
	q.TP = max(1, q.TP)
	return roofline.Pack(q)
}

// stateBytes is what the model keeps of a sequence whatever its length.
func (call *ceilingCall) stateBytes() float64 {
	in := call.packed()
	n := 0.0
	for at := roofline.HeadSlots; at < len(in); at += roofline.KindSlots {
		n += in[at+roofline.KindLayers] * in[at+roofline.KindState]
	}
	return n
}

// print is the table of a step's parts. Parts that the model does not have are left out.
func (p work) print(w io.Writer, q roofline.Query) {
	t := table{w}
	t.line("of a step", "read, hard", "expected", "FLOP")
	part := func(name string, hard, expected, flops float64) {
		if !(hard == 0 && flops == 0) {
			t.line(name, inBytes(hard), inBytes(expected), inFLOPs(flops))
		}
	}
	same := func(name string, bytes, flops float64) { part(name, bytes, bytes, flops) }
	weights := "weights"
	if p[roofline.OutExpertBytesRead] > 0 {
		weights = "weights, shared"
	}
	same(weights, p[roofline.OutWeightBytesRead], p[roofline.OutMatrixFLOPs]+p[roofline.OutHeadFLOPs])
	part("experts", p[roofline.OutExpertBytesRead], p[roofline.OutExpertBytesExpected], p[roofline.OutExpertFLOPs])
	same("KV cache", p[roofline.OutKVBytesRead], p[roofline.OutAttentionFLOPs])
	same("state", p[roofline.OutStateBytesRead], p[roofline.OutStateFLOPs])
	flops := 0.0
	for _, slot := range []int{roofline.OutMatrixFLOPs, roofline.OutHeadFLOPs, roofline.OutExpertFLOPs, roofline.OutAttentionFLOPs, roofline.OutStateFLOPs} {
		flops += p[slot]
	}
	all := p[roofline.OutReadBytesPerStep]
	part("together", all, all-p[roofline.OutExpertBytesRead]+p[roofline.OutExpertBytesExpected], flops)
	fmt.Fprintln(w)
}

// table is a name and figures, the figures to the right.
type table struct{ io.Writer }

func (t table) line(name string, cells ...string) {
	fmt.Fprintf(t, "%-22s", name)
	for _, c := range cells {
		fmt.Fprintf(t, " %10s", c)
	}
	fmt.Fprintln(t)
}

// inBytes is a size in the unit that suits it, of 10³, 10⁶ or 10⁹.
func inBytes(b float64) string {
	switch {
	case math.IsNaN(b):
		return "—"
	case b >= 1e8:
		return roofline.Number(b/1e9) + " GB"
	case b >= 1e5:
		return roofline.Number(b/1e6) + " MB"
	case b == 0:
		return "0"
	}
	return roofline.Number(b/1e3) + " kB"
}

// inFLOPs likewise.
func inFLOPs(f float64) string {
	switch {
	case math.IsNaN(f):
		return "—"
	case f >= 1e12:
		return roofline.Number(f/1e12) + " T"
	case f >= 1e9:
		return roofline.Number(f/1e9) + " G"
	case f == 0:
		return "0"
	}
	return roofline.Number(f/1e6) + " M"
}

// inBillions is a count of parameters, whole where it is small.
func inBillions(n int64) string {
	if n < 1e7 {
		return roofline.Number(float64(n))
	}
	return roofline.Number(float64(n)/1e9) + " B"
}
