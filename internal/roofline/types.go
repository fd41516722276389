// Package roofline says how fast hardware could possibly run a model: parameters from
// the architecture, bytes and FLOPs of a step, and the ceilings that follow. It never
// derates and never flatters: only the hard roof is called a ceiling. It is pure and
// compiles to WebAssembly as it is.
package roofline

import "strconv"

// Decimal is a number as its source wrote it ("1307.4", "989"): text that reaches the
// page, the hash and the arithmetic unchanged.
type Decimal string

// Float is the value, or ok = false for an empty or unreadable text.
func (d Decimal) Float() (v float64, ok bool) {
	if d == "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(d), 64)
	return v, err == nil
}

// Model is one model's identity and architecture (data/models/ID.yaml).
type Model struct {
	Name         string            `json:"name"`
	Publisher    string            `json:"publisher"`
	Licence      string            `json:"licence"`
	Repositories []string          `json:"repositories"` // Hugging Face ids
	Architecture Architecture      `json:"architecture"`
	Weights      []string          `json:"weights"` // formats on offer, the published checkpoint's first
	KV           []string          `json:"kv"`
	Published    Published         `json:"published"`
	Sources      map[string]string `json:"sources"` // field → where the figure stands
}

// Published are the publisher's own counts, kept as checks on ours.
type Published struct {
	TotalParams Decimal `json:"total_params"` // in billions, as published
	TotalExact  int64   `json:"total_exact"`  // 0 when not published
}

// Architecture is what parameters, bytes and FLOPs are computed from.
type Architecture struct {
	Hidden     int64   `json:"hidden"`
	Vocabulary int64   `json:"vocabulary"`
	TiedHead   bool    `json:"tied_head"`
	MaxContext int64   `json:"max_context"`
	Layers     []Layer `json:"layers"` // one entry a kind of layer
}

// Layer is a kind of layer and how many there are.
type Layer struct {
	Count     int64     `json:"count"`
	Attention Attention `json:"attention"`
	FFN       FFN       `json:"ffn"`
	Norms     int64     `json:"norms"` // norms of width hidden in the layer
}

// Attention is grouped-query attention with its variants.
type Attention struct {
	Kind    string `json:"kind"` // gqa
	Heads   int64  `json:"heads"`
	KVHeads int64  `json:"kv_heads"`
	HeadDim int64  `json:"head_dim"`
	QKVBias bool   `json:"qkv_bias"`
	QKNorm  bool   `json:"qk_norm"`
}

// FFN is a gated feed-forward network.
type FFN struct {
	Kind  string `json:"kind"` // dense
	Width int64  `json:"width"`
}

// Target is a device × count (data/targets/ID.yaml).
type Target struct {
	Name            string             `json:"name"`
	Vendor          string             `json:"vendor"`
	Device          string             `json:"device"`
	Architecture    string             `json:"architecture"` // sm_90, gfx942
	Count           int64              `json:"count"`
	MemoryGB        Decimal            `json:"memory_gb"`    // the maker's label, per device
	MemoryBytes     int64              `json:"memory_bytes"` // as a device reports it; 0 unknown
	BandwidthGBs    Decimal            `json:"bandwidth_gb_s"`
	PeakTFLOPs      map[string]Decimal `json:"peak_tflops"`    // dense, by type
	LinkGBs         Decimal            `json:"link_gb_s"`      // per direction, to all peers together
	LinkPeerGBs     Decimal            `json:"link_peer_gb_s"` // per direction to one peer of a full mesh; "" behind a switch
	LinkReduces     bool               `json:"link_reduces"`   // the switch adds up in the network (NVLink SHARP)
	BoardW          Decimal            `json:"board_w"`
	MeasuredCopyGBs Decimal            `json:"measured_copy_gb_s"`

	// MeasuredAllReduceGBs is the bus bandwidth that the largest all-reduces reached on so
	// many devices ("x2"), to be held against LinkGBs. It bounds nothing.
	MeasuredAllReduceGBs map[string]Decimal `json:"measured_allreduce_gb_s,omitempty"`

	MaxMemoryClockMHz int64             `json:"max_memory_clock_mhz"`
	Sources           map[string]string `json:"sources"`
}

// MarshalJSON writes an integer up to 2^53 as a number and anything else as its text,
// so that a canonical hash never depends on how a float is printed.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseInt(string(d), 10, 64); err == nil &&
		n <= 1<<53 && n >= -(1<<53) && strconv.FormatInt(n, 10) == string(d) {
		return []byte(d), nil
	}
	return strconv.AppendQuote(nil, string(d)), nil
}

// UnmarshalJSON reads either form.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		*d = ""
		return nil
	}
	if len(s) > 0 && s[0] == '"' {
		t, err := strconv.Unquote(s)
		if err != nil {
			return err
		}
		s = t
	}
	*d = Decimal(s)
	return nil
}

// Query asks for one ceiling on one device or a group of them.
type Query struct {
	Model       *Model
	Target      *Target
	WeightDtype string // "" means the model's first format
	KVDtype     string // "" means bf16
	Batch       int64  // sequences decoding together; ≥ 1
	Context     int64  // tokens in each sequence's cache that a step reads
	ISL         int64  // prompt length for prefill; 0 means no prefill asked
	Cached      int64  // prompt tokens served from a prefix cache
	OSL         int64  // output length; 0 means no serving bound asked
	Concurrency int64  // requests in flight; 0 means no serving bound asked
	TP          int64  // devices that share each matrix; 0 means as many as the target has for a stage
	PP          int64  // stages that a token passes in turn, each with TP devices of its own; 0 means one
	NoMulticast bool   // the links carry whole messages only: the switch neither copies nor adds up
}

// Roofs of one time: hard is the ceiling; expected and serial are labelled so.
type Roofs struct {
	Hard     float64 `json:"hard"`
	Expected float64 `json:"expected"`
	Serial   float64 `json:"serial"`
}

// Pair of hard and expected.
type Pair struct {
	Hard     float64 `json:"hard"`
	Expected float64 `json:"expected"`
}

// Parts is the working of one decode step: bytes over all devices, times of each roof.
type Parts struct {
	WeightBytes     float64 `json:"weight_bytes_read"`
	KVBytes         float64 `json:"kv_bytes_read"` // with the copies that tensor parallelism keeps
	MemoryMS        float64 `json:"memory_ms"`
	ComputeMS       float64 `json:"compute_ms"`
	CommunicationMS float64 `json:"communication_ms"`
}

// Serving bounds a load of requests of one shape at one concurrency.
type Serving struct {
	TTFTMS          float64 `json:"ttft_ms"`      // no first token comes sooner, alone
	OutputTokPerSec float64 `json:"output_tok_s"` // over all devices
	PerGPU          float64 `json:"output_tok_s_per_gpu"`
}

// Answer is a ceiling with its working. Missing names what could not be computed, by
// JSON name, with the reason; such a field is nil.
type Answer struct {
	ReadParams       int64             `json:"read_params"`
	TotalParams      int64             `json:"total_params"`
	WeightBytes      *float64          `json:"weight_bytes"`        // resident, all devices together
	ReadBytesPerStep *float64          `json:"read_bytes_per_step"` // weights and KV, over all devices
	KVBytesPerToken  *float64          `json:"kv_bytes_per_token"`  // what one token writes over all layers
	DecodeStepMS     *Roofs            `json:"decode_step_ms"`
	DecodeTokPerSec  *Pair             `json:"decode_tok_s"` // aggregate over the batch
	PrefillMS        *Pair             `json:"prefill_ms"`   // one prompt
	Binding          string            `json:"binding"`      // memory, compute or communication; "" when not computed
	Fits             *bool             `json:"fits"`
	MaxConcurrency   *int64            `json:"max_concurrency"` // sequences whose KV fits beside the weights, nothing else resident
	Formula          string            `json:"formula"`
	PrefillFormula   string            `json:"prefill_formula"`
	LinkFormula      string            `json:"link_formula"` // of a decode step, whether or not the links bind; "" on one device
	Parts            *Parts            `json:"parts"`
	Serving          *Serving          `json:"serving"`
	Conventions      []string          `json:"conventions"`
	Sources          []string          `json:"sources"`
	Missing          map[string]string `json:"missing"`
}
