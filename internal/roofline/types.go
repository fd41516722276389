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
	Name         string       `json:"name"`
	Publisher    string       `json:"publisher"`
	Licence      string       `json:"licence"`
	Repositories []string     `json:"repositories"` // Hugging Face ids
	Architecture Architecture `json:"architecture"`
	Weights      []string     `json:"weights"` // formats on offer, the published checkpoint's first
	KV           []string     `json:"kv"`

	// WeightScope says, by format, which matrices are stored in it where that is not all of
	// the layers': ScopeExperts or ScopeFFN. The others stay in bf16.
	WeightScope map[string]string `json:"weight_scope,omitempty"`

	Published Published         `json:"published"`
	Sources   map[string]string `json:"sources"` // field → where the figure stands
}

// Scopes of a weight format.
const (
	ScopeExperts = "experts" // the routed experts alone
	ScopeFFN     = "ffn"     // every feed-forward network
)

// Published are the publisher's own counts, kept as checks on ours. Publishers count
// different things, so each count says what it holds besides the layers.
type Published struct {
	TotalParams  Decimal  `json:"total_params"`            // in billions, as published
	TotalExact   int64    `json:"total_exact"`             // 0 when not published
	TotalCounts  []string `json:"total_counts,omitempty"`  // of "embedding", "head", "mtp"; empty: embedding and head
	ActiveParams Decimal  `json:"active_params,omitempty"` // in billions, as published; of a model with experts
	ActiveCounts []string `json:"active_counts,omitempty"` // likewise; empty: head
}

// Architecture is what parameters, bytes and FLOPs are computed from. Towers for
// pictures and sound are left out: a text token passes none of them.
type Architecture struct {
	Hidden     int64   `json:"hidden"`
	Vocabulary int64   `json:"vocabulary"`
	TiedHead   bool    `json:"tied_head"`
	MaxContext int64   `json:"max_context"`
	Layers     []Layer `json:"layers"`        // one entry a kind of layer
	MTP        *MTP    `json:"mtp,omitempty"` // null: the checkpoint has none
}

// MTP are the modules that predict tokens beyond the next: one layer each, two norms and
// a projection that joins the hidden state with an embedding. They are read only where
// they draft, and share embedding and head with the model.
type MTP struct {
	Modules int64 `json:"modules"`
	Layer   Layer `json:"layer"` // its count is 1
}

// Layer is a kind of layer and how many there are.
type Layer struct {
	Count     int64     `json:"count"`
	Attention Attention `json:"attention"`
	FFN       FFN       `json:"ffn"`
	Norms     int64     `json:"norms"` // norms of width hidden in the layer
}

// Kinds of attention, or of what stands in its place.
const (
	GQA    = "gqa"    // grouped-query attention with all its variants, of multi-head to multi-query
	MLA    = "mla"    // attention over a compressed latent
	Linear = "linear" // gated delta rule: a state in place of a cache
	Mamba  = "mamba"  // Mamba 2: likewise
	Conv   = "conv"   // a short convolution: the last few tokens in place of a cache
	None   = "none"   // the layer has no such part
)

// Attention mixes tokens. Which fields count depends on its kind.
type Attention struct {
	Kind    string `json:"kind"`
	Heads   int64  `json:"heads"`    // gqa, mla
	KVHeads int64  `json:"kv_heads"` // gqa
	HeadDim int64  `json:"head_dim"` // gqa: of keys, and of values unless value_dim says otherwise
	QKVBias bool   `json:"qkv_bias"`
	QKNorm  bool   `json:"qk_norm"` // gqa: one norm of width head_dim for queries, one for keys

	QKNormWide bool  `json:"qk_norm_wide,omitempty"` // gqa: those norms span all heads together
	OutputBias bool  `json:"output_bias,omitempty"`
	OutputGate bool  `json:"output_gate,omitempty"` // gqa: a gate as wide as the queries on the output
	Sinks      bool  `json:"sinks,omitempty"`       // gqa: a learned logit a head
	Window     int64 `json:"window,omitempty"`      // tokens that a query sees, itself among them; 0: all
	Chunk      int64 `json:"chunk,omitempty"`       // a query sees those of its own chunk of so many; 0: all

	QRank    int64    `json:"q_rank,omitempty"` // mla: 0 where queries are projected directly
	KVRank   int64    `json:"kv_rank,omitempty"`
	NopeDim  int64    `json:"nope_dim,omitempty"`
	RopeDim  int64    `json:"rope_dim,omitempty"`
	ValueDim int64    `json:"value_dim,omitempty"` // mla; gqa where it differs from head_dim
	Selected int64    `json:"selected,omitempty"`  // most tokens that sparse attention reads for a query; 0: all
	Indexer  *Indexer `json:"indexer,omitempty"`   // null: the layer reads what another's indexer selected, or all

	State *State `json:"state,omitempty"` // linear, mamba, conv
}

// Indexer selects the tokens that sparse attention reads (DSA): small queries against one
// small key a token, which it caches in 8 bits with a 4-byte scale.
type Indexer struct {
	Heads   int64 `json:"heads"`
	HeadDim int64 `json:"head_dim"`
}

// State is what a layer keeps of a sequence whatever its length: a matrix a value head,
// and the last inputs of a short convolution. In Mamba 2 the keys are its groups of B and
// C, and the value heads its heads. A conv layer has no matrix: its key_dim is 0, and its
// one value head is as wide as the layer.
type State struct {
	KeyHeads   int64 `json:"key_heads"`
	KeyDim     int64 `json:"key_dim"`
	ValueHeads int64 `json:"value_heads"`
	ValueDim   int64 `json:"value_dim"`
	Conv       int64 `json:"conv"`                  // tokens that the convolution spans
	Bytes      int64 `json:"state_bytes,omitempty"` // of an element of the matrix; 0: 4
	ConvBytes  int64 `json:"conv_bytes,omitempty"`  // of an element of the convolution's inputs; 0: 2
	ConvBias   bool  `json:"conv_bias,omitempty"`   // one a channel
}

// Kinds of feed-forward network.
const (
	Dense = "dense"
	MoE   = "moe"
)

// FFN is a feed-forward network: gate, up and down matrices, of which a token passes one
// set (dense) or those of a few experts (moe).
type FFN struct {
	Kind  string `json:"kind"`  // dense, moe or none
	Width int64  `json:"width"` // of the network, or of one expert

	Ungated     bool  `json:"ungated,omitempty"`      // up and down alone
	Bias        bool  `json:"bias,omitempty"`         // on each matrix, of each expert too
	Experts     int64 `json:"experts,omitempty"`      // routed
	TopK        int64 `json:"top_k,omitempty"`        // routed experts that a token passes
	SharedWidth int64 `json:"shared_width,omitempty"` // of all shared experts together; every token passes them
	SharedGate  bool  `json:"shared_gate,omitempty"`  // one logit a token for the shared expert
	RouterBias  bool  `json:"router_bias,omitempty"`  // one an expert
}

// Target is a device × count (data/targets/ID.yaml).
type Target struct {
	Name            string             `json:"name"`
	Vendor          string             `json:"vendor"`
	Device          string             `json:"device"`       // as its maker's tool calls it
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

	MaxMemoryClockMHz int64 `json:"max_memory_clock_mhz"`

	Also []string `json:"also,omitempty"` // what other tools and older drivers call the device

	MemoryBusBits int64 `json:"memory_bus_bits,omitempty"` // 0 unknown
	CacheBytes    int64 `json:"cache_bytes,omitempty"`     // of the last level before memory; 0 unknown

	Sources map[string]string `json:"sources"`
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
	StateDtype  string // of the matrices of states: fp32, bf16 or fp16; "" means as the architecture says
	Stored      *Stored
	Batch       int64 // sequences decoding together over the whole group; ≥ 1
	Context     int64 // tokens in each sequence's cache that a step reads
	ISL         int64 // prompt length for prefill; 0 means no prefill asked
	Cached      int64 // prompt tokens served from a prefix cache
	Chunk       int64 // prompt tokens that one pass takes; 0 means all of them
	OSL         int64 // output length; 0 means no serving bound asked
	Concurrency int64 // requests in flight; 0 means no serving bound asked
	TP          int64 // devices that share each matrix; 0 means as many as the target has for a stage
	PP          int64 // stages that a token passes in turn, each with TP × DP devices of its own; 0 means one
	DP          int64 // copies of all but the experts, which the copies share; 0 means one
	DCP         int64 // devices of a TP group over which each sequence's cache is dealt out in turn; 0 means one
	EP          int64 // devices over which whole experts are spread; 0 means that experts are split as all else is
	NoMulticast bool  // the links carry whole messages only: the switch neither copies nor adds up

	Gamma      int64   // tokens drafted for each step; 0 means no speculation
	Acceptance float64 // the chance that a drafted token is accepted, 0 to 1
	Accepted   float64 // tokens that a step yields, as measured, in place of Acceptance; 0 means not measured
	MTPDrafts  bool    // the model's own MTP module drafts, and is read for each drafted token
}

// Stored is what the tensors of a checkpoint weigh, in bytes as they lie in the file. It
// replaces what the format alone would say of the weights.
type Stored struct {
	Embedding int64
	Head      int64 // 0 where the embedding is the head
	Experts   int64 // routed experts
	Rest      int64
	From      string // the file
}

// Roofs of one time: hard is the ceiling; the others are labelled expected.
type Roofs struct {
	Hard     float64 `json:"hard"`
	Expected float64 `json:"expected"`
	OpWise   float64 `json:"op_wise"`
	Serial   float64 `json:"serial"`
}

// Pair of hard and expected.
type Pair struct {
	Hard     float64 `json:"hard"`
	Expected float64 `json:"expected"`
}

// Parts is the working of one decode step: bytes and FLOPs over all devices, times of
// each roof.
type Parts struct {
	WeightBytes         float64  `json:"weight_bytes_read"` // all but routed experts
	ExpertBytes         float64  `json:"expert_bytes_read"` // hard: all tokens choose the same
	ExpertBytesExpected float64  `json:"expert_bytes_read_expected"`
	KVBytes             float64  `json:"kv_bytes_read"`    // with the copies that tensor parallelism keeps
	StateBytes          float64  `json:"state_bytes_read"` // read and written
	Distinct            *Pair    `json:"distinct_experts,omitempty"`
	MatrixFLOPs         float64  `json:"matrix_flops"`
	ExpertFLOPs         float64  `json:"expert_flops"`
	HeadFLOPs           float64  `json:"head_flops"`
	AttentionFLOPs      float64  `json:"attention_flops"`
	StateFLOPs          float64  `json:"state_flops"`
	MemoryMS            float64  `json:"memory_ms"`
	ComputeMS           *float64 `json:"compute_ms"` // nil: no dense peak is published
	CommunicationMS     float64  `json:"communication_ms"`
}

// Serving bounds a load of requests of one shape at one concurrency.
type Serving struct {
	TTFTMS          float64  `json:"ttft_ms"`      // no first token comes sooner, alone
	TPOTMS          *float64 `json:"tpot_ms"`      // no further token comes sooner, alone; nil where there is none
	OutputTokPerSec float64  `json:"output_tok_s"` // over all devices
	Expected        float64  `json:"expected_output_tok_s"`
	PerGPU          float64  `json:"output_tok_s_per_gpu"`
}

// Answer is a ceiling with its working. Missing names what could not be computed, by
// JSON name, with the reason; such a field is nil.
type Answer struct {
	ReadParams       int64             `json:"read_params"`
	TotalParams      int64             `json:"total_params"`
	MTPParams        int64             `json:"mtp_params,omitempty"`
	WeightBytes      *float64          `json:"weight_bytes"`        // resident, all devices together
	ReadBytesPerStep *float64          `json:"read_bytes_per_step"` // weights and KV, over all devices
	KVBytesPerToken  *float64          `json:"kv_bytes_per_token"`  // what one token writes over all layers
	DecodeStepMS     *Roofs            `json:"decode_step_ms"`
	TokensPerStep    float64           `json:"tokens_per_step,omitempty"` // that a step yields a sequence: 1 without speculation
	DecodeTokPerSec  *Pair             `json:"decode_tok_s"`              // aggregate over the batch
	PrefillMS        *Pair             `json:"prefill_ms"`                // one prompt
	Binding          string            `json:"binding"`                   // memory, compute or communication; "" when not computed
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
