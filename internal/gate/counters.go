package gate

import "rowproof/internal/row"

// counterShare and counterSlack are how far a server's counters may lie outside what the
// requests explain. A counter runs behind or ahead by what is under way as it is read:
// of the rows that are published none is off by 0.2%.
const (
	counterShare = 0.01
	counterSlack = 64 // tokens, and two for each request
)

const counterMend = "keep all other clients off the server while a row is measured"

// counters holds what the server counted during the row against the requests: more is
// another client's, less was never served. Requests that failed or were cut short may
// have cost the server all that they asked for, or nothing.
func (in *Input) counters() (of *Result, figures []Compared) {
	told := row.CountedFrom(in.Evidence)
	if in.Report.Receipt.Engine.Name == "vllm" && told.Generated == nil && in.Evidence != nil &&
		in.Evidence.Unread["metrics"] == "" && in.Row.Starts() < 2 {
		r := missing("the server's own count of generated tokens, rising over the row: vLLM exposes one, and no reason is given why it is not among the evidence",
			"keep the evidence file as bench wrote it")
		return &r, nil
	}
	w := &in.Row.Workload
	var least, most, leastPrompts, mostPrompts int64
	for i := range in.Samples {
		s := &in.Samples[i]
		n := s.ChunkTokens()
		if s.OSL != nil {
			n = max(n, *s.OSL)
		}
		isl := askedISL(s, w)
		if s.ISL != nil {
			isl = *s.ISL
		}
		if s.OK() && !s.Cut() {
			least, leastPrompts = least+n, leastPrompts+isl
		} else {
			n = max(n, askedOSL(s, w))
		}
		most, mostPrompts = most+n, mostPrompts+isl
	}
	if p := in.Row.Server.Preemptions; p != nil && mostPrompts > 0 {
		mostPrompts += *p * (mostPrompts/int64(len(in.Samples)) + 1) // begun again, and counted again
	}
	for _, h := range []struct {
		name        string
		found       *int64
		least, most int64
	}{{"generated", told.Generated, least, most}, {"prompt", told.Prompts, leastPrompts, mostPrompts}} {
		if h.found == nil {
			continue
		}
		figures = append(figures, Compared{h.name + " tokens by the server's counter", itoa(*h.found), span(row.Range{Min: h.least, Max: h.most})})
		slack := counterSlack + 2*int64(len(in.Samples)) + int64(counterShare*float64(h.most))
		text := ""
		switch {
		case *h.found > h.most+slack:
			text = "the server counted " + itoa(*h.found) + " " + h.name + " tokens during the row, and its requests hold at most " + itoa(h.most) + ": it served others too"
		case *h.found < h.least-slack:
			text = "the server counted " + itoa(*h.found) + " " + h.name + " tokens during the row, and its requests brought " + itoa(h.least) + ": they are not of this server, or not of this row"
		}
		if text != "" {
			r := fail(text, figures...)
			r.Mend = counterMend
			return &r, nil
		}
	}
	return nil, figures
}

// answeredRequests holds how many requests ran to their end by the server's count against
// the samples: those that did, and at most those that failed or were ended by us besides.
func (in *Input) answeredRequests(figures *[]Compared) *Result {
	served, ok := row.ServedFrom(in.Evidence)
	if !ok || in.Row.Starts() > 1 {
		return nil
	}
	var whole int64
	for i := range in.Samples {
		if s := &in.Samples[i]; s.OK() && !s.Cut() {
			whole++
		}
	}
	all := int64(len(in.Samples))
	*figures = append(*figures, Compared{"requests that ran to their end by the server's count", itoa(served.Requests), span(row.Range{Min: whole, Max: all})})
	text := ""
	switch {
	case served.Requests < whole:
		text = "the server counted " + count(served.Requests, "request") + " that ran to the end during the row, and its samples hold " + itoa(whole) + ": they are not of this server, or not of this row"
	case served.Requests > all:
		text = "the server counted " + count(served.Requests, "request") + " that ran to the end during the row, and its samples hold " + itoa(all) + " in all: it served others too, or samples were left out"
	default:
		return nil
	}
	r := fail(text, *figures...)
	r.Mend = counterMend
	return &r
}
