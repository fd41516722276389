package row

import "rowproof/internal/roofline"

// Import is what another tool says of a row that it measured: its own figures beside
// ours, which follow from its samples where its file holds any.
type Import struct {
	Tool    string   `json:"tool"`    // as its users call it: vllm bench serve
	Version string   `json:"version"` // "" where the file does not say
	Format  string   `json:"format"`  // of the file, as package harness names it
	Clock   string   `json:"clock"`   // where its times come from, in words
	Stated  []Stated `json:"stated"`

	// DurationS is what the tool divides by for its rates, as it stands in the file.
	DurationS roofline.Decimal `json:"duration_s,omitempty"`
	// Unsaid are fields of the workload that the file does not say, by their JSON path: what
	// stands there was observed, or stated by whoever imported it.
	Unsaid []string `json:"unsaid,omitempty"`
}

// Stated is one figure as the tool gives it, with its own definition of it.
type Stated struct {
	Name string `json:"name"` // in the file: mean_ttft_ms
	Text string `json:"text"` // letter for letter, NaN too
	Unit string `json:"unit"` // ms, s, tok/s, requests/s; "" of a plain number

	// Figure is ours that it is nearest to, as ttft_ms.p50; "" none. Means says in words how
	// the tool's definition differs from it; "" where it does not.
	Figure string `json:"figure,omitempty"`
	Means  string `json:"means,omitempty"`

	// Rule and Statistic say how the tool makes the figure of its samples, so that it can be
	// made again; Rule is "" where it cannot.
	Rule      string `json:"rule,omitempty"`
	Statistic string `json:"statistic,omitempty"`
}

// Rules by which tools make a figure of their requests. All times count from when the
// tool says that it sent the request.
const (
	RuleTTFT       = "ttft"           // to the first chunk
	RuleE2E        = "e2e"            // to the last
	RuleTPOT       = "tpot"           // (E2E - TTFT) / (tokens - 1), of requests with two tokens or more
	RuleTPOTOrZero = "tpot_or_zero"   // the same, and 0 of a request with fewer
	RuleTPOTWhole  = "tpot_whole"     // E2E / tokens: the first token's time is in it
	RuleChunkGap   = "chunk_gap"      // between chunks, over all requests
	RuleGapMean    = "chunk_gap_mean" // each request's mean gap
	RuleOutputRate = "output_rate"    // output tokens / the tool's duration
	RuleInputRate  = "input_rate"     // prompt tokens / the tool's duration
	RuleTotalRate  = "total_rate"     // both / the tool's duration
	RuleRequests   = "request_rate"   // completed requests / the tool's duration
	RuleUserRate   = "user_rate"      // 1 / TPOT of each request
	RuleCompleted  = "completed"      // how many
	RuleInput      = "input_tokens"   // of each request
	RuleOutput     = "output_tokens"  // of each request
)

// Statistics over the values of a rule; a percentile is "p" and its number, p99.9 too.
const (
	StatMean   = "mean"
	StatMedian = "median" // p50
	StatStd    = "std"    // of the population
	StatStd1   = "std1"   // of a sample: n - 1
	StatSum    = "sum"
	StatMin    = "min"
	StatMax    = "max"
)
