package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Trace is a recorded load: when requests came, how long they were, and which blocks of
// tokens they shared.
type Trace struct {
	Requests []TraceRequest
	Block    int64 // tokens of a block
	Blocks   int64 // blocks that differ, numbered from 0 in the order of their first use
	Sessions int   // numbered from 1 likewise
	SHA256   string
}

// TraceRequest is one line of a trace.
type TraceRequest struct {
	Line          int
	At            time.Duration // since the first request
	Input, Output int64         // tokens
	Blocks        []int64       // of the prompt, of which the last has what is left; one where it states none
	Session       int           // 0: of none
	Turn          int           // its place in its session, from 0
	Delay         time.Duration // after the one before it in its session ended
	Reusable      int64         // prompt tokens that stand at the head of earlier prompts of the trace
}

var traceFields = []string{"timestamp", "input_length", "output_length", "hash_ids", "session_id", "delay"}

// mostMillis bounds a delay, and the time since the first request: a month.
const mostMillis = 31 * 24 * 3600 * 1000

// ReadTrace reads a trace in Mooncake's form, JSON lines of timestamp (ms), input_length,
// output_length (tokens) and hash_ids, with session_id and delay (ms) for the turns of a
// session; block is the tokens that one hash id stands for. input_length is of the whole
// prompt of a turn. A request without hash_ids shares no block. Every wrong line is told,
// with its number.
func ReadTrace(r io.Reader, block int64) (*Trace, error) {
	if block < 1 || block > MostTokens {
		return nil, fmt.Errorf("a block of %d tokens; want 1 to %d", block, MostTokens)
	}
	f := newFile(r)
	t := &traceReader{Trace: Trace{Block: block}, blocks: map[int64]int64{}, sessions: map[string]*session{}, heads: newHeads()}
	if err := f.lines(t.line); err != nil {
		t.wrong.add("the file", "%s", err) // of a kind of its own
	}
	if len(t.Requests) == 0 && t.wrong.count == 0 {
		t.wrong.add("the file", "no request; want lines such as %s", `{"timestamp": 0, "input_length": 1024, "output_length": 128, "hash_ids": [0, 1]}`)
	}
	if err := t.wrong.err(); err != nil {
		return nil, err
	}
	t.SHA256 = f.sha256()
	return &t.Trace, nil
}

// traceReader is a trace half read.
type traceReader struct {
	Trace
	wrong    problems
	blocks   map[int64]int64 // hash id → number
	sessions map[string]*session
	heads    *heads
	zero     float64 // ms of the first request
	latest   float64 // ms
	at       int     // line of latest
	held     int     // block numbers kept
}

type session struct{ number, turns int }

var errMany = errors.New("it has more requests than are read")

// line reads one request; its error ends the reading.
func (t *traceReader) line(number int, line []byte) error {
	place := "line " + strconv.Itoa(number)
	before := t.wrong.count
	wrong := func(format string, a ...any) { t.wrong.add(place, format, a...) }
	members, err := object(line)
	if err != nil {
		wrong("%v", err)
		return t.wrong.enough()
	}
	for name := range members {
		if !isField(name, traceFields) {
			wrong("unknown field %s; want %s", shown([]byte(name)), strings.Join(traceFields, ", "))
		}
	}
	q := TraceRequest{Line: number}
	q.Input = t.tokens(members, "input_length", wrong)
	q.Output = t.tokens(members, "output_length", wrong)
	of := t.session(members["session_id"], wrong)
	ms, stated := millis(members["timestamp"], "timestamp", wrong)
	delay, delayed := millis(members["delay"], "delay", wrong)
	turn := 0
	if of != nil {
		turn = of.turns
		of.turns++
	}
	later := turn > 0
	switch {
	case delayed && !later:
		wrong("delay on what follows nothing; want it on a later turn of a session_id")
	case !later && isNull(members["timestamp"]):
		wrong("no timestamp; want the ms at which the request came")
	}
	ids := t.ids(members["hash_ids"], q.Input, wrong)
	if t.wrong.count > before {
		return t.wrong.enough()
	}
	if len(t.Requests) == 0 {
		t.zero, t.latest, t.at = ms, ms, number
	}
	if stated {
		q.At = duration(ms - t.zero)
	}
	// A later turn waits for the one before it, so that its line may stand early.
	if !later {
		if ms < t.latest {
			wrong("timestamp %s is before that of line %d; want requests in the order in which they came", members["timestamp"], t.at)
			return nil
		}
		t.latest, t.at = ms, number
	}
	q.Delay = duration(delay)
	if of != nil {
		if of.number == 0 {
			t.Sessions++
			of.number = t.Sessions
		}
		q.Session, q.Turn = of.number, turn
	}
	q.Blocks = t.number(ids)
	q.Reusable = t.heads.add(q.Blocks, q.Input, t.Block)
	if len(t.Requests) == MostRequests || t.held+len(q.Blocks) > MostBlocks {
		return fmt.Errorf("line %d: %w: %d requests and %d hash_ids", number, errMany, MostRequests, MostBlocks)
	}
	t.held += len(q.Blocks)
	t.Requests = append(t.Requests, q)
	return nil
}

func isField(name string, fields []string) bool {
	for _, f := range fields {
		if name == f {
			return true
		}
	}
	return false
}

// tokens is a length of a request.
func (t *traceReader) tokens(members map[string]json.RawMessage, name string, wrong func(string, ...any)) int64 {
	v := members[name]
	if isNull(v) {
		wrong("no %s; want tokens from 1 to %d", name, MostTokens)
		return 0
	}
	n, ok := count(v, 1, MostTokens)
	if !ok {
		wrong("%s %s; want tokens from 1 to %d", name, shown(v), MostTokens)
	}
	return n
}

// session finds or begins the session that a request belongs to; nil for none.
func (t *traceReader) session(v json.RawMessage, wrong func(string, ...any)) *session {
	if isNull(v) {
		return nil
	}
	name := string(v)
	if v[0] != '"' {
		if _, ok := count(v, math.MinInt64, math.MaxInt64); !ok {
			wrong("session_id %s; want a text or a whole number", shown(v))
			return nil
		}
	}
	s := t.sessions[name]
	if s == nil {
		s = &session{}
		t.sessions[name] = s
	}
	return s
}

// millis is a time of a request; stated says whether it has one.
func millis(v json.RawMessage, name string, wrong func(string, ...any)) (ms float64, stated bool) {
	if isNull(v) {
		return 0, false
	}
	ms, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(ms >= 0 && ms <= 1<<53) {
		wrong("%s %s; want ms from 0", name, shown(v))
		return 0, false
	}
	return ms, true
}

func duration(ms float64) time.Duration {
	return time.Duration(math.Round(max(0, min(ms, mostMillis)) * 1e6))
}

// ids are a prompt's hash ids, nil where the request states none.
func (t *traceReader) ids(v json.RawMessage, input int64, wrong func(string, ...any)) []int64 {
	if isNull(v) {
		return nil
	}
	var ids []int64
	if json.Unmarshal(v, &ids) != nil {
		wrong("hash_ids %s; want a list of whole numbers", shown(v))
		return nil
	}
	if want := (input + t.Block - 1) / t.Block; input > 0 && int64(len(ids)) != want {
		wrong("%d hash_ids for an input_length of %d; want %d, one for each started %d tokens", len(ids), input, want, t.Block)
	}
	return ids
}

// number gives blocks their numbers; a prompt without ids is a block of its own.
func (t *traceReader) number(ids []int64) []int64 {
	if ids == nil {
		t.Blocks++
		return []int64{t.Blocks - 1}
	}
	for i, id := range ids {
		n, known := t.blocks[id]
		if !known {
			n = t.Blocks
			t.Blocks++
			t.blocks[id] = n
		}
		ids[i] = n
	}
	return ids
}
