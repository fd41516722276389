package loadgen

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// askKernelStamps makes the kernel stamp what arrives on the socket.
func askKernelStamps(_, _ string, rc syscall.RawConn) error {
	var serr error
	if err := rc.Control(func(fd uintptr) {
		serr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}); err != nil {
		return err
	}
	return os.NewSyscallError("setsockopt SO_TIMESTAMPNS", serr)
}

// kernelReader reads a socket together with the kernel's receive stamp of the last
// segment read. The message header is kept, so that a read allocates nothing.
type kernelReader struct {
	rc    syscall.RawConn
	iov   unix.Iovec
	msg   unix.Msghdr
	oob   [unix.SizeofCmsghdr + 64]byte
	n     int
	errno syscall.Errno
	try   func(fd uintptr) bool
}

func newKernelReader(c net.Conn) (*kernelReader, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, net.ErrClosed
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	k := &kernelReader{rc: rc}
	k.msg.Iov = &k.iov
	k.msg.SetIovlen(1)
	k.msg.Control = &k.oob[0]
	k.try = func(fd uintptr) bool {
		k.msg.SetControllen(len(k.oob))
		for {
			// The descriptor does not block, so the scheduler need not be told.
			n, _, e := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&k.msg)), 0)
			if e == unix.EINTR {
				continue
			}
			k.n, k.errno = int(n), e
			return e != unix.EAGAIN
		}
	}
	return k, nil
}

// read waits for bytes and returns with them the wall time at which the kernel got
// the last segment; 0 when the kernel gave none.
func (k *kernelReader) read(p []byte) (n int, wall int64, err error) {
	k.iov.Base = &p[0]
	k.iov.SetLen(len(p))
	if err := k.rc.Read(k.try); err != nil {
		return 0, 0, err
	}
	if k.errno != 0 {
		return 0, 0, os.NewSyscallError("recvmsg", k.errno)
	}
	if k.n == 0 {
		return 0, 0, io.EOF
	}
	return k.n, k.stamp(), nil
}

func (k *kernelReader) stamp() int64 {
	got := int(k.msg.Controllen)
	if got < unix.CmsgSpace(int(unsafe.Sizeof(unix.Timespec{}))) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&k.oob[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	ts := (*unix.Timespec)(unsafe.Pointer(&k.oob[unix.CmsgLen(0)]))
	return ts.Nano()
}

// closedByPeer looks, without waiting or taking anything, whether the connection has
// ended or holds bytes nobody asked for.
func (k *kernelReader) closedByPeer() bool {
	closed := false
	err := k.rc.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = n > 0 || err == nil || err != unix.EAGAIN
	})
	return closed || err != nil
}
