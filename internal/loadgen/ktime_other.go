//go:build !linux

package loadgen

import (
	"errors"
	"net"
	"syscall"
)

var errNoKernelStamps = errors.New("kernel receive stamps exist on Linux only")

func askKernelStamps(_, _ string, _ syscall.RawConn) error { return errNoKernelStamps }

// kernelReader exists on Linux only.
type kernelReader struct{}

func newKernelReader(net.Conn) (*kernelReader, error) { return nil, errNoKernelStamps }

func (*kernelReader) read([]byte) (int, int64, error) { return 0, 0, errNoKernelStamps }

func (*kernelReader) closedByPeer() bool { return false }
