package simulator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// started is a server under test. Its truth may be read once ended has been called.
type started struct {
	t     *testing.T
	url   string
	addr  string
	stop  context.CancelFunc
	done  chan error
	truth bytes.Buffer
}

func start(t *testing.T, cfg Config) *started {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &started{t: t, url: "http://" + ln.Addr().String(), addr: ln.Addr().String(), stop: stop, done: make(chan error, 1)}
	go func() { s.done <- Serve(ctx, ln, cfg, &s.truth) }()
	t.Cleanup(func() { stop() })
	return s
}

// ended stops the server and returns its truth by request id.
func (s *started) ended() map[string]Truth {
	s.t.Helper()
	s.stop()
	if err := <-s.done; err != nil {
		s.t.Fatal(err)
	}
	out := map[string]Truth{}
	dec := json.NewDecoder(&s.truth)
	for {
		var line Truth
		if err := dec.Decode(&line); err == io.EOF {
			return out
		} else if err != nil {
			s.t.Fatal(err)
		}
		out[line.ID] = line
	}
}

func (s *started) post(path, id, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (s *started) metric(name string) float64 {
	s.t.Helper()
	resp, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return f
		}
	}
	s.t.Fatalf("/metrics does not show %s", name)
	return 0
}

// quick is a configuration that tests need not wait for.
func quick() Config {
	c := Default()
	c.Prefill, c.PrefillPerToken = 3*time.Millisecond, 10*time.Microsecond
	c.Gap, c.GapPerStream = 2*time.Millisecond, 500*time.Microsecond
	return c
}

// events splits a streamed body into the data of its events.
func events(t *testing.T, body string) []string {
	t.Helper()
	var out []string
	for e := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not one data line: %q", e)
		}
		out = append(out, data)
	}
	return out
}

type chunk struct {
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Text  *string `json:"text"`
		Delta *struct {
			Role    *string `json:"role"`
			Content *string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
		TokenIDs     []int   `json:"token_ids"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    *struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

func parse(t *testing.T, event string) chunk {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(event), &c); err != nil {
		t.Fatalf("%v in %q", err, event)
	}
	return c
}

func TestTokensAreDueAsConfigured(t *testing.T) {
	s := start(t, quick())
	s.post("/v1/completions", "one", `{"prompt":[1,2,3,4,5],"max_tokens":6,"stream":true}`)
	truth, ok := s.ended()["one"]
	if !ok {
		t.Fatal("the truth log has no line for the request")
	}
	first := truth.Scheduled[0] - truth.Arrived
	if want := int64(3*time.Millisecond + 5*10*time.Microsecond); first != want {
		t.Errorf("token 0 was due %d ns after arrival, want %d", first, want)
	}
	for i := 1; i < 6; i++ {
		if gap := truth.Scheduled[i] - truth.Scheduled[i-1]; gap != int64(2*time.Millisecond) {
			t.Errorf("token %d was due %d ns after the one before, want 2 ms", i, gap)
		}
	}
	if len(truth.Sent) != 6 || truth.ISL != 5 || truth.OSL != 6 || truth.Status != "ok" {
		t.Errorf("truth %+v", truth)
	}
	for i, sent := range truth.Sent {
		if sent < truth.Scheduled[i] {
			t.Errorf("token %d was sent %d ns before it was due", i, truth.Scheduled[i]-sent)
		}
	}
}

// A raw reader on the socket must see each token after the log says that it was sent,
// and before the next one is.
func TestTheLogAgreesWithTheWire(t *testing.T) {
	cfg := quick()
	cfg.Gap = 20 * time.Millisecond
	s := start(t, cfg)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"prompt":"a b c","max_tokens":5,"stream":true}`
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: raw\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var seen []int64
	var all []byte
	buf := make([]byte, 4096)
	for !bytes.HasSuffix(all, []byte("0\r\n\r\n")) {
		n, err := conn.Read(buf)
		at := now()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, buf[:n]...)
		for range bytes.Count(buf[:n], []byte(`"text":" w`)) {
			seen = append(seen, at)
		}
	}
	truth := s.ended()["raw"]
	if len(seen) != 5 || len(truth.Sent) != 5 {
		t.Fatalf("the wire carried %d tokens and the log %d, want 5", len(seen), len(truth.Sent))
	}
	for i := range seen {
		if seen[i] < truth.Sent[i] {
			t.Errorf("token %d was read %d ns before the log says it was sent", i, truth.Sent[i]-seen[i])
		}
	}
	if !bytes.HasPrefix(all, []byte("HTTP/1.1 200 OK\r\n")) {
		t.Errorf("answer begins %.40q", all)
	}
}

func TestGapsGrowWithStreamsAndPrefillsQueue(t *testing.T) {
	cfg := quick()
	cfg.GapPerStream = time.Millisecond
	s := start(t, cfg)
	done := make(chan struct{})
	for _, id := range []string{"a", "b"} {
		go func() {
			s.post("/v1/completions", id, `{"prompt":[`+map[string]string{"a": "1", "b": "2"}[id]+`],"max_tokens":40,"stream":true}`)
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	truth := s.ended()
	a, b := truth["a"], truth["b"]
	if a.Scheduled[0] > b.Scheduled[0] {
		a, b = b, a
	}
	prefill := int64(3*time.Millisecond + 10*time.Microsecond)
	if want := max(a.Scheduled[0], b.Arrived) + prefill; b.Scheduled[0] != want {
		t.Errorf("the second prefill ended %d ns from where a queue of one at a time ends it", b.Scheduled[0]-want)
	}
	for i := 1; i < len(a.Scheduled); i++ {
		// The gap after token i−1 is fixed as that token leaves.
		want := int64(2 * time.Millisecond)
		if at := a.Scheduled[i-1]; at >= b.Scheduled[0] && at < b.Scheduled[39] {
			want += int64(time.Millisecond)
		}
		if gap := a.Scheduled[i] - a.Scheduled[i-1]; gap != want {
			t.Errorf("gap %d is %d ns, want %d", i, gap, want)
		}
	}
}

func TestPrefillsSideBySide(t *testing.T) {
	cfg := quick()
	cfg.Prefill, cfg.PrefillPerToken, cfg.Prefills = 50*time.Millisecond, 0, 2
	s := start(t, cfg)
	done := make(chan struct{})
	for _, id := range []string{"a", "b", "c"} {
		go func() {
			s.post("/v1/completions", id, `{"prompt":"x `+id+`","max_tokens":2,"stream":true}`)
			done <- struct{}{}
		}()
	}
	for range 3 {
		<-done
	}
	var all []Truth
	for _, one := range s.ended() {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Truth) int { return int(a.Scheduled[0] - b.Scheduled[0]) })
	for i, one := range all {
		from := one.Arrived
		if i == 2 { // no third place before the first prefill ends
			from = max(from, all[0].Scheduled[0])
		}
		if got := one.Scheduled[0] - from; got != int64(50*time.Millisecond) {
			t.Errorf("prefill %d ended %v after it could start, want 50 ms", i, time.Duration(got))
		}
	}
}

// The log tells the answer, the prompt, and when the request came before anybody read it.
func TestTheLogTellsRequestsApart(t *testing.T) {
	cfg := quick()
	cfg.NameAnswers = true
	s := start(t, cfg)
	_, body := s.post("/v1/completions", "other", `{"prompt":"one","max_tokens":2,"stream":true}`)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := `{"prompt":[1,22,333],"max_tokens":2,"stream":true}`
	before := now()
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(ask), ask)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	truth := s.ended()
	if truth["other"].N != 1 || !strings.Contains(body, `"text":" r1"`) || !strings.Contains(body, `"text":" w1"`) {
		t.Errorf("the first answer %q has the truth %+v", body, truth["other"])
	}
	one := truth["x"]
	if one.N != 2 || !strings.Contains(string(answer), `"text":" r2"`) || !strings.Contains(string(answer), `"id":"cmpl-2"`) {
		t.Errorf("the second answer %q has the truth %+v", answer, one)
	}
	const sum = "7370eb4bd6bffb7b" // of [1,22,333]
	if one.Prompt != sum {
		t.Errorf("its prompt is %s, want %s", one.Prompt, sum)
	}
	// The two clocks are read a little apart.
	if one.Received < before-int64(time.Millisecond) || one.Received > one.Arrived {
		t.Errorf("it came %d ns after it was sent and %d ns before it was read", one.Received-before, one.Arrived-one.Received)
	}
}

func TestPrefixCacheHoldsWholeBlocks(t *testing.T) {
	ids := func(from, n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = strconv.Itoa(from + i)
		}
		return strings.Join(out, ",")
	}
	s := start(t, quick())
	for _, c := range []struct {
		name, prompt string
		cached       int
	}{
		{"new", ids(0, 50), 0},
		{"again", ids(0, 50), 48},
		{"prefix of two blocks: the last token is computed", ids(0, 32), 16},
		{"longer", ids(0, 64), 48},
		{"its fourth block is now known", ids(0, 65), 64},
		{"first block differs", "7," + ids(1, 49), 0},
		{"second block differs", ids(0, 20) + ",9," + ids(21, 40), 16},
		{"shorter than a block", ids(0, 15), 0},
	} {
		before := s.metric("rowproof:cached_tokens_total")
		_, body := s.post("/v1/completions", c.name, `{"prompt":[`+c.prompt+`],"max_tokens":1}`)
		got := parse(t, body)
		if got.Usage.Details.Cached != c.cached {
			t.Errorf("%s: usage says %d cached tokens, want %d", c.name, got.Usage.Details.Cached, c.cached)
		}
		if d := s.metric("rowproof:cached_tokens_total") - before; d != float64(c.cached) {
			t.Errorf("%s: the metrics count %v cached tokens, want %d", c.name, d, c.cached)
		}
	}
	truth := s.ended()
	again := truth["again"]
	if want := int64(3*time.Millisecond + 2*10*time.Microsecond); again.Scheduled[0]-again.Arrived != want {
		t.Errorf("prefill of 50 tokens with 48 cached takes %d ns, want %d", again.Scheduled[0]-again.Arrived, want)
	}
}

func TestPrefixCacheForgetsTheOldest(t *testing.T) {
	c := newPrefixCache(2)
	block := func(n uint64) []uint64 { return slices.Repeat([]uint64{n}, BlockTokens) }
	a, b, d := chain(block(1)), chain(block(2)), chain(block(3))
	c.add(a)
	c.add(b)
	c.hit(a) // b is now the oldest
	c.add(d)
	if c.hit(a) != 1 || c.hit(b) != 0 || c.hit(d) != 1 {
		t.Errorf("hits a %d, b %d, d %d; want 1, 0, 1", c.hit(a), c.hit(b), c.hit(d))
	}
}

func TestCompletionStream(t *testing.T) {
	s := start(t, quick())
	_, body := s.post("/v1/completions", "x", `{"model":"embedded","prompt":"one two three","max_tokens":3,"stream":true,
		"stream_options":{"include_usage":true,"continuous_usage_stats":true},"return_token_ids":true}`)
	got := events(t, body)
	if len(got) != 5 || got[4] != "[DONE]" {
		t.Fatalf("events %q", got)
	}
	for i := range 3 {
		c := parse(t, got[i])
		if c.Object != "text_completion" || c.Model != "embedded" || *c.Choices[0].Text != fmt.Sprintf(" w%d", i) ||
			c.Usage.Prompt != 3 || c.Usage.Completion != i+1 || c.Usage.Total != 4+i || !slices.Equal(c.Choices[0].TokenIDs, []int{i}) {
			t.Errorf("chunk %d: %s", i, got[i])
		}
		if ended := c.Choices[0].FinishReason != nil; ended != (i == 2) {
			t.Errorf("chunk %d: finish_reason %v", i, c.Choices[0].FinishReason)
		}
	}
	last := parse(t, got[3])
	if len(last.Choices) != 0 || last.Usage.Prompt != 3 || last.Usage.Completion != 3 || last.Usage.Details.Cached != 0 {
		t.Errorf("usage chunk: %s", got[3])
	}
}

func TestUsageOnlyWhereAsked(t *testing.T) {
	s := start(t, quick())
	_, body := s.post("/v1/completions", "x", `{"prompt":"one","max_tokens":2,"stream":true}`)
	if strings.Contains(body, "usage") || len(events(t, body)) != 3 {
		t.Errorf("body %q", body)
	}
}

func TestChatStream(t *testing.T) {
	s := start(t, quick())
	ask := `{"messages":[{"role":"user","content":"a b"},{"role":"user","content":[{"type":"text","text":"c"}]}],"max_completion_tokens":2,
		"stream":true,"stream_options":{"include_usage":true}}`
	_, body := s.post("/v1/chat/completions", "x", ask)
	got := events(t, body)
	if len(got) != 5 || got[4] != "[DONE]" {
		t.Fatalf("events %q", got)
	}
	role := parse(t, got[0])
	if *role.Choices[0].Delta.Role != "assistant" || *role.Choices[0].Delta.Content != "" || role.Object != "chat.completion.chunk" {
		t.Errorf("first chunk %s", got[0])
	}
	for i := range 2 {
		c := parse(t, got[i+1])
		if *c.Choices[0].Delta.Content != fmt.Sprintf(" w%d", i) || c.Choices[0].Delta.Role != nil {
			t.Errorf("chunk %d: %s", i+1, got[i+1])
		}
	}
	// Three words, four template tokens a message, three that open the answer.
	if u := parse(t, got[3]).Usage; u.Prompt != 3+2*4+3 || u.Completion != 2 {
		t.Errorf("usage %s", got[3])
	}
	if n := len(s.ended()["x"].Sent); n != 2 {
		t.Errorf("the truth holds %d tokens, want 2: the role is none", n)
	}
}

func TestMetricsCountAdmittedBlocksAndWaits(t *testing.T) {
	cfg := quick()
	cfg.MaxRunning = 1
	cfg.Gap = 10 * time.Millisecond
	s := start(t, cfg)
	done := make(chan struct{})
	for i := range 3 {
		go func() {
			// 33 tokens each, all different: two whole blocks before the last token.
			ids := make([]string, 33)
			for j := range ids {
				ids[j] = strconv.Itoa(i*1000 + j)
			}
			s.post("/v1/completions", strconv.Itoa(i), `{"prompt":[`+strings.Join(ids, ",")+`],"max_tokens":10,"stream":true}`)
			done <- struct{}{}
		}()
	}
	for range 3 {
		<-done
	}
	for name, want := range map[string]float64{
		"rowproof:admitted_tokens_total":         3 * 32,
		"rowproof:prompt_tokens_total":           3 * 33,
		"rowproof:generation_tokens_total":       30,
		"rowproof:num_inflight_park_waits_total": 2,
		"rowproof:max_slots":                     1,
		"rowproof:num_requests_running":          0,
		"rowproof:num_requests_waiting":          0,
		"rowproof:active_bytes":                  weightBytes,
		"rowproof:peak_active_bytes":             weightBytes + 3*blockBytes, // 43 tokens
		"rowproof:num_allocs_total":              9,
		`rowproof:requests_total{end="ok"}`:      3,
		"rowproof:num_preemptions_total":         0,
		"rowproof:lateness_seconds_count":        30,
	} {
		if got := s.metric(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	parked := 0
	for _, line := range s.ended() {
		if line.Parked {
			parked++
		}
	}
	if parked != 2 {
		t.Errorf("the truth says that %d requests waited for a slot, want 2", parked)
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, quick())
	for _, c := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"unknown model", "/v1/completions", `{"model":"nope","prompt":"a"}`, 404, "The model `nope` does not exist."},
		{"output too long", "/v1/completions", `{"prompt":"a","max_tokens":20000}`, 400, "max_tokens=20000 cannot be greater than max_model_len=max_total_tokens=16384"},
		{"both too long", "/v1/completions", `{"prompt":"a","max_tokens":16384}`, 400, "maximum context length is 16384 tokens and your request has 1 input tokens"},
		{"no token asked for", "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "must be at least 1, got 0"},
		{"token out of vocabulary", "/v1/completions", `{"prompt":[1,999999]}`, 400, "Token id 999999 is out of vocabulary"},
		{"empty prompt", "/v1/completions", `{"prompt":""}`, 400, "holds no token"},
		{"two prompts", "/v1/completions", `{"prompt":["a","b"]}`, 400, "neither one text nor one list"},
		{"no messages", "/v1/chat/completions", `{"messages":[]}`, 400, "messages is empty"},
		{"an image", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "messages[0].content"},
		{"not JSON", "/v1/completions", `{"prompt":`, 400, "not the JSON"},
		{"no such route", "/generate", `{}`, 404, "/generate is not served"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := s.post(c.path, "", c.body)
			var e struct {
				Error struct {
					Message string `json:"message"`
					Code    int    `json:"code"`
				} `json:"error"`
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatal(err)
			}
			if status != c.status || e.Error.Code != c.status || !strings.Contains(e.Error.Message, c.says) {
				t.Errorf("answered %d %s", status, body)
			}
		})
	}
	if got := s.metric(`rowproof:requests_total{end="refused"}`); got != 11 {
		t.Errorf("%v refusals counted, want 11", got)
	}
	if truth := s.ended(); len(truth) != 0 {
		t.Errorf("refused requests stand in the truth: %v", truth)
	}
}

func TestOneConnectionServesManyRequests(t *testing.T) {
	s := start(t, quick())
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	br := bufio.NewReader(conn)
	for i := range 3 {
		body := `{"prompt":"a","max_tokens":2,"stream":true}`
		fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(br, nil)
		if err == nil && resp.StatusCode == http.StatusContinue {
			resp, err = http.ReadResponse(br, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || len(events(t, string(b))) != 3 {
			t.Errorf("request %d: %v, body %q", i, err, b)
		}
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	s := start(t, quick())
	for sent, status := range map[string]int{"GET /health HTTP/1.0\r\n\r\n": 505, "hello\r\n\r\n": 400} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, sent)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || !resp.Close {
			t.Errorf("%q is answered %d, closing %v; want %d and closed", sent, resp.StatusCode, resp.Close, status)
		}
	}
}

// A client that leaves gives its slot to the next; the log says so.
func TestAClientThatLeavesFreesItsSlot(t *testing.T) {
	cfg := quick()
	cfg.MaxRunning = 1
	s := start(t, cfg)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"prompt":"a","max_tokens":10000,"stream":true}`
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: leaver\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := bufio.NewReader(conn).ReadString('w'); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if status, answer := s.post("/v1/completions", "next", `{"prompt":"b","max_tokens":1}`); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	truth := s.ended()
	if truth["leaver"].Status != "client gone" || truth["next"].Status != "ok" {
		t.Errorf("the leaver ended %q, the next one %q", truth["leaver"].Status, truth["next"].Status)
	}
}

// A client that does not read must not hold up the timetable of the others.
func TestAClientThatDoesNotRead(t *testing.T) {
	cfg := quick()
	cfg.Prefill, cfg.PrefillPerToken, cfg.Gap, cfg.GapPerStream = 0, 0, 0, 0
	cfg.MaxModelLen = 1 << 17
	s := start(t, cfg)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const osl = 60000 // about 10 MB, more than a socket holds
	body := fmt.Sprintf(`{"prompt":"a","max_tokens":%d,"stream":true}`, osl)
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	s.post("/v1/completions", "other", `{"prompt":"b","max_tokens":2,"stream":true}`)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte(`"text":" w`)); n != osl {
		t.Errorf("%d tokens arrived, want %d", n, osl)
	}
	if got := s.ended()["slow"]; got.Status != "ok" || len(got.Sent) != osl {
		t.Errorf("ended %q after %d tokens", got.Status, len(got.Sent))
	}
}

func TestStoppingEndsWhatRuns(t *testing.T) {
	s := start(t, quick())
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"prompt":"a","max_tokens":10000,"stream":true}`
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: cut\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	br := bufio.NewReader(conn)
	if _, err := br.ReadString('w'); err != nil {
		t.Fatal(err)
	}
	if got := s.ended()["cut"]; got.Status != "server stopped" || len(got.Sent) == 0 {
		t.Errorf("the truth says %q after %d tokens", got.Status, len(got.Sent))
	}
	if rest, _ := io.ReadAll(br); bytes.HasSuffix(rest, []byte("0\r\n\r\n")) {
		t.Error("a cut answer reads as a whole one")
	}
}

func TestConfigCheckListsAllProblems(t *testing.T) {
	c := Config{Gap: -1, CacheBlocks: 1, MaxModelLen: 100}
	err := c.Check()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, says := range []string{"--model is empty", "--gap -1ns", "--max-running 0", "--cache-blocks 1: they hold 16 tokens; --max-model-len 100 takes 7"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("does not say %q: %v", says, err)
		}
	}
}

func TestLatenessQuantiles(t *testing.T) {
	var l lateness
	for i := int64(1); i <= 1000; i++ {
		l.add(i * 1000)
	}
	got := l.read()
	near := func(d time.Duration, want time.Duration) bool { return d >= want && d <= want+want/32+1 }
	if got.N != 1000 || !near(got.P50, 500*time.Microsecond) || !near(got.P99, 990*time.Microsecond) || got.Max != time.Millisecond {
		t.Errorf("%v", got)
	}
}
