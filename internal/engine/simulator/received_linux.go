package simulator

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// received reads a connection and keeps the kernel's stamp of the latest segment read:
// when many requests come at once, each waits long for its turn to be read, and that is
// no part of the way here.
type received struct {
	conn net.Conn
	raw  syscall.RawConn // nil: the kernel does not stamp what comes here
	wall int64           // of the latest read, ns since 1970; 0: none came
	oob  [64]byte
}

func receive(c net.Conn) *received {
	in := &received{conn: c}
	t, ok := c.(*net.TCPConn)
	if !ok {
		return in
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return in
	}
	var asked error
	if err := raw.Control(func(fd uintptr) {
		asked = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}); err == nil && asked == nil {
		in.raw = raw
	}
	return in
}

// Read reads as the connection does.
func (in *received) Read(p []byte) (n int, err error) {
	if in.raw == nil || len(p) == 0 {
		return in.conn.Read(p)
	}
	var oobn int
	var failed error
	if err := in.raw.Read(func(fd uintptr) bool {
		for failed = unix.EINTR; failed == unix.EINTR; {
			n, oobn, _, _, failed = unix.Recvmsg(int(fd), p, in.oob[:], 0)
		}
		return failed != unix.EAGAIN
	}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, os.NewSyscallError("recvmsg", failed)
	}
	if n == 0 {
		return 0, io.EOF
	}
	in.wall = 0
	messages, err := unix.ParseSocketControlMessage(in.oob[:oobn])
	if err != nil {
		return n, nil // without its stamp
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS {
			in.wall = (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
		}
	}
	return n, nil
}

// last is when the latest segment came, on the clock of now; now where that is unknown
// or the wall clock was set in between.
func (in *received) last() int64 {
	best, width := int64(0), int64(1<<62) // of three tries, the least disturbed
	for range 3 {
		before := now()
		var ts unix.Timespec
		if unix.ClockGettime(unix.CLOCK_REALTIME, &ts) != nil {
			return before
		}
		after := now()
		if after-before < width {
			best, width = in.wall-ts.Nano()+(before+after)/2, after-before
		}
	}
	const longest = 10_000_000_000
	if at := now(); in.wall == 0 || best > at || best < at-longest {
		return at
	}
	return best
}
