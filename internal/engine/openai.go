package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// Sample statuses.
const (
	statusOK    = row.StatusOK
	statusError = row.StatusError
)

// mostKinds of unknown content are named.
const mostKinds = 5

// Samples parses what came back into one sample a request, in order, with times in
// whole µs. It also puts the exact number of content chunks under another's stamp, and
// without one, in place of the capture's own upper bounds, and adds to its notes.
//
// How many tokens a chunk holds comes from the token ids in it, else from the growth
// of a usage that every chunk carries. Where the server gives neither, a chunk counts
// as one token; if its usage then says another sum, the sample says so in its reason
// and keeps both. ISL and OSL come from usage alone.
func Samples(c *loadgen.Capture) []row.Sample {
	size := 0
	for i := range c.Outcomes {
		size += len(c.Outcomes[i].Body)
	}
	if size > 64<<20 {
		// The bodies stay; waiting until as much again is garbage would double the memory.
		defer debug.SetGCPercent(debug.SetGCPercent(25))
	}
	out := make([]row.Sample, len(c.Outcomes))
	readings := make([]*reading, len(c.Outcomes))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(readings); i = int(next.Add(1)) - 1 {
				readings[i] = read(&c.Outcomes[i])
			}
		})
	}
	wg.Wait()
	var shared, unstamped int64
	var kinds []string
	for i, r := range readings {
		o, s := &c.Outcomes[i], &out[i]
		*s = r.sample(o, c.Spec.Zero)
		s.Repeat = int64(c.Spec.Repeat)
		if o.Phase == row.PhaseTimed && c.Spec.Protocol == row.Passes {
			s.Pass = int64(o.Pass)
		}
		shared += r.shared()
		for _, g := range s.T {
			if g == row.NoStamp {
				unstamped++
			}
		}
		for _, k := range r.unknown {
			if len(kinds) < 1000 && !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	c.Stats.SharedStamps, c.Stats.Unstamped = shared, unstamped
	for i, k := range kinds {
		if i == mostKinds {
			c.Notes = append(c.Notes, "and content parts of "+strconv.Itoa(len(kinds)-i)+" more types")
			break
		}
		c.Notes = append(c.Notes, "content parts of type "+visible([]byte(k), 40)+" are unknown and were counted as content")
	}
	return out
}

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
}

// usage is the server's own count.
type usage struct {
	Prompt     *whole `json:"prompt_tokens"`
	Completion *whole `json:"completion_tokens"`
	Total      *whole `json:"total_tokens"`
	Prompts    *struct {
		Cached *whole `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Completions *struct {
		Reasoning *whole `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// chunk is the part of a completion chunk that matters here.
type chunk struct {
	Object  string `json:"object"`
	Choices []struct {
		Text     json.RawMessage `json:"text"`
		TokenIDs []int64         `json:"token_ids"`
		Finish   json.RawMessage `json:"finish_reason"`
		Delta    *delta          `json:"delta"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
}

// largestEvent is how many bytes one event may hold: read into memory it takes many times
// as much. All of an answer may come in one, and the ids of the prompt with it.
func largestEvent(c *loadgen.Call) int { return int(max(4<<20, 64*c.OSL+16*c.ISL)) }

// read understands one response.
func read(o *loadgen.Outcome) *reading {
	r := new(reading)
	if redirects(o.HTTPStatus) {
		r.failure = redirected(o.HTTPStatus, o.Header.Get("Location"))
		return r
	}
	if o.HTTPStatus != 0 && o.HTTPStatus != 200 {
		r.failure = "HTTP " + strconv.Itoa(o.HTTPStatus) + ": " + saidBy(o.Body)
		return r
	}
	if o.HTTPStatus == 0 {
		r.failure = orElse(o.Err, "no answer came")
		return r
	}
	most := loadgen.MostChunks(o.Call.OSL)
	s := parseStream(o.Body, int(most))
	if s.more {
		r.failure = "the answer passed " + itoa(most) + " events: 4 for each token asked for and 1024 beside"
		return r
	}
	done, whyEnd := r.events(o, s)
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
	case len(r.pieces) == 0:
		r.failure = "ended with no content"
	}
	return r
}

// events walks the events and collects the pieces. done says that the end mark came;
// otherwise why says how the stream ended.
func (r *reading) events(o *loadgen.Outcome, s stream) (done bool, why string) {
	list := s.events
	why = "ended without [DONE]"
	if s.cut && s.open == nil {
		why = "ended inside an event"
	}
	if s.open != nil {
		// The body ended before the blank line. What is whole may still be read.
		data := bytes.TrimSpace(s.open.data)
		switch {
		case string(data) == "[DONE]", json.Valid(data):
			list = append(slices.Clip(list), *s.open)
			why = "ended without [DONE], and without the blank line after its last event"
		default:
			why = "ended inside an event"
		}
	}

	at := stamper{stamps: o.Stamps}
	var before int64 // completion tokens so far, by usage
	grown := tally{} // what the events with choices said of usage
	ids := true
	for _, e := range list {
		data := bytes.TrimSpace(e.data)
		if len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			done = true
			break
		}
		if len(data) > largestEvent(&o.Call) {
			r.fail("an event of " + strconv.Itoa(len(data)) + " bytes")
			continue
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			// A field of another type is no reason to lose the chunk; the rest is read.
			var wrongType *json.UnmarshalTypeError
			if !errors.As(err, &wrongType) {
				r.fail("an event is not JSON: " + visible(data, 120))
				continue
			}
			if data[0] != '{' {
				r.fail("an event is not a completion chunk: " + visible(data, 120))
				continue
			}
		}
		if isSet(c.Error) || c.Object == "error" || e.name == "error" {
			r.fail(errorWords(data))
			continue
		}
		if c.Usage != nil {
			r.usage = c.Usage
		}
		if len(c.Choices) == 0 {
			continue
		}
		p := piece{tokens: 0}
		hasIDs := false
		for _, ch := range c.Choices {
			t := r.textOf(ch.Text, ch.Delta)
			p.text = p.text || t.any
			p.answer = p.answer || t.answer
			r.reasoning = r.reasoning || t.reasoning
			if ch.TokenIDs != nil {
				hasIDs = true
				p.tokens += int64(len(ch.TokenIDs))
			}
			var finish string
			if json.Unmarshal(ch.Finish, &finish) == nil && (finish == "error" || finish == "abort") {
				r.fail("finish_reason is " + finish)
			}
		}
		growth := int64(-1)
		if c.Usage != nil {
			if n := c.Usage.Completion.value(); n != nil {
				growth = max(0, *n-before)
				before = max(before, *n)
			}
		}
		grown.add(p.text, growth)
		p.byIDs = hasIDs
		if !hasIDs {
			p.tokens = -1
		}
		if !p.text && p.tokens <= 0 && growth <= 0 {
			continue
		}
		ids = ids && (hasIDs || !p.text)
		p.at, p.shared = at.of(e.end)
		r.pieces = append(r.pieces, p)
		grown.kept = append(grown.kept, growth)
	}
	r.count(ids, grown)
	return done, why
}

// tally is what events with choices said of usage: whether it is a running count.
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

// running says that usage came with every chunk as a running count, and not once
// beside the last one.
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

// printed is what a chunk prints.
type printed struct{ any, answer, reasoning bool }

// textOf looks for generated content in a choice. A role alone is none.
func (r *reading) textOf(text json.RawMessage, d *delta) printed {
	var p printed
	say := func(c content) {
		p.any = p.any || c.answer || c.reasoning
		p.answer = p.answer || c.answer
		p.reasoning = p.reasoning || c.reasoning
		if c.unknown != "" {
			r.unknown = append(r.unknown, c.unknown)
		}
	}
	say(contentOf(text, false))
	if d == nil {
		return p
	}
	say(contentOf(d.Content, false))
	say(contentOf(d.Refusal, false))
	say(contentOf(d.ReasoningContent, true))
	say(contentOf(d.Reasoning, true))
	if filled(d.ToolCalls) || filled(d.FunctionCall) {
		say(content{answer: true})
	}
	return p
}

// sample turns the reading into the record that figures are computed from.
func (r *reading) sample(o *loadgen.Outcome, zero int64) row.Sample {
	sent := o.Sent
	if sent == 0 {
		sent = o.Enqueued
	}
	s := row.Sample{
		Phase: o.Phase, I: int64(o.Seq), Worker: int64(o.Worker),
		Enqueued: micros(o.Enqueued - zero), Sent: micros(sent - zero),
		Prompt: o.Call.Prompt, Status: statusOK, Reason: r.note,
	}
	if r.failure != "" {
		s.Status, s.Reason = statusError, r.failure
	}
	r.times(&s, sent)
	var sum int64
	ones := true
	for _, p := range r.pieces {
		sum += p.tokens
		ones = ones && p.tokens == 1
	}
	if r.counted && !ones {
		s.N = make([]int64, len(r.pieces))
		for i, p := range r.pieces {
			s.N[i] = p.tokens
		}
	}
	s.TokensFrom = row.TokensClient
	if r.ids {
		s.TokensFrom = row.TokensIDs
	}
	if o.Cut {
		return s
	}
	if why := r.impossible(r.usage, o.Call.ISL, o.Call.OSL, sum); why != "" {
		if r.failure == "" { // else that is the reason
			s.Status, s.Reason = statusError, why
		}
		return s
	}
	if r.usage != nil {
		r.fillUsage(&s, r.usage, sum)
	}
	return s
}

func (r *reading) times(s *row.Sample, sent int64) {
	var last int64
	for _, p := range r.pieces {
		if p.at == loadgen.Unstamped {
			s.T = append(s.T, row.NoStamp)
			continue
		}
		at := max(last, micros(p.at-sent))
		s.T = append(s.T, at-last)
		last = at
	}
	if !r.reasoning || len(r.pieces) == 0 {
		return
	}
	first := int64(slices.IndexFunc(r.pieces, func(p piece) bool { return p.answer }))
	if first != 0 {
		s.Answer = &first
	}
}

// fillUsage takes the server's counts as sent, and says in the reason where they
// disagree with themselves or with the chunks.
func (r *reading) fillUsage(s *row.Sample, u *usage, sum int64) {
	s.ISL, s.OSL = u.Prompt.value(), u.Completion.value()
	if u.Prompts != nil {
		s.Cached = u.Prompts.Cached.value()
	}
	if s.OSL != nil {
		s.TokensFrom = ""
	}
	var odd []string
	total := u.Total.value()
	if total != nil && s.ISL != nil && s.OSL != nil && *total != *s.ISL+*s.OSL {
		s.UsageTotal = total
		odd = append(odd, "usage does not add up: prompt "+itoa(*s.ISL)+" + completion "+itoa(*s.OSL)+" = "+itoa(*s.ISL+*s.OSL)+
			", total "+itoa(*total)+", "+itoa(*total-*s.ISL-*s.OSL)+" in neither")
	}
	switch {
	case s.OSL == nil:
	case *s.OSL == 0 && len(r.pieces) > 0:
		// Content came, so 0 is no count of it.
		why := "usage counts 0 completion tokens, and content came"
		if u.Completions != nil && total != nil && s.ISL != nil {
			if n := u.Completions.Reasoning.value(); n != nil && *n == *total-*s.ISL {
				why += "; total − prompt = " + itoa(*n) + " = reasoning_tokens"
			}
		}
		odd = append(odd, why)
		s.OSL = nil
	case r.counted && sum != *s.OSL:
		odd = append(odd, "usage says "+itoa(*s.OSL)+" tokens, the chunks "+itoa(sum))
	case !r.counted && int64(len(r.pieces)) != *s.OSL && s.UsageTotal == nil:
		odd = append(odd, "usage says "+itoa(*s.OSL)+" tokens, "+itoa(int64(len(r.pieces)))+" chunks carried content, and none says how many")
	}
	if r.failure != "" {
		return // the failure is the reason
	}
	for _, w := range odd {
		if s.Reason != "" {
			s.Reason += "; "
		}
		s.Reason += w
	}
}

// shared counts the pieces whose stamp another piece has too, though they came in
// different chunks of the transfer.
func (r *reading) shared() int64 {
	var n int64
	for i, p := range r.pieces {
		if p.shared && i+1 < len(r.pieces) && r.pieces[i+1].at == p.at && p.at != loadgen.Unstamped {
			n++
		}
	}
	return n
}

// stamper finds stamps for offsets that only grow.
type stamper struct {
	stamps []loadgen.Stamp
	i      int
}

// of returns the stamp of the byte before end.
func (s *stamper) of(end int64) (at int64, shared bool) {
	for s.i < len(s.stamps) && s.stamps[s.i].Off < end {
		s.i++
	}
	if s.i == len(s.stamps) {
		return loadgen.Unstamped, false
	}
	return s.stamps[s.i].At, s.stamps[s.i].Shared
}

// micros rounds ns to whole µs, halves up.
func micros(ns int64) int64 {
	if ns < 0 {
		return -((-ns + 499) / 1000)
	}
	return (ns + 500) / 1000
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}
