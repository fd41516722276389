package row

import "math"

// ReceiptSchema is the form of the files that measure receipt writes.
const ReceiptSchema = "rowproof-receipt/1"

// ReceiptFile is what was read beside a server for a run whose client sits elsewhere. The
// times in Evidence count from its own zero.
type ReceiptFile struct {
	Schema   string   `json:"schema"`
	At       string   `json:"at"`    // when it was begun, RFC 3339 in UTC
	Until    string   `json:"until"` // of the last reading; At where it does not watch
	Ended    string   `json:"ended"` // why the watch ended; "" while it goes on, and where there is none
	Watch    bool     `json:"watch"`
	Host     string   `json:"host"` // the machine's name
	Tool     Tool     `json:"tool"`
	Receipt  Receipt  `json:"receipt"`
	Evidence Evidence `json:"evidence"` // the run's line, Row = -1, with the readings of the watch
}

// ClocksApart is by how many µs the wall clocks of two hosts may differ where readings of
// one are placed beside those of the other.
const ClocksApart = 1_000_000

// Lasted is when the last of the requests was seen for the last time, in µs since the row's
// zero.
func Lasted(samples []Sample) int64 {
	last := int64(0)
	for i := range samples {
		s := &samples[i]
		at, ok := s.LastContent()
		if !ok {
			at = max(s.Enqueued, s.Sent)
		}
		last = max(last, at)
	}
	return last
}

// startSeries is the series by which a process tells when it began, in seconds since 1970.
const startSeries = "process_start_time_seconds"

// tokenCounters are the engines' counts since their start, of generated tokens and of
// prompt tokens.
var tokenCounters = [][2]string{
	{"vllm:generation_tokens_total", "vllm:prompt_tokens_total"},
	{"sglang:generation_tokens_total", "sglang:prompt_tokens_total"},
	{"llamacpp:tokens_predicted_total", "llamacpp:prompt_tokens_total"},
	{"lmdeploy:generation_tokens_total", "lmdeploy:prompt_tokens_total"},
	{"rowproof:generation_tokens_total", "rowproof:prompt_tokens_total"},
}

// Totals are a server's own counts of tokens since its start in one reading; nil where it
// shows none. A counter that is there only once it counts is 0 beside the other.
func (m *MetricSample) Totals() Counted {
	r := reading{samples: []MetricSample{*m}}
	for _, names := range tokenCounters {
		generated, some := r.at(0, names[0], false)
		prompts, others := r.at(0, names[1], false)
		if some || others {
			return Counted{whole(&generated), whole(&prompts)}
		}
	}
	return Counted{}
}

// StartedAt is when the process that answered began, in seconds since 1970; ok is false
// where it does not say, or where several processes answered.
func (m *MetricSample) StartedAt() (at float64, ok bool) {
	v, ok := m.Values[startSeries]
	return v, ok && !math.IsNaN(v) && v > 0
}

// ClocksBetween is by how many µs the clock of the host on which a receipt was watched is
// ahead of the client's, at least and at most: both read one counter, which only grows, so
// that a higher reading is a later one. ok is false where the readings do not bound it on
// both sides, or where no one clock explains them.
func ClocksBetween(ev *Evidence) (least, most int64, ok bool) {
	type point struct{ at, tokens int64 }
	points := func(samples []MetricSample) (out []point) {
		for i := range samples {
			if n := samples[i].Totals().Generated; n != nil {
				out = append(out, point{samples[i].At, *n})
			}
		}
		return out
	}
	watched, own := points(ev.Watched), points(ev.Metrics)
	var below, above bool
	for _, w := range watched {
		for _, c := range own {
			switch ahead := w.at - c.at; {
			case w.tokens > c.tokens && (!above || ahead < most):
				most, above = ahead, true
			case w.tokens < c.tokens && (!below || ahead > least):
				least, below = ahead, true
			}
		}
	}
	return least, most, below && above && least <= most
}
