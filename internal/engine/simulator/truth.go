package simulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Truth is one line of the truth log: a request and when its tokens really left.
// Times are CLOCK_MONOTONIC nanoseconds of this host.
type Truth struct {
	ID        string  `json:"id"`               // the request's X-Request-Id, or our own
	N         int64   `json:"n"`                // of its answer, whose chunks carry "cmpl-N" or "chatcmpl-N"
	Prompt    string  `json:"prompt,omitempty"` // first 16 hex digits of the SHA-256 of a completion's prompt as it came
	ISL       int     `json:"isl"`
	OSL       int     `json:"osl"` // tokens asked for
	Cached    int     `json:"cached"`
	Received  int64   `json:"received_ns"`  // when the kernel got the end of the request; Arrived where it does not tell
	Arrived   int64   `json:"arrived_ns"`   // when the request had been read
	Scheduled []int64 `json:"scheduled_ns"` // when each token was due
	Sent      []int64 `json:"sent_ns"`      // taken just before each token's write; empty where the answer was not streamed
	Parked    bool    `json:"parked"`       // it found no free slot on arrival
	Status    string  `json:"status"`       // ok, client gone, server stopped, or spoilt by a fault
}

// writeTruth writes a line for each stream that ends, until the channel closes. It
// flushes whenever nothing more is at hand. The first error is returned at the end;
// after it streams are still received, so that nobody waits for them.
func writeTruth(w io.Writer, ended <-chan *stream) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(bw)
	var first error
	for s := range ended {
		if first != nil {
			continue
		}
		t := Truth{
			ID: s.id, N: s.n, Prompt: s.prompt, ISL: s.isl, OSL: s.osl, Cached: s.cached, Received: s.received, Arrived: s.arrived,
			Scheduled: s.scheduled, Sent: s.sent, Parked: s.parked, Status: s.status,
		}
		if first = enc.Encode(t); first == nil && len(ended) == 0 {
			first = bw.Flush()
		}
	}
	if first == nil {
		first = bw.Flush()
	}
	return first
}

// ReadTruth reads a truth log, each request under the number that its answer carries
// (see Number).
func ReadTruth(path string) (map[string]Truth, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	truth := map[string]Truth{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var t Truth
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(truth)+1, err)
		}
		truth[strings.TrimPrefix(t.ID, "rowproof-")] = t
	}
	return truth, lines.Err()
}

// Number is N of the "cmpl-N" or "chatcmpl-N" that each chunk of an answer carries.
func Number(body []byte) string {
	_, after, _ := bytes.Cut(body, []byte("cmpl-"))
	number, _, _ := bytes.Cut(after, []byte(`"`))
	return string(number)
}
