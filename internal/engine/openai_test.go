package engine

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// say is what a sample says, free of times.
type say struct {
	status, reason   string // the reason need only contain this
	isl, osl, cached int64  // -1: null
	chunks           int
	n                []int64
	answer           int64 // 0: left out
	from             string
	total            int64 // -1: left out
}

func said(s row.Sample) say {
	v := func(p *int64) int64 {
		if p == nil {
			return -1
		}
		return *p
	}
	a := int64(0)
	if s.Answer != nil {
		a = *s.Answer
	}
	return say{s.Status, s.Reason, v(s.ISL), v(s.OSL), v(s.Cached), len(s.T), s.N, a, s.TokensFrom, v(s.UsageTotal)}
}

func (w say) compare(t *testing.T, s row.Sample) {
	t.Helper()
	got := said(s)
	if !strings.Contains(got.reason, w.reason) || w.reason == "" && got.reason != "" {
		t.Errorf("reason %q, want %q in it", got.reason, w.reason)
	}
	got.reason, w.reason = "", ""
	if !reflect.DeepEqual(got, w) {
		t.Errorf("got  %+v\nwant %+v", got, w)
	}
}

const (
	role    = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	hello   = `data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n"
	thought = `data: {"choices":[{"index":0,"delta":{"reasoning":"Hm"}}]}` + "\n\n"
	usage2  = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n"
	end     = "data: [DONE]\n\n"
)

func TestMadeStreams(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       say
	}{
		{"only the end mark", end, say{"error", "ended with no content", -1, -1, -1, 0, nil, 0, "chunks", -1}},
		{"nothing", "", say{"error", "the server sent nothing", -1, -1, -1, 0, nil, 0, "chunks", -1}},
		{"role only", role + usage2 + end, say{"error", "ended with no content", 3, 2, -1, 0, nil, 0, "", -1}},
		{"no usage", role + hello + hello + end, say{"ok", "", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"error before content", role + `data: {"error":{"message":"out of memory","code":500}}` + "\n\n" + end,
			say{"error", "out of memory (code 500)", -1, -1, -1, 0, nil, 0, "chunks", -1}},
		{"error half-way", hello + hello + `data: {"error":"engine died"}` + "\n\n" + end,
			say{"error", "engine died", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"error by event name", hello + "event: error\ndata: {\"message\":\"too slow\"}\n\n",
			say{"error", "too slow", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"error by event name, in plain words", hello + "event: error\ndata: the engine died\n\n" + end,
			say{"error", "the engine died", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"not JSON", hello + "data: {\"choices\"\n\n" + end, say{"error", "an event is not JSON", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"content after the end mark", hello + end + hello + usage2, say{"error", "content after [DONE]", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"usage and a role after the end mark", hello + hello + usage2 + end + role + final(5) + end, say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"words among the events, and no end", hello + "Internal Server Error\n\n", say{"error", "ended without [DONE]; among its events stood: Internal Server Error", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"words among the events of a whole answer", hello + hello + "Internal Server Error\n\n" + usage2 + end, say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"a second choice", hello + `data: {"choices":[{"index":1,"delta":{"content":"x"}}]}` + "\n\n" + end, say{"error", "a choice of index 1 came, and one choice is measured", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"keep-alives", ": ping\n\n" + role + ": ping\n\n" + hello + hello + ": ping\n" + usage2 + end,
			say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"usage disagrees with the chunks", hello + hello + hello + usage2 + end,
			say{"ok", "usage says 2 tokens, 3 chunks carried content, and none says how many", 3, 2, -1, 3, nil, 0, "", -1}},
		{"reasoning, then the answer", role + thought + hello + usage2 + end, say{"ok", "", 3, 2, -1, 2, nil, 1, "", -1}},
		{"reasoning and no answer", role + thought + thought + usage2 + end, say{"ok", "", 3, 2, -1, 2, nil, -1, "", -1}},
		{"a tool call is content", role + `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}` + "\n\n" + hello + usage2 + end,
			say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"usage is no number", hello + `data: {"choices":[],"usage":{"prompt_tokens":"3","completion_tokens":-1,"total_tokens":null}}` + "\n\n" + end,
			say{"error", "the server's usage can't be: completion_tokens -1", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"usage is null or text", hello + `data: {"choices":[],"usage":{"prompt_tokens":"3","completion_tokens":null}}` + "\n\n" + end,
			say{"ok", "", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"usage beyond all measure", hello + `data: {"choices":[],"usage":{"prompt_tokens":1e99,"completion_tokens":10000001}}` + "\n\n" + end,
			say{"error", "can't be: prompt_tokens 1e99; completion_tokens 10000001", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"more prompt than was sent", hello + hello + `data: {"choices":[],"usage":{"prompt_tokens":9000000,"completion_tokens":2}}` + "\n\n" + end,
			say{"error", "can't be: prompt_tokens 9000000 of a prompt of ", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"more cached than there was", hello + hello + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n" + end,
			say{"error", "can't be: cached_tokens 4 of prompt_tokens 3", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"far more than came or was asked for", hello + hello + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5000}}` + "\n\n" + end,
			say{"error", "can't be: completion_tokens 5000 with 2 chunks of content, ", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"far more than the ids in the chunks", `data: {"choices":[{"text":"a","token_ids":[1]}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":100}}` + "\n\n" + end,
			say{"error", "can't be: completion_tokens 100 with 1 tokens in the chunks", -1, -1, -1, 1, nil, 0, "token_ids", -1}},
		{"a lie that runs with the chunks", running("a", 1) + running("b", 900000) + final(900000) + end,
			say{"error", "can't be: completion_tokens 900000 with 2 chunks of content, ", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"hidden reasoning that usage tells of", `data: {"choices":[{"text":"a","token_ids":[1]}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":17,"completion_tokens_details":{"reasoning_tokens":16}}}` + "\n\n" + end,
			say{"ok", "usage says 17 tokens, the chunks 1", 3, 17, -1, 1, nil, 0, "", -1}},
		{"aborted by the server", hello + `data: {"choices":[{"delta":{},"finish_reason":"abort"}]}` + "\n\n" + end,
			say{"error", "finish_reason is abort", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"several tokens a chunk, by ids", `data: {"choices":[{"text":"a b","token_ids":[1,2]}]}` + "\n\n" + `data: {"choices":[{"text":"","token_ids":[3]}]}` + "\n\n" + end,
			say{"ok", "", -1, -1, -1, 2, []int64{2, 1}, 0, "token_ids", -1}},
		{"several tokens a chunk, by running usage", running("a b", 2) + running("", 2) + running("c", 3) + running("", 5) + final(5) + end,
			say{"ok", "", 3, 5, -1, 3, []int64{2, 1, 2}, 0, "", -1}},
		{"one token in two chunks", running("a", 1) + running("b", 1) + running("c", 2) + final(2) + end,
			say{"ok", "", 3, 2, -1, 3, []int64{1, 0, 1}, 0, "", -1}},
		{"running usage and another total", running("a", 1) + running("b", 2) + final(4) + end,
			say{"ok", "usage says 4 tokens, the chunks 2", 3, 4, -1, 2, nil, 0, "", -1}},
		{"usage on the last content chunk", hello + `data: {"choices":[{"delta":{"content":"!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n" + end,
			say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"a burst", `data: {"choices":[{"text":"all of it"}],"usage":{"prompt_tokens":3,"completion_tokens":32,"total_tokens":35}}` + "\n\n" + end,
			say{"ok", "", 3, 32, -1, 1, []int64{32}, 0, "", -1}},
		{"markup in the error", `data: {"error":{"message":"<b>\u202e\u0007no"}}` + "\n\n", say{"error", `<b>\u202e\ano`, -1, -1, -1, 0, nil, 0, "chunks", -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			atEveryByte(t, PathCompletions, []byte(c.body), c.want)
		})
	}
}

func running(text string, n int) string {
	c := strconv.Itoa(n)
	return `data: {"choices":[{"index":0,"text":"` + text + `"}],"usage":{"prompt_tokens":3,"completion_tokens":` + c + `,"total_tokens":` + strconv.Itoa(3+n) + `}}` + "\n\n"
}

func final(n int) string {
	return strings.Replace(running("", n), `[{"index":0,"text":""}]`, "[]", 1)
}

func TestRefusals(t *testing.T) {
	page := "<html><body><h1>503 Service\tUnavailable</h1>" + strings.Repeat("x", 5000)
	for _, c := range []struct{ name, answer, want string }{
		{"no such model", string(fixture(t, "vllm/error-model.txt")), "HTTP 404: The model `nope` does not exist. (code 404)"},
		{"too long", string(fixture(t, "vllm/error-too-long.txt")), "HTTP 400: max_tokens=9000 cannot be greater than max_model_len"},
		{"a page", "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nContent-Length: " + strconv.Itoa(len(page)) + "\r\n\r\n" + page,
			`HTTP 503: <html><body><h1>503 Service\tUnavailable</h1>xxx`},
		{"JSON and no stream", "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"choices\":[]}", "the server did not stream"},
		{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + hello, "the server closed the connection before the response was whole"},
		{"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "not with an HTTP/1 status line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := one(t, &player{head: c.answer})
			if s.Status != "error" || !strings.Contains(s.Reason, c.want) {
				t.Errorf("%s: %q, want %q", s.Status, s.Reason, c.want)
			}
			if len(s.Reason) > 400 {
				t.Errorf("a reason of %d bytes", len(s.Reason))
			}
		})
	}
}

// An error event comes with HTTP 200 and a proper end mark.
func TestErrorUnderHTTP200(t *testing.T) {
	whole := string(fixture(t, "vllm/error-token-range.txt"))
	_, body, _ := strings.Cut(whole, "\r\n\r\n")
	s, _ := one(t, &player{parts: frames([]byte(body))})
	say{"error", "Token id 999999 is out of vocabulary (code 400)", -1, -1, -1, 0, nil, 0, "chunks", -1}.compare(t, s)
}

func TestUnknownPartIsContentAndNamedOnce(t *testing.T) {
	part := `data: {"choices":[{"delta":{"content":[{"type":"hologram","x":1}]}}]}` + "\n\n"
	s, c := one(t, &player{parts: frames([]byte(part + part + usage2 + end))})
	say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}.compare(t, s)
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "hologram") {
		t.Errorf("notes %q", c.Notes)
	}
}

// The arrival of each content chunk lies where the server's own clock says it was
// written: never before the write began, and behind its end by what the machine takes
// to hand a segment over.
func TestArrivalsAreTheWritesOnTheServersClock(t *testing.T) {
	s, c, p := timed(t, "field/parts.sse", 10*time.Millisecond)
	content := []int{2, 3, 5, 6} // the parts that carry something
	if len(s.T) != len(content) {
		t.Fatalf("%d content chunks, want %d", len(s.T), len(content))
	}
	sent := c.Outcomes[0].Sent
	at := int64(0)
	for i, part := range content {
		at += s.T[i]
		earliest, latest := (p.wrote[part][0]-sent)/1000-1, (p.wrote[part][1]-sent)/1000+5000
		if at < earliest || at > latest {
			t.Errorf("chunk %d arrived at %d µs, written between %d and %d", i, at, earliest, latest)
		}
	}
	if s.Sent < s.Enqueued || s.Enqueued < 0 {
		t.Errorf("enqueued %d, sent %d", s.Enqueued, s.Sent)
	}
	if c.Stats.Unstamped != 0 || c.Stats.SharedStamps != 0 {
		t.Errorf("%+v", c.Stats)
	}
}

// A refusal that did not end, and an answer that did not where its stream did, tell why.
func TestAnswersThatDoNotEnd(t *testing.T) {
	const late = "timeout: nothing came for 1m0s"
	for body, want := range map[string]string{
		`{"error":{"message":"no room"}}`: "HTTP 500: no room (" + late + ")",
		"no room. no ro":                  "HTTP 500: no room. no ro (" + late + ")",
		"":                                "HTTP 500: " + late,
	} {
		if r := read(&loadgen.Outcome{HTTPStatus: 500, Body: []byte(body), Err: late}); r.failure != want {
			t.Errorf("%q reads %q, want %q", body, r.failure, want)
		}
	}
	r := read(&loadgen.Outcome{HTTPStatus: 200, Body: []byte(hello + hello + usage2 + end), Err: late, Call: loadgen.Call{Path: PathCompletions, OSL: 2}})
	if r.failure != "" || r.note != "after [DONE]: "+late {
		t.Errorf("%q, %q", r.failure, r.note)
	}
}
