package loadgen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rowproof/internal/row"
)

// counter is a server that knows how many requests it holds.
type counter struct {
	mu       sync.Mutex
	now, max int
	total    int
	conns    atomic.Int64
	handle   func(w http.ResponseWriter, r *http.Request, n int)
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	c.mu.Lock()
	c.now++
	c.max = max(c.max, c.now)
	n := c.total
	c.total++
	c.mu.Unlock()
	if c.handle != nil {
		c.handle(w, r, n)
	} else {
		io.WriteString(w, "data: [DONE]\n\n")
	}
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
}

// most is the largest number of requests held at once.
func (c *counter) most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.max
}

func (c *counter) start(t testing.TB) *url.URL {
	t.Helper()
	s := httptest.NewUnstartedServer(c)
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			c.conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func load(base *url.URL, protocol string, c, warmup int) Spec {
	return Spec{
		Base: base, Protocol: protocol, Concurrency: c, Warmup: warmup,
		Build: func(seq int) Call {
			return Call{Path: "/v1/completions", Body: fmt.Appendf(nil, `{"seq":%d}`, seq), ISL: 3, OSL: 2}
		},
		Timeout: 20 * time.Second, Zero: Now(),
		Stamps: StampsRead,
	}
}

func phases(c *Capture) map[string]int {
	m := map[string]int{}
	for _, o := range c.Outcomes {
		m[o.Phase]++
	}
	return m
}

func TestPassesGoTogether(t *testing.T) {
	const c = 4
	// Nobody is answered until all of a pass are there: without a barrier of c at
	// once, this would hang.
	var mu sync.Mutex
	waiting := []chan struct{}{}
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, _ int) {
		ch := make(chan struct{})
		mu.Lock()
		waiting = append(waiting, ch)
		if len(waiting) == c {
			for _, x := range waiting {
				close(x)
			}
			waiting = nil
		}
		mu.Unlock()
		<-ch
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Passes, c, 2)
	spec.Iters = 3
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if p := phases(got); p[row.PhaseFirst] != 1 || p[row.PhaseWarm] != 7 || p[row.PhaseTimed] != 12 {
		t.Errorf("phases %v, want 1 first, 7 warm, 12 timed", p)
	}
	if srv.most() != c || srv.conns.Load() != c || got.Stats.Connections != c {
		t.Errorf("the server held %d at once over %d connections; we count %d", srv.most(), srv.conns.Load(), got.Stats.Connections)
	}
	ended := int64(0)
	for i, o := range got.Outcomes {
		if o.Seq != i || o.Err != "" || o.HTTPStatus != 200 || string(o.Body) != "data: [DONE]\n\n" {
			t.Fatalf("outcome %d: %+v", i, o)
		}
		if o.Pass != i/c-2 || !(o.Enqueued <= o.Sent && o.Sent <= o.Ended) {
			t.Errorf("outcome %d: pass %d, %d %d %d", i, o.Pass, o.Enqueued, o.Sent, o.Ended)
		}
		if i%c == 0 {
			if o.Enqueued < ended {
				t.Errorf("pass %d began before the one before it had ended", o.Pass)
			}
		} else if o.Enqueued != got.Outcomes[i-1].Enqueued {
			t.Errorf("requests of pass %d were not enqueued together", o.Pass)
		}
		ended = max(ended, o.Ended)
	}
}

func TestFirstCallIsOfTheFirstRepeatWithAWarmUp(t *testing.T) {
	for _, c := range []struct {
		warmup, repeat, first, warm int
	}{{1, 0, 1, 1}, {1, 1, 0, 2}, {0, 0, 0, 0}} {
		srv := &counter{}
		spec := load(srv.start(t), row.Passes, 2, c.warmup)
		spec.Iters, spec.Repeat = 1, c.repeat
		got, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if p := phases(got); p[row.PhaseFirst] != c.first || p[row.PhaseWarm] != c.warm || p[row.PhaseTimed] != 2 {
			t.Errorf("warm-up %d, repeat %d: %v", c.warmup, c.repeat, p)
		}
	}
}

func TestSustainedKeepsStreamsFullToTheLastTimedOne(t *testing.T) {
	const c, n = 3, 10
	// The last timed request (seq 3+9) is held until the drain has filled the other
	// streams many times over.
	const held = c + n - 1
	release := make(chan struct{})
	var drained atomic.Int64
	srv := &counter{handle: func(w http.ResponseWriter, r *http.Request, _ int) {
		switch r.URL.Path {
		case "/held":
			<-release
		case "/drain":
			if drained.Add(1) == 20 {
				close(release)
			}
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, c, 1)
	spec.Requests = n
	spec.Build = func(seq int) Call {
		switch {
		case seq == held:
			return Call{Path: "/held"}
		case seq > held:
			return Call{Path: "/drain"}
		default:
			return Call{Path: "/v1/completions"}
		}
	}
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	p := phases(got)
	if p[row.PhaseFirst] != 1 || p[row.PhaseWarm] != c-1 || p[row.PhaseTimed] != n || p[row.PhaseDrain] == 0 {
		t.Errorf("phases %v", p)
	}
	for i, o := range got.Outcomes {
		want := row.PhaseDrain
		switch {
		case i == 0:
			want = row.PhaseFirst
		case i < c:
			want = row.PhaseWarm
		case i < c+n:
			want = row.PhaseTimed
		}
		if o.Seq != i || o.Phase != want {
			t.Errorf("outcome %d: seq %d, phase %s, want %s", i, o.Seq, o.Phase, want)
		}
		if o.Phase == row.PhaseTimed && (o.Err != "" || o.Cut) {
			t.Errorf("timed outcome %d: %q, cut %v", i, o.Err, o.Cut)
		}
	}
	if m := srv.most(); m > c {
		t.Errorf("%d at once, want at most %d", m, c)
	}
}

func TestDrainIsCutAndNoFailure(t *testing.T) {
	draining := make(chan struct{})
	var once sync.Once
	srv := &counter{handle: func(w http.ResponseWriter, r *http.Request, _ int) {
		switch r.URL.Path {
		case "/held":
			<-draining
		case "/drain":
			io.WriteString(w, "data: {}\n\n")
			w.(http.Flusher).Flush()
			once.Do(func() { close(draining) })
			<-r.Context().Done() // until the client goes away
			return
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, 4, 0)
	spec.Requests = 4
	spec.Build = func(seq int) Call { return Call{Path: []string{"/held", "/", "/", "/", "/drain"}[min(seq, 4)]} }
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	for _, o := range got.Outcomes {
		switch {
		case o.Phase == row.PhaseTimed && (o.Err != "" || o.Cut):
			t.Errorf("timed %d: %q, cut %v", o.Seq, o.Err, o.Cut)
		case o.Phase == row.PhaseDrain && !o.Cut:
			t.Errorf("drain %d ended by itself: %q", o.Seq, o.Err)
		case o.Cut:
			cut++
		}
	}
	if cut == 0 {
		t.Error("nothing was cut")
	}
}

func TestDuration(t *testing.T) {
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, _ int) {
		time.Sleep(time.Millisecond)
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, 2, 1)
	spec.Duration = 60 * time.Millisecond
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	first := int64(0)
	for _, o := range got.Outcomes {
		if o.Phase == row.PhaseTimed && first == 0 {
			first = o.Enqueued
		}
		inside := first != 0 && o.Enqueued-first <= int64(spec.Duration)
		if (o.Phase == row.PhaseTimed) != inside {
			t.Errorf("seq %d is %s, %d ns after the first timed one", o.Seq, o.Phase, o.Enqueued-first)
		}
	}
	if phases(got)[row.PhaseTimed] < 4 {
		t.Errorf("phases %v", phases(got))
	}
}

// script is a server over raw sockets: for each connection it runs one function.
func script(t testing.TB, f func(n int, c net.Conn, in *bufio.Reader)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(n, c, bufio.NewReader(c))
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func take(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, req.Body)
	return true
}

const good = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n"

// The first stream's connection is closed after its answer, without a word; the second
// is answered when that has happened, and only then does the next pass begin.
func TestKeptConnectionThatTheServerClosedIsOpenedAgain(t *testing.T) {
	closed := make(chan struct{}, 1)
	var served atomic.Int64
	base := script(t, func(_ int, c net.Conn, in *bufio.Reader) {
		for take(in) {
			if served.Add(1)%2 == 1 {
				io.WriteString(c, good)
				c.Close()
				closed <- struct{}{}
				return
			}
			<-closed
			io.WriteString(c, good)
		}
	})
	spec := load(base, row.Passes, 2, 0)
	spec.Iters = 5
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range got.Outcomes {
		if o.Err != "" || o.HTTPStatus != 200 {
			t.Errorf("seq %d: %d %q", o.Seq, o.HTTPStatus, o.Err)
		}
	}
	if st := got.Stats; len(got.Outcomes) != 10 || st.Connections != 6 || st.LateConnections != 4 {
		t.Errorf("%d requests over %d connections, %d of them late; want 10, 6 and 4", len(got.Outcomes), st.Connections, st.LateConnections)
	}
}

// A request is written once: a server that dies over it is not asked again.
func TestARequestIsNeverSentTwice(t *testing.T) {
	var served atomic.Int64
	base := script(t, func(_ int, c net.Conn, in *bufio.Reader) {
		for take(in) {
			if served.Add(1) == 2 {
				return
			}
			io.WriteString(c, good)
		}
	})
	spec := load(base, row.Passes, 1, 0)
	spec.Iters = 3
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if served.Load() != 2 || len(got.Outcomes) != 2 || got.Outcomes[1].Err != "the server closed the connection without an answer" {
		t.Errorf("%d requests came; %d outcomes, the last %q", served.Load(), len(got.Outcomes), got.Outcomes[len(got.Outcomes)-1].Err)
	}
}

// What is left of a request that was answered before all of it went is not sent, and the
// next one goes over another connection.
func TestAnswerBeforeTheRequestIsWritten(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	for _, stamps := range []string{"", StampsKernel, StampsRead} {
		base := script(t, func(_ int, c net.Conn, in *bufio.Reader) {
			if _, err := http.ReadRequest(in); err == nil {
				io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge")
				<-over // it reads no more, so there is no room for all of the request
			}
		})
		spec := load(base, row.Sustained, 1, 0)
		spec.Requests, spec.Stamps = 2, stamps
		spec.Build = func(int) Call { return Call{Path: "/", Body: make([]byte, 16<<20)} }
		got, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range got.Outcomes {
			if o.HTTPStatus != 413 || string(o.Body) != "large" || o.Err != "" {
				t.Errorf("stamps %q: request %d: %d %q %s", stamps, o.Seq, o.HTTPStatus, o.Body, o.Err)
			}
		}
		if got.Stats.Connections != 2 {
			t.Errorf("stamps %q: %d connections", stamps, got.Stats.Connections)
		}
	}
}

func TestStalledStreamDoesNotHangTheRun(t *testing.T) {
	base := script(t, func(n int, c net.Conn, in *bufio.Reader) {
		for take(in) {
			if n == 0 {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: x\n\r\n")
				io.Copy(io.Discard, in) // and nothing more
				return
			}
			io.WriteString(c, good)
		}
	})
	spec := load(base, row.Passes, 1, 0)
	spec.Iters, spec.Idle = 2, 80*time.Millisecond
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if o := got.Outcomes[0]; !strings.Contains(o.Err, "nothing came for 80ms") || string(o.Body) != "data: x\n" {
		t.Errorf("%q with body %q", o.Err, o.Body)
	}
}

func TestWholeRequestTimesOut(t *testing.T) {
	base := script(t, func(_ int, c net.Conn, in *bufio.Reader) {
		take(in)
		io.Copy(io.Discard, in)
	})
	spec := load(base, row.Passes, 2, 0)
	spec.Iters, spec.Timeout = 1, 80*time.Millisecond
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range got.Outcomes {
		if !strings.Contains(o.Err, "not whole after 80ms") {
			t.Errorf("%q", o.Err)
		}
	}
}

func TestInterruptReturnsWhatCame(t *testing.T) {
	for _, protocol := range []string{row.Passes, row.Sustained} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		srv := &counter{handle: func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 3 {
				io.WriteString(w, "data: half\n\n")
				w.(http.Flusher).Flush()
				cancel()
				<-r.Context().Done()
				return
			}
			io.WriteString(w, "data: [DONE]\n\n")
		}}
		spec := load(srv.start(t), protocol, 1, 1)
		if protocol == row.Passes {
			spec.Iters = 100
		} else {
			spec.Requests = 100
		}
		got, err := Run(ctx, spec)
		if !errors.Is(err, context.Canceled) || got == nil {
			t.Fatalf("%s: %v, %v", protocol, got, err)
		}
		if len(got.Outcomes) != 4 || got.Outcomes[3].Err != "interrupted" || got.Outcomes[2].Err != "" {
			t.Errorf("%s: %d outcomes, the last %q", protocol, len(got.Outcomes), got.Outcomes[len(got.Outcomes)-1].Err)
		}
	}
}

func TestDeadServerIsNotHammered(t *testing.T) {
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(503) }}
	spec := load(srv.start(t), row.Sustained, 2, 0)
	spec.Duration = time.Minute
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Outcomes) != 2*giveUpAfter || len(got.Notes) != 1 {
		t.Errorf("%d outcomes, notes %q", len(got.Outcomes), got.Notes)
	}
}

func TestNoServerIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := &url.URL{Scheme: "http", Host: l.Addr().String()}
	l.Close()
	spec := load(base, row.Passes, 2, 0)
	spec.Iters = 1
	if got, err := Run(context.Background(), spec); err == nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWrongSpecNamesAllThatIsWrong(t *testing.T) {
	_, err := Run(context.Background(), Spec{Protocol: "bursts", Warmup: -1, Header: http.Header{"X": {"s3cret\r\nY: 1"}}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"base URL", "builds", "concurrency is 0", "warm-up is -1", `"bursts"`, "line break"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%q tells a header's value", err)
	}
}

func TestLoopbackOfIPv6AndBasePath(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	var path, auth atomic.Value
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path.Store(r.RequestURI)
		auth.Store(r.Header.Get("Authorization"))
		io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer l.Close()
	base := &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/proxy/"}
	spec := load(base, row.Passes, 1, 0)
	spec.Iters = 1
	spec.Header = http.Header{"authorization": {"Bearer k"}}
	got, err := Run(context.Background(), spec)
	if err != nil || got.Outcomes[0].Err != "" {
		t.Fatal(err, got)
	}
	if path.Load() != "/proxy/v1/completions" || auth.Load() != "Bearer k" {
		t.Errorf("path %v, authorization %v", path.Load(), auth.Load())
	}
}

func TestProgress(t *testing.T) {
	told := make(chan Progress, 1)
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, n int) {
		switch n {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			<-told // a word about the two before
		}
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, 1, 0)
	spec.Requests = 3
	spec.Progress = func(p Progress) {
		if p.Done < 2 {
			return
		}
		select {
		case told <- p:
			if p.Done > 2 || p.Planned != 3 || p.Failed != 1 || p.Chunks < 2 || p.First <= 0 {
				t.Errorf("%+v", p)
			}
		default:
		}
	}
	if _, err := Run(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
}

// Once stopped, a run begins no request and waits for those under way; a drain request
// is not waited for.
func TestStopLetsRequestsUnderWayEnd(t *testing.T) {
	for _, protocol := range []string{row.Passes, row.Sustained} {
		t.Run(protocol, func(t *testing.T) {
			stop := make(chan struct{})
			srv := &counter{}
			srv.handle = func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 2 {
					close(stop)
					// The others are under way or were answered; nothing tells when the
					// stop is seen, so what follows goes on for a while.
					for range 30 {
						io.WriteString(w, "data: 1\n\n")
						w.(http.Flusher).Flush()
						time.Sleep(10 * time.Millisecond)
					}
				}
				io.WriteString(w, "data: [DONE]\n\n")
			}
			spec := load(srv.start(t), protocol, 3, 0)
			spec.Iters, spec.Stop = 1000, stop
			if protocol == row.Sustained {
				spec.Iters, spec.Requests = 0, 1_000_000
			}
			got, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Outcomes) < 3 || len(got.Outcomes) > 900_000 {
				t.Errorf("%d requests", len(got.Outcomes))
			}
			for _, o := range got.Outcomes {
				if o.Err != "" || o.HTTPStatus != 200 {
					t.Errorf("request %d: %d %s", o.Seq, o.HTTPStatus, o.Err)
				}
			}
		})
	}
}

func TestBestStampsThereAre(t *testing.T) {
	spec := load((&counter{}).start(t), row.Passes, 1, 0)
	spec.Iters, spec.Stamps = 1, ""
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && got.Stats.Stamps == StampsRead {
		t.Error("Linux has better than stamps at Read")
	}
	if got.Stats.Reads == 0 || got.Stats.Unstamped != 0 {
		t.Errorf("%+v", got.Stats)
	}
}
