package loadgen

import (
	"os"

	"golang.org/x/sys/unix"
)

// poller waits until a time, until a connection can be read or written, or until
// another thread rings.
type poller struct {
	ep, timer, bell int
	armed           int64 // the time that the timer is set to; 0: none
	of              map[int32]*stream
	events          [256]unix.EpollEvent
}

func newPoller() (*poller, error) {
	p := &poller{ep: -1, timer: -1, bell: -1, of: map[int32]*stream{}}
	var err error
	if p.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create", err)
	}
	// A timer that takes an absolute time is not late by what passed before it was set,
	// and no slack is added to it.
	p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		p.close()
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		p.close()
		return nil, os.NewSyscallError("eventfd", err)
	}
	for _, fd := range []int{p.timer, p.bell} {
		// By edge: neither is ever read.
		if err := unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}); err != nil {
			p.close()
			return nil, os.NewSyscallError("epoll_ctl", err)
		}
	}
	return p, nil
}

func (p *poller) close() {
	for _, fd := range []int{p.ep, p.timer, p.bell} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// ring ends the present wait, or the next one. Any thread may.
func (p *poller) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(p.bell, one[:])
}

// watch says what of a stream's connection is worth waking for. A connection that is
// closed is watched no more by itself.
func (p *poller) watch(s *stream, read, write bool) {
	var events uint32
	if read {
		events |= unix.EPOLLIN
	}
	if write {
		events |= unix.EPOLLOUT
	}
	c := s.conn
	if events == c.watched {
		return
	}
	fd := c.socket.fd
	e := &unix.EpollEvent{Events: events, Fd: int32(fd)}
	switch {
	case events == 0:
		_ = unix.EpollCtl(p.ep, unix.EPOLL_CTL_DEL, fd, nil)
	case c.watched == 0:
		_ = unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, e)
		p.of[int32(fd)] = s
	default:
		_ = unix.EpollCtl(p.ep, unix.EPOLL_CTL_MOD, fd, e)
	}
	c.watched = events
}

// wait returns at the time until, and calls ready with each stream that can be read or
// written.
func (p *poller) wait(until int64, ready func(*stream)) {
	if until != p.armed {
		p.armed = until
		_ = unix.TimerfdSettime(p.timer, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, until))}, nil)
	}
	n, err := unix.EpollWait(p.ep, p.events[:], -1)
	if err != nil {
		return // a signal: the caller looks at the clock
	}
	for _, e := range p.events[:n] {
		if int(e.Fd) == p.timer {
			p.armed = 0
		}
		if s := p.of[e.Fd]; s != nil && s.conn != nil && s.conn.socket.fd == int(e.Fd) {
			ready(s)
		}
	}
}
