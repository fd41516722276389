package roofline_test

import (
	"math"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// paper is a step or a prompt worked out layer by layer from the formulas as papers and
// model cards write them, without packing, merging or sharing anything: the slow way.
type paper struct {
	matrices, plain, vectors float64 // weights outside experts: of the format, in 16 bits, of norms and biases
	expert                   float64 // weights of all routed experts
	active                   float64 // of those that a token passes
	activeBytes, expertBytes float64
	likely                   float64 // experts' bytes where T tokens choose for themselves
	pairs                    float64 // FLOPs of attention of one decoded token
	prompt                   float64 // FLOPs of attention of a whole prompt
	kv                       float64 // bytes read of one sequence
	reduces                  float64
}

// sees is how many of c tokens in its cache, itself among them, a token attends to.
func sees(t *roofline.Attention, c float64) float64 {
	switch {
	case t.Window > 0:
		return math.Min(c, float64(t.Window))
	case t.Chunk > 0 && c > 0:
		return math.Mod(c-1, float64(t.Chunk)) + 1
	case t.Selected > 0:
		return math.Min(c, float64(t.Selected))
	}
	return c
}

// perWeight is what a weight takes in the format, and what a weight takes that is left alone.
var perWeight = map[string][2]float64{"bf16": {2, 2}, "fp8-tensor": {1, 2}, "nvfp4": {0.5 + 1.0/16, 2}, "q8_0": {34.0 / 32, 4}}

func workOut(q roofline.Query) paper {
	var p paper
	a := &q.Model.Architecture
	h, s := float64(a.Hidden), float64(q.Context)
	w := perWeight[q.WeightDtype]
	tokens := float64(q.Batch)
	p.vectors = h // the last norm
	for i := range a.Layers {
		for range a.Layers[i].Count {
			l := &a.Layers[i]
			t, f := &l.Attention, &l.FFN
			p.vectors += float64(l.Norms) * h
			n, k, d := float64(t.Heads), float64(t.KVHeads), float64(t.HeadDim)
			v := d
			if t.ValueDim > 0 {
				v = float64(t.ValueDim)
			}
			seen, prompted, all := sees(t, s), 0.0, 0.0
			for c := q.Cached + 1; c <= q.ISL; c++ {
				prompted += sees(t, float64(c))
				all += float64(c)
			}
			copies := 1.0
			tp := float64(q.TP)
			switch t.Kind {
			case roofline.GQA:
				p.matrices += h*n*d + h*k*d + h*k*v + n*v*h
				if t.OutputGate {
					p.matrices += h * n * v
				}
				if t.QKVBias {
					p.vectors += n*d + k*d + k*v
				}
				if t.QKNorm {
					p.vectors += 2 * d
				}
				if t.QKNormWide {
					p.vectors += (n + k) * d
				}
				if t.Sinks {
					p.vectors += n
				}
				copies = math.Max(1, tp/k)
				p.kv += k * (d + v) * 2 * seen * copies
				p.pairs += 2 * n * (d + v) * seen
				p.prompt += 2 * n * (d + v) * prompted
			case roofline.MLA:
				rq, r, dn, dr, dv := float64(t.QRank), float64(t.KVRank), float64(t.NopeDim), float64(t.RopeDim), float64(t.ValueDim)
				if rq > 0 {
					p.matrices += h*rq + rq*n*(dn+dr)
					p.vectors += rq
				} else {
					p.matrices += h * n * (dn + dr)
				}
				p.matrices += h*(r+dr) + r*n*(dn+dv) + n*dv*h
				p.vectors += r
				copies = tp
				p.kv += (r + dr) * 2 * seen * copies
				p.pairs += 2 * n * (2*r + dr) * seen
				p.prompt += 2 * n * (dn + dr + dv) * prompted
				if x := t.Indexer; x != nil {
					hi, di := float64(x.Heads), float64(x.HeadDim)
					p.matrices += rq*hi*di + h*di
					p.plain += h * hi
					p.vectors += 2 * di
					p.kv += (di + 4) * s * copies
					p.pairs += 2 * hi * di * s
					p.prompt += 2 * hi * di * all
				}
			}
			if t.OutputBias {
				p.vectors += h
			}
			if t.Kind != roofline.None {
				p.reduces++
			}
			width, gates := float64(f.Width), 3.0
			if f.Ungated {
				gates = 2
			}
			biases := 0.0
			if f.Bias {
				biases = (gates-1)*width + h
			}
			switch f.Kind {
			case roofline.Dense:
				p.matrices += gates * h * width
				p.vectors += biases
			case roofline.MoE:
				e, top := float64(f.Experts), float64(f.TopK)
				one, bytes := gates*h*width+biases, gates*h*width*w[0]+biases*w[1]
				p.plain += e * h
				if f.RouterBias {
					p.vectors += e
				}
				p.matrices += gates * h * float64(f.SharedWidth)
				if f.SharedGate {
					p.plain += h
				}
				p.expert += e * one
				p.active += top * one
				p.activeBytes += top * bytes
				p.expertBytes += e * bytes
				p.likely += e * (1 - math.Pow(1-top/e, tokens)) * bytes
			}
			if f.Kind != roofline.None {
				p.reduces++
			}
		}
	}
	return p
}

// What is packed, merged and shared on the way gives what the slow way gives: counts,
// bytes, FLOPs and the times of each roof.
func TestAgreesWithPaper(t *testing.T) {
	formats := []string{"bf16", "fp8-tensor", "nvfp4", "q8_0"}
	each(t, func(t *testing.T, r rooftest.Random, q roofline.Query) {
		for i := range q.Model.Architecture.Layers {
			if q.Model.Architecture.Layers[i].Attention.State != nil {
				return // states have cases of their own
			}
		}
		q.WeightDtype, q.KVDtype = formats[r.IntN(len(formats))], "bf16"
		q.PP, q.DP, q.DCP, q.EP, q.Gamma, q.Acceptance, q.MTPDrafts, q.Chunk = 0, 0, 0, 0, 0, 0, false, 0
		q.ISL = r.Int64N(500) + 1
		q.Cached = r.Int64N(q.ISL)
		p := workOut(q)
		w := perWeight[q.WeightDtype]
		table := float64(q.Model.Architecture.Hidden * q.Model.Architecture.Vocabulary)
		tableBytes := table * 2
		if q.WeightDtype == "q8_0" {
			tableBytes = table * w[0]
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
				t.Errorf("%s: %v; on paper %v", what, got, want)
			}
		}
		a := answered(t, q)
		rest := p.matrices + p.plain + p.vectors
		near("parameters read", float64(a.ReadParams), rest+p.active+table)
		stored := 2.0
		if q.Model.Architecture.TiedHead {
			stored = 1
		}
		near("parameters", float64(a.TotalParams), rest+p.expert+stored*table)
		restBytes := p.matrices*w[0] + (p.plain+p.vectors)*w[1]
		near("weights kept", *a.WeightBytes, restBytes+p.expertBytes+stored*tableBytes)
		near("weights read", a.Parts.WeightBytes, restBytes+tableBytes)
		fresh := float64(q.ISL - q.Cached)
		near("a prompt's FLOPs", roofline.CeilingPacked(roofline.Pack(q))[roofline.OutPrefillFLOPs], 2*fresh*(rest+p.active)+2*table+p.prompt)
		near("experts read", a.Parts.ExpertBytes, p.activeBytes)
		near("experts read, expected", a.Parts.ExpertBytesExpected, p.likely)
		b := float64(q.Batch)
		near("KV read", a.Parts.KVBytes, b*p.kv)

		number := func(d roofline.Decimal) float64 { v, _ := d.Float(); return v }
		devices := float64(q.TP)
		bandwidth := number(q.Target.BandwidthGBs) * 1e9 * devices
		near("memory", a.Parts.MemoryMS, (restBytes+tableBytes+p.activeBytes+b*p.kv)/bandwidth*1e3)
		bf16 := number(q.Target.PeakTFLOPs["bf16"]) * 1e12 * devices
		peak := bf16
		for _, faster := range map[string][]string{"fp8-tensor": {"fp8"}, "nvfp4": {"fp4"}, "q8_0": {"int8"}}[q.WeightDtype] {
			peak = math.Max(peak, number(q.Target.PeakTFLOPs[faster])*1e12*devices)
		}
		plain := bf16
		if q.WeightDtype == "q8_0" {
			plain = peak
		}
		index := math.Max(bf16, number(q.Target.PeakTFLOPs["fp8"])*1e12*devices)
		indexed := 0.0
		for _, l := range q.Model.Architecture.Layers {
			if x := l.Attention.Indexer; x != nil {
				indexed += float64(l.Count*2*x.Heads*x.HeadDim) * float64(q.Context)
			}
		}
		near("compute", *a.Parts.ComputeMS, b*(2*(p.matrices+p.vectors+p.active)/peak+2*(p.plain+table)/plain+(p.pairs-indexed)/bf16+indexed/index)*1e3)
		link := number(q.Target.LinkGBs) * 1e9
		if q.Target.LinkPeerGBs != "" {
			link = number(q.Target.LinkPeerGBs) * 1e9 * (devices - 1)
		}
		share := 2 * (devices - 1) / devices
		if q.Target.LinkReduces && !q.NoMulticast {
			share = 1
		}
		links := 0.0
		if devices > 1 {
			links = p.reduces * share * b * float64(q.Model.Architecture.Hidden) * 2 / link
		}
		near("communication", a.Parts.CommunicationMS, links*1e3)
		near("hard", a.DecodeStepMS.Hard, max(a.Parts.MemoryMS, *a.Parts.ComputeMS, a.Parts.CommunicationMS))
		near("rate", a.DecodeTokPerSec.Hard, b/a.DecodeStepMS.Hard*1e3)
		near("expected", a.DecodeStepMS.Expected, max((restBytes+tableBytes+p.likely+b*p.kv)/bandwidth*1e3, *a.Parts.ComputeMS, a.Parts.CommunicationMS))
	})
}
