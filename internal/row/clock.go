package row

// ServerClock is what a server's own clock said of one request, in ns; nil where it did
// not say.
type ServerClock struct {
	Load    *int64 `json:"load_ns,omitempty"`    // the model's loading, before the prompt
	Prefill *int64 `json:"prefill_ns,omitempty"` // of the prompt tokens that no cache served
	Decode  *int64 `json:"decode_ns,omitempty"`
	Total   *int64 `json:"total_ns,omitempty"` // the whole request, loading counted in
}
