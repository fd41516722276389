package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// piece is one chunk that carries generated content.
type piece struct {
	at     int64 // CLOCK_MONOTONIC ns or loadgen.Unstamped
	shared bool  // its stamp may be a later chunk's
	tokens int64 // -1: not said
	byIDs  bool  // and said by token ids
	text   bool  // it prints something
	answer bool  // some of what it prints is not reasoning
}

// reading is one response understood.
type reading struct {
	pieces    []piece
	usage     *usage // the last one seen
	counted   bool   // every piece says how many tokens it holds
	ids       bool   // and says so by token ids
	reasoning bool   // some piece was reasoning
	failure   string // in words; "" for a success
	note      string // what a success should say beside its figures
	unknown   []string
	clock     *row.ServerClock // what the server's own clock said
	spec      *row.Spec        // what speculation did in this request
	text      string           // the text so far, where chunks repeat it
	odd       []string         // what the server said beside usage and can't be
	output    output
}

// says is what one event of a stream says, in any dialect. Usage, clock and the like go
// to the reading.
type says struct {
	content bool // it may carry content
	printed printed
	ids     int64 // token ids in it; -1: not given
	total   int64 // the server's count of output tokens so far; -1: not given
	done    bool  // it ends the stream
	failure string
}

// printed is what a chunk prints.
type printed struct{ any, answer, reasoning bool }

// largestEvent is how many bytes one event may hold: read into memory it takes many times
// as much. All of an answer may come in one, and the ids of the prompt with it.
func largestEvent(c *loadgen.Call) int { return int(max(4<<20, 64*c.OSL+16*c.ISL)) }

// doneMark ends an event stream of most servers.
const doneMark = "[DONE]"

// read understands one response, in the dialect of the route it came from.
func read(o *loadgen.Outcome) *reading {
	r := new(reading)
	if redirects(o.HTTPStatus) {
		r.failure = redirected(o.HTTPStatus, o.Header.Get("Location"))
		return r
	}
	if o.HTTPStatus != 0 && o.HTTPStatus != 200 {
		r.failure = "HTTP " + strconv.Itoa(o.HTTPStatus) + ": "
		switch {
		case o.Err == "":
			r.failure += saidBy(o.Body)
		case len(o.Body) == 0:
			r.failure += o.Err
		default:
			r.failure += saidBy(o.Body) + " (" + o.Err + ")"
		}
		return r
	}
	if o.HTTPStatus == 0 {
		r.failure = orElse(o.Err, "no answer came")
		return r
	}
	d := routeOf(o.Call.Path)
	most := loadgen.MostChunks(o.Call.OSL)
	s := d.framing.split(o.Body, int(most))
	if s.more {
		r.failure = "the answer passed " + itoa(most) + " events: 4 for each token asked for and 1024 beside"
		return r
	}
	done, whyEnd := r.events(o, d, s)
	for _, e := range s.errors {
		if json.Valid(e) && bytes.HasPrefix(e, []byte{'{'}) && r.failure == "" {
			r.failure = errorWords(e)
		}
	}
	switch {
	case r.failure != "":
	case o.Cut:
		r.note = o.Err
	case o.Err != "" && !done:
		r.failure = o.Err
	case len(s.events) == 0 && s.open == nil:
		r.failure = notAStream(o.Body)
	case !done:
		r.failure = whyEnd
		if s.stray != nil {
			r.failure += "; among its events stood: " + visible(s.stray, mostWords)
		}
	case len(r.pieces) == 0:
		r.failure = "ended with no content"
	case o.Err != "":
		r.note = "after " + d.end + ": " + o.Err
	}
	return r
}

// events walks the events and collects the pieces. done says that the end came;
// otherwise why says how the stream ended.
func (r *reading) events(o *loadgen.Outcome, d *route, s stream) (done bool, why string) {
	list := s.events
	r.output.most = len(list) + 1
	why = "ended without " + d.end
	if s.cut && s.open == nil {
		why = "ended inside " + d.framing.a + " " + d.framing.part
	}
	if s.open != nil {
		// The body ended before what ends an event. What is whole may still be read.
		data := bytes.TrimSpace(s.open.data)
		switch {
		case string(data) == doneMark, json.Valid(data):
			list = append(slices.Clip(list), *s.open)
			why += ", and without the " + d.framing.ender + " after its last " + d.framing.part
		default:
			why = "ended inside " + d.framing.a + " " + d.framing.part
		}
	}

	at := stamper{stamps: o.Stamps}
	var before int64 // output tokens so far, by the server's count
	grown := tally{} // what the events with content said of that count
	ids := true
	for _, e := range list {
		data := bytes.TrimSpace(e.data)
		if len(data) == 0 {
			continue
		}
		if done {
			if r.more(d, data, before) {
				r.fail("content after " + d.end)
			}
			continue
		}
		if string(data) == doneMark {
			done = true
			continue
		}
		if len(data) > largestEvent(&o.Call) {
			r.fail("an event of " + strconv.Itoa(len(data)) + " bytes")
			continue
		}
		if e.name == "error" {
			r.fail(errorWords(data)) // whatever it holds
			continue
		}
		r.output.begin()
		said := d.decode(r, data)
		if said.failure != "" {
			r.fail(said.failure)
			continue
		}
		if said.printed.any {
			r.output.end()
		}
		done = done || said.done
		if !said.content {
			continue
		}
		p := piece{tokens: said.ids, byIDs: said.ids >= 0, text: said.printed.any, answer: said.printed.answer}
		r.reasoning = r.reasoning || said.printed.reasoning
		growth := int64(-1)
		if said.total >= 0 {
			growth = max(0, said.total-before)
			before = max(before, said.total)
		}
		grown.add(p.text, growth)
		if !p.text && p.tokens <= 0 && growth <= 0 {
			continue
		}
		ids = ids && (p.byIDs || !p.text)
		p.at, p.shared = at.of(e.end)
		r.pieces = append(r.pieces, p)
		grown.kept = append(grown.kept, growth)
	}
	r.count(ids, grown)
	return done, why
}

// more says whether an event behind the end brings content all the same. What else it
// says counts for nothing.
func (r *reading) more(d *route, data []byte, before int64) bool {
	if string(data) == doneMark || len(data) > 4<<20 {
		return false
	}
	behind := reading{text: r.text}
	said := d.decode(&behind, data)
	return said.content && (said.printed.any || said.ids > 0 || said.total > before)
}

// decoded reads an event's JSON into v, and says what is wrong with it, or "". A field
// of another type is no reason to lose the event; the rest of it is read.
func decoded(data []byte, v any) string {
	err := json.Unmarshal(data, v)
	if err == nil {
		return ""
	}
	var wrongType *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrongType):
		return "an event is not JSON: " + visible(data, 120)
	case data[0] != '{':
		return "an event is not a completion chunk: " + visible(data, 120)
	}
	return ""
}

// tally is what events with content said of the server's count: whether it is a running one.
type tally struct {
	withText, said int     // events that print something; of those, with a count
	silent         int     // events that print nothing, with a count
	kept           []int64 // growth at each piece; -1: not said
}

func (t *tally) add(text bool, growth int64) {
	switch {
	case text && growth >= 0:
		t.withText++
		t.said++
	case text:
		t.withText++
	case growth >= 0:
		t.silent++
	}
}

// running says that the count came with every chunk as a running one, and not once
// beside the last.
func (t *tally) running() bool {
	if t.withText > 0 {
		return t.said == t.withText
	}
	return t.silent > 1
}

// count settles how many tokens each piece holds, and drops those that printed nothing
// and, as it turns out, held none.
func (r *reading) count(ids bool, t tally) {
	running := t.running()
	kept := r.pieces[:0]
	for i, p := range r.pieces {
		switch {
		case ids && p.tokens >= 0:
		case running:
			p.tokens = max(0, t.kept[i])
		default:
			p.tokens = -1
		}
		if p.text || p.tokens > 0 {
			kept = append(kept, p)
		}
	}
	r.pieces = kept
	r.counted, r.ids = len(kept) > 0, len(kept) > 0
	for _, p := range kept {
		r.counted = r.counted && p.tokens >= 0
		r.ids = r.ids && p.byIDs
	}
}

func (r *reading) fail(why string) {
	if r.failure == "" {
		r.failure = why
	}
}

func (p *printed) or(q printed) {
	p.any = p.any || q.any
	p.answer = p.answer || q.answer
	p.reasoning = p.reasoning || q.reasoning
}

// say is what a content value prints; a part of an unknown type is remembered.
func (r *reading) say(raw json.RawMessage, reasoning bool) printed {
	c := contentOf(raw, reasoning)
	if c.answer || c.reasoning {
		r.output.prints(raw)
	}
	if c.unknown != "" {
		r.unknown = append(r.unknown, c.unknown)
	}
	return printed{any: c.answer || c.reasoning, answer: c.answer, reasoning: c.reasoning}
}
