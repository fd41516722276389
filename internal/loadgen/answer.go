package loadgen

import "net/http"

// answer is what came back for one request. A framing fills it: status and header once,
// then chunk for each chunk of the transfer coding (or frame of data) as it begins and
// take for its bytes as they come.
type answer struct {
	status int
	header http.Header
}
