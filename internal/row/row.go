// Package row holds the records that every part of Rowproof exchanges: a Report
// (one run: what the host and the server said of themselves, the rows it measured),
// a Row (one workload, its figures and where its proof lies) and the Samples behind
// each figure. It also computes the figures from the samples, so that the host that
// measured, the generator and a reader's browser run the same arithmetic. It is pure:
// no I/O, no clock, and it compiles to WebAssembly as it is.
package row

import "rowproof/internal/roofline"

// Schema is the form of the reports that this version writes, Schemas every one that it
// reads: a number for each time that a gate came to need a field that older ones lack.
const Schema = "rowproof/2"

// Schemas in the order of their numbers, from 1.
var Schemas = []string{"rowproof/1", Schema}

// Report is one run of the tool against one server.
type Report struct {
	Schema     string   `json:"schema"`
	Recipe     string   `json:"recipe"` // MODEL/TARGET/STRATEGY/ENGINE; "" when the run named none
	AsItWas    *AsItWas `json:"as_it_was"`
	MeasuredAt string   `json:"measured_at"` // RFC 3339, UTC
	Tool       Tool     `json:"tool"`
	Receipt    Receipt  `json:"receipt"`
	Client     Client   `json:"client"`
	Rows       []Row    `json:"rows"`
}

// EmbeddedEngine is the name by which the embedded engine reports itself.
const EmbeddedEngine = "embedded"

// Simulated says whether the run drove the embedded engine, whose rows measure nothing
// and are never published.
func (r *Report) Simulated() bool { return r.Receipt.Engine.Name == EmbeddedEngine }

// AsItWas keeps the catalog files that the run was measured against, so that a later
// edit of a recipe never changes what an old row is judged by.
type AsItWas struct {
	Recipe Recipe          `json:"recipe"`
	Model  roofline.Model  `json:"model"`
	Target roofline.Target `json:"target"`
}

// Tool says which build wrote the report and how it was called.
type Tool struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision"`
	Go       string   `json:"go"`
	Command  []string `json:"command"` // secrets masked
}

// Client is what the load generator says of its own clock.
type Client struct {
	Stamps   string    `json:"stamps"`         // ring, ktime or read
	Boot     string    `json:"boot,omitempty"` // the kernel's id of the boot that the client ran on
	Selftest *Selftest `json:"selftest"`
}

// Selftest is the client's error against an engine whose truth is known, on this host:
// with Streams at once, which are as many as the run opened or more.
type Selftest struct {
	Streams     int64     `json:"streams"`
	ITLErrorNS  ErrorDist `json:"itl_error_ns"`
	TTFTErrorNS ErrorDist `json:"ttft_error_ns"`
	Gaps        int64     `json:"gaps"`

	// Of a calibration that was made beforehand: each of its levels, when it began, and
	// the boot, the stamps and the program's revision that it holds for. Gate client asks
	// that they are those of the run: Client.Boot, Client.Stamps and Tool.Revision.
	Levels     []SelftestLevel `json:"levels,omitempty"`
	MeasuredAt string          `json:"measured_at,omitempty"`
	Boot       string          `json:"boot,omitempty"`
	Stamps     string          `json:"stamps,omitempty"`
	Revision   string          `json:"revision,omitempty"`
}

// SelftestLevel is a selftest with one number of streams.
type SelftestLevel struct {
	Streams     int64     `json:"streams"`
	ITLErrorNS  ErrorDist `json:"itl_error_ns"`
	TTFTErrorNS ErrorDist `json:"ttft_error_ns"`
	Gaps        int64     `json:"gaps"`
}

// ErrorDist is a distribution of |measured − true|.
type ErrorDist struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Status of a row.
const (
	StatusOK    = "ok"
	StatusError = "error"
)

// Row is one measured record.
type Row struct {
	ID        string            `json:"id"`
	Workload  Workload          `json:"workload"`
	Status    string            `json:"status"`
	Reason    string            `json:"reason"`
	Notes     []string          `json:"notes"`
	Figures   Figures           `json:"figures"`
	Missing   map[string]string `json:"missing"` // figure name → why it is null
	PerRepeat []Repeat          `json:"per_repeat"`
	Counts    Counts            `json:"counts"`
	Server    Server            `json:"server"`
	Samples   SamplesRef        `json:"samples"`
	Proof     Proof             `json:"proof"`
	Import    *Import           `json:"import,omitempty"` // of a row that another tool measured
}

// Protocols of load; they never share a front.
const (
	Passes    = "passes"
	Sustained = "sustained"
)

// Workload is shape, load and prompts.
type Workload struct {
	Kind      string            `json:"kind"` // text
	Protocol  string            `json:"protocol"`
	Endpoint  string            `json:"endpoint"` // the route, such as /v1/completions or /generate
	ISL       int64             `json:"isl"`
	OSL       int64             `json:"osl"`
	Load      Load              `json:"load"`
	Prompts   Prompts           `json:"prompts"`
	Sampling  Sampling          `json:"sampling"`
	ExtraBody map[string]string `json:"extra_body"` // key → JSON text
	Sessions  *int64            `json:"sessions"`   // that the timed requests are of; null: none
	Seed      string            `json:"seed"`
	Warmup    int64             `json:"warmup"` // passes of c requests; of an open loop, requests
	Iters     *int64            `json:"iters"`  // passes only
	Repeats   int64             `json:"repeats"`
	Requests  *int64            `json:"requests"` // sustained: timed requests a repeat; null with a duration
	DurationS *int64            `json:"duration_s"`

	// Of a dataset or a trace: how its lengths lie, ISL and OSL then being the medians, and
	// how many tokens one hash id of the trace stands for.
	Lengths *Lengths `json:"lengths,omitempty"`
	Block   *int64   `json:"block,omitempty"`
}

// Lengths are how many tokens the requests asked for, over those of one repeat.
type Lengths struct {
	ISLP50 int64 `json:"isl_p50"`
	ISLP99 int64 `json:"isl_p99"`
	OSLP50 int64 `json:"osl_p50"`
	OSLP99 int64 `json:"osl_p99"`
}

// Load is how requests are offered. Rates stay as written ("1.5", "inf").
type Load struct {
	Concurrency *int64  `json:"concurrency"`  // streams kept full; in open loop the requests under way at most, null where there is no most
	RequestRate *string `json:"request_rate"` // open loop: requests a second, inf for all at once, or trace for the trace's own times
	Burstiness  *string `json:"burstiness"`   // of a finite rate
}

// Prompt states.
const (
	Cold = "cold"
	Warm = "warm"
)

// Prompts says what was sent.
type Prompts struct {
	Kind         string  `json:"kind"`  // random, dataset or trace
	State        string  `json:"state"` // cold or warm
	SharedPrefix int64   `json:"shared_prefix"`
	SHA256       *string `json:"sha256"` // of a dataset's or a trace's file
}

// Kinds of prompts.
const (
	PromptsRandom  = "random"
	PromptsDataset = "dataset"
	PromptsTrace   = "trace"
)

// Sampling is what the server was asked to do. Temperature stays as written.
type Sampling struct {
	Temperature roofline.Decimal `json:"temperature"`
	IgnoreEOS   bool             `json:"ignore_eos"`
}

// Interval is a 95% interval from repeats.
type Interval [2]float64

// Dist is one latency figure in milliseconds. A nil percentile has too few samples.
type Dist struct {
	Mean         *float64  `json:"mean"`
	P50          *float64  `json:"p50"`
	P90          *float64  `json:"p90"`
	P95          *float64  `json:"p95"`
	P99          *float64  `json:"p99"`
	N            int64     `json:"n"`
	IntervalMean *Interval `json:"interval_mean,omitempty"`
	IntervalP50  *Interval `json:"interval_p50,omitempty"`
	IntervalP90  *Interval `json:"interval_p90,omitempty"`
	IntervalP95  *Interval `json:"interval_p95,omitempty"`
	IntervalP99  *Interval `json:"interval_p99,omitempty"`
}

// Figures are computed from the samples alone. A nil has its reason in Row.Missing
// under the JSON name of the field; a percentile's reason stands under "ttft_ms.p99".
type Figures struct {
	TTFT      *Dist `json:"ttft_ms"`
	TTFA      *Dist `json:"ttfa_ms"`
	SendTTFT  *Dist `json:"send_ttft_ms"`
	TPOT      *Dist `json:"tpot_ms"`
	ITL       *Dist `json:"itl_ms"`
	ITLDecode *Dist `json:"itl_decode_ms"`
	IngestGap *Dist `json:"ingest_gap_ms"`
	ChunkGap  *Dist `json:"chunk_gap_ms"`
	E2E       *Dist `json:"e2e_ms"`

	FirstCall                *float64 `json:"first_call_ms"`
	PrefillTokPerSec         *float64 `json:"prefill_tok_s"`
	UncachedPrefillTokPerSec *float64 `json:"uncached_prefill_tok_s"`
	DecodeTokPerSec          *float64 `json:"decode_tok_s"`
	DecodeWindowTokPerSec    *float64 `json:"decode_window_tok_s"`
	OutputTokPerSec          *float64 `json:"output_tok_s"`
	TotalTokPerSec           *float64 `json:"total_tok_s"`
	OutputTokPerSecPerGPU    *float64 `json:"output_tok_s_per_gpu"`
	TotalTokPerSecPerGPU     *float64 `json:"total_tok_s_per_gpu"`
	RequestPerSec            *float64 `json:"request_s"`
	EnergyPerOutputTok       *float64 `json:"energy_j_per_output_tok"`
	Power                    *float64 `json:"power_w"`
	PeakMemory               *float64 `json:"peak_memory_bytes"`

	// Intervals of the rates above, by JSON name.
	Intervals map[string]Interval `json:"intervals"`
}

// Repeat is one full timed run of the workload.
type Repeat struct {
	ServerStartedAt string   `json:"server_started_at"`
	DecodeTokPerSec *float64 `json:"decode_tok_s"`
	OutputTokPerSec *float64 `json:"output_tok_s"`
	TTFT            *Dist    `json:"ttft_ms"`
	TPOT            *Dist    `json:"tpot_ms"`
	ITL             *Dist    `json:"itl_ms"`
}

// Range is a least and a greatest count.
type Range struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Where token counts came from.
const (
	TokensUsage    = "usage"     // the server's usage object
	TokensIDs      = "token_ids" // ids in the chunks
	TokensClient   = "chunks"    // counted by us: never verified
	TokensTool     = "tool"      // of an import: counted by the tool, from usage or by its own tokenizer
	TokensUnstated = ""          // no request said
)

// Counts are over the timed requests of all repeats, except Retired and Drained.
type Counts struct {
	Planned      int64  `json:"planned"`
	Completed    int64  `json:"completed"`
	Failed       int64  `json:"failed"`
	Retired      int64  `json:"retired"` // completed in any phase but drain
	Drained      int64  `json:"drained"`
	ISL          *Range `json:"isl"`
	OSL          *Range `json:"osl"`
	CachedTokens *int64 `json:"cached_tokens"` // null when the server does not say

	// Of a trace: all prompt tokens, and those of them that the front of a prompt has in
	// common with an earlier one of its repeat, which a cache without bounds would hold.
	PromptTokens *int64 `json:"prompt_tokens,omitempty"`
	CommonTokens *int64 `json:"common_tokens,omitempty"`

	Reasoning        *int64 `json:"reasoning_tokens,omitempty"` // of the output, where usage counts them; left out where none
	TokensFrom       string `json:"tokens_from"`
	Chunks           int64  `json:"chunks"`
	MultiTokenChunks int64  `json:"multi_token_chunks"`
	Unstamped        int64  `json:"unstamped"`
	SharedStamps     int64  `json:"shared_stamps"`
}

// Server is what the engine's own counters said during the row, from its evidence.
type Server struct {
	RunningMax  *int64   `json:"running_max"`
	WaitingMax  *int64   `json:"waiting_max"`
	Preemptions *int64   `json:"preemptions"`
	KVUsageMax  *float64 `json:"kv_usage_max"`
	CachedTok   *int64   `json:"cached_tok"`   // prefix-cache hits over the row, in tokens
	AdmittedTok *int64   `json:"admitted_tok"` // prompt tokens admitted in whole blocks, of one pass of c requests
	PeakActive  *int64   `json:"peak_active_bytes"`
	NumAllocs   *int64   `json:"num_allocs"`
	ParkWaits   *int64   `json:"num_inflight_park_waits"`
	Spec        *Spec    `json:"spec"`
	Clock       *Clock   `json:"clock,omitempty"`
}

// Spec is what speculation did.
type Spec struct {
	Drafts      int64 `json:"drafts"`
	DraftTokens int64 `json:"draft_tokens"`
	Accepted    int64 `json:"accepted"`

	// Generated is how many tokens the server counted over the same time; 0 unknown.
	Generated int64 `json:"generated,omitempty"`
}

// SamplesRef points at the samples file beside the report.
type SamplesRef struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// Proof ties the row's id to its bytes: the SHA-256 of the samples file as stored and
// of the row's line in the evidence file (without its newline); source is of an import.
type Proof struct {
	Samples  *string `json:"samples"`
	Evidence *string `json:"evidence"`
	Source   *string `json:"source"`
}
