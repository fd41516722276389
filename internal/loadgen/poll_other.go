//go:build !linux

package loadgen

import (
	"sync"
	"time"
)

// poller waits until a time, until a connection can be read or written, or until
// another thread rings. Here each connection has a goroutine that reads it (socket).
type poller struct {
	bell chan struct{}

	mu    sync.Mutex
	heard []*socket
}

func newPoller() (*poller, error) { return &poller{bell: make(chan struct{}, 1)}, nil }

func (p *poller) close() {}

// ring ends the present wait, or the next one. Any thread may.
func (p *poller) ring() {
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// watch says which stream a connection is of: all that comes is worth waking for.
func (p *poller) watch(s *stream, _, _ bool) { s.conn.socket.follow(p, s) }

// wait returns at the time until, and calls ready with each stream that can be read or
// written.
func (p *poller) wait(until int64, ready func(*stream)) {
	t := time.NewTimer(time.Duration(until - Now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.bell:
	}
	p.mu.Lock()
	heard := p.heard
	p.heard = nil
	p.mu.Unlock()
	for _, k := range heard {
		if s := k.stream(); s != nil && s.conn != nil && s.conn.socket == k {
			ready(s)
		}
	}
}
