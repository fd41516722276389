package simulator

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func withFaults(t *testing.T, names string) *started {
	t.Helper()
	cfg := quick()
	cfg.Gap = time.Millisecond
	if err := cfg.Faults.Set(names); err != nil {
		t.Fatal(err)
	}
	return start(t, cfg)
}

// read takes an event stream as its grammar says and returns the data of each event.
func read(body string) (data []string) {
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	var event []string
	for line := range strings.SplitSeq(body, "\n") {
		field, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && event != nil:
			data = append(data, strings.Join(event, "\n"))
			event = nil
		case field == "data":
			event = append(event, strings.TrimPrefix(value, " "))
		}
	}
	return data
}

const ask = `{"prompt":"one two","max_tokens":8,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true}`

// Forms of the stream that mean the same: the same words, ids and usage come out.
func TestFormsOfTheStream(t *testing.T) {
	for names, shows := range map[string]string{
		"":            "data: {",
		"split":       "data: {",
		"comments":    ": keep-alive\n\n",
		"no-space":    "data:{",
		"data-lines":  ",\ndata: \"object\"",
		"crlf":        "}\r\n\r\n",
		"cr":          "}\r\rdata",
		"utf8":        "é😀",
		"usage-last":  `"finish_reason":"length","stop_reason":null,"token_ids":[7]}],"usage"`,
		"multi-token": `"text":" w0 w1 w2 w3"`,
		"burst":       `"text":" w0 w1 w2 w3 w4 w5 w6 w7"`,
		"blank":       `"text":"","`,
		"split,comments,no-space,data-lines,crlf,utf8,usage-last,multi-token": ": keep-alive\r\n\r\ndata:{",
	} {
		t.Run(names, func(t *testing.T) {
			s := withFaults(t, names)
			_, body := s.post("/v1/completions", "x", ask)
			if !strings.Contains(body, shows) {
				t.Fatalf("the body does not hold %q: %q", shows, body)
			}
			var ids []int
			var words []string
			usage := 0
			data := read(body)
			for _, d := range data[:len(data)-1] {
				c := parse(t, d)
				if len(c.Choices) > 0 {
					ids = append(ids, c.Choices[0].TokenIDs...)
					words = append(words, strings.Fields(*c.Choices[0].Text)...)
				}
				if c.Usage != nil {
					usage++
					if c.Usage.Prompt != 2 || c.Usage.Completion != 8 || c.Usage.Details == nil {
						t.Errorf("usage in %s", d)
					}
				}
			}
			want := 8
			if names == "blank" {
				want = 5 // of 8, the second, fifth and eighth print nothing
			}
			if fmt.Sprint(ids) != "[0 1 2 3 4 5 6 7]" || len(words) != want || usage != 1 || data[len(data)-1] != "[DONE]" {
				t.Errorf("ids %v, words %q, usage %d times, last %q", ids, words, usage, data[len(data)-1])
			}
			if truth := s.ended()["x"]; len(truth.Sent) != 8 || len(truth.Scheduled) != 8 || truth.Status != "ok" {
				t.Errorf("truth %+v", truth)
			}
		})
	}
}

func TestReasoningComesFirst(t *testing.T) {
	s := withFaults(t, "reasoning")
	_, body := s.post("/v1/chat/completions", "x", `{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`)
	reasoned, said := strings.Index(body, `"reasoning_content":" w1"`), strings.Index(body, `"content":" w2"`)
	if reasoned < 0 || said < reasoned || strings.Count(body, "reasoning_content") != 2 {
		t.Errorf("body %q", body)
	}
}

func TestFailingAnswers(t *testing.T) {
	for _, c := range []struct {
		names  string
		lacks  string // must not stand in the body
		shows  string
		tokens int
		status string // in the truth
	}{
		{"no-done", "[DONE]", `"usage"`, 8, "ok"},
		{"open-end", "[DONE]\n", "[DONE]", 8, "ok"},
		{"no-usage", `"usage"`, "[DONE]", 8, "ok"},
		{"no-cached", "cached_tokens", `"usage"`, 8, "ok"},
		{"wrong-usage", `"completion_tokens":8`, `"completion_tokens":9`, 8, "ok"},
		{"early-stop", "length", `"finish_reason":"stop"`, 4, "ok"},
		{"only-done", "{", "data: [DONE]\n\n", 0, "spoilt"},
		{"nothing", "data", "", 0, "spoilt"},
		{"error-first", "text", `data: {"error":{"message":"the engine core died"`, 0, "spoilt"},
		{"error-mid", " w4", `data: {"error":{"message":"the engine core died"`, 4, "spoilt"},
		{"error-field", "[DONE]", `error: {"error":`, 4, "spoilt"},
	} {
		t.Run(c.names, func(t *testing.T) {
			s := withFaults(t, c.names)
			status, body := s.post("/v1/completions", "x", ask)
			if status != 200 || strings.Contains(body, c.lacks) || !strings.Contains(body, c.shows) || strings.Count(body, `"text":" w`) != c.tokens {
				t.Errorf("%d, body %q", status, body)
			}
			if truth := s.ended()["x"]; truth.Status != c.status || len(truth.Sent) != c.tokens {
				t.Errorf("truth %+v", truth)
			}
		})
	}
}

func TestAPageInPlaceOfAnAnswer(t *testing.T) {
	s := withFaults(t, "html-503")
	if status, body := s.post("/v1/completions", "x", ask); status != 503 || !strings.HasPrefix(body, "<html>") {
		t.Errorf("%d %q", status, body)
	}
}

// stream opens a request on a raw connection and returns its reader after the fourth
// token.
func (s *started) stream(id string) (net.Conn, *bufio.Reader) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s", id, len(ask), ask)
	br := bufio.NewReader(conn)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(line, `" w3"`) {
			return conn, br
		}
	}
}

func TestACutConnection(t *testing.T) {
	s := withFaults(t, "cut")
	_, br := s.stream("x")
	rest, err := io.ReadAll(br)
	if err != nil || strings.HasSuffix(string(rest), "0\r\n\r\n") || !strings.Contains(string(rest), `" w4"`) {
		t.Errorf("%v, the rest is %q", err, rest)
	}
	if truth := s.ended()["x"]; truth.Status != "spoilt" || len(truth.Sent) != 4 {
		t.Errorf("truth %+v", truth)
	}
}

func TestAStalledStreamHoldsItsSlot(t *testing.T) {
	s := withFaults(t, "stall")
	conn, br := s.stream("x")
	if got := s.metric("rowproof:num_requests_running"); got != 1 {
		t.Errorf("%v streams run, want the stalled one", got)
	}
	conn.Close()
	if _, err := br.ReadByte(); err == nil {
		// What had been read ahead; nothing more can come.
		if _, err := io.Copy(io.Discard, br); err == nil {
			t.Error("the connection is still open")
		}
	}
	// The server sees the end of the connection in its own time; its end is certain.
	if truth := s.ended()["x"]; len(truth.Sent) != 4 || truth.Status == "ok" {
		t.Errorf("truth %+v", truth)
	}
}

func TestFaultEvery(t *testing.T) {
	cfg := quick()
	cfg.FaultEvery = 2
	if err := cfg.Faults.Set("html-503"); err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	for i, want := range []int{200, 503, 200, 503} {
		if status, _ := s.post("/v1/completions", "", ask); status != want {
			t.Errorf("request %d answered %d, want %d", i, status, want)
		}
	}
}

func TestFaultNames(t *testing.T) {
	if len(faultNames) != 26 || faultHTML503 != 1<<25 {
		t.Fatal("names and constants differ in number")
	}
	for i, n := range faultNames {
		var f Faults
		if err := f.Set(n.name); err != nil || f != 1<<i || f.String() != n.name {
			t.Errorf("%s sets %v, %v", n.name, f, err)
		}
	}
	var f Faults
	if err := f.Set("crlf,nonsense"); err == nil || !strings.Contains(err.Error(), `no fault "nonsense"; there are split, comments`) {
		t.Errorf("%v", err)
	}
}
