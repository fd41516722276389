//go:build !linux

package loadgen

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// socket is a TCP connection that two goroutines read and write, so that the loop, which
// owns it, never waits.
type socket struct {
	nc     net.Conn
	base   int64 // raw bytes read so far
	stamps string

	mu       sync.Mutex
	poll     *poller
	of       *stream
	came     []came
	failed   error // of reading, behind what came
	out      []byte
	writing  bool
	unsaid   error // of writing
	position int   // in the first of came
}

type came struct {
	bytes []byte
	at    int64
}

var errNoKernelStamps = errors.New("kernel receive stamps exist on Linux only")

func askKernelStamps(_, _ string, _ syscall.RawConn) error { return errNoKernelStamps }

// detach takes over a connection of which got bytes were read.
func detach(nc net.Conn, got int64, d *dialer) (*socket, error) {
	s := &socket{nc: nc, base: got, stamps: d.stamps}
	go s.pump()
	return s, nil
}

func (s *socket) askKernel() error { return errNoKernelStamps }

func (s *socket) got() int64 { return s.base }

func (s *socket) pump() {
	buf := make([]byte, 16<<10)
	for {
		n, err := s.nc.Read(buf)
		at := Now()
		s.mu.Lock()
		if n > 0 {
			s.came = append(s.came, came{append([]byte(nil), buf[:n]...), at})
		}
		s.failed = err
		s.tell()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// tell wakes the loop; s.mu is held.
func (s *socket) tell() {
	if s.poll == nil {
		return
	}
	s.poll.mu.Lock()
	s.poll.heard = append(s.poll.heard, s)
	s.poll.mu.Unlock()
	s.poll.ring()
}

// follow names whom to wake.
func (s *socket) follow(p *poller, of *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = of
	if s.poll == nil {
		s.poll = p
		if len(s.came) > 0 || s.failed != nil {
			s.tell()
		}
	}
}

func (s *socket) stream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of
}

func (s *socket) read(p []byte) (int, arrival, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.came) == 0 {
		if s.failed != nil {
			return 0, arrival{}, s.failed
		}
		return 0, arrival{}, errAgain
	}
	c := s.came[0]
	n := copy(p, c.bytes[s.position:])
	if s.position += n; s.position == len(c.bytes) {
		s.came, s.position = s.came[1:], 0
	}
	s.base += int64(n)
	return n, arrival{end: s.base, at: c.at}, nil
}

func (s *socket) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaid != nil {
		return 0, s.unsaid
	}
	s.out = append(s.out, p...)
	if !s.writing {
		s.writing = true
		go s.flush()
	}
	return len(p), nil
}

func (s *socket) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.out) > 0 {
		p := s.out
		s.out = nil
		s.mu.Unlock()
		_, err := s.nc.Write(p)
		s.mu.Lock()
		if err != nil {
			s.unsaid = err
			break
		}
	}
	s.writing = false
}

func (s *socket) Close() error { return s.nc.Close() }

// One read may be followed by another that came with it.
const shortIsLast = false
