package simulator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Server is one embedded engine.
type Server struct {
	cfg   Config
	count *counters
	table *timetable
	ended chan *stream
	seq   atomic.Int64
}

// New makes a server; Serve runs it.
func New(cfg Config) (*Server, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	count := &counters{maxRunning: int64(cfg.MaxRunning), maxBlocks: int64(cfg.CacheBlocks), started: time.Now()}
	count.peak.Store(weightBytes)
	ended := make(chan *stream, 4096)
	return &Server{cfg: cfg, count: count, ended: ended, table: newTimetable(cfg, ended, count)}, nil
}

// Serve runs an embedded engine on a listener of TCP or Unix sockets until ctx ends,
// and closes the listener. A line of truth is written for each request that was
// admitted to the queue. It returns nil when it ended because ctx did.
func Serve(ctx context.Context, ln net.Listener, cfg Config, truth io.Writer) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	return s.Serve(ctx, ln, truth)
}

// Lateness is how well the timetable has been kept so far.
func (s *Server) Lateness() Lateness { return s.count.late.read() }

// Serve is as the function Serve. A Server serves once.
func (s *Server) Serve(ctx context.Context, ln net.Listener, truth io.Writer) error {
	var (
		mu    sync.Mutex
		conns = map[net.Conn]bool{}
		each  sync.WaitGroup
	)
	ran := make(chan struct{})
	go func() { defer close(ran); s.table.run() }()
	written := make(chan error, 1)
	go func() { written <- writeTruth(truth, s.ended) }()

	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	var accept error
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() == nil {
				accept = fmt.Errorf("accepting connections: %w", err)
			}
			break
		}
		mu.Lock()
		conns[c] = true
		mu.Unlock()
		each.Go(func() {
			s.talk(c)
			mu.Lock()
			delete(conns, c)
			mu.Unlock()
		})
	}
	ln.Close()
	s.table.stop()
	<-ran // streams first: each has its line of truth before its connection closes
	mu.Lock()
	for c := range conns {
		c.Close()
	}
	mu.Unlock()
	each.Wait()
	close(s.ended)
	return errors.Join(accept, <-written)
}

// talk serves one connection until either side ends it.
func (s *Server) talk(c net.Conn) {
	defer c.Close()
	if t, ok := c.(*net.TCPConn); ok {
		// A token waits for nothing; Go sets it so too, and here it matters.
		_ = t.SetNoDelay(true)
	}
	if _, ok := c.(syscall.Conn); !ok {
		return // only a socket can be written to from the timetable's thread
	}
	w, err := newWriter(c)
	if err != nil {
		return
	}
	in := receive(c)
	br := bufio.NewReaderSize(in, 64<<10)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				s.refuse(w, nil, failure{http.StatusBadRequest, "BadRequestError", "", "not an HTTP request: " + err.Error()})
			}
			return
		}
		if !req.ProtoAtLeast(1, 1) {
			s.refuse(w, nil, failure{http.StatusHTTPVersionNotSupported, "BadRequestError", "", req.Proto + " is not served; HTTP/1.1 is"})
			return
		}
		if !s.answer(w, in, br, req) {
			return
		}
	}
}

// answer serves one request. It returns false when the connection must end.
func (s *Server) answer(w *writer, in *received, br *bufio.Reader, req *http.Request) bool {
	if req.Header.Get("Expect") == "100-continue" {
		if w.write([]byte("HTTP/1.1 100 Continue\r\n\r\n")) != nil {
			return false
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, 64<<20))
	received, arrived := in.last(), now()
	if err != nil {
		s.refuse(w, req, failure{http.StatusBadRequest, "BadRequestError", "", "the body could not be read: " + err.Error()})
		return false
	}
	var ok bool
	switch route := req.URL.Path; route {
	case "/v1/completions", "/v1/chat/completions":
		if req.Method != http.MethodPost {
			ok = s.refuse(w, req, failure{http.StatusMethodNotAllowed, "MethodNotAllowed", "", route + " takes POST, not " + req.Method})
			break
		}
		ok = s.complete(w, br, req, body, received, arrived)
	case "/health":
		ok = reply(w, req, http.StatusOK, "text/plain; charset=utf-8", nil)
	case "/version":
		ok = replyJSON(w, req, http.StatusOK, s.version())
	case "/v1/models":
		ok = replyJSON(w, req, http.StatusOK, s.models())
	case "/metrics":
		ok = reply(w, req, http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", s.metrics())
	default:
		ok = s.refuse(w, req, failure{http.StatusNotFound, "NotFoundError", "",
			route + " is not served; there are /v1/completions, /v1/chat/completions, /v1/models, /health, /version and /metrics"})
	}
	return ok && !req.Close
}
