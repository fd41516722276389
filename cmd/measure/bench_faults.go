package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"rowproof/internal/row"
)

// What a sweep does after a row that failed.
const (
	failContinue = "continue"
	failStop     = "stop"
)

// declareFaults are the flags that bound what a server's faults can do to a run.
func (o *benchOptions) declareFaults(c collector) {
	o.timeout, o.idle, o.connect = 10*time.Minute, 2*time.Minute, 10*time.Second
	c.span("timeout", &o.timeout, "10m", "longest a request may take as a whole", false)
	c.span("idle-timeout", &o.idle, "2m", "longest an answer that has begun may be silent", false)
	c.span("connect-timeout", &o.connect, "10s", "longest a connection may take to open", false)
	c.choice("on-failure", &o.onFailure, failContinue, []string{failContinue, failStop}, "after a row that failed: continue with the next, or stop; either way the exit code is 1")
}

// drainFor is how long the requests under way may take after an interrupt.
var drainFor = 10 * time.Second

// draining outlives an interrupt of ctx: told is called, and what runs under it has grace
// to end by itself. end lets go of it, and of told.
func draining(ctx context.Context, grace time.Duration, told func()) (work context.Context, end func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	unheard := context.AfterFunc(ctx, func() {
		defer close(done)
		told()
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-work.Done():
		}
	})
	return work, func() {
		cancel()
		if !unheard() {
			<-done
		}
	}
}

// tellInterrupt says what the first interrupt does.
func (s *sweep) tellInterrupt() {
	s.bar.say(fmt.Sprintf("measure bench: interrupted: no further request begins, and those under way have %s to end; interrupt again to end at once", drainFor))
}

// inPart says why a row is not whole that an interrupt cut short; "" where nothing of it
// is missing.
func inPart(w *row.Workload, c *row.Counts) string {
	if w.DurationS != nil {
		return fmt.Sprintf("interrupted after %s", countOf(int(c.Completed), "timed request"))
	}
	if c.Completed >= c.Planned {
		return ""
	}
	return fmt.Sprintf("interrupted after %d of %s", c.Completed, countOf(int(c.Planned), "timed request"))
}

// goneWithin is how long a server may take to accept one more connection after a row that
// failed.
const goneWithin = 2 * time.Second

// gone says why the server cannot be reached any more, or "".
func (s *server) gone(within time.Duration) string {
	port := s.base.Port()
	if port == "" {
		port = s.base.Scheme
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(s.base.Hostname(), port), within)
	if err == nil {
		c.Close()
		return ""
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err.Error()
	}
	return err.Error()
}
