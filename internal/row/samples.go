package row

import "strconv"

// Phases of a request, fixed when it is enqueued.
const (
	PhaseFirst = "first" // the cell's very first call
	PhaseWarm  = "warm"
	PhaseRamp  = "ramp"
	PhaseTimed = "timed"
	PhaseDrain = "drain" // enqueued only to keep the streams full until the last timed one ends
)

// NoStamp stands in Gaps for a chunk whose arrival no stamp tells; null in JSON. The
// next delta counts from the last stamped chunk.
const NoStamp = -1

// Gaps are whole µs: the first since the request was sent, each other since the last
// stamped chunk before it.
type Gaps []int64

// Sample is one request. All times are whole µs.
type Sample struct {
	Repeat     int64   `json:"repeat"`
	Pass       int64   `json:"pass,omitempty"` // 0-based among the timed passes; passes protocol only
	Phase      string  `json:"phase"`
	I          int64   `json:"i"`
	Worker     int64   `json:"worker"`
	Enqueued   int64   `json:"enqueued"` // since the row's own zero
	Sent       int64   `json:"sent"`     // since the row's own zero
	ISL        *int64  `json:"isl"`      // observed, from the server's usage
	OSL        *int64  `json:"osl"`      // observed, from the server's usage
	Cached     *int64  `json:"cached"`
	T          Gaps    `json:"t,omitempty"`
	N          []int64 `json:"n,omitempty"`      // tokens in each chunk; left out where all are 1
	Answer     *int64  `json:"answer,omitempty"` // index in t of the first answer chunk, when it is not 0; -1: none came
	Status     string  `json:"status"`
	Reason     string  `json:"reason,omitempty"`
	Prompt     string  `json:"prompt,omitempty"`      // first 16 hex digits of the prompt's SHA-256
	TokensFrom string  `json:"tokens_from,omitempty"` // left out when it is usage
	UsageTotal *int64  `json:"usage_total,omitempty"` // usage.total_tokens, kept where it is not isl + osl
	Reasoning  *int64  `json:"reasoning,omitempty"`   // of osl, by the server's usage; left out where none

	// What the server said of this request beside usage.
	Clock *ServerClock `json:"clock,omitempty"`
	Spec  *Spec        `json:"spec,omitempty"`

	// Of the output, from schema 2 on; NoBigrams is why they are not known.
	Bigrams   *Bigrams `json:"bigrams,omitempty"`
	NoBigrams string   `json:"no_bigrams,omitempty"`

	// What was asked of the request where it is not what the workload says: lengths of a
	// trace or a dataset, and how many tokens the front of the prompt has in common with
	// earlier prompts of its repeat, which a prefix cache without bounds would hold.
	WantISL    *int64 `json:"want_isl,omitempty"`
	WantOSL    *int64 `json:"want_osl,omitempty"`
	WantCached *int64 `json:"want_cached,omitempty"`
	Session    int64  `json:"session,omitempty"` // 0: none

	// In place of T and N where the gaps were not kept: µs since Sent, and counts.
	First  *int64 `json:"first,omitempty"`
	Last   *int64 `json:"last,omitempty"`
	Chunks *int64 `json:"chunks,omitempty"`
	Tokens *int64 `json:"tokens,omitempty"`

	// Unplaced is of an import whose tool does not say when it sent the request: Enqueued and
	// Sent are 0, and only what counts from the sending holds.
	Unplaced bool `json:"unplaced,omitempty"`

	asked int64 // tokens of output, as Compute fills it in; 0: not known
}

// MarshalJSON writes NoStamp as null.
func (g Gaps) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+6*len(g))
	b = append(b, '[')
	for i, v := range g {
		if i > 0 {
			b = append(b, ',')
		}
		if v == NoStamp {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, v, 10)
		}
	}
	return append(b, ']'), nil
}
