package row

// unplaced is why a figure is missing of requests that nobody knows the sending of.
const unplaced = "the tool does not say when it sent each request"

// unplace takes back what depends on when the requests were sent: rates over a window, and
// which gaps stood beside another session's prefill.
func (d *repeatData) unplace() {
	d.rates = &rates{why: map[string]string{}}
	d.rates.miss(unplaced, rateNames...)
	for _, of := range []struct {
		name string
		v    *values
	}{{"itl_decode_ms", &d.series.decode}, {"ingest_gap_ms", &d.series.ingest}} {
		*of.v = values{}
		d.series.why[of.name] = unplaced
	}
}

// unplacedIn says whether any request is such a one.
func unplacedIn(samples []Sample) bool {
	for i := range samples {
		if samples[i].Unplaced {
			return true
		}
	}
	return false
}
