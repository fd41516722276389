// Package host reads what a machine says of itself and of one model server that runs
// on it: devices and their driver by nvidia-smi, amd-smi or rocm-smi, kernel and CPU, the
// server's process with its command line, environment and packages, its image and weights. Receipt reads it once, before the first row;
// a Sampler reads devices and the server's metrics before, during and after a row.
//
// Nothing here is guessed. A reading that could not be taken is left empty and its
// reason stands in Unread under the field's JSON name. Values that look like secrets
// are masked before they reach any result.
package host

import (
	"net/http"
	"net/url"

	"rowproof/internal/row"
)

// ServerRef names the server that a receipt is of. What the caller has learnt from the
// server's own answers is passed in and copied to the receipt.
type ServerRef struct {
	Base     *url.URL    // where it answers; its host and port find the process
	PID      int64       // 0: found by the listening port of Base
	Header   http.Header // authorization, for /metrics
	Insecure bool        // accept any certificate of an https server
	Remote   bool        // its host is another one, so no process or device of this one is read

	Before *row.BeforeLaunch // read before the run started it; nil where it did not

	Engine        string            // vllm, sglang, …, as detected
	Version       string            // letter for letter as the server reports it; "" when it does not
	Model         string            // id that it serves
	Arguments     map[string]string // what the server itself reports of its settings; nil when it does not
	ArgumentsFrom string            // where Arguments come from, such as "GET /server_info"
	Metrics       string            // the path of its metrics; "" is /metrics
	Pool          *row.MemoryPool   // what it says of the memory that it set aside; nil when it does not
}
