// Package loadgen offers load to one server and keeps what came back: raw bytes and
// the times they arrived. During a run it only stores; nothing is parsed until the
// clock has stopped, so that the client does not measure itself.
package loadgen

import (
	"net/http"
	"net/url"
	"time"

	"rowproof/internal/row"
)

// Call is one request, built before the clock starts.
type Call struct {
	Path   string // below the base URL, such as /v1/completions
	Body   []byte
	ISL    int64  // requested prompt length in tokens
	OSL    int64  // requested output length in tokens
	Prompt string // first 16 hex digits of the prompt's SHA-256
}

// Spec is one repeat of one row's load.
type Spec struct {
	Base        *url.URL
	Header      http.Header // authorization and the user's own headers
	Protocol    string      // row.Passes or row.Sustained
	Concurrency int
	Warmup      int                // passes of c requests, untimed
	Iters       int                // passes: timed passes
	Requests    int                // sustained: timed requests; 0 with a Duration
	Duration    time.Duration      // sustained: requests enqueued within it are timed
	Repeat      int                // 0-based; only repeat 0 has a first call
	Build       func(seq int) Call // seq counts every request of the repeat, warm-up included
	Timeout     time.Duration      // of one request, and idle between two of its chunks
	Stamps      string             // "", ktime or read; "" takes the best there is
	Insecure    bool
	Zero        int64                                      // CLOCK_MONOTONIC ns that the row's times count from
	Progress    func(tokensSoFar int64, done, planned int) // called a few times a second; may be nil
}

// Stamp says that bytes of the body up to Off (exclusive) had arrived by At.
type Stamp struct {
	Off    int64
	At     int64 // CLOCK_MONOTONIC ns
	Shared bool  // the read it belongs to may hold several segments under this one stamp
}

// Outcome is one request as the wire showed it. Times are CLOCK_MONOTONIC ns.
type Outcome struct {
	Seq, Worker, Pass     int
	Phase                 string // row.Phase…
	Call                  Call
	Enqueued, Sent, Ended int64
	HTTPStatus            int
	Header                http.Header
	Body                  []byte  // decoded of transfer and content coding
	Stamps                []Stamp // increasing in Off
	Err                   string  // transport failure in words; "" when the body ended cleanly
}

// Capture is everything one repeat brought back.
type Capture struct {
	Spec     Spec
	Outcomes []Outcome // by Seq
	Stats    row.CaptureStats
}
