// Package loadgen offers load to one server and keeps what came back: raw bytes and
// the times they arrived. During a run it looks at HTTP framing and at nothing else;
// what the bytes say is read when the clock has stopped, so that the client does not
// measure itself.
//
// Each stream has one warm connection of its own, and one thread owns them all. When a
// byte arrived is told by the best of three: a packet ring, which stamps every segment
// whatever the client is doing, so that connections are read at leisure (Linux,
// CAP_NET_RAW); the kernel's receive stamp of what a read brought, which is late for all
// but the last of several segments that one read takes (Linux); the time of the read
// (elsewhere). All are CLOCK_MONOTONIC.
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
	Bytes  int64  // that the answer may take where each chunk repeats those before it; 0: they do not

	At      time.Duration // open loop: when it is enqueued, since the start of the repeat's load
	Session int           // open loop: requests of one session follow each other in seq order; 0: of none
	Delay   time.Duration // open loop: enqueued so long after the one before it in its session ended, and not before At
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
	Build       func(seq int) Call // seq counts every request of the repeat, warm-up included; a Call without Path ends the load
	Timeout     time.Duration      // of one request; 0 stands for an hour
	Idle        time.Duration      // between two arrivals of one response's body; 0 stands for two minutes
	Connect     time.Duration      // to open a connection; 0 stands for ten seconds
	Stamps      string             // "", ring, ktime or read; "" takes the best there is
	RingBlocks  int                // blocks of 64 KiB in a packet ring; 0 stands for 256
	Insecure    bool
	Zero        int64 // CLOCK_MONOTONIC ns that the row's times count from

	// Open loop, of the sustained protocol: each request is enqueued at its Call's At
	// whatever became of those before it. Concurrency is then the number of connections
	// opened before the clock starts; more are opened as they are needed. The N timed
	// requests, or those enqueued within Duration, follow Warmup untimed ones: Warmup counts
	// requests here, since there are no passes of c.
	// A request that finds MaxInFlight under way waits for one to end: it is enqueued at
	// its At and sent later. 0 is no limit.
	Open        bool
	MaxInFlight int

	// Stop, where given, ends the load early once it is closed: no further request begins,
	// those under way go on to their own end. It is the gentle form of ending Run's context.
	Stop <-chan struct{}

	// Progress, where given, is called four times a second from one goroutine.
	Progress func(Progress)
}

// Progress is how far a run has come. Its times are of the reads, not of the stamps:
// they are about right, for someone who watches.
type Progress struct {
	Chunks        int64         // of body so far: about the tokens
	Done, Planned int           // requests, warm-up included and drain not; Planned is 0 with a Duration
	Failed        int           // of all requests so far
	First         time.Duration // mean from enqueueing to the first bytes of an answer; 0: none came
	Gap           time.Duration // mean between two chunks of an answer; 0: none came
}

// Unstamped stands in Stamp.At where no clock tells when the bytes arrived: the
// kernel gave no stamp, or the wall clock stepped around it.
const Unstamped = -1

// Stamp says that bytes of the body up to Off (exclusive) had arrived by At.
type Stamp struct {
	Off    int64
	At     int64 // CLOCK_MONOTONIC ns, or Unstamped
	Shared bool  // later bytes came in the same read under the same stamp: At may be late
}

// Outcome is one request as the wire showed it. Times are CLOCK_MONOTONIC ns. Ended is
// when we noticed the end: up to a beat of some milliseconds after it came.
type Outcome struct {
	Seq, Worker, Pass     int
	Phase                 string // row.Phase…
	Call                  Call   // its Body is let go once sent
	Enqueued, Sent, Ended int64  // Sent is 0 where nothing could be written
	HTTPStatus            int
	Header                http.Header
	Body                  []byte  // decoded of transfer and content coding; nil where it waits for Load
	Stamps                []Stamp // increasing in Off; likewise
	Err                   string  // transport failure in words; "" when the body ended cleanly
	Cut                   bool    // a drain request that we ended, since nothing timed was left: no failure

	aside *aside // where Body and Stamps are, when not in memory
}

// Capture is everything one repeat brought back.
type Capture struct {
	Spec     Spec
	Outcomes []Outcome // by Seq
	Stats    row.CaptureStats
	Notes    []string // what a reader of the figures should know
	NoRing   string   // why a ring, had it been free to take, was not to be had; "" else
}
