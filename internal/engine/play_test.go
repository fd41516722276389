package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// player answers every request with one recorded answer over raw sockets, so that a
// test says which bytes leave in which write.
type player struct {
	head  string   // "" for an event stream in chunked coding
	parts [][]byte // each is one write (one chunk, in chunked coding)
	gap   time.Duration
	reset bool   // close the connection in the middle, after the parts
	cuts  []byte // in place of parts: the n-th answer is this in two writes, cut after byte n+1

	mu    sync.Mutex
	wrote [][2]int64 // before and after each part's write
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func (p *player) serve(t *testing.T) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.answer(c)
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func (p *player) answer(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		chunked := p.head == ""
		if chunked {
			io.WriteString(c, streamHead)
		} else {
			io.WriteString(c, p.head)
		}
		parts := p.parts
		if p.cuts != nil {
			parts = [][]byte{p.cuts[:n+1], p.cuts[n+1:]}
		}
		for i, part := range parts {
			if i > 0 && p.gap > 0 {
				time.Sleep(p.gap)
			}
			if chunked {
				part = fmt.Appendf(nil, "%x\r\n%s\r\n", len(part), part)
			}
			before := loadgen.Now()
			c.Write(part)
			after := loadgen.Now()
			p.mu.Lock()
			p.wrote = append(p.wrote, [2]int64{before, after})
			p.mu.Unlock()
		}
		if !chunked || p.reset {
			return
		}
		io.WriteString(c, "0\r\n\r\n")
	}
}

// frames cuts a body after each blank line, as a server writes it.
func frames(body []byte) [][]byte {
	var out [][]byte
	for len(body) > 0 {
		n := bytes.Index(body, []byte("\n\n"))
		if n < 0 {
			return append(out, body)
		}
		out = append(out, body[:n+2])
		body = body[n+2:]
	}
	return out
}

// every cuts a body into pieces of n bytes.
func every(body []byte, n int) [][]byte {
	var out [][]byte
	for len(body) > n {
		out = append(out, body[:n])
		body = body[n:]
	}
	return append(out, body)
}

func spec(base *url.URL) loadgen.Spec {
	return loadgen.Spec{
		Base: base, Protocol: row.Passes, Concurrency: 1, Iters: 1,
		Build: func(int) loadgen.Call {
			return Request(PathCompletions, "m", Prompt{IDs: []int{1, 2, 3}}, 3, 32, Options{})
		},
		Timeout: 10 * time.Second, Zero: loadgen.Now(),
		Stamps: loadgen.StampsRead, // any system has these, and most tests are not about time
	}
}

func one(t *testing.T, p *player) (row.Sample, *loadgen.Capture) {
	t.Helper()
	return run(t, spec(p.serve(t)))
}

func run(t *testing.T, s loadgen.Spec) (row.Sample, *loadgen.Capture) {
	t.Helper()
	c, err := loadgen.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	samples := Samples(c)
	if len(samples) != 1 {
		t.Fatalf("%d samples", len(samples))
	}
	return samples[0], c
}

// timed plays parts with a gap under the best stamps there are. Where several chunks
// came under one stamp (a client without CPU, and no packet ring), the capture says so
// and the play is no evidence: it is done again.
func timed(t *testing.T, file string, gap time.Duration) (row.Sample, *loadgen.Capture, *player) {
	t.Helper()
	for range 20 {
		p := &player{parts: frames(fixture(t, file)), gap: gap}
		sp := spec(p.serve(t))
		sp.Stamps = ""
		s, c := run(t, sp)
		if !slices.ContainsFunc(c.Outcomes[0].Stamps, func(s loadgen.Stamp) bool { return s.Shared }) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return s, c, p
		}
	}
	t.Fatal("this host never has the CPU to tell chunks apart")
	return row.Sample{}, nil, nil
}
