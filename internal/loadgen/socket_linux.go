package loadgen

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is a TCP connection outside Go's poller, which would wake a thread for each
// packet: it is read when the loop finds time.
type socket struct {
	fd     int
	base   int64 // raw bytes read so far
	stamps string
	clocks *clocks
	seen   *epoch // the epoch of the latest kernel stamp
	dialed int64

	// The kernel's stamp comes in a control message. The header is kept, so that a read
	// allocates nothing.
	iov unix.Iovec
	msg unix.Msghdr
	oob [unix.SizeofCmsghdr + 64]byte
}

// detach takes a connection, of which got bytes were read, out of Go's hands.
func detach(nc net.Conn, got int64, d *dialer) (*socket, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil, net.ErrClosed
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{base: got, stamps: d.stamps, clocks: d.clocks, seen: d.clocks.cur.Load(), dialed: Now()}
	var dup error
	if err := rc.Control(func(fd uintptr) {
		s.fd, dup = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return nil, err
	}
	if dup != nil {
		return nil, os.NewSyscallError("fcntl", dup)
	}
	nc.Close()
	s.msg.Iov = &s.iov
	s.msg.SetIovlen(1)
	s.msg.Control = &s.oob[0]
	if s.stamps == StampsKernel {
		if err := s.askKernel(); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// askKernel makes the kernel stamp what arrives.
func (s *socket) askKernel() error {
	s.stamps = StampsKernel
	return os.NewSyscallError("setsockopt SO_TIMESTAMPNS", unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1))
}

// askKernelStamps does so before a connection is opened, so that its first bytes are
// stamped too.
func askKernelStamps(_, _ string, rc syscall.RawConn) error {
	var serr error
	if err := rc.Control(func(fd uintptr) {
		serr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}); err != nil {
		return err
	}
	return os.NewSyscallError("setsockopt SO_TIMESTAMPNS", serr)
}

func (s *socket) got() int64 { return s.base }

// read and write tell the scheduler of nothing: the descriptor does not block.
func (s *socket) read(p []byte) (int, arrival, error) {
	var n uintptr
	var e unix.Errno
	for {
		if s.stamps == StampsKernel {
			s.iov.Base = &p[0]
			s.iov.SetLen(len(p))
			s.msg.SetControllen(len(s.oob))
			n, _, e = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.msg)), 0)
		} else {
			n, _, e = unix.RawSyscall(unix.SYS_READ, uintptr(s.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		}
		if e != unix.EINTR {
			break
		}
	}
	switch {
	case e == unix.EAGAIN:
		return 0, arrival{}, errAgain
	case e != 0:
		return 0, arrival{}, os.NewSyscallError("read", e)
	case n == 0:
		return 0, arrival{}, io.EOF
	}
	s.base += int64(n)
	from := arrival{end: s.base, at: Unstamped}
	switch s.stamps {
	case StampsKernel:
		from.at = s.kernelStamp()
	case StampsRead:
		from.at = Now()
	}
	return int(n), from, nil
}

// kernelStamp is when the kernel got the last segment of what was read.
func (s *socket) kernelStamp() int64 {
	e, now := s.clocks.current()
	stepped := s.seen != e
	s.seen = e
	wall := s.wall()
	if wall == 0 || stepped {
		// A stamp from around a step may belong to either side of it.
		return Unstamped
	}
	at := wall - e.offset
	if at > now+stepNS || at < s.dialed-stepNS {
		return Unstamped
	}
	return min(at, now)
}

func (s *socket) wall() int64 {
	got := int(s.msg.Controllen)
	if got < unix.CmsgSpace(int(unsafe.Sizeof(unix.Timespec{}))) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&s.oob[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&s.oob[unix.CmsgLen(0)])).Nano()
}

func (s *socket) write(p []byte) (int, error) {
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
		switch e {
		case 0:
			return int(n), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, errAgain
		default:
			return 0, os.NewSyscallError("write", e)
		}
	}
}

func (s *socket) Close() error {
	fd := s.fd
	s.fd = -1
	return unix.Close(fd)
}

// A read that does not fill its buffer took all there was.
const shortIsLast = true
