package main

import (
	"fmt"
	"io"
	"strings"

	"rowproof/internal/roofline"
)

// print answers a person: the sentence, the figures, how they come about.
func (call *ceilingCall) print(w io.Writer, a roofline.Answer) {
	q := call.query.Filled()
	fmt.Fprintln(w, sentence(q, a))
	fmt.Fprintln(w)
	call.table(w, a)
	say := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
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
	}
	say("Parameters", "%s B, of which a step reads %s B", roofline.Number(float64(a.TotalParams)/1e9), roofline.Number(float64(a.ReadParams)/1e9))
	if a.WeightBytes != nil && a.KVBytesPerToken != nil {
		say("Bytes", "%s GB of weights, %s bytes of KV a token", roofline.Number(*a.WeightBytes/1e9), roofline.Number(*a.KVBytesPerToken))
	}
	if a.Fits != nil {
		fits := "does not fit"
		if *a.Fits {
			fits = "fits"
		}
		if a.MaxConcurrency != nil {
			length := q.Context
			if length == 0 {
				length = q.ISL + q.OSL
			}
			fits += fmt.Sprintf("; at most %s of %s tokens", count(*a.MaxConcurrency, "sequence"), roofline.Number(float64(length)))
		}
		say("Memory", "%s", fits)
	}
	if r := a.Serving; r != nil {
		say("Serving", "%d:%d at c = %d: TTFT at least %s ms, at most %s output tok/s, %s output tok/s per GPU", q.ISL, q.OSL, q.Concurrency,
			roofline.Number(r.TTFTMS), roofline.Number(r.OutputTokPerSec), roofline.Number(r.PerGPU))
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

// sentence is the answer in words.
func sentence(q roofline.Query, a roofline.Answer) string {
	where := ""
	if q.Target != nil {
		where = " on " + q.Target.Name
		if n := q.TP * q.PP; n != q.Target.Count {
			where = fmt.Sprintf(" on %d of %s", n, q.Target.Name)
		}
	}
	load := fmt.Sprintf("%s with %s cached tokens each", count(q.Batch, "sequence"), roofline.Number(float64(q.Context)))
	s := fmt.Sprintf("%s%s, %s weights, %s KV, %s: ", q.Model.Name, where, q.WeightDtype, q.KVDtype, load)
	switch {
	case q.Target == nil && a.ReadBytesPerStep != nil:
		s += fmt.Sprintf("a step reads %s GB; how fast that is depends on the --target.", roofline.Number(*a.ReadBytesPerStep/1e9))
	case a.DecodeStepMS == nil:
		s += "not computable: " + a.Missing["decode_step_ms"] + "."
	default:
		s += fmt.Sprintf("at most %s tok/s; %s binds.", roofline.Number(a.DecodeTokPerSec.Hard), a.Binding)
	}
	if a.Fits != nil && !*a.Fits {
		s = "Does not fit. " + s
	}
	return s
}

// table holds the times and rates, a roof in each column.
func (call *ceilingCall) table(w io.Writer, a roofline.Answer) {
	if a.DecodeStepMS == nil && a.PrefillMS == nil {
		return
	}
	line := func(name string, values ...float64) {
		fmt.Fprintf(w, "%-22s", name)
		for _, v := range values {
			fmt.Fprintf(w, " %10s", roofline.Number(v))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-22s %10s %10s %10s\n", "", "hard", "expected", "serial")
	if r := a.DecodeStepMS; r != nil {
		line("decode step, ms", r.Hard, r.Expected, r.Serial)
		line("decode, tok/s", a.DecodeTokPerSec.Hard, a.DecodeTokPerSec.Expected)
	}
	if r := a.PrefillMS; r != nil {
		line(fmt.Sprintf("prefill of %s, ms", roofline.Number(float64(call.query.ISL))), r.Hard, r.Expected)
	}
	fmt.Fprintln(w)
}
