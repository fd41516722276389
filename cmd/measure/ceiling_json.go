package main

import (
	"math"
	"strings"

	"rowproof/internal/checkpoint"
	"rowproof/internal/roofline"
)

// ceilingForm is the answer for a program.
type ceilingForm struct {
	Query ceilingAsked `json:"query"`
	roofline.Answer
	StateBytes  float64      `json:"state_bytes_per_sequence,omitempty"`
	Resident    resident     `json:"resident"`
	WeightsFile *weightsFile `json:"weights_file,omitempty"`
	Parts       any          `json:"parts"` // in place of the answer's, which need a device
}

// resident is what lies in the memory of all devices together, in bytes; null where it is
// not known.
type resident struct {
	Weights   *float64 `json:"weight_bytes"`
	Sequences *float64 `json:"sequence_bytes"` // cache and state of the batch at its context
	Memory    *float64 `json:"memory_bytes"`
}

func (call *ceilingCall) resident(a roofline.Answer) resident {
	q := call.packed()
	devices := q[roofline.SlotTP] * q[roofline.SlotPP] * q[roofline.SlotDP]
	return resident{
		Weights:   a.WeightBytes,
		Sequences: finite(q[roofline.SlotBatch] * roofline.Kept(q, q[roofline.SlotContext])),
		Memory:    finite(q[roofline.SlotMemory] * devices),
	}
}

func finite(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// weightsFile is what the tensors of --weights say of themselves. What stands apart is
// not read in a step.
type weightsFile struct {
	Embedding int64            `json:"embedding_bytes"`
	Head      int64            `json:"head_bytes"` // 0: the embedding is the head
	Experts   int64            `json:"expert_bytes"`
	Rest      int64            `json:"rest_bytes"`
	MTP       int64            `json:"mtp_bytes"`
	Towers    int64            `json:"tower_bytes"`
	Shapes    int64            `json:"shape_bytes"`
	All       int64            `json:"all_bytes"`
	Params    int64            `json:"params"`
	Types     map[string]int64 `json:"weights_by_type"` // of the layers
}

func newWeightsFile(h *checkpoint.Header) *weightsFile {
	if h == nil || h.Params == 0 {
		return nil
	}
	s := &h.Stored
	w := &weightsFile{
		Embedding: s.Embedding, Head: s.Head, Experts: s.Experts, Rest: s.Rest, MTP: h.MTP, Towers: h.Towers, Shapes: h.Shapes,
		All:    s.Embedding + s.Head + s.Experts + s.Rest + h.MTP + h.Towers + h.Shapes,
		Params: h.Params, Types: map[string]int64{},
	}
	for _, t := range h.Types {
		w.Types[t.Name] = t.Weights
	}
	return w
}

// String lists the parts of the file that are there.
func (w *weightsFile) String() string {
	parts := []string{}
	for _, p := range []struct {
		bytes int64
		of    string
	}{{w.Embedding, "embedding"}, {w.Head, "head"}, {w.Experts, "experts"}, {w.Rest, "all other layers and norms"},
		{w.MTP, "MTP, read only where it drafts"}, {w.Towers, "towers, not read"}, {w.Shapes, "shapes, not read"}} {
		if p.bytes > 0 {
			parts = append(parts, inBytes(float64(p.bytes))+" "+p.of)
		}
	}
	return roofline.Number(float64(w.All)) + " bytes of tensors: " + strings.Join(parts, " + ")
}

func (call *ceilingCall) form(a roofline.Answer) ceilingForm {
	f := ceilingForm{Query: call.asked(), Answer: a, StateBytes: call.stateBytes(), Resident: call.resident(a), WeightsFile: newWeightsFile(call.header), Parts: a.Parts}
	if a.Parts == nil {
		f.Parts = call.work().known()
		for _, time := range partTimes {
			a.Missing[time] = a.Missing["parts"]
		}
		delete(a.Missing, "parts")
	}
	return f
}

// explain puts the flag that would help beside a reason.
func (call *ceilingCall) explain(missing map[string]string) {
	for name, reason := range missing {
		switch {
		case reason == "no target":
			missing[name] = "no target was given: --target"
		case call.header != nil && call.header.Params == 0 && strings.HasPrefix(reason, "no weight format is known"):
			missing[name] = "not in " + call.weights + ", which holds no tensors: --weights-dtype would state a format"
		}
	}
}

// ceilingAsked is the question with its defaults filled in.
type ceilingAsked struct {
	Recipe       string   `json:"recipe,omitempty"`
	Config       string   `json:"config,omitempty"`
	Weights      string   `json:"weights,omitempty"`
	Model        string   `json:"model"`
	Target       *string  `json:"target"`
	WeightsDtype string   `json:"weights_dtype"`
	KVDtype      string   `json:"kv_dtype"`
	Batch        int64    `json:"batch"`
	Context      int64    `json:"context"`
	ISL          int64    `json:"isl"`
	OSL          int64    `json:"osl"`
	Concurrency  int64    `json:"concurrency"`
	Cached       int64    `json:"cached"`
	Chunk        int64    `json:"chunk"`
	TP           int64    `json:"tp"`
	PP           int64    `json:"pp"`
	DP           int64    `json:"dp"`
	DCP          int64    `json:"dcp"`
	StateDtype   string   `json:"state_dtype,omitempty"`
	EP           int64    `json:"ep"`
	Gamma        int64    `json:"gamma"`
	Acceptance   *float64 `json:"acceptance"`
	Accepted     *float64 `json:"accepted"`
	MTP          bool     `json:"mtp"`
}

func (call *ceilingCall) asked() ceilingAsked {
	q := call.query.Filled()
	a := ceilingAsked{
		Recipe: call.recipe, Config: call.config, Weights: call.weights,
		Model: q.Model.Name, WeightsDtype: q.WeightDtype, KVDtype: q.KVDtype,
		Batch: q.Batch, Context: q.Context, ISL: q.ISL, OSL: q.OSL,
		Concurrency: q.Concurrency, Cached: q.Cached, Chunk: q.Chunk,
		TP: q.TP, PP: q.PP, DP: q.DP, DCP: q.DCP, StateDtype: q.StateDtype, EP: q.EP, Gamma: q.Gamma, MTP: q.MTPDrafts,
	}
	if q.Target != nil {
		a.Target = &q.Target.Name
	} else {
		a.TP = max(1, a.TP)
	}
	if call.flags.Changed("acceptance") {
		a.Acceptance = &q.Acceptance
	}
	if q.Accepted > 0 {
		a.Accepted = &q.Accepted
	}
	return a
}

// partTimes are the parts that are times, and so need a device.
var partTimes = []string{"memory_ms", "compute_ms", "communication_ms"}

// known is the parts as the answer names them, for a model whose times need a device.
func (p work) known() map[string]*float64 {
	parts := map[string]*float64{}
	for _, time := range partTimes {
		parts[time] = nil
	}
	for name, slot := range map[string]int{
		"weight_bytes_read": roofline.OutWeightBytesRead, "expert_bytes_read": roofline.OutExpertBytesRead,
		"expert_bytes_read_expected": roofline.OutExpertBytesExpected, "kv_bytes_read": roofline.OutKVBytesRead,
		"state_bytes_read": roofline.OutStateBytesRead, "matrix_flops": roofline.OutMatrixFLOPs, "expert_flops": roofline.OutExpertFLOPs,
		"head_flops": roofline.OutHeadFLOPs, "attention_flops": roofline.OutAttentionFLOPs, "state_flops": roofline.OutStateFLOPs,
	} {
		parts[name] = finite(p[slot])
	}
	return parts
}
