package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// wire is a request as HTTP/1.1 writes it.
func wire(body string) *request {
	return &request{wire: fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nX-Key: k\r\nContent-Length: %d\r\n\r\n%s", len(body), body)}
}

// ask carries out one request over a transport that waits.
func ask(t transport, f framing, q *request) (*answer, error) {
	a := new(answer)
	a.reset(&Call{OSL: 100_000})
	send := func(p []byte) error {
		for len(p) > 0 {
			n, err := t.write(p)
			p = p[n:]
			if err != nil && err != errAgain {
				return err
			}
		}
		return nil
	}
	if err := send(f.begin(q, a)); err != nil {
		return a, err
	}
	p := make([]byte, 16<<10)
	for !f.whole() {
		n, from, err := t.read(p)
		if err == errAgain {
			continue
		}
		if err == io.EOF {
			if said := f.ended(); said != "" {
				return a, fmt.Errorf("%s", said)
			}
			return a, nil
		}
		if err != nil {
			return a, err
		}
		reply, err := f.feed(p[:n], from)
		if err != nil {
			return a, err
		}
		if err := send(reply); err != nil {
			return a, err
		}
	}
	return a, nil
}

// h2Server is a real server of HTTP/2, and a connection to it.
func h2Server(t *testing.T, handle http.HandlerFunc) (*httptest.Server, *sealed, *h2) {
	t.Helper()
	srv := httptest.NewUnstartedServer(handle)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	near, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	near.SetDeadline(time.Now().Add(30 * time.Second))
	config := srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.ServerName, config.NextProtos = "example.com", []string{"h2", "http/1.1"}
	s, err := shakeHands(context.Background(), near, config, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if s.speaks() != "h2" {
		t.Fatalf("the server speaks %q", s.speaks())
	}
	h, err := greet(s)
	if err != nil {
		t.Fatal(err)
	}
	s.over(&waiting{Conn: near})
	return srv, s, h
}

func TestH2AgainstARealServer(t *testing.T) {
	type seen struct {
		proto, host, path, key, length string
		body                           int
	}
	var last seen
	const events = 50
	srv, s, h := h2Server(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		last = seen{r.Proto, r.Host, r.URL.Path, r.Header.Get("X-Key"), r.Header.Get("Content-Length"), len(b)}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusEarlyHints)
		for i := range events {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-Sum", "0")
	})
	_ = srv
	want := ""
	for i := range events {
		want += fmt.Sprintf("data: %d\n\n", i)
	}
	// Its windows are 1 MiB: a larger body waits for them to open.
	for _, n := range []int{0, 10, 3 << 20, 10} {
		a, err := ask(s, h, wire(strings.Repeat("x", n)))
		if err != nil {
			t.Fatal(err)
		}
		if string(a.body) != want || a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d: %q, %v", a.status, a.body, a.header)
		}
		if a.chunks != events || h.spent() {
			t.Errorf("%d chunks counted, spent: %v", a.chunks, h.spent())
		}
		if w := (seen{"HTTP/2.0", "example.com", "/v1/completions", "k", fmt.Sprint(n), n}); last != w {
			t.Errorf("the server saw %+v, want %+v", last, w)
		}
		for i, p := range pieces(a.marks.packed) {
			if !p.framed || !p.sealed || p.raw > s.got() {
				t.Errorf("piece %d: %+v of %d raw bytes", i, p, s.got())
			}
		}
	}
}

// What came is given back to the window long before it closes, and no more than came.
func TestH2WindowsNeverClose(t *testing.T) {
	_, s, h := h2Server(t, func(w http.ResponseWriter, r *http.Request) {
		part := make([]byte, 1<<20)
		for range 30 {
			w.Write(part)
		}
	})
	for range 2 {
		a, err := ask(s, h, wire(""))
		if err != nil || len(a.body) != 30<<20 {
			t.Fatalf("%d bytes, %v", len(a.body), err)
		}
	}

	h, _ = newH2()
	h.settled = true
	data := frames(func(fr *http2.Framer, _ func(uint32, bool, ...string)) { fr.WriteData(1, false, make([]byte, 16<<10)) })[frameHead:]
	a := new(answer)
	h.begin(wire(""), a)
	h.began = true
	var given, came int64
	for range 5000 {
		reply, err := h.feed(data, arrival{})
		if err != nil {
			t.Fatal(err)
		}
		came += 16 << 10
		if len(reply) > 0 {
			f, err := http2.NewFramer(nil, bytes.NewReader(reply)).ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			given += int64(f.(*http2.WindowUpdateFrame).Increment)
		}
		if given > came || came-given > 16<<20 {
			t.Fatalf("%d bytes came, %d were given back", came, given)
		}
	}
}

func TestH2AnswersThatFail(t *testing.T) {
	handle := func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Content-Length") {
		case "1":
			io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "2":
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "<html>")
		default:
			w.WriteHeader(http.StatusRequestEntityTooLarge) // without reading it
		}
	}
	_, s, h := h2Server(t, handle)
	if a, err := ask(s, h, wire("12")); err != nil || a.status != 503 || string(a.body) != "<html>" || h.spent() {
		t.Errorf("%d, %q, %v", a.status, a.body, err)
	}
	if a, err := ask(s, h, wire("1")); err == nil || err.Error() != "the server reset the stream: an error of its own (INTERNAL_ERROR)" || string(a.body) != "data: 1\n\n" || !h.spent() {
		t.Errorf("%v after %q", err, a.body)
	}
	_, s, h = h2Server(t, handle)
	if a, err := ask(s, h, wire(strings.Repeat("x", 8<<20))); err != nil || a.status != 413 || !h.spent() {
		t.Errorf("%d, %v, spent %v", a.status, err, h.spent())
	}
}

// frames writes what a server would.
func frames(f func(fr *http2.Framer, head func(id uint32, end bool, fields ...string))) []byte {
	var out bytes.Buffer
	fr := http2.NewFramer(&out, nil)
	fr.AllowIllegalWrites = true
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	fr.WriteSettings()
	f(fr, func(id uint32, end bool, fields ...string) {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: end, EndHeaders: true})
	})
	return out.Bytes()
}

type framesOf = func(fr *http2.Framer, head func(id uint32, end bool, fields ...string))

// split writes a block of headers a byte a frame.
func split(fr *http2.Framer, id uint32, block []byte) {
	fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
	for i := 1; i < len(block); i++ {
		fr.WriteContinuation(id, i == len(block)-1, block[i:i+1])
	}
}

func block(fields ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

var h2Good = []struct {
	name string
	f    framesOf
	body string
}{
	{"two chunks", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		head(1, false, ":status", "200", "content-type", "text/event-stream")
		fr.WriteData(1, false, []byte("data: 1\n\n"))
		fr.WriteData(1, false, []byte("data: 2\n\n"))
		fr.WriteData(1, true, nil)
	}, "data: 1\n\ndata: 2\n\n"},
	{"padding", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		head(1, false, ":status", "200")
		fr.WriteDataPadded(1, false, []byte("data: 1\n\n"), make([]byte, 255))
		fr.WriteDataPadded(1, false, nil, make([]byte, 3))
		fr.WriteDataPadded(1, true, []byte("data: 2\n\n"), []byte{})
	}, "data: 1\n\ndata: 2\n\n"},
	{"a head in crumbs", func(fr *http2.Framer, _ func(uint32, bool, ...string)) {
		split(fr, 1, block(":status", "200", "x-long", strings.Repeat("v", 300)))
		fr.WriteData(1, true, []byte("hi"))
	}, "hi"},
	{"interim heads, pings, settings, windows, priorities and what nobody knows", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		fr.WriteSettingsAck()
		head(1, false, ":status", "103", "link", "</a>")
		fr.WritePing(false, [8]byte{1})
		head(1, false, ":status", "200")
		fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20})
		fr.WriteWindowUpdate(0, 1000)
		fr.WriteData(1, false, []byte("h"))
		fr.WriteRawFrame(0xbe, 0xff, 7, []byte("noise"))
		fr.WritePriority(1, http2.PriorityParam{StreamDep: 3})
		fr.WritePing(true, [8]byte{2})
		fr.WriteWindowUpdate(1, 1000)
		fr.WriteWindowUpdate(9, 1000)
		fr.WriteData(1, true, []byte("i"))
	}, "hi"},
	{"a trailer", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		head(1, false, ":status", "200", "content-length", "2")
		fr.WriteData(1, false, []byte("hi"))
		head(1, true, "grpc-status", "0")
	}, "hi"},
	{"no body", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		head(1, true, ":status", "200")
	}, ""},
	{"a last word", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		fr.WriteGoAway(1, http2.ErrCodeNo, nil)
		head(1, false, ":status", "200")
		fr.WriteData(1, true, []byte("hi"))
	}, "hi"},
	{"nonsense behind it", func(fr *http2.Framer, head func(uint32, bool, ...string)) {
		head(1, false, ":status", "200")
		fr.WriteData(1, true, []byte("hi"))
		fr.WriteRSTStream(1, http2.ErrCodeNo)
	}, "hi"},
}

// h2Fed gives a server's bytes to a request under way, in reads of n bytes, the i-th of
// them stamped i.
func h2Fed(raw []byte, n int) (*h2, *answer, []byte, error) {
	h, _ := newH2()
	a := new(answer)
	a.reset(&Call{OSL: 10})
	h.begin(wire("a body"), a)
	var replies []byte
	at, end := int64(0), int64(0)
	for len(raw) > 0 {
		k := min(n, len(raw))
		end += int64(k)
		reply, err := h.feed(raw[:k], arrival{end: end, at: at})
		replies = append(replies, reply...)
		if err != nil && h.whole() {
			err = nil // the answer stands
			raw = raw[:k]
		}
		if err != nil {
			return h, a, replies, err
		}
		raw = raw[k:]
		at++
	}
	return h, a, replies, nil
}

func TestH2AnswersInReadsOfAnySize(t *testing.T) {
	for _, c := range h2Good {
		raw := frames(c.f)
		for n := 1; n <= len(raw); n++ {
			h, a, replies, err := h2Fed(raw, n)
			if err != nil || string(a.body) != c.body || !h.whole() || a.status != 200 {
				t.Fatalf("%s in reads of %d: %q, status %d, whole %v, %v", c.name, n, a.body, a.status, h.whole(), err)
			}
			if spent := c.name == "a last word"; h.spent() != spent {
				t.Errorf("%s: spent %v", c.name, h.spent())
			}
			var kinds []string
			fr := http2.NewFramer(nil, bytes.NewReader(replies))
			for {
				f, err := fr.ReadFrame()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, f.Header().Type.String())
			}
			want := []string{"SETTINGS"}
			if strings.HasPrefix(c.name, "interim") {
				want = []string{"SETTINGS", "PING", "SETTINGS"}
			}
			if !reflect.DeepEqual(kinds, want) {
				t.Errorf("%s: replied with %v, want %v", c.name, kinds, want)
			}
		}
	}
}

// Each byte of DATA knows the raw offset that it ended at; without TLS that is its own.
func TestH2PiecesKnowWhereTheyEnded(t *testing.T) {
	raw := frames(h2Good[1].f)
	for n := 1; n <= len(raw); n++ {
		_, a, _, err := h2Fed(raw, n)
		if err != nil {
			t.Fatal(err)
		}
		from := int64(0)
		for _, p := range pieces(a.marks.packed) {
			if got, want := string(raw[p.raw-(p.off-from):p.raw]), string(a.body[from:p.off]); got != want {
				t.Errorf("reads of %d: body %q is said to be at raw bytes %q", n, want, got)
			}
			if !p.framed || p.at != (p.raw-1)/int64(n) {
				t.Errorf("reads of %d: %+v", n, p)
			}
			from = p.off
		}
	}
}

func TestH2ThatIsNone(t *testing.T) {
	for _, c := range []struct {
		name string
		raw  []byte
		want string
	}{
		{"HTTP/1", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "answers in HTTP/1"},
		{"no settings", []byte("\x00\x00\x08\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "began with PING, not with SETTINGS"},
		{"an acknowledgement first", []byte("\x00\x00\x00\x04\x01\x00\x00\x00\x00"), "began with an acknowledgement"},
		{"a giant frame", []byte("\xff\xff\xff\x04\x00\x00\x00\x00\x00"), "a frame of 16777215 bytes came; 16384 were allowed"},
		{"data first", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { fr.WriteData(1, true, []byte("hi")) }), "DATA came before the answer's headers"},
		{"data of another stream", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { fr.WriteData(3, true, []byte("hi")) }), "DATA came for stream 3"},
		{"a head of another stream", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { head(5, true, ":status", "200") }), "HEADERS came for stream 5"},
		{"two heads", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, false, ":status", "200")
			head(1, false, ":status", "200")
		}), "a second head"},
		{"no status", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { head(1, true, "a", "b") }), "status is \"\""},
		{"a request", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { head(1, true, ":method", "GET") }), "status is \"\""},
		{"switching", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { head(1, false, ":status", "101") }), "status is \"101\""},
		{"an interim end", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { head(1, true, ":status", "100") }), "ended with an interim status"},
		{"capitals", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, true, ":status", "200", "Server", "x")
		}), "could not be read"},
		{"gzip", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, true, ":status", "200", "content-encoding", "gzip")
		}), "content coding \"gzip\""},
		{"too short", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, false, ":status", "200", "content-length", "3")
			fr.WriteData(1, true, []byte("hi"))
		}), "has 2 bytes, and said it had \"3\""},
		{"a push", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: block(":method", "GET"), EndHeaders: true})
		}), "pushes"},
		{"padding alone", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, false, ":status", "200")
			fr.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 0, 0})
		}), "more padding than it holds bytes"},
		{"empty and padded", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, false, ":status", "200")
			fr.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, nil)
		}), "padded, and is empty"},
		{"data inside a head", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "200")})
			fr.WriteData(1, true, []byte("hi"))
		}), "expected CONTINUATION"},
		{"an endless head", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "200")})
			for range 100_000 {
				fr.WriteContinuation(1, false, nil)
			}
		}), "passes 64 KiB"},
		{"a head that grows when it is read", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fields := []string{":status", "200", "x", strings.Repeat("v", 2000)}
			for range 10_000 {
				fields = append(fields, "x", fields[3]) // one byte each
			}
			head(1, true, fields...)
		}), "passes 64 KiB"},
		{"pings without end", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			for range 5000 {
				fr.WritePing(false, [8]byte{})
			}
		}), "replies without end"},
		{"empty data without end", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			head(1, false, ":status", "200")
			for range mostBeside/9 + 1 {
				fr.WriteData(1, false, nil)
			}
		}), "frames without end"},
		{"windows without end", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			for range mostBeside/13 + 1 {
				fr.WriteWindowUpdate(1, 1)
			}
		}), "frames without end"},
		{"what nobody knows, without end", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			for range 65 {
				fr.WriteRawFrame(0xbe, 0, 0, make([]byte, 16<<10))
			}
		}), "frames without end"},
		{"interim heads without end", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			for range 5000 {
				head(1, false, ":status", "102")
			}
		}), "replies without end"},
		{"a window too large", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) { fr.WriteWindowUpdate(0, 1<<31-1) }), "beyond 2147483647"},
		{"a setting too large", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1})
		}), "which is not allowed"},
		{"a window of nothing", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4))
		}), "could not be read"},
		{"refused", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteRSTStream(1, http2.ErrCodeRefusedStream)
		}), "the server reset the stream: it did not begin the request (REFUSED_STREAM)"},
		{"not begun", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too_many\x1b[2J"))
		}), `before it began the request: too much was asked of it (ENHANCE_YOUR_CALM), saying "too_many\x1b[2J"`},
		{"gone away", frames(func(fr *http2.Framer, head func(uint32, bool, ...string)) {
			fr.WriteGoAway(1, http2.ErrCodeInternal, nil)
		}), "inside the answer: an error of its own (INTERNAL_ERROR)"},
	} {
		for _, n := range []int{1, 7, len(c.raw)} {
			h, a, replies, err := h2Fed(c.raw, n)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s in reads of %d: %v, want %q", c.name, n, err, c.want)
			}
			if len(replies) > 64<<10 || a.held() > 2<<20 || !h.spent() {
				t.Errorf("%s: %d bytes of replies, %d held, spent %v", c.name, len(replies), a.held(), h.spent())
			}
			if _, again := h.feed([]byte{0}, arrival{}); again != err {
				t.Errorf("%s: goes on after its end: %v", c.name, again)
			}
		}
	}
}

// The server's windows hold a request's body back, and let it go on.
func TestH2BodyWaitsForWindows(t *testing.T) {
	h, _ := newH2()
	a := new(answer)
	a.reset(&Call{OSL: 10})
	feed := func(f framesOf) []byte {
		t.Helper()
		raw := frames(f)
		if h.settled {
			raw = raw[frameHead:] // the settings are known
		}
		reply, err := h.feed(raw, arrival{end: 1})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	feed(func(fr *http2.Framer, _ func(uint32, bool, ...string)) {
		fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 20000})
	})
	data := func(raw []byte) (total int, ended bool) {
		t.Helper()
		fr := http2.NewFramer(nil, bytes.NewReader(raw))
		for {
			f, err := fr.ReadFrame()
			if err == io.EOF {
				return total, ended
			}
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := f.(*http2.DataFrame); ok {
				total += len(d.Data())
				ended = ended || d.StreamEnded()
			}
		}
	}
	if n, ended := data(h.begin(wire(strings.Repeat("x", 100_000)), a)); n != 10 || ended {
		t.Errorf("%d bytes went into a window of 10", n)
	}
	if n, ended := data(feed(func(fr *http2.Framer, _ func(uint32, bool, ...string)) { fr.WriteWindowUpdate(1, 90) })); n != 90 || ended {
		t.Errorf("%d bytes into 90 more", n)
	}
	if n, ended := data(feed(func(fr *http2.Framer, _ func(uint32, bool, ...string)) {
		fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5}) // five less
		fr.WriteWindowUpdate(1, 5)
	})); n != 0 || ended {
		t.Errorf("%d bytes into none", n)
	}
	if n, ended := data(feed(func(fr *http2.Framer, _ func(uint32, bool, ...string)) { fr.WriteWindowUpdate(1, 1<<20) })); n != 65535-100 || ended {
		t.Errorf("%d bytes into the connection's window", n)
	}
	if n, ended := data(feed(func(fr *http2.Framer, _ func(uint32, bool, ...string)) { fr.WriteWindowUpdate(0, 1<<20) })); n != 100_000-65535 || !ended {
		t.Errorf("%d bytes of the rest, ended %v", n, ended)
	}
}

func FuzzH2(f *testing.F) {
	for _, c := range h2Good {
		f.Add(frames(c.f), 3)
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		if n < 1 {
			return
		}
		ha, a, repliesA, errA := h2Fed(raw, n)
		hb, b, repliesB, errB := h2Fed(raw, len(raw)+1)
		if fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Fatalf("reads of %d: %v; one read: %v", n, errA, errB)
		}
		if string(a.body) != string(b.body) || ha.whole() != hb.whole() || ha.spent() != hb.spent() || a.status != b.status {
			t.Fatalf("reads of %d: %q %d; one read: %q %d", n, a.body, a.status, b.body, b.status)
		}
		if !ha.spent() && !bytes.Equal(repliesA, repliesB) {
			t.Fatalf("reads of %d: replied %x; one read: %x", n, repliesA, repliesB)
		}
		if ha.in.Cap() > 4*(maxHead+ourFrame) || len(a.body) > len(raw) || len(repliesA) > 2*len(raw)+100 {
			t.Fatalf("%d bytes became %d of frames, %d of body, %d of replies", len(raw), ha.in.Cap(), len(a.body), len(repliesA))
		}
		last := int64(0)
		for _, p := range pieces(a.marks.packed) {
			if p.off <= last || p.raw > int64(len(raw)) {
				t.Fatalf("piece %+v behind %d of %d raw bytes", p, last, len(raw))
			}
			last = p.off
		}
		if last != int64(len(a.body)) {
			t.Fatalf("pieces reach %d of %d bytes", last, len(a.body))
		}
	})
}
